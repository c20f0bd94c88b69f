//! `import` of nginx's log of our own requests: as many requests, connections and resumptions as
//! the run had, in order of arrival.

use crate::servers::{REQUESTS, USERS, assert_all_ok, run};
use analysis::Document;
use interop::{CoordinatorCommand, Nginx, NginxOptions, NginxServer, Pki, plan};
use std::collections::BTreeSet;
use traffic::ReplayEntry;

/// The requests that `import` makes of nginx's log.
fn import(nginx: &Nginx) -> Vec<ReplayEntry> {
    let log = nginx.access_log();
    let log = log.to_str().unwrap();
    let arguments = [
        "import",
        "--strict",
        "--log-format",
        Nginx::log_format(),
        log,
    ];
    let finished = CoordinatorCommand::new(&arguments).run().expect(0);
    let lines = finished.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Runs the sections against a server, imports its log, and compares what any run has.
fn run_and_import(server: NginxServer, sections: &str) -> Option<(Document, Vec<ReplayEntry>)> {
    let pki = Pki::new();
    let nginx = Nginx::start(&pki, &NginxOptions::default())?;
    let document = run(&plan(&nginx.url(server, "/?a=b"), &pki, sections));
    assert_all_ok(&document.measured);
    let rows = nginx.wait_for_requests(REQUESTS as usize);
    let replay = import(&nginx);
    assert_eq!(
        (replay.len() as u64, rows.len() as u64),
        (REQUESTS, REQUESTS)
    );
    assert!(replay.is_sorted_by_key(|entry| entry.at_ns));
    let requests = || replay.iter().map(|entry| &entry.request);
    assert!(requests().all(|it| it.path == "/?a=b" && it.status == Some(200)));
    let connections: BTreeSet<_> = requests().map(|it| it.connection.as_deref()).collect();
    assert_eq!(
        connections.len() as u64,
        document.measured.connections.opened
    );
    let resumed = requests().filter(|it| it.resumed == Some(true)).count();
    assert_eq!(resumed, rows.iter().filter(|row| row.resumed).count());
    Some((document, replay))
}

#[test]
fn import_of_a_log_has_the_connections_and_resumptions_of_the_run() {
    let sections = "tls.resumption = \"always\"\nconnection.requests = 1\n";
    let Some((_, replay)) = run_and_import(NginxServer::Tls13Tickets, sections) else {
        return;
    };
    let requests = replay.iter().map(|entry| &entry.request);
    let resumed = requests
        .clone()
        .filter(|it| it.resumed == Some(true))
        .count() as u64;
    assert_eq!(resumed, REQUESTS - USERS);
    let is_tls = |version: Option<&str>| version == Some("TLSv1.3");
    assert!(requests.clone().all(|it| is_tls(it.protocol.as_deref())));
    let name = replay[0].request.server_name.as_deref();
    assert!(requests.clone().all(|it| it.server_name.as_deref() == name));
}

#[test]
fn import_of_a_log_has_the_connections_of_kept_ones_and_of_http2() {
    for (server, sections) in [
        (NginxServer::Plain, ""),
        (NginxServer::KeepAliveLimited, ""),
        (
            NginxServer::Http2,
            "connection.http = \"2\"\nconnection.streams = 3\n",
        ),
    ] {
        if run_and_import(server, sections).is_none() {
            return;
        }
    }
}
