//! The options of the command line.

use crate::tls::{Check, Tls, Wanted};
use std::net::SocketAddrV4;
use std::time::Duration;

/// What one operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A request on a persistent connection.
    KeepAlive,
    /// A connection with one request.
    Close,
    /// A connection without a request.
    HandshakeOnly,
}

pub(crate) struct Options {
    pub(crate) connections: usize,
    pub(crate) duration: Duration,
    pub(crate) kind: Kind,
    pub(crate) address: SocketAddrV4,
    pub(crate) tls: Option<Tls>,
    /// The bytes of the request.
    pub(crate) request: Vec<u8>,
}

impl Options {
    pub(crate) fn from_arguments() -> Result<Options, String> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let has = |name: &str| arguments.iter().any(|argument| argument == name);
        let value = |name: &str| {
            let at = arguments.iter().position(|argument| argument == name);
            at.and_then(|at| arguments.get(at + 1)).map(String::as_str)
        };
        let url = arguments
            .last()
            .ok_or("a URL is missing, such as https://127.0.0.1:8443/")?;
        let (scheme, address, path) =
            split(url).ok_or_else(|| format!("{url}: write https://ADDRESS:PORT/PATH"))?;
        let wanted = Wanted {
            check: if value("--check") == Some("nothing") {
                Check::Nothing
            } else {
                Check::Signature
            },
            only_tls12: value("--versions") == Some("1.2"),
            identity: value("--identity").and_then(|files| files.split_once(',')),
            resumes: has("--resume"),
        };
        let kind = match (has("--handshake-only"), has("--close")) {
            (true, _) => Kind::HandshakeOnly,
            (false, true) => Kind::Close,
            (false, false) => Kind::KeepAlive,
        };
        let close = if kind == Kind::Close {
            "Connection: close\r\n"
        } else {
            ""
        };
        Ok(Options {
            connections: number(value("--connections"), 100)?,
            duration: Duration::from_secs(number(value("--seconds"), 5)? as u64),
            kind,
            address: address
                .parse()
                .map_err(|error| format!("{address}: {error}"))?,
            tls: if scheme == "https" {
                Some(Tls::new(wanted)?)
            } else {
                None
            },
            request: format!("GET /{path} HTTP/1.1\r\nHost: {address}\r\n{close}\r\n").into_bytes(),
        })
    }
}

fn split(url: &str) -> Option<(&str, &str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let (address, path) = rest.split_once('/')?;
    Some((scheme, address, path))
}

fn number(text: Option<&str>, otherwise: usize) -> Result<usize, String> {
    text.map_or(Ok(otherwise), |text| {
        text.parse()
            .map_err(|_| format!("{text} is not a whole number"))
    })
}
