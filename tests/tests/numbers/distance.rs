//! A server 20 ms away, with and without losses: times are round trips, and both ends count the
//! same.

use crate::reading::Reading;
use crate::{alone, come_first, must_be_trusted, must_hold};
use interop::{
    CoordinatorCommand, Finished, Link, LinkQuality, Nginx, NginxOptions, NginxServer, Pki, Tried,
    ensure,
};
use std::ops::Range;
use std::time::Duration;

/// From one end to the other.
const ONE_WAY: Duration = Duration::from_millis(10);

/// A round trip, and what a busy machine may add to half of them and to most of them.
const ROUND_TRIP_MS: [(f64, Range<f64>); 2] = [(50.0, 20.0..23.0), (90.0, 20.0..30.0)];

/// nginx at this end of a link, and the client at the other.
struct Distant {
    link: Link,
    nginx: Nginx,
    pki: Pki,
}

impl Distant {
    fn new(quality: LinkQuality) -> Option<Distant> {
        let link = Link::new(quality)?;
        let pki = Pki::new();
        let ip = link.near_address().into();
        let nginx = Nginx::start(
            &pki,
            &NginxOptions {
                ip,
                ..NginxOptions::default()
            },
        )?;
        Some(Distant { link, nginx, pki })
    }

    fn run(&self, server: NginxServer, load: &str, more: &str) -> Finished {
        let url = self.nginx.url(server, "/");
        let tls = if server.is_tls() {
            format!(
                "tls = {{ ca = {:?}, server_name = \"localhost\" }}\n",
                self.pki.ca()
            )
        } else {
            String::new()
        };
        CoordinatorCommand::local_by(
            self.link.command(),
            &crate::plan(&url, load, &format!("{tls}{more}")),
        )
        .run()
    }
}

/// Checks that `first_byte` is one round trip.
fn wrong_first_byte(finished: &Finished) -> Tried {
    let reading = Reading::new(finished);
    let values = ROUND_TRIP_MS
        .map(|(percentile, _)| reading.percentile_ms("/measured/times/first_byte", percentile));
    println!(
        "first_byte: p50 {:.2} ms, p90 {:.2} ms",
        values[0], values[1]
    );
    let is_right = values
        .iter()
        .zip(&ROUND_TRIP_MS)
        .all(|(value, (_, bound))| bound.contains(value));
    ensure(is_right, || {
        format!(
            "first_byte: p50 {:.2} ms, p90 {:.2} ms",
            values[0], values[1]
        )
    })
}

/// Failed with: first_byte: p50 31.31 ms, p90 39.75 ms.
#[test]
fn streams_of_one_connection_take_a_round_trip_each() {
    come_first();
    let Some(distant) = Distant::new(LinkQuality {
        delay: ONE_WAY,
        ..LinkQuality::default()
    }) else {
        return;
    };
    for server in [NginxServer::Http2, NginxServer::Http2Plain] {
        must_hold(|| {
            let load =
                "rate = \"200/s\", max_connections = 1, warm_up = \"500ms\", duration = \"3s\"";
            let finished = distant.run(server, load, "connection = { http = \"2\", streams = 50 }");
            wrong_first_byte(&finished)
        });
    }
}

/// Failed with: first_byte: p50 40.93 ms, p90 41.65 ms (20 streams).
#[test]
fn streams_of_a_closed_loop_take_a_round_trip_each() {
    come_first();
    let Some(distant) = Distant::new(LinkQuality {
        delay: ONE_WAY,
        ..LinkQuality::default()
    }) else {
        return;
    };
    for streams in [1, 20] {
        must_hold(|| {
            let load = "connections = 1, warm_up = \"500ms\", duration = \"2s\"";
            let more = format!("connection = {{ http = \"2\", streams = {streams} }}");
            wrong_first_byte(&distant.run(NginxServer::Http2, load, &more))
        });
    }
}

#[test]
fn requests_of_http_1_take_a_round_trip_each() {
    come_first();
    let Some(distant) = Distant::new(LinkQuality {
        delay: ONE_WAY,
        ..LinkQuality::default()
    }) else {
        return;
    };
    must_hold(|| {
        let load = "rate = \"200/s\", max_connections = 50, warm_up = \"500ms\", duration = \"2s\"";
        let finished = distant.run(NginxServer::Tls13, load, "");
        wrong_first_byte(&finished)?;
        let verdict = Reading::new(&finished).verdict();
        ensure(verdict == "load_met", || format!("{finished}"))
    });
}

#[test]
fn both_ends_count_the_same_where_packets_are_lost() {
    come_first();
    let quality = LinkQuality {
        delay: ONE_WAY,
        loss: 0.02,
        ..LinkQuality::default()
    };
    let Some(distant) = Distant::new(quality) else {
        return;
    };
    let scenes = [
        (NginxServer::Tls13, "connection.requests = 7"),
        (
            NginxServer::Http2,
            "connection = { http = \"2\", streams = 9 }",
        ),
    ];
    let mut counted = 0;
    let mut one_try = |server, more| {
        let load = "rate = \"130/s\", max_connections = 100, duration = \"3300ms\"";
        let finished = distant.run(server, load, more);
        let reading = Reading::new(&finished);
        let count = |name: &str| reading.count(&format!("/measured/operations/{name}"));
        // 130 × 3.3. Arrivals that still wait for a connection at the end are not sent; all others
        // are answered.
        let [ok, not_sent] = [count("ok"), count("not_sent")];
        assert_eq!(
            (ok + not_sent, count("errors")),
            (429, not_sent),
            "{finished}"
        );
        assert!(
            not_sent < 43,
            "{not_sent} were not sent: more than wait at a moment; {finished}"
        );
        counted += ok as usize;
        assert_eq!(
            distant.nginx.wait_for_requests(counted).len(),
            counted,
            "{finished}"
        );
        must_be_trusted(&finished)
    };
    for (server, more) in scenes {
        must_hold(|| one_try(server, more));
    }
    let lost: u64 = distant.link.counts().iter().map(|counts| counts.lost).sum();
    assert!(
        lost > 5,
        "the link has lost nothing: {:?}",
        distant.link.counts()
    );
}

#[test]
fn phases_are_so_many_round_trips() {
    come_first();
    let Some(distant) = Distant::new(LinkQuality {
        delay: ONE_WAY,
        ..LinkQuality::default()
    }) else {
        return;
    };
    // TLS 1.3 takes one round trip, TLS 1.2 two.
    for (server, handshake_ms) in [(NginxServer::Tls13, 20.0), (NginxServer::Tls12Rsa, 40.0)] {
        must_hold(|| {
            let load = "rate = \"70/s\", duration = \"1700ms\"";
            let reading = Reading::new(&distant.run(server, load, "connection.requests = 1"));
            let phases = [
                ("connect", 20.0),
                ("handshake", handshake_ms),
                ("first_byte", 20.0),
                ("opening", 20.0 + handshake_ms),
            ];
            phases.into_iter().try_for_each(|(phase, truth_ms)| {
                let p50 = reading.percentile_ms(&format!("/measured/times/{phase}"), 50.0);
                println!("{server:?}: {phase} {p50:.2} ms");
                ensure((truth_ms..truth_ms + 6.0).contains(&p50), || {
                    format!("{server:?}: p50 of {phase} is {p50:.2} ms")
                })
            })
        });
    }
}

#[test]
fn bytes_per_second_are_what_the_link_carries() {
    // 52 of each 1,500 bytes are headers of IP and TCP.
    const RATE: u64 = 40_000_000;
    let truth = RATE as f64 / 8.0 * 1448.0 / 1500.0;
    let _alone = alone();
    let quality = LinkQuality {
        delay: ONE_WAY,
        rate: Some(RATE),
        packets_max: 500,
        ..LinkQuality::default()
    };
    let Some(distant) = Distant::new(quality) else {
        return;
    };
    must_hold(|| {
        let load = "connections = 3, warm_up = \"1s\", duration = \"3300ms\"";
        let finished = distant.run(NginxServer::Tls13, load, "request.path = \"/big\"");
        let reading = Reading::new(&finished);
        let reported = reading.number("/measured/rates/wire_received_bytes_per_second");
        println!("{reported:.0} bytes per second where the link carries {truth:.0}");
        assert!(
            reported <= truth * 1.01,
            "{reported:.0} bytes per second are more than the link carries: {truth:.0}"
        );
        ensure(reported >= truth * 0.95, || {
            format!("{reported:.0} bytes per second where the link carries {truth:.0}")
        })
    });
}
