//! Collects what agents deliver and builds the document from it, at any moment of the run.

mod document;
mod key_sums;
mod machine_run;

use crate::agent_run::AgentRun;
use crate::cell_tally::CellTally;
use crate::counts::errors;
use crate::data_figures::DataUse;
use crate::journey_figures::JourneyNames;
use crate::journey_tally::JourneyTallies;
use crate::live::{Live, LiveMachine, Recent};
use crate::replay_figures::ReplayFigures;
use crate::request_series::RequestSeriesBuilder;
use crate::series::SeriesBuilder;
use crate::whole_seconds::{SecondTally, WholeRule, WholeSeconds};
use crate::{
    AgentEnd, AgentSetup, BeforeLoadRow, CollectorSetup, FleetFigures, MachineRole, MachineRow,
    PlanRecord, PreflightFinding, ProfileResult, Takeover, Unattended,
};
use key_sums::KeySums;
use machine_run::{MachineRun, rows_each};
use measure::{
    Client, Distribution, FailedRows, FollowedRedirects, GrpcMessages, GrpcTally, Metric, Outcome,
    Period, SigningTally, Snapshot, TokenTallies, WebSocketTally, WithheldBodies, nanoseconds,
};
use plan::{End, Load, LostAgents, Plan, Shape, Threshold, ThresholdScope, Words as _};
use std::collections::BTreeSet;
use std::time::Duration;

/// Most monitors that a result lists.
const MONITORS_MAX: usize = 1_000;

/// How a delivered interval was handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It is now counted.
    Counted,
    /// It was counted before, and is not counted again.
    Duplicate,
    /// No agent of this run has that index, so it is not counted.
    UnknownAgent,
}

/// Collects what agents deliver. Memory is bounded: it holds sums by agent, by request and by
/// address, and a packed series.
#[derive(Debug, Clone)]
pub struct ResultCollector {
    setup: CollectorSetup,
    run: RunPlan,
    record: PlanRecord,
    agents: Vec<AgentRun>,
    /// Activity of the agents' machines, by agent index.
    agent_machines: Vec<MachineRun>,
    /// The monitors, and the activity of their machines.
    monitors: Vec<(AgentSetup, MachineRun)>,
    /// Sums over all agents.
    sums: KeySums,
    failed_rows: FailedRows,
    redirects: FollowedRedirects,
    withheld: WithheldBodies,
    grpc: GrpcTally,
    grpc_messages: GrpcMessages,
    websockets: WebSocketTally,
    tokens: TokenTallies,
    /// The same of tokens that the coordinator asked for.
    asked: TokenTallies,
    signing: SigningTally,
    journeys: JourneyTallies,
    series: SeriesBuilder,
    request_series: RequestSeriesBuilder,
    recent: Recent,
    /// Agents whose streams are gone: live figures do not wait for their seconds.
    away: BTreeSet<u32>,
    /// Present if the plan allows agents to be lost.
    whole_seconds: Option<WholeSeconds>,
    fleet: FleetFigures,
    preflight: Vec<PreflightFinding>,
    unattended: Vec<Unattended>,
    server_cpu_ns: Option<u64>,
    notes: Vec<String>,
    refusals: Vec<String>,
}

/// The parts of the plan that the figures need.
#[derive(Debug, Clone)]
struct RunPlan {
    name: String,
    requests: Vec<String>,
    /// Empty if the load is made of requests.
    journeys: Vec<JourneyNames>,
    /// What an answer is that fails each check, by the check's number less 1.
    checks: Vec<String>,
    warm_up_ns: u64,
    end: End,
    /// Length of the measured part, if the plan gives one.
    span_ns: Option<u64>,
    is_open: bool,
    thresholds: Vec<Threshold>,
    load: Load,
    lost: LostAgents,
    data: Vec<DataUse>,
    replay: Option<ReplayFigures>,
    /// The credentials whose tokens are fetched.
    tokens: Vec<String>,
}

impl RunPlan {
    /// Returns the requests that a threshold names, with their index.
    fn judged_requests(&self) -> impl Iterator<Item = (u16, &str)> {
        let is_judged = |name: &str| {
            let mut thresholds = self.thresholds.iter();
            thresholds.any(|threshold| match &threshold.scope {
                ThresholdScope::Request(judged) => judged == name,
                ThresholdScope::Run | ThresholdScope::Journey(_) => false,
            })
        };
        let requests = (0..).zip(self.requests.iter().map(String::as_str));
        requests.filter(move |(_, name)| is_judged(name))
    }
}

/// Describes the failure of each check of the plan, with its request if there are several.
fn check_words(plan: &Plan) -> Vec<String> {
    let checks = plan.checks();
    checks
        .map(|(request, failure)| match plan.requests() {
            [_] => failure,
            _ => format!("{}: {failure}", request.name),
        })
        .collect()
}

impl ResultCollector {
    /// Creates a collector that has received nothing yet.
    #[must_use]
    pub fn new(setup: CollectorSetup, plan: &Plan) -> ResultCollector {
        let run = RunPlan {
            name: plan.name().to_owned(),
            requests: plan
                .requests()
                .iter()
                .map(|request| request.name.clone())
                .collect(),
            journeys: JourneyNames::all(plan),
            checks: check_words(plan),
            warm_up_ns: nanoseconds(plan.load().warm_up),
            end: plan.load().end,
            span_ns: plan.load().measured_span_ns(),
            is_open: matches!(plan.load().shape, Shape::Open { .. }),
            thresholds: plan.thresholds().to_vec(),
            load: plan.load().clone(),
            lost: plan.fleet().lost(),
            data: DataUse::all(plan),
            replay: ReplayFigures::planned(plan),
            tokens: plan
                .token_requests()
                .map(|(name, _)| name.to_owned())
                .collect(),
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
            failed_rows: FailedRows::default(),
            redirects: FollowedRedirects::default(),
            withheld: WithheldBodies::default(),
            grpc: GrpcTally::default(),
            grpc_messages: GrpcMessages::default(),
            websockets: WebSocketTally::default(),
            tokens: TokenTallies::default(),
            asked: TokenTallies::default(),
            signing: SigningTally::default(),
            journeys: JourneyTallies::default(),
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

    /// Adds what `agent` recorded in second `interval` of the run clock. Each interval counts once,
    /// however often and in whatever order it arrives.
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
        self.failed_rows.merge(&snapshot.failed_rows);
        self.redirects.merge(&snapshot.redirects);
        self.withheld.merge(&snapshot.withheld);
        self.grpc.merge(&snapshot.grpc);
        self.grpc_messages.merge(&snapshot.grpc_messages);
        self.websockets.merge(&snapshot.websockets);
        self.tokens.merge(&snapshot.tokens);
        self.signing.merge(&snapshot.signing);
        self.journeys.add(snapshot);
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
            let mut journeys = JourneyTallies::default();
            journeys.add(snapshot);
            let delivered = SecondTally {
                requests: requests.collect(),
                journeys,
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

    /// Sets what came of the coordinator's asking for tokens so far.
    pub fn set_asked_tokens(&mut self, asked: &TokenTallies) {
        self.asked = asked.clone();
    }

    /// Records that an agent's stream is gone; it can come back.
    pub fn gone(&mut self, agent: u32) {
        self.away.insert(agent);
    }

    /// Records that an agent's stream is back.
    pub fn back(&mut self, agent: u32) {
        self.away.remove(&agent);
    }

    /// Records a measurement of an agent's clock: the coordinator's minus the agent's, and the
    /// error bound.
    pub fn clock(&mut self, agent: u32, offset_ns: i64, bound_ns: u64) {
        if let Some(agent_run) = self.agents.get_mut(agent as usize) {
            agent_run.clock = Some((offset_ns, bound_ns));
        }
    }

    /// Records that an agent began `at_ns` after the start instant (before it, if negative), with
    /// this error bound.
    pub fn began(&mut self, agent: u32, at_ns: i64, bound_ns: u64) {
        if let Some(agent_run) = self.agents.get_mut(agent as usize) {
            agent_run.began = Some((at_ns, bound_ns));
        }
    }

    /// Records the end of an agent's run. A later call replaces an earlier one, and also an earlier
    /// loss. A loss alone does not replace an end of which everything arrived.
    pub fn ended(&mut self, agent: u32, end: AgentEnd) {
        if let Some(agent_run) = self.agents.get_mut(agent as usize) {
            agent_run.ended(end);
        }
    }

    /// Records that an agent was given up. At `fired_until_ns` (run clock) its last lease has
    /// expired, so that it sends nothing more; `None` if it never had a lease. Whatever it still
    /// delivers counts, and so does an end that it still reports.
    pub fn lost(&mut self, agent: u32, why: &str, fired_until_ns: Option<u64>) {
        if let Some(agent_run) = self.agents.get_mut(agent as usize) {
            agent_run.lost(why, fired_until_ns);
        }
    }

    /// Assigns the rest of a lost agent's share to the agents `to`, from `after_ns` (run clock).
    /// Seconds from then on are not whole until [`ResultCollector::taken_over`] confirms each of
    /// them. If it is called again for an agent, for instance because the first ones could not take
    /// over, the last call counts.
    pub fn redistributed(&mut self, agent: u32, to: &[u32], after_ns: u64) {
        if let Some(agent_run) = self.agents.get_mut(agent as usize) {
            agent_run.hand_over(after_ns);
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

    /// Records that agent `by` fires its part of a lost agent's share from `from_ns` (run clock),
    /// or, if that is `None`, that neither it nor any other agent does.
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

    /// Records that no coordinator was there between two instants of the run clock.
    pub fn unattended(&mut self, from_ns: u64, to_ns: u64) {
        let length_ns = to_ns.saturating_sub(from_ns);
        self.unattended.push(Unattended {
            from_ns,
            to_ns: to_ns.max(from_ns),
            seconds: length_ns as f64 / 1e9,
        });
    }

    /// Adds a monitor that watches its machine; monitors are numbered in the order of these calls.
    pub fn watching(&mut self, monitor: AgentSetup) {
        if self.monitors.len() < MONITORS_MAX {
            self.monitors.push((monitor, MachineRun::default()));
        }
    }

    /// Adds what the machine of an agent or a monitor did in a second. Each machine's seconds come
    /// in order and count once; repeated ones, and those of unknown machines, are ignored.
    pub fn observed(&mut self, role: MachineRole, number: u32, row: MachineRow) {
        let rows_max = rows_each(self.agent_machines.len() + self.monitors.len());
        if let Some(machine) = self.machine(role, number) {
            machine.add(row, rows_max);
        }
    }

    /// Adds what the machine of an agent or a monitor did until the load began.
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

    /// Adds a CPU profile, saved beside the result, of what a monitor watches.
    pub fn profiled(&mut self, monitor: u32, profile: ProfileResult) {
        if let Some((_, machine)) = self.monitors.get_mut(monitor as usize) {
            machine.set_profile(profile);
        }
    }

    /// Adds a finding of an agent's preflight that did not stop the run.
    pub fn preflight(&mut self, finding: PreflightFinding) {
        self.preflight.push(finding);
    }

    /// Adds a reason why the run does not begin.
    pub fn refused(&mut self, why: String) {
        self.refusals.push(why);
    }

    /// Adds a remark for the reader of the result.
    pub fn note(&mut self, sentence: String) {
        self.notes.push(sentence);
    }

    /// Sets the CPU time that the server's process used for this run, including connections of the
    /// warm-up and the drain.
    pub fn server_cpu(&mut self, used: Duration) {
        self.server_cpu_ns = Some(nanoseconds(used));
    }

    /// Returns figures of the most recent second that has arrived from all agents still firing, not
    /// counting those whose streams are gone; `None` before the first.
    #[must_use]
    pub fn live(&self) -> Option<Live> {
        let mut live = self.recent.live(&self.firing())?;
        let requests = self.sums.by_request.iter();
        for (_, tally) in requests.filter(|((period, _), _)| *period == Period::Measured) {
            let (ended, errors) = (tally.counters.operations_ended(), errors(&tally.counters));
            live.total_ended = live.total_ended.saturating_add(ended);
            live.total_errors = live.total_errors.saturating_add(errors);
        }
        live.total_units = match self.run.journeys[..] {
            [] => live.total_ended,
            _ => {
                let counts = self.journeys.sum();
                counts.count_ended().saturating_add(counts.not_sent)
            }
        };
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

    /// Returns the first second in which no agent fires any more; if the plan does not give it, the
    /// end of what has arrived.
    fn fire_end(&self) -> u32 {
        let length_ns = self.run.span_ns.map(|span| span + self.run.warm_up_ns);
        let known = || self.agents.iter().map(|agent| agent.seconds().end()).max();
        length_ns.map_or_else(
            || known().unwrap_or(0),
            |length| u32::try_from(length.div_ceil(1_000_000_000)).unwrap_or(u32::MAX),
        )
    }

    /// Returns the agents whose run is not over and whose streams are not gone, by index.
    fn firing(&self) -> Vec<u32> {
        let indexed = (0..).zip(&self.agents);
        indexed
            .filter(|(index, run)| !run.is_over() && !self.away.contains(index))
            .map(|(index, _)| index)
            .collect()
    }

    /// Returns the times of one outcome and metric over all agents, requests and addresses: the sum
    /// of everything delivered.
    #[must_use]
    pub fn merge_times(&self, period: Period, outcome: Outcome, metric: Metric) -> Distribution {
        self.whole(period)
            .times
            .remove(&(outcome, metric))
            .unwrap_or_default()
    }

    /// Merges what the loops of all agents recorded about themselves.
    fn client(&self) -> Client {
        let mut client = Client::default();
        self.agents
            .iter()
            .for_each(|agent_run| client.merge(agent_run.client()));
        client
    }

    /// Returns the sum of all cells of a period.
    fn whole(&self, period: Period) -> CellTally {
        let mut whole = CellTally::default();
        for (&(of, _), tally) in &self.sums.by_request {
            whole.take(of == period, tally);
        }
        whole
    }
}
