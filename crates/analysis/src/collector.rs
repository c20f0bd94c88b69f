//! Gathers what agents deliver and makes the document of it, at any moment of the run.

mod document;
mod key_sums;
mod machine_run;

use crate::agent_run::AgentRun;
use crate::cell_tally::CellTally;
use crate::counts::errors;
use crate::live::{Live, LiveMachine, Recent};
use crate::request_series::RequestSeriesBuilder;
use crate::series::SeriesBuilder;
use crate::whole_seconds::{SecondTally, WholeRule, WholeSeconds};
use crate::{
    AgentEnd, AgentSetup, BeforeLoadRow, CollectorSetup, FleetFigures, MachineRole, MachineRow,
    PlanRecord, PreflightFinding, ProfileResult, Takeover, Unattended,
};
use key_sums::KeySums;
use machine_run::{MachineRun, rows_each};
use measure::{Client, Distribution, Metric, Outcome, Period, Snapshot, nanoseconds};
use plan::{End, Load, LostAgents, Plan, Shape, Threshold, Words as _};
use std::collections::BTreeSet;
use std::time::Duration;

/// Monitors that a result has room for.
const MONITORS_MAX: usize = 1_000;

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

/// Gathers what agents deliver. Memory is bounded: totals by agent, by request, and
/// by address, and a packed series.
#[derive(Debug, Clone)]
pub struct ResultCollector {
    setup: CollectorSetup,
    run: RunPlan,
    record: PlanRecord,
    agents: Vec<AgentRun>,
    /// What the agents' machines did, by index.
    agent_machines: Vec<MachineRun>,
    /// Who watched, and what their machines did.
    monitors: Vec<(AgentSetup, MachineRun)>,
    /// Sums over all agents.
    sums: KeySums,
    series: SeriesBuilder,
    request_series: RequestSeriesBuilder,
    recent: Recent,
    /// Agents whose streams are gone: whoever watches does not wait for their seconds.
    away: BTreeSet<u32>,
    /// Where the plan lets agents be lost.
    whole_seconds: Option<WholeSeconds>,
    fleet: FleetFigures,
    preflight: Vec<PreflightFinding>,
    unattended: Vec<Unattended>,
    server_cpu_ns: Option<u64>,
    notes: Vec<String>,
    refusals: Vec<String>,
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
    thresholds: Vec<Threshold>,
    load: Load,
    lost: LostAgents,
}

impl RunPlan {
    /// Requests that a threshold names, by their index.
    fn judged_requests(&self) -> impl Iterator<Item = (u16, &str)> {
        let is_judged = |name: &str| {
            let mut thresholds = self.thresholds.iter();
            thresholds.any(|threshold| threshold.request.as_deref() == Some(name))
        };
        let requests = (0..).zip(self.requests.iter().map(String::as_str));
        requests.filter(move |(_, name)| is_judged(name))
    }
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
            thresholds: plan.thresholds().to_vec(),
            load: plan.load().clone(),
            lost: plan.fleet().lost(),
        };
        let record = PlanRecord::new(plan, setup.plan_text.clone());
        let agents = setup.agents.iter().map(|_| AgentRun::default()).collect();
        let agent_machines = vec![MachineRun::default(); setup.agents.len()];
        let number = u32::try_from(setup.agents.len()).unwrap_or(u32::MAX);
        let fleet = FleetFigures {
            lost: plan.fleet().lost().word().to_owned(),
            tolerate: plan.fleet().tolerate().agents_of(number),
            max_skew_ns: nanoseconds(plan.fleet().max_skew()),
            ..FleetFigures::default()
        };
        let may_lose = run.lost != LostAgents::Fail;
        ResultCollector {
            run,
            record,
            agents,
            agent_machines,
            monitors: Vec::new(),
            sums: KeySums::default(),
            series: SeriesBuilder::new(),
            request_series: RequestSeriesBuilder::new(plan.requests()),
            recent: Recent::default(),
            away: BTreeSet::new(),
            whole_seconds: may_lose.then(WholeSeconds::default),
            fleet,
            preflight: Vec::new(),
            unattended: Vec::new(),
            server_cpu_ns: None,
            notes: Vec::new(),
            refusals: Vec::new(),
            setup,
        }
    }

    /// Takes in what `agent` recorded in second `interval` of the run clock. Each interval counts
    /// once, however often and in whichever order it comes.
    pub fn add(&mut self, agent: u32, interval: u32, snapshot: &Snapshot) -> Added {
        let Some(agent_run) = self.agents.get_mut(agent as usize) else {
            return Added::UnknownAgent;
        };
        if !agent_run.mark(interval) {
            return Added::Duplicate;
        }
        let measured = CellTally::measured(snapshot);
        agent_run.add(snapshot, &measured);
        self.sums.add(snapshot);
        let fire_end = self.fire_end();
        if let Some(whole_seconds) = &mut self.whole_seconds {
            let rule = WholeRule {
                agents: &self.agents,
                policy: self.run.lost,
                fire_end,
            };
            let requests = self.run.judged_requests();
            let requests = requests.map(|(index, name)| {
                let tally = CellTally::measured_of(snapshot, |request| request == index);
                (name.to_owned(), tally)
            });
            let delivered = SecondTally {
                requests: requests.collect(),
                measured,
                client: snapshot.client.clone(),
            };
            whole_seconds.add(rule, interval, &delivered);
        }
        self.series.add(interval, snapshot);
        self.request_series.add(interval, snapshot);
        self.recent.add(agent, interval, snapshot);
        Added::Counted
    }

    /// An agent's stream is gone; it may come back.
    pub fn gone(&mut self, agent: u32) {
        self.away.insert(agent);
    }

    /// It is back.
    pub fn back(&mut self, agent: u32) {
        self.away.remove(&agent);
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

    /// An agent's run is over. Called again, it replaces what was known, also that the agent was
    /// lost. Only that it was lost does not replace an end of which everything came.
    pub fn ended(&mut self, agent: u32, end: AgentEnd) {
        if let Some(agent_run) = self.agents.get_mut(agent as usize) {
            agent_run.ended(end);
        }
    }

    /// An agent was given up. By `fired_until_ns` (run clock) its last lease is over, so that it
    /// fires no more; `None`: it never had one. What it delivers yet counts, and so does the end
    /// that it reports yet.
    pub fn lost(&mut self, agent: u32, why: &str, fired_until_ns: Option<u64>) {
        if let Some(agent_run) = self.agents.get_mut(agent as usize) {
            agent_run.lost(why, fired_until_ns);
        }
    }

    /// The agents `to` are to fire what is left of a lost agent's share from `after_ns` (run clock)
    /// on. Until [`ResultCollector::taken_over`] says of each that it does, seconds from then on
    /// are not whole. Called again for an agent, for instance when the first takers could not, the
    /// last counts.
    pub fn redistributed(&mut self, agent: u32, to: &[u32], after_ns: u64) {
        if let Some(agent_run) = self.agents.get_mut(agent as usize) {
            agent_run.taken_over(after_ns);
            self.fleet.takeovers.retain(|known| known.agent != agent);
            self.fleet.takeovers.push(Takeover {
                agent,
                to: to.to_vec(),
                after_ns,
            });
            self.agents.iter_mut().for_each(|run| run.disinherit(agent));
            for &heir in to {
                if let Some(heir) = self.agents.get_mut(heir as usize) {
                    heir.inherit(agent, after_ns);
                }
            }
        }
    }

    /// Agent `by` fires its part of a lost agent's share from `from_ns` (run clock) on; `None`: it
    /// does not, and nobody else does.
    pub fn taken_over(&mut self, agent: u32, by: u32, from_ns: Option<u64>) {
        let Some(from_ns) = from_ns else {
            let mut takeovers = self.fleet.takeovers.iter_mut();
            if let Some(takeover) = takeovers.find(|takeover| takeover.agent == agent) {
                takeover.to.retain(|heir| *heir != by);
            }
            return;
        };
        if let Some(heir) = self.agents.get_mut(by as usize) {
            heir.fires_from(agent, from_ns);
        }
    }

    /// No coordinator was there between two instants of the run clock.
    pub fn unattended(&mut self, from_ns: u64, to_ns: u64) {
        let length_ns = to_ns.saturating_sub(from_ns);
        self.unattended.push(Unattended {
            from_ns,
            to_ns: to_ns.max(from_ns),
            seconds: length_ns as f64 / 1e9,
        });
    }

    /// One more monitor watches its machine; monitors are numbered in this order.
    pub fn watching(&mut self, monitor: AgentSetup) {
        if self.monitors.len() < MONITORS_MAX {
            self.monitors.push((monitor, MachineRun::default()));
        }
    }

    /// Takes in what the machine of an agent or a monitor did in a second: of each machine in
    /// order, and each second once. What comes again, or of a machine that nobody knows, does not
    /// count.
    pub fn observed(&mut self, role: MachineRole, number: u32, row: MachineRow) {
        let rows_max = rows_each(self.agent_machines.len() + self.monitors.len());
        if let Some(machine) = self.machine(role, number) {
            machine.add(row, rows_max);
        }
    }

    /// Takes in what the machine of an agent or a monitor did until the load began.
    pub fn observed_before_load(&mut self, role: MachineRole, number: u32, before: BeforeLoadRow) {
        if let Some(machine) = self.machine(role, number) {
            machine.set_before_load(before);
        }
    }

    fn machine(&mut self, role: MachineRole, number: u32) -> Option<&mut MachineRun> {
        match role {
            MachineRole::Agent => self.agent_machines.get_mut(number as usize),
            MachineRole::Monitor => {
                let monitor = self.monitors.get_mut(number as usize);
                monitor.map(|(_, machine)| machine)
            }
        }
    }

    /// A CPU profile of what a monitor watches stands beside the result.
    pub fn profiled(&mut self, monitor: u32, profile: ProfileResult) {
        if let Some((_, machine)) = self.monitors.get_mut(monitor as usize) {
            machine.set_profile(profile);
        }
    }

    /// An agent's preflight found this, though the run goes on.
    pub fn preflight(&mut self, finding: PreflightFinding) {
        self.preflight.push(finding);
    }

    /// Why nobody begins the run.
    pub fn refused(&mut self, why: String) {
        self.refusals.push(why);
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

    /// Figures of the most recent second that all agents still firing have delivered, of those that
    /// are not away; `None` before the first.
    #[must_use]
    pub fn live(&self) -> Option<Live> {
        let mut live = self.recent.live(&self.firing())?;
        let requests = self.sums.by_request.iter();
        for (_, tally) in requests.filter(|((period, _), _)| *period == Period::Measured) {
            let (ended, errors) = (tally.counters.ended(), errors(&tally.counters));
            live.total_ended = live.total_ended.saturating_add(ended);
            live.total_errors = live.total_errors.saturating_add(errors);
        }
        live.is_warm_up = u64::from(live.second) * 1_000_000_000 < self.run.warm_up_ns;
        let machines = (0..).zip(&self.agent_machines);
        let by_agent = machines.map(|(agent, machine)| LiveMachine {
            cpu_busy: machine.latest_busy(),
            late_ns: self.recent.late_ns(agent),
        });
        live.by_agent = by_agent.collect();
        let monitors = self.monitors.iter().map(|(_, machine)| LiveMachine {
            cpu_busy: machine.latest_busy(),
            late_ns: None,
        });
        live.monitors = monitors.collect();
        Some(live)
    }

    /// The first second in which nobody fires any more; as far as anything came, where the plan
    /// does not say it.
    fn fire_end(&self) -> u32 {
        let length_ns = self.run.span_ns.map(|span| span + self.run.warm_up_ns);
        let known = || self.agents.iter().map(|agent| agent.seconds().end()).max();
        length_ns.map_or_else(
            || known().unwrap_or(0),
            |length| u32::try_from(length.div_ceil(1_000_000_000)).unwrap_or(u32::MAX),
        )
    }

    /// Agents whose run is not over and that are not away, by index.
    fn firing(&self) -> Vec<u32> {
        let indexed = (0..).zip(&self.agents);
        indexed
            .filter(|(index, run)| !run.is_over() && !self.away.contains(index))
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
        for (&(of, _), tally) in &self.sums.by_request {
            whole.take(of == period, tally);
        }
        whole
    }
}
