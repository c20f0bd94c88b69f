//! What becomes of a run when agents go away: how long they are waited for, and which agents fire
//! for them.

use super::watch::PROFILE_WAIT_MAX;
use super::{FleetRun, RunPhase};
use crate::fleet_action::{Actions, Awaited};
use crate::local_run::TAKEN_OVER_MAX;
use crate::participant::{Departure, Participant, ParticipantStage};
use crate::{EndCause, FleetTime, LostPolicy, RunEvent, Stop};
use proto::from_coordinator::Message as Down;
use proto::{Notice, TakeOver, TookOver};
use std::time::Duration;

/// How long an agent whose stream ended is waited for at least, part of it while no other agent is
/// going. If the agent is there, it dials again within seconds, or after 10 s if it did not notice
/// the end of the stream.
const AWAY_ENDED_MIN: Duration = Duration::from_secs(15);

/// How long an agent that is away has after its lease to come back with what it holds. Until the
/// lease expires it may fire, whichever side ended its stream: the end of a stream can be a lasting
/// cut.
const AFTER_THE_LEASE: Duration = Duration::from_secs(10);

/// Time for all agents to dial after this side was away itself: an agent waits for at most 5 s.
const REDIAL_MAX: Duration = Duration::from_secs(8);

/// For an agent that fell silent, so that its link is cut. It notices that after two leases, and
/// what it holds is worth a minute.
const AWAY_SILENT_MIN: Duration = Duration::from_secs(60);

/// An agent that was told to stop at once is given up if it neither ends nor brings anything new
/// for this long.
const STOP_MAX: Duration = Duration::from_secs(30);

/// A run that goes on for this long after its plan and its drain is stopped.
const OVERDUE: Duration = Duration::from_secs(10);

/// By then an attached agent has reported that it began.
const BEGIN_MAX: Duration = Duration::from_secs(10);

/// Time to write down which agent fires what, before any of them is notified.
const DEALING_MARGIN: Duration = Duration::from_secs(1);

impl FleetRun {
    pub(super) fn tick_going(&mut self, now: FleetTime, start_at: FleetTime, out: &mut Actions) {
        self.stop_what_is_overdue(now, start_at, out);
        for index in 0..self.participants.len() {
            let agent = &self.participants[index];
            if agent.is_over() {
                continue;
            }
            if self.is_given_up(agent, now) {
                self.lose(index, "its stream is gone and it did not come back", out);
            } else if FleetRun::is_deaf(agent, now) {
                self.lose(index, "it was told to stop and does not", out);
            } else if has_not_begun(agent, now, start_at.max(self.attended_since)) {
                let why = "it got its lease and did not say that it began; did it stand still \
                           just then, or is its link slow?";
                self.lose(index, why, out);
            }
        }
    }

    /// Ends a drain, or a plan of a fixed length, that agents do not end in time. Agents that come
    /// back after that have time to report that they did end it.
    fn stop_what_is_overdue(&mut self, now: FleetTime, start_at: FleetTime, out: &mut Actions) {
        let drain = self.request.drain;
        match (self.stop, self.request.firing) {
            // No agent is there that goes on; those that are away are given up by their own limits.
            (None, _) if self.deserted_since.is_some() => {}
            // What agents brought waits for this side's disk, and they wait for its
            // acknowledgement.
            (None, _) if self.participants.iter().any(Participant::awaits_storage) => {}
            (None, Some(firing))
                if now
                    >= start_at
                        .after(firing + drain)
                        .max(self.attended_since)
                        .after(OVERDUE) =>
            {
                self.tell_note(
                    "overdue",
                    "the plan's time and its drain are over, and agents go on; they are stopped",
                    out,
                );
                self.stop(now, Stop::Now, out);
            }
            (Some((Stop::Drain, since)), _) if now.since(since) >= drain + OVERDUE => {
                self.stop(now, Stop::Now, out);
            }
            _ => {}
        }
    }

    /// Whether an agent was told to stop at once and has brought nothing new for too long since. An
    /// agent that still uploads is waited for; one that only dials again and again is not. One that
    /// is away can do neither.
    fn is_deaf(agent: &Participant, now: FleetTime) -> bool {
        let Some(told_at) = agent
            .told_to_stop_at()
            .filter(|_| agent.connection().is_some())
        else {
            return false;
        };
        // It can neither bring more nor end before what it brought is stored.
        if agent.awaits_storage() {
            return false;
        }
        now.since(told_at.max(agent.progress_at())) >= STOP_MAX
    }

    /// Whether an agent that is away is no longer waited for.
    fn is_given_up(&self, agent: &Participant, now: FleetTime) -> bool {
        let Some((since, _)) = agent.gone_since() else {
            return false;
        };
        if self.request.rules.lost != LostPolicy::Fail && self.deserted_since.is_none() {
            // Without a lease it never fires again, so the others go on without it. What it holds
            // is still taken later.
            return now >= agent.leased_until().unwrap_or(since);
        }
        self.is_waited_out(agent, now)
    }

    /// Whether an agent that is away was waited for long enough, also while no other was going.
    fn is_waited_out(&self, agent: &Participant, now: FleetTime) -> bool {
        let (Some((gone_since, how)), Some(deserted_since)) =
            (agent.gone_since(), self.deserted_since)
        else {
            return false;
        };
        let patience = self.request.rules.lease + AFTER_THE_LEASE;
        match how {
            Departure::Ended => {
                now.since(gone_since) >= AWAY_ENDED_MIN.max(patience)
                    && now.since(deserted_since) >= REDIAL_MAX
            }
            Departure::Silent => now.since(deserted_since) >= AWAY_SILENT_MIN.max(patience),
        }
    }

    /// Whether monitors of a run that was taken up may still dial, since this side was away itself.
    fn awaits_monitors(&self, now: FleetTime) -> bool {
        let is_early = |taken_up_at| now.since(taken_up_at) < REDIAL_MAX;
        self.taken_up_at.is_some_and(is_early) && self.watch.misses_monitors()
    }

    /// Whether data of agents that were given up may still arrive.
    pub(super) fn awaits_late_data(&self, now: FleetTime) -> bool {
        // One that is back has as long as one that was told to stop. It may dial again and again
        // and bring nothing.
        let is_awaited = |agent: &Participant| {
            agent.stage() == ParticipantStage::Lost
                && !agent.is_getting_nowhere(now)
                && match agent.connection() {
                    // It can bring nothing new before what it brought is stored.
                    Some(_) => {
                        agent.awaits_storage()
                            || now.since(agent.attached_at().max(agent.progress_at())) < STOP_MAX
                    }
                    None => !self.is_waited_out(agent, now),
                }
        };
        self.census.late() > 0 && self.participants.iter().any(is_awaited)
    }

    pub(super) fn give_up(&mut self, index: usize, violation: &str, out: &mut Actions) {
        self.lose(index, &super::violation_text(violation), out);
    }

    /// Ends an agent's part, and tells it why if it is attached. An agent that is away may deliver
    /// what it holds later.
    pub(super) fn lose(&mut self, index: usize, why: &str, out: &mut Actions) {
        let agent = &self.participants[index];
        let is_late = agent.is_over();
        let is_attached = agent.connection().is_some();
        let stage = match is_attached {
            true => ParticipantStage::Barred,
            false => ParticipantStage::Lost,
        };
        if !is_late {
            self.losses = self.losses.saturating_add(1);
            self.leave_share(index);
            let agent = &self.participants[index];
            out.tell(
                self.id(),
                RunEvent::Lost {
                    agent: index as u32,
                    next_interval: agent.inbox().next(),
                    fired_until: agent.fired_until(),
                    why: why.to_owned(),
                },
            );
        }
        self.set_stage(index, stage);
        let text = format!(
            "{}: the coordinator has given this agent up: {why}",
            self.request.name
        );
        self.send(index, Down::Notice(Notice { text }), out);
        self.release(index, out);
    }

    /// Leaves the rest of an agent's share to others, if it ended before its plan did.
    pub(super) fn on_early_end(&mut self, index: usize, cause: &EndCause) {
        if cause.is_early() {
            self.losses = self.losses.saturating_add(1);
            self.leave_share(index);
        }
    }

    pub(super) fn leave_share(&mut self, index: usize) {
        if self.request.rules.lost == LostPolicy::Redistribute {
            self.undealt.push(index);
        }
    }

    fn redistributes(&self) -> bool {
        self.request.rules.lost == LostPolicy::Redistribute
            && self.stop.is_none()
            && !self.is_spoilt()
    }

    /// Gives other agents what is left of the shares of agents that were lost since the last time.
    /// All of these are known by now, so none of them gets another's share.
    pub(super) fn deal(&mut self, now: FleetTime, start_at: FleetTime, out: &mut Actions) {
        let lost = std::mem::take(&mut self.undealt);
        if lost.is_empty() || !self.redistributes() {
            return;
        }
        let is_heir = |agent: &Participant| {
            agent.stage() == ParticipantStage::Going && agent.connection().is_some()
        };
        let places = (0_u32..).zip(&self.participants);
        let heirs: Vec<u32> = places
            .filter_map(|(index, agent)| is_heir(agent).then_some(index))
            .collect();
        if heirs.is_empty() && self.census.living() > 0 {
            // Some agents are away, and may fire it when they come back.
            self.undealt = lost;
            return;
        }
        if heirs.is_empty() {
            let text = "no agent is left that could fire the share of the lost ones";
            return self.tell_note("share", text, out);
        }
        let margin = self.margin() + DEALING_MARGIN;
        for index in lost {
            // Nothing is fired twice: the lost agent may fire until its lease expires.
            let fired_until = self.participants[index].leased_until().unwrap_or(now);
            let from = now.max(fired_until).max(start_at).after(margin);
            let is_over = |firing| from >= start_at.after(firing);
            if self.request.firing.is_some_and(is_over) {
                continue;
            }
            self.shares.deal(index as u32, &heirs, from);
            let event = RunEvent::Redistributed {
                agent: index as u32,
                to: heirs.clone(),
                from,
            };
            out.deliver(event, self.receipt(Awaited::Dealing(index as u32)));
        }
    }

    /// Notifies the heirs, once it is stored which of them fires what the agent left.
    pub(super) fn notify_heirs(&mut self, lost: u32, out: &mut Actions) {
        for (heir, order) in self.shares.note_written(lost) {
            if self.takes_orders(heir as usize) {
                self.send_take_over(heir as usize, order, out);
            }
        }
    }

    /// Whether an agent can take over a share: one that has not begun has nothing it could be added
    /// to.
    fn takes_orders(&self, index: usize) -> bool {
        let agent = &self.participants[index];
        agent.stage() == ParticipantStage::Going && agent.began().is_some()
    }

    /// Sends an agent that begins, or is back, the orders to take over that it has not answered
    /// yet.
    pub(super) fn send_take_overs(&self, index: usize, out: &mut Actions) {
        if !self.takes_orders(index) {
            return;
        }
        let orders = self.shares.open_orders(index as u32);
        for order in orders.take(TAKEN_OVER_MAX) {
            self.send_take_over(index, order, out);
        }
    }

    /// Sends an order to take over. The ledger uses the coordinator's clock, an agent that of the
    /// run.
    fn send_take_over(&self, index: usize, order: TakeOver, out: &mut Actions) {
        let RunPhase::Going { start_at, .. } = self.phase else {
            return; // the run is over, and its agents are released
        };
        let order = TakeOver {
            run_id: self.id().to_wire(),
            from_ns: order.from_ns.saturating_sub(start_at.0),
            ..order
        };
        self.send(index, Down::TakeOver(order), out);
    }

    pub(super) fn took_over(&mut self, index: usize, answer: &TookOver, out: &mut Actions) {
        let RunPhase::Going { start_at, .. } = self.phase else {
            return; // no agent was asked
        };
        let begins_at = start_at.after(Duration::from_nanos(answer.from_ns));
        let from = answer.problem.is_empty().then_some(begins_at);
        let heir = index as u32;
        let Some((lost, left_by)) = self.shares.take_answer(heir, answer.number, from) else {
            return; // a second answer, or one that was not asked for
        };
        if let Some(from) = self.shares.outcome(heir, left_by) {
            out.tell(
                self.id(),
                RunEvent::TakenOver {
                    agent: left_by,
                    by: heir,
                    from,
                },
            );
        }
        if from.is_some() {
            return;
        }
        out.tell(
            self.id(),
            RunEvent::Note {
                agent: Some(index as u32),
                event: "share".to_owned(),
                text: crate::wire::cut(format!(
                    "it cannot fire its part of what agent {lost} left, so no agent does: {}",
                    answer.problem
                )),
            },
        );
    }

    /// Reports what an agent was to fire for others and never answered for, once it has ended: no
    /// agent fires it.
    pub(super) fn tell_undone_shares(&mut self, index: usize, out: &mut Actions) {
        for lost in self.shares.retire(index as u32) {
            out.tell(
                self.id(),
                RunEvent::Note {
                    agent: Some(index as u32),
                    event: "share".to_owned(),
                    text: format!(
                        "it ended before it took over its part of what agent {lost} left, so no \
                         agent fires it; was the disk full, or its link cut?"
                    ),
                },
            );
        }
    }

    /// Notes that this side stood still until now. The limits for a beginning, the end of a plan,
    /// agents that are away, and a profile count anew.
    pub(crate) fn note_standstill(&mut self, now: FleetTime) {
        self.attended_since = now;
        self.deserted_since = self.deserted_since.map(|_| now);
        self.fired_out_at = self.fired_out_at.map(|_| now);
    }

    /// Notes since when no agent is going, and forgets it once one is.
    pub(super) fn watch_desertion(&mut self, now: FleetTime) {
        let is_deserted = self.census.living_attached() == 0;
        if self.deserted_since.is_some() && !is_deserted {
            self.attended_since = now;
        }
        self.deserted_since = is_deserted.then(|| self.deserted_since.unwrap_or(now));
    }

    /// Deals shares, reports the skew, and ends the run once all agents are over.
    pub(super) fn conclude_going(
        &mut self,
        now: FleetTime,
        start_at: FleetTime,
        out: &mut Actions,
    ) {
        self.deal(now, start_at, out);
        let RunPhase::Going { skew_told, .. } = &mut self.phase else {
            return;
        };
        if !*skew_told && self.census.has_begun() {
            *skew_told = true;
            self.tell_skew(out);
        }
        if self.census.living() > 0 || self.awaits_late_data(now) || self.awaits_monitors(now) {
            return;
        }
        self.release_monitors(out);
        let fired_out_at = *self.fired_out_at.get_or_insert(now);
        if self.watch.awaits_profile() && now.since(fired_out_at) < PROFILE_WAIT_MAX {
            return;
        }
        self.tell_missing_profiles(out);
        self.finish(crate::RunOutcome::Ran, out);
    }
}

/// Whether an attached agent could have said since `from` that it began, and did not in time.
fn has_not_begun(agent: &Participant, now: FleetTime, from: FleetTime) -> bool {
    let has_brought = agent.began().is_some() || agent.inbox().next() > 0;
    // An agent that came back reports its beginning again, once it has read its welcome.
    let since = from.max(agent.attached_at());
    agent.connection().is_some() && !has_brought && now >= since.after(BEGIN_MAX)
}
