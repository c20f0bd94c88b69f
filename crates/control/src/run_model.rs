//! A run as its events tell it. The display, the record, and a coordinator that takes the run up
//! read this model, so that an event is interpreted in one place. No I/O; time is an argument.

use crate::monitor_record::MonitorRecord;
use crate::run_agent::RunAgent;
use crate::share_ledger::ShareLedger;
use crate::upload_id::UploadId;
use crate::{AgentFacts, AgentId, EndCause, FleetTime, Observer, RunEvent, RunOutcome};
use std::collections::HashMap;
use std::sync::Arc;

/// A run as its events tell it, taken in order: the same whether they come as they happen or from
/// the log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunModel {
    stage: RunStage,
    /// In the order of their indices; while they gather, in the order in which they joined.
    agents: Vec<RunAgent>,
    /// In the order of their numbers.
    monitors: Vec<RunMonitor>,
    /// Name of the agent that left last, before the run.
    left: Option<String>,
    skew_told: bool,
    /// Agents that were lost, or that ended before their plan did.
    losses: u32,
    deals: Vec<ShareDeal>,
    /// Whether another coordinator has taken the run up, which agents obey.
    is_superseded: bool,
    is_forced: bool,
    left_at: Option<FleetTime>,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunStage {
    /// Agents are awaited; they have no index yet.
    #[default]
    Gathering,
    /// They get the plan and answer.
    Preparing,
    /// The start instant is announced, and may have passed.
    Armed {
        /// On the coordinator's clock.
        start_at: FleetTime,
    },
    /// The run is over.
    Over {
        /// How it ended.
        outcome: RunOutcome,
        /// The start instant, if one was announced and not withdrawn.
        start_at: Option<FleetTime>,
    },
}

/// A monitor that watches the run, or has watched it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RunMonitor {
    id: AgentId,
    name: String,
    record: MonitorRecord,
}

/// Which agents were to fire a lost agent's share.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ShareDeal {
    lost: u32,
    heirs: Vec<u32>,
    from: FleetTime,
    /// Heirs that answered, and the instant from which they fire all of it; `None` if a part is
    /// undone.
    answers: Vec<(u32, Option<FleetTime>)>,
}

impl RunModel {
    /// Takes the next event, which came at `now`. Returns the index of the agent whose stage,
    /// connection or clock it tells, if it tells that of an agent of this run. Whether the event's
    /// data is complete is not checked.
    pub fn take(&mut self, event: &RunEvent, now: FleetTime) -> Option<u32> {
        match event {
            RunEvent::Joined { agent } => self.join(agent),
            RunEvent::Left { agent } => self.remove(agent.id),
            RunEvent::Assembled { agents } => self.assemble(agents),
            &RunEvent::Armed { start_at, .. } => self.stage = RunStage::Armed { start_at },
            // No agent fired, and another start instant is announced next.
            RunEvent::Postponed { .. } => self.stage = RunStage::Preparing,
            RunEvent::Started { .. } => self.skew_told = true,
            &RunEvent::Done { outcome } => {
                let start_at = self.start_at();
                self.stage = RunStage::Over { outcome, start_at };
            }
            RunEvent::Superseded { .. } => self.is_superseded = true,
            RunEvent::Ready { agent, .. }
            | RunEvent::Problem { agent, .. }
            | RunEvent::Began { agent, .. }
            | RunEvent::Totals { agent, .. }
            | RunEvent::Gone { agent, .. }
            | RunEvent::Back { agent }
            | RunEvent::Ended { agent, .. }
            | RunEvent::Lost { agent, .. } => {
                let leaves_share = self.agents.get_mut(*agent as usize)?.take(event, now);
                self.losses = self.losses.saturating_add(u32::from(leaves_share));
                return Some(*agent);
            }
            &RunEvent::Interval {
                agent, interval, ..
            } => self.change(agent, |known| known.store(UploadId::Interval(interval))),
            RunEvent::Redistributed { agent, to, from } => self.deals.push(ShareDeal {
                lost: *agent,
                heirs: to.clone(),
                from: *from,
                answers: Vec::new(),
            }),
            &RunEvent::TakenOver { agent, by, from } => self.settle(agent, by, from),
            RunEvent::Watching { monitor } => self.watch(monitor),
            &RunEvent::Observed { by, second, .. } => self.observe(by, second),
            &RunEvent::ProfilePart {
                monitor,
                part,
                parts,
                ..
            } => self.change_monitor(monitor, |record| record.profile.note_stored(part, parts)),
            RunEvent::Preflight { findings, .. } => {
                self.is_forced |= findings.iter().any(|finding| finding.is_forced);
            }
            // They leave nothing to know about the run.
            RunEvent::Waiting { .. } | RunEvent::Note { .. } | RunEvent::TokenAsked { .. } => {}
        }
        None
    }

    /// Notes that another coordinator takes the run up. If it has not started, it begins anew: who
    /// had joined must join again.
    pub fn take_up(&mut self) {
        match self.start_at() {
            Some(start_at) => self.stage = RunStage::Armed { start_at },
            None => {
                *self = RunModel {
                    is_forced: self.is_forced,
                    ..RunModel::default()
                };
            }
        }
    }

    /// Sets when the previous coordinator had ended: it granted no lease after that.
    pub fn leave(&mut self, at: FleetTime) {
        self.left_at = Some(at);
    }

    /// Moves its instants to a clock that is ahead by `by_ns`: that of the machine's current boot.
    /// How closely agents began together is then known less well, until they report it by this
    /// clock.
    pub fn shift(&mut self, by_ns: i64) {
        if by_ns == 0 {
            return;
        }
        let to_now = |at: FleetTime| FleetTime(at.0.saturating_add_signed(by_ns));
        match &mut self.stage {
            RunStage::Gathering | RunStage::Preparing => {}
            RunStage::Armed { start_at } => *start_at = to_now(*start_at),
            RunStage::Over { start_at, .. } => *start_at = start_at.map(to_now),
        }
        for agent in &mut self.agents {
            agent.shift(to_now);
        }
        for deal in &mut self.deals {
            deal.from = to_now(deal.from);
            for (_, from) in &mut deal.answers {
                *from = from.map(to_now);
            }
        }
    }

    /// How far the run has come.
    #[must_use]
    pub fn stage(&self) -> RunStage {
        self.stage
    }

    /// The start instant, if one was announced and not withdrawn. If not, no agent can have fired.
    #[must_use]
    pub fn start_at(&self) -> Option<FleetTime> {
        match self.stage {
            RunStage::Gathering | RunStage::Preparing => None,
            RunStage::Armed { start_at } => Some(start_at),
            RunStage::Over { start_at, .. } => start_at,
        }
    }

    /// The agents in the order of their indices; while they gather, in the order in which they
    /// joined.
    #[must_use]
    pub fn agents(&self) -> &[RunAgent] {
        &self.agents
    }

    /// An agent by its index.
    #[must_use]
    pub fn agent(&self, agent: u32) -> Option<&RunAgent> {
        self.agents.get(agent as usize)
    }

    /// Names of the monitors that watch or have watched, by their numbers.
    pub fn monitors(&self) -> impl ExactSizeIterator<Item = &str> + DoubleEndedIterator + Clone {
        self.monitors.iter().map(|monitor| monitor.name.as_str())
    }

    /// Whether all the agents that were asked for are there.
    #[must_use]
    pub fn is_assembled(&self) -> bool {
        self.stage != RunStage::Gathering
    }

    /// Whether any agent fires or has fired.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.agents.iter().any(|agent| agent.began().is_some())
    }

    /// Whether an agent was made to run the plan although its preflight would refuse it.
    #[must_use]
    pub fn is_forced(&self) -> bool {
        self.is_forced
    }

    /// Agents of which something is still expected, by index.
    pub fn agents_awaited(&self) -> impl Iterator<Item = u32> {
        let agents = (0..).zip(&self.agents);
        agents
            .filter(|(_, agent)| agent.is_awaited())
            .map(|(index, _)| index)
    }

    /// Number of agents that fired, or may have, and have not reported their end; some may have
    /// been given up. They may still hold data of the run, unless they obey another coordinator.
    #[must_use]
    pub fn holders(&self) -> usize {
        if self.start_at().is_none() {
            return 0;
        }
        let agents = self.agents.iter();
        agents.filter(|agent| agent.end().is_none()).count()
    }

    /// Whether another coordinator has taken the run up, which agents obey.
    #[must_use]
    pub fn is_superseded(&self) -> bool {
        self.is_superseded
    }

    /// Whether an agent that was not given up was told to end before its plan did.
    #[must_use]
    pub fn was_stopped(&self) -> bool {
        let is_stopped =
            |agent: &RunAgent| agent.loss().is_none() && agent.end() == Some(&EndCause::Stopped);
        self.agents.iter().any(is_stopped)
    }

    /// An agent's index by its name.
    #[must_use]
    pub fn index(&self, name: &str) -> Option<u32> {
        let index = self.agents.iter().position(|agent| agent.name() == name)?;
        u32::try_from(index).ok()
    }

    /// An agent's name by its index.
    #[must_use]
    pub fn name(&self, agent: u32) -> String {
        self.agent(agent)
            .map_or_else(|| agent.to_string(), |known| known.name().to_owned())
    }

    /// The name of the agent that joined last.
    #[must_use]
    pub fn last_joined(&self) -> &str {
        self.agents.last().map_or("", RunAgent::name)
    }

    /// The name of the agent that left last, before the run.
    #[must_use]
    pub fn last_left(&self) -> &str {
        self.left.as_deref().unwrap_or_default()
    }

    /// Names of all agents, and of the monitors.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let agents = self.agents.iter().map(RunAgent::name);
        agents.chain(self.monitors()).map(str::to_owned).collect()
    }

    pub(crate) fn losses(&self) -> u32 {
        self.losses
    }

    /// Whether it was reported how far apart the agents began.
    pub(crate) fn skew_told(&self) -> bool {
        self.skew_told
    }

    /// When the previous coordinator had ended; `None` if that is not known.
    pub(crate) fn left_at(&self) -> Option<FleetTime> {
        self.left_at
    }

    pub(crate) fn into_agents(self) -> Vec<RunAgent> {
        self.agents
    }

    /// The monitors by their numbers, their names, and what was taken from each.
    pub(crate) fn monitor_records(&self) -> Vec<(AgentId, String, MonitorRecord)> {
        let monitors = self.monitors.iter();
        monitors
            .map(|monitor| (monitor.id, monitor.name.clone(), monitor.record))
            .collect()
    }

    /// The shares as they were dealt. Heirs that did not answer may be asked again, because the
    /// deals are stored.
    pub(crate) fn shares(&self) -> ShareLedger {
        let mut shares = ShareLedger::default();
        for deal in &self.deals {
            shares.deal(deal.lost, &deal.heirs, deal.from);
            shares.note_written(deal.lost);
            for (heir, from) in &deal.answers {
                shares.settle(*heir, deal.lost, *from);
            }
        }
        shares
    }

    /// Indices of the agents that left a share which was never dealt.
    pub(crate) fn undealt(&self) -> Vec<usize> {
        let is_dealt = |agent: usize| self.deals.iter().any(|deal| deal.lost as usize == agent);
        let agents = self.agents.iter().enumerate();
        let left = agents.filter(|(_, agent)| agent.has_left_share());
        left.map(|(agent, _)| agent)
            .filter(|agent| !is_dealt(*agent))
            .collect()
    }

    fn join(&mut self, facts: &AgentFacts) {
        let name = distinct_name(&facts.name, self.agents.iter().map(RunAgent::name));
        let facts = Arc::new(facts.clone());
        self.agents.push(RunAgent::new(facts, name));
    }

    /// Removes an agent that waited for the run. If agents of an earlier coordinator are still
    /// known, they come first.
    fn remove(&mut self, id: AgentId) {
        if let Some(place) = self.agents.iter().rposition(|known| known.id() == id) {
            self.left = Some(self.agents.remove(place).name().to_owned());
        }
    }

    /// Puts agents in the order of their indices. Agents that are known keep their names. No agent
    /// has fired yet: what was lost before does not count.
    fn assemble(&mut self, agents: &[AgentFacts]) {
        let known = std::mem::take(&mut self.agents).into_iter();
        let mut names: HashMap<AgentId, String> = known
            .map(|agent| (agent.id(), agent.name().to_owned()))
            .collect();
        for facts in agents {
            let name = names.remove(&facts.id).unwrap_or_else(|| {
                let others = self.agents.iter().map(RunAgent::name);
                let others = others.chain(names.values().map(String::as_str));
                distinct_name(&facts.name, others)
            });
            let facts = Arc::new(facts.clone());
            self.agents.push(RunAgent::new(facts, name));
        }
        self.losses = 0;
        self.stage = RunStage::Preparing;
    }

    fn watch(&mut self, monitor: &AgentFacts) {
        let name = distinct_name(&monitor.name, self.monitors());
        self.monitors.push(RunMonitor {
            id: monitor.id,
            name,
            record: MonitorRecord::default(),
        });
    }

    /// Notes an heir's answer. The last deal of a share counts.
    fn settle(&mut self, lost: u32, heir: u32, from: Option<FleetTime>) {
        let mut deals = self.deals.iter_mut().rev();
        if let Some(deal) = deals.find(|deal| deal.lost == lost) {
            deal.answers.push((heir, from));
        }
    }

    fn observe(&mut self, by: Observer, second: u32) {
        match by {
            Observer::Agent(agent) => self.change(agent, |known| known.observe(second)),
            Observer::Monitor(monitor) => {
                self.change_monitor(monitor, |record| record.seen.note_stored(second));
            }
        }
    }

    /// Changes an agent. A record with an index beyond the agents was not written by this version.
    fn change(&mut self, agent: u32, change: impl FnOnce(&mut RunAgent)) {
        if let Some(known) = self.agents.get_mut(agent as usize) {
            change(known);
        }
    }

    fn change_monitor(&mut self, monitor: u32, change: impl FnOnce(&mut MonitorRecord)) {
        if let Some(known) = self.monitors.get_mut(monitor as usize) {
            change(&mut known.record);
        }
    }
}

/// Returns `name`, with a number if another one has that name.
fn distinct_name<'a>(name: &str, others: impl Iterator<Item = &'a str> + Clone) -> String {
    let is_free = |called: &String| others.clone().all(|other| other != called);
    let numbered = (2..).map(|number: u64| format!("{name} ({number})"));
    std::iter::once(name.to_owned())
        .chain(numbered)
        .find(is_free)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(id: u8, name: &str) -> AgentFacts {
        AgentFacts::new(AgentId([id; 16]), name)
    }

    /// The model after these events.
    fn model(events: impl IntoIterator<Item = RunEvent>) -> RunModel {
        let mut model = RunModel::default();
        for event in events {
            model.take(&event, FleetTime(0));
        }
        model
    }

    #[test]
    fn agents_of_one_name_are_told_apart_and_stay_what_they_are_called() {
        let [one, two, three] = [1, 2, 3].map(|id| facts(id, "web"));
        let joined = [&one, &two, &three].map(|agent| RunEvent::Joined {
            agent: agent.clone(),
        });
        let mut model = model(joined);
        assert_eq!(model.names(), ["web", "web (2)", "web (3)"]);
        assert_eq!(model.last_joined(), "web (3)");
        model.take(&RunEvent::Left { agent: two.clone() }, FleetTime(0));
        assert_eq!(model.last_left(), "web (2)");
        assert_eq!(model.names(), ["web", "web (3)"]);
        let agents = vec![three, two, one, facts(4, "db")];
        model.take(&RunEvent::Assembled { agents }, FleetTime(0));
        assert_eq!(model.names(), ["web (3)", "web (2)", "web", "db"]);
    }

    #[test]
    fn run_that_is_taken_up_before_its_start_gathers_its_agents_anew() {
        let agent = facts(1, "web");
        let joined = || RunEvent::Joined {
            agent: agent.clone(),
        };
        let agents = vec![agent.clone()];
        for events in [
            vec![joined()],
            vec![joined(), RunEvent::Assembled { agents }],
        ] {
            let mut model = model(events);
            model.take_up();
            assert_eq!(model.stage(), RunStage::Gathering);
            model.take(&joined(), FleetTime(0));
            assert_eq!(model.names(), ["web"]);
        }
    }

    #[test]
    fn instants_of_another_boot_are_moved_and_known_less_well() {
        let began = RunEvent::Began {
            agent: 0,
            at: FleetTime(7),
            bound_ns: 3,
        };
        let agents = vec![facts(1, "machine")];
        let mut model = model([RunEvent::Assembled { agents }, began]);
        model.shift(0);
        assert_eq!(model.agents()[0].began(), Some((FleetTime(7), 3)));
        model.shift(100);
        let began = model.agents()[0].began();
        assert_eq!(began, Some((FleetTime(107), 1_000_000_003)));
    }
}
