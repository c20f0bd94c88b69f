//! Who fired: how much, how well in time, how busy.

use crate::page::Page;
use crate::style::Paint;
use crate::table::TextTable;
use analysis::human::{number, percentile, share, time};
use analysis::{AgentEndCause, AgentResult, Document, FigureGroup};

pub(crate) fn write(page: &mut Page, document: &Document) {
    if document.agents.is_empty() {
        return;
    }
    page.title("Agents");
    let mut table = TextTable::new(&[
        "", "ended", "ok/s", "p99", "late p99", "worker", "machine", "run",
    ]);
    document
        .agents_by_name()
        .into_iter()
        .for_each(|(agent, group)| table.row(row(agent, group)));
    page.table(&table);
    if let Some(skew) = document.skew {
        let (apart, bound) = (time(skew.skew_ns as f64), time(skew.bound_ns as f64));
        page.paragraph(
            Paint::Plain,
            "  ",
            &format!("they began {apart} ± {bound} apart"),
        );
    }
    document
        .agents
        .iter()
        .for_each(|agent| trouble(page, agent));
}

fn row(agent: &AgentResult, group: &FigureGroup) -> Vec<String> {
    let figures = &group.figures;
    let p99 = figures.percentile("response_time", 99.0);
    // The agent's own part; results of versions that did not keep it apart have the whole.
    let late = agent
        .schedule_delay
        .as_ref()
        .or(agent.lateness.as_ref())
        .and_then(|figure| figure.percentile(99.0));
    let busy = |of: fn(&analysis::CpuFigures) -> f64| {
        agent
            .cpu
            .as_ref()
            .map(|cpu| share(of(cpu)))
            .unwrap_or_default()
    };
    vec![
        agent.name.clone(),
        figures.operations.ended.to_string(),
        number(figures.rates.ok_per_second),
        p99.map(percentile).unwrap_or_default(),
        late.map(percentile).unwrap_or_default(),
        busy(|cpu| cpu.busiest_worker_share_mean),
        busy(|cpu| cpu.machine_busy_share_mean),
        ended(agent).to_owned(),
    ]
}

fn ended(agent: &AgentResult) -> &'static str {
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

fn trouble(page: &mut Page, agent: &AgentResult) {
    let missing: u64 = agent
        .missing_intervals
        .iter()
        .map(|&(first, last)| u64::from(last.saturating_sub(first)) + 1)
        .sum();
    if missing > 0 {
        page.paragraph(
            Paint::Bad,
            "  ",
            &format!(
                "{}: {missing} seconds of its figures never came",
                agent.name
            ),
        );
    }
    if agent.totals_match == Some(false) {
        page.paragraph(
            Paint::Bad,
            "  ",
            &format!("{}: its intervals do not add up to its totals", agent.name),
        );
    }
    if !agent.ended_text.is_empty() {
        page.paragraph(
            Paint::Bad,
            "  ",
            &format!("{}: {}", agent.name, agent.ended_text),
        );
    }
}
