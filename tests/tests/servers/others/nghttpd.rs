//! nghttpd, which speaks HTTP/2 only: requests and handshakes are those that it writes.

use super::Other;
use interop::{OtherKind, OtherOptions};

#[test]
fn streams_share_the_connections_of_the_plan() {
    let Some(other) = Other::start(OtherKind::Nghttpd) else {
        return;
    };
    other.assert_streams();
}

#[test]
fn handshakes_alone_are_counted_alike() {
    let Some(other) = Other::start(OtherKind::Nghttpd) else {
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
        let Some(other) = Other::with(OtherKind::Nghttpd, options) else {
            return;
        };
        other.assert_streams();
    }
}
