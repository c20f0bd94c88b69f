//! The agents in a run's record: a view of the run's model, with what they report of themselves at
//! the end.

use analysis::{AgentEnd, AgentEndCause, AgentSetup, CpuFigures, MachineFacts, ResultCollector};
use control::{AgentFacts, AgentStage, EndCause, FleetTime, RunAgent, RunEvent, RunModel};
use measure::Totals;

/// The agents of a run.
#[derive(Debug, Default)]
pub(super) struct RecordedAgents {
    run: RunModel,
    /// By the agents' indices; empty until agents have one.
    figures: Vec<AgentFigures>,
}

/// What an agent reported of itself at its end, as far as it can be read.
#[derive(Debug, Clone, Default)]
struct AgentFigures {
    totals: Option<Totals>,
    usage: Option<host::RunFigures>,
    /// Whether seconds of it that could not be read have been noted already.
    is_unreadable: bool,
}

impl RecordedAgents {
    /// Takes an event of the run. Returns the index of the agent that it is about, if any.
    pub(super) fn take(&mut self, event: &RunEvent) -> Option<u32> {
        match event {
            RunEvent::Assembled { agents } => {
                self.figures = vec![AgentFigures::default(); agents.len()];
            }
            RunEvent::Ended { agent, figures, .. } => {
                if let Some(known) = self.figures.get_mut(*agent as usize) {
                    // Figures of another version cannot be read. The agent then has none, and the
                    // result says that they are not known.
                    known.usage = host::RunFigures::decode(figures).ok();
                }
            }
            _ => {}
        }
        // A result does not say since when an agent is away.
        self.run.take(event, FleetTime(0))
    }

    /// Takes the sum of an agent's seconds.
    pub(super) fn set_totals(&mut self, agent: u32, totals: Totals) {
        if let Some(known) = self.figures.get_mut(agent as usize) {
            known.totals = Some(totals);
        }
    }

    /// Whether this is the first time that something of an agent cannot be read.
    pub(super) fn is_first_unreadable(&mut self, agent: u32) -> bool {
        let known = self.figures.get_mut(agent as usize);
        known.is_some_and(|known| !std::mem::replace(&mut known.is_unreadable, true))
    }

    /// Moves all instants to a clock that is ahead by `by_ns`.
    pub(super) fn shift(&mut self, by_ns: i64) {
        self.run.shift(by_ns);
    }

    /// The start instant, if one is announced.
    pub(super) fn start_at(&self) -> Option<FleetTime> {
        self.run.start_at()
    }

    /// How many agents there are.
    pub(super) fn len(&self) -> usize {
        self.figures.len()
    }

    /// The agent's name as it states it, if there is such an agent.
    pub(super) fn name(&self, agent: u32) -> Option<&str> {
        Some(&self.agent(agent)?.0.facts().name)
    }

    /// What is known of each agent's machine.
    pub(super) fn setups(&self) -> Vec<AgentSetup> {
        let agents = self.indices().filter_map(|index| self.agent(index));
        agents
            .map(|(agent, _)| AgentSetup {
                workers: agent.workers(),
                ..setup(agent.facts())
            })
            .collect()
    }

    /// The indices of all agents.
    pub(super) fn indices(&self) -> impl Iterator<Item = u32> {
        (0..).take(self.len())
    }

    /// Whether an agent delivers nothing more.
    pub(super) fn is_over(&self, agent: u32) -> bool {
        self.end(agent).is_some_and(|end| end.cause.is_some())
    }

    /// Tells a collector what is known of an agent. Agents can be lost before there is one.
    pub(super) fn restate(&self, agent: u32, collector: &mut ResultCollector) {
        let Some((known, _)) = self.agent(agent) else {
            return;
        };
        if let Some(clock) = known.clock() {
            collector.clock(agent, clock.offset_ns, clock.bound_ns);
        }
        match known.away_since() {
            Some(_) => collector.gone(agent),
            None => collector.back(agent),
        }
        if let Some(end) = self.end(agent) {
            collector.ended(agent, end);
        }
    }

    /// Agents that have joined have no index before they are assembled.
    fn agent(&self, agent: u32) -> Option<(&RunAgent, &AgentFigures)> {
        let figures = self.figures.get(agent as usize);
        self.run.agent(agent).zip(figures)
    }

    /// How an agent's run ended; `None` while it may deliver seconds.
    fn end(&self, agent: u32) -> Option<AgentEnd> {
        let (known, figures) = self.agent(agent)?;
        let loss = known.loss();
        let ending = match known.stage() {
            AgentStage::Ended => known.end().map(ending),
            AgentStage::Lost | AgentStage::Returned => {
                loss.map(|loss| (AgentEndCause::Lost, Some(loss.why.clone())))
            }
            _ => None,
        };
        let intervals = known.totals();
        if ending.is_none() && intervals.is_none() {
            return None;
        }
        let (cause, text) = ending.unzip();
        let fired_until = loss.and_then(|loss| loss.fired_until).zip(self.start_at());
        Some(AgentEnd {
            cause,
            text: text.flatten().unwrap_or_default(),
            intervals,
            totals: figures.totals.clone(),
            cpu: figures.usage.map(|usage| cpu(&usage.measured)),
            cpu_drain: figures.usage.map(|usage| cpu(&usage.drain)),
            fired_until_ns: fired_until.map(|(until, start)| until.0.saturating_sub(start.0)),
        })
    }
}

/// What ended an agent's run by its own report, and the reason of a failure.
pub(super) fn ending(cause: &EndCause) -> (AgentEndCause, Option<String>) {
    match cause {
        EndCause::Plan => (AgentEndCause::Plan, None),
        EndCause::Stopped => (AgentEndCause::Stopped, None),
        EndCause::LeaseExpired => (AgentEndCause::LeaseExpired, None),
        EndCause::Failed(why) => (AgentEndCause::Failed, Some(why.clone())),
    }
}

/// The setup of an agent or a monitor, as known when it joins.
pub(super) fn setup(facts: &AgentFacts) -> AgentSetup {
    // Facts of another version cannot be read: the agent counts, but its machine is unknown.
    let machine = host::Facts::decode(&facts.host).unwrap_or_default();
    AgentSetup {
        name: facts.name.clone(),
        labels: facts.labels.clone(),
        workers: facts.workers,
        facts: MachineFacts {
            cpus: u32::try_from(machine.cpus_allowed.len()).unwrap_or(u32::MAX),
            cpu_quota: machine.cpu_quota.filter(|quota| quota.is_finite()),
            hostname: machine.hostname,
            kernel: machine.kernel,
            cpu_model: machine.cpu_model,
            memory_total_bytes: machine.memory_total_bytes,
            open_files_limit: machine.open_files_limit,
            first_local_port: machine.local_ports.0,
            last_local_port: machine.local_ports.1,
        },
        addresses: machine.addresses,
    }
}

fn cpu(figures: &host::UsageFigures) -> CpuFigures {
    let (process_share_mean, process_share_max) = figures.process_share();
    let (busiest_worker_share_mean, busiest_worker_share_max) = figures.busiest_worker_share();
    let (machine_busy_share_mean, machine_busy_share_max) = figures.machine_busy_share();
    CpuFigures {
        samples: figures.samples,
        process_share_mean,
        process_share_max,
        busiest_worker_share_mean,
        busiest_worker_share_max,
        machine_busy_share_mean,
        machine_busy_share_max,
        steal_share_mean: figures.steal_share(),
        rss_bytes_max: figures.rss_bytes_max,
        tcp_retransmits: figures.tcp_retransmits,
        tcp_segments_sent: figures.tcp_segments_sent,
    }
}
