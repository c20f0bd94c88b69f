//! Checks whether a request names a host that is certainly this machine.

use hyper::header::{HOST, HeaderMap};
use hyper::http::uri::Authority;
use std::net::IpAddr;

/// Whether the named host is one that no stranger can own: an IP address, or `localhost`.
pub(crate) fn is_own_host(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else {
        return false;
    };
    host.parse::<Authority>().is_ok_and(|authority| {
        let name = authority.host().trim_matches(['[', ']']);
        name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn with(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(HOST, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn only_hosts_that_no_stranger_owns_are_answered() {
        for own in [
            "localhost",
            "LocalHost:7712",
            "127.0.0.1:7712",
            "[::1]:7712",
        ] {
            assert!(is_own_host(&with(own)), "{own}");
        }
        for strange in [
            "evil.test",
            "localhost.evil.test:7712",
            "127.0.0.1.evil.test",
            "",
        ] {
            assert!(!is_own_host(&with(strange)), "{strange}");
        }
        assert!(!is_own_host(&HeaderMap::new()));
    }
}
