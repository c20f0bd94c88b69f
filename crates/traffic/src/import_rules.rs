//! What an import leaves out, and how it reads its input.

use crate::format::TrafficFormat;
use crate::log_format::LogFormat;
use std::str::FromStr;

/// What becomes of a request whose body the log does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingBody {
    /// The import ends.
    Refuse,
    /// It is left out.
    Skip,
    /// It is sent without a body.
    Empty,
}

/// A word for [`MissingBody`] is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("write refuse, skip or empty")]
pub struct MissingBodyError;

impl FromStr for MissingBody {
    type Err = MissingBodyError;

    fn from_str(word: &str) -> Result<MissingBody, MissingBodyError> {
        match word {
            "refuse" => Ok(MissingBody::Refuse),
            "skip" => Ok(MissingBody::Skip),
            "empty" => Ok(MissingBody::Empty),
            _ => Err(MissingBodyError),
        }
    }
}

/// What an import leaves out, and how it reads its input.
#[derive(Debug, Clone)]
pub struct ImportRules {
    /// The input's format; recognised if `None`.
    pub format: Option<TrafficFormat>,
    /// The format of a text log, if it is not a usual one.
    pub log_format: Option<LogFormat>,
    /// What becomes of a request whose body the log does not have.
    pub bodies: MissingBody,
    /// Requests that arrived before are left out; nanoseconds since 1970.
    pub from_ns: Option<i64>,
    /// Requests that arrived then or later are left out; nanoseconds since 1970.
    pub to_ns: Option<i64>,
    /// Requests with other methods are left out; all are taken if it is empty. Upper and lower case
    /// are the same.
    pub methods: Vec<String>,
    /// Requests for other hosts are left out; all are taken if it is empty. A host without a port
    /// stands for every port.
    pub hosts: Vec<String>,
    /// Whether a line that cannot be parsed ends the import.
    pub is_strict: bool,
    /// Time between two targets of a list that has no instants.
    pub interval_ns: Option<u64>,
    /// Memory for requests that wait until their order is known, in bytes.
    pub sort_bytes: usize,
    /// Names of header fields, in lower case, that may be secrets.
    pub secret_headers: &'static [&'static str],
}

impl ImportRules {
    /// Whether requests for this host are wanted; `None` is that of a log without hosts.
    pub(crate) fn wants_host(&self, host: Option<&str>) -> bool {
        self.hosts.is_empty()
            || host.is_some_and(|host| {
                let is_host = |wanted: &String| {
                    let rest = host.get(wanted.len()..).unwrap_or("no match");
                    let is_whole = rest.is_empty() || rest.starts_with(':');
                    is_whole && host[..wanted.len()].eq_ignore_ascii_case(wanted)
                };
                self.hosts.iter().any(is_host)
            })
    }
}
