//! The network is the limit.

use crate::right::Right;
use crate::stage::{Stage, plan, staged};
use analysis::Verdict::{NetworkBound, PlanBound, ServerBound, Undetermined};
use interop::{Finished, LinkQuality, Nginx, NginxOptions, NginxServer, Pki, PythonServer};
use std::time::Duration;

/// Large bodies over a link.
fn large_bodies(quality: LinkQuality, load: &str) -> Option<Finished> {
    let mut stage = Stage::linked(quality)?;
    let options = NginxOptions {
        ip: stage.server_ip(),
        ..NginxOptions::default()
    };
    let nginx = Nginx::start(&Pki::new(), &options)?;
    stage.watch(nginx.id());
    let plan = plan(&nginx.url(NginxServer::Plain, "/packed"), load, "");
    Some(stage.play(stage.agent_side(), &plan, |_| ()))
}

/// A home router's queue.
fn narrow() -> LinkQuality {
    LinkQuality {
        delay: Duration::from_millis(5),
        rate: Some(20_000_000),
        packets_max: 100,
        ..LinkQuality::default()
    }
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn narrow_link_with_a_closed_loop() {
    staged(
        "a link of 20 Mbit/s, closed loop",
        &Right::is(NetworkBound),
        || large_bodies(narrow(), "connections = 8, duration = \"4s\""),
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn narrow_link_with_an_open_loop() {
    staged(
        "a link of 20 Mbit/s, open loop",
        &Right::is(NetworkBound),
        || {
            large_bodies(
                narrow(),
                "rate = \"60/s\", max_connections = 50, duration = \"4s\"",
            )
        },
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn link_that_loses_packets() {
    staged("a link that loses 2 %", &Right::is(NetworkBound), || {
        let lossy = LinkQuality {
            delay: Duration::from_millis(10),
            loss: 0.02,
            ..LinkQuality::default()
        };
        large_bodies(lossy, "connections = 4, duration = \"4s\"")
    });
}

/// Answers of 1 kB, or request bodies of 10 kB, without a monitor of the server.
fn small(quality: LinkQuality, load: &str, path: &str, more: &str) -> Option<Finished> {
    let stage = Stage::linked(quality)?;
    let options = NginxOptions {
        ip: stage.server_ip(),
        ..NginxOptions::default()
    };
    let nginx = Nginx::start(&Pki::new(), &options)?;
    let plan = plan(&nginx.url(NginxServer::Plain, path), load, more);
    Some(stage.play(stage.agent_side(), &plan, |_| ()))
}

/// A link with this rate in bit/s.
fn slow(rate: u64, delay_ms: u64) -> LinkQuality {
    LinkQuality {
        delay: Duration::from_millis(delay_ms),
        rate: Some(rate),
        packets_max: 1000,
        ..LinkQuality::default()
    }
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn small_answers_over_a_slow_link() {
    for (rate, delay_ms, load) in [
        (1_000_000, 0, "connections = 40, duration = \"4s\""),
        (500_000, 20, "connections = 40, duration = \"4s\""),
        (
            500_000,
            5,
            "rate = \"600/s\", max_connections = 100, duration = \"4s\"",
        ),
    ] {
        staged(
            "small answers over a slow link",
            &Right::is(NetworkBound).named("round trips"),
            || small(slow(rate, delay_ms), load, "/", ""),
        );
    }
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn uploads_over_a_slow_link() {
    let body = "x".repeat(10_000);
    let more = format!("request = {{ method = \"POST\", path = \"/length\", body = {body:?} }}");
    for (rate, users) in [(5_000_000, 40), (8_000_000, 25)] {
        let load = format!("connections = {users}, duration = \"4s\"");
        staged(
            "uploads over a slow link",
            &Right::is(NetworkBound).named("round trips"),
            || small(slow(rate, 5), &load, "/length", &more),
        );
    }
}

/// A server in Python at the end of an idle link, with a monitor.
fn python(delay_ms: u64, arguments: &[&str], load: &str) -> Option<Finished> {
    let idle = LinkQuality {
        delay: Duration::from_millis(delay_ms),
        ..LinkQuality::default()
    };
    let mut stage = Stage::linked(idle)?;
    let python = PythonServer::start(stage.server_ip(), arguments)?;
    stage.watch(python.id());
    let plan = plan(&python.url(), load, "");
    Some(stage.play(stage.agent_side(), &plan, |_| ()))
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn server_that_paces_its_bodies_over_an_idle_link() {
    for delay_ms in [0, 20] {
        staged(
            "bodies at 1 MB/s over an idle link",
            &Right::is(Undetermined)
                .named("the link had room")
                .or(&[ServerBound, PlanBound]),
            || {
                let load = "connections = 10, duration = \"4s\"";
                python(delay_ms, &["paced", "1e6", "200000"], load)
            },
        );
    }
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn server_that_waits_for_its_interpreter_over_an_idle_link() {
    // Thirty users over a round trip of 40 ms bring at most 750 requests a second.
    for (delay_ms, compute_ms) in [(0, "1"), (20, "3")] {
        staged(
            "a server limited by its interpreter's lock over an idle link",
            &Right::is(ServerBound).or(&[Undetermined]),
            || {
                let load = "connections = 30, duration = \"4s\"";
                python(delay_ms, &["compute", compute_ms], load)
            },
        );
    }
}
