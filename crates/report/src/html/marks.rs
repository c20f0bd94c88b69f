//! What a reader should look at on the time axis: seconds in which nothing ended or the slowest
//! operation took far longer than usual, absent agents, and times without a coordinator.

use crate::clock::clock;
use analysis::human::{exact, number, time_or_more};
use analysis::{Document, LoadRecord, Row, StageRecord, Takeover};
use maud::{Markup, html};

/// Seconds that are marked; the worst ones if there are more.
const SECONDS_MAX: usize = 12;
/// With more stages none is marked, since the line of the demand shows them.
const STAGES_MAX: usize = 24;
/// Agents that are marked.
const AGENTS_MAX: usize = 20;

/// A row is compared with this many rows on either side.
const AROUND: usize = 8;
/// With fewer neighbours there is no usual value.
const AROUND_MIN: usize = 6;
/// A maximum stands out if it is this many times the usual one.
const FAR_ABOVE: f64 = 5.0;

/// A stretch of time, or an instant, with an explanation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RunMark {
    /// Seconds on the run clock.
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) tone: MarkTone,
    /// The label in the picture, for the beginning of something. Marks without a label are shaded.
    pub(super) label: Option<String>,
    pub(super) words: String,
}

impl RunMark {
    fn when(&self) -> String {
        if self.to > self.from {
            format!("{} to {}", clock(self.from), clock(self.to))
        } else {
            clock(self.from)
        }
    }
}

/// The severity of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkTone {
    Bad,
    Doubtful,
    /// Part of the plan.
    Plain,
}

impl MarkTone {
    /// Its name in style sheet and script.
    pub(super) fn name(self) -> &'static str {
        match self {
            MarkTone::Bad => "bad",
            MarkTone::Doubtful => "doubtful",
            MarkTone::Plain => "faint",
        }
    }
}

/// All marks of a run, in order of time.
pub(super) fn marks(document: &Document) -> Vec<RunMark> {
    let mut marks = seconds(document);
    marks.extend(stages(document));
    marks.extend(agents(document));
    marks.extend(document.unattended.iter().map(|time| RunMark {
        from: time.from_ns as f64 / 1e9,
        to: time.to_ns as f64 / 1e9,
        tone: MarkTone::Doubtful,
        label: None,
        words: "no coordinator was there".to_owned(),
    }));
    marks.sort_by(|a, b| a.from.total_cmp(&b.from));
    marks
}

/// The marks as a list of sentences.
pub(super) fn list(marks: &[RunMark]) -> Markup {
    html! {
        @if !marks.is_empty() {
            ul class="marks" {
                @for mark in marks {
                    li class=(mark.tone.name()) {
                        span { b { (mark.when()) } " " (mark.words) }
                    }
                }
            }
        }
    }
}

/// End of the measured part on the run clock. A file from elsewhere may contain any number.
fn end_ns(document: &Document) -> u64 {
    let run = &document.run;
    run.warm_up_ns.saturating_add(run.duration_ns)
}

/// The beginnings of stages, and the end of the last one.
fn stages(document: &Document) -> Vec<RunMark> {
    let stages = &document.plan.stages;
    let end_ns = end_ns(document);
    let Some(last) = stages.last().filter(|_| stages.len() <= STAGES_MAX) else {
        return Vec::new();
    };
    let rest = StageRecord {
        from_ns: last.to_ns,
        to_ns: end_ns,
        from: last.to,
        to: last.to,
    };
    let all = stages.iter().chain([&rest]);
    // A run that was stopped did not reach all of its stages.
    let begun = all.filter(|stage| stage.from_ns < end_ns);
    begun.map(|stage| stage_mark(document, stage)).collect()
}

fn stage_mark(document: &Document, stage: &StageRecord) -> RunMark {
    let amount = |amount: f64| {
        let number = exact(&number(amount));
        match document.plan.load {
            LoadRecord::Open { .. } => format!("{number}/s"),
            LoadRecord::Closed { .. } if number == "1" => "1 user".to_owned(),
            LoadRecord::Closed { .. } => format!("{number} users"),
        }
    };
    let (from, to) = (amount(stage.from), amount(stage.to));
    let (label, words) = if stage.from == stage.to {
        (format!("hold {to}"), format!("a hold of {to}"))
    } else {
        let kind = if stage.from_ns == stage.to_ns {
            "step"
        } else {
            "ramp"
        };
        (
            format!("{kind} to {to}"),
            format!("a {kind} from {from} to {to}"),
        )
    };
    RunMark {
        from: stage.from_ns as f64 / 1e9,
        to: stage.to_ns.min(end_ns(document)) as f64 / 1e9,
        tone: MarkTone::Plain,
        label: Some(label),
        words,
    }
}

/// The worst of the seconds that stalled, or in which an operation was far slower than usual.
fn seconds(document: &Document) -> Vec<RunMark> {
    let end = end_ns(document) / 1_000_000_000;
    let rows: Vec<&Row> = document.series.rows.iter().collect();
    let loaded = rows.iter().take_while(|row| u64::from(row.second) < end);
    let mut found: Vec<(f64, RunMark)> = Vec::new();
    for (place, row) in loaded.enumerate() {
        let length = f64::from(row.seconds.max(document.series.row_seconds).max(1));
        let is_far_above = || times_usual(&rows, place).map(|times| outlier(row, times));
        let problem = stall(row).or_else(is_far_above);
        found.extend(problem.map(|(badness, tone, words)| {
            let from = f64::from(row.second);
            let mark = RunMark {
                from,
                to: from + length,
                tone,
                label: None,
                words,
            };
            (badness, mark)
        }));
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.truncate(SECONDS_MAX);
    found.into_iter().map(|(_, mark)| mark).collect()
}

/// What is wrong with a row: a number that grows with its severity, and the mark's tone and words.
type RowProblem = (f64, MarkTone, String);

/// Nothing is worse than a row in which nothing ended, though operations were under way.
fn stall(row: &Row) -> Option<RowProblem> {
    let has_answers = row.ended > 0 || row.events > 0 || row.messages > 0;
    (!has_answers && row.in_service >= 0.5).then(|| {
        let under_way = exact(&number(row.in_service));
        let operations = if under_way == "1" {
            "operation"
        } else {
            "operations"
        };
        let words = format!("nothing ended, with {under_way} {operations} under way");
        (f64::INFINITY, MarkTone::Bad, words)
    })
}

fn outlier(row: &Row, times: f64) -> RowProblem {
    let slowest = time_or_more(row.response_time_max_ns as f64, row.is_cut_short());
    let times_words = exact(&number(times));
    let words = format!("the slowest took {slowest}, {times_words} times the usual");
    (times, MarkTone::Doubtful, words)
}

/// A row's maximum as a multiple of the usual maximum, if it stands out.
fn times_usual(rows: &[&Row], place: usize) -> Option<f64> {
    let around = place.saturating_sub(AROUND)..rows.len().min(place + AROUND + 1);
    let others = around.filter(|&other| other != place);
    let known = others.map(|other| rows[other].response_time_max_ns);
    let mut known: Vec<u64> = known.filter(|&largest| largest > 0).collect();
    if known.len() < AROUND_MIN {
        return None;
    }
    known.sort_unstable();
    let usual = known[known.len() / 2] as f64;
    let times = rows[place].response_time_max_ns as f64 / usual;
    (times >= FAR_ABOVE).then_some(times)
}

/// When only some of the agents contributed, and which agents took over from others.
fn agents(document: &Document) -> Vec<RunMark> {
    let all = document.agents.len();
    let parts = document.fleet.contributions.iter();
    let missing = parts.filter(|part| !part.whole || (part.agents as usize) < all);
    let missing = missing.map(|part| RunMark {
        from: f64::from(part.from_second),
        to: f64::from(part.to_second) + 1.0,
        tone: MarkTone::Bad,
        label: None,
        words: format!("{} of {all} agents contributed", part.agents),
    });
    let taken = document.fleet.takeovers.iter();
    let taken = taken.map(|takeover| takeover_mark(document, takeover));
    missing.chain(taken).take(AGENTS_MAX).collect()
}

fn takeover_mark(document: &Document, takeover: &Takeover) -> RunMark {
    let name = |index: u32| {
        let agent = document.agents.iter().find(|agent| agent.index == index);
        agent.map_or_else(|| format!("agent {index}"), |agent| agent.name.clone())
    };
    let to: Vec<String> = takeover.to.iter().map(|&index| name(index)).collect();
    let to = match &to[..] {
        [] => "no agent".to_owned(),
        to => to.join(", "),
    };
    let after = takeover.after_ns as f64 / 1e9;
    RunMark {
        from: after,
        to: after,
        tone: MarkTone::Doubtful,
        label: None,
        words: format!("{} was lost; its share went to {to}", name(takeover.agent)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(second: u32, ended: u64, max_ms: u64) -> Row {
        Row {
            second,
            seconds: 1,
            ended,
            in_service: 12.0,
            response_time_max_ns: max_ms * 1_000_000,
            ..Row::default()
        }
    }

    #[test]
    fn second_with_events_or_messages_has_not_stalled() {
        assert!(stall(&row(3, 0, 0)).is_some());
        for (events, messages) in [(1, 0), (0, 1)] {
            let alive = Row {
                events,
                messages,
                ..row(3, 0, 0)
            };
            assert!(stall(&alive).is_none());
        }
    }

    #[test]
    fn slowest_that_was_cut_short_took_at_least_that_long() {
        let slow = Row {
            response_time_at_least: true,
            ..row(3, 9, 30_000)
        };
        assert!(outlier(&slow, 9.0).2.contains("took ≥ 30.0 s"));
    }

    #[test]
    fn second_far_above_its_neighbours_stands_out() {
        let mut rows: Vec<Row> = (0..20).map(|second| row(second, 9, 10)).collect();
        rows[7].response_time_max_ns = 51_000_000;
        rows[12].response_time_max_ns = 49_000_000;
        let rows: Vec<&Row> = rows.iter().collect();
        let found: Vec<Option<f64>> = (0..20).map(|at| times_usual(&rows, at)).collect();
        assert_eq!(found[7], Some(5.1));
        assert_eq!(found.iter().flatten().count(), 1);
        assert_eq!(
            times_usual(&rows[..6], 0),
            None,
            "too few to say what is usual"
        );
    }

    #[test]
    fn stages_are_ramps_steps_and_holds_as_far_as_the_run_went() {
        let golden = include_bytes!("../../tests/golden/result-v1.json");
        let mut document = crate::read(golden).expect("a golden document can be read");
        (document.run.warm_up_ns, document.run.duration_ns) = (0, 4_000_000_000);
        let stage = |(from_s, to_s): (u64, u64), (from, to)| StageRecord {
            from_ns: from_s * 1_000_000_000,
            to_ns: to_s * 1_000_000_000,
            from,
            to,
        };
        document.plan.stages = vec![
            stage((0, 2), (10.0, 30.0)),
            stage((2, 2), (30.0, 20.0)),
            stage((2, 9), (20.0, 20.0)),
        ];
        let marks = stages(&document);
        let words: Vec<&str> = marks.iter().map(|mark| &*mark.words).collect();
        let expected = [
            "a ramp from 10 users to 30 users",
            "a step from 30 users to 20 users",
            "a hold of 20 users",
        ];
        assert_eq!(words, expected);
        assert_eq!(marks[2].to, 4.0, "the run ended in it");
    }
}
