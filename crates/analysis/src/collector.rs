//! Gathers what agents deliver and makes the document of it, at any moment of the run.

use crate::agent_run::AgentRun;
use crate::backlog::Backlog;
use crate::cell_tally::CellTally;
use crate::client::ClientFigures;
use crate::live::{Live, Recent};
use crate::series::SeriesBuilder;
use crate::span::Span;
use crate::{
    AgentEndCause, CpuFigures, Document, FigureGroup, Figures, HistogramColumns, MachineFacts,
    PlanRecord, RunRecord, RunState, ServerFigures, SessionOffers, StartSkew,
};
use measure::{
    CellKey, Client, Counters, Distribution, Metric, Outcome, Period, Snapshot, Totals, nanoseconds,
};
use plan::{End, Load, Plan, Profile, Shape, Threshold};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// What is known of a run before it starts.
#[derive(Debug, Clone)]
pub struct CollectorSetup {
    /// Version of the program.
    pub tool_version: String,
    /// Identifies the run.
    pub run_id: String,
    /// Start instant, UTC, RFC 3339.
    pub started_at: String,
    /// The plan as the user gave it.
    pub plan_text: String,
    /// The agents, by index.
    pub agents: Vec<AgentSetup>,
}

/// What is known of an agent before the run starts.
#[derive(Debug, Clone, Default)]
pub struct AgentSetup {
    /// Its name, as `--name` or the machine gave it.
    pub name: String,
    /// What `--label` said.
    pub labels: BTreeMap<String, String>,
    /// How many load threads it has.
    pub workers: u32,
    /// What its machine is and allows.
    pub facts: MachineFacts,
    /// Addresses of its machine's own interfaces; loopback need not be among them.
    pub addresses: Vec<IpAddr>,
}

impl AgentSetup {
    /// Whether a server at this address runs on the agent's own machine.
    pub(crate) fn is_own(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_loopback() || address.is_unspecified() || self.addresses.contains(&address)
    }
}

/// How an agent's run ended.
#[derive(Debug, Clone, Default)]
pub struct AgentEnd {
    /// Why; absent where it is not known.
    pub cause: Option<AgentEndCause>,
    /// In words, for a failure.
    pub text: String,
    /// How many intervals it made.
    pub intervals: Option<u32>,
    /// Its sum of them.
    pub totals: Option<Totals>,
    /// How busy it was in the measured part.
    pub cpu: Option<CpuFigures>,
    /// The same in the drain.
    pub cpu_drain: Option<CpuFigures>,
}

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
            agents: self
                .agents
                .iter()
                .zip(&self.setup.agents)
                .enumerate()
                .map(|(index, (f, s))| f.result(index as u32, s))
                .collect(),
            skew: self.skew(),
            warm_up: (self.run.warm_up_ns > 0).then(|| {
                Figures::new(
                    &self.whole(Period::WarmUp),
                    Span::warm_up(self.run.warm_up_ns),
                    HistogramColumns::Omitted,
                )
            }),
            measured: Figures::new(&whole, span, HistogramColumns::Drawn),
            backlog: (self.run.is_open && self.is_whole())
                .then(|| Backlog::new(&whole, self.run.ramp)),
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
        let (warm_up, measured) = (document.warm_up.as_ref(), &document.measured);
        document.server = self
            .server_cpu_ns
            .map(|cpu_ns| ServerFigures::new(cpu_ns, warm_up, measured));
        document.date_staples();
        document.session_offers = self.session_offers(&document);
        document.notes.extend(crate::notes::sentences(&document));
        document.verdict = crate::VerdictRecord::new(&document);
        document
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

    fn client(&self) -> Client {
        let mut client = Client::default();
        self.agents
            .iter()
            .for_each(|agent_run| client.merge(agent_run.client()));
        client
    }

    fn whole(&self, period: Period) -> CellTally {
        let mut whole = CellTally::default();
        self.agents
            .iter()
            .for_each(|agent_run| whole.merge(&agent_run.tally(period)));
        whole
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

/// By how many arrivals a second the rate grows in the second half of the measured part.
fn ramp(load: &Load) -> f64 {
    let profile = Profile::measured(load);
    let span_ns = load.measured_span_ns().unwrap_or(0);
    // A step at the very end comes too late for anything.
    let at_end = profile.amount_at(span_ns.saturating_sub(1));
    (at_end - profile.amount_at(span_ns / 2)).max(0.0)
}

fn group(name: String, tally: &CellTally, span: Span) -> FigureGroup {
    FigureGroup {
        name,
        figures: Figures::new(tally, span, HistogramColumns::Omitted),
    }
}
