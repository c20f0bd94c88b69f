//! Logs of other programs, and what a server's configuration says of them.

use ::traffic::{
    ImportRules, LogFormat, MissingBody, ReplayEntry, ReplayLog, ReplayLogError, import,
};

/// A log in any format. What is written can be read, is in order, and nothing is lost uncounted.
pub fn log(data: &[u8]) {
    check(data, None);
}

/// A log behind its format, which is the first line.
pub fn log_format(data: &[u8]) {
    let end = data.iter().position(|&byte| byte == b'\n');
    let (text, log) = data.split_at(end.unwrap_or(data.len()));
    match LogFormat::parse(&String::from_utf8_lossy(text)) {
        Ok(format) => check(log, Some(format)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn check(log: &[u8], log_format: Option<LogFormat>) {
    let rules = ImportRules {
        format: None,
        log_format,
        bodies: MissingBody::Skip,
        from_ns: None,
        to_ns: None,
        methods: Vec::new(),
        hosts: Vec::new(),
        is_strict: false,
        interval_ns: Some(1_000),
        // Some requests are late.
        sort_bytes: 1_000,
        secret_headers: &["cookie"],
    };
    let mut replay = Vec::new();
    let summary = match import(log, &rules, &mut replay) {
        Ok(summary) => summary,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let text = String::from_utf8(replay).expect("a replay is JSON, which is UTF-8");
    let mut last_ns = 0;
    for line in text.lines() {
        let entry: ReplayEntry = serde_json::from_str(line).expect("a replay can be read");
        // Beyond 11 days a number of JSON has fewer digits.
        let is_in_order = entry.at_ns >= last_ns;
        assert!(is_in_order, "{} after {last_ns}", entry.at_ns);
        last_ns = entry.at_ns;
        let path = entry.request.path;
        let is_path = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic());
        assert!(is_path, "{path:?}");
    }
    match ReplayLog::read(text.as_bytes()) {
        Ok(log) => assert_eq!(log.entries() as u64, summary.written),
        Err(ReplayLogError::Line { why, .. }) => {
            assert!(why.contains("bytes") || why.contains("methods"), "{why}");
        }
        Err(error) => assert!(text.is_empty(), "{error}"),
    }
    let skipped: u64 = summary.skipped.values().map(|skipped| skipped.count).sum();
    assert_eq!(summary.written, text.lines().count() as u64);
    assert_eq!(summary.read, summary.written + skipped, "{summary}");
}
