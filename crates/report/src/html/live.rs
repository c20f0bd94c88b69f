//! The page before and during a run. It is like the page of a result, but shows progress instead of
//! a verdict, which is only known at the end. Its script follows the run.

use super::{body, data, frame, head, outcome, title};
use crate::content::{what_ran, what_runs};
use analysis::{Document, JourneyFigures, Row, RunState};
use maud::{Markup, html};
use measure::calendar;
use serde_json::json;
use std::borrow::Cow;

/// The page of an unfinished run, or of none. It was made at `made_at_ms`.
pub(crate) fn render_live(document: Option<&Document>, made_at_ms: u64) -> String {
    let Some(document) = document else {
        let body = html! { header { h1 { "Cannonade" } (waiting(made_at_ms)) } main {} };
        return frame("Cannonade", &json!({}), &body, Some(made_at_ms));
    };
    let document = &judgeable(document);
    let name = &document.run.name;
    let (title, ran, outcome) = match document.run.state {
        RunState::Incomplete if document.run.refusals.is_empty() => (
            format!("{name}: under way"),
            what_runs(document),
            under_way(document, made_at_ms),
        ),
        _ => (
            title(document),
            what_ran(document),
            html! { (outcome(document)) (over(made_at_ms)) },
        ),
    };
    let head = head(document, &ran, &outcome);
    let body = body(document, &head, None);
    frame(&title, &data(document), &body, Some(made_at_ms))
}

/// No threshold has failed as long as nothing is measured.
fn judgeable(document: &Document) -> Cow<'_, Document> {
    let is_under_way = document.run.state == RunState::Incomplete;
    if !is_under_way || document.measured.operations.ended > 0 {
        return Cow::Borrowed(document);
    }
    Cow::Owned(Document {
        thresholds: Vec::new(),
        ..document.clone()
    })
}

fn waiting(made_at_ms: u64) -> Markup {
    html! { p class="verdict" { "No run has begun yet. " (as_of(made_at_ms)) } }
}

fn over(made_at_ms: u64) -> Markup {
    html! {
        p class="faint" {
            "This run is over. If another one follows, it is shown here. " (as_of(made_at_ms))
        }
    }
}

fn under_way(document: &Document, made_at_ms: u64) -> Markup {
    html! {
        div class="verdict" {
            p class="name" { "under way" }
            p { (how_far(document)) " " (as_of(made_at_ms)) }
        }
    }
}

/// Progress by time, or by operations if the plan has no duration.
fn how_far(document: &Document) -> Markup {
    let Some(last) = document.series.rows.last() else {
        return html! { "No second is there yet: agents join, get ready and begin together." };
    };
    html! {
        @if let Some((done, all, unit)) = progress(document, last) {
            progress value=(done) max=(all) {} " "
            (done.floor()) (unit) " of " (all) (unit) "."
        }
    }
}

/// How much is done, how much there is, and in what; `None` if the plan states no end.
fn progress(document: &Document, last: &Row) -> Option<(f64, f64, &'static str)> {
    let run = &document.run;
    if let Some(length) = run.planned_duration_ns {
        let all = (run.warm_up_ns.saturating_add(length)) as f64 / 1e9;
        // The drain has rows too, in which nothing is left to wait for.
        let passed = f64::from(last.second.saturating_add(last.seconds));
        return Some((passed.min(all), all, " s"));
    }
    if let Some(planned) = run.planned_journeys {
        let ended = |it: &JourneyFigures| it.completed + it.failed + it.abandoned + it.not_sent;
        let ended = document.journeys.iter().map(ended).sum::<u64>();
        return Some((ended.min(planned) as f64, planned as f64, " journeys"));
    }
    let operations = run.planned_operations?;
    let ended = document.measured.operations.ended.min(operations);
    Some((ended as f64, operations as f64, " operations"))
}

fn as_of(made_at_ms: u64) -> Markup {
    let second = i64::try_from(made_at_ms / 1000).unwrap_or(i64::MAX);
    let text = calendar::text(second);
    // The date is already in the sentence about the start.
    let time = text.split_once('T').map_or(&text[..], |(_, time)| time);
    html! {
        span class="faint" {
            "Refreshed at " time datetime=(text) { (time.trim_end_matches('Z')) " UTC" } "."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_of_the_warm_up_and_the_plan_and_never_above_it() {
        let golden = include_bytes!("../../tests/golden/result-v1.json");
        let mut document = crate::read(golden).expect("a golden document can be read");
        document.run.warm_up_ns = 2_000_000_000;
        document.measured.operations.ended = 70;
        let row = |second| Row {
            second,
            seconds: 1,
            ..Row::default()
        };
        // (planned seconds, planned operations, last second, progress)
        let cases = [
            (Some(10), None, 4, Some((5.0, 12.0, " s"))),
            (Some(10), Some(100), 4, Some((5.0, 12.0, " s"))),
            (Some(10), None, 14, Some((12.0, 12.0, " s"))),
            (None, Some(100), 4, Some((70.0, 100.0, " operations"))),
            (None, Some(60), 4, Some((60.0, 60.0, " operations"))),
            (None, None, 4, None),
        ];
        for (seconds, operations, last, expected) in cases {
            document.run.planned_duration_ns = seconds.map(|seconds: u64| seconds * 1_000_000_000);
            document.run.planned_operations = operations;
            assert_eq!(progress(&document, &row(last)), expected);
        }
    }
}
