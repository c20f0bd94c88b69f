//! A server that only has an IPv6 address.

use crate::servers::{REQUESTS, USERS, assert_all_ok, run};
use interop::{Nginx, NginxOptions, NginxServer, Pki, plan};
use std::net::Ipv6Addr;

#[test]
fn server_on_ipv6_alone_counts_what_is_reported() {
    let pki = Pki::new();
    let cases = [
        (NginxServer::Plain, "", USERS),
        (NginxServer::Tls13, "connection.requests = 1\n", REQUESTS),
        (
            NginxServer::Tls12Tickets,
            "tls.resumption = \"always\"\nconnection.requests = 1\n",
            REQUESTS,
        ),
        (
            NginxServer::Http2,
            "connection = { http = \"2\", streams = 5 }\n",
            USERS,
        ),
        (
            NginxServer::Tls13,
            "connection.source_addresses = [\"::1\"]\n",
            USERS,
        ),
    ];
    for (server, sections, connections) in cases {
        let options = NginxOptions {
            ip: Ipv6Addr::LOCALHOST.into(),
            ..NginxOptions::default()
        };
        let Some(nginx) = Nginx::start(&pki, &options) else {
            return;
        };
        let document = run(&plan(&nginx.url(server, "/"), &pki, sections));
        assert_all_ok(&document.measured);
        let rows = nginx.wait_for_requests(REQUESTS as usize);
        assert_eq!(
            (rows.len() as u64, nginx.status().accepted),
            (REQUESTS, connections),
            "{server:?}"
        );
        assert!(
            rows.iter().all(|row| row.client == Ipv6Addr::LOCALHOST),
            "{:?}",
            rows[0]
        );
        assert_eq!(
            document.measured.connections.opened, connections,
            "{server:?}"
        );
    }
}
