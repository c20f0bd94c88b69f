//! Files of plans that agents keep on their disks (`agent join --cache DIR`) for later runs, by
//! other coordinators too.

use crate::servers::data_files::numbers;
use interop::{Agent, Finished, Invited, Nginx, NginxOptions, NginxServer, Pki, plan};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

const ROWS: u64 = 200;

/// Lets a new coordinator and a new agent run a plan with a data file.
fn run(nginx: &Nginx, cache: &Path, data: &str) -> Finished {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("d.csv");
    std::fs::write(&file, numbers(ROWS)).unwrap();
    let more = format!(
        "load = {{ connections = 3, requests = {ROWS} }}\n\
         data.d = {{ file = {file:?}, order = \"unique\"{data} }}\n\
         request.path = \"/?row={{d.number}}\"\n"
    );
    let text = plan(&nginx.url(NginxServer::Plain, "/"), &Pki::new(), &more);
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let invited = Invited::start(1, listen, &folder.path().join("state"), &text);
    let arguments = ["--cache", cache.to_str().unwrap()];
    let _agent = Agent::join(invited.address, &invited.token, &arguments);
    invited.coordinator.wait()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn file_that_was_stored_is_proved_and_used_by_the_next_agent_and_coordinator() {
    let Some(nginx) = Nginx::start(&Pki::new(), &NginxOptions::default()) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let _ = run(&nginx, &cache, "").expect(0).clean();
    let [stored] = &files(&cache)[..] else {
        panic!("{:?}", files(&cache));
    };
    assert_eq!(std::fs::read(stored).unwrap(), numbers(ROWS).as_bytes());
    let _ = run(&nginx, &cache, "").expect(0).clean();

    std::fs::write(stored, "number\n1\n").unwrap();
    let refused = run(&nginx, &cache, "");
    assert_ne!(refused.code, 0, "{refused}");
    assert!(refused.stderr.contains("missing or damaged"), "{refused}");
    let sent_again = run(&nginx, &cache, "").expect(0);
    assert_eq!(sent_again.clean().document().data[0].taken, ROWS);
    assert_eq!(std::fs::read(stored).unwrap(), numbers(ROWS).as_bytes());
    let seen = nginx.wait_for_requests(3 * ROWS as usize);
    let rows: BTreeSet<&str> = seen.iter().map(|seen| &seen.path[..]).collect();
    assert_eq!((seen.len(), rows.len()), (3 * ROWS as usize, ROWS as usize));
}

#[test]
fn file_with_a_secret_column_is_not_stored() {
    let Some(nginx) = Nginx::start(&Pki::new(), &NginxOptions::default()) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let secret = ", secret = [\"number\"]";
    let _ = run(&nginx, folder.path(), secret).expect(0).clean();
    assert!(files(folder.path()).is_empty());
}
