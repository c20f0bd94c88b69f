//! A CPU profile of the server under test in the middle of a run. It is skipped if `perf` is
//! missing or not permitted; CI does not require it, because containers may forbid it.

use analysis::{Document, MachineResult, MachineRole};
use interop::{
    Finished, Invited, Nginx, NginxOptions, NginxServer, Pki, ensure, plan, require_optional,
    try_up_to,
};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;

/// Among more samples than this, some are of cryptography.
const SAMPLES_ENOUGH: u64 = 30;

/// Tries for enough samples: in one of them other programs may have had the server's CPU.
const TRIES: usize = 4;

/// A run of full handshakes for 8 s, whose server is profiled for 3 s.
fn profiled() -> Option<(Finished, String)> {
    let (pki, state) = (Pki::new(), tempfile::tempdir().unwrap());
    let nginx = Nginx::start(&pki, &NginxOptions::default())?;
    let load = "load = { connections = 4, duration = \"8s\" }\nconnection.requests = 1\n";
    let text = load.to_owned() + &plan(&nginx.url(NginxServer::Tls13, "/"), &pki, "");
    let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let invited = Invited::start(1, anywhere, state.path(), &text);
    let process = nginx.id().to_string();
    let monitor = invited.monitor("../web", &["--process", &process, "--profile", "3s"]);
    monitor.wait_for("joined", 1);
    let _agent = invited.agent("load");
    let finished = invited.coordinator.wait();
    Some((finished, monitor.output()))
}

fn machine(document: &Document) -> &MachineResult {
    let mut machines = document.machines.iter();
    let watched = machines.find(|machine| machine.role == MachineRole::Monitor);
    watched.expect("a monitor watched")
}

#[test]
fn flame_graph_of_the_server_stands_beside_the_result_and_is_made_again() {
    if require_optional("perf").is_none() {
        return;
    }
    let mut run = None;
    let tried = try_up_to(TRIES, || {
        run = profiled();
        let Some((finished, _)) = &run else {
            return Ok(());
        };
        let document = finished.document();
        let is_late = |note: &String| note.contains("no CPU profile: it had not arrived");
        ensure(!document.notes.iter().any(is_late), || {
            "the profile came too late".to_owned()
        })?;
        let profile = &machine(&document).profile;
        let is_enough = profile
            .as_ref()
            .is_none_or(|profile| profile.samples > SAMPLES_ENOUGH);
        ensure(is_enough, || format!("too few samples: {profile:?}"))
    });
    let Some((finished, said)) = run else {
        return;
    };
    assert_eq!(tried, Ok(()));
    let document = finished.document();
    let Some(profile) = &machine(&document).profile else {
        let notes: Vec<_> = document.notes.iter().collect();
        let is_said = |note: &&&String| note.contains("no CPU profile: ");
        assert_eq!(notes.iter().filter(is_said).count(), 1, "{notes:?}");
        assert_eq!(said.matches("no CPU profile: ").count(), 1, "{said}");
        println!("skipped: {said}");
        return;
    };
    assert_eq!(profile.process, "nginx");
    assert!(profile.seconds >= 2.9, "{profile:?}");
    let cryptography: f64 = profile.hottest.iter().map(|hot| hot.share).sum();
    assert!(cryptography > 0.3, "{profile:?}");

    let folder = finished.run_folder().unwrap();
    assert_eq!(profile.svg, "profile-.._web.svg");
    let files = [&profile.folded, &profile.svg].map(|file| folder.join(file));
    let read = || {
        files
            .clone()
            .map(|file| std::fs::read_to_string(file).unwrap())
    };
    let [folded, svg] = read();
    assert!(
        folded.contains("libcrypto"),
        "handshakes are cryptography: {folded}"
    );
    let counts = folded.lines().filter_map(|line| line.rsplit_once(' '));
    let samples: u64 = counts.map(|(_, count)| count.parse::<u64>().unwrap()).sum();
    assert_eq!(samples, profile.samples);
    assert!(svg.contains("</svg>"));
    let line = format!("flame graph in {}", profile.svg);
    let shown = finished
        .to_string()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(shown.contains(&line), "{finished}");

    files
        .iter()
        .for_each(|file| std::fs::remove_file(file).unwrap());
    let remade = Command::new(interop::binary("coordinator"))
        .args(["report", "--remake"])
        .arg(&folder)
        .output()
        .unwrap();
    assert!(remade.status.success(), "{remade:?}");
    assert_eq!(read(), [folded, svg]);
}
