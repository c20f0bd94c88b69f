//! Request bytes, built before the run; only templates are filled in during it.

use crate::body::{self, Body, Upload};
use plan::{Host, Mix, Piece, Plan, Scheme, Template};
use std::sync::Arc;

/// All requests of a plan, ready to send.
#[derive(Debug)]
pub(crate) struct Requests {
    requests: Vec<Prebuilt>,
    mix: Mix,
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
    /// Asks for nothing to be changed, so that it may go out as early data (RFC 9110 §9.2.1, RFC
    /// 8470 §4).
    pub(crate) is_safe: bool,
    pub(crate) expect: plan::Expect,
}

/// Bytes, or the pieces of them.
#[derive(Debug)]
enum Bytes {
    /// All of a request, body included.
    Fixed(Vec<u8>),
    Pieces {
        pieces: Vec<Fill>,
        body: Option<Arc<Body>>,
    },
}

#[derive(Debug, Clone)]
pub(crate) enum Fill {
    Bytes(Vec<u8>),
    /// A file of the plan, which all workers share.
    Shared(Arc<[u8]>),
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
        let requests = plan
            .requests()
            .iter()
            .map(|request| Prebuilt::new(plan, request))
            .collect();
        let weights: Vec<u32> = plan
            .requests()
            .iter()
            .map(|request| request.weight)
            .collect();
        Requests {
            requests,
            mix: Mix::new(&weights, plan.load().seed),
        }
    }

    /// Which request operation `seq` of the cluster sends.
    #[inline]
    pub(crate) fn at(&self, seq: u64) -> u16 {
        self.mix.at(seq)
    }

    #[inline]
    pub(crate) fn of(&self, index: u16) -> &Prebuilt {
        &self.requests[usize::from(index)]
    }
}

impl Prebuilt {
    fn new(plan: &Plan, request: &plan::Request) -> Prebuilt {
        let is_idempotent = matches!(
            request.method.as_str(),
            "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE"
        );
        let body = body_of(request).map(Arc::new);
        Prebuilt {
            keeping: Bytes::new(plan, request, body.clone(), false),
            closing: Bytes::new(plan, request, body, true),
            is_head: request.method == "HEAD",
            is_idempotent,
            is_safe: matches!(
                request.method.as_str(),
                "GET" | "HEAD" | "OPTIONS" | "TRACE"
            ),
            expect: request.expect.clone(),
        }
    }

    /// Puts the request's bytes into `out`, of its body at most a window: what is left of that is
    /// returned. `last` on its connection, where the server is to close.
    #[inline]
    pub(crate) fn write(&self, last: bool, values: Values, out: &mut Vec<u8>) -> Option<Upload> {
        let bytes = if last { &self.closing } else { &self.keeping };
        match bytes {
            Bytes::Fixed(bytes) => {
                out.extend_from_slice(bytes);
                None
            }
            Bytes::Pieces { pieces, body } => fill_request(pieces, body.as_ref(), values, out),
        }
    }
}

impl Bytes {
    fn new(plan: &Plan, request: &plan::Request, body: Option<Arc<Body>>, closing: bool) -> Bytes {
        let mut pieces = Vec::new();
        literal(&mut pieces, request.method.as_bytes());
        literal(&mut pieces, b" ");
        match &request.path {
            Some(path) => template(&mut pieces, path),
            None => literal(&mut pieces, plan.target().url.path.as_bytes()),
        }
        literal(&mut pieces, b" HTTP/1.1\r\n");
        if !request
            .headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("host"))
        {
            literal(
                &mut pieces,
                format!("Host: {}\r\n", authority(plan)).as_bytes(),
            );
        }
        for (name, value) in &request.headers {
            literal(&mut pieces, name.as_bytes());
            literal(&mut pieces, b": ");
            template(&mut pieces, value.reveal());
            literal(&mut pieces, b"\r\n");
        }
        if closing {
            literal(&mut pieces, b"Connection: close\r\n");
        }
        Bytes::with_body(pieces, body)
    }

    fn with_body(mut pieces: Vec<Fill>, body: Option<Arc<Body>>) -> Bytes {
        if body.is_none() {
            literal(&mut pieces, b"\r\n");
        }
        Bytes::Pieces { pieces, body }.fixed_where_possible()
    }

    fn fixed_where_possible(self) -> Bytes {
        let Bytes::Pieces { pieces, body } = &self else {
            return self;
        };
        let is_fixed =
            pieces.iter().all(Fill::is_fixed) && body.as_ref().is_none_or(|body| body.is_fixed());
        let none = Values {
            user: 0,
            seq: 0,
            random: 0,
        };
        if !is_fixed
            || body
                .as_ref()
                .is_some_and(|body| body.length(none) > body::WINDOW)
        {
            return self;
        }
        let mut bytes = Vec::new();
        let _ = fill_request(pieces, body.as_ref(), none, &mut bytes); // nothing is left of a window
        Bytes::Fixed(bytes)
    }
}

pub(crate) fn body_of(request: &plan::Request) -> Option<Body> {
    let mut pieces = Vec::new();
    match &request.body {
        Some(plan::Body::Text(text)) => template(&mut pieces, text),
        Some(plan::Body::File(file)) => pieces.push(Fill::Shared(Arc::clone(&file.content))),
        // A method that anticipates content says that there is none (RFC 9110 §8.6).
        None if matches!(request.method.as_str(), "POST" | "PUT" | "PATCH") => {}
        None => return None,
    }
    Some(Body::new(pieces))
}

fn fill_request(
    pieces: &[Fill],
    body: Option<&Arc<Body>>,
    values: Values,
    out: &mut Vec<u8>,
) -> Option<Upload> {
    use std::io::Write as _;
    pieces.iter().for_each(|piece| piece.fill(values, out));
    let body = body?;
    let length = body.length(values);
    // Writing to a Vec cannot fail.
    let _ = write!(out, "Content-Length: {length}\r\n\r\n");
    if length <= body::WINDOW {
        body.fill(values, out);
        return None;
    }
    let mut upload = Upload::new(Arc::clone(body), values);
    upload.put(body::WINDOW, out);
    Some(upload)
}

impl Fill {
    /// Whether it is the same for every operation.
    pub(crate) fn is_fixed(&self) -> bool {
        matches!(self, Fill::Bytes(_) | Fill::Shared(_))
    }

    pub(crate) fn fill(&self, values: Values, out: &mut Vec<u8>) {
        use std::io::Write as _;
        let _ = match self {
            Fill::Bytes(bytes) => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            Fill::Shared(bytes) => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            Fill::User => write!(out, "{}", values.user),
            Fill::Seq => write!(out, "{}", values.seq),
            Fill::Random => write!(out, "{:016x}", values.random),
        };
    }

    /// Puts at most `most` bytes from its byte `from` on into `out`.
    pub(crate) fn fill_part(&self, values: Values, from: usize, most: usize, out: &mut Vec<u8>) {
        let part = |bytes: &[u8], out: &mut Vec<u8>| {
            out.extend_from_slice(&bytes[from..bytes.len().min(from.saturating_add(most))])
        };
        match self {
            Fill::Bytes(bytes) => part(bytes, out),
            Fill::Shared(bytes) => part(bytes, out),
            Fill::User | Fill::Seq | Fill::Random => {
                let before = out.len();
                self.fill(values, out);
                out.truncate(before + from.saturating_add(most));
                out.drain(before..out.len().min(before + from));
            }
        }
    }

    pub(crate) fn length(&self, values: Values) -> usize {
        match self {
            Fill::Bytes(bytes) => bytes.len(),
            Fill::Shared(bytes) => bytes.len(),
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
    fn digits_counts_decimal_places() {
        assert_eq!(
            [0, 9, 10, 99, 100, u64::MAX].map(digits),
            [1, 1, 2, 2, 3, 20]
        );
    }
}
