//! One run from the plan to the last agent's end.

mod census;
mod file_lists;
mod losing;
mod preparing;
mod starting;

use crate::clock::nanoseconds;
use crate::fleet_action::{Actions, Awaited, Receipt};
use crate::interval_inbox::Taken;
use crate::monitor_record::MonitorRecord;
use crate::participant::{Departure, Participant, ParticipantStage};
use crate::seen_seconds::observed_ack;
use crate::share_ledger::ShareLedger;
use crate::upload_id::UploadId;
use crate::wire::{BUSY, clock, cut, end_cause};
use crate::{
    AgentFacts, AgentId, ConnectionId, FleetTime, Observer, RunEvent, RunHistory, RunId,
    RunOutcome, RunRequest, Skew, Stop,
};
use census::Census;
use file_lists::FileLists;
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{
    Ack, Beat, Bytes, Ended, Grant, IntervalPart, Note, Observed, Received, Release, Resume,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// A run over these agents.
#[derive(Debug)]
pub(crate) struct FleetRun {
    request: RunRequest,
    participants: Vec<Participant>,
    /// Changed with every stage and attachment: see [`FleetRun::change`].
    census: Census,
    indices: BTreeMap<AgentId, usize>,
    files: FileLists,
    phase: RunPhase,
    /// The strongest stop asked for, and when.
    stop: Option<(Stop, FleetTime)>,
    /// Since when nobody is going: every agent is over or away.
    deserted_since: Option<FleetTime>,
    /// Since when somebody is, or was last.
    attended_since: FleetTime,
    /// Agents that were lost, or ended before their plan did.
    losses: u32,
    shares: ShareLedger,
    /// Lost agents whose shares nobody has got yet.
    undealt: Vec<usize>,
    /// Those who watched for it before this coordinator took it up.
    past_monitors: Vec<(AgentId, MonitorRecord)>,
    /// A monitor that is there has not delivered its CPU profile.
    awaits_profile: bool,
    /// Since when that is all that may keep it from its end.
    fired_out_at: Option<FleetTime>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunPhase {
    /// Agents get the plan and answer.
    Preparing(AnswerWait),
    /// The start instant is named, agents learn of it, and then ask for their leases.
    Arming(StartAttempt),
    /// Every agent knew the instant and has a lease; whether the skew was told.
    Going {
        start_at: FleetTime,
        skew_told: bool,
    },
    /// All is said.
    Done(RunOutcome),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AnswerWait {
    /// How long agents have to answer, and until when.
    within: Duration,
    until: FleetTime,
    /// Start instants that were named in vain.
    attempts: u32,
}

/// A start instant that agents are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StartAttempt {
    /// From 1.
    number: u32,
    start_at: FleetTime,
    /// From naming it to the instant.
    margin: Duration,
    /// Whether it is stored.
    is_written: bool,
    /// Whether agents got Go: every agent knows the instant.
    is_known: bool,
}

impl FleetRun {
    /// Hands out the plan.
    pub(crate) fn begin(
        request: RunRequest,
        agents: Vec<(AgentFacts, ConnectionId)>,
        now: FleetTime,
        out: &mut Actions,
    ) -> FleetRun {
        out.tell(RunEvent::Assembled {
            agents: agents.iter().map(|(facts, _)| facts.clone()).collect(),
        });
        let participants: Vec<Participant> = agents
            .into_iter()
            .map(|(facts, at)| Participant::new(facts, at, now, request.agents))
            .collect();
        let mut run = FleetRun::new(request, participants, ShareLedger::default(), now);
        run.wait_for_answers(now, 0);
        (0..run.participants.len()).for_each(|index| run.prepare(index, out));
        run
    }

    /// Takes up what another coordinator left: agents that have not ended are waited for as if they
    /// had just fallen silent. Only of a run that has started.
    pub(crate) fn resume(
        request: RunRequest,
        history: RunHistory,
        start_at: FleetTime,
        now: FleetTime,
        out: &mut Actions,
    ) -> FleetRun {
        let shares = history.shares();
        let (losses, skew_told) = (history.losses, history.skew_told);
        let undealt = history.undealt();
        // The coordinator before granted nothing after it ended. Agents are waited for all the
        // same: they dial again as soon as they find a coordinator.
        let left_at = history.left_at.unwrap_or(now).min(now);
        let lease = request.rules.lease;
        let leases = (now.after(lease), left_at.after(lease));
        let participants: Vec<Participant> = history
            .agents
            .into_iter()
            .map(|past| Participant::from_past(past, now, leases, request.agents))
            .collect();
        let mut run = FleetRun::new(request, participants, shares, now);
        run.past_monitors = history.monitors;
        run.losses = losses;
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
            out.tell(RunEvent::Gone { agent, why });
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
            past_monitors: Vec::new(),
            awaits_profile: false,
            fired_out_at: None,
            request,
            participants,
        }
    }

    pub(crate) fn id(&self) -> RunId {
        self.request.run
    }

    pub(crate) fn name(&self) -> &str {
        &self.request.name
    }

    /// How long the plan fires, if it says so.
    pub(crate) fn firing(&self) -> Option<Duration> {
        self.request.firing
    }

    /// Where the run clock stands at 0, once that is settled.
    pub(crate) fn started_at(&self) -> Option<FleetTime> {
        match self.phase {
            RunPhase::Going { start_at, .. } => Some(start_at),
            _ => None,
        }
    }

    pub(crate) fn past_monitors(&self) -> &[(AgentId, MonitorRecord)] {
        &self.past_monitors
    }

    /// Whether monitors still owe it a CPU profile.
    pub(crate) fn set_awaits_profile(&mut self, awaits: bool) {
        self.awaits_profile = awaits;
    }

    /// Whether all agents are done, and nothing of them is awaited.
    pub(crate) fn is_fired_out(&self) -> bool {
        self.fired_out_at.is_some()
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.request.epoch
    }

    pub(crate) fn lease(&self) -> Duration {
        self.request.rules.lease
    }

    /// How it ended, once all is said.
    pub(crate) fn outcome(&self) -> Option<RunOutcome> {
        match self.phase {
            RunPhase::Done(outcome) => Some(outcome),
            _ => None,
        }
    }

    pub(crate) fn has(&self, agent: AgentId) -> bool {
        self.index(agent).is_some()
    }

    /// An agent beats: it gets its lease, if it may fire.
    pub(crate) fn beat(&mut self, now: FleetTime, agent: AgentId, beat: &Beat, out: &mut Actions) {
        let Some(index) = self.index(agent) else {
            return; // the fleet asks `has` before
        };
        self.participants[index].set_clock(clock(beat.clock));
        if self.asks(index, beat.sequence) {
            return self.conclude(now, out);
        }
        // A stop at once that an agent does not hear ends it all the same: by its lease.
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

    /// An agent said something about this run.
    pub(crate) fn received(
        &mut self,
        now: FleetTime,
        agent: AgentId,
        message: Up,
        out: &mut Actions,
    ) {
        // An agent that waits for the next run may still speak of this one.
        let Some(index) = self.index(agent) else {
            return;
        };
        match message {
            Up::Want(want) => self.wanted(index, &want, out),
            Up::Prepared(prepared) => self.prepared(index, prepared, out),
            Up::Armed(armed) => self.armed(index, &armed),
            Up::Began(began) => self.began(index, &began, out),
            Up::Interval(part) => self.upload(now, index, part, out),
            Up::TookOver(answer) => self.took_over(index, &answer, out),
            Up::Ended(ended) => self.ended(index, ended, out),
            Up::Note(note) => self.note(now, index, note, out),
            Up::Observed(observed) => self.observed(now, index, observed, out),
            // Monitors are not agents of a run.
            Up::Hello(_) | Up::Beat(_) | Up::Profile(_) => {}
        }
        self.watch_desertion(now);
        self.conclude(now, out);
    }

    /// Where the upload of an agent that may still deliver goes on.
    pub(crate) fn upload_of(&self, agent: AgentId) -> Option<Resume> {
        let participant = &self.participants[self.index(agent)?];
        let is_wanted = participant.may_upload() || !participant.is_over();
        is_wanted.then(|| participant.resume(self.id(), self.epoch()))
    }

    /// Somebody else has taken the run up: agents obey it, and nothing is said to them here.
    pub(crate) fn supersede(&mut self, epoch: u64, out: &mut Actions) {
        let outcome = RunOutcome::Superseded;
        self.phase = RunPhase::Done(outcome);
        out.tell(RunEvent::Superseded { epoch });
        out.tell(RunEvent::Done { outcome });
    }

    /// An agent of this run has a new stream; `holds_run` if it has begun and was not released.
    pub(crate) fn attached(
        &mut self,
        now: FleetTime,
        agent: AgentId,
        connection: ConnectionId,
        holds_run: bool,
        out: &mut Actions,
    ) {
        // The fleet asks `has` before; one that is spare has nothing to go on with.
        let Some(index) = self.index(agent) else {
            return;
        };
        self.change(index, |agent| agent.attach(now, connection));
        match self.participants[index].stage() {
            // Its data was acknowledged, or is not wanted any more.
            ParticipantStage::Ended | ParticipantStage::Barred => self.release(index, out),
            ParticipantStage::Lost => self.attached_late(index, holds_run, out),
            _ => {
                out.tell(RunEvent::Back {
                    agent: index as u32,
                });
                self.attached_living(now, index, holds_run, out);
            }
        }
        self.watch_desertion(now);
        self.conclude(now, out);
    }

    /// An agent that was given up is back with what it holds.
    fn attached_late(&mut self, index: usize, holds_run: bool, out: &mut Actions) {
        if !holds_run {
            return self.set_stage(index, ParticipantStage::Barred);
        }
        out.tell(RunEvent::Back {
            agent: index as u32,
        });
        self.acknowledge_totals(index, out);
        self.send_stop(index, Stop::Now, out);
    }

    fn attached_living(
        &mut self,
        now: FleetTime,
        index: usize,
        holds_run: bool,
        out: &mut Actions,
    ) {
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
                self.resend_stop(index, out);
                self.send_take_overs(index, out);
            }
            (_, false) if self.participants[index].began().is_some() => {
                self.lose(index, "it does not hold the run any more", out);
            }
            (_, false) => self.lose(index, "it was away when the run started", out),
        }
    }

    /// An agent broke the protocol: its part in this run ends here, since another stream would
    /// bring the same again.
    pub(crate) fn violated(
        &mut self,
        now: FleetTime,
        agent: AgentId,
        what: &str,
        out: &mut Actions,
    ) {
        // A spare agent, or one that was given up already, has no part that could end.
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

    /// An agent's stream is gone.
    pub(crate) fn detached(
        &mut self,
        now: FleetTime,
        agent: AgentId,
        how: Departure,
        why: &str,
        out: &mut Actions,
    ) {
        // A spare agent's stream is no matter of this run.
        let Some(index) = self.index(agent) else {
            return;
        };
        self.change(index, |agent| agent.detach(now, how));
        if !self.participants[index].is_over() {
            out.tell(RunEvent::Gone {
                agent: index as u32,
                why: why.to_owned(),
            });
        }
        self.watch_desertion(now);
    }

    /// The caller has what this receipt is for.
    pub(crate) fn delivered(&mut self, now: FleetTime, receipt: Receipt, out: &mut Actions) {
        match receipt.what {
            Awaited::Dealing => self.dealt(receipt.agent, out),
            Awaited::Observation(_, second) => {
                let index = receipt.agent as usize;
                self.participants[index].observed().stored(second);
                self.acknowledge_observed(index, second, out);
            }
            // Monitors are not agents of a run.
            Awaited::ProfilePart { .. } => {}
            Awaited::Start(number) => {
                self.start_written(number);
                self.conclude(now, out);
            }
            Awaited::Upload(upload) => {
                let index = receipt.agent as usize;
                self.participants[index].delivered(now, upload);
                self.acknowledge(index, upload, out);
            }
        }
    }

    /// Somebody wants it to end; a weaker wish than before changes nothing.
    pub(crate) fn stop(&mut self, now: FleetTime, how: Stop, out: &mut Actions) {
        if self.stop.is_some_and(|(before, _)| before >= how) {
            // It was told already, and is told again to whoever comes back.
            return;
        }
        self.stop = Some((how, now));
        match self.phase {
            // Nobody has a lease, so nobody fires.
            RunPhase::Preparing(_) | RunPhase::Arming(_) => {
                self.finish(RunOutcome::StoppedBeforeStart(how), out)
            }
            RunPhase::Going { .. } => {
                (0..self.participants.len()).for_each(|index| self.resend_stop(index, out))
            }
            RunPhase::Done(_) => {}
        }
    }

    /// What time alone brings.
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
        // An agent that is given up for good may still upload until it reads so.
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
            // The agent sends on by what came, and not by what is stored.
            self.send(index, Down::Received(received), out);
        }
        match taken {
            Err(violation) => self.give_up(index, &violation.to_string(), out),
            Ok(Taken::InPart | Taken::Pending) => {}
            Ok(Taken::Delivered) => self.acknowledge(index, upload, out),
            Ok(Taken::New(encoded)) => {
                let receipt = self.receipt(index, Awaited::Upload(upload));
                out.deliver(uploaded(index as u32, upload, encoded), receipt);
            }
        }
    }

    /// Once more: what a cut stream lost of the acknowledgement, its welcome cannot say.
    fn acknowledge_totals(&self, index: usize, out: &mut Actions) {
        if let Some(totals) = self.participants[index].inbox().stored_totals() {
            self.acknowledge(index, totals, out);
        }
    }

    fn acknowledge(&self, index: usize, upload: UploadId, out: &mut Actions) {
        let (interval, totals) = upload.to_wire();
        let ack = Ack {
            run_id: self.id().to_wire(),
            interval,
            totals,
            ..Ack::default()
        };
        self.send(index, Down::Ack(ack), out);
    }

    fn ended(&mut self, index: usize, ended: Ended, out: &mut Actions) {
        let agent = &self.participants[index];
        if !agent.may_upload() {
            return;
        }
        let was_lost = agent.is_over();
        let cause = end_cause(ended.cause, &ended.text);
        out.tell(RunEvent::Ended {
            agent: index as u32,
            cause: cause.clone(),
            missing: agent.inbox().missing(),
            figures: ended.figures,
            clock: clock(ended.clock).or(agent.clock()),
        });
        self.set_stage(index, ParticipantStage::Ended);
        self.tell_undone_shares(index, out);
        if !was_lost {
            self.ended_early(index, &cause);
        }
    }

    fn observed(&mut self, now: FleetTime, index: usize, observed: Observed, out: &mut Actions) {
        let Some(start_at) = self.started_at() else {
            return;
        };
        let by = (self.id(), Observer::Agent(index as u32));
        let second = observed.second;
        let seen = self.participants[index].observed();
        if seen.take(by, now.since(start_at), observed, out) {
            self.acknowledge_observed(index, second, out);
        }
    }

    fn acknowledge_observed(&self, index: usize, second: u32, out: &mut Actions) {
        let ack = Down::Ack(observed_ack(self.id(), second));
        self.send(index, ack, out);
    }

    fn note(&mut self, now: FleetTime, index: usize, note: Note, out: &mut Actions) {
        if note.event == BUSY {
            self.wait_for_busy(now, index);
        }
        if self.participants[index].may_note() {
            out.tell(RunEvent::Note {
                agent: Some(index as u32),
                event: cut(note.event),
                text: cut(note.text),
            });
        }
    }

    /// Tells the skew, and the end, when the last agent makes them known.
    fn conclude(&mut self, now: FleetTime, out: &mut Actions) {
        // Each round takes an agent out or goes a phase on, so that it ends.
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
        // Problems of all agents are collected before the run is over, but nobody that is away is
        // waited for.
        let all_answered = self.census.attached(ParticipantStage::Preparing) == 0;
        if self.census.living() == 0 || (self.is_spoilt() && all_answered) {
            self.finish(RunOutcome::NotStarted, out);
        } else if !self.is_spoilt() && self.census.all_are(ParticipantStage::Ready) {
            self.arm(now, attempts, out);
        }
    }

    fn conclude_arming(&mut self, now: FleetTime, attempt: StartAttempt, out: &mut Actions) {
        if self.is_spoilt() || self.census.living() == 0 {
            self.finish(RunOutcome::NotStarted, out);
        } else if now >= attempt.decided_at() {
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
            out.tell(RunEvent::Started { skew });
        }
    }

    fn finish(&mut self, outcome: RunOutcome, out: &mut Actions) {
        self.phase = RunPhase::Done(outcome);
        (0..self.participants.len()).for_each(|index| self.release(index, out));
        out.tell(RunEvent::Done { outcome });
    }

    fn resend_stop(&self, index: usize, out: &mut Actions) {
        if let Some((how, _)) = self.stop.filter(|_| !self.participants[index].is_over()) {
            self.send_stop(index, how, out);
        }
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
        out.tell(RunEvent::Note {
            agent: None,
            event: event.to_owned(),
            text: text.to_owned(),
        });
    }

    fn set_stage(&mut self, index: usize, stage: ParticipantStage) {
        self.change(index, |agent| agent.set_stage(stage));
    }

    /// Every change of a stage, of an attachment, and of whether an agent began goes through here.
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

fn uploaded(agent: u32, upload: UploadId, encoded: Bytes) -> RunEvent {
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

/// Why an agent that said `what` is given up.
pub(crate) fn violation_text(what: &str) -> String {
    format!("the agent broke the protocol: {what}; run the same version on both")
}
