//! Python: requests, sessions and handshakes are those that its program is told of.

use super::{Other, Resumed};
use crate::assert_all_ok;
use interop::OtherKind;

#[test]
fn connections_carry_as_many_requests_as_the_plan_says() {
    let Some(other) = Other::start(OtherKind::Python) else {
        return;
    };
    other.assert_connections();
}

#[test]
fn sessions_are_resumed_in_both_versions_of_tls() {
    let Some(other) = Other::start(OtherKind::Python) else {
        return;
    };
    other.assert_resumption_1_2();
    other.assert_resumption_1_3(Resumed::Renews);
}

#[test]
fn handshakes_alone_are_counted_alike() {
    let Some(other) = Other::start(OtherKind::Python) else {
        return;
    };
    other.assert_handshakes();
}

/// curl takes 300 KiB of heads, so no more than 1,000 of these.
#[test]
fn ten_thousand_interim_answers_cost_no_request() {
    let Some(other) = Other::start(OtherKind::Python) else {
        return;
    };
    other.assert_curl("--http1.1", "/103/1000", "200 356 1.1");
    for path in ["/100/10000", "/103/10000"] {
        assert_all_ok(&other.run_path(path, "").document.measured);
    }
}

/// Every byte of head and body comes in a TLS record of its own.
#[test]
fn records_of_one_byte_are_put_together() {
    let Some(other) = Other::start(OtherKind::Python) else {
        return;
    };
    other.assert_curl("--http1.1", "/bytes", "200 356 1.1");
    for version in ["1.2", "1.3"] {
        for requests in ["1", "\"unlimited\""] {
            let sections =
                format!("tls.versions = [\"{version}\"]\nconnection.requests = {requests}\n");
            assert_all_ok(&other.run_path("/bytes", &sections).document.measured);
        }
    }
}
