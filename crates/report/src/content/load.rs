//! What was asked for, on one line.

use analysis::human::{counted, number, time};
use analysis::{Document, LoadRecord, RunState};

/// The load, who sent it, for how long, and when.
pub(crate) fn what_ran(document: &Document) -> String {
    let asked = what_was_asked(document);
    format!("{asked} · {}", document.run.started_at)
}

/// As [`what_ran`], without the time of the run.
pub(crate) fn what_was_asked(document: &Document) -> String {
    let state = match document.run.state {
        RunState::Complete => "",
        RunState::Interrupted => "INTERRUPTED · ",
        RunState::Incomplete if !document.run.refusals.is_empty() => "NOT BEGUN · ",
        RunState::Incomplete => "INCOMPLETE · ",
    };
    format!("{state}{}", what_runs(document))
}

/// The load, who sends it, and for how long.
pub(crate) fn what_runs(document: &Document) -> String {
    let run = &document.run;
    let warm_up = if run.warm_up_ns > 0 {
        format!(" after {} of warm-up", time(run.warm_up_ns as f64))
    } else {
        String::new()
    };
    let agents = counted(document.agents.len() as u64, "agent");
    format!(
        "{} · {agents} · {} measured{warm_up}",
        load(document),
        time(run.duration_ns as f64)
    )
}

fn load(document: &Document) -> String {
    match &document.plan.load {
        LoadRecord::Closed {
            connections,
            max_connections,
            stages,
            think_time,
        } => {
            let pause = if *think_time { " with think time" } else { "" };
            let streams = match document.plan.streams {
                Some(streams @ 2..) => format!(" with {streams} streams each"),
                _ => String::new(),
            };
            let streams = match max_connections {
                Some(most) => format!(
                    " who share {}{streams}",
                    counted(u64::from(*most), "connection")
                ),
                None => streams,
            };
            let users = counted(u64::from(*connections), "virtual user");
            let journeys = if document.has_journeys() {
                " on journeys"
            } else {
                ""
            };
            format!("{users}{journeys}{streams}{pause}{}", then_stages(*stages))
        }
        LoadRecord::Open {
            arrivals_per_second,
            arrivals,
            stages,
            ..
        } => {
            let unit = if document.has_journeys() {
                "journeys"
            } else {
                "arrivals"
            };
            let of_log = match arrivals.as_str() {
                "recorded" => ", as a log has them",
                _ => "",
            };
            format!(
                "{} {unit}/s{of_log}{}",
                number(*arrivals_per_second),
                then_stages(*stages)
            )
        }
    }
}

fn then_stages(stages: u32) -> String {
    if stages == 0 {
        String::new()
    } else {
        format!(", then {}", counted(u64::from(stages), "stage"))
    }
}
