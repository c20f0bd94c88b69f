//! Faults that make a run worthless as a measurement, whatever the load, and those that the plan
//! allows.
//!
//! A thousand agents can share one fault for one reason, so equal faults are put into one sentence.

use crate::{AgentEndCause, AgentResult, Document, RunState, Unstored, human};
use plan::LostAgents;
use std::collections::BTreeMap;

/// Most agents named in a sentence.
const NAMES_MAX: usize = 5;
/// Most reasons of one kind that get a sentence each.
const REASONS_MAX: usize = 5;
/// Most stretches of missing seconds listed in a sentence.
const GAPS_MAX: usize = 5;

/// The faults of a run, in words.
#[derive(Debug, Default)]
pub(super) struct Faults {
    /// Faults because of which the numbers cannot be trusted.
    pub(super) fatal: Vec<String>,
    /// Losses that the plan allows, so that the numbers describe a part of the fleet.
    pub(super) tolerated: Vec<String>,
}

/// Lists every fault of the run, in words.
pub(super) fn all(document: &Document) -> Faults {
    let is_unfinished = document.run.state == RunState::Incomplete;
    if is_unfinished && !document.run.refusals.is_empty() {
        return Faults {
            fatal: why_nobody_began(&document.run.refusals),
            ..Faults::default()
        };
    }
    // While the run goes on, it is no fault that an agent has not ended yet.
    let ended = document
        .agents
        .iter()
        .filter(|agent| !is_unfinished || agent.ended.is_some());
    let (lost, others): (Vec<_>, Vec<_>) = ended.partition(|agent| is_lost(agent));
    let mut faults = Faults::default();
    let of_lost = sentences(&lost);
    if is_tolerated(document, &lost, &others) {
        faults.tolerated = of_lost;
        faults.tolerated.extend(what_is_judged(document));
    } else {
        faults.fatal = of_lost;
        faults.fatal.extend(too_many(document, lost.len()));
    }
    faults.fatal.extend(sentences(&others));
    if is_unfinished {
        faults.fatal.push(
            "the run was never finished: its coordinator ended, or is still at it".to_owned(),
        );
    }
    if document.measured.operations.ended == 0 {
        faults
            .fatal
            .push("no operation ended in the measured part".to_owned());
    }
    faults.fatal.extend(began_apart(document));
    faults
}

/// Describes the agents that were lost, whatever the plan allows; empty if none was.
pub(crate) fn describe_lost_agents(document: &Document) -> Vec<String> {
    let lost = document.agents.iter().filter(|agent| is_lost(agent));
    sentences(&lost.collect::<Vec<_>>())
}

/// Lists the reasons, and how many more there are.
fn why_nobody_began(refusals: &[String]) -> Vec<String> {
    let (told, more) = refusals.split_at(refusals.len().min(REASONS_MAX));
    let more = (!more.is_empty()).then(|| format!("and {} more", more.len()));
    let begin = "no agent began".to_owned();
    std::iter::once(begin)
        .chain(told.iter().cloned())
        .chain(more)
        .collect()
}

/// Returns whether the agent and the coordinator lost contact.
fn is_lost(agent: &AgentResult) -> bool {
    matches!(
        agent.ended,
        Some(AgentEndCause::Lost | AgentEndCause::LeaseExpired) | None
    )
}

/// Returns whether the plan allows the loss of these agents. What they delivered must be correct,
/// and at least one agent must have completed the run with correct totals.
fn is_tolerated(document: &Document, lost: &[&AgentResult], others: &[&AgentResult]) -> bool {
    let is_right = |agent: &&AgentResult| agent.totals_match != Some(false) || has_gaps(agent);
    let is_sound = |agent: &&AgentResult| agent.totals_match == Some(true);
    document.fleet.lost() != LostAgents::Fail
        && lost.len() <= document.fleet.tolerate as usize
        && lost.iter().all(is_right)
        && others.iter().any(is_sound)
}

/// Gives both numbers if more agents were lost than the plan allows.
fn too_many(document: &Document, lost: usize) -> Option<String> {
    let fleet = &document.fleet;
    let is_beyond = fleet.lost() != LostAgents::Fail && lost > fleet.tolerate as usize;
    is_beyond.then(|| {
        format!(
            "{lost} of {} agents were lost, and the plan allows {} (fleet.tolerate)",
            document.agents.len(),
            fleet.tolerate
        )
    })
}

/// Describes the seconds by which thresholds are judged.
fn what_is_judged(document: &Document) -> Option<String> {
    let whole_ns = document.fleet.whole_ns? as f64;
    let all_ns = document.run.duration_ns as f64;
    Some(format!(
        "{} of {} are whole seconds; thresholds on times and rates are judged by these",
        human::time(whole_ns),
        human::time(all_ns)
    ))
}

/// Describes agents that began too far apart, in the worst case that their clocks allow.
fn began_apart(document: &Document) -> Option<String> {
    let skew = document.skew?;
    let worst_ns = skew.skew_ns.saturating_add(skew.bound_ns);
    let most_ns = document.fleet.max_skew_ns();
    (worst_ns > most_ns).then(|| {
        format!(
            "agents began {} ± {} apart; more than {} is not one load (fleet.max_skew)",
            human::time(skew.skew_ns as f64),
            human::time(skew.bound_ns as f64),
            human::time(most_ns as f64)
        )
    })
}

/// A fault of an agent, in the order in which faults are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AgentFault {
    NeverBegan,
    LeaseExpired,
    Failed,
    Lost,
    WrongTotals,
    NoTotals,
    Missing,
    UnmatchedJourneys,
}

impl AgentFault {
    /// Returns the words for one agent, or for several.
    fn words(self, is_one: bool) -> &'static str {
        match (self, is_one) {
            (AgentFault::NeverBegan, _) => "never began",
            (AgentFault::LeaseExpired, true) => "lost its coordinator and stopped firing",
            (AgentFault::LeaseExpired, false) => "lost their coordinator and stopped firing",
            (AgentFault::Failed, _) => "failed",
            (AgentFault::Lost, true) => "was lost",
            (AgentFault::Lost, false) => "were lost",
            (AgentFault::WrongTotals, true) => {
                "delivered intervals that are not the totals it reported"
            }
            (AgentFault::WrongTotals, false) => {
                "delivered intervals that are not the totals they reported"
            }
            (AgentFault::NoTotals, _) => {
                "reported no totals, so that nothing shows whether all intervals came"
            }
            (AgentFault::Missing, true) => "has gaps in its figures",
            (AgentFault::Missing, false) => "have gaps in their figures",
            (AgentFault::UnmatchedJourneys, _) => "ended more or fewer journeys than began",
        }
    }
}

/// A reason, and the agents to which it applies.
type Reason<'a> = (String, Vec<&'a AgentResult>);

/// Returns the sentences for the faults of these agents: one for each kind and reason, and not too
/// many.
fn sentences(agents: &[&AgentResult]) -> Vec<String> {
    let mut groups: BTreeMap<(AgentFault, String), Vec<&AgentResult>> = BTreeMap::new();
    for &agent in agents {
        for fault in faults(agent) {
            groups.entry(fault).or_default().push(agent);
        }
    }
    let mut kinds: BTreeMap<AgentFault, Vec<Reason<'_>>> = BTreeMap::new();
    for ((kind, why), agents) in groups {
        kinds.entry(kind).or_default().push((why, agents));
    }
    let sentences = kinds.into_iter().flat_map(|(kind, reasons)| {
        let reasons = limit_reasons(reasons).into_iter();
        reasons.map(move |(why, agents)| sentence(kind, &why, &agents))
    });
    sentences.collect()
}

/// Keeps the reasons shared by most agents, and combines the rest into one.
fn limit_reasons(mut reasons: Vec<Reason<'_>>) -> Vec<Reason<'_>> {
    if reasons.len() <= REASONS_MAX {
        return reasons;
    }
    reasons.sort_by_key(|(_, agents)| std::cmp::Reverse(agents.len()));
    let others = reasons.split_off(REASONS_MAX - 1);
    let number = others.len();
    let agents = others.into_iter().flat_map(|(_, agents)| agents).collect();
    reasons.push((format!("{number} other reasons"), agents));
    reasons
}

fn sentence(kind: AgentFault, why: &str, agents: &[&AgentResult]) -> String {
    let who = name_agents(agents);
    let words = kind.words(agents.len() == 1);
    let speaks_of_one = ["it ", "its "].iter().any(|word| why.starts_with(word));
    let why = match why {
        "" => String::new(),
        why if speaks_of_one && agents.len() > 1 => format!(", each because {why}"),
        why => format!(": {why}"),
    };
    let unstored = if kind == AgentFault::Lost {
        describe_unstored(agents)
    } else {
        String::new()
    };
    format!("{who} {words}{why}{unstored}")
}

/// Formats agents as `agent a`, or `3 agents (a, b, c)`.
fn name_agents(agents: &[&AgentResult]) -> String {
    if let [agent] = agents {
        return format!("agent {}", agent.name);
    }
    let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
    format!(
        "{} agents ({})",
        agents.len(),
        list_first(&names, NAMES_MAX)
    )
}

/// Lists the first of these, and how many more there are.
fn list_first(words: &[impl AsRef<str>], most: usize) -> String {
    let shown: Vec<&str> = words.iter().take(most).map(AsRef::as_ref).collect();
    let more = words.len().saturating_sub(most);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("{}{more}", shown.join(", "))
}

/// Describes what lost agents may have done that was never stored.
fn describe_unstored(agents: &[&AgentResult]) -> String {
    let known: Vec<Unstored> = agents.iter().filter_map(|agent| agent.unstored).collect();
    let from = known.iter().map(|span| span.from_ns).min();
    let to = known.iter().map(|span| span.to_ns).max();
    let Some((from, to)) = from.zip(to) else {
        let is_one = agents.len() == 1;
        let (what, last) = if is_one {
            ("it", "its")
        } else {
            ("they", "their")
        };
        return format!("; what {what} did after {last} last interval is unknown");
    };
    let who = if agents.len() == 1 { "it" } else { "they" };
    let arrivals = known
        .iter()
        .try_fold(0, |sum: u64, span| Some(sum.saturating_add(span.arrivals?)));
    let what = arrivals.map_or_else(
        || "operations".to_owned(),
        |arrivals| format!("up to {}", human::counted(arrivals, "arrival")),
    );
    let seconds = |ns: u64| ns as f64 / 1e9;
    format!(
        "; between second {:.1} and {:.1} {who} may have sent {what} that are not counted",
        seconds(from),
        seconds(to)
    )
}

fn faults(agent: &AgentResult) -> Vec<(AgentFault, String)> {
    let never_began = agent.began_at_ns.is_none();
    let began = never_began.then(|| (AgentFault::NeverBegan, String::new()));
    let unmatched = find_unmatched_journeys(agent);
    [began, bad_end(agent), wrong_totals(agent), unmatched]
        .into_iter()
        .flatten()
        .collect()
}

fn bad_end(agent: &AgentResult) -> Option<(AgentFault, String)> {
    let kind = match agent.ended {
        Some(AgentEndCause::Plan | AgentEndCause::Stopped) => return None,
        Some(AgentEndCause::LeaseExpired) => {
            return Some((AgentFault::LeaseExpired, String::new()));
        }
        Some(AgentEndCause::Failed) => AgentFault::Failed,
        Some(AgentEndCause::Lost) | None => AgentFault::Lost,
    };
    Some((kind, agent.ended_text.clone()))
}

fn wrong_totals(agent: &AgentResult) -> Option<(AgentFault, String)> {
    match agent.totals_match {
        Some(true) => None,
        Some(false) => Some((AgentFault::WrongTotals, gaps(agent))),
        // For a lost agent, missing totals are part of the loss.
        None if is_lost(agent) => has_gaps(agent).then(|| (AgentFault::Missing, gaps(agent))),
        None => Some((AgentFault::NoTotals, gaps(agent))),
    }
}

/// An agent that was not lost ends each journey that it begins, and its totals say so. If there are
/// no gaps, only an error of the program explains a difference.
fn find_unmatched_journeys(agent: &AgentResult) -> Option<(AgentFault, String)> {
    let number = agent.unmatched_journeys;
    let is_certain = !is_lost(agent) && agent.totals_match == Some(true);
    (is_certain && number > 0).then(|| {
        let counted = human::counted(number, "journey");
        (
            AgentFault::UnmatchedJourneys,
            format!("a difference of {counted}"),
        )
    })
}

fn has_gaps(agent: &AgentResult) -> bool {
    !agent.missing_intervals.is_empty()
}

fn gaps(agent: &AgentResult) -> String {
    let spans = agent.missing_intervals.iter().map(|&(first, last)| {
        if first == last {
            format!("{first}")
        } else {
            format!("{first} to {last}")
        }
    });
    let spans: Vec<String> = spans.collect();
    let is_one = matches!(agent.missing_intervals[..], [(first, last)] if first == last);
    match spans.len() {
        0 => String::new(),
        _ if is_one => format!("second {} is missing", spans[0]),
        _ => format!("seconds {} are missing", list_first(&spans, GAPS_MAX)),
    }
}
