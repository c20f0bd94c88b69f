//! Eight more servers: the result has what they have reported, and what they answer curl.

mod other;

use crate::servers::assert_all_ok;
use interop::{OtherKind, OtherOptions, play_side_by_side};
use other::{Other, Resumed};

/// Servers at once. Some of them take a second of CPU until they are ready.
const AT_ONCE: usize = 4;

/// Starts each of these servers, and does `play` with those that are installed.
fn with_each(kinds: &[OtherKind], play: impl Fn(&Other) + Sync) {
    let all = kinds.iter().map(|&kind| (kind, OtherOptions::default()));
    with_each_of(all.collect(), play);
}

/// The same of servers that differ in more than their kind.
fn with_each_of(servers: Vec<(OtherKind, OtherOptions)>, play: impl Fn(&Other) + Sync) {
    play_side_by_side(
        servers,
        AT_ONCE,
        |(kind, options)| format!("{kind:?}, {options:?}"),
        |&(kind, options)| {
            if let Some(other) = Other::with(kind, options) {
                play(&other);
            }
            Ok(())
        },
    );
}

#[test]
fn connections_carry_as_many_requests_as_the_plan_says() {
    use OtherKind::{Apache, Caddy, H2o, Java, Lighttpd, Node, Python};
    let kinds = [Apache, Caddy, H2o, Java, Lighttpd, Node, Python];
    with_each(&kinds, Other::assert_connections);
}

#[test]
fn streams_share_the_connections_of_the_plan() {
    use OtherKind::{Apache, Caddy, H2o, Lighttpd, Nghttpd, Node};
    let kinds = [Apache, Caddy, H2o, Lighttpd, Nghttpd, Node];
    with_each(&kinds, Other::assert_streams);
}

#[test]
fn sessions_are_resumed_in_both_versions_of_tls() {
    use OtherKind::{Apache, Caddy, H2o, Java, Lighttpd, Node, Python};
    with_each(&[Apache, Caddy, Java, Python], |other| {
        other.assert_resumption(Resumed::Renews);
    });
    with_each(&[H2o, Lighttpd, Node], |other| {
        other.assert_resumption(Resumed::GivesNone);
    });
}

#[test]
fn handshakes_alone_are_counted_alike() {
    use OtherKind::{Apache, Caddy, H2o, Java, Lighttpd, Nghttpd, Node, Python};
    let kinds = [Apache, Caddy, H2o, Java, Lighttpd, Nghttpd, Node, Python];
    with_each(&kinds, Other::assert_handshakes);
}

/// A server with no table, or a small one, for the header blocks of a client (RFC 7541, section
/// 4.2).
#[test]
fn small_header_tables_cost_no_request() {
    let sized = |bytes| OtherOptions {
        header_table_bytes: Some(bytes),
        ..OtherOptions::default()
    };
    let kinds = [OtherKind::Nghttpd, OtherKind::Node];
    let servers = kinds
        .into_iter()
        .flat_map(|kind| [0, 1, 1024, 4095].map(|bytes| (kind, sized(bytes))));
    with_each_of(servers.collect(), Other::assert_streams);
}

/// curl accepts 300 KiB of heads, so at most 1,000 of these.
#[test]
fn ten_thousand_interim_answers_cost_no_request() {
    with_each(&[OtherKind::Node, OtherKind::Python], |other| {
        other.assert_curl("--http1.1", "/103/1000", "200 356 1.1");
        let mut connections = vec![""];
        if other.kind == OtherKind::Node {
            other.assert_curl("--http2", "/103/1000", "200 356 2");
            connections.push("connection = { http = \"2\", streams = 3 }\n");
        }
        for path in ["/100/10000", "/103/10000"] {
            for sections in &connections {
                assert_all_ok(&other.run_path(path, sections).document.measured);
            }
        }
    });
}

/// Every byte of head and body arrives in a TLS record of its own.
#[test]
fn records_of_one_byte_are_put_together() {
    with_each(&[OtherKind::Python], |other| {
        other.assert_curl("--http1.1", "/bytes", "200 356 1.1");
        for version in ["1.2", "1.3"] {
            for requests in ["1", "\"unlimited\""] {
                let sections =
                    format!("tls.versions = [\"{version}\"]\nconnection.requests = {requests}\n");
                assert_all_ok(&other.run_path("/bytes", &sections).document.measured);
            }
        }
    });
}
