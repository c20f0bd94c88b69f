//! A scene as text: lines for a terminal, or one line for a pipe. Pure.

use super::scene::{Agent, Scene, Stage, Status};
use analysis::Live;
use analysis::human::{number, share, time};
use plan::End;
use report::Style;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Columns of the bar at most.
const BAR_MAX: usize = 40;

/// Names of agents that are shown.
const NAMES_MAX: usize = 8;

/// The lines that are redrawn in place on a terminal.
pub(super) fn lines(scene: &Scene, now: Instant, style: Style) -> Vec<String> {
    let title = &scene.planned.name;
    let lines = match scene.stage {
        Stage::Gathering => vec![format!("{title}  {}", gathering(scene))],
        Stage::Preparing => vec![format!("{title}  preparing"), crew(&scene.agents)],
        Stage::Fixed { start } => {
            let (share_done, clock) = clock(scene, start, now);
            let room = style.width.saturating_sub(title.chars().count() + clock.chars().count() + 6);
            let bar = bar(share_done, room.min(BAR_MAX), style.unicode);
            let figures = scene.live.as_ref().map_or_else(|| "no figures yet".to_owned(), figures);
            vec![format!("{title}  {bar}  {clock}"), figures, crew(&scene.agents)]
        }
        Stage::Over => vec![format!("{title}  ended")],
    };
    lines.iter().map(|line| fitted(line, style)).collect()
}

/// The line for a pipe; nothing while the agents are awaited, which are told of as they come.
pub(super) fn plain(scene: &Scene, now: Instant) -> Option<String> {
    let Stage::Fixed { start } = scene.stage else { return None };
    let live = scene.live.as_ref()?;
    Some(format!("{}  {}  {}", clock(scene, start, now).1, figures(live), crew(&scene.agents)))
}

/// Replaces the `drawn` lines above the cursor. Wrapping is off meanwhile: a line that is too long after all would
/// otherwise take two, and the next drawing would miss one.
pub(super) fn redrawn(lines: &[String], drawn: usize) -> String {
    let mut text = String::new();
    if drawn > 0 {
        let _ = write!(text, "\x1b[{drawn}A");
    }
    text.push_str("\r\x1b[J");
    if !lines.is_empty() {
        text.push_str("\x1b[?7l");
        lines.iter().for_each(|line| {
            let _ = writeln!(text, "{line}");
        });
        text.push_str("\x1b[?7h");
    }
    text
}

fn gathering(scene: &Scene) -> String {
    let names: Vec<&str> = scene.agents.iter().map(|agent| agent.name.as_str()).collect();
    let names = if names.is_empty() { String::new() } else { format!(": {}", listed(&names)) };
    format!("{} of {} agents are here{names}", scene.agents.len(), scene.planned.agents)
}

/// Share of the run that is over, and its clock in words.
fn clock(scene: &Scene, start: Instant, now: Instant) -> (f64, String) {
    if scene.is_stopping {
        return (1.0, "stopping: what has begun may finish".to_owned());
    }
    if let Some(until) = start.checked_duration_since(now).filter(|until| !until.is_zero()) {
        return (0.0, format!("starts in {:.1}s", until.as_secs_f64()));
    }
    let elapsed = now.saturating_duration_since(start);
    let warm_up = scene.planned.warm_up;
    if elapsed < warm_up {
        let part = elapsed.as_secs_f64() / warm_up.as_secs_f64();
        return (part, format!("warming up {} of {}", seconds(elapsed), seconds(warm_up)));
    }
    measured(scene, elapsed.saturating_sub(warm_up))
}

fn measured(scene: &Scene, elapsed: Duration) -> (f64, String) {
    match scene.planned.end {
        End::Duration(duration) if elapsed >= duration => (1.0, "draining: what has begun may finish".to_owned()),
        End::Duration(duration) => {
            let left = seconds(duration.saturating_sub(Duration::from_secs(rounded(elapsed))));
            let part = elapsed.as_secs_f64() / duration.as_secs_f64();
            (part, format!("{} of {}, {left} left", seconds(elapsed), seconds(duration)))
        }
        End::Requests(requests) => {
            let ended = scene.live.as_ref().map_or(0, |live| live.total_ended);
            let done = format!("{} of {}", number(ended as f64), number(requests as f64));
            (ended as f64 / requests as f64, format!("{done} done in {}", seconds(elapsed)))
        }
    }
}

fn figures(live: &Live) -> String {
    let p50 = live.p50_ns.map_or_else(|| "-".to_owned(), |ns| time(ns as f64));
    let sign = if live.p99_at_least { "≥ " } else { "" };
    let p99 = live.p99_ns.map_or_else(|| "-".to_owned(), |ns| format!("{sign}{}", time(ns as f64)));
    let share_of_errors = if live.total_errors == 0 {
        String::new()
    } else {
        format!(" ({})", share(live.total_errors as f64 / live.total_ended.max(1) as f64))
    };
    format!(
        "{}/s  response p50 {p50}, p99 {p99}  errors {}{share_of_errors}",
        number(live.ended_per_second as f64),
        number(live.total_errors as f64)
    )
}

/// The agents by what they do, in words; names only of those that are not as they should be.
fn crew(agents: &[Agent]) -> String {
    const WORDS: [(Status, &str); 6] = [
        (Status::Preparing, "preparing"),
        (Status::Ready, "ready"),
        (Status::Firing, "firing"),
        (Status::Done, "done"),
        (Status::Gone, "gone"),
        (Status::Lost, "lost"),
    ];
    let group = |(status, word): (Status, &str)| {
        let names: Vec<&str> = agents.iter().filter(|agent| agent.status == status).map(|agent| agent.name.as_str()).collect();
        let named = if status >= Status::Gone { format!(" ({})", listed(&names)) } else { String::new() };
        (!names.is_empty()).then(|| format!("{} {word}{named}", names.len()))
    };
    let groups: Vec<String> = WORDS.into_iter().filter_map(group).collect();
    format!("agents: {}", groups.join(", "))
}

fn listed(names: &[&str]) -> String {
    let more = names.len().saturating_sub(NAMES_MAX);
    let shown = names[..names.len().min(NAMES_MAX)].join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// `[####----]`; nothing where there is no room for one.
fn bar(part: f64, columns: usize, unicode: bool) -> String {
    let Some(inner) = columns.checked_sub(2).filter(|&inner| inner >= 4) else { return String::new() };
    let full = (part.clamp(0.0, 1.0) * inner as f64).round() as usize;
    let (done, open) = if unicode { ("█", "·") } else { ("#", "-") };
    format!("[{}{}]", done.repeat(full), open.repeat(inner - full))
}

/// The nearest second.
fn rounded(duration: Duration) -> u64 {
    duration.saturating_add(Duration::from_millis(500)).as_secs()
}

/// Whole seconds below two minutes, then minutes and seconds.
fn seconds(duration: Duration) -> String {
    let seconds = rounded(duration);
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0 | 1, _) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds:02}s"),
        (hours, minutes, seconds) => format!("{hours}h{minutes:02}m{seconds:02}s"),
    }
}

/// In one row of the terminal.
fn fitted(line: &str, style: Style) -> String {
    style.text(line).chars().take(style.width).collect()
}
