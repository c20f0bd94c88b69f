//! Whole imports: logs that servers and tools wrote, and input that nothing should break.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod hostile;
mod logs;
mod rules;

use traffic::{ImportError, ImportRules, ImportSummary, MissingBody, ReplayEntry, import};

/// Rules that leave nothing out.
fn rules() -> ImportRules {
    ImportRules {
        format: None,
        log_format: None,
        bodies: MissingBody::Empty,
        from_ns: None,
        to_ns: None,
        methods: Vec::new(),
        hosts: Vec::new(),
        is_strict: false,
        interval_ns: Some(100_000_000),
        sort_bytes: 64 << 20,
        secret_headers: &["cookie"],
    }
}

/// What an import writes, and what it says.
fn try_import(log: &[u8], rules: &ImportRules) -> Result<(String, ImportSummary), ImportError> {
    let mut output = Vec::new();
    let summary = import(log, rules, &mut output)?;
    Ok((String::from_utf8(output).unwrap(), summary))
}

/// The requests of a log, whose order is checked.
#[track_caller]
fn entries(log: &[u8], rules: &ImportRules) -> (Vec<ReplayEntry>, ImportSummary) {
    let (text, summary) = try_import(log, rules).unwrap();
    let entries = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let entries: Vec<ReplayEntry> = entries.collect();
    assert!(entries.is_sorted_by_key(|entry| entry.at_ns), "{text}");
    assert_eq!(entries.len() as u64, summary.written, "{text}");
    assert_eq!(entries.first().map_or(0, |entry| entry.at_ns), 0, "{text}");
    (entries, summary)
}
