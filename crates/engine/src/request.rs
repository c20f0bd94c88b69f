//! Request bytes, built before the run; only templates are filled in during it.

use plan::{Body, Host, Piece, Plan, Scheme, Template};

/// Longest cycle of weighted requests; beyond it weights are rounded.
const LONGEST_CYCLE: u64 = 10_000;

/// All requests of a plan, ready to send.
#[derive(Debug)]
pub(crate) struct Requests {
    requests: Vec<Prebuilt>,
    /// Indices in the order of sending; each stands in it by its weight.
    cycle: Vec<u16>,
}

/// One request of the plan as bytes.
#[derive(Debug)]
pub(crate) struct Prebuilt {
    /// With `Connection: close` for the last request of a connection, and without.
    keeping: Bytes,
    closing: Bytes,
    /// The response has no body.
    pub(crate) is_head: bool,
    /// May be sent again on a new connection (RFC 9110 §9.2.2).
    pub(crate) is_idempotent: bool,
    /// Asks for nothing to be changed, so that it may go out as early data (RFC 9110 §9.2.1, RFC 8470 §4).
    pub(crate) is_safe: bool,
    pub(crate) expect: plan::Expect,
}

/// Bytes, or the pieces of them.
#[derive(Debug)]
enum Bytes {
    Fixed(Vec<u8>),
    Pieces { pieces: Vec<Fill>, body: Option<Vec<Fill>> },
}

#[derive(Debug, Clone)]
pub(crate) enum Fill {
    Bytes(Vec<u8>),
    User,
    Seq,
    Random,
}

/// What placeholders stand for in one operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Values {
    pub(crate) user: u64,
    pub(crate) seq: u64,
    pub(crate) random: u64,
}

impl Requests {
    pub(crate) fn new(plan: &Plan) -> Requests {
        let requests = plan.requests().iter().map(|request| Prebuilt::new(plan, request)).collect();
        let weights: Vec<u32> = plan.requests().iter().map(|request| request.weight).collect();
        Requests { requests, cycle: cycle(&weights) }
    }

    /// Which request the `nth` operation of a worker sends.
    #[inline]
    pub(crate) fn nth(&self, nth: u64) -> u16 {
        if self.cycle.len() == 1 { self.cycle[0] } else { self.cycle[(nth % self.cycle.len() as u64) as usize] }
    }

    #[inline]
    pub(crate) fn of(&self, index: u16) -> &Prebuilt {
        &self.requests[usize::from(index)]
    }
}

/// Spreads each index evenly over a cycle whose length is the sum of the reduced weights.
fn cycle(weights: &[u32]) -> Vec<u16> {
    let divisor = weights.iter().fold(0, |a, &b| gcd(a, u64::from(b))).max(1);
    let mut reduced: Vec<u64> = weights.iter().map(|&weight| u64::from(weight) / divisor).collect();
    let sum: u64 = reduced.iter().sum();
    if sum > LONGEST_CYCLE {
        reduced = reduced.iter().map(|weight| (weight * LONGEST_CYCLE / sum).max(u64::from(*weight > 0))).collect();
    }
    let length: u64 = reduced.iter().sum();
    // Smooth weighted round robin: each step everyone gains its weight, the richest is taken and pays the sum.
    let mut credit = vec![0_i64; reduced.len()];
    let mut order = Vec::with_capacity(length as usize);
    for _ in 0..length {
        credit.iter_mut().zip(&reduced).for_each(|(credit, &weight)| *credit += weight as i64);
        let richest = (0..credit.len()).max_by_key(|&i| (credit[i], std::cmp::Reverse(i))).unwrap_or(0);
        credit[richest] -= length as i64;
        order.push(richest as u16);
    }
    if order.is_empty() { vec![0] } else { order }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Prebuilt {
    fn new(plan: &Plan, request: &plan::Request) -> Prebuilt {
        let is_idempotent = matches!(request.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE");
        Prebuilt {
            keeping: Bytes::new(plan, request, false),
            closing: Bytes::new(plan, request, true),
            is_head: request.method == "HEAD",
            is_idempotent,
            is_safe: matches!(request.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE"),
            expect: request.expect.clone(),
        }
    }

    /// Puts the request's bytes into `out`; `last` on its connection, where the server is to close.
    #[inline]
    pub(crate) fn write(&self, last: bool, values: Values, out: &mut Vec<u8>) {
        let bytes = if last { &self.closing } else { &self.keeping };
        match bytes {
            Bytes::Fixed(bytes) => out.extend_from_slice(bytes),
            Bytes::Pieces { pieces, body } => fill_request(pieces, body.as_deref(), values, out),
        }
    }
}

impl Bytes {
    fn new(plan: &Plan, request: &plan::Request, closing: bool) -> Bytes {
        let mut pieces = Vec::new();
        literal(&mut pieces, request.method.as_bytes());
        literal(&mut pieces, b" ");
        match &request.path {
            Some(path) => template(&mut pieces, path),
            None => literal(&mut pieces, plan.target().url.path.as_bytes()),
        }
        literal(&mut pieces, b" HTTP/1.1\r\n");
        if !request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            literal(&mut pieces, format!("Host: {}\r\n", authority(plan)).as_bytes());
        }
        for (name, value) in &request.headers {
            literal(&mut pieces, name.as_bytes());
            literal(&mut pieces, b": ");
            template(&mut pieces, value);
            literal(&mut pieces, b"\r\n");
        }
        if closing {
            literal(&mut pieces, b"Connection: close\r\n");
        }
        Bytes::with_body(pieces, body_of(request))
    }

    fn with_body(mut pieces: Vec<Fill>, body: Option<Vec<Fill>>) -> Bytes {
        if body.is_none() {
            literal(&mut pieces, b"\r\n");
        }
        Bytes::Pieces { pieces, body }.fixed_where_possible()
    }

    fn fixed_where_possible(self) -> Bytes {
        let Bytes::Pieces { pieces, body } = &self else { return self };
        if pieces.iter().chain(body.iter().flatten()).any(|piece| !piece.is_bytes()) {
            return self;
        }
        let mut bytes = Vec::new();
        fill_request(pieces, body.as_deref(), Values { user: 0, seq: 0, random: 0 }, &mut bytes);
        Bytes::Fixed(bytes)
    }
}

pub(crate) fn body_of(request: &plan::Request) -> Option<Vec<Fill>> {
    let mut body = Vec::new();
    match &request.body {
        Some(Body::Text(text)) => template(&mut body, text),
        Some(Body::File(file)) => literal(&mut body, &file.content),
        // A method that anticipates content says that there is none (RFC 9110 §8.6).
        None if matches!(request.method.as_str(), "POST" | "PUT" | "PATCH") => {}
        None => return None,
    }
    Some(body)
}

fn fill_request(pieces: &[Fill], body: Option<&[Fill]>, values: Values, out: &mut Vec<u8>) {
    use std::io::Write as _;
    pieces.iter().for_each(|piece| piece.fill(values, out));
    if let Some(body) = body {
        let length: usize = body.iter().map(|piece| piece.length(values)).sum();
        // Writing to a Vec cannot fail.
        let _ = write!(out, "Content-Length: {length}\r\n\r\n");
        body.iter().for_each(|piece| piece.fill(values, out));
    }
}

impl Fill {
    fn is_bytes(&self) -> bool {
        matches!(self, Fill::Bytes(_))
    }

    pub(crate) fn fill(&self, values: Values, out: &mut Vec<u8>) {
        use std::io::Write as _;
        let _ = match self {
            Fill::Bytes(bytes) => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            Fill::User => write!(out, "{}", values.user),
            Fill::Seq => write!(out, "{}", values.seq),
            Fill::Random => write!(out, "{:016x}", values.random),
        };
    }

    pub(crate) fn length(&self, values: Values) -> usize {
        match self {
            Fill::Bytes(bytes) => bytes.len(),
            Fill::User => digits(values.user),
            Fill::Seq => digits(values.seq),
            Fill::Random => 16,
        }
    }
}

pub(crate) fn digits(number: u64) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

pub(crate) fn literal(pieces: &mut Vec<Fill>, bytes: &[u8]) {
    match pieces.last_mut() {
        Some(Fill::Bytes(before)) => before.extend_from_slice(bytes),
        _ => pieces.push(Fill::Bytes(bytes.to_vec())),
    }
}

pub(crate) fn template(pieces: &mut Vec<Fill>, template: &Template) {
    for piece in &template.pieces {
        match piece {
            Piece::Literal(text) => literal(pieces, text.as_bytes()),
            Piece::User => pieces.push(Fill::User),
            Piece::Seq => pieces.push(Fill::Seq),
            Piece::Random => pieces.push(Fill::Random),
        }
    }
}

/// `host[:port]` of the URL; the port only where it is not the scheme's (RFC 9110 §7.2).
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycle_holds_each_request_by_its_weight_and_spreads_it() {
        assert_eq!(cycle(&[1]), [0]);
        assert_eq!(cycle(&[2, 2]), [0, 1]);
        assert_eq!(cycle(&[3, 1]), [0, 0, 1, 0]);
        let long = cycle(&[999_999, 1]);
        assert_eq!(long.iter().filter(|&&index| index == 1).count(), 1);
        assert!(long.len() as u64 <= LONGEST_CYCLE + 1);
    }

    #[test]
    fn digits_counts_decimal_places() {
        assert_eq!([0, 9, 10, 99, 100, u64::MAX].map(digits), [1, 1, 2, 2, 3, 20]);
    }
}
