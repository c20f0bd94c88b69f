//! One run from the plan to the last agent's end.

use crate::fleet_action::{Actions, Receipt};
use crate::interval_inbox::Taken;
use crate::margin::start_margin;
use crate::participant::{Participant, ParticipantStage};
use crate::upload_id::UploadId;
use crate::wire::{clock, cut, end_cause};
use crate::{
    AgentFacts, AgentId, Audience, ClockReading, ConnectionId, Digest, FileParts, FleetTime,
    RunEvent, RunId, RunOutcome, RunRequest, Skew, Stop,
};
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{
    Began, Bytes, Ended, IntervalPart, Note, Notice, Prepare, Prepared, Release, Resume, Start,
};
use std::time::Duration;

/// An agent answers to a plan by then: files must travel and names be resolved.
const PREPARE_MAX: Duration = Duration::from_secs(120);

/// An agent that goes away while the others prepare is waited for so long.
const AWAY_PREPARING_MAX: Duration = Duration::from_secs(10);

/// Agents that went away during the run are waited for so long once nobody else is going.
const AWAY_MAX: Duration = Duration::from_secs(30);

/// An agent that was told to stop at once and neither ends nor uploads for so long is given up.
const STOP_MAX: Duration = Duration::from_secs(30);

/// What goes on for so long after its plan and its drain is stopped.
const OVERDUE: Duration = Duration::from_secs(10);

/// A run over these agents.
#[derive(Debug)]
pub(crate) struct FleetRun {
    request: RunRequest,
    participants: Vec<Participant>,
    phase: RunPhase,
    /// The strongest stop asked for, and when.
    stop: Option<(Stop, FleetTime)>,
    /// Since when nobody is going: every agent is over or away.
    deserted_since: Option<FleetTime>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunPhase {
    /// Agents get the plan and answer; whether one cannot run it.
    Preparing { until: FleetTime, failed: bool },
    /// The start instant is named; whether the skew was told.
    Going {
        start_at: FleetTime,
        skew_told: bool,
    },
    /// All is said.
    Done,
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
        let participants = agents
            .into_iter()
            .map(|(facts, at)| Participant::new(facts, at, now))
            .collect();
        let phase = RunPhase::Preparing {
            until: now.after(PREPARE_MAX),
            failed: false,
        };
        let run = FleetRun {
            request,
            participants,
            phase,
            stop: None,
            deserted_since: None,
        };
        (0..run.participants.len()).for_each(|index| run.prepare(index, out));
        run
    }

    pub(crate) fn id(&self) -> RunId {
        self.request.run
    }

    pub(crate) fn is_done(&self) -> bool {
        self.phase == RunPhase::Done
    }

    pub(crate) fn has(&self, agent: AgentId) -> bool {
        self.index(agent).is_some()
    }

    /// Whether this agent may fire, so that its beat is answered with a lease.
    pub(crate) fn grants_lease(&self, agent: AgentId) -> bool {
        let is_going = |index: usize| self.participants[index].stage() == ParticipantStage::Going;
        // A stop at once that an agent does not hear ends it all the same: by its lease.
        self.index(agent).is_some_and(is_going) && !matches!(self.stop, Some((Stop::Now, _)))
    }

    /// An agent measured its clock again.
    pub(crate) fn measured(&mut self, agent: AgentId, clock: Option<ClockReading>) {
        if let Some(index) = self.index(agent) {
            self.participants[index].set_clock(clock);
        }
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
        self.participants[index].hear(now);
        match message {
            Up::Prepared(prepared) => self.prepared(now, index, prepared, out),
            Up::Began(began) => self.began(index, &began, out),
            Up::Interval(part) => self.upload(index, part, out),
            Up::Ended(ended) => self.ended(index, ended, out),
            Up::Note(note) => self.note(index, note, out),
            Up::Hello(_) | Up::Beat(_) => {}
        }
        self.watch_desertion(now);
        self.conclude(out);
    }

    /// Where the upload of an agent that still has a part in this run goes on.
    pub(crate) fn resume(&self, agent: AgentId) -> Option<Resume> {
        let participant = &self.participants[self.index(agent)?];
        (!participant.is_over()).then(|| participant.resume(self.id()))
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
        self.participants[index].attach(connection);
        if self.participants[index].is_over() {
            // Its data was acknowledged, or is not wanted any more.
            return self.release(index, out);
        }
        out.tell(RunEvent::Back {
            agent: index as u32,
        });
        match (self.phase, holds_run) {
            (RunPhase::Preparing { .. }, _) => {
                self.participants[index].set_stage(ParticipantStage::Preparing);
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
            (_, true) => self.resend_stop(index, out),
            (_, false) => self.lose(index, "it was away when the run started", out),
        }
        self.watch_desertion(now);
        self.conclude(out);
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
        self.conclude(out);
    }

    /// An agent's stream is gone.
    pub(crate) fn detached(
        &mut self,
        now: FleetTime,
        agent: AgentId,
        why: &str,
        out: &mut Actions,
    ) {
        // A spare agent's stream is no matter of this run.
        let Some(index) = self.index(agent) else {
            return;
        };
        self.participants[index].detach(now);
        if !self.participants[index].is_over() {
            out.tell(RunEvent::Gone {
                agent: index as u32,
                why: why.to_owned(),
            });
        }
        self.watch_desertion(now);
    }

    /// The caller has taken what this receipt is for.
    pub(crate) fn delivered(&mut self, receipt: Receipt, out: &mut Actions) {
        // Receipts name agents of this run: it made them.
        let Some(index) = self.index(receipt.agent) else {
            return;
        };
        self.participants[index].delivered(receipt.upload);
        self.send(index, receipt.ack(), out);
    }

    /// Somebody wants it to end; a weaker wish than before changes nothing.
    pub(crate) fn stop(&mut self, now: FleetTime, how: Stop, out: &mut Actions) {
        if self.stop.is_some_and(|(before, _)| before >= how) {
            // It was told already, and is told again to whoever comes back.
            return;
        }
        self.stop = Some((how, now));
        match self.phase {
            RunPhase::Preparing { .. } => self.finish(RunOutcome::StoppedBeforeStart(how), out),
            RunPhase::Going { .. } => {
                (0..self.participants.len()).for_each(|index| self.resend_stop(index, out))
            }
            RunPhase::Done => {}
        }
    }

    /// What time alone brings.
    pub(crate) fn tick(&mut self, now: FleetTime, out: &mut Actions) {
        match self.phase {
            RunPhase::Preparing { until, .. } => self.tick_preparing(now, until, out),
            RunPhase::Going { start_at, .. } => self.tick_going(now, start_at, out),
            RunPhase::Done => return,
        }
        self.conclude(out);
    }

    fn tick_preparing(&mut self, now: FleetTime, until: FleetTime, out: &mut Actions) {
        for index in 0..self.participants.len() {
            let participant = &self.participants[index];
            if participant.is_over() {
                continue;
            }
            if participant
                .gone_since()
                .is_some_and(|since| now.since(since) >= AWAY_PREPARING_MAX)
            {
                self.fail();
                self.lose(
                    index,
                    "it went away before the start and did not come back",
                    out,
                );
            } else if now >= until && participant.stage() == ParticipantStage::Preparing {
                self.fail();
                let problem = format!("no answer to the plan within {} s", PREPARE_MAX.as_secs());
                self.problem(index, problem, out);
            }
        }
    }

    fn tick_going(&mut self, now: FleetTime, start_at: FleetTime, out: &mut Actions) {
        self.stop_what_is_overdue(now, start_at, out);
        let deserted = self
            .deserted_since
            .is_some_and(|since| now.since(since) >= AWAY_MAX);
        for index in 0..self.participants.len() {
            let agent = &self.participants[index];
            let is_away = deserted && agent.gone_since().is_some();
            if agent.is_over() {
                continue;
            }
            if is_away {
                self.lose(index, "its stream is gone and it did not come back", out);
            } else if self.is_deaf(agent, now) {
                self.lose(index, "it was told to stop and does not", out);
            }
        }
    }

    /// A drain, and a plan that says how long it fires, end by then even if agents do not end them.
    fn stop_what_is_overdue(&mut self, now: FleetTime, start_at: FleetTime, out: &mut Actions) {
        let drain = self.request.drain;
        match (self.stop, self.request.firing) {
            (None, Some(firing)) if now.since(start_at) >= firing + drain + OVERDUE => {
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

    /// Whether it was told to stop at once and has said nothing since, for too long: an agent that
    /// still uploads is heard.
    fn is_deaf(&self, agent: &Participant, now: FleetTime) -> bool {
        let Some((Stop::Now, since)) = self.stop else {
            return false;
        };
        now.since(since.max(agent.heard_at())) >= STOP_MAX
    }

    /// Notes from when on nobody is going, and forgets it when somebody is.
    fn watch_desertion(&mut self, now: FleetTime) {
        let is_deserted = self
            .participants
            .iter()
            .all(|agent| agent.is_over() || agent.gone_since().is_some());
        self.deserted_since = is_deserted.then(|| self.deserted_since.unwrap_or(now));
    }

    fn prepare(&self, index: usize, out: &mut Actions) {
        let request = &self.request;
        let is_for = |audience: &Audience| match audience {
            Audience::All => true,
            Audience::Only(agents) => agents.contains(&(index as u32)),
        };
        let files = request.files.iter().filter(|file| is_for(&file.audience));
        let files: Vec<_> = files
            .map(|file| (file.sha256, file.content.reveal().clone()))
            .collect();
        let prepare = Prepare {
            run_id: request.run.to_wire(),
            run_name: request.name.clone(),
            plan: request.plan.reveal().clone(),
            plan_digest: request.plan_digest.to_wire(),
            agent_index: index as u32,
            agents: request.agents,
            files: files.len() as u32,
            files_bytes: files.iter().map(|(_, content)| content.len() as u64).sum(),
            minted: request
                .minted
                .get(index)
                .map_or_else(Bytes::new, |digest| digest.to_wire()),
        };
        self.send(index, Down::Prepare(prepare), out);
        if let Some(connection) = self.participants[index].connection() {
            out.send_files(connection, FileParts::new(request.run, files));
        }
    }

    fn prepared(&mut self, now: FleetTime, index: usize, prepared: Prepared, out: &mut Actions) {
        // A second answer, or one of an agent whose time to answer is over.
        if self.participants[index].stage() != ParticipantStage::Preparing {
            return;
        }
        let reading = clock(prepared.clock);
        self.participants[index].set_clock(reading);
        match (self.problem_of(index, &prepared), reading) {
            (None, Some(clock)) => {
                self.participants[index].set_stage(ParticipantStage::Ready);
                let Prepared {
                    addresses, workers, ..
                } = prepared;
                out.tell(RunEvent::Ready {
                    agent: index as u32,
                    addresses,
                    workers,
                    clock,
                });
            }
            (problem, _) => {
                let problem = problem.unwrap_or_else(|| "its clock could not be measured".into());
                self.fail();
                self.problem(index, problem, out);
            }
        }
        if self
            .participants
            .iter()
            .all(|agent| agent.stage() == ParticipantStage::Ready && agent.connection().is_some())
        {
            self.arm(now, out);
        }
    }

    /// What keeps the agent from running the plan.
    fn problem_of(&self, index: usize, prepared: &Prepared) -> Option<String> {
        if !prepared.problem.is_empty() {
            return Some(cut(prepared.problem.clone()));
        }
        let here = self.request.plan_digest;
        let there = Digest::from_wire(&prepared.plan_digest);
        if there == Some(here) {
            return None;
        }
        let there = there.map_or_else(|| "no digest".into(), Digest::short);
        let version = &self.participants[index].facts().version;
        Some(format!(
            "it reads the plan as {there}, and here it is {}; run the coordinator's version there \
             (its own is {version})",
            here.short()
        ))
    }

    /// Everyone is ready: names the start instant.
    fn arm(&mut self, now: FleetTime, out: &mut Actions) {
        let margin = start_margin(
            self.participants
                .iter()
                .filter_map(|agent| agent.clock())
                .map(|clock| clock.bound_ns),
        );
        let start_at = now.after(margin);
        self.phase = RunPhase::Going {
            start_at,
            skew_told: false,
        };
        for index in 0..self.participants.len() {
            self.participants[index].set_stage(ParticipantStage::Going);
            self.send(
                index,
                Down::Start(Start {
                    run_id: self.id().to_wire(),
                    start_at_ns: start_at.0,
                }),
                out,
            );
        }
        out.tell(RunEvent::Armed {
            start_at,
            start_in: margin,
        });
    }

    fn began(&mut self, index: usize, began: &Began, out: &mut Actions) {
        let at = FleetTime(began.began_at_ns);
        let bound_ns = began.bound_ns;
        if self.participants[index].stage() == ParticipantStage::Going
            && self.participants[index].begin(at, bound_ns)
        {
            out.tell(RunEvent::Began {
                agent: index as u32,
                at,
                bound_ns,
            });
        }
    }

    fn upload(&mut self, index: usize, part: IntervalPart, out: &mut Actions) {
        let agent = &mut self.participants[index];
        // An agent that is given up may still upload until it reads so.
        if agent.stage() != ParticipantStage::Going {
            return;
        }
        let upload = UploadId::from_wire(part.interval, part.totals);
        let receipt = Receipt {
            run: self.request.run,
            agent: agent.id(),
            upload,
        };
        match agent.upload(part) {
            Err(out_of_place) => self.give_up(index, &out_of_place.to_string(), out),
            Ok(Taken::InPart | Taken::Pending) => {}
            Ok(Taken::Delivered) => self.send(index, receipt.ack(), out),
            Ok(Taken::New(encoded)) => {
                out.deliver(uploaded(index as u32, upload, encoded), receipt);
            }
        }
    }

    fn ended(&mut self, index: usize, ended: Ended, out: &mut Actions) {
        let agent = &mut self.participants[index];
        // Of an agent that is given up the end is told already.
        if agent.stage() != ParticipantStage::Going {
            return;
        }
        agent.set_stage(ParticipantStage::Over);
        out.tell(RunEvent::Ended {
            agent: index as u32,
            cause: end_cause(ended.cause, &ended.text),
            missing: agent.inbox().missing(),
            figures: ended.figures,
            clock: clock(ended.clock).or(agent.clock()),
        });
    }

    fn note(&mut self, index: usize, note: Note, out: &mut Actions) {
        if self.participants[index].may_note() {
            out.tell(RunEvent::Note {
                agent: Some(index as u32),
                event: cut(note.event),
                text: cut(note.text),
            });
        }
    }

    fn problem(&mut self, index: usize, problem: String, out: &mut Actions) {
        self.participants[index].set_stage(ParticipantStage::Over);
        out.tell(RunEvent::Problem {
            agent: index as u32,
            problem,
        });
    }

    fn give_up(&mut self, index: usize, violation: &str, out: &mut Actions) {
        self.fail();
        self.lose(index, &violation_text(violation), out);
    }

    /// Ends an agent's part, and tells it why if it is there.
    fn lose(&mut self, index: usize, why: &str, out: &mut Actions) {
        let agent = &mut self.participants[index];
        agent.set_stage(ParticipantStage::Over);
        out.tell(RunEvent::Lost {
            agent: index as u32,
            next_interval: agent.inbox().next(),
            why: why.to_owned(),
        });
        let text = format!(
            "{}: the coordinator has given this agent up: {why}",
            self.request.name
        );
        self.send(index, Down::Notice(Notice { text }), out);
        self.release(index, out);
    }

    /// The run cannot start any more; the other agents' problems are collected still.
    fn fail(&mut self) {
        if let RunPhase::Preparing { failed, .. } = &mut self.phase {
            *failed = true;
        }
    }

    /// Tells the skew, and the end, when the last agent makes them known.
    fn conclude(&mut self, out: &mut Actions) {
        match self.phase {
            RunPhase::Preparing { failed: true, .. } if self.all(has_answered_or_is_away) => {
                self.finish(RunOutcome::NotStarted, out);
            }
            RunPhase::Going {
                start_at,
                skew_told,
            } => {
                if !skew_told && self.all(has_begun_or_will_not) {
                    self.phase = RunPhase::Going {
                        start_at,
                        skew_told: true,
                    };
                    self.tell_skew(out);
                }
                if self.all(Participant::is_over) {
                    self.finish(RunOutcome::Ran, out);
                }
            }
            RunPhase::Preparing { .. } | RunPhase::Done => {}
        }
    }

    fn all(&self, is_so: impl Fn(&Participant) -> bool) -> bool {
        self.participants.iter().all(is_so)
    }

    fn tell_skew(&self, out: &mut Actions) {
        let began = self.participants.iter().filter_map(Participant::began);
        if let Some(skew) = Skew::between(&began.collect::<Vec<_>>()) {
            out.tell(RunEvent::Started { skew });
        }
    }

    fn finish(&mut self, outcome: RunOutcome, out: &mut Actions) {
        self.phase = RunPhase::Done;
        (0..self.participants.len()).for_each(|index| self.release(index, out));
        out.tell(RunEvent::Done { outcome });
    }

    fn resend_stop(&self, index: usize, out: &mut Actions) {
        if let Some((how, _)) = self.stop.filter(|_| !self.participants[index].is_over()) {
            let stop = proto::Stop {
                run_id: self.id().to_wire(),
                now: how == Stop::Now,
            };
            self.send(index, Down::Stop(stop), out);
        }
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

    fn index(&self, agent: AgentId) -> Option<usize> {
        self.participants
            .iter()
            .position(|participant| participant.id() == agent)
    }
}

/// Problems of all agents are collected before the run is over, but nobody is waited for.
fn has_answered_or_is_away(agent: &Participant) -> bool {
    agent.stage() != ParticipantStage::Preparing || agent.connection().is_none()
}

fn has_begun_or_will_not(agent: &Participant) -> bool {
    agent.is_over() || agent.began().is_some()
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
