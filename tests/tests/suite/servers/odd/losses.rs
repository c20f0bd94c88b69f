//! A link with a round trip of 40 ms that loses 2 % of the packets: nothing is lost or counted
//! twice.

use crate::servers::{REQUESTS, USERS};
use interop::{CoordinatorCommand, Link, LinkQuality, Nginx, NginxOptions, NginxServer, Pki, plan};
use std::time::Duration;

#[test]
fn both_ends_count_the_same_over_a_link_with_losses() {
    let quality = LinkQuality {
        delay: Duration::from_millis(20),
        loss: 0.02,
        ..LinkQuality::default()
    };
    let Some(link) = Link::new(quality) else {
        return;
    };
    let pki = Pki::new();
    // (server, connection, connections where that follows)
    let cases = [
        (NginxServer::Tls13, "requests = 1", Some(REQUESTS)),
        (NginxServer::Tls12Rsa, "requests = 1", Some(REQUESTS)),
        (NginxServer::Tls13, "requests = 7", None),
        (NginxServer::Http2, "http = \"2\", streams = 5", Some(USERS)),
    ];
    for (server, connection, connections) in cases {
        let options = NginxOptions {
            ip: link.near_address().into(),
            ..NginxOptions::default()
        };
        let Some(nginx) = Nginx::start(&pki, &options) else {
            return;
        };
        let more = format!("tls.server_name = \"localhost\"\nconnection = {{ {connection} }}\n");
        let load = format!("load = {{ connections = {USERS}, requests = {REQUESTS} }}\n");
        let text = format!("{load}{}", plan(&nginx.url(server, "/"), &pki, &more));
        let finished = CoordinatorCommand::local_by(link.command(), &text)
            .run()
            .expect(0);
        let measured = finished.document().measured;
        assert_eq!(
            (measured.operations.ok, measured.operations.ended),
            (REQUESTS, REQUESTS),
            "{finished}"
        );
        let rows = nginx.wait_for_requests(REQUESTS as usize).len() as u64;
        assert_eq!(
            (rows, nginx.status().accepted),
            (REQUESTS, measured.connections.opened),
            "{finished}"
        );
        assert!(
            connections.is_none_or(|number| number == measured.connections.opened),
            "{finished}"
        );
    }
    let lost: u64 = link.counts().iter().map(|counts| counts.lost).sum();
    assert!(lost > 5, "the link has lost nothing: {:?}", link.counts());
}
