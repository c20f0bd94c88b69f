//! Gathers what agents deliver and makes the document of it, at any moment of the run.

mod document;

use crate::agent_run::AgentRun;
use crate::cell_tally::CellTally;
use crate::live::{Live, Recent};
use crate::series::SeriesBuilder;
use crate::{AgentEnd, CollectorSetup, PlanRecord};
use measure::{Client, Distribution, Metric, Outcome, Period, Snapshot, nanoseconds};
use plan::{End, Load, Plan, Profile, Shape, Threshold};
use std::time::Duration;

/// What became of a delivered interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It counts from now on.
    Counted,
    /// It had counted before, and does not count again.
    Duplicate,
    /// No agent of this run has that index; it does not count.
    UnknownAgent,
}

/// Gathers what agents deliver. Memory is bounded: totals by agent, request and address, and a
/// packed series.
#[derive(Debug, Clone)]
pub struct ResultCollector {
    setup: CollectorSetup,
    run: RunPlan,
    record: PlanRecord,
    agents: Vec<AgentRun>,
    series: SeriesBuilder,
    recent: Recent,
    server_cpu_ns: Option<u64>,
    notes: Vec<String>,
}

/// What of the plan the figures need.
#[derive(Debug, Clone)]
struct RunPlan {
    name: String,
    requests: Vec<String>,
    warm_up_ns: u64,
    end: End,
    /// Length of the measured part, where the plan says it.
    span_ns: Option<u64>,
    is_open: bool,
    /// By how many arrivals a second the rate grows in the second half of the measured part.
    ramp: f64,
    thresholds: Vec<Threshold>,
}

impl ResultCollector {
    /// Ready for interval 0.
    #[must_use]
    pub fn new(setup: CollectorSetup, plan: &Plan) -> ResultCollector {
        let run = RunPlan {
            name: plan.name().to_owned(),
            requests: plan
                .requests()
                .iter()
                .map(|request| request.name.clone())
                .collect(),
            warm_up_ns: nanoseconds(plan.load().warm_up),
            end: plan.load().end,
            span_ns: plan.load().measured_span_ns(),
            is_open: matches!(plan.load().shape, Shape::Open { .. }),
            ramp: ramp(plan.load()),
            thresholds: plan.thresholds().to_vec(),
        };
        let record = PlanRecord::new(plan, setup.plan_text.clone());
        let agents = setup.agents.iter().map(|_| AgentRun::default()).collect();
        ResultCollector {
            run,
            record,
            agents,
            series: SeriesBuilder::new(),
            recent: Recent::default(),
            server_cpu_ns: None,
            notes: Vec::new(),
            setup,
        }
    }

    /// Takes in what `agent` recorded in second `interval` of the run clock. Each interval counts
    /// once, however often and in whichever order it comes.
    pub fn add(&mut self, agent: u32, interval: u32, snapshot: &Snapshot) -> Added {
        let Some(agent_run) = self.agents.get_mut(agent as usize) else {
            return Added::UnknownAgent;
        };
        if !agent_run.add(interval, snapshot) {
            return Added::Duplicate;
        }
        self.series.add(agent, interval, snapshot);
        self.recent.add(agent, interval, snapshot);
        Added::Counted
    }

    /// An agent's clock was measured: coordinator's minus the agent's, and its error bound.
    pub fn clock(&mut self, agent: u32, offset_ns: i64, bound_ns: u64) {
        if let Some(agent_run) = self.agents.get_mut(agent as usize) {
            agent_run.clock = Some((offset_ns, bound_ns));
        }
    }

    /// An agent began, so long after the start instant (negative: before), with this error bound.
    pub fn began(&mut self, agent: u32, at_ns: i64, bound_ns: u64) {
        if let Some(agent_run) = self.agents.get_mut(agent as usize) {
            agent_run.began = Some((at_ns, bound_ns));
        }
    }

    /// An agent's run is over. Called again, it replaces what was known.
    pub fn ended(&mut self, agent: u32, end: AgentEnd) {
        if let Some(agent_run) = self.agents.get_mut(agent as usize) {
            agent_run.ended(end);
        }
    }

    /// A sentence the reader of the result should know.
    pub fn note(&mut self, sentence: String) {
        self.notes.push(sentence);
    }

    /// CPU time that the server's process used for this run, connections of the warm-up and the
    /// drain included.
    pub fn server_cpu(&mut self, used: Duration) {
        self.server_cpu_ns = Some(nanoseconds(used));
    }

    /// Figures of the most recent second that all agents still firing have delivered; `None` before
    /// the first.
    #[must_use]
    pub fn live(&self) -> Option<Live> {
        let mut live = self.recent.live(&self.firing())?;
        for agent_run in &self.agents {
            let (ended, errors) = agent_run.ended_and_errors();
            live.total_ended = live.total_ended.saturating_add(ended);
            live.total_errors = live.total_errors.saturating_add(errors);
        }
        live.is_warm_up = u64::from(live.second) * 1_000_000_000 < self.run.warm_up_ns;
        Some(live)
    }

    /// Agents whose run is not over, by index.
    fn firing(&self) -> Vec<u32> {
        let indexed = (0..).zip(&self.agents);
        indexed
            .filter(|(_, agent_run)| !agent_run.is_over())
            .map(|(index, _)| index)
            .collect()
    }

    /// Times of one outcome and metric over all agents, requests and addresses: the sum of
    /// everything that was delivered.
    #[must_use]
    pub fn merged(&self, period: Period, outcome: Outcome, metric: Metric) -> Distribution {
        self.whole(period)
            .times
            .remove(&(outcome, metric))
            .unwrap_or_default()
    }

    /// What the loops of all agents say of themselves.
    fn client(&self) -> Client {
        let mut client = Client::default();
        self.agents
            .iter()
            .for_each(|agent_run| client.merge(agent_run.client()));
        client
    }

    /// Sum of all cells of a period.
    fn whole(&self, period: Period) -> CellTally {
        let mut whole = CellTally::default();
        self.agents
            .iter()
            .for_each(|agent_run| whole.merge(&agent_run.tally(period)));
        whole
    }
}

/// By how many arrivals a second the rate grows in the second half of the measured part.
fn ramp(load: &Load) -> f64 {
    let profile = Profile::measured(load);
    let span_ns = load.measured_span_ns().unwrap_or(0);
    // A step at the very end comes too late for anything.
    let at_end = profile.amount_at(span_ns.saturating_sub(1));
    (at_end - profile.amount_at(span_ns / 2)).max(0.0)
}
