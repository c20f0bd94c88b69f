//! The errors that come before everything else in a verdict: how many, of which kind, and since
//! when.

use super::client::is_exhaustion;
use super::counted_seconds::measured;
use crate::fault::cure;
use crate::{Document, ErrorFigure, Row, human};
use measure::{Failure, Kind};

/// Above this share of errors, a load was sent but not carried, and the limit of the run is not the
/// first question.
pub(super) const SHARE_MAX: f64 = 0.01;

/// Returns the errors of operations that were sent, and that the run itself did not cut, over all
/// that ended. Operations never sent, or cut at the end, are a consequence of a load that is not
/// carried.
pub(super) fn share(document: &Document) -> f64 {
    figures(document).map(|error| error.share).sum()
}

/// Returns whether there are so many that they come first.
pub(super) fn lead(document: &Document) -> bool {
    share(document) > SHARE_MAX
}

/// Returns the first lines of the evidence: share, time, and the commonest kind with its remedy.
pub(super) fn evidence(document: &Document) -> Vec<String> {
    let commonest = figures(document).max_by_key(|error| error.count);
    let Some(commonest) = commonest.filter(|_| lead(document)) else {
        return Vec::new();
    };
    let ErrorFigure { name, words, .. } = commonest;
    let when = when(document, name).unwrap_or_default();
    let all = format!(
        "{} of {} ended in an error{when} (bound: {})",
        human::share(share(document)),
        human::counted(document.measured.operations.ended, "operation"),
        human::exact(&human::share(SHARE_MAX))
    );
    let kind = format!(
        "{} of them: {words} [{name}]",
        human::share(commonest.share)
    );
    // The client's rules name the remedy for a resource that ran out there.
    let cure = name.parse().ok().and_then(cure);
    let cure = cure.filter(|_| !is_exhaustion(commonest));
    [all, kind]
        .into_iter()
        .chain(cure.map(str::to_owned))
        .collect()
}

fn figures(document: &Document) -> impl Iterator<Item = &ErrorFigure> {
    let is_of_load = |error: &ErrorFigure| {
        let failure: Option<Failure> = error.name.parse().ok();
        failure.is_some_and(|it| matches!(it.kind, Kind::NotSent | Kind::NoLease | Kind::Cut))
    };
    let errors = document.measured.errors.iter();
    errors.filter(move |error| !is_of_load(error))
}

/// Describes in which seconds that kind exceeded its bound, including the drain: time-outs come
/// late.
fn when(document: &Document, name: &str) -> Option<String> {
    let rows = document.series.rows.iter();
    let rows: Vec<&Row> = rows.filter(|row| !row.warm_up && row.ended > 0).collect();
    let has_them = |row: &&&Row| {
        let count = row.errors_by_kind.get(name).copied().unwrap_or(0);
        count as f64 > SHARE_MAX * row.ended as f64
    };
    let first = rows.iter().find(has_them)?.second;
    let last = rows.iter().rev().find(has_them)?.second;
    let begin = rows.first()?.second;
    let end = measured(document).last()?.second;
    Some(match (first == begin, last >= end) {
        (true, true) => ", from the first second on".to_owned(),
        (false, true) => format!(", from second {first} on"),
        (_, false) if first == last => format!(", in second {first}"),
        (_, false) => format!(", between second {first} and {last}"),
    })
}
