//! One run, from handing out the plan to the end of its last agent.

mod census;
mod file_lists;
mod losing;
mod preparing;
mod starting;
mod watch;

use crate::clock::nanoseconds;
use crate::fleet_action::{Actions, Awaited, Receipt};
use crate::interval_inbox::Taken;
use crate::participant::{Departure, Participant, ParticipantStage};
use crate::seen_seconds::SeenSeconds;
use crate::share_ledger::ShareLedger;
use crate::upload_id::UploadId;
use crate::wire::{BUSY, ack, clock, cut, end_cause};
use crate::{
    AgentFacts, AgentId, ConnectionId, FleetTime, FleetToken, Observer, RunEvent, RunId, RunModel,
    RunOutcome, RunRequest, Skew, Stop,
};
use census::Census;
use file_lists::FileLists;
use proto::ack::Stored;
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{Beat, Bytes, Ended, Grant, IntervalPart, Note, Observed, Received, Release, Resume};
use std::collections::BTreeMap;
use std::time::Duration;
use watch::Watch;

/// A run, the agents that serve it, and the monitors that watch it.
#[derive(Debug)]
pub(crate) struct FleetRun {
    request: RunRequest,
    participants: Vec<Participant>,
    /// Changes with every stage and attachment; see [`FleetRun::change`].
    census: Census,
    indices: BTreeMap<AgentId, usize>,
    files: FileLists,
    phase: RunPhase,
    /// The strongest stop that was requested, and when.
    stop: Option<(Stop, FleetTime)>,
    /// Since when no agent is going, because all are over or away.
    deserted_since: Option<FleetTime>,
    /// Since when agents are going again, or were going most recently, and this side heard them.
    attended_since: FleetTime,
    /// Agents that were lost, or that ended before their plan did.
    losses: u32,
    shares: ShareLedger,
    /// Lost agents whose shares have not been dealt yet.
    undealt: Vec<usize>,
    watch: Watch,
    /// Since when all agents are done, and only a CPU profile can delay the end of the run.
    fired_out_at: Option<FleetTime>,
    /// When this side took the run up, if another coordinator began it.
    taken_up_at: Option<FleetTime>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunPhase {
    /// Agents receive the plan and answer.
    Preparing(AnswerWait),
    /// The start instant is announced: agents learn of it, and then ask for their leases.
    Arming(StartAttempt),
    /// Every agent knew the instant and has a lease. `skew_told` says whether the skew was
    /// reported.
    Going {
        start_at: FleetTime,
        skew_told: bool,
    },
    /// The run is over, and everything about it was reported.
    Done(RunOutcome),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AnswerWait {
    /// How long agents have to answer, which is until `until`.
    within: Duration,
    until: FleetTime,
    /// Start instants that were announced in vain.
    attempts: u32,
}

/// A start instant that is announced to agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StartAttempt {
    /// Counts the attempts of this run, from 1.
    number: u32,
    start_at: FleetTime,
    /// Time from its announcement to the instant.
    margin: Duration,
    /// Whether the instant is stored.
    is_written: bool,
    /// Whether agents were sent Go: every agent knows the instant.
    is_known: bool,
}

impl FleetRun {
    /// Starts a run by handing out its plan.
    pub(crate) fn begin(
        request: RunRequest,
        agents: Vec<(AgentFacts, ConnectionId)>,
        now: FleetTime,
        out: &mut Actions,
    ) -> FleetRun {
        out.tell(
            request.run,
            RunEvent::Assembled {
                agents: agents.iter().map(|(facts, _)| facts.clone()).collect(),
            },
        );
        let participants: Vec<Participant> = agents
            .into_iter()
            .map(|(facts, at)| Participant::new(facts, at, now, request.agents))
            .collect();
        let mut run = FleetRun::new(request, participants, ShareLedger::default(), now);
        run.wait_for_answers(now, 0);
        (0..run.participants.len()).for_each(|index| run.prepare(index, out));
        run
    }

    /// Takes up a run that another coordinator left: agents that have not ended are waited for as
    /// if they had just fallen silent. The run must have started.
    pub(crate) fn resume(
        request: RunRequest,
        past: RunModel,
        start_at: FleetTime,
        now: FleetTime,
        out: &mut Actions,
    ) -> FleetRun {
        let shares = past.shares();
        let (losses, skew_told) = (past.losses(), past.skew_told());
        let (undealt, watch) = (past.undealt(), Watch::from_past(past.monitor_records()));
        // The previous coordinator granted no lease after it ended. Agents are waited for all the
        // same, because they dial again as soon as they find a coordinator.
        let left_at = past.left_at().unwrap_or(now).min(now);
        let lease = request.rules.lease;
        let leases = (now.after(lease), left_at.after(lease));
        let participants: Vec<Participant> = past
            .into_agents()
            .into_iter()
            .map(|past| Participant::from_past(past, now, leases, request.agents))
            .collect();
        let mut run = FleetRun::new(request, participants, shares, now);
        run.watch = watch;
        run.losses = losses;
        run.taken_up_at = Some(now);
        undealt.into_iter().for_each(|index| run.leave_share(index));
        run.phase = RunPhase::Going {
            start_at,
            skew_told,
        };
        for (agent, _) in (0_u32..)
            .zip(&run.participants)
            .filter(|(_, agent)| !agent.is_over())
        {
            let why = "its coordinator was gone".to_owned();
            out.tell(run.id(), RunEvent::Gone { agent, why });
        }
        run.watch_desertion(now);
        run.conclude(now, out);
        run
    }

    fn new(
        request: RunRequest,
        participants: Vec<Participant>,
        shares: ShareLedger,
        now: FleetTime,
    ) -> FleetRun {
        let places = participants.iter().enumerate();
        FleetRun {
            indices: places.map(|(index, agent)| (agent.id(), index)).collect(),
            census: Census::from_agents(&participants),
            files: FileLists::new(&request.files),
            phase: RunPhase::Done(RunOutcome::NotStarted),
            stop: None,
            deserted_since: None,
            attended_since: now,
            losses: 0,
            shares,
            undealt: Vec::new(),
            watch: Watch::default(),
            fired_out_at: None,
            taken_up_at: None,
            request,
            participants,
        }
    }

    pub(crate) fn id(&self) -> RunId {
        self.request.run
    }

    /// The zero of the run clock, once it is settled.
    pub(crate) fn started_at(&self) -> Option<FleetTime> {
        match self.phase {
            RunPhase::Going { start_at, .. } => Some(start_at),
            _ => None,
        }
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.request.epoch
    }

    pub(crate) fn lease(&self) -> Duration {
        self.request.rules.lease
    }

    /// How the run ended, once it has.
    pub(crate) fn outcome(&self) -> Option<RunOutcome> {
        match self.phase {
            RunPhase::Done(outcome) => Some(outcome),
            _ => None,
        }
    }

    pub(crate) fn has(&self, agent: AgentId) -> bool {
        self.index(agent).is_some()
    }

    /// Handles an agent's beat: grants a lease if the agent may fire.
    pub(crate) fn beat(&mut self, now: FleetTime, agent: AgentId, beat: &Beat, out: &mut Actions) {
        let Some(index) = self.index(agent) else {
            return; // the fleet checks `has` first
        };
        self.participants[index].set_clock(clock(beat.clock));
        if self.asks(index, beat.sequence) {
            return self.conclude(now, out);
        }
        // An agent that does not hear a hard stop is stopped too, because its lease is not renewed.
        let may_fire = self.participants[index].stage() == ParticipantStage::Going
            && !matches!(self.stop, Some((Stop::Now, _)));
        match may_fire {
            true => self.grant_lease(now, index, beat.sequence, out),
            false => self.send(index, Down::Grant(without_lease(now, beat.sequence)), out),
        }
    }

    fn grant_lease(&mut self, now: FleetTime, index: usize, sequence: u64, out: &mut Actions) {
        let lease = self.request.rules.lease;
        self.participants[index].lease(now.after(lease));
        let grant = Grant {
            lease_ns: nanoseconds(lease),
            run_id: self.id().to_wire(),
            ..without_lease(now, sequence)
        };
        self.send(index, Down::Grant(grant), out);
    }

    /// Handles a member's message about this run.
    pub(crate) fn on_message(
        &mut self,
        now: FleetTime,
        agent: AgentId,
        message: Up,
        out: &mut Actions,
    ) {
        let Some(index) = self.index(agent) else {
            return self.on_monitor_message(now, agent, message, out);
        };
        match message {
            Up::Want(want) => self.on_want(index, &want, out),
            Up::Prepared(prepared) => self.on_prepared(now, index, prepared, out),
            Up::Armed(armed) => self.on_armed(index, &armed, out),
            Up::Began(began) => self.began(index, &began, out),
            Up::Interval(part) => self.upload(now, index, part, out),
            Up::TookOver(answer) => self.took_over(index, &answer, out),
            Up::Ended(ended) => self.on_end(index, ended, out),
            Up::Note(note) => self.note(now, index, note, out),
            Up::Observed(observed) => {
                self.on_observation(now, Observer::Agent(index as u32), observed, out);
            }
            // The fleet handles hellos and beats itself, and only monitors send profiles.
            Up::Hello(_) | Up::Beat(_) | Up::Profile(_) => {}
        }
        self.watch_desertion(now);
        self.conclude(now, out);
    }

    /// Where an agent's upload continues, if the agent may still deliver.
    pub(crate) fn upload_of(&self, agent: AgentId) -> Option<Resume> {
        let participant = &self.participants[self.index(agent)?];
        let is_wanted = participant.may_upload() || !participant.is_over();
        is_wanted.then(|| participant.resume(self.id(), self.epoch()))
    }

    /// Yields to another coordinator that has taken the run up. Agents obey that one, so nothing is
    /// sent to them here; monitors watch for the next run.
    pub(crate) fn supersede(&mut self, epoch: u64, out: &mut Actions) {
        let outcome = RunOutcome::Superseded;
        self.phase = RunPhase::Done(outcome);
        self.release_monitors(out);
        out.tell(self.id(), RunEvent::Superseded { epoch });
        out.tell(self.id(), RunEvent::Done { outcome });
    }

    /// Handles a new stream of an agent of this run. `holds_run` says whether the agent has begun
    /// the run and was not released from it.
    pub(crate) fn on_attach(
        &mut self,
        now: FleetTime,
        agent: AgentId,
        connection: ConnectionId,
        holds_run: bool,
        out: &mut Actions,
    ) {
        // The fleet checks `has` first; a spare agent has nothing to continue.
        let Some(index) = self.index(agent) else {
            return;
        };
        self.change(index, |agent| agent.attach(now, connection));
        match self.participants[index].stage() {
            // Its data was acknowledged, or is no longer wanted.
            ParticipantStage::Ended | ParticipantStage::Barred => self.release(index, out),
            ParticipantStage::Lost => self.attach_late(index, holds_run, out),
            _ => {
                out.tell(
                    self.id(),
                    RunEvent::Back {
                        agent: index as u32,
                    },
                );
                self.attach_living(now, index, holds_run, out);
            }
        }
        self.watch_desertion(now);
        self.conclude(now, out);
    }

    /// Handles the return of an agent that was given up, with the data it holds.
    fn attach_late(&mut self, index: usize, holds_run: bool, out: &mut Actions) {
        // Without the run it has nothing left to deliver.
        if !holds_run {
            return self.set_stage(index, ParticipantStage::Barred);
        }
        out.tell(
            self.id(),
            RunEvent::Back {
                agent: index as u32,
            },
        );
        self.acknowledge_totals(index, out);
        self.send_stop(index, Stop::Now, out);
    }

    fn attach_living(&mut self, now: FleetTime, index: usize, holds_run: bool, out: &mut Actions) {
        match (self.phase, holds_run) {
            (RunPhase::Preparing(_) | RunPhase::Arming(_), _) => {
                self.set_stage(index, ParticipantStage::Preparing);
                self.prepare(index, out);
            }
            (_, true) if self.participants[index].is_getting_nowhere(now) => {
                self.lose(
                    index,
                    "stream after stream brought nothing new; is the link to it too slow, or cut \
                     by something?",
                    out,
                );
            }
            (_, true) => {
                self.acknowledge_totals(index, out);
                self.resend_stop(now, index, out);
                self.send_take_overs(index, out);
                // The agent has counted those that expired, and would count them once more.
                let tokens = self.request.tokens.iter();
                for token in tokens.filter(|token| token.lasts(now)) {
                    self.send_token(now, index, token, out);
                }
            }
            (_, false) if self.participants[index].began().is_some() => {
                self.lose(index, "it does not hold the run any more", out);
            }
            (_, false) => self.lose(index, "it was away when the run started", out),
        }
    }

    /// Passes a new token on to the agents that are ready; others get it when they are.
    pub(crate) fn put_token(&mut self, now: FleetTime, token: FleetToken, out: &mut Actions) {
        let message = token.to_wire(self.id(), now);
        for (index, agent) in self.participants.iter().enumerate() {
            if agent.stage() != ParticipantStage::Preparing && !agent.is_over() {
                self.send(index, Down::Token(message.clone()), out);
            }
        }
        token.replace_in(&mut self.request.tokens);
    }

    fn send_token(&self, now: FleetTime, index: usize, token: &FleetToken, out: &mut Actions) {
        self.send(index, Down::Token(token.to_wire(self.id(), now)), out);
    }

    /// Gives up an agent that broke the protocol. Its part in this run ends here, because another
    /// stream would bring the same again.
    pub(crate) fn on_violation(
        &mut self,
        now: FleetTime,
        agent: AgentId,
        what: &str,
        out: &mut Actions,
    ) {
        // A spare agent, or one already given up, has no part that could end.
        let Some(index) = self
            .index(agent)
            .filter(|&index| !self.participants[index].is_over())
        else {
            return;
        };
        self.give_up(index, what, out);
        self.watch_desertion(now);
        self.conclude(now, out);
    }

    /// Handles the end of an agent's stream.
    pub(crate) fn on_detach(
        &mut self,
        now: FleetTime,
        agent: AgentId,
        how: Departure,
        why: &str,
        out: &mut Actions,
    ) {
        // The stream of a spare agent does not concern this run.
        let Some(index) = self.index(agent) else {
            return;
        };
        self.change(index, |agent| agent.detach(now, how));
        if !self.participants[index].is_over() {
            out.tell(
                self.id(),
                RunEvent::Gone {
                    agent: index as u32,
                    why: why.to_owned(),
                },
            );
        }
        self.watch_desertion(now);
    }

    /// Handles a receipt: the caller has taken what it is for.
    pub(crate) fn on_receipt(&mut self, now: FleetTime, receipt: Receipt, out: &mut Actions) {
        match receipt.what {
            Awaited::Dealing(lost) => self.notify_heirs(lost, out),
            Awaited::Start(number) => {
                self.start_written(number);
                self.conclude(now, out);
            }
            Awaited::Upload(agent, upload) => {
                self.participants[agent as usize].note_delivery(now, upload);
                self.acknowledge(Observer::Agent(agent), upload.to_stored(), out);
            }
            Awaited::Observation(by, second) => {
                self.seconds_of(by).note_stored(second);
                self.acknowledge(by, Stored::Second(second), out);
            }
            Awaited::ProfilePart {
                monitor,
                part,
                parts,
            } => {
                self.watch.record(monitor).profile.note_stored(part, parts);
                self.acknowledge(Observer::Monitor(monitor), Stored::ProfilePart(part), out);
            }
        }
    }

    /// Stops the run early. A stop that is no stronger than an earlier one changes nothing.
    pub(crate) fn stop(&mut self, now: FleetTime, how: Stop, out: &mut Actions) {
        if self.stop.is_some_and(|(before, _)| before >= how) {
            // It was sent already, and is sent again to agents that come back.
            return;
        }
        self.stop = Some((how, now));
        match self.phase {
            // No agent has a lease, so none fires.
            RunPhase::Preparing(_) | RunPhase::Arming(_) => {
                self.finish(RunOutcome::StoppedBeforeStart(how), out)
            }
            RunPhase::Going { .. } => {
                (0..self.participants.len()).for_each(|index| self.resend_stop(now, index, out))
            }
            RunPhase::Done(_) => {}
        }
    }

    /// Does what is due when time passes.
    pub(crate) fn tick(&mut self, now: FleetTime, out: &mut Actions) {
        match self.phase {
            RunPhase::Preparing(_) | RunPhase::Arming(_) => self.tick_preparing(now, out),
            RunPhase::Going { start_at, .. } => self.tick_going(now, start_at, out),
            RunPhase::Done(_) => return,
        }
        self.watch_desertion(now);
        self.conclude(now, out);
    }

    fn upload(&mut self, now: FleetTime, index: usize, part: IntervalPart, out: &mut Actions) {
        let agent = &mut self.participants[index];
        // An agent that was given up for good may keep uploading until it reads that it was.
        if !agent.may_upload() {
            return;
        }
        let upload = UploadId::from_wire(part.interval, part.totals);
        let received = Received {
            run_id: self.request.run.to_wire(),
            interval: part.interval,
            totals: part.totals,
            parts: part.part.saturating_add(1),
        };
        let taken = agent.upload(now, part);
        if taken.as_ref().is_ok_and(|taken| *taken != Taken::Delivered) {
            // The agent paces its upload by what arrived, not by what is stored.
            self.send(index, Down::Received(received), out);
        }
        match taken {
            Err(violation) => self.give_up(index, &violation.to_string(), out),
            Ok(Taken::InPart | Taken::Pending) => {}
            Ok(Taken::Delivered) => {
                self.acknowledge(Observer::Agent(index as u32), upload.to_stored(), out);
            }
            Ok(Taken::New(encoded)) => {
                let receipt = self.receipt(Awaited::Upload(index as u32, upload));
                out.deliver(upload_event(index as u32, upload, encoded), receipt);
            }
        }
    }

    /// Acknowledges stored totals again: a welcome cannot say so, and a cut stream may have lost
    /// the first acknowledgement.
    fn acknowledge_totals(&self, index: usize, out: &mut Actions) {
        if let Some(totals) = self.participants[index].inbox().stored_totals() {
            self.acknowledge(Observer::Agent(index as u32), totals.to_stored(), out);
        }
    }

    fn acknowledge(&self, by: Observer, stored: Stored, out: &mut Actions) {
        let at = match by {
            Observer::Agent(index) => self.participants[index as usize].connection(),
            Observer::Monitor(number) => self.watch.connection(number),
        };
        at.into_iter()
            .for_each(|at| out.send(at, ack(self.id(), stored)));
    }

    fn on_end(&mut self, index: usize, ended: Ended, out: &mut Actions) {
        let agent = &self.participants[index];
        if !agent.may_upload() {
            return;
        }
        let was_lost = agent.is_over();
        let cause = end_cause(ended.cause, &ended.text);
        out.tell(
            self.id(),
            RunEvent::Ended {
                agent: index as u32,
                cause: cause.clone(),
                missing: agent.inbox().missing(),
                figures: ended.figures,
                clock: clock(ended.clock).or(agent.clock()),
            },
        );
        self.set_stage(index, ParticipantStage::Ended);
        self.tell_undone_shares(index, out);
        // A lost agent's share was left to others when it was lost.
        if !was_lost {
            self.on_early_end(index, &cause);
        }
    }

    /// Takes what an agent or a monitor observed of its machine.
    fn on_observation(
        &mut self,
        now: FleetTime,
        by: Observer,
        observed: Observed,
        out: &mut Actions,
    ) {
        let Some(start_at) = self.started_at() else {
            return;
        };
        let (run, second) = (self.id(), observed.second);
        let running_for = now.since(start_at);
        if self
            .seconds_of(by)
            .take((run, by), running_for, observed, out)
        {
            self.acknowledge(by, Stored::Second(second), out);
        }
    }

    fn seconds_of(&mut self, by: Observer) -> &mut SeenSeconds {
        match by {
            Observer::Agent(index) => self.participants[index as usize].seconds(),
            Observer::Monitor(number) => &mut self.watch.record(number).seen,
        }
    }

    fn receipt(&self, what: Awaited) -> Receipt {
        let run = self.id();
        Receipt { run, what }
    }

    fn note(&mut self, now: FleetTime, index: usize, note: Note, out: &mut Actions) {
        if note.event == BUSY {
            self.wait_for_busy(now, index);
        }
        if self.participants[index].may_note() {
            out.tell(
                self.id(),
                RunEvent::Note {
                    agent: Some(index as u32),
                    event: cut(note.event),
                    text: cut(note.text),
                },
            );
        }
    }

    /// Goes to the next phase, reports the skew or ends the run, if its agents have come far
    /// enough.
    fn conclude(&mut self, now: FleetTime, out: &mut Actions) {
        // Each round ends an agent's part or goes a phase further, so the loop ends.
        loop {
            let before = (self.phase, self.losses);
            match self.phase {
                RunPhase::Preparing(preparation) => {
                    self.conclude_preparing(now, preparation.attempts, out)
                }
                RunPhase::Arming(attempt) => self.conclude_arming(now, attempt, out),
                RunPhase::Going { start_at, .. } => self.conclude_going(now, start_at, out),
                RunPhase::Done(_) => return,
            }
            if before == (self.phase, self.losses) {
                return;
            }
        }
    }

    fn conclude_preparing(&mut self, now: FleetTime, attempts: u32, out: &mut Actions) {
        // The problems of all agents are collected before the run is over, but agents that are away
        // are not waited for.
        let all_answered = self.census.count_attached(ParticipantStage::Preparing) == 0;
        if self.census.living() == 0 || (self.is_spoilt() && all_answered) {
            self.finish(RunOutcome::NotStarted, out);
        } else if !self.is_spoilt() && self.census.all_are(ParticipantStage::Ready) {
            self.arm(now, attempts, out);
        }
    }

    fn conclude_arming(&mut self, now: FleetTime, attempt: StartAttempt, out: &mut Actions) {
        if self.is_spoilt() || self.census.living() == 0 {
            self.finish(RunOutcome::NotStarted, out);
        } else if now >= attempt.decision_at() {
            self.postpone(now, attempt, out);
        } else if attempt.is_known && self.census.all_are(ParticipantStage::Asking) {
            self.go(now, attempt, out);
        } else if !attempt.is_known
            && attempt.is_written
            && self.census.all_are(ParticipantStage::Armed)
        {
            self.make_known(attempt, out);
        }
    }

    fn tell_skew(&self, out: &mut Actions) {
        let began = self.participants.iter().filter_map(Participant::began);
        if let Some(skew) = Skew::between(&began.collect::<Vec<_>>()) {
            out.tell(self.id(), RunEvent::Started { skew });
        }
    }

    fn finish(&mut self, outcome: RunOutcome, out: &mut Actions) {
        self.phase = RunPhase::Done(outcome);
        (0..self.participants.len()).for_each(|index| self.release(index, out));
        out.tell(self.id(), RunEvent::Done { outcome });
    }

    /// Tells an agent to stop, if the run is to stop and the agent is attached.
    fn resend_stop(&mut self, now: FleetTime, index: usize, out: &mut Actions) {
        let agent = &mut self.participants[index];
        let Some((how, _)) = self.stop.filter(|_| !agent.is_over()) else {
            return;
        };
        if how == Stop::Now && agent.connection().is_some() {
            agent.note_told_to_stop(now);
        }
        self.send_stop(index, how, out);
    }

    fn send_stop(&self, index: usize, how: Stop, out: &mut Actions) {
        let stop = proto::Stop {
            run_id: self.id().to_wire(),
            now: how == Stop::Now,
        };
        self.send(index, Down::Stop(stop), out);
    }

    fn release(&self, index: usize, out: &mut Actions) {
        self.send(
            index,
            Down::Release(Release {
                run_id: self.id().to_wire(),
            }),
            out,
        );
    }

    fn send(&self, index: usize, message: Down, out: &mut Actions) {
        if let Some(connection) = self.participants[index].connection() {
            out.send(connection, message);
        }
    }

    fn tell_note(&self, event: &str, text: &str, out: &mut Actions) {
        out.tell(
            self.id(),
            RunEvent::Note {
                agent: None,
                event: event.to_owned(),
                text: text.to_owned(),
            },
        );
    }

    fn set_stage(&mut self, index: usize, stage: ParticipantStage) {
        self.change(index, |agent| agent.set_stage(stage));
    }

    /// Changes an agent and counts it anew. Every change of a stage, of an attachment, and of
    /// whether an agent began goes through here.
    fn change<T>(&mut self, index: usize, change: impl FnOnce(&mut Participant) -> T) -> T {
        let agent = &mut self.participants[index];
        self.census.remove(agent);
        let result = change(agent);
        self.census.add(agent);
        result
    }

    fn index(&self, agent: AgentId) -> Option<usize> {
        self.indices.get(&agent).copied()
    }
}

/// The answer to a beat of an agent that may not fire.
pub(crate) fn without_lease(now: FleetTime, sequence: u64) -> Grant {
    Grant {
        sequence,
        coordinator_at_ns: now.0,
        ..Grant::default()
    }
}

fn upload_event(agent: u32, upload: UploadId, encoded: Bytes) -> RunEvent {
    match upload {
        UploadId::Interval(interval) => RunEvent::Interval {
            agent,
            interval,
            encoded,
        },
        UploadId::Totals(intervals) => RunEvent::Totals {
            agent,
            intervals,
            encoded,
        },
    }
}

/// Why an agent that broke the protocol by `what` is given up.
pub(crate) fn violation_text(what: &str) -> String {
    format!("the agent broke the protocol: {what}; run the same version on both")
}
