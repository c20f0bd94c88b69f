//! A replay file in memory, ready to be sent: what an entry has is found without parsing, and
//! nothing is allocated for it.

use crate::entry::{ReplayEntry, ReplayRequest};
use crate::recorded::{FIELDS_OF_CONNECTION, is_host, is_token};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Longest line, in bytes.
pub(crate) const MAX_LINE_BYTES: usize = 16 << 20;
/// Most bytes of path, host and header fields.
const MAX_HEAD_BYTES: u32 = 256 << 10;
/// Most entries, so that their numbers fit into 32 bits.
const MAX_ENTRIES: usize = 100_000_000;
/// Most methods: each has results of its own.
const MAX_METHODS: usize = 50;
/// In place of the number of a connection.
const NO_CONNECTION: u32 = u32::MAX;

/// Why a file cannot be replayed. The messages continue a sentence that begins with the file's
/// name, and show none of its content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayLogError {
    /// There is no entry.
    #[error("has no request; make one of a log with `coordinator import`")]
    Empty,
    /// There are more entries than can be numbered.
    #[error("has more than {MAX_ENTRIES} requests; divide it")]
    ManyEntries,
    /// A line is wrong.
    #[error("has a wrong line {line}: {why}")]
    Line {
        /// Line from 1.
        line: u64,
        /// What is wrong, and what to write instead.
        why: String,
    },
}

/// The entries of a replay file, in its order. Clones share them.
#[derive(Clone, Default)]
pub struct ReplayLog(Arc<LogParts>);

#[derive(Default)]
struct LogParts {
    /// What entries send, one after the other: path, host, header fields, body.
    text: Vec<u8>,
    entries: Vec<LoggedEntry>,
    methods: Vec<String>,
    /// By connection: the place of its handshake.
    connections: Vec<u32>,
    /// Different ones, in the order in which they come first.
    handshakes: Vec<LoggedHandshake>,
}

/// What a log has of a connection's TLS handshake.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct LoggedHandshake {
    /// The server name that the client sent (SNI), in lower case.
    pub server_name: Option<String>,
    /// Whether it resumed a session.
    pub resumed: Option<bool>,
    /// TLS version by OpenSSL's name, such as `TLSv1.3`.
    pub protocol: Option<String>,
}

#[derive(Clone, Copy)]
struct LoggedEntry {
    at_ns: u64,
    /// Where its text begins.
    begin: u64,
    /// Lengths of the parts of its text.
    path: u32,
    host: u32,
    fields: u32,
    body: u32,
    /// [`NO_CONNECTION`] if the log does not have it.
    connection: u32,
    /// 0 if the log does not have it. Programs write 0 too for a request without an answer.
    status: u16,
    method: u16,
}

impl ReplayLog {
    /// Reads a replay file.
    ///
    /// # Errors
    /// What is wrong with it, and in which line.
    pub fn read(text: &[u8]) -> Result<ReplayLog, ReplayLogError> {
        let mut reader = ReplayReader::default();
        for (number, line) in text.split(|&byte| byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            reader.add(line).map_err(|why| ReplayLogError::Line {
                line: number as u64 + 1,
                why,
            })?;
            if reader.log.entries.len() > MAX_ENTRIES {
                return Err(ReplayLogError::ManyEntries);
            }
        }
        let mut log = reader.log;
        log.text.shrink_to_fit();
        log.entries.shrink_to_fit();
        log.connections.shrink_to_fit();
        if log.entries.is_empty() {
            return Err(ReplayLogError::Empty);
        }
        Ok(ReplayLog(Arc::new(log)))
    }

    /// The number of entries.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.0.entries.len()
    }

    /// The methods of its requests, in the order in which they come first.
    #[must_use]
    pub fn methods(&self) -> &[String] {
        &self.0.methods
    }

    /// Connections of the log are numbered below this.
    #[must_use]
    pub fn connections(&self) -> u32 {
        self.0.connections.len() as u32
    }

    /// The different handshakes of its connections.
    #[must_use]
    pub fn handshakes(&self) -> &[LoggedHandshake] {
        &self.0.handshakes
    }

    /// The place, among [`ReplayLog::handshakes`], of that of `connection`, as its first entry has
    /// it.
    #[must_use]
    pub fn handshake(&self, connection: u32) -> u32 {
        self.0.connections[connection as usize]
    }

    /// Bytes of the entry's path, header fields and body.
    #[must_use]
    pub fn bytes(&self, entry: usize) -> u64 {
        let of = &self.0.entries[entry];
        [of.path, of.fields, of.body].map(u64::from).iter().sum()
    }

    /// When `entry` (from 0) is due, in nanoseconds from the beginning of the file; ascending.
    #[inline]
    #[must_use]
    pub fn at_ns(&self, entry: usize) -> u64 {
        self.0.entries[entry].at_ns
    }

    /// The place of the entry's method among [`ReplayLog::methods`].
    #[inline]
    #[must_use]
    pub fn method(&self, entry: usize) -> u16 {
        self.0.entries[entry].method
    }

    /// The number of the entry's connection, if the log has it.
    #[inline]
    #[must_use]
    pub fn connection(&self, entry: usize) -> Option<u32> {
        let connection = self.0.entries[entry].connection;
        (connection != NO_CONNECTION).then_some(connection)
    }

    /// The status of the entry's answer, if the log has it.
    #[inline]
    #[must_use]
    pub fn status(&self, entry: usize) -> Option<u16> {
        let status = self.0.entries[entry].status;
        (status != 0).then_some(status)
    }

    /// The entry's path with its query.
    #[inline]
    #[must_use]
    pub fn path(&self, entry: usize) -> &[u8] {
        let of = &self.0.entries[entry];
        self.part(of.begin, of.path)
    }

    /// The entry's host, if the log has it.
    #[inline]
    #[must_use]
    pub fn host(&self, entry: usize) -> Option<&[u8]> {
        let of = &self.0.entries[entry];
        let host = self.part(of.begin + u64::from(of.path), of.host);
        (!host.is_empty()).then_some(host)
    }

    /// The entry's header fields as lines of HTTP/1.1, each with its end.
    #[inline]
    #[must_use]
    pub fn fields(&self, entry: usize) -> &[u8] {
        let of = &self.0.entries[entry];
        let begin = of.begin + u64::from(of.path) + u64::from(of.host);
        self.part(begin, of.fields)
    }

    /// Names and values of the entry's header fields; names are in lower case.
    pub fn named_fields(&self, entry: usize) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut rest = self.fields(entry);
        std::iter::from_fn(move || {
            let colon = rest.iter().position(|&byte| byte == b':')?;
            let end = rest.iter().position(|&byte| byte == b'\r')?;
            let field = (&rest[..colon], &rest[colon + 2..end]);
            rest = &rest[end + 2..];
            Some(field)
        })
    }

    /// The entry's body; empty if it has none.
    #[inline]
    #[must_use]
    pub fn body(&self, entry: usize) -> &[u8] {
        let of = &self.0.entries[entry];
        let begin = of.begin + u64::from(of.path) + u64::from(of.host) + u64::from(of.fields);
        self.part(begin, of.body)
    }

    /// A log of these entries alone, with `mask` in place of their bodies and of the values of
    /// header fields whose name is secret.
    #[must_use]
    pub fn masked(
        &self,
        entries: Range<usize>,
        is_secret: impl Fn(&str) -> bool,
        mask: &str,
    ) -> ReplayLog {
        let mut log = LogParts {
            methods: self.0.methods.clone(),
            connections: self.0.connections.clone(),
            handshakes: self.0.handshakes.clone(),
            ..LogParts::default()
        };
        for entry in entries {
            let of = &self.0.entries[entry];
            let begin = log.text.len() as u64;
            log.text.extend_from_slice(self.path(entry));
            log.text
                .extend_from_slice(self.host(entry).unwrap_or_default());
            let fields = log.text.len();
            for (name, value) in self.named_fields(entry) {
                let is_secret = std::str::from_utf8(name).is_ok_and(&is_secret);
                let value = if is_secret { mask.as_bytes() } else { value };
                for part in [name, b": ", value, b"\r\n"] {
                    log.text.extend_from_slice(part);
                }
            }
            let fields = log.text.len() - fields;
            let body = if of.body == 0 { "" } else { mask };
            log.text.extend_from_slice(body.as_bytes());
            log.entries.push(LoggedEntry {
                begin,
                fields: fields as u32,
                body: body.len() as u32,
                ..*of
            });
        }
        ReplayLog(Arc::new(log))
    }

    #[inline]
    fn part(&self, begin: u64, length: u32) -> &[u8] {
        &self.0.text[begin as usize..][..length as usize]
    }
}

impl fmt::Debug for ReplayLog {
    /// Without the content, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ReplayLog");
        debug
            .field("entries", &self.entries())
            .finish_non_exhaustive()
    }
}

#[derive(Default)]
struct ReplayReader {
    log: LogParts,
    /// Numbers of connections by the log's name.
    connections: HashMap<String, u32>,
    handshakes: HashMap<LoggedHandshake, u32>,
}

impl ReplayReader {
    /// Adds the entry of a line. The error says what is wrong, without showing it.
    fn add(&mut self, line: &[u8]) -> Result<(), String> {
        if line.len() > MAX_LINE_BYTES {
            return Err(format!("it has more than {MAX_LINE_BYTES} bytes"));
        }
        let entry: ReplayEntry = serde_json::from_slice(line).map_err(|error| plain(&error))?;
        let before = self.log.entries.last().map_or(0, |entry| entry.at_ns);
        if entry.at_ns < before {
            return Err("at is below that of the line before; sort the file by at".to_owned());
        }
        let request = entry.request;
        check(&request)?;
        let method = self.method(&request.method)?;
        let begin = self.log.text.len() as u64;
        let path = self.put(request.path.as_bytes());
        let host = self.put(request.host.as_deref().unwrap_or_default().as_bytes());
        let mut fields = 0;
        for (name, value) in &request.headers {
            for part in [name.as_str(), ": ", value.trim_ascii(), "\r\n"] {
                fields += self.put(part.as_bytes());
            }
        }
        if path + host + fields > MAX_HEAD_BYTES {
            let why = format!("path, host and headers have more than {MAX_HEAD_BYTES} bytes");
            return Err(why);
        }
        let body = self.put(&body(&request)?);
        let handshake = LoggedHandshake {
            server_name: request.server_name.map(|name| name.to_ascii_lowercase()),
            resumed: request.resumed,
            protocol: request.protocol,
        };
        let name = request.connection;
        let connection = name.map_or(NO_CONNECTION, |name| self.connection(name, handshake));
        self.log.entries.push(LoggedEntry {
            at_ns: entry.at_ns,
            begin,
            path,
            host,
            fields,
            body,
            connection,
            status: request.status.filter(is_status).unwrap_or(0),
            method,
        });
        Ok(())
    }

    /// Appends a part of an entry. Its length fits, since that of a line is limited.
    fn put(&mut self, part: &[u8]) -> u32 {
        self.log.text.extend_from_slice(part);
        part.len() as u32
    }

    /// The number of the connection of this name, which begins with `handshake` if it is new.
    fn connection(&mut self, name: String, handshake: LoggedHandshake) -> u32 {
        let next = self.connections.len() as u32;
        let connection = *self.connections.entry(name).or_insert(next);
        if connection == next {
            let handshakes = &mut self.log.handshakes;
            let place = self.handshakes.entry(handshake).or_insert_with_key(|new| {
                handshakes.push(new.clone());
                handshakes.len() as u32 - 1
            });
            self.log.connections.push(*place);
        }
        connection
    }

    fn method(&mut self, method: &str) -> Result<u16, String> {
        let methods = &mut self.log.methods;
        let place = methods.iter().position(|known| known == method);
        let place = place.unwrap_or_else(|| {
            methods.push(method.to_owned());
            methods.len() - 1
        });
        if place < MAX_METHODS {
            Ok(place as u16)
        } else {
            Err(format!(
                "it has one more than {MAX_METHODS} methods; leave out requests with --methods"
            ))
        }
    }
}

/// The parser's message without its line, which is always the first.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    // The parser shows a part of a value of another type, which may be secret.
    let is_safe = ["missing field", "at: "]
        .iter()
        .any(|it| text.starts_with(it));
    if error.is_data() && !is_safe {
        return "a field has another type than docs/FORMATS.md says".to_owned();
    }
    let end = text.find(" at line ").unwrap_or(text.len());
    format!("{} (column {})", &text[..end], error.column())
}

/// Checks what would break the request, or is the sender's to write.
fn check(request: &ReplayRequest) -> Result<(), String> {
    if !is_token(request.method.as_bytes()) || request.method == "CONNECT" {
        return Err(
            "method is not one of a request to a server; write one such as \"GET\"".to_owned(),
        );
    }
    let is_of_path = |byte: u8| byte.is_ascii_graphic();
    if !request.path.starts_with('/') || !request.path.bytes().all(is_of_path) {
        let why = "path must begin with \"/\" and be printable ASCII without spaces; \
                   percent-encode the rest";
        return Err(why.to_owned());
    }
    if request
        .host
        .as_ref()
        .is_some_and(|host| !is_host(host.as_bytes()))
    {
        return Err(
            "host is not valid; write a name or address, such as \"a.test\" or \"a.test:8443\""
                .to_owned(),
        );
    }
    for (place, (name, value)) in (1..).zip(&request.headers) {
        let is_name = is_token(name.as_bytes()) && !name.bytes().any(|b| b.is_ascii_uppercase());
        if !is_name {
            return Err(format!(
                "the name of header {place} is not one in lower case (RFC 9110 §5.1)"
            ));
        }
        if name == "host" || FIELDS_OF_CONNECTION.contains(&name.as_str()) {
            return Err(format!(
                "headers has {name:?}, which the sender writes itself; remove it"
            ));
        }
        if value
            .bytes()
            .any(|byte| byte.is_ascii_control() && byte != b'\t')
        {
            return Err(format!(
                "the header {name:?} has a control character, which would end or break it"
            ));
        }
    }
    Ok(())
}

/// Whether an answer can have it (RFC 9110 §15).
fn is_status(status: &u16) -> bool {
    (100..=999).contains(status)
}

fn body(request: &ReplayRequest) -> Result<Vec<u8>, String> {
    match (&request.body, &request.body_base64) {
        (Some(_), Some(_)) => Err("it has body and body_base64; keep one".to_owned()),
        (Some(text), None) => Ok(text.clone().into_bytes()),
        (None, Some(text)) => {
            let decoded = STANDARD.decode(text);
            decoded.map_err(|_| "body_base64 is not Base64 (RFC 4648 §4)".to_owned())
        }
        (None, None) => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_entry_sends_is_found_again() {
        let text = br#"
{"at":0,"method":"GET","path":"/a?b","host":"a.test","headers":{"a":"1","cookie":"b"}}

{"at":0.5,"method":"POST","path":"/b","body":"x=1\r\n","connection":"9","status":200}
{"at":0.5,"method":"PUT","path":"/c","body_base64":"AAH/","connection":"7","status":404}
{"at":2,"method":"GET","path":"/d","new":1}
"#;
        let log = ReplayLog::read(text).unwrap();
        assert_eq!(log.methods(), ["GET", "POST", "PUT"]);
        let of = |get: &dyn Fn(usize) -> String| (0..4).map(get).collect::<Vec<_>>();
        assert_eq!(
            of(&|e| log.at_ns(e).to_string()).join(","),
            "0,500000000,500000000,2000000000"
        );
        assert_eq!(
            (0..4).map(|e| log.method(e)).collect::<Vec<_>>(),
            [0, 1, 2, 0]
        );
        let connections: Vec<_> = (0..4).map(|e| log.connection(e)).collect();
        assert_eq!(connections, [None, Some(0), Some(1), None]);
        assert_eq!(log.connections(), 2);
        let statuses: Vec<_> = (0..4).map(|e| log.status(e)).collect();
        assert_eq!(statuses, [None, Some(200), Some(404), None]);
        assert_eq!((log.path(0), log.path(3)), (&b"/a?b"[..], &b"/d"[..]));
        assert_eq!((log.host(0), log.host(1)), (Some(&b"a.test"[..]), None));
        assert_eq!(log.fields(0), b"a: 1\r\ncookie: b\r\n");
        let fields: Vec<_> = log.named_fields(0).collect();
        assert_eq!(fields, [(&b"a"[..], &b"1"[..]), (b"cookie", b"b")]);
        assert_eq!(log.body(1), b"x=1\r\n");
        assert_eq!((log.body(2), log.body(3)), (&[0, 1, 255][..], &[][..]));
        assert!(!format!("{log:?}").contains("a.test"));
    }

    #[test]
    fn handshake_of_a_connection_is_that_of_its_first_entry() {
        let line = |connection: &str, rest: &str| {
            let request = "\"at\":0,\"method\":\"GET\",\"path\":\"/\"";
            format!("{{{request},\"connection\":\"{connection}\"{rest}}}\n")
        };
        let full = ",\"server_name\":\"A.test\",\"resumed\":false,\"protocol\":\"TLSv1.3\"";
        let resumed = full.replace("false", "true");
        let lines = [
            line("a", full),
            line("b", &resumed),
            line("a", &resumed),
            line("c", full),
            line("d", ""),
        ];
        let log = ReplayLog::read(lines.concat().as_bytes()).unwrap();
        let places: Vec<u32> = (0..4).map(|number| log.handshake(number)).collect();
        assert_eq!(places, [0, 1, 0, 2]);
        let of_a = LoggedHandshake {
            server_name: Some("a.test".to_owned()),
            resumed: Some(false),
            protocol: Some("TLSv1.3".to_owned()),
        };
        assert_eq!(log.handshakes()[0], of_a);
        assert_eq!(log.handshakes()[1].resumed, Some(true));
        assert_eq!(log.handshakes()[2], LoggedHandshake::default());
    }

    #[test]
    fn wrong_line_is_named_and_not_shown() {
        let with = |rest: &str| format!("{{\"at\":1,\"method\":\"GET\",\"path\":\"/\"{rest}}}");
        let line = |text: String| match ReplayLog::read(format!("\n{text}").as_bytes()) {
            Err(ReplayLogError::Line { line: 2, why }) => why,
            other => panic!("{text}: {other:?}"),
        };
        let cases = [
            ("{\"at\":1}".to_owned(), "missing field `method`"),
            (with(",\"host\":7"), "another type"),
            (with(",\"host\":\"secret x\""), "host is not valid"),
            (with(",\"headers\":{\"A\":\"secret\"}"), "name of header 1"),
            (
                with(",\"headers\":{\"te\":\"secret\"}"),
                "the sender writes itself",
            ),
            (
                with(",\"headers\":{\"a\":\"secret\\n\"}"),
                "control character",
            ),
            (with(",\"body_base64\":\"secret\""), "not Base64"),
            (with(",\"body\":\"\",\"body_base64\":\"\""), "keep one"),
            (with("").replace("\"/\"", "\"secret\""), "percent-encode"),
            (with("").replace("GET", "CONNECT"), "method is not one"),
            (
                with("") + "\n" + &with("").replace(":1", ":0"),
                "sort the file",
            ),
            ("{".to_owned(), "(column 1)"),
        ];
        for (text, expected) in cases {
            let why = if text.contains('\n') {
                ReplayLog::read(text.as_bytes()).unwrap_err().to_string()
            } else {
                line(text.clone())
            };
            assert!(
                why.contains(expected) && !why.contains("secret"),
                "{text}: {why}"
            );
        }
        assert_eq!(ReplayLog::read(b"\n").unwrap_err(), ReplayLogError::Empty);
    }
}
