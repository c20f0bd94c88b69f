//! A step of a journey that stalls is as slow as its server says, and no other step is.

use crate::{come_first, must_be_trusted, must_hold};
use interop::{CoordinatorCommand, PythonServer, Tried, ensure};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;

/// An answer takes up to this much longer at the client than at the server.
const BETWEEN_MS: f64 = 20.0;

/// Milliseconds that answers took at the server, ascending, by path.
fn truth(seen: &Path) -> BTreeMap<String, Vec<f64>> {
    let mut truth: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for line in std::fs::read_to_string(seen).unwrap().lines() {
        let (path, seconds) = line.split_once(' ').unwrap();
        let name = path.trim_start_matches('/').to_owned();
        let took: f64 = seconds.parse().unwrap();
        truth.entry(name).or_default().push(took * 1e3);
    }
    let sort = |took: &mut Vec<f64>| took.sort_by(f64::total_cmp);
    truth.values_mut().for_each(sort);
    truth
}

fn at(sorted: &[f64], percentile: f64) -> f64 {
    let rank = (sorted.len() as f64 * percentile / 100.0).ceil() as usize;
    sorted[rank.max(1) - 1]
}

/// Journeys of four steps at a server whose third step stalls for half a second of every two.
fn try_once(load: &str, connection: &str) -> Tried {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let Some(server) = PythonServer::stalling(Ipv4Addr::LOCALHOST.into(), &seen, "/c") else {
        return Ok(());
    };
    let request = |name: &str| format!("{{ name = {name:?}, path = \"/{name}\" }}");
    let requests = ["a", "b", "c", "d"].map(request).join(", ");
    let plan = format!(
        "name = \"numbers\"\ntarget.url = {:?}\nrequest = [{requests}]\njourney = {{ connection = \
         {connection:?}, steps = [\"a\", {{ pause = \"100ms\" }}, \"b\", \"c\", \"d\"] }}\n\
         load = {{ {load}, journeys = 240 }}\n",
        server.url()
    );
    let finished = CoordinatorCommand::local(1, &plan).run();
    must_be_trusted(&finished)?;
    let document = finished.document();
    let truth = truth(&seen);
    assert_eq!(document.by_request.len(), 4, "{finished}");
    for group in &document.by_request {
        let took = &truth[group.name.as_str()];
        assert_eq!(group.figures.operations.ok, took.len() as u64, "{finished}");
        assert_eq!(took.len(), 240, "{finished}");
        for percentile in [50.0, 90.0, 99.0] {
            let measured = group
                .figures
                .percentile("response_time", percentile)
                .unwrap();
            let (measured, true_ms) = (measured.value_ns as f64 / 1e6, at(took, percentile));
            let room = true_ms * 0.99..=true_ms * 1.01 + BETWEEN_MS;
            ensure(room.contains(&measured), || {
                format!(
                    "p{percentile} of {} is {measured:.2} ms, and {true_ms:.2} at the server: \
                     {finished}",
                    group.name
                )
            })?;
        }
    }
    // A quarter of the third steps waits, 250 ms on average, and nothing else does.
    let [fast, slow] = ["d", "c"].map(|name| at(&truth[name], 99.0));
    ensure(fast < 100.0 && slow > 400.0, || {
        format!("p99 is {fast} ms and {slow} ms at the server")
    })
}

#[test]
fn step_that_stalls_is_as_slow_as_its_server_says_and_no_other_is() {
    come_first();
    for (load, connection) in [
        ("rate = \"40/s\", max_connections = 100", "kept"),
        ("rate = \"40/s\", max_connections = 100", "shared"),
        ("connections = 10", "kept"),
        ("users = 10, max_connections = 10", "shared"),
    ] {
        must_hold(|| try_once(load, connection));
    }
}
