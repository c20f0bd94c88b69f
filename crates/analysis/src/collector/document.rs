//! The document of what has been gathered so far.

use super::ResultCollector;
use crate::agent_run::AgentRun;
use crate::backlog::Backlog;
use crate::cell_tally::CellTally;
use crate::span::Span;
use crate::{
    AgentEndCause, AgentResult, ClientFigures, Document, FigureGroup, Figures, HistogramColumns,
    RunRecord, RunState, ServerFigures, SessionOffers, StartSkew,
};
use measure::{CellKey, Counters, Period, nanoseconds};
use plan::End;
use std::collections::BTreeMap;

impl ResultCollector {
    /// The document of what is known now; `state` says whether that is all there will be.
    #[must_use]
    pub fn document(&self, state: RunState) -> Document {
        let whole = self.whole(Period::Measured);
        let span = self.span(&whole);
        let client = self.client();
        let mut document = Document {
            schema: Document::SCHEMA,
            tool_version: self.setup.tool_version.clone(),
            run: self.run_record(state, span.length_ns),
            plan: self.record.clone(),
            agents: self.agent_results(),
            skew: self.skew(),
            warm_up: self.warm_up(),
            measured: Figures::new(&whole, span, HistogramColumns::Drawn),
            backlog: self.backlog(&whole),
            client: ClientFigures::new(&client),
            by_request: self.by_request(span),
            by_address: self.by(span, |key| Some(key.address_name())),
            session_offers: Vec::new(),
            by_agent: self.by_agent(span),
            by_label: self.by_label(span),
            server: None,
            series: self.series.series(self.run.warm_up_ns),
            thresholds: crate::judge(&self.run.thresholds, &whole, &client, span),
            verdict: crate::VerdictRecord::default(),
            notes: self.notes.clone(),
        };
        // Each of these reads what stands in the document before it; the verdict reads everything.
        document.server = self.server(&document);
        document.date_staples();
        document.session_offers = self.session_offers(&document);
        document.notes.extend(crate::notes::sentences(&document));
        document.verdict = crate::VerdictRecord::new(&document);
        document
    }

    fn agent_results(&self) -> Vec<AgentResult> {
        let agents = self.agents.iter().zip(&self.setup.agents);
        let indexed = (0..).zip(agents);
        indexed
            .map(|(index, (agent_run, setup))| agent_run.result(index, setup))
            .collect()
    }

    fn warm_up(&self) -> Option<Figures> {
        let length_ns = self.run.warm_up_ns;
        (length_ns > 0).then(|| {
            let tally = self.whole(Period::WarmUp);
            Figures::new(&tally, Span::warm_up(length_ns), HistogramColumns::Omitted)
        })
    }

    /// Of a load that was cut short nothing shows whether the rest would have piled up.
    fn backlog(&self, whole: &CellTally) -> Option<Backlog> {
        let is_known = self.run.is_open && self.is_whole();
        is_known.then(|| Backlog::new(whole, self.run.ramp))
    }

    fn server(&self, document: &Document) -> Option<ServerFigures> {
        let cpu_ns = self.server_cpu_ns?;
        let warm_up = document.warm_up.as_ref();
        Some(ServerFigures::new(cpu_ns, warm_up, &document.measured))
    }

    fn run_record(&self, state: RunState, duration_ns: u64) -> RunRecord {
        let (planned_duration_ns, planned_operations) = match self.run.end {
            End::Duration(duration) => (Some(nanoseconds(duration)), None),
            End::Requests(requests) => (None, Some(requests)),
        };
        RunRecord {
            id: self.setup.run_id.clone(),
            name: self.run.name.clone(),
            started_at: self.setup.started_at.clone(),
            state,
            warm_up_ns: self.run.warm_up_ns,
            planned_duration_ns,
            planned_operations,
            duration_ns,
        }
    }

    /// Whether every agent went through the whole plan.
    fn is_whole(&self) -> bool {
        self.agents
            .iter()
            .all(|agent_run| agent_run.end_cause() == Some(AgentEndCause::Plan))
    }

    /// The measured part: up to the plan's end; or until nothing began any more, where that came
    /// sooner (a run that was stopped) or where a number of operations ends it.
    fn span(&self, whole: &CellTally) -> Span {
        let after_warm_up = |instant: u64| instant.saturating_sub(self.run.warm_up_ns);
        let so_far = after_warm_up(
            self.agents
                .iter()
                .map(AgentRun::fired_until_ns)
                .max()
                .unwrap_or(0),
        );
        match self.run.span_ns {
            Some(span_ns) if self.is_whole() => Span::measured(span_ns),
            Some(span_ns) => Span::measured(so_far.min(span_ns)),
            None if self.is_whole() => {
                let last = self
                    .agents
                    .iter()
                    .filter_map(AgentRun::last_done_at_ns)
                    .max()
                    .unwrap_or(0);
                Span::of_count(so_far, after_warm_up(last), whole)
            }
            None => Span::measured(so_far),
        }
    }

    fn skew(&self) -> Option<StartSkew> {
        let began: Vec<(i64, u64)> = self
            .agents
            .iter()
            .filter_map(|agent_run| agent_run.began)
            .collect();
        let first = began.iter().map(|&(at, _)| at).min()?;
        let last = began.iter().map(|&(at, _)| at).max()?;
        // A difference of two clocks is off by at most both of their bounds; the worst two.
        let mut bounds: Vec<u64> = began.iter().map(|&(_, bound)| bound).collect();
        bounds.sort_unstable_by(|a, b| b.cmp(a));
        let bound_ns = bounds
            .iter()
            .take(2)
            .fold(0, |sum: u64, &bound| sum.saturating_add(bound));
        (began.len() > 1).then(|| StartSkew {
            skew_ns: last.abs_diff(first),
            bound_ns,
        })
    }

    /// A group for each name that `name` gives a cell, without those in which nothing happened.
    fn by(&self, span: Span, name: impl Fn(&CellKey) -> Option<String>) -> Vec<FigureGroup> {
        let mut tallies: BTreeMap<String, CellTally> = BTreeMap::new();
        for (key, tally) in self.agents.iter().flat_map(AgentRun::cells) {
            if let Some(name) = name(key) {
                tallies
                    .entry(name)
                    .or_default()
                    .take(key.period == Period::Measured, tally);
            }
        }
        let groups = tallies
            .into_iter()
            .filter(|(_, tally)| tally.counters != Counters::default());
        groups
            .map(|(name, tally)| group(name, &tally, span))
            .collect()
    }

    /// Of the part of the run in which the document's handshakes are.
    fn session_offers(&self, document: &Document) -> Vec<SessionOffers> {
        let Some((_, period)) = document.handshakes() else {
            return Vec::new();
        };
        SessionOffers::from_cells(
            self.agents
                .iter()
                .flat_map(AgentRun::cells)
                .filter(|(key, _)| key.period == period),
        )
    }

    fn by_request(&self, span: Span) -> Vec<FigureGroup> {
        let mut groups = Vec::new();
        for (index, name) in self.run.requests.iter().enumerate() {
            groups.extend(self.by(span, |key| {
                (usize::from(key.request) == index).then(|| name.clone())
            }));
        }
        groups
    }

    fn by_agent(&self, span: Span) -> Vec<FigureGroup> {
        let agents = self.agents.iter().zip(&self.setup.agents);
        agents
            .map(|(agent_run, setup)| {
                group(setup.name.clone(), &agent_run.tally(Period::Measured), span)
            })
            .collect()
    }

    fn by_label(&self, span: Span) -> Vec<FigureGroup> {
        let mut tallies: BTreeMap<String, CellTally> = BTreeMap::new();
        for (agent_run, setup) in self.agents.iter().zip(&self.setup.agents) {
            for (key, value) in &setup.labels {
                tallies
                    .entry(format!("{key}={value}"))
                    .or_default()
                    .merge(&agent_run.tally(Period::Measured));
            }
        }
        tallies
            .into_iter()
            .map(|(name, tally)| group(name, &tally, span))
            .collect()
    }
}

fn group(name: String, tally: &CellTally, span: Span) -> FigureGroup {
    FigureGroup {
        name,
        figures: Figures::new(tally, span, HistogramColumns::Omitted),
    }
}
