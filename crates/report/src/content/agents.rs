//! The agents: how much each fired, how late, and how busy it was.

use super::{ContentBlock, Remark, Section, Table, Topic};
use crate::style::Paint;
use analysis::human::{counted, number, one_or_many, percentile, share, time};
use analysis::{AgentEndCause, AgentResult, Contribution, CpuFigures, Document, FigureGroup};

const HEADINGS: [&str; 8] = [
    "", "ended", "ok/s", "p99", "late p99", "worker", "machine", "run",
];

/// Sentences about single agents; a few examples are enough even with a thousand agents.
const TROUBLES_MAX: usize = 10;
/// Stretches of time listed in one sentence.
const STRETCHES_MAX: usize = 5;

pub(super) fn section(document: &Document) -> Section {
    let agents = document.agents_by_name().into_iter();
    let rows = agents.map(|(agent, group)| row(agent, group)).collect();
    let contributors = contributors(document);
    let doubtful = |text| Remark::new(Paint::Doubtful, text);
    let remarks = document
        .skew
        .map(|skew| {
            let (apart, bound) = (time(skew.skew_ns as f64), time(skew.bound_ns as f64));
            Remark::new(Paint::Plain, format!("they began {apart} ± {bound} apart"))
        })
        .into_iter()
        .chain((!contributors.is_empty()).then(|| doubtful(contributors)))
        .chain(troubles(document));
    let blocks = [
        ContentBlock::Table(Table::new(&HEADINGS, rows)),
        ContentBlock::Remarks(remarks.collect()),
    ];
    Section::new(Topic::Agents, "Agents", blocks)
}

/// When only some of the agents contributed; empty if all of them always did.
fn contributors(document: &Document) -> String {
    let all = document.agents.len();
    let parts = document.fleet.contributions.iter();
    let fewer: Vec<String> = parts
        .filter(|part| !part.whole || part.agents as usize != all)
        .map(|part| stretch(part, all))
        .collect();
    let more = fewer.len().saturating_sub(STRETCHES_MAX);
    let more = if more > 0 {
        let stretches = one_or_many(more as u64, "stretch", "stretches");
        format!("; and {more} more {stretches}")
    } else {
        String::new()
    };
    let shown = fewer.iter().take(STRETCHES_MAX);
    let shown: Vec<&str> = shown.map(String::as_str).collect();
    format!("{}{more}", shown.join("; "))
}

fn stretch(part: &Contribution, all: usize) -> String {
    let Contribution {
        from_second,
        to_second,
        agents,
        whole,
    } = *part;
    let when = if from_second == to_second {
        format!("second {from_second}")
    } else {
        format!("seconds {from_second} to {to_second}")
    };
    let not_whole = if whole { "" } else { " (not whole)" };
    let agents = format!("{agents} of {}", counted(all as u64, "agent"));
    format!("{when}: {agents}{not_whole}")
}

fn row(agent: &AgentResult, group: &FigureGroup) -> Vec<String> {
    let figures = &group.figures;
    let p99 = figures.percentile("response_time", 99.0);
    // The agent's own delay. Results of earlier versions have only the total.
    let late = agent
        .schedule_delay
        .as_ref()
        .or(agent.lateness.as_ref())
        .and_then(|figure| figure.percentile(99.0));
    let busy = |cpu: Option<&CpuFigures>, of: fn(&CpuFigures) -> f64| {
        cpu.map(|cpu| share(of(cpu))).unwrap_or_default()
    };
    let sampled = agent.cpu.as_ref().filter(|cpu| cpu.knows_machine());
    vec![
        agent.name.clone(),
        figures.operations.ended.to_string(),
        number(figures.rates.ok_per_second),
        p99.map(percentile).unwrap_or_default(),
        late.map(percentile).unwrap_or_default(),
        busy(agent.cpu.as_ref(), |cpu| cpu.busiest_worker_share_mean),
        busy(sampled, |cpu| cpu.machine_busy_share_mean),
        end_state(agent).to_owned(),
    ]
}

fn end_state(agent: &AgentResult) -> &'static str {
    match (agent.began_at_ns, agent.ended) {
        (None, _) => "never began",
        (_, None) => "unknown",
        (_, Some(AgentEndCause::Plan)) => "whole",
        (_, Some(AgentEndCause::Stopped)) => "stopped",
        (_, Some(AgentEndCause::LeaseExpired)) => "cut off",
        (_, Some(AgentEndCause::Failed)) => "failed",
        (_, Some(AgentEndCause::Lost)) => "lost",
    }
}

/// What went wrong with single agents, and how many sentences about it were left out.
fn troubles(document: &Document) -> Vec<Remark> {
    let mut troubles: Vec<String> = document.agents.iter().flat_map(agent_troubles).collect();
    let more = troubles.len().saturating_sub(TROUBLES_MAX);
    if more > 0 {
        troubles.truncate(TROUBLES_MAX);
        let lines = counted(more as u64, "more line");
        let are = one_or_many(more as u64, "is", "are");
        troubles.push(format!(
            "{lines} like these {are} left out; result.json has them"
        ));
    }
    let troubles = troubles.into_iter();
    troubles.map(|text| Remark::new(Paint::Bad, text)).collect()
}

fn agent_troubles(agent: &AgentResult) -> Vec<String> {
    let missing: u64 = agent
        .missing_intervals
        .iter()
        .map(|&(first, last)| u64::from(last.saturating_sub(first)) + 1)
        .sum();
    let name = &agent.name;
    let seconds = counted(missing, "second");
    let gaps = (missing > 0).then(|| format!("{name}: {seconds} of its figures never came"));
    let sum = (agent.totals_match == Some(false))
        .then(|| format!("{name}: its intervals do not add up to its totals"));
    let text = &agent.ended_text;
    let why = (!text.is_empty()).then(|| format!("{name}: {text}"));
    [gaps, sum, why].into_iter().flatten().collect()
}
