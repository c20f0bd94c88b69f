//! A client without the CPU it needs does not blame the server.

use crate::reading::Reading;
use crate::{come_first, must_hold, plan};
use interop::{CoordinatorCommand, CpuQuota, ScriptedServer, Tried, ensure, wait_until};
use std::time::Duration;

/// The server answers every request after this time, whatever the load.
const DELAY: Duration = Duration::from_millis(20);

const MEASURED: Duration = Duration::from_millis(1100);

/// A load that needs far more than a tenth of a CPU, from a client that has only that.
fn throttled(load: &str) {
    come_first();
    must_hold(|| throttled_once(load));
}

fn throttled_once(load: &str) -> Tried {
    let server = ScriptedServer::of_delay(DELAY);
    let Some(quota) = CpuQuota::new(0.1) else {
        return Ok(());
    };
    let load = format!("{load}, duration = \"{}ms\"", MEASURED.as_millis());
    let plan = plan(&server.url(), &load, "");
    let mut coordinator = CoordinatorCommand::local_by(quota.command(), &plan).spawn();
    let has_begun = wait_until("load, or the end", || {
        let has_begun = !server.exchanges().is_empty();
        (has_begun || coordinator.has_ended()).then_some(has_begun)
    });
    if !has_begun {
        // Beside other programs it may sleep through all of the run.
        return Err(format!("nothing was sent: {}", coordinator.wait()));
    }
    let before = quota.throttled();
    std::thread::sleep(MEASURED);
    let throttled = quota.throttled() - before;
    let finished = coordinator.wait();
    let reading = Reading::new(&finished);
    ensure(
        reading.find("/measured/times/service_time").is_some(),
        || format!("nothing was answered: {finished}"),
    )?;
    let p50 = reading.percentile_ms("/measured/times/service_time", 50.0);
    let asked = reading.number("/measured/rates/ok_per_second");
    println!("throttled for {throttled:?}, {asked:.0}/s, p50 of service_time {p50:.1} ms");
    println!("{}: {}", reading.verdict(), reading.evidence());
    println!(
        "p99 of loop_lag {:.1} ms",
        reading.percentile_ms("/client/loop_lag", 99.0)
    );
    assert!(
        !reading.evidence().contains("the server was too slow"),
        "{finished}"
    );
    // Beside other programs the client may get less than its quota.
    ensure(throttled > Duration::from_millis(300), || {
        format!("too little throttled: {throttled:?}; {finished}")
    })?;
    assert!(
        ["invalid", "client_bound"].contains(&reading.verdict().as_str()),
        "{finished}"
    );
    Ok(())
}

/// Failed with: undetermined: […] the server was too slow for this load, p50 of service_time 94.7
/// ms.
#[test]
fn throttled_open_loop_does_not_blame_the_server() {
    throttled("rate = \"13000/s\", max_connections = 500");
}

/// Failed with: undetermined: the busiest worker was 9.68 % busy, p50 of service_time 53.8 ms.
#[test]
fn throttled_closed_loop_does_not_blame_the_server() {
    throttled("connections = 400");
}
