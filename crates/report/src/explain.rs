//! Which rules of the verdict examined what, and how close each was to firing.

use crate::Style;
use crate::headline::verdict_sentence;
use crate::page::Page;
use crate::style::Paint;
use analysis::{Document, LimitOf, RuleReading};

const LIMITS: [LimitOf; 6] = [
    LimitOf::Trust,
    LimitOf::Client,
    LimitOf::Load,
    LimitOf::Plan,
    LimitOf::Server,
    LimitOf::Network,
];

/// The rules of a run's verdict, grouped by subject: what part of its bound each one reached, and
/// what it saw, or its evidence if it fired. `part` is the run's folder within its campaign, if it
/// belongs to one, and stands in the title.
#[must_use]
pub fn explain(document: &Document, part: Option<&str>, style: Style) -> String {
    let mut page = Page::new(style);
    let run = format!("{} · {}", document.run.name, document.run.started_at);
    match part {
        Some(part) => page.title(&format!("Run: {part} · {run}")),
        None => page.paragraph(Paint::Title, "", &run),
    }
    page.paragraph(Paint::Plain, "Verdict: ", &verdict_sentence(document));
    document
        .forced_past()
        .iter()
        .for_each(|forced| page.paragraph(Paint::Doubtful, "  · ", forced));
    let readings = analysis::explain(document);
    for limit_of in LIMITS {
        let about = readings.iter().filter(|it| it.rule.limit_of() == limit_of);
        write(&mut page, limit_of, &about.collect::<Vec<_>>());
    }
    page.finish()
}

fn write(page: &mut Page, limit_of: LimitOf, readings: &[&RuleReading]) {
    if readings.is_empty() {
        return;
    }
    page.title(&format!("Rules: {}", limit_of.name()));
    readings.iter().for_each(|reading| one(page, reading));
}

fn one(page: &mut Page, reading: &RuleReading) {
    let RuleReading {
        rule,
        says,
        acquits,
        figure,
        bound,
        distance,
        ..
    } = reading;
    let reached = distance.map(percent_of_bound).unwrap_or_default();
    let lead = format!("  {reached:>6}  ");
    let (paint, sentence) = match (says, acquits) {
        (Some(says), _) => (Paint::Doubtful, format!("{rule} SPEAKS: {says}")),
        (None, Some(acquits)) => (Paint::Good, format!("{rule} ACQUITS: {acquits}")),
        (None, None) => (Paint::Plain, format!("{rule}: {figure} (bound: {bound})")),
    };
    page.paragraph(paint, &lead, &sentence);
}

/// Rounded down, so that a value just below its bound does not look as if it had reached it.
fn percent_of_bound(distance: f64) -> String {
    format!("{:.0} %", (distance * 100.0).floor())
}

#[cfg(test)]
mod tests {
    use super::percent_of_bound;

    #[test]
    fn only_what_has_reached_its_bound_looks_so() {
        let told = [0.0, 0.25, 0.999, 1.0, 3.146].map(percent_of_bound);
        assert_eq!(told, ["0 %", "25 %", "99 %", "100 %", "314 %"]);
    }
}
