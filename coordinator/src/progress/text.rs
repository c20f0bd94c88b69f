//! A view of a run in words: parts of a panel, or one line for a pipe. Pure.

use super::run_view::RunView;
use analysis::Live;
use analysis::human::{self, number, share, time};
use control::{AgentStage, FleetTime, RunAgent, RunStage};
use plan::End;
use std::fmt::Write as _;
use std::time::Duration;

/// Most columns of the bar.
const BAR_MAX: usize = 40;

/// Most names of agents that are shown.
pub(super) const NAMES_MAX: usize = 8;

/// Most names of agents that the end waits for.
const AWAITED_MAX: usize = 3;

/// Figures that are older show their age: agents deliver a second soon after its end.
const OLD: Duration = Duration::from_secs(5);

/// How often a pipe gets a line while agents are waited for.
const WAITING_EVERY: Duration = Duration::from_secs(10);

/// How often a line is written if nothing can be redrawn.
const LINE_EVERY: Duration = Duration::from_secs(2);

/// The line for a pipe, if there is something to say at this stage.
pub(super) fn plain(view: &RunView, now: FleetTime) -> Option<String> {
    let start = match view.run.stage() {
        RunStage::Gathering => return Some(gathering(view)),
        RunStage::Preparing | RunStage::Over { .. } => return None,
        RunStage::Armed { start_at } => start_at,
    };
    let live = view.live.as_ref()?;
    let mut line = format!(
        "{}  {}  {}",
        clock(view, start, now).1,
        figures(view, live, now),
        agents(view, now)
    );
    if let Some(trouble) = storage(view) {
        let _ = write!(line, "  {trouble}");
    }
    Some(line)
}

/// The pause between two lines for a pipe. The first line of a stage comes after this pause too:
/// agents that join are reported at once.
pub(super) fn pause(stage: RunStage) -> Duration {
    match stage {
        RunStage::Gathering => WAITING_EVERY,
        RunStage::Preparing | RunStage::Armed { .. } | RunStage::Over { .. } => LINE_EVERY,
    }
}

pub(super) fn storage(view: &RunView) -> Option<String> {
    let trouble = view.storage.as_ref()?;
    Some(format!("cannot store: {trouble}"))
}

/// Describes which agents are waited for.
pub(super) fn gathering(view: &RunView) -> String {
    let agents = view.run.agents();
    let names: Vec<&str> = agents.iter().map(RunAgent::name).collect();
    let (here, wanted) = (agents.len(), view.agents_wanted as usize);
    let joined = if names.is_empty() {
        "none has joined".to_owned()
    } else {
        format!("{here} of {wanted} joined: {}", listed(&names, here))
    };
    let more = if names.is_empty() { "" } else { "more " };
    let missing = wanted.saturating_sub(here);
    // Only for a moment, until they are notified of the run.
    if missing == 0 {
        return joined;
    }
    let agents = human::one_or_many(missing as u64, "agent", "agents");
    format!(
        "waiting for {missing} {more}{agents} ({joined}); each `agent join` adds one, Ctrl-C ends \
         it"
    )
}

/// The share of the run that is over, and its clock in words.
pub(super) fn clock(view: &RunView, start: FleetTime, now: FleetTime) -> (f64, String) {
    if view.is_stopping {
        return (1.0, format!("stopping{}", awaited(view)));
    }
    let until = start.since(now);
    if !until.is_zero() {
        return (0.0, format!("starts in {:.1}s", until.as_secs_f64()));
    }
    let elapsed = now.since(start);
    let warm_up = view.warm_up;
    if elapsed < warm_up {
        let part = elapsed.as_secs_f64() / warm_up.as_secs_f64();
        return (
            part,
            format!("warming up {} of {}", seconds(elapsed), seconds(warm_up)),
        );
    }
    measured(view, elapsed.saturating_sub(warm_up))
}

fn measured(view: &RunView, elapsed: Duration) -> (f64, String) {
    match view.end {
        End::Duration(duration) if elapsed >= duration => {
            (1.0, format!("draining{}", awaited(view)))
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
            let ended = view.live.as_ref().map_or(0, |live| live.total_units);
            let done = format!("{} of {}", count(ended), count(requests));
            (
                ended as f64 / requests as f64,
                format!("{done} done in {}", seconds(elapsed)),
            )
        }
    }
}

/// Describes whose end is waited for, to follow a word that says why. Once all others have ended,
/// lost agents have a moment to come back with what they hold, and monitors have one for their
/// profiles.
fn awaited(view: &RunView) -> String {
    let named = |is_meant: fn(&RunAgent) -> bool| {
        let agents = view.run.agents().iter();
        let names: Vec<&str> = agents
            .filter(|agent| is_meant(agent))
            .map(RunAgent::name)
            .collect();
        let shown = &names[..names.len().min(AWAITED_MAX)];
        (!names.is_empty()).then(|| listed(shown, names.len()))
    };
    if let Some(names) = named(RunAgent::is_awaited) {
        return format!(": waiting for {names}");
    }
    if let Some(names) = named(|agent| agent.stage() == AgentStage::Lost) {
        return format!(": waiting for {names} to come back");
    }
    if view.run.monitors().len() == 0 {
        String::new()
    } else {
        ": waiting for profiles of monitors".to_owned()
    }
}

fn figures(view: &RunView, live: &Live, now: FleetTime) -> String {
    format!(
        "{}/s{}  response p50 {}, p99 {}  {}{}",
        count(live.ended_per_second),
        age(view, live, now),
        p50(live),
        p99(live),
        messages(live),
        errors(live)
    )
}

/// Messages over WebSockets, before what follows; empty if none was answered.
fn messages(live: &Live) -> String {
    let mean = live.message_time_mean_ns.map(|ns| time(ns as f64));
    mean.map_or_else(String::new, |mean| {
        let rate = count(live.messages_per_second);
        format!("messages {rate}/s, mean {mean}  ")
    })
}

/// How old the figures are, if agents fire and yet nothing newer comes.
pub(super) fn age(view: &RunView, live: &Live, now: FleetTime) -> String {
    let agents = view.run.agents().iter();
    let fires =
        |agent: &RunAgent| agent.stage() == AgentStage::Firing || agent.away_since().is_some();
    let RunStage::Armed { start_at } = view.run.stage() else {
        return String::new();
    };
    let its_end = Duration::from_secs(u64::from(live.second) + 1);
    let age = now.since(start_at).saturating_sub(its_end);
    if age < OLD || is_over(view, now) || !agents.into_iter().any(fires) {
        return String::new();
    }
    format!(" {} ago", seconds(age))
}

/// The median response time.
pub(super) fn p50(live: &Live) -> String {
    percentile(live.p50_ns, live.p50_at_least)
}

/// The 99th percentile.
pub(super) fn p99(live: &Live) -> String {
    percentile(live.p99_ns, live.p99_at_least)
}

/// A value beyond what is recorded is a lower bound.
fn percentile(ns: Option<u64>, at_least: bool) -> String {
    ns.map_or_else(
        || "-".to_owned(),
        |ns| human::time_or_more(ns as f64, at_least),
    )
}

/// Errors in all that was measured, and their share.
pub(super) fn errors(live: &Live) -> String {
    let share_of_errors = if live.total_errors == 0 {
        String::new()
    } else {
        format!(
            " ({})",
            share(live.total_errors as f64 / live.total_ended.max(1) as f64)
        )
    };
    format!("errors {}{share_of_errors}", count(live.total_errors))
}

/// A count, exact while it is short.
pub(super) fn count(count: u64) -> String {
    if count < 10_000 {
        count.to_string()
    } else {
        number(count as f64)
    }
}

/// The words for agents, in the order in which they are listed.
const WORDS: [&str; 8] = [
    "preparing",
    "ready",
    "firing",
    "finishing",
    "uploading",
    "done",
    AWAY,
    LOST,
];
const AWAY: &str = "away";
const LOST: &str = "lost";

/// The agents by what they do, in words; only agents in trouble are named.
pub(super) fn agents(view: &RunView, now: FleetTime) -> String {
    let is_over = is_over(view, now);
    let group = |meant_word: &str| {
        let agents = view.run.agents().iter();
        let is_meant = |agent: &&RunAgent| word(agent, is_over) == meant_word;
        let meant: Vec<&RunAgent> = agents.filter(is_meant).collect();
        let named = match meant_word {
            AWAY => format!(" ({})", away(&meant, now)),
            LOST => format!(" ({})", names(&meant)),
            _ => String::new(),
        };
        (!meant.is_empty()).then(|| format!("{} {meant_word}{named}", meant.len()))
    };
    let groups: Vec<String> = WORDS.into_iter().filter_map(group).collect();
    format!("agents: {}", groups.join(", "))
}

/// The word for an agent. After the plan's end it fires nothing new: it waits for answers, and
/// sends its data.
pub(super) fn word(agent: &RunAgent, is_over: bool) -> &'static str {
    if agent.away_since().is_some() {
        return AWAY;
    }
    match agent.stage() {
        // The end of the run says why it cannot.
        AgentStage::Preparing | AgentStage::Refused => "preparing",
        AgentStage::Ready => "ready",
        AgentStage::Firing if is_over => "finishing",
        AgentStage::Firing => "firing",
        AgentStage::Uploading | AgentStage::Returned => "uploading",
        AgentStage::Ended => "done",
        AgentStage::Lost => LOST,
    }
}

/// Whether an agent is in trouble.
pub(super) fn is_amiss(agent: &RunAgent) -> bool {
    agent.away_since().is_some() || agent.stage() == AgentStage::Lost
}

/// Whether no agent fires anything new, because of the plan or because the end was asked for.
pub(super) fn is_over(view: &RunView, now: FleetTime) -> bool {
    let RunStage::Armed { start_at } = view.run.stage() else {
        return false;
    };
    let End::Duration(duration) = view.end else {
        return view.is_stopping;
    };
    let firing = view.warm_up.saturating_add(duration);
    view.is_stopping || now.since(start_at) >= firing
}

/// The agents that are away, and for how long.
fn away(agents: &[&RunAgent], now: FleetTime) -> String {
    let told: Vec<String> = agents
        .iter()
        .take(NAMES_MAX)
        .filter_map(|agent| {
            let away = now.since(agent.away_since()?);
            Some(format!("{} for {}", agent.name(), seconds(away)))
        })
        .collect();
    listed(&told, agents.len())
}

fn names(agents: &[&RunAgent]) -> String {
    let names: Vec<&str> = agents.iter().map(|agent| agent.name()).collect();
    listed(&names, names.len())
}

/// The first names, and how many more there are.
pub(super) fn listed<T: AsRef<str>>(names: &[T], all: usize) -> String {
    let shown: Vec<&str> = names.iter().take(NAMES_MAX).map(AsRef::as_ref).collect();
    let more = all.saturating_sub(shown.len());
    let shown = shown.join(", ");
    if more == 0 {
        shown
    } else {
        format!("{shown} and {more} more")
    }
}

/// `[####----]`; empty if there is no room for it.
pub(super) fn bar(part: f64, columns: usize, unicode: bool) -> String {
    // Two columns are the brackets; fewer than four between them show no progress.
    let Some(inner) = columns
        .min(BAR_MAX)
        .checked_sub(2)
        .filter(|&inner| inner >= 4)
    else {
        return String::new();
    };
    let full = (part.clamp(0.0, 1.0) * inner as f64).round() as usize;
    let (done, open) = if unicode { ("█", "·") } else { ("#", "-") };
    format!("[{}{}]", done.repeat(full), open.repeat(inner - full))
}

/// Rounds to the nearest second.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::RunNews;
    use crate::progress::scene::{NOW, facts, firing, take, view};
    use crate::sample_run::{end_of, loss_of};
    use control::RunEvent;

    #[test]
    fn waiting_tells_who_is_here() {
        let now = NOW;
        let mut view = view("connections = 1, duration = \"1s\"");
        assert_eq!(
            gathering(&view),
            "waiting for 2 agents (none has joined); each `agent join` adds one, Ctrl-C ends it"
        );
        let agent = facts("a\x1b[2J");
        let joined = RunEvent::Joined {
            agent: agent.clone(),
        };
        let news = take(&mut view, &joined, now);
        assert_eq!(news.unwrap(), "agent a\x1b[2J joined (1 of 2)");
        assert_eq!(
            gathering(&view),
            "waiting for 1 more agent (1 of 2 joined: a\x1b[2J); each `agent join` adds one, \
             Ctrl-C ends it"
        );
        assert!(
            plain(&view, now)
                .unwrap()
                .starts_with("waiting for 1 more agent (1 of 2")
        );
        assert_eq!(pause(view.run.stage()), Duration::from_secs(10));
        take(&mut view, &RunEvent::Left { agent }, now);
        assert_eq!(
            gathering(&view),
            "waiting for 2 agents (none has joined); each `agent join` adds one, Ctrl-C ends it"
        );
        for name in ["a", "b"] {
            let agent = facts(name);
            take(&mut view, &RunEvent::Joined { agent }, now);
        }
        assert_eq!(gathering(&view), "2 of 2 joined: a, b");
    }

    #[test]
    fn monitors_are_told_and_not_counted_among_agents() {
        let now = NOW;
        let mut view = firing("connections = 1, duration = \"60s\"", now);
        let before = agents(&view, now);
        let told = ["db", "proxy"].map(|name| {
            let monitor = facts(name);
            take(&mut view, &RunEvent::Watching { monitor }, now).unwrap()
        });
        assert_eq!(
            told,
            [
                "monitor db watches (1 monitor)",
                "monitor proxy watches (2 monitors)"
            ]
        );
        assert_eq!(agents(&view, now), before);
        let again = RunEvent::Watching {
            monitor: facts("db"),
        };
        let of_next_run = RunNews::new(2, view.run.names());
        assert_eq!(of_next_run.line(&again, &view.run), None);
    }

    #[test]
    fn clock_follows_the_plan() {
        let now = NOW;
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
                "draining: waiting for a, b",
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
            let shown = plain(
                &firing(load, now),
                now.after(Duration::from_millis(passed_ms)),
            )
            .unwrap();
            let rest =
                "  1234/s  response p50 1.20 ms, p99 ≥ 30.0 s  errors 5 (1.00 %)  agents: 2 ";
            let word = if clock.starts_with("draining") {
                "finishing"
            } else {
                "firing"
            };
            assert_eq!(shown, format!("{clock}{rest}{word}"));
        }
    }

    #[test]
    fn figures_that_nothing_newer_follows_say_how_old_they_are() {
        let start = NOW;
        let mut view = firing("connections = 1, duration = \"60s\"", start);
        let mut shown = |second, passed| {
            view.live.as_mut().unwrap().second = second;
            plain(&view, start.after(Duration::from_secs(passed))).unwrap()
        };
        for (passed, is_old) in [(13, false), (17, true), (61, false)] {
            let line = shown(9, passed);
            assert_eq!(line.contains("1234/s 7s ago"), is_old, "{line}");
        }
    }

    #[test]
    fn agents_that_the_end_waits_for_are_named() {
        let now = NOW;
        let mut view = firing("connections = 1, duration = \"9s\"", now);
        let drained = now.after(Duration::from_secs(10));
        let clock = |view: &RunView| clock(view, now, drained).1;
        assert_eq!(clock(&view), "draining: waiting for a, b");
        take(&mut view, &end_of(0), now);
        assert_eq!(clock(&view), "draining: waiting for b");
        view.is_stopping = true;
        assert_eq!(clock(&view), "stopping: waiting for b");
        take(&mut view, &end_of(1), now);
        assert_eq!(clock(&view), "stopping");
        let monitor = facts("db");
        take(&mut view, &RunEvent::Watching { monitor }, now);
        let profiles = "stopping: waiting for profiles of monitors";
        assert_eq!(clock(&view), profiles);
        take(&mut view, &loss_of(1, None), now);
        assert_eq!(clock(&view), "stopping: waiting for b to come back");
        let agents = ["a", "b", "c", "d", "e"].map(facts).to_vec();
        take(&mut view, &RunEvent::Assembled { agents }, now);
        assert_eq!(clock(&view), "stopping: waiting for a, b, c and 2 more");
    }

    #[test]
    fn agents_that_are_not_as_they_should_be_are_named() {
        let now = NOW;
        let mut view = firing("connections = 1, duration = \"9s\"", now);
        let news = take(
            &mut view,
            &RunEvent::Gone {
                agent: 1,
                why: "reset".into(),
            },
            now,
        );
        assert_eq!(
            news.as_deref(),
            Some("agent b is away: reset; the run waits for it to come back")
        );
        for (passed, shown) in [
            (7, "agents: 1 firing, 1 away (b for 7s)"),
            (9, "agents: 1 finishing, 1 away (b for 9s)"),
        ] {
            let later = now.after(Duration::from_secs(passed));
            assert_eq!(agents(&view, later), shown);
        }
        take(
            &mut view,
            &RunEvent::Lost {
                agent: 1,
                next_interval: 3,
                fired_until: None,
                why: "it did not come back".into(),
            },
            now,
        );
        assert_eq!(take(&mut view, &end_of(0), now), None);
        assert_eq!(agents(&view, now), "agents: 1 done, 1 lost (b)");
    }

    #[test]
    fn storage_that_fails_is_shown_with_the_figures() {
        let now = NOW;
        let mut view = firing("connections = 1, duration = \"9s\"", now);
        view.storage = Some("no space left on device; 3 s are waiting".to_owned());
        let expected = "cannot store: no space left on device; 3 s are waiting";
        assert_eq!(storage(&view).unwrap(), expected);
        assert!(plain(&view, now).unwrap().ends_with(expected));
    }
}
