//! Node: requests, sessions and handshakes are those that its program is told of.

use super::{Other, Resumed};
use crate::assert_all_ok;
use interop::{OtherKind, OtherOptions};

#[test]
fn connections_carry_as_many_requests_as_the_plan_says() {
    let Some(other) = Other::start(OtherKind::Node) else {
        return;
    };
    other.assert_connections();
}

#[test]
fn streams_share_the_connections_of_the_plan() {
    let Some(other) = Other::start(OtherKind::Node) else {
        return;
    };
    other.assert_streams();
}

#[test]
fn sessions_are_resumed_in_both_versions_of_tls() {
    let Some(other) = Other::start(OtherKind::Node) else {
        return;
    };
    other.assert_resumption_1_2();
    other.assert_resumption_1_3(Resumed::GivesNone);
}

#[test]
fn handshakes_alone_are_counted_alike() {
    let Some(other) = Other::start(OtherKind::Node) else {
        return;
    };
    other.assert_handshakes();
}

/// A server that keeps no table, or a small one, for what a client's header blocks name (RFC 7541
/// §4.2).
#[test]
fn small_header_tables_cost_no_request() {
    for bytes in [0, 1, 1024, 4095] {
        let options = OtherOptions {
            header_table_bytes: Some(bytes),
            ..OtherOptions::default()
        };
        let Some(other) = Other::with(OtherKind::Node, options) else {
            return;
        };
        other.assert_streams();
    }
}

/// curl takes 300 KiB of heads, so no more than 1,000 of these.
#[test]
fn ten_thousand_interim_answers_cost_no_request() {
    let Some(other) = Other::start(OtherKind::Node) else {
        return;
    };
    other.assert_curl("--http1.1", "/103/1000", "200 356 1.1");
    other.assert_curl("--http2", "/103/1000", "200 356 2");
    for path in ["/100/10000", "/103/10000"] {
        for sections in ["", "connection = { http = \"2\", streams = 3 }\n"] {
            let told = other.run_path(path, sections);
            assert_all_ok(&told.document.measured);
        }
    }
}
