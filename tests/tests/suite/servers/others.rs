//! Eight more servers: the result has what they have reported, and what they answer curl. Some of
//! them take seconds of CPU until they are ready, so a test starts one and checks all of it.

mod other;

use crate::servers::assert_all_ok;
use interop::{OtherKind, OtherOptions};
use other::{Other, Resumed};

/// Starts the server, if it is installed.
fn start(kind: OtherKind) -> Option<Other> {
    Other::with(kind, OtherOptions::default())
}

/// A server of both versions of HTTP.
fn assert_both_versions(kind: OtherKind, resumed: Resumed) {
    let Some(other) = start(kind) else { return };
    other.assert_http1(resumed);
    other.assert_streams();
}

#[test]
fn apache_counts_what_the_result_says() {
    assert_both_versions(OtherKind::Apache, Resumed::Renews);
}

#[test]
fn caddy_counts_what_the_result_says() {
    assert_both_versions(OtherKind::Caddy, Resumed::Renews);
}

#[test]
fn h2o_counts_what_the_result_says() {
    assert_both_versions(OtherKind::H2o, Resumed::GivesNone);
}

#[test]
fn java_counts_what_the_result_says() {
    let Some(java) = start(OtherKind::Java) else {
        return;
    };
    java.assert_http1(Resumed::Renews);
}

#[test]
fn lighttpd_counts_what_the_result_says() {
    assert_both_versions(OtherKind::Lighttpd, Resumed::GivesNone);
}

#[test]
fn nghttpd_counts_what_the_result_says() {
    let Some(nghttpd) = start(OtherKind::Nghttpd) else {
        return;
    };
    nghttpd.assert_handshakes();
    nghttpd.assert_streams();
}

#[test]
fn node_counts_what_the_result_says() {
    let Some(node) = start(OtherKind::Node) else {
        return;
    };
    node.assert_http1(Resumed::GivesNone);
    node.assert_streams();
    node.assert_interim_answers(&["", "connection = { http = \"2\", streams = 3 }\n"]);
}

#[test]
fn python_counts_what_the_result_says() {
    let Some(python) = start(OtherKind::Python) else {
        return;
    };
    python.assert_http1(Resumed::Renews);
    python.assert_interim_answers(&[""]);
    // Every byte of head and body arrives in a TLS record of its own.
    python.assert_curl("--http1.1", "/bytes", "200 356 1.1");
    for version in ["1.2", "1.3"] {
        for requests in ["1", "\"unlimited\""] {
            let sections =
                format!("tls.versions = [\"{version}\"]\nconnection.requests = {requests}\n");
            assert_all_ok(&python.run_path("/bytes", &sections).document.measured);
        }
    }
}

/// A server with no table, or a small one, for the header blocks of a client (RFC 7541, section
/// 4.2).
fn assert_small_header_tables(kind: OtherKind) {
    for bytes in [0, 1, 1024, 4095] {
        let options = OtherOptions {
            header_table_bytes: Some(bytes),
            ..OtherOptions::default()
        };
        let Some(other) = Other::with(kind, options) else {
            return;
        };
        other.assert_streams();
    }
}

#[test]
fn small_header_tables_of_nghttpd_cost_no_request() {
    assert_small_header_tables(OtherKind::Nghttpd);
}

#[test]
fn small_header_tables_of_node_cost_no_request() {
    assert_small_header_tables(OtherKind::Node);
}
