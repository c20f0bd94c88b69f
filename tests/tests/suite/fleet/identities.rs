//! Private keys only go where they are used: an agent's memory contains those of its own virtual
//! users, and no others.

use interop::{Agent, Invited, KeyKind, Nginx, NginxOptions, NginxServer, Pki, plan};
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

const NAMES: [&str; 2] = ["alice", "bob"];

/// Whether the agent's memory contains these bytes. Mappings are read in overlapping steps.
fn holds(agent: &Agent, wanted: &[u8]) -> bool {
    const STEP: usize = 1 << 20;
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", agent.id())).unwrap();
    let memory = File::open(format!("/proc/{}/mem", agent.id())).unwrap();
    let mut buffer = vec![0; STEP + wanted.len()];
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let [from, to] = [from, to].map(|at| u64::from_str_radix(at, 16).unwrap());
        for at in (from..to).step_by(STEP) {
            let length = buffer.len().min((to - at) as usize);
            // A mapping may disappear while it is read.
            let Ok(bytes) = memory.read_at(&mut buffer[..length], at) else {
                break;
            };
            if buffer[..bytes]
                .windows(wanted.len())
                .any(|window| window == wanted)
            {
                return true;
            }
        }
    }
    false
}

/// The line of a key's PEM that is in no other key.
fn secret(key: &Path) -> Vec<u8> {
    let pem = std::fs::read_to_string(key).unwrap();
    pem.lines().nth(2).unwrap().as_bytes().to_vec()
}

#[test]
fn agent_is_sent_the_keys_of_its_own_users_alone() {
    let (pki, state) = (Pki::new(), tempfile::tempdir().unwrap());
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let files = NAMES.map(|name| pki.client(KeyKind::P256, name));
    let pairs: Vec<String> = files
        .iter()
        .map(|files| format!("{{ cert = {:?}, key = {:?} }}", files.cert, files.key))
        .collect();
    let sections = format!(
        "load = {{ connections = 4, duration = \"10m\" }}\nconnection.requests = 1\nrequest.path \
         = \"/?{{user}}\"\ntls = {{ ca = {:?}, versions = [\"1.3\"], client_certificates = [{}] }}",
        pki.ca(),
        pairs.join(", ")
    );
    let text = plan(
        &nginx.url(NginxServer::ClientCertificate, "/"),
        &pki,
        &sections,
    )
    .replacen("tls.ca =", "#", 1);
    let coordinator = Invited::start(
        2,
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        state.path(),
        &text,
    );
    let agents = ["one", "two"].map(|name| coordinator.agent(name));
    let rows = nginx.wait_for_requests(100);
    let held = agents.each_ref().map(|agent| {
        files
            .each_ref()
            .map(|files| holds(agent, &secret(&files.key)))
    });
    assert!(
        held == [[true, false], [false, true]] || held == [[false, true], [true, false]],
        "{held:?}"
    );
    for row in rows {
        let user: usize = row.path.strip_prefix("/?").unwrap().parse().unwrap();
        assert_eq!(row.client_subject, format!("CN={}", NAMES[user % 2]));
    }
}
