//! A server that stops for a while is not the client's fault: waiting for a connection is separate
//! from the client's own delay.

use crate::reading::Reading;
use crate::{come_first, must_hold};
use interop::{CoordinatorCommand, Finished, Tried, ensure};

/// The client's own delays stay below this, unless the machine was too busy.
const OWN_MS: f64 = 10.0;

/// 500 arrivals per second at a server that answers nothing from 1.2 s to 1.7 s and from 4.2 s to
/// 4.7 s.
fn run(max_connections: u32) -> Finished {
    let target = "name = \"numbers\"\ntarget.builtin = { tls = false, stall = { every = \"3s\", \
                  for = \"500ms\", first = \"1200ms\" } }";
    let load = format!(
        "load = {{ rate = \"500/s\", duration = \"5s\", max_connections = {max_connections} }}"
    );
    CoordinatorCommand::local(1, &format!("{target}\n{load}\n")).run()
}

/// Checks what the client says about itself.
fn client_was_in_time(reading: &Reading) -> Tried {
    let own = ["/measured/times/schedule_delay", "/client/loop_lag"];
    own.into_iter().try_for_each(|path| {
        ensure(reading.find(path).is_some(), || {
            format!("result.json has no {path}")
        })?;
        let p99 = reading.percentile_ms(path, 99.0);
        ensure(p99 < OWN_MS, || format!("p99 of {path} is {p99:.2} ms"))
    })
}

/// Failed with: result.json has no /measured/times/schedule_delay.
#[test]
fn stall_that_fills_every_connection_is_not_an_invalid_run() {
    come_first();
    must_hold(|| {
        let finished = run(20);
        let reading = Reading::new(&finished);
        println!("{}: {}", reading.verdict(), reading.evidence());
        ensure(finished.code == 0 && reading.verdict() != "invalid", || {
            format!("{finished}")
        })?;
        client_was_in_time(&reading)?;
        // 480 of 2,500 arrivals wait for a connection, uniformly between 0 and half a second.
        let waited = reading.count("/measured/times/connection_wait/count");
        ensure((400..=520).contains(&waited), || {
            format!("{waited} arrivals waited for a connection")
        })?;
        let p50 = reading.percentile_ms("/measured/times/connection_wait", 50.0);
        ensure((190.0..300.0).contains(&p50), || {
            format!("half of them waited for {p50:.1} ms or less")
        })?;
        ensure(reading.verdict() != "load_met", || {
            format!("arrivals waited for connections: {finished}")
        })
    });
}

/// Failed with: result.json has no /measured/times/schedule_delay.
#[test]
fn stall_with_connections_enough_is_load_met() {
    come_first();
    must_hold(|| {
        // 250 arrivals come during a stall; a few more connections, in case the machine is busy.
        let finished = run(300);
        let reading = Reading::new(&finished);
        ensure(reading.verdict() == "load_met", || format!("{finished}"))?;
        client_was_in_time(&reading)
    });
}
