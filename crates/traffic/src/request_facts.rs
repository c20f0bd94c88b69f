//! Collects what the fields of a log line say about one request.

use crate::recorded::{RecordedBody, RecordedRequest, is_token};
use crate::skip::SkipReason;
use crate::stamp::Stamp;
use crate::variable::{Moment, Variable};
use std::borrow::Cow;

type Bytes<'a> = Cow<'a, [u8]>;

/// What is known of one request so far.
#[derive(Debug, Default)]
pub(crate) struct RequestFacts<'a> {
    stamp: Option<(Stamp, Moment)>,
    fraction_ns: Option<i64>,
    duration_ns: Option<i64>,
    request_line: Option<Bytes<'a>>,
    method: Option<Bytes<'a>>,
    target: Option<Bytes<'a>>,
    path: Option<Bytes<'a>>,
    query: Option<Bytes<'a>>,
    content_length: Option<Bytes<'a>>,
    client_address: Option<Bytes<'a>>,
    client_port: Option<Bytes<'a>>,
    body: Option<Bytes<'a>>,
    request: RecordedRequest,
}

impl<'a> RequestFacts<'a> {
    /// Takes the value of a field, without escapes. A hyphen and an empty value mean that there is
    /// none.
    ///
    /// # Errors
    /// Says why it cannot be a value of this field.
    pub(crate) fn set(
        &mut self,
        variable: &Variable,
        value: Bytes<'a>,
    ) -> Result<(), &'static str> {
        if matches!(&*value, b"" | b"-") {
            return Ok(());
        }
        match variable {
            Variable::Ignored | Variable::IgnoredWord => {}
            Variable::Clock(moment, unit) => {
                let (ns, is_whole) = unit.read(&value).ok_or("not a number since 1970")?;
                self.set_stamp(Stamp::from_ns(ns, is_whole), *moment);
            }
            Variable::Time(moment) => {
                let stamp = Stamp::parse(&value).ok_or("not a time")?;
                self.set_stamp(stamp, *moment);
            }
            Variable::Fraction(unit) => {
                self.fraction_ns = Some(unit.read(&value).ok_or("not a part of a second")?.0);
            }
            Variable::Duration(unit) => {
                self.duration_ns = Some(unit.read(&value).ok_or("not a duration")?.0);
            }
            Variable::RequestLine => self.request_line = Some(value),
            Variable::Method => self.method = Some(value),
            Variable::Target => self.target = Some(value),
            Variable::Path => self.path = Some(value),
            Variable::Arguments | Variable::Query => self.query = Some(value),
            Variable::Body => self.body = Some(value),
            Variable::Host => self.request.host = Some(text(&value)),
            Variable::Header(name) if name == "content-length" => self.content_length = Some(value),
            Variable::Header(name) => {
                let header = (name.clone(), value.into_owned());
                self.request.headers.push(header);
            }
            Variable::Status => self.request.status = Some(number(&value).ok_or("not a status")?),
            Variable::Connection => self.request.connection = Some(text(&value)),
            Variable::ClientAddress => self.client_address = Some(value),
            Variable::ClientPort => self.client_port = Some(value),
            Variable::ConnectionRequests(first) => {
                let nth: u64 = number(&value).ok_or("not a number of requests")?;
                self.request.begins_connection = nth == *first;
            }
            Variable::SessionReused => self.request.resumed = resumption(&value),
            Variable::ServerName => self.request.server_name = Some(text(&value)),
            Variable::TlsVersion => {
                let is_version = value.starts_with(b"TLS") || value.starts_with(b"SSL");
                self.request.protocol = is_version.then(|| text(&value));
            }
        }
        Ok(())
    }

    /// Takes the first of several times, or the first that is more exact than a second.
    fn set_stamp(&mut self, stamp: Stamp, moment: Moment) {
        let is_better =
            |(before, _): &(Stamp, Moment)| before.is_whole_second && !stamp.is_whole_second;
        if self.stamp.as_ref().is_none_or(is_better) {
            self.stamp = Some((stamp, moment));
        }
    }

    /// The request that the fields describe.
    ///
    /// # Errors
    /// They have no request, or no time.
    pub(crate) fn finish(mut self) -> Result<RecordedRequest, SkipReason> {
        let (method, target) = self.method_and_target().ok_or(SkipReason::NoRequest)?;
        let (mut stamp, moment) = self.stamp.ok_or(SkipReason::NoInstant)?;
        if let Some(fraction_ns) = self.fraction_ns.filter(|_| stamp.is_whole_second) {
            stamp.since_1970_ns = stamp.since_1970_ns.saturating_add(fraction_ns);
            stamp.is_whole_second = false;
        }
        let elapsed_ns = match moment {
            Moment::End => self.duration_ns.unwrap_or_default(),
            Moment::Arrival => 0,
        };
        let content_length: Option<u64> = self.content_length.and_then(|length| number(&length));
        let body = match (self.body, content_length) {
            (Some(body), _) => RecordedBody::Whole(body.into_owned()),
            (None, Some(0)) => RecordedBody::Absent,
            (None, Some(_)) => RecordedBody::Lost,
            (None, None) => RecordedBody::Untold,
        };
        // Without a number, its client's port tells a connection from others.
        let client = text(&self.client_address.unwrap_or_default());
        let by_port = self
            .client_port
            .map(|port| format!("{client}:{}", text(&port)));
        Ok(RecordedRequest {
            stamp: Some(stamp),
            connection: self.request.connection.or(by_port),
            elapsed_ns,
            method,
            target,
            body,
            ..self.request
        })
    }

    fn method_and_target(&mut self) -> Option<(String, Vec<u8>)> {
        let mut line = self.request_line.as_deref().and_then(split_request_line);
        let target = match (&self.target, &line, &self.path) {
            (Some(target), ..) => target.to_vec(),
            (None, Some((_, target)), _) => target.to_vec(),
            (None, None, Some(path)) => self.with_query(path),
            (None, None, None) => return None,
        };
        let method = self.method.as_deref();
        let method = method.or_else(|| line.take().map(|(method, _)| method))?;
        is_token(method).then(|| (text(method), target))
    }

    fn with_query(&self, path: &[u8]) -> Vec<u8> {
        let query = self.query.as_deref().unwrap_or_default();
        let query = query.strip_prefix(b"?").unwrap_or(query);
        if query.is_empty() || path.contains(&b'?') {
            return path.to_vec();
        }
        [path, b"?", query].concat()
    }
}

/// Method and target of `GET /a HTTP/1.1`. A target may have spaces; the version may be missing, as
/// in HTTP/0.9.
fn split_request_line(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = line.iter().position(|&byte| byte == b' ')?;
    let (method, rest) = (&line[..space], &line[space + 1..]);
    let version = rest.iter().rposition(|&byte| byte == b' ');
    let target = version
        .filter(|&at| rest[at + 1..].starts_with(b"HTTP/"))
        .map_or(rest, |at| &rest[..at]);
    Some((method, target.trim_ascii()))
}

/// nginx writes `r` or a point, Apache `Resumed` or `Initial`, others numbers or words of JSON.
fn resumption(value: &[u8]) -> Option<bool> {
    match value {
        b"r" | b"Resumed" | b"true" | b"1" => Some(true),
        b"." | b"Initial" | b"false" | b"0" => Some(false),
        _ => None,
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn number<T: std::str::FromStr>(bytes: &[u8]) -> Option<T> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}
