//! The request that each arrival sends, as a server sees it.

use crate::support::{parse, run_share};
use engine::FiringLease;
use std::io::{BufRead as _, BufReader, Error, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// Paths of the requests that arrived.
type Paths = Arc<Mutex<Vec<String>>>;

/// Listens for as long as the test lives.
fn listen() -> (SocketAddr, Paths) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, paths) = (listener.local_addr().unwrap(), Paths::default());
    let seen = Arc::clone(&paths);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = Arc::clone(&seen);
            std::thread::spawn(move || serve(&stream, &seen));
        }
    });
    (address, paths)
}

fn serve(mut stream: &TcpStream, paths: &Paths) -> Result<(), Error> {
    for line in BufReader::new(stream).lines() {
        let line = line?;
        if let Some(path) = line.strip_prefix("GET ") {
            paths
                .lock()
                .unwrap()
                .push(path.split(' ').next().unwrap_or_default().to_owned());
        }
        if line.is_empty() {
            stream.write_all(OK)?;
        }
    }
    Ok(())
}

/// Number and request of each of 200 operations of this load, in ascending order; `workers` has the
/// number of workers of each agent.
fn requests(load: &str, workers: &[usize]) -> Vec<(u64, String)> {
    let (address, paths) = listen();
    let text = format!(
        "name = \"t\"\ntarget.url = \"http://{address}/\"\n[[request]]\nname = \"often\"\npath = \
         \"/often/{{seq}}\"\nweight = 9\n[[request]]\nname = \"rare\"\npath = \
         \"/rare/{{seq}}\"\n[load]\nrequests = 200\n{load}\n"
    );
    for (agent, &workers_of_it) in (0..).zip(workers) {
        let outcome = run_share(
            parse(&text, None),
            agent,
            workers.len() as u32,
            workers_of_it,
            FiringLease::unlimited(),
        );
        assert_eq!(
            outcome.measured().failures,
            [].into(),
            "agent {agent}, {workers:?} workers"
        );
    }
    let paths = std::mem::take(&mut *paths.lock().unwrap());
    let parted = paths
        .iter()
        .filter_map(|path| path.strip_prefix('/')?.split_once('/'));
    let mut requests: Vec<(u64, String)> = parted
        .map(|(name, seq)| (seq.parse().unwrap(), name.to_owned()))
        .collect();
    requests.sort_unstable();
    requests
}

#[test]
fn mix_is_that_of_the_plan_in_every_cycle_of_the_cluster_whatever_the_fleet() {
    let load = "rate = \"1000/s\"\nmax_connections = 24";
    let of_one = requests(load, &[1]);
    assert!(of_one.iter().map(|(seq, _)| *seq).eq(0..200), "{of_one:?}");
    for workers in [&[4][..], &[5, 5], &[2, 2, 2, 2, 2], &[1, 3]] {
        let of_fleet = requests(load, workers);
        let rare: Vec<usize> = of_fleet
            .chunks(10)
            .map(|cycle| cycle.iter().filter(|(_, name)| name == "rare").count())
            .collect();
        assert_eq!(
            rare, [1; 20],
            "of each ten arrivals, with {workers:?} workers"
        );
        assert_eq!(of_fleet, of_one, "{workers:?} workers");
    }
}

#[test]
fn operations_of_users_are_those_of_the_plan_however_many_workers_agents_have() {
    let of_one = requests("connections = 20", &[1]);
    assert!(of_one.iter().map(|(seq, _)| *seq).eq(0..200), "{of_one:?}");
    for workers in [&[2, 4][..], &[5, 1, 3], &[3]] {
        assert_eq!(requests("connections = 20", workers), of_one, "{workers:?}");
        let of_seven = requests("connections = 7", workers);
        assert_eq!(of_seven, of_one, "7 users, {workers:?}");
    }
}

/// Failed with: 100 numbers of the warm-up are used in the measured part too.
#[test]
fn numbers_of_the_warm_up_are_not_those_of_the_measured_part() {
    for load in [
        "rate = \"1000/s\"\nwarm_up = \"100ms\"",
        "connections = 4\nwarm_up = \"2s\"\nthink_time = \"5ms\"",
    ] {
        let sent = requests(load, &[2, 1]);
        let seqs: Vec<u64> = sent.iter().map(|(seq, _)| *seq).collect();
        let (measured, warm_up) = seqs.split_at(200);
        assert!(measured.iter().copied().eq(0..200), "{load}: {measured:?}");
        let from = 9_000_000_000_000_000_000;
        assert_eq!(warm_up.first(), Some(&from), "{load}");
        assert!(
            warm_up.is_sorted_by(|one, next| one < next),
            "{load}: {warm_up:?}"
        );
        if load.starts_with("rate") {
            assert!(warm_up.iter().copied().eq(from..from + 100), "{warm_up:?}");
        }
    }
}
