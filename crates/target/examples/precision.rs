//! How precisely the target keeps its delays: what a round trip over loopback takes beyond the
//! delay asked for. The row without a delay is the round trip itself, client included. `cargo run
//! --release -p target --example precision`

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use target::{Config, RunningTarget, TargetAnswer};

const DELAYS_US: [u64; 6] = [0, 100, 1_000, 2_500, 10_000, 25_000];

/// For each delay.
const LASTS: Duration = Duration::from_secs(2);

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "| delay µs | round trips | beyond it: p50 µs | p99 µs | max µs |\n|---|---|---|---|---|"
    );
    for delay_us in DELAYS_US {
        let delay = Duration::from_micros(delay_us);
        let beyond = round_trips(delay)?;
        let at = |share: f64| {
            beyond[((beyond.len() - 1) as f64 * share) as usize].as_nanos() as f64 / 1e3
        };
        println!(
            "| {delay_us} | {} | {:.1} | {:.1} | {:.1} |",
            beyond.len(),
            at(0.5),
            at(0.99),
            at(1.0)
        );
    }
    Ok(())
}

/// What each round trip took beyond the delay, ascending.
fn round_trips(delay: Duration) -> Result<Vec<Duration>, Box<dyn Error>> {
    let target = RunningTarget::new(Config {
        answer: TargetAnswer {
            delay,
            body_bytes: 0,
            ..TargetAnswer::default()
        },
        ..Config::plain()
    })?;
    let mut client = TcpStream::connect(target.address())?;
    client.set_nodelay(true)?;
    let (mut beyond, mut answer, begin) = (Vec::new(), [0; 1024], Instant::now());
    while begin.elapsed() < LASTS {
        let sent_at = Instant::now();
        client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")?;
        // So small an answer comes whole.
        let _ = client.read(&mut answer)?;
        beyond.push(sent_at.elapsed().saturating_sub(delay));
    }
    beyond.sort_unstable();
    Ok(beyond)
}
