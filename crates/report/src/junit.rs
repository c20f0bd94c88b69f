//! Thresholds as test cases, and the verdict as another, for build servers that read JUnit XML.

use crate::content::{limit_in_words, value_in_words};
use crate::headline::headline;
use analysis::{Document, Judgement};
use std::fmt::Write as _;

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// A test case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) class: String,
    pub(crate) name: String,
    /// Why it failed; `None` if it passed or was skipped.
    pub(crate) failure: Option<String>,
    /// Why it could not be judged; `None` if it was.
    pub(crate) skipped: Option<String>,
    /// A remark for the reader in either case; may be empty.
    pub(crate) output: String,
}

pub(crate) fn render(document: &Document) -> String {
    let class = &document.run.name;
    let mut cases: Vec<Case> = document
        .thresholds
        .iter()
        .map(|judgement| threshold_case(class, judgement))
        .collect();
    cases.push(Case {
        class: class.clone(),
        name: verdict_name(document).to_owned(),
        failure: distrust(document),
        skipped: None,
        output: String::new(),
    });
    let seconds = document.run.duration_ns as f64 / 1e9;
    let title = format!("{class}: {}", headline(document));
    suite(&title, &document.run.started_at, Some(seconds), &cases)
}

/// A passing build must not hide that its run was forced.
fn verdict_name(document: &Document) -> &'static str {
    match document.forced_past().is_empty() {
        true => "verdict",
        false => "verdict, forced past preflight",
    }
}

/// Joins files with one suite each into one file.
#[must_use]
pub fn suites(files: &[String]) -> String {
    let suites = files
        .iter()
        .map(|file| file.strip_prefix(HEAD).unwrap_or(file));
    let suites: String = suites.collect();
    format!("{HEAD}<testsuites>\n{suites}</testsuites>\n")
}

/// A complete file with one suite.
pub(crate) fn suite(name: &str, started_at: &str, seconds: Option<f64>, cases: &[Case]) -> String {
    let failures = cases.iter().filter(|case| case.failure.is_some()).count();
    let skipped = cases.iter().filter(|case| case.skipped.is_some()).count();
    let skipped = match skipped {
        0 => String::new(),
        number => format!(" skipped=\"{number}\""),
    };
    let time = seconds.map_or_else(String::new, |seconds| format!(" time=\"{seconds:.3}\""));
    let mut text = HEAD.to_owned();
    let _ = writeln!(
        text,
        "<testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"0\"{skipped}{time} \
         timestamp=\"{}\">",
        escape(name),
        cases.len(),
        escape(started_at)
    );
    cases.iter().for_each(|case| write_case(&mut text, case));
    text.push_str("</testsuite>\n");
    text
}

fn threshold_case(class: &str, judgement: &Judgement) -> Case {
    Case {
        class: class.to_owned(),
        name: limit_in_words(judgement),
        failure: (!judgement.passed).then(|| value_in_words(judgement)),
        skipped: None,
        output: String::new(),
    }
}

/// The verdict, if the figures do not describe the server, or if nothing succeeded.
fn distrust(document: &Document) -> Option<String> {
    let record = &document.verdict;
    let evidence = record.evidence.join("; ");
    let is_bad = document.is_distrusted() || document.has_no_success();
    is_bad.then(|| format!("{}: {evidence}", record.verdict.name()))
}

fn write_case(text: &mut String, case: &Case) {
    let _ = write!(
        text,
        "  <testcase classname=\"{}\" name=\"{}\"",
        escape(&case.class),
        escape(&case.name)
    );
    if case.failure.is_none() && case.skipped.is_none() && case.output.is_empty() {
        text.push_str("/>\n");
        return;
    }
    text.push_str(">\n");
    if let Some(failure) = &case.failure {
        let _ = writeln!(text, "    <failure message=\"{}\"/>", escape(failure));
    }
    if let Some(skipped) = &case.skipped {
        let _ = writeln!(text, "    <skipped message=\"{}\"/>", escape(skipped));
    }
    if !case.output.is_empty() {
        let output = escape(&case.output);
        let _ = writeln!(text, "    <system-out>{output}</system-out>");
    }
    text.push_str("  </testcase>\n");
}

/// Escapes text for an attribute. Characters that XML 1.0 cannot hold are replaced.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            _ if measure::is_unprintable(character)
                || matches!(character, '\u{fffe}' | '\u{ffff}') =>
            {
                escaped.push('?')
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn text_is_escaped_for_an_attribute() {
        assert_eq!(
            escape("a <= \"b\" & \u{1b}c"),
            "a &lt;= &quot;b&quot; &amp; ?c"
        );
    }
}
