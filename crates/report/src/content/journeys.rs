//! Journeys: how many were completed and how long they took, and the funnel of each.

use super::{ContentBlock, Remark, Section, Table, Topic};
use crate::style::Paint;
use analysis::human::{counted, number, one_or_many, percentile, share};
use analysis::{Document, GroupFigures, JourneyFigures, StepFigures, TimeFigure};

/// With a larger share of journeys cut off, times of the completed ones are remarked on.
const CUT_OFF_TOLD: f64 = 0.01;

/// Rows of a funnel that a terminal shows.
const TERMINAL_ROWS: usize = 40;

/// Journeys per second.
pub(crate) struct JourneyRates {
    pub(crate) completed: f64,
    pub(crate) due: f64,
}

/// No section if the load is not made of journeys.
pub(super) fn section(document: &Document) -> Section {
    let journeys = &document.journeys;
    let headings = [
        "",
        "begun",
        "completed",
        "share",
        "/s",
        "p50",
        "p99",
        "wait p50",
        "wait p99",
    ];
    let overview = Table {
        optional: &[5, 7],
        ..Table::new(&headings, journeys.iter().map(overview_row).collect())
    };
    let remarks = journeys.iter().flat_map(remarks).collect();
    let funnels = journeys.iter().filter(|journey| journey.begun > 0);
    let funnels = funnels.flat_map(|journey| [Some(funnel(journey)), groups(journey)]);
    let funnels = funnels.flatten().map(ContentBlock::Table);
    let blocks = [
        ContentBlock::Table(overview),
        ContentBlock::Remarks(remarks),
    ];
    Section::new(
        Topic::Journeys,
        "Journeys",
        blocks.into_iter().chain(funnels),
    )
}

/// All journeys on one line; `None` if the load is not made of journeys.
pub(crate) fn totals(document: &Document) -> Option<String> {
    let journeys = &document.journeys;
    let sum = |of: fn(&JourneyFigures) -> u64| -> u64 {
        journeys.iter().map(of).fold(0, u64::saturating_add)
    };
    let ends = [
        (sum(|it| it.completed), "completed"),
        (sum(|it| it.failed), "failed"),
        (sum(|it| it.abandoned), "cut off at the end"),
        (sum(|it| it.lost), "lost with an agent"),
        (sum(|it| it.under_way), "under way"),
        (sum(|it| it.not_sent), "not sent"),
    ];
    let ends = ends.iter().filter(|(count, _)| *count > 0);
    let ends: String = ends
        .map(|(count, how)| format!(", {count} {how}"))
        .collect();
    (!journeys.is_empty()).then(|| format!("{} begun{ends}", sum(|it| it.begun)))
}

/// The rate of journeys; `None` if the load is not made of them.
pub(crate) fn rates(document: &Document) -> Option<String> {
    let JourneyRates { completed, due } = JourneyRates::new(document);
    let rates = || format!("{}/s completed, {}/s due", number(completed), number(due));
    document.has_journeys().then(rates)
}

impl JourneyRates {
    /// Those of all journeys; 0 without any.
    pub(crate) fn new(document: &Document) -> JourneyRates {
        let sum = |of: fn(&JourneyFigures) -> f64| document.journeys.iter().map(of).sum();
        JourneyRates {
            completed: sum(|it| it.completed_per_second),
            due: sum(|it| it.due_per_second),
        }
    }
}

fn overview_row(journey: &JourneyFigures) -> Vec<String> {
    vec![
        journey.name.clone(),
        journey.begun.to_string(),
        journey.completed.to_string(),
        journey.completed_share.map(share).unwrap_or_default(),
        number(journey.completed_per_second),
        at(&journey.time, 50.0),
        at(&journey.time, 99.0),
        at(&journey.wait, 50.0),
        at(&journey.wait, 99.0),
    ]
}

fn remarks(journey: &JourneyFigures) -> Vec<Remark> {
    let name = &journey.name;
    let cut_off = journey
        .share_cut_off()
        .filter(|&share| share > CUT_OFF_TOLD);
    let cut_off = cut_off.map(|cut_off| {
        format!(
            "{name}: {} were cut off at the end of the run and count neither as completed nor as \
             failed; long journeys are cut off more often, so the times of completed ones may be \
             too short",
            share(cut_off)
        )
    });
    let was = |number| one_or_many(number, "was", "were");
    let lost = (journey.lost > 0).then(|| {
        let it = one_or_many(journey.lost, "it", "they");
        let (lost, was) = (counted(journey.lost, "journey"), was(journey.lost));
        format!("{name}: {lost} {was} begun by a lost agent, and how {it} ended is not known")
    });
    let unsent = (journey.not_sent > 0).then(|| {
        let (unsent, was) = (counted(journey.not_sent, "journey"), was(journey.not_sent));
        format!("{name}: {unsent} {was} due and never begun; these are not completed ones")
    });
    let sentences = [cut_off, lost, unsent].into_iter().flatten();
    sentences
        .map(|text| Remark::new(Paint::Faint, text))
        .collect()
}

/// The groups of the journey's steps; `None` if it has none.
fn groups(journey: &JourneyFigures) -> Option<Table> {
    let name = format!("groups of {}", journey.name);
    let headings = [
        &*name,
        "begun",
        "completed",
        "p50",
        "p99",
        "wait p50",
        "wait p99",
    ];
    let row = |group: &GroupFigures| {
        vec![
            group.name.clone(),
            group.begun.to_string(),
            group.completed.to_string(),
            at(&group.time, 50.0),
            at(&group.time, 99.0),
            at(&group.wait, 50.0),
            at(&group.wait, 99.0),
        ]
    };
    (!journey.groups.is_empty()).then(|| Table {
        optional: &[3, 5],
        terminal_rows: TERMINAL_ROWS,
        ..Table::new(&headings, journey.groups.iter().map(row).collect())
    })
}

/// A percentile of times, if there are any.
fn at(figure: &Option<TimeFigure>, wanted: f64) -> String {
    let figure = figure.as_ref().and_then(|it| it.percentile(wanted));
    figure.map(percentile).unwrap_or_default()
}

/// The steps in order, how many journeys came to each, and how the journeys ended.
fn funnel(journey: &JourneyFigures) -> Table {
    let begun = journey.begun;
    let of_begun = |count: u64| count as f64 / begun.max(1) as f64;
    let skips = journey.steps.iter().any(|step| step.skipped > 0);
    let mut headings = vec![
        &*journey.name,
        "journeys",
        "of begun",
        "times",
        "ok",
        "failed",
    ];
    headings.extend(skips.then_some("skipped"));
    let mut table = Table::new(&headings, Vec::new());
    let mut row = |name: String, journeys: u64, step: Option<&StepFigures>| {
        let of_step = |of: fn(&StepFigures) -> u64| step.map(of).map(|it| it.to_string());
        let of_step = |of| of_step(of).unwrap_or_default();
        let mut cells = vec![
            name,
            journeys.to_string(),
            share(of_begun(journeys)),
            of_step(|step| step.begun),
            of_step(|step| step.ok),
            of_step(|step| step.failed),
        ];
        cells.extend(skips.then(|| of_step(|step| step.skipped)));
        let mut shares = vec![None; cells.len()];
        shares[2] = Some(of_begun(journeys));
        table.rows.push(cells);
        table.shares.push(shares);
    };
    for (number, step) in journey.steps.iter().enumerate() {
        row(
            format!("{}. {}", number + 1, step.name),
            step.journeys,
            Some(step),
        );
    }
    let ends = [
        ("completed", journey.completed, true),
        ("failed", journey.failed, true),
        ("cut off at the end", journey.abandoned, true),
        ("lost with an agent", journey.lost, false),
        ("under way", journey.under_way, false),
    ];
    for (name, number, is_always) in ends {
        if is_always || number > 0 {
            row(name.to_owned(), number, None);
        }
    }
    Table {
        optional: &[3],
        terminal_rows: TERMINAL_ROWS,
        ..table
    }
}
