//! The formats of logs, and how one is recognised by its beginning.

use crate::text_log::TextLog;
use std::fmt;
use std::str::FromStr;

/// A format of recorded traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrafficFormat {
    /// The text logs of nginx and Apache: common, combined, and both with a virtual host before.
    Combined,
    /// A JSON object a line, with nginx's variables or other usual names as keys.
    Json,
    /// HTTP Archive 1.2, as browsers and proxies save it.
    Har,
    /// What `gor --output-file` writes.
    Goreplay,
    /// vegeta's targets in JSON, which have no instants.
    VegetaTargets,
    /// vegeta's results, by `vegeta encode --to json`.
    VegetaResults,
}

/// A format's word is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("write combined, json, har, goreplay, vegeta-targets or vegeta-results")]
pub struct TrafficFormatError;

const WORDS: [(&str, TrafficFormat); 6] = [
    ("combined", TrafficFormat::Combined),
    ("json", TrafficFormat::Json),
    ("har", TrafficFormat::Har),
    ("goreplay", TrafficFormat::Goreplay),
    ("vegeta-targets", TrafficFormat::VegetaTargets),
    ("vegeta-results", TrafficFormat::VegetaResults),
];

impl FromStr for TrafficFormat {
    type Err = TrafficFormatError;

    fn from_str(word: &str) -> Result<TrafficFormat, TrafficFormatError> {
        let found = WORDS.iter().find(|(known, _)| *known == word);
        found.map(|&(_, format)| format).ok_or(TrafficFormatError)
    }
}

impl fmt::Display for TrafficFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = WORDS.iter().find(|(_, format)| format == self);
        f.write_str(found.map_or("", |(word, _)| word))
    }
}

/// What other files begin with, and how to make something readable of them.
const OTHERS: [(&[u8], &str); 8] = [
    (
        b"\x28\xb5\x2f\xfd",
        "it is compressed by zstd; write zstd -dc FILE | coordinator import -",
    ),
    (
        b"\xfd7zXZ\0",
        "it is compressed by xz; write xz -dc FILE | coordinator import -",
    ),
    (
        b"BZh",
        "it is compressed by bzip2; write bzip2 -dc FILE | coordinator import -",
    ),
    (b"PK\x03\x04", "it is a ZIP archive; unpack it before"),
    (
        b"\xff\xfe",
        "it is UTF-16; convert it, such as by iconv -f UTF-16 -t UTF-8",
    ),
    (
        b"\xfe\xff",
        "it is UTF-16; convert it, such as by iconv -f UTF-16 -t UTF-8",
    ),
    (
        b"\xd4\xc3\xb2\xa1",
        "it is a packet capture; decrypt it, and export its requests as HAR",
    ),
    (
        b"\x0a\x0d\x0d\x0a",
        "it is a packet capture; decrypt it, and export its requests as HAR",
    ),
];

/// Lines at the beginning of a text log of which one must be of a usual format.
const SAMPLE_LINES: usize = 100;

const CURE: &str = "name it by --format, or, for a text log, give the server's own format by \
                    --log-format '$remote_addr - …'";

impl TrafficFormat {
    /// The format of a log that begins with `sample`.
    ///
    /// # Errors
    /// Says what else it is, or what to do.
    pub(crate) fn recognise(sample: &[u8]) -> Result<TrafficFormat, String> {
        if let Some((_, what)) = OTHERS.iter().find(|(magic, _)| sample.starts_with(magic)) {
            return Err((*what).to_owned());
        }
        let lines = || sample.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        let mut written = lines().filter(|line| !line.is_empty());
        let first = written.next().unwrap_or_default();
        if first.starts_with(b"{") {
            return recognise_json(sample);
        }
        if is_goreplay(first) {
            return Ok(TrafficFormat::Goreplay);
        }
        let mut usual = TextLog::usual();
        if lines()
            .take(SAMPLE_LINES)
            .any(|line| usual.read(line).is_ok())
        {
            return Ok(TrafficFormat::Combined);
        }
        if sample.windows(6).any(|window| window == b"Result") && sample.contains(&0) {
            let what = "it looks like vegeta's own encoding; write vegeta encode --to json FILE | \
                        coordinator import -";
            return Err(what.to_owned());
        }
        Err(format!("its format is not one that is recognised; {CURE}"))
    }
}

/// Tells JSON formats apart by the keys of the first object. The object may be larger than the
/// sample, as an archive in one line is.
fn recognise_json(sample: &[u8]) -> Result<TrafficFormat, String> {
    let text = String::from_utf8_lossy(sample);
    let first_key = text.trim_start().strip_prefix('{').map(str::trim_start);
    if first_key.is_some_and(|rest| rest.starts_with("\"log\"")) {
        return Ok(TrafficFormat::Har);
    }
    let line = text.trim_start().lines().next().unwrap_or_default();
    let has = |key: &str| line.contains(&format!("\"{key}\""));
    if line.starts_with("{\"at\":") && has("method") && has("path") {
        return Err("it is a replay file already".to_owned());
    }
    if has("latency") && has("code") && has("timestamp") && has("seq") {
        return Ok(TrafficFormat::VegetaResults);
    }
    let has_time = [
        "time",
        "timestamp",
        "msec",
        "time_local",
        "time_iso8601",
        "@timestamp",
        "ts",
    ];
    if has("method") && has("url") && !has_time.into_iter().any(has) {
        return Ok(TrafficFormat::VegetaTargets);
    }
    Ok(TrafficFormat::Json)
}

/// `1 d7123dasd913jfd21312dasdhas31 127345969`: kind, number and instant of a record.
fn is_goreplay(line: &[u8]) -> bool {
    let mut words = line.split(|&byte| byte == b' ');
    let kind = words
        .next()
        .is_some_and(|kind| matches!(kind, b"1" | b"2" | b"3"));
    let is_number = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    kind && words.next().is_some() && words.next().is_some_and(is_number)
}
