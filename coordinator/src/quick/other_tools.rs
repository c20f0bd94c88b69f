//! Flags of ab, hey, oha, wrk, k6, vegeta and curl that `quick` does not have, with what to write
//! instead.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::{OsStr, OsString};

/// Whole words that hey and vegeta take after one dash, and that would be read as several letters:
/// `-duration` as `-d` with a body `uration`.
const ONE_DASH: [&str; 18] = [
    "-connections",
    "-cpus",
    "-disable-compression",
    "-disable-keepalive",
    "-disable-redirects",
    "-duration",
    "-format",
    "-h2",
    "-header",
    "-host",
    "-http2",
    "-insecure",
    "-keepalive",
    "-max-workers",
    "-rate",
    "-targets",
    "-timeout",
    "-workers",
];

/// Advice on what to write instead of a flag.
const CURES: [(&[&str], &str); 23] = [
    (
        &["-w", "--threads"],
        "write --workers N for load threads, or -c N for connections",
    ),
    (
        &[
            "-L",
            "--location",
            "-r",
            "--redirect",
            "--disable-redirects",
        ],
        "quick follows no redirects; write the URL that they lead to, or a plan with \
         request.redirects",
    ),
    (
        &["--disable-compression", "--compressed"],
        "nothing is compressed unless -H \"Accept-Encoding: gzip\" asks for it",
    ),
    (
        &["-x", "--proxy", "-P"],
        "requests go to the server directly; --connect-to ADDRESS says where it is",
    ),
    (&["-C", "-b", "--cookie"], "write -H \"Cookie: NAME=VALUE\""),
    (
        &["-p"],
        "write -D FILE for a body from a file, or --http2 --streams N for parallel requests",
    ),
    (&["-i", "-I", "--head"], "write -m HEAD"),
    (&["-s"], "write -t DURATION for the time-out"),
    (
        &["--latency", "--latencies"],
        "leave it out: percentiles are printed anyway, and -v prints all",
    ),
    (
        &["--latency-correction"],
        "leave it out: with -q, times count from the instant at which a request is due",
    ),
    (&["--no-tui"], "write --quiet for no progress"),
    (
        &["--http-version"],
        "write --http2 for HTTP/2; without it HTTP/1.1 is used",
    ),
    (
        &["--vus", "--concurrency", "--users", "--max-workers"],
        "write -c N",
    ),
    (&["--rps", "--qps", "-R"], "write -q PER_SECOND"),
    (&["--iterations"], "write -n N"),
    (
        &["--output-format", "--out", "--summary-export"],
        "write -o FORMAT, such as -o json; --output DIR makes a run folder",
    ),
    (
        &["--data", "--data-raw", "--data-binary", "--data-ascii"],
        "write -d TEXT, or -D FILE for the content of a file, and -m POST",
    ),
    (
        &["--insecure-skip-tls-verify"],
        "write -k to check no certificate",
    ),
    (
        &["--keepalive", "--no-connection-reuse"],
        "connections are kept alive; --no-keepalive opens one for every request",
    ),
    (&["--targets"], "write --urls FILE, with a URL on each line"),
    (&["-U", "--user-agent"], "write -H \"User-Agent: NAME\""),
    (
        &["--stage", "-e", "--env"],
        "a plan file has stages and several requests; see `coordinator start --help`",
    ),
    (
        &["--burst-delay", "--burst-rate"],
        "a plan file has stages; see load.stage in docs/PLAN.md",
    ),
];

/// Returns the words of a command line, with two dashes before words that other tools take after
/// one.
pub(crate) fn with_two_dashes(words: Vec<OsString>) -> Vec<OsString> {
    let is_known = |text: &str| ONE_DASH.contains(&text.split('=').next().unwrap_or_default());
    let two_dashes = |word: OsString| match word.to_str() {
        Some(text) if is_known(text) => format!("-{text}").into(),
        _ => word,
    };
    match words.get(1) {
        Some(command) if command == OsStr::new("quick") => {
            words.into_iter().map(two_dashes).collect()
        }
        _ => words,
    }
}

/// Adds to an error what to write instead of a flag that another tool has.
pub(crate) fn with_cure(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let cure = CURES
        .iter()
        .find(|(flags, _)| flags.contains(&flag.as_str()));
    if let Some((_, cure)) = cure.filter(|_| error.kind() == ErrorKind::UnknownArgument) {
        error.remove(ContextKind::SuggestedArg);
        let tip = ContextValue::StyledStrs(vec![(*cure).into()]);
        error.insert(ContextKind::Suggested, tip);
    }
    error
}
