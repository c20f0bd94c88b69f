//! What the record says about a run, so that another coordinator can take it up.

use crate::interval_inbox::IntervalInbox;
use crate::monitor_record::MonitorRecord;
use crate::seen_seconds::SeenSeconds;
use crate::share_ledger::ShareLedger;
use crate::upload_id::UploadId;
use crate::{AgentFacts, AgentId, ClockReading, EndCause, FleetTime, Observer, RunEvent};

/// How far off an instant can be that is found again by the calendar. NTP steps a clock that is off
/// by more than 128 ms, and may do so late after a boot.
const CALENDAR_ERROR_NS: u64 = 1_000_000_000;

/// A run as its stored events describe it, taken in order.
#[derive(Debug, Clone, Default)]
pub struct RunHistory {
    pub(crate) agents: Vec<PastAgent>,
    pub(crate) start_at: Option<FleetTime>,
    pub(crate) skew_told: bool,
    pub(crate) losses: u32,
    /// When the previous coordinator had ended; `None` if that is not known.
    pub(crate) left_at: Option<FleetTime>,
    /// Whether another coordinator has taken the run up, which agents obey.
    is_superseded: bool,
    /// In the order of their numbers.
    pub(crate) monitors: Vec<(AgentId, MonitorRecord)>,
    dealt: Vec<PastDeal>,
}

/// Which agents were to fire a lost agent's share.
#[derive(Debug, Clone)]
struct PastDeal {
    lost: u32,
    heirs: Vec<u32>,
    from: FleetTime,
    /// Heirs that answered, and the instant from which they fire all of it; `None` if a part is
    /// undone.
    answers: Vec<(u32, Option<FleetTime>)>,
}

/// What is known of one agent's part.
#[derive(Debug, Clone)]
pub(crate) struct PastAgent {
    pub(crate) facts: AgentFacts,
    pub(crate) clock: Option<ClockReading>,
    pub(crate) began: Option<(FleetTime, u64)>,
    pub(crate) inbox: IntervalInbox,
    pub(crate) observed: SeenSeconds,
    pub(crate) end: PastEnd,
    /// Whether it left a share, because it was lost or ended before its plan did.
    left_share: bool,
}

/// How far an agent had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PastEnd {
    /// It had not ended.
    Unfinished,
    /// It had reported its end.
    Ended,
    /// It was given up.
    Lost,
}

impl RunHistory {
    /// Takes the next event. Does not check whether its data is complete.
    pub fn take(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Assembled { agents } => {
                self.agents = agents.iter().cloned().map(PastAgent::new).collect();
                // No agent has fired yet: the run begins anew, whatever was lost before.
                self.losses = 0;
            }
            RunEvent::Ready { agent, clock, .. } => {
                self.change(*agent, |past| past.clock = Some(*clock));
            }
            RunEvent::Armed { start_at, .. } => self.start_at = Some(*start_at),
            // Another instant is announced before any agent fires.
            RunEvent::Postponed { .. } => self.start_at = None,
            RunEvent::Began {
                agent,
                at,
                bound_ns,
            } => self.change(*agent, |past| past.began = Some((*at, *bound_ns))),
            RunEvent::Started { .. } => self.skew_told = true,
            RunEvent::Interval {
                agent, interval, ..
            } => self.change(*agent, |past| {
                past.inbox.restore(UploadId::Interval(*interval));
            }),
            RunEvent::Totals {
                agent, intervals, ..
            } => self.change(*agent, |past| {
                past.inbox.restore(UploadId::Totals(*intervals));
            }),
            RunEvent::Ended {
                agent,
                cause,
                clock,
                ..
            } => self.ended(*agent, cause, *clock),
            RunEvent::Problem { agent, .. } | RunEvent::Lost { agent, .. } => {
                self.lose(*agent);
                self.change(*agent, |past| past.end = PastEnd::Lost);
            }
            RunEvent::Redistributed { agent, to, from } => {
                self.dealt.push(PastDeal {
                    lost: *agent,
                    heirs: to.clone(),
                    from: *from,
                    answers: Vec::new(),
                });
            }
            RunEvent::TakenOver { agent, by, from } => self.taken_over(*agent, *by, *from),
            RunEvent::Watching { monitor } => {
                self.monitors.push((monitor.id, MonitorRecord::default()));
            }
            RunEvent::Observed { by, second, .. } => self.observed(*by, *second),
            &RunEvent::ProfilePart {
                monitor,
                part,
                parts,
                ..
            } => self.change_monitor(monitor, |record| record.profile.stored(part, parts)),
            RunEvent::Superseded { .. } => self.is_superseded = true,
            // These leave nothing that another coordinator needs.
            RunEvent::Joined { .. }
            | RunEvent::Left { .. }
            | RunEvent::Waiting { .. }
            | RunEvent::Gone { .. }
            | RunEvent::Back { .. }
            | RunEvent::Preflight { .. }
            | RunEvent::Note { .. }
            | RunEvent::Done { .. } => {}
        }
    }

    /// Whether a start instant was announced and not withdrawn. If not, no agent can have fired.
    #[must_use]
    pub fn has_started(&self) -> bool {
        self.start_at.is_some()
    }

    /// Sets when the previous coordinator had ended: it granted no lease after that.
    pub fn left_at(&mut self, at: FleetTime) {
        self.left_at = Some(at);
    }

    /// Whether agents may still hold data of the run: one that fired has not reported its end. It
    /// may have been given up.
    #[must_use]
    pub fn may_bring_more(&self) -> bool {
        let ended = |past: &PastAgent| past.end == PastEnd::Ended;
        self.has_started() && !self.is_superseded && !self.agents.iter().all(ended)
    }

    /// Number of agents that have not reported their end.
    #[must_use]
    pub fn awaited_agents(&self) -> usize {
        let agents = self.agents.iter();
        agents.filter(|past| past.end != PastEnd::Ended).count()
    }

    /// Moves its instants from the clock of an earlier boot of the machine to the current one. How
    /// closely agents began together is then known less well, until they report it by the current
    /// clock.
    pub fn shift(&mut self, to_now: impl Fn(FleetTime) -> FleetTime) {
        self.start_at = self.start_at.map(&to_now);
        let moved = |(at, bound_ns): (FleetTime, u64)| {
            (to_now(at), bound_ns.saturating_add(CALENDAR_ERROR_NS))
        };
        for past in &mut self.agents {
            past.began = past.began.map(moved);
        }
        for deal in &mut self.dealt {
            deal.from = to_now(deal.from);
            for (_, from) in &mut deal.answers {
                *from = from.map(&to_now);
            }
        }
    }

    /// The shares as they were dealt. Heirs that did not answer may be asked again, because the
    /// deals are stored.
    pub(crate) fn shares(&self) -> ShareLedger {
        let mut shares = ShareLedger::default();
        for deal in &self.dealt {
            shares.deal(deal.lost, &deal.heirs, deal.from);
            shares.written(deal.lost);
            for (heir, from) in &deal.answers {
                shares.settle(*heir, deal.lost, *from);
            }
        }
        shares
    }

    /// Indices of the agents that left a share which was never dealt.
    pub(crate) fn undealt(&self) -> Vec<usize> {
        let is_dealt = |agent: usize| self.dealt.iter().any(|deal| deal.lost as usize == agent);
        let agents = self.agents.iter().enumerate();
        let left = agents.filter(|(_, past)| past.left_share);
        left.map(|(agent, _)| agent)
            .filter(|agent| !is_dealt(*agent))
            .collect()
    }

    fn ended(&mut self, agent: u32, cause: &EndCause, clock: Option<ClockReading>) {
        if self.is_unfinished(agent) && cause.is_early() {
            self.lose(agent);
        }
        self.change(agent, |past| {
            past.end = PastEnd::Ended;
            past.clock = clock.or(past.clock);
        });
    }

    fn taken_over(&mut self, lost: u32, by: u32, from: Option<FleetTime>) {
        let mut dealt = self.dealt.iter_mut().rev();
        if let Some(deal) = dealt.find(|deal| deal.lost == lost) {
            deal.answers.push((by, from));
        }
    }

    fn observed(&mut self, by: Observer, second: u32) {
        match by {
            Observer::Agent(agent) => self.change(agent, |past| past.observed.stored(second)),
            Observer::Monitor(monitor) => {
                self.change_monitor(monitor, |record| record.seen.stored(second));
            }
        }
    }

    fn lose(&mut self, agent: u32) {
        self.losses = self.losses.saturating_add(1);
        self.change(agent, |past| past.left_share = true);
    }

    fn is_unfinished(&self, agent: u32) -> bool {
        let past = self.agents.get(agent as usize);
        past.is_some_and(|past| past.end == PastEnd::Unfinished)
    }

    /// Changes an agent. A record with an index beyond the agents was not written by this version.
    fn change(&mut self, agent: u32, change: impl FnOnce(&mut PastAgent)) {
        if let Some(past) = self.agents.get_mut(agent as usize) {
            change(past);
        }
    }

    fn change_monitor(&mut self, monitor: u32, change: impl FnOnce(&mut MonitorRecord)) {
        if let Some((_, record)) = self.monitors.get_mut(monitor as usize) {
            change(record);
        }
    }
}

impl PastAgent {
    fn new(facts: AgentFacts) -> PastAgent {
        PastAgent {
            facts,
            clock: None,
            began: None,
            inbox: IntervalInbox::default(),
            observed: SeenSeconds::default(),
            end: PastEnd::Unfinished,
            left_share: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_of_another_boot_are_moved_and_known_less_well() {
        let mut history = RunHistory::default();
        let facts = AgentFacts {
            version: "1".into(),
            ..AgentFacts::new(crate::AgentId([1; 16]), "machine")
        };
        history.take(&RunEvent::Assembled {
            agents: vec![facts],
        });
        history.take(&RunEvent::Began {
            agent: 0,
            at: FleetTime(7),
            bound_ns: 3,
        });
        history.shift(|at| FleetTime(at.0 + 100));
        let began = history.agents[0].began;
        assert_eq!(began, Some((FleetTime(107), 3 + CALENDAR_ERROR_NS)));
    }
}
