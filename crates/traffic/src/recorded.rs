//! A request as a log has it, and what becomes of it: a request that can be sent again, or the
//! reason why not.

use crate::entry::ReplayRequest;
use crate::skip::{LineError, SkipReason};
use crate::stamp::Stamp;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Methods whose requests usually have a body.
const METHODS_WITH_BODY: [&str; 3] = ["POST", "PUT", "PATCH"];

/// Fields that the sender writes itself: they describe the connection (RFC 9110, section 7.6.1),
/// the length of the body, or an answer that is waited for before the body.
pub(crate) const FIELDS_OF_CONNECTION: [&str; 10] = [
    "connection",
    "content-length",
    "expect",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What a log has of a request's body.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum RecordedBody {
    /// The log does not say whether there was one.
    #[default]
    Untold,
    /// There was none.
    Absent,
    /// There was one that the log does not have, or not whole.
    Lost,
    Whole(Vec<u8>),
}

/// What a line says, or why it says nothing.
pub(crate) type LineResult = Result<Result<RecordedRequest, SkipReason>, LineError>;

/// A request as a log has it.
#[derive(Debug, Default)]
pub(crate) struct RecordedRequest {
    pub(crate) stamp: Option<Stamp>,
    /// How long the request had been going on at `stamp`.
    pub(crate) elapsed_ns: i64,
    pub(crate) method: String,
    /// What stands behind the method: a path or a URL.
    pub(crate) target: Vec<u8>,
    pub(crate) host: Option<String>,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: RecordedBody,
    pub(crate) connection: Option<String>,
    /// Whether it was the first request of its connection.
    pub(crate) begins_connection: bool,
    pub(crate) status: Option<u16>,
    pub(crate) server_name: Option<String>,
    pub(crate) resumed: Option<bool>,
    pub(crate) protocol: Option<String>,
}

impl RecordedRequest {
    /// Whether the log lacks a body that the request had, or probably had.
    pub(crate) fn lacks_body(&self) -> bool {
        match self.body {
            RecordedBody::Lost => true,
            RecordedBody::Untold => METHODS_WITH_BODY.contains(&self.method.as_str()),
            RecordedBody::Absent | RecordedBody::Whole(_) => false,
        }
    }

    /// The request in the form that can be sent again, and how many header fields it lost because
    /// no request can have them.
    ///
    /// # Errors
    /// It was no request for a path of a server.
    pub(crate) fn into_request(self) -> Result<(ReplayRequest, u64), SkipReason> {
        if !is_token(self.method.as_bytes()) {
            return Err(SkipReason::NoRequest);
        }
        if self.status == Some(101) {
            return Err(SkipReason::Upgrade);
        }
        if self.method == "CONNECT" {
            return Err(SkipReason::NoPath);
        }
        let (authority, path) = split_target(&self.target).ok_or(SkipReason::NoPath)?;
        let mut host = self.host.filter(|host| is_host(host.as_bytes()));
        if let Some(authority) = authority.filter(|authority| is_host(authority)) {
            host = Some(String::from_utf8_lossy(authority).into_owned());
        }
        let mut headers = BTreeMap::new();
        let mut dropped = 0;
        for (name, value) in self.headers {
            dropped += u64::from(!add_header(&mut headers, &mut host, &name, &value));
        }
        let mut request = ReplayRequest {
            method: self.method,
            path: percent_encoded(path),
            host,
            headers,
            connection: self.connection,
            status: self.status,
            server_name: self.server_name,
            resumed: self.resumed,
            protocol: self.protocol,
            ..ReplayRequest::default()
        };
        if let RecordedBody::Whole(bytes) = self.body {
            match String::from_utf8(bytes) {
                Ok(text) => request.body = Some(text),
                Err(bytes) => request.body_base64 = Some(STANDARD.encode(bytes.as_bytes())),
            }
        }
        Ok((request, dropped))
    }
}

/// Adds a field, or takes the host from it. `false` if no request can have it.
fn add_header(
    headers: &mut BTreeMap<String, String>,
    host: &mut Option<String>,
    name: &str,
    value: &[u8],
) -> bool {
    let name = name.to_ascii_lowercase();
    let value = value.trim_ascii();
    let is_pseudo = name.starts_with(':');
    if is_pseudo || FIELDS_OF_CONNECTION.contains(&name.as_str()) {
        return true;
    }
    let is_sendable = |byte: &u8| *byte >= 0x20 && *byte != 0x7f || *byte == b'\t';
    let Some(value) = std::str::from_utf8(value)
        .ok()
        .filter(|_| is_token(name.as_bytes()) && value.iter().all(is_sendable))
    else {
        return false;
    };
    if name == "host" {
        let is_usable = is_host(value.as_bytes());
        if is_usable {
            host.get_or_insert_with(|| value.to_owned());
        }
        return is_usable;
    }
    let separator = if name == "cookie" { "; " } else { ", " };
    headers
        .entry(name)
        .and_modify(|before: &mut String| {
            before.push_str(separator);
            before.push_str(value);
        })
        .or_insert_with(|| value.to_owned());
    true
}

/// Authority, if it is a URL, and path; `None` if there is no path of an HTTP server.
fn split_target(target: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    if target.first() == Some(&b'/') {
        return Some((None, target));
    }
    let scheme = [&b"http://"[..], b"https://"];
    let matches = |scheme: &&[u8]| {
        let beginning = target.get(..scheme.len());
        beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(scheme))
    };
    let scheme = scheme.into_iter().find(matches)?;
    let rest = &target[scheme.len()..];
    // A URL may have a fragment, which is never sent.
    let rest = rest.split(|&byte| byte == b'#').next().unwrap_or_default();
    let end = rest.iter().position(|byte| b"/?".contains(byte));
    let (authority, path) = rest.split_at(end.unwrap_or(rest.len()));
    let authority = authority.rsplit(|&byte| byte == b'@').next();
    Some((authority, path))
}

/// The path with everything that is no printable ASCII character percent-encoded (RFC 3986, section
/// 2.1), beginning with `/`.
fn percent_encoded(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len() + 1);
    if path.first() != Some(&b'/') {
        text.push('/');
    }
    for &byte in path {
        match byte {
            b'!'..=b'~' => text.push(char::from(byte)),
            _ => _ = write!(text, "%{byte:02X}"),
        }
    }
    text
}

pub(crate) fn is_host(text: &[u8]) -> bool {
    let is_of_host =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~:[]%!$&'()*+,;=".contains(byte);
    !text.is_empty() && text.iter().all(is_of_host)
}

/// RFC 9110, section 5.6.2.
pub(crate) fn is_token(text: &[u8]) -> bool {
    let is_of_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !text.is_empty() && text.iter().all(is_of_token)
}

#[cfg(test)]
mod tests {
    use super::{RecordedBody, RecordedRequest, split_target};
    use crate::skip::SkipReason;

    fn recorded(method: &str, target: &str) -> RecordedRequest {
        RecordedRequest {
            method: method.to_owned(),
            target: target.as_bytes().to_vec(),
            ..RecordedRequest::default()
        }
    }

    fn header(name: &str, value: &[u8]) -> (String, Vec<u8>) {
        (name.to_owned(), value.to_vec())
    }

    #[test]
    fn url_is_host_and_path() {
        for (url, host, path) in [
            ("http://a.test", "a.test", ""),
            ("HTTPS://a.test:8443/b?c#d", "a.test:8443", "/b?c"),
            ("https://me:secret@a.test?b", "a.test", "?b"),
        ] {
            let expected = (Some(host.as_bytes()), path.as_bytes());
            assert_eq!(split_target(url.as_bytes()), Some(expected), "{url}");
        }
        for target in ["", "*", "a.test:443", "wss://a.test/", "data:text/plain,a"] {
            let refused = recorded("GET", target).into_request();
            assert_eq!(refused.unwrap_err(), SkipReason::NoPath, "{target}");
        }
    }

    #[test]
    fn path_has_only_what_can_be_sent() {
        let mut request = recorded("GET", "");
        request.target = b"/a b\xe4\n%20?\"q\"".to_vec();
        let (request, _) = request.into_request().unwrap();
        assert_eq!(request.path, "/a%20b%E4%0A%20?\"q\"");
    }

    #[test]
    fn headers_that_only_the_sender_knows_are_left_out() {
        let mut request = recorded("GET", "/");
        request.headers = vec![
            header(":authority", b"a.test"),
            header("Host", b"a.test:8443"),
            header("Connection", b"close"),
            header("Cookie", b"a=1"),
            header("cookie", b"b=2"),
            header("Accept", b"x"),
            header("accept", b" y "),
            header("X-Bad", b"a\r\nb: c"),
            header("X Bad", b"a"),
            header("X-Latin", b"\xe4"),
        ];
        let (request, dropped) = request.into_request().unwrap();
        let headers: Vec<_> = request.headers.into_iter().collect();
        let expected = [("accept", "x, y"), ("cookie", "a=1; b=2")];
        assert_eq!(headers, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
        assert_eq!((request.host.as_deref(), dropped), (Some("a.test:8443"), 3));
    }

    #[test]
    fn body_is_text_or_base64() {
        for (bytes, text, base64) in [
            (&b"{}"[..], Some("{}"), None),
            (b"\xff\x00", None, Some("/wA=")),
        ] {
            let mut request = recorded("POST", "/");
            request.body = RecordedBody::Whole(bytes.to_vec());
            let (request, _) = request.into_request().unwrap();
            let body = (request.body.as_deref(), request.body_base64.as_deref());
            assert_eq!(body, (text, base64));
        }
    }
}
