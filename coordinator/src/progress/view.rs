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
            let room = style
                .width
                .saturating_sub(title.chars().count() + clock.chars().count() + 4);
            let bar = bar(share_done, room.min(BAR_MAX), style.unicode);
            let figures = scene
                .live
                .as_ref()
                .map_or_else(|| "no figures yet".to_owned(), figures);
            vec![
                format!("{title}  {bar}  {clock}"),
                figures,
                crew(&scene.agents),
            ]
        }
        Stage::Over => vec![format!("{title}  ended")],
    };
    lines.iter().map(|line| fitted(line, style)).collect()
}

/// The line for a pipe; nothing while the agents are awaited, which are told of as they come.
pub(super) fn plain(scene: &Scene, now: Instant) -> Option<String> {
    let Stage::Fixed { start } = scene.stage else {
        return None;
    };
    let live = scene.live.as_ref()?;
    Some(format!(
        "{}  {}  {}",
        clock(scene, start, now).1,
        figures(live),
        crew(&scene.agents)
    ))
}

/// Replaces the `drawn` lines above the cursor. Wrapping is off meanwhile: a line that is too long
/// after all would otherwise take two, and the next drawing would miss one.
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
    let names: Vec<&str> = scene
        .agents
        .iter()
        .map(|agent| agent.name.as_str())
        .collect();
    let names = if names.is_empty() {
        String::new()
    } else {
        format!(": {}", listed(&names))
    };
    format!(
        "{} of {} agents are here{names}",
        scene.agents.len(),
        scene.planned.agents
    )
}

/// Share of the run that is over, and its clock in words.
fn clock(scene: &Scene, start: Instant, now: Instant) -> (f64, String) {
    if scene.is_stopping {
        return (1.0, "stopping: what has begun may finish".to_owned());
    }
    if let Some(until) = start
        .checked_duration_since(now)
        .filter(|until| !until.is_zero())
    {
        return (0.0, format!("starts in {:.1}s", until.as_secs_f64()));
    }
    let elapsed = now.saturating_duration_since(start);
    let warm_up = scene.planned.warm_up;
    if elapsed < warm_up {
        let part = elapsed.as_secs_f64() / warm_up.as_secs_f64();
        return (
            part,
            format!("warming up {} of {}", seconds(elapsed), seconds(warm_up)),
        );
    }
    measured(scene, elapsed.saturating_sub(warm_up))
}

fn measured(scene: &Scene, elapsed: Duration) -> (f64, String) {
    match scene.planned.end {
        End::Duration(duration) if elapsed >= duration => {
            (1.0, "draining: what has begun may finish".to_owned())
        }
        End::Duration(duration) => {
            let left = seconds(duration.saturating_sub(Duration::from_secs(rounded(elapsed))));
            let part = elapsed.as_secs_f64() / duration.as_secs_f64();
            (
                part,
                format!("{} of {}, {left} left", seconds(elapsed), seconds(duration)),
            )
        }
        End::Requests(requests) => {
            let ended = scene.live.as_ref().map_or(0, |live| live.total_ended);
            let done = format!("{} of {}", count(ended), count(requests));
            (
                ended as f64 / requests as f64,
                format!("{done} done in {}", seconds(elapsed)),
            )
        }
    }
}

fn figures(live: &Live) -> String {
    let p50 = live
        .p50_ns
        .map_or_else(|| "-".to_owned(), |ns| time(ns as f64));
    let sign = if live.p99_at_least { "≥ " } else { "" };
    let p99 = live
        .p99_ns
        .map_or_else(|| "-".to_owned(), |ns| format!("{sign}{}", time(ns as f64)));
    let share_of_errors = if live.total_errors == 0 {
        String::new()
    } else {
        format!(
            " ({})",
            share(live.total_errors as f64 / live.total_ended.max(1) as f64)
        )
    };
    format!(
        "{}/s  response p50 {p50}, p99 {p99}  errors {}{share_of_errors}",
        count(live.ended_per_second),
        count(live.total_errors)
    )
}

/// Exact while it is short.
fn count(count: u64) -> String {
    if count < 10_000 {
        count.to_string()
    } else {
        number(count as f64)
    }
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
        let names: Vec<&str> = agents
            .iter()
            .filter(|agent| agent.status == status)
            .map(|agent| agent.name.as_str())
            .collect();
        let named = if status >= Status::Gone {
            format!(" ({})", listed(&names))
        } else {
            String::new()
        };
        (!names.is_empty()).then(|| format!("{} {word}{named}", names.len()))
    };
    let groups: Vec<String> = WORDS.into_iter().filter_map(group).collect();
    format!("agents: {}", groups.join(", "))
}

fn listed(names: &[&str]) -> String {
    let more = names.len().saturating_sub(NAMES_MAX);
    let shown = names[..names.len().min(NAMES_MAX)].join(", ");
    if more == 0 {
        shown
    } else {
        format!("{shown} and {more} more")
    }
}

/// `[####----]`; nothing where there is no room for one.
fn bar(part: f64, columns: usize, unicode: bool) -> String {
    let Some(inner) = columns.checked_sub(2).filter(|&inner| inner >= 4) else {
        return String::new();
    };
    let full = (part.clamp(0.0, 1.0) * inner as f64).round() as usize;
    let (done, open) = if unicode { ("█", "·") } else { ("#", "-") };
    format!("[{}{}]", done.repeat(full), open.repeat(inner - full))
}

/// The nearest second.
fn rounded(duration: Duration) -> u64 {
    duration
        .saturating_add(Duration::from_millis(500))
        .as_secs()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Planned;
    use control::{AgentFacts, AgentId, EndCause, FleetTime, RunEvent, RunOutcome};
    use plan::Plan;

    const WIDE: Style = Style {
        colour: false,
        width: 100,
        unicode: true,
    };

    fn facts(name: &str) -> AgentFacts {
        let (id, version, labels, host) = (
            AgentId([0; 16]),
            String::new(),
            Default::default(),
            proto::Bytes::new(),
        );
        AgentFacts {
            id,
            name: name.to_owned(),
            version,
            labels,
            workers: 1,
            host,
        }
    }

    fn scene(load: &str) -> Scene {
        let text = format!("name = \"edge\"\ntarget.builtin = true\nload = {{ {load} }}");
        let plan = Plan::parse(&text, &mut crate::plan_file::Folder(".".into())).unwrap();
        Scene::new(Planned::of(&plan, 2, plan.name().to_owned()), Vec::new())
    }

    /// Firing since `now`.
    fn firing(load: &str, now: Instant) -> Scene {
        let mut scene = scene(load);
        let agents = ["a", "b"].map(facts);
        scene.take(
            &RunEvent::Assembled {
                agents: agents.to_vec(),
            },
            now,
        );
        scene.take(
            &RunEvent::Armed {
                start_at: FleetTime(0),
                start_in: Duration::ZERO,
            },
            now,
        );
        for agent in [0, 1] {
            scene.take(
                &RunEvent::Began {
                    agent,
                    at: FleetTime(0),
                    bound_ns: 0,
                },
                now,
            );
        }
        let live = Live {
            ended_per_second: 1234,
            total_ended: 500,
            total_errors: 5,
            p50_ns: Some(1_200_000),
            ..Live::default()
        };
        scene.set_live(Some(Live {
            p99_ns: Some(30_000_000_000),
            p99_at_least: true,
            ..live
        }));
        scene
    }

    #[test]
    fn waiting_tells_who_is_here() {
        let now = Instant::now();
        let mut scene = scene("connections = 1, duration = \"1s\"");
        assert_eq!(lines(&scene, now, WIDE), ["edge  0 of 2 agents are here"]);
        assert_eq!(
            scene
                .take(
                    &RunEvent::Joined {
                        agent: facts("a\x1b[2J")
                    },
                    now
                )
                .unwrap(),
            "agent a\x1b[2J joined (1 of 2)"
        );
        assert_eq!(
            lines(&scene, now, WIDE),
            ["edge  1 of 2 agents are here: a?[2J"]
        );
        assert_eq!(plain(&scene, now), None);
        scene.take(
            &RunEvent::Left {
                agent: facts("a\x1b[2J"),
            },
            now,
        );
        assert_eq!(lines(&scene, now, WIDE), ["edge  0 of 2 agents are here"]);
    }

    #[test]
    fn clock_follows_the_plan() {
        let now = Instant::now();
        for (load, passed_ms, clock) in [
            (
                "connections = 1, duration = \"60s\", warm_up = \"10s\"",
                4_000,
                "warming up 4s of 10s",
            ),
            (
                "connections = 1, duration = \"60s\", warm_up = \"10s\"",
                25_200,
                "15s of 60s, 45s left",
            ),
            (
                "connections = 1, duration = \"60s\"",
                60_100,
                "draining: what has begun may finish",
            ),
            (
                "connections = 1, duration = \"2h\"",
                3_725_000,
                "1h02m05s of 2h00m00s, 57m55s left",
            ),
            (
                "connections = 1, requests = 2000",
                3_000,
                "500 of 2000 done in 3s",
            ),
        ] {
            let shown = plain(&firing(load, now), now + Duration::from_millis(passed_ms)).unwrap();
            let rest =
                "  1234/s  response p50 1.20 ms, p99 ≥ 30.0 s  errors 5 (1.00 %)  agents: 2 firing";
            assert_eq!(shown, format!("{clock}{rest}"));
        }
    }

    #[test]
    fn agents_that_are_not_as_they_should_be_are_named() {
        let now = Instant::now();
        let mut scene = firing("connections = 1, duration = \"9s\"", now);
        let news = scene.take(
            &RunEvent::Gone {
                agent: 1,
                why: "reset".into(),
            },
            now,
        );
        assert_eq!(news.as_deref(), Some("agent b is gone: reset"));
        assert_eq!(lines(&scene, now, WIDE)[2], "agents: 1 firing, 1 gone (b)");
        scene.take(
            &RunEvent::Lost {
                agent: 1,
                next_interval: 3,
                why: "it did not come back".into(),
            },
            now,
        );
        let ended = RunEvent::Ended {
            agent: 0,
            cause: EndCause::Plan,
            missing: vec![],
            figures: proto::Bytes::new(),
            clock: None,
        };
        assert_eq!(scene.take(&ended, now), None);
        assert_eq!(lines(&scene, now, WIDE)[2], "agents: 1 done, 1 lost (b)");
        scene.take(
            &RunEvent::Done {
                outcome: RunOutcome::Ran,
            },
            now,
        );
        assert_eq!(lines(&scene, now, WIDE), ["edge  ended"]);
    }

    #[test]
    fn lines_fit_and_the_bar_gives_way() {
        let now = Instant::now();
        let scene = firing("connections = 1, duration = \"8s\"", now);
        let bar = |width, unicode| {
            lines(
                &scene,
                now + Duration::from_secs(4),
                Style {
                    colour: false,
                    width,
                    unicode,
                },
            )[0]
            .clone()
        };
        assert_eq!(
            bar(47, true),
            "edge  [██████████··········]  4s of 8s, 4s left"
        );
        assert_eq!(bar(35, false), "edge  [####----]  4s of 8s, 4s left");
        assert_eq!(bar(20, true), "edge    4s of 8s, 4s");
    }

    #[test]
    fn redrawing_goes_up_by_what_was_drawn() {
        assert_eq!(redrawn(&["x".to_owned()], 0), "\r\x1b[J\x1b[?7lx\n\x1b[?7h");
        assert_eq!(redrawn(&[], 3), "\x1b[3A\r\x1b[J");
    }
}
