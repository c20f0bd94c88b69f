//! The replay format: one request a line, as JSON, in order of time. It knows nothing of the logs
//! that it is made from.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// Nanoseconds in a second.
const NS: f64 = 1e9;

/// A line of a replay file: a request and when it is due.
///
/// Lines are in order of `at`. A field is left out if the log does not have it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayEntry {
    /// When the request arrived, in seconds from the first request of the file; exact to a
    /// nanosecond for the first 11 days.
    #[serde(
        rename = "at",
        serialize_with = "write_seconds",
        deserialize_with = "read_seconds"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "f64", range(min = 0)))]
    pub at_ns: u64,
    /// The request.
    #[serde(flatten)]
    pub request: ReplayRequest,
}

/// What was asked for, on which connection, and how the server answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayRequest {
    /// Method, such as `GET`.
    pub method: String,
    /// Path with query; begins with `/`, and has only printable ASCII characters.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"^/[!-~]*$")))]
    pub path: String,
    /// The Host field or authority, with the port if it was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Header fields by name in lower case, without `host` and without those that describe the
    /// connection or the length of the body. Values of a field that came several times are joined
    /// by a comma, those of `cookie` by a semicolon.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body, if it is UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The body in Base64 (RFC 4648, section 4), if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_base64: Option<String>,
    /// Identifies the connection: requests with the same text shared one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// Status of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The server name of the TLS handshake (SNI).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Whether the connection's TLS handshake resumed a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<bool>,
    /// TLS version of the connection by OpenSSL's name, such as `TLSv1.3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
}

// `serialize_with` passes a reference.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn write_seconds<S: Serializer>(ns: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(*ns as f64 / NS)
}

fn read_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    let ns = (seconds * NS).round();
    // 2^64 is the first that does not fit.
    if (0.0..18_446_744_073_709_551_616.0).contains(&ns) {
        return Ok(ns as u64);
    }
    Err(serde::de::Error::custom(format_args!(
        "at: {seconds} is not a time; write seconds from the first request, such as 12.5"
    )))
}

impl ReplayEntry {
    /// The line of a request whose own JSON is `request`, with its line break. Entries wait in that
    /// form until their order is known.
    pub(crate) fn line(at_ns: u64, request: &[u8]) -> Vec<u8> {
        let at = at_ns as f64 / NS;
        let mut line = format!("{{\"at\":{at:?},").into_bytes();
        line.extend_from_slice(request.strip_prefix(b"{").unwrap_or(request));
        line.push(b'\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::{ReplayEntry, ReplayRequest};
    use std::collections::BTreeMap;

    fn entry(at_ns: u64) -> ReplayEntry {
        ReplayEntry {
            at_ns,
            request: ReplayRequest {
                method: "POST".to_owned(),
                path: "/a?b=\"c\"".to_owned(),
                headers: BTreeMap::from([("accept".to_owned(), "*/*".to_owned())]),
                body: Some("{\"ä\": 1}".to_owned()),
                status: Some(201),
                resumed: Some(false),
                ..ReplayRequest::default()
            },
        }
    }

    #[test]
    fn line_is_the_entry_as_serde_writes_it() {
        for at_ns in [
            0,
            1,
            123_456_789,
            86_400_000_000_001,
            31_536_000_000_000_000,
        ] {
            let entry = entry(at_ns);
            let request = serde_json::to_vec(&entry.request).unwrap();
            let line = String::from_utf8(ReplayEntry::line(at_ns, &request)).unwrap();
            assert_eq!(line, serde_json::to_string(&entry).unwrap() + "\n");
            assert_eq!(serde_json::from_str::<ReplayEntry>(&line).unwrap(), entry);
        }
    }

    #[test]
    fn instants_are_read_back_to_the_nanosecond() {
        for ns in [1, 999_999_999, 1_000_000_001, 999_999_999_999_999] {
            let text = serde_json::to_string(&entry(ns)).unwrap();
            let back: ReplayEntry = serde_json::from_str(&text).unwrap();
            assert_eq!(back.at_ns, ns, "{text}");
        }
        for bad in ["-1", "1e300", "\"1\"", "null"] {
            let line = format!("{{\"at\":{bad},\"method\":\"GET\",\"path\":\"/\"}}");
            assert!(serde_json::from_str::<ReplayEntry>(&line).is_err(), "{bad}");
        }
    }
}
