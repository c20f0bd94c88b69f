//! Load that a server did not carry while it was offered: the run is not *load met*, and the
//! percentiles include it.

use crate::reading::{Reading, is_near};
use crate::{come_first, must_hold, plan};
use interop::{
    CoordinatorCommand, Exchange, Finished, ScriptedServer, Signal, Tried, ensure, wait_until,
};
use std::time::Duration;

/// Failed with: load met — all of the load was sent in time and answered.
#[test]
fn backlog_that_the_drain_works_off_is_not_load_met() {
    come_first();
    must_hold(|| {
        let server = ScriptedServer::of_capacity(200);
        let load = "rate = \"400/s\", duration = \"4s\"";
        let finished = CoordinatorCommand::local(1, &plan(&server.url(), load, "")).run();
        let reading = Reading::new(&finished);
        assert_ne!(reading.verdict(), "load_met", "{finished}");
        let [ok, not_sent] =
            ["ok", "not_sent"].map(|key| reading.count(&format!("/measured/operations/{key}")));
        assert_eq!(ok + not_sent, 1600, "{finished}");
        // All of them are answered in the end, half of them after the measured part. But a client
        // that stands still for a second finds no connection free for the last of them.
        ensure(not_sent == 0, || {
            format!("{not_sent} were not sent: {finished}")
        })
    });
}

#[test]
fn load_that_is_carried_with_long_answers_is_load_met() {
    come_first();
    // 105 of them are under way all the time, and no queue builds up.
    must_hold(|| {
        let server = ScriptedServer::of_delay(Duration::from_millis(700));
        let load = "rate = \"150/s\", warm_up = \"1s\", duration = \"3300ms\"";
        let finished = CoordinatorCommand::local(1, &plan(&server.url(), load, "")).run();
        ensure(Reading::new(&finished).verdict() == "load_met", || {
            format!("{finished}")
        })
    });
}

/// Failed with: it ended with 0; response_time.p75 <= 2 s: 1.91 s.
#[test]
fn arrivals_that_were_never_sent_are_in_the_percentiles() {
    come_first();
    // In 5 s it answers 4,000 of 8,000; the others never get a connection.
    let builtin = "name = \"numbers\"\ntarget.builtin = { tls = false, servers = { count = 8, \
                   service_time = \"10ms\" } }\n";
    let load = "load = { rate = \"1600/s\", duration = \"5s\", max_connections = 10 }\n";
    let thresholds = "thresholds = { \"response_time.p75\" = \"<= 2s\" }\n";
    must_hold(|| {
        let plan = format!("{builtin}{load}{thresholds}");
        let finished = CoordinatorCommand::local(1, &plan).run();
        let reading = Reading::new(&finished);
        assert!(
            reading.count("/measured/operations/not_sent") > 3500,
            "{finished}"
        );
        assert_eq!(
            reading.find("/thresholds/0/at_least"),
            Some(&serde_json::Value::Bool(true)),
            "{finished}"
        );
        let mut lines = finished.stdout.lines();
        let line = lines.find(|line| line.contains("response_time.p75"));
        assert!(
            line.is_some_and(|line| line.contains('≥')),
            "no line of p75 with ≥; {finished}"
        );
        // A client without room makes it 3.
        ensure(finished.code == 1, || format!("{finished}"))
    });
}

/// Checks that the result states the rate that the server saw.
fn sent_as_seen(finished: &Finished, exchanges: &[Exchange]) -> Tried {
    let (first, last) = (exchanges.first().unwrap(), exchanges.last().unwrap());
    let truth = (exchanges.len() - 1) as f64 / (last.asked_at - first.asked_at).as_secs_f64();
    // A busy machine keeps the server from reading what it was asked.
    ensure(is_near(truth, 50.0, 0.03), || {
        format!("the server was asked {truth:.1} times a second; {finished}")
    })?;
    let reading = Reading::new(finished);
    let reported = reading.number("/measured/rates/started_per_second");
    assert!(
        is_near(reported, truth, 0.03),
        "{reported:.1}/s is reported where the server saw {truth:.1}/s; {finished}"
    );
    // Said only if the client was in time, which a busy machine may prevent.
    let said = said_to_be_sent(&reading.evidence())?;
    assert!(
        is_near(said, truth, 0.03),
        "{said}/s were sent, it says, where the server saw {truth:.1}/s; {finished}"
    );
    Ok(())
}

/// The number before "operations per second were sent".
fn said_to_be_sent(evidence: &str) -> Result<f64, String> {
    let before = evidence
        .split(" operations per second were sent")
        .next()
        .unwrap();
    let number = before.rsplit(['\n', ' ']).next().unwrap();
    number
        .parse()
        .map_err(|_| format!("how much was sent is not said: {evidence}"))
}

/// Failed with: 25.5/s is reported where the server saw 50.0/s; load met — all of the load was sent
/// in time and answered.
#[test]
fn interrupted_run_says_the_rate_it_had_and_not_that_all_was_sent() {
    come_first();
    must_hold(|| {
        let server = ScriptedServer::of_delay(Duration::from_millis(2900));
        let load = "rate = \"50/s\", duration = \"10m\"";
        let coordinator = CoordinatorCommand::local(1, &plan(&server.url(), load, "")).spawn();
        wait_until("three seconds of load", || {
            (server.exchanges().len() >= 150).then_some(())
        });
        coordinator.signal(Signal::INT);
        let finished = coordinator.wait().expect(130);
        assert!(
            !finished.stdout.contains("all of the load was sent"),
            "{finished}"
        );
        assert_ne!(Reading::new(&finished).verdict(), "load_met", "{finished}");
        sent_as_seen(&finished, &server.exchanges())
    });
}

/// Failed with: 34.6/s is reported where the server saw 50.0/s.
#[test]
fn number_of_requests_with_a_long_drain_says_the_rate_it_had() {
    come_first();
    must_hold(|| {
        let server = ScriptedServer::of_delay(Duration::from_millis(1300));
        let finished = CoordinatorCommand::local(
            1,
            &plan(&server.url(), "rate = \"50/s\", requests = 147", ""),
        )
        .run();
        assert_eq!(server.exchanges().len(), 147);
        sent_as_seen(&finished, &server.exchanges())
    });
}
