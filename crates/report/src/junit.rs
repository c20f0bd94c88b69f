//! Thresholds as test cases, and the verdict as one more, for build servers that read JUnit's XML.

use analysis::human::exact;
use analysis::{Document, Judgement, Verdict};
use std::fmt::Write as _;

pub(crate) fn render(document: &Document) -> String {
    let cases: Vec<(String, Option<String>)> =
        document.thresholds.iter().map(judged).chain([("verdict".to_owned(), distrusted(document))]).collect();
    let failures = cases.iter().filter(|(_, failure)| failure.is_some()).count();
    let (name, seconds) = (escape(&document.run.name), document.run.duration_ns as f64 / 1e9);
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        text,
        "<testsuite name=\"{name}\" tests=\"{}\" failures=\"{failures}\" time=\"{seconds:.3}\" timestamp=\"{}\">",
        cases.len(),
        escape(&document.run.started_at)
    );
    cases.iter().for_each(|(case, failure)| write_case(&mut text, &name, case, failure.as_deref()));
    text.push_str("</testsuite>\n");
    text
}

fn judged(judgement: &Judgement) -> (String, Option<String>) {
    let limit = exact(&judgement.unit.display(judgement.limit));
    let name = format!("{} {} {limit}", judgement.metric, judgement.comparison);
    (name, (!judgement.passed).then(|| measured(judgement)))
}

/// What was measured, and why it does not count where that is so.
pub(crate) fn measured(judgement: &Judgement) -> String {
    let sign = if judgement.at_least { "≥ " } else { "" };
    let actual = judgement.actual.map(|actual| format!("{sign}{}", judgement.unit.display(actual)));
    match (actual, &judgement.reason) {
        (Some(actual), None) => actual,
        (Some(actual), Some(reason)) => format!("{actual}: {reason}"),
        (None, Some(reason)) => reason.clone(),
        (None, None) => "not measured".to_owned(),
    }
}

fn distrusted(document: &Document) -> Option<String> {
    let record = &document.verdict;
    let is_bad = matches!(record.verdict, Verdict::Invalid | Verdict::ClientBound);
    is_bad.then(|| format!("{}: {}", record.verdict.name(), record.evidence.join("; ")))
}

fn write_case(text: &mut String, suite: &str, case: &str, failure: Option<&str>) {
    let _ = write!(text, "  <testcase classname=\"{suite}\" name=\"{}\"", escape(case));
    let _ = match failure {
        None => writeln!(text, "/>"),
        Some(failure) => writeln!(text, ">\n    <failure message=\"{}\"/>\n  </testcase>", escape(failure)),
    };
}

/// For an attribute; characters that XML 1.0 cannot hold are replaced.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            _ if character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}') => escaped.push('?'),
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
        assert_eq!(escape("a <= \"b\" & \u{1b}c"), "a &lt;= &quot;b&quot; &amp; ?c");
    }
}
