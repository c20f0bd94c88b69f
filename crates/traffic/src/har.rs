//! HTTP Archive 1.2 (<http://www.softwareishard.com/blog/har-12-spec/>), read entry by entry: an
//! archive also has all answers, and may be larger than memory.

use crate::json_log::without_place;
use crate::recorded::{LineResult, RecordedBody, RecordedRequest};
use crate::skip::{LineError, SkipReason};
use crate::stamp::Stamp;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value;
use std::fmt;
use std::io::BufRead;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarEntry {
    started_date_time: String,
    request: HarRequest,
    response: Option<HarResponse>,
    /// The specification has a text here, some programs write a number.
    connection: Option<Value>,
    #[serde(rename = "_fromCache")]
    from_cache: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarRequest {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<NameAndValue>,
    body_size: Option<f64>,
    post_data: Option<PostData>,
}

#[derive(Debug, Deserialize)]
struct HarResponse {
    status: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct NameAndValue {
    name: String,
    #[serde(default)]
    value: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PostData {
    mime_type: Option<String>,
    text: Option<String>,
    /// No part of version 1.2, but written for binary bodies.
    encoding: Option<String>,
    #[serde(default)]
    params: Vec<NameAndValue>,
}

/// Passes each entry of an archive to `take`, numbered from 1.
///
/// # Errors
/// Where and why the archive cannot be read on; or the first error of `take`.
pub(crate) fn read<E>(
    input: impl BufRead,
    take: &mut dyn FnMut(u64, LineResult) -> Result<(), E>,
) -> Result<Result<(), E>, serde_json::Error> {
    let mut failed = None;
    let mut number = 0;
    let mut entry = |entry: HarEntry| {
        number += 1;
        let taken = take(number, request(entry));
        taken.map_err(|error| failed = Some(error)).is_ok()
    };
    let mut reader = serde_json::Deserializer::from_reader(input);
    let read = ValueOf("log", ValueOf("entries", Entries(&mut entry))).deserialize(&mut reader);
    let read = read.and_then(|()| reader.end());
    match failed {
        Some(error) => Ok(Err(error)),
        None => read.map(Ok),
    }
}

/// The value of a key of an object, whose other keys are left out.
struct ValueOf<S>(&'static str, S);

impl<'de, S: DeserializeSeed<'de, Value = ()>> DeserializeSeed<'de> for ValueOf<S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, S: DeserializeSeed<'de, Value = ()>> Visitor<'de> for ValueOf<S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with {:?}, as HTTP Archive has it", self.0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let ValueOf(key, seed) = self;
        let mut seed = Some(seed);
        while let Some(found) = map.next_key::<String>()? {
            match seed.take_if(|_| found == key) {
                Some(seed) => map.next_value_seed(seed)?,
                None => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        if seed.is_some() {
            return Err(A::Error::custom(format_args!("the object has no {key:?}")));
        }
        Ok(())
    }
}

/// A list of entries, each of which is passed on as soon as it is read.
struct Entries<'t>(&'t mut dyn FnMut(HarEntry) -> bool);

impl<'de> DeserializeSeed<'de> for Entries<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Entries<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(entry) = entries.next_element()? {
            if !self.0(entry) {
                return Err(A::Error::custom("reading was given up"));
            }
        }
        Ok(())
    }
}

/// Line, column and reason of a broken archive.
pub(crate) fn place(error: &serde_json::Error) -> (u64, LineError) {
    let fault = LineError {
        column: error.column(),
        why: without_place(&error.to_string()),
    };
    (error.line() as u64, fault)
}

fn request(entry: HarEntry) -> LineResult {
    if entry.from_cache.is_some() {
        return Ok(Err(SkipReason::Cached));
    }
    let text = entry.started_date_time;
    let Some(stamp) = Stamp::parse(text.as_bytes()) else {
        let why = format!("startedDateTime: {text:?} is not a time");
        return Err(LineError { column: 1, why });
    };
    let status = entry.response.and_then(|response| response.status);
    let connection = entry.connection.and_then(|connection| match connection {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    });
    let body = body(&entry.request);
    let port = port(&entry.request.url);
    let headers = entry.request.headers.into_iter();
    Ok(Ok(RecordedRequest {
        stamp: Some(stamp),
        method: entry.request.method,
        target: entry.request.url.into_bytes(),
        headers: headers.map(|it| (it.name, it.value.into_bytes())).collect(),
        body,
        // Firefox writes the server's port, which says nothing of the connection.
        connection: connection.filter(|it| !it.is_empty() && *it != port),
        status: status
            .map(|status| status as u16)
            .filter(|&status| status > 0),
        ..RecordedRequest::default()
    }))
}

fn port(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    let usual = if scheme.eq_ignore_ascii_case("http") {
        "80"
    } else {
        "443"
    };
    port.unwrap_or(usual).to_owned()
}

fn body(request: &HarRequest) -> RecordedBody {
    let header = request
        .headers
        .iter()
        .find(|it| it.name.eq_ignore_ascii_case("content-length"));
    let length = header.and_then(|it| it.value.trim().parse::<usize>().ok());
    let size = request.body_size.filter(|&size| size > 0.0);
    let length = length.or(size.map(|size| size as usize));
    let without_text = || match length {
        Some(1..) => RecordedBody::Lost,
        _ => RecordedBody::Absent,
    };
    let Some(data) = &request.post_data else {
        return without_text();
    };
    match (&data.text, data.encoding.as_deref()) {
        (Some(text), Some("base64")) => STANDARD
            .decode(text)
            .map_or(RecordedBody::Lost, RecordedBody::Whole),
        (Some(text), _) if !text.is_empty() => body_text(text, length),
        _ if data.params.is_empty() => without_text(),
        _ if is_form(data.mime_type.as_deref()) => RecordedBody::Whole(form(&data.params)),
        _ => RecordedBody::Lost,
    }
}

/// A body as text. Bytes that are no text are written as one character each, as the length shows.
/// Browsers leave out the files of a form: then the text is too short.
fn body_text(text: &str, length: Option<usize>) -> RecordedBody {
    let bytes: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(c).ok()).collect();
    match length {
        Some(length) if length > text.len() => RecordedBody::Lost,
        Some(length) if length != text.len() => {
            let bytes = bytes.filter(|bytes| bytes.len() == length);
            RecordedBody::Whole(bytes.unwrap_or_else(|| text.as_bytes().to_vec()))
        }
        _ => RecordedBody::Whole(text.as_bytes().to_vec()),
    }
}

fn is_form(mime_type: Option<&str>) -> bool {
    mime_type.is_some_and(|it| it.starts_with("application/x-www-form-urlencoded"))
}

/// Names and values stand in an archive as they stood in the request: encoded.
fn form(params: &[NameAndValue]) -> Vec<u8> {
    let pairs = params.iter().map(|it| format!("{}={}", it.name, it.value));
    pairs.collect::<Vec<String>>().join("&").into_bytes()
}
