//! nginx's own counters, from its stub_status page.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;

/// nginx's counters since it started, over HTTP and stream servers together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NginxStatus {
    /// Connections accepted.
    pub accepted: u64,
    /// Connections handled; below `accepted` only if nginx ran out of some resource.
    pub handled: u64,
    /// HTTP requests.
    pub requests: u64,
    /// Connections open now, except that of this request.
    pub active: u64,
}

/// Reads the page, and subtracts this fixture's requests in `calls`, including this one; `None` if
/// nginx does not answer.
pub(super) fn read(address: SocketAddr, calls: &Mutex<u64>) -> Option<NginxStatus> {
    // Held during the request, so that no two requests count each other.
    let mut calls = calls.lock().unwrap();
    let page = page(address)?;
    *calls += 1;
    let status = parse(&page).unwrap_or_else(|| panic!("not nginx's status page: {page:?}"));
    Some(NginxStatus {
        accepted: status.accepted - *calls,
        handled: status.handled - *calls,
        requests: status.requests - *calls,
        active: status.active - 1,
    })
}

fn page(address: SocketAddr) -> Option<String> {
    let mut stream = TcpStream::connect_timeout(&address, crate::DEADLINE).ok()?;
    stream.set_read_timeout(Some(crate::DEADLINE)).ok()?;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer.split_once("\r\n\r\n")?.1.to_owned())
}

fn parse(page: &str) -> Option<NginxStatus> {
    let mut lines = page.lines();
    let active = lines
        .next()?
        .strip_prefix("Active connections:")?
        .trim()
        .parse()
        .ok()?;
    let mut counts = lines.nth(1)?.split_whitespace().map(str::parse);
    let mut next = || counts.next()?.ok();
    Some(NginxStatus {
        accepted: next()?,
        handled: next()?,
        requests: next()?,
        active,
    })
}
