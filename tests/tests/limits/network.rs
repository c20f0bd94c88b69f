//! The network is the limit.

use crate::right::Right;
use crate::stage::{Stage, plan, staged};
use analysis::Verdict::NetworkBound;
use interop::{Finished, LinkQuality, Nginx, NginxOptions, NginxServer, Pki};
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
fn narrow_link_with_a_closed_loop() {
    staged(
        "a link of 20 Mbit/s, closed loop",
        &Right::is(NetworkBound),
        || large_bodies(narrow(), "connections = 8, duration = \"4s\""),
    );
}

#[test]
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
