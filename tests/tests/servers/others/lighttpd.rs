//! lighttpd: requests are those of its access log, which it writes every few seconds.

use super::{Other, Resumed};
use interop::OtherKind;

#[test]
fn connections_carry_as_many_requests_as_the_plan_says() {
    let Some(other) = Other::start(OtherKind::Lighttpd) else {
        return;
    };
    other.assert_connections();
}

#[test]
fn streams_share_the_connections_of_the_plan() {
    let Some(other) = Other::start(OtherKind::Lighttpd) else {
        return;
    };
    other.assert_streams();
}

#[test]
fn sessions_are_resumed_in_both_versions_of_tls() {
    let Some(other) = Other::start(OtherKind::Lighttpd) else {
        return;
    };
    other.assert_resumption_1_2();
    other.assert_resumption_1_3(Resumed::GivesNone);
}

#[test]
fn handshakes_alone_are_counted_alike() {
    let Some(other) = Other::start(OtherKind::Lighttpd) else {
        return;
    };
    other.assert_handshakes();
}
