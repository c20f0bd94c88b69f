//! What HTTP asks of a request, whatever its version.

use plan::{Host, Plan, Scheme};

/// Whether a request of this method anticipates a body.
pub(crate) fn takes_body(method: &str) -> bool {
    matches!(method, "POST" | "PUT" | "PATCH")
}

/// `host[:port]` of the URL; the port only if it is not the scheme's default (RFC 9110 §7.2).
pub(crate) fn authority(plan: &Plan) -> String {
    let url = &plan.target().url;
    let host = match &url.host {
        Host::Name(name) => name.clone(),
        Host::Ip(ip) if ip.is_ipv6() => format!("[{ip}]"),
        Host::Ip(ip) => ip.to_string(),
    };
    match (url.scheme, url.port) {
        (Scheme::Http, 80) | (Scheme::Https, 443) => host,
        (_, port) => format!("{host}:{port}"),
    }
}
