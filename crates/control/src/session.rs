//! An agent's end of the control plane as a state machine: events in, actions out.

use crate::back_off::BackOff;
use crate::beats::Beats;
use crate::local_run::LocalRun;
use crate::upload_id::UploadId;
use crate::wire::{cut, from_agent};
use crate::{
    AgentFacts, CoordinatorId, EndCause, FleetTime, LEASE, Mono, Now, Order, Report, RunId, Stop,
};
use crate::{Disconnection, Finality, News, SessionAction, SessionEvent};
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{
    FromCoordinator, Grant, Hello, IntervalPart, Note, PROTOCOL, Prepare, Prepared, Start, Welcome,
};
use std::time::Duration;

/// The coordinator answers a hello by then, or the stream is given up.
const GREETING_MAX: Duration = Duration::from_secs(10);

/// A stream that brought nothing for so long is dead: grants come every second.
const SILENCE_MAX: Duration = LEASE.saturating_mul(2);

/// An agent that is told to quit during a run uploads what it holds for so long.
const FAREWELL_MAX: Duration = Duration::from_secs(10);

/// Target addresses that an agent reports.
const ADDRESSES_MAX: usize = 256;

/// An agent's side of the agreement, over any number of streams and runs.
#[derive(Debug)]
pub struct Session {
    facts: AgentFacts,
    link: Link,
    back_off: BackOff,
    beats: Beats,
    heard_at: Mono,
    was_member: bool,
    said_away: Option<String>,
    run: Option<LocalRun>,
    quit_at: Option<Mono>,
    out: Vec<SessionAction>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    Waiting { until: Mono },
    Dialling,
    Greeting { until: Mono },
    Joined,
}

impl Session {
    /// A session that dials at its first tick. `seed` spreads the waits of different agents.
    #[must_use]
    pub fn new(facts: AgentFacts, seed: u64) -> Session {
        Session {
            facts,
            link: Link::Waiting { until: Mono(0) },
            back_off: BackOff::new(seed),
            beats: Beats::new(),
            heard_at: Mono(0),
            was_member: false,
            said_away: None,
            run: None,
            quit_at: None,
            out: Vec::new(),
        }
    }

    /// What to do about an event, in order.
    pub fn on(&mut self, now: Now, event: SessionEvent) -> Vec<SessionAction> {
        match event {
            SessionEvent::Connected => self.greet(now.mono),
            SessionEvent::Disconnected(disconnection) => self.disconnected(now.mono, disconnection),
            SessionEvent::Received(message) => self.received(now, message),
            SessionEvent::Reported(report) => self.reported(now, report),
            SessionEvent::Tick => {}
            SessionEvent::ShutDown => self.shut_down(now.mono),
        }
        self.advance(now);
        std::mem::take(&mut self.out)
    }

    /// When to [`SessionEvent::Tick`] next, if nothing else happens before.
    #[must_use]
    pub fn wake_at(&self, now: Now) -> Mono {
        let link = match self.link {
            Link::Waiting { until } | Link::Greeting { until } => until,
            Link::Dialling => Mono(u64::MAX),
            Link::Joined => self.beats.next_at().min(self.heard_at.after(SILENCE_MAX)),
        };
        let run = self.run.as_ref().and_then(|run| run.wake_at(now));
        // A burst's end is due once: its answer is sent then, and later it is of no interest.
        let burst = self.beats.burst_ends_at().filter(|ends| *ends > now.mono);
        [run, burst, self.quit_at]
            .into_iter()
            .flatten()
            .fold(link, Mono::min)
    }

    /// The next part of an interval to send, when there is room for one on the stream.
    pub fn next_part(&mut self) -> Option<IntervalPart> {
        let run = self.run.as_mut().filter(|_| self.link == Link::Joined)?;
        run.next_part()
    }

    /// Whether reports are taken; if not, more than [`crate::HELD_MAX_BYTES`] wait to be
    /// acknowledged.
    #[must_use]
    pub fn takes_reports(&self) -> bool {
        self.run.as_ref().is_none_or(|run| !run.is_full())
    }

    fn greet(&mut self, now: Mono) {
        let held = self.run.as_ref().filter(|run| run.is_begun());
        let hello = Hello {
            protocol: PROTOCOL,
            version: self.facts.version.clone(),
            agent_id: self.facts.id.to_wire(),
            name: self.facts.name.clone(),
            labels: self.facts.labels.clone().into_iter().collect(),
            workers: self.facts.workers,
            host: self.facts.host.clone(),
            held_run: held.map(|run| run.id().to_wire()).unwrap_or_default(),
        };
        self.link = Link::Greeting {
            until: now.after(GREETING_MAX),
        };
        self.send(Up::Hello(hello));
    }

    fn disconnected(&mut self, now: Mono, disconnection: Disconnection) {
        let Disconnection { why, finality } = disconnection;
        // A member goes on trying: another coordinator may stand there for a while.
        if finality == Finality::Final && !self.was_member {
            self.out.push(SessionAction::Quit(Some(why)));
        } else if self.said_away.as_ref() != Some(&why) {
            self.said_away = Some(why.clone());
            self.out.push(SessionAction::Say(News::Away { why }));
        }
        self.link = Link::Waiting {
            until: now.after(self.back_off.next()),
        };
        if self.run.as_ref().is_some_and(|run| !run.is_begun()) {
            self.forget();
        }
    }

    /// Gives the stream up from this side.
    fn lose(&mut self, now: Mono, why: &str, finality: Finality) {
        self.out.push(SessionAction::Disconnect);
        self.disconnected(
            now,
            Disconnection {
                why: why.to_owned(),
                finality,
            },
        );
    }

    fn received(&mut self, now: Now, message: FromCoordinator) {
        self.heard_at = now.mono;
        match message.message {
            Some(Down::Welcome(welcome)) => self.welcomed(now.mono, &welcome),
            Some(Down::Refused(refused)) => {
                let finality = if refused.r#final {
                    Finality::Final
                } else {
                    Finality::Retry
                };
                self.lose(now.mono, &refused.reason, finality);
            }
            Some(Down::Notice(notice)) => {
                self.out.push(SessionAction::Say(News::Notice(notice.text)))
            }
            Some(message) if self.link == Link::Joined => self.directed(now, message),
            // Before a welcome nothing else counts; a message this version does not know is none.
            Some(_) | None => {}
        }
    }

    fn directed(&mut self, now: Now, message: Down) {
        match message {
            Down::Grant(grant) => self.granted(now, &grant),
            Down::Prepare(prepare) => self.prepare(now.mono, prepare),
            Down::File(part) => {
                let taken = self
                    .run_named(&part.run_id)
                    .map_or(Ok(()), |run| run.file(&part));
                self.check_files(taken.map_err(|problem| problem.to_string()));
            }
            Down::Start(start) => self.start(now.mono, &start),
            Down::Ack(ack) => {
                if let Some(run) = self.run_named(&ack.run_id) {
                    let upload = UploadId::from_wire(ack.interval, ack.totals);
                    run.outbox().acknowledge(upload);
                    self.send_end(now.mono);
                }
            }
            Down::Stop(stop) => self.stopped(now.mono, &stop),
            Down::Release(release) => self.released(&release.run_id),
            Down::Welcome(_) | Down::Refused(_) | Down::Notice(_) => {}
        }
    }

    fn welcomed(&mut self, now: Mono, welcome: &Welcome) {
        let (Link::Greeting { .. }, Some(coordinator)) =
            (self.link, CoordinatorId::from_wire(&welcome.coordinator_id))
        else {
            return self.lose(
                now,
                "the coordinator's welcome makes no sense; run the same version on both",
                Finality::Retry,
            );
        };
        self.link = Link::Joined;
        self.was_member = true;
        self.said_away = None;
        self.back_off.reset();
        self.beats.attach(coordinator, now);
        let coordinator_version = welcome.coordinator_version.clone();
        self.out.push(SessionAction::Say(News::Joined {
            coordinator_version,
        }));
        if let Some(run) = &mut self.run {
            let resume = welcome
                .resume
                .clone()
                .filter(|resume| resume.run_id == run.id().to_wire());
            run.outbox().rewind(&resume.unwrap_or_default());
            self.send_began();
            self.send_end(now);
        }
    }

    fn granted(&mut self, now: Now, grant: &Grant) {
        // A grant for a beat of another stream says nothing of when it was asked for.
        let Some(sent) = self.beats.granted(grant, now) else {
            return;
        };
        let length = Duration::from_nanos(grant.lease_ns);
        // Without a run a grant is a clock sample alone.
        let Some(run) = self.run_named(&grant.run_id) else {
            return;
        };
        let order = run.grant(sent, length, now);
        if matches!(order, Some(Order::Start { .. })) {
            let run_name = run.name().to_owned();
            self.out
                .push(SessionAction::Say(News::Starting { run_name }));
        }
        self.out.extend(order.map(SessionAction::Order));
    }

    fn prepare(&mut self, now: Mono, prepare: Prepare) {
        if self.run.as_ref().is_some_and(LocalRun::is_begun) {
            return self.lose(
                now,
                "the coordinator sent a plan while a run is going on here",
                Finality::Retry,
            );
        }
        self.forget();
        let run_name = prepare.run_name.clone();
        let run_id = prepare.run_id.clone();
        let Some(made) = LocalRun::new(prepare) else {
            return self.lose(
                now,
                "the coordinator's plan message makes no sense; run the same version on both",
                Finality::Retry,
            );
        };
        self.out.push(SessionAction::Say(News::Preparing {
            run_name: run_name.clone(),
        }));
        match made {
            Ok(run) => self.run = Some(run),
            Err(problem) => self.cannot_run(run_id, run_name, problem.to_string()),
        }
        self.check_files(Ok(()));
    }

    /// Goes on to the runner when the last file is here; a problem with one is the answer to the
    /// plan.
    fn check_files(&mut self, taken: Result<(), String>) {
        // A file of a run that was refused or forgotten here.
        let Some(run) = &mut self.run else { return };
        match taken {
            Ok(()) => {
                let order = run.assignment();
                self.out.extend(order.map(SessionAction::Order));
            }
            Err(problem) => self.fail_preparing(problem),
        }
    }

    fn fail_preparing(&mut self, problem: String) {
        let Some(run) = &self.run else { return };
        let run_id = run.id().to_wire();
        let run_name = run.name().to_owned();
        self.forget();
        self.cannot_run(run_id, run_name, problem);
    }

    fn cannot_run(&mut self, run_id: proto::Bytes, run_name: String, problem: String) {
        let problem = cut(problem);
        self.send(Up::Prepared(Prepared {
            run_id,
            problem: problem.clone(),
            ..Prepared::default()
        }));
        self.out
            .push(SessionAction::Say(News::CannotRun { run_name, problem }));
    }

    fn start(&mut self, now: Mono, start: &Start) {
        // An agent is ready only once its clock is measured, and only then is a start named.
        let Some(clock) = self.beats.reading(now) else {
            return;
        };
        let at = clock.to_agent(FleetTime(start.start_at_ns));
        if let Some(run) = self.run_named(&start.run_id) {
            run.arm(at);
            // The answer to this beat brings the lease without which nothing begins.
            self.beats.hurry(now);
        }
    }

    fn stopped(&mut self, now: Mono, stop: &proto::Stop) {
        let how = if stop.now { Stop::Now } else { Stop::Drain };
        // A run that has ended uploads, and a stop does not keep it from that.
        let Some(run) = self
            .run_named(&stop.run_id)
            .filter(|run| run.ended_cause().is_none())
        else {
            return;
        };
        let order = run.stop(how, None);
        self.out.extend(order.map(SessionAction::Order));
        self.note_end(now);
    }

    fn released(&mut self, run_id: &[u8]) {
        // It was forgotten here already.
        let Some(run) = self.run_named(run_id) else {
            return;
        };
        let dropped_intervals = run.outbox().intervals();
        let run_name = run.name().to_owned();
        if run.is_begun() {
            self.out.push(SessionAction::Say(News::Released {
                run_name,
                dropped_intervals,
            }));
        }
        self.forget();
    }

    fn reported(&mut self, now: Now, report: Report) {
        match report {
            Report::Note { run, event, text } => self.note(run, &event, text),
            Report::NotPrepared { run, problem } if self.has(run) => self.fail_preparing(problem),
            Report::Prepared {
                run,
                plan_digest,
                mut addresses,
                workers,
            } if self.has(run) => {
                addresses.truncate(ADDRESSES_MAX);
                if self
                    .run
                    .as_mut()
                    .is_some_and(|run| run.prepared(plan_digest, addresses, workers))
                {
                    self.beats.burst(now.mono);
                }
            }
            Report::Began { run, at } if self.has(run) => {
                let clock = self.beats.reading(now.mono);
                self.run.iter_mut().for_each(|run| run.began(at, clock));
                self.send_began();
            }
            Report::Interval {
                run,
                interval,
                encoded,
            } if self.has(run) => {
                let order = self
                    .run
                    .as_mut()
                    .and_then(|run| run.interval(interval, encoded));
                self.out.extend(order.map(SessionAction::Order));
            }
            Report::Ended {
                run,
                cause,
                totals,
                figures,
            } if self.has(run) => {
                self.run
                    .iter_mut()
                    .for_each(|run| run.ended(cause.clone(), totals.clone(), figures.clone()));
                self.note_end(now.mono);
            }
            // Of a run that is forgotten here.
            _ => {}
        }
    }

    fn note_end(&mut self, now: Mono) {
        let ended = self
            .run
            .as_ref()
            .and_then(|run| Some((run.name().to_owned(), run.ended_cause()?)));
        // Stopped while it fires: the runner's end comes later.
        let Some((run_name, cause)) = ended else {
            return;
        };
        self.out
            .push(SessionAction::Say(News::Ended { run_name, cause }));
        self.send_end(now);
    }

    fn shut_down(&mut self, now: Mono) {
        let firing = self.run.as_ref().is_some_and(LocalRun::is_begun);
        if !firing || self.quit_at.is_some() {
            self.forget();
            self.out.push(SessionAction::Quit(None));
            return;
        }
        self.quit_at = Some(now.after(FAREWELL_MAX));
        let cause = EndCause::Failed("the agent was told to quit".into());
        let order = self
            .run
            .as_mut()
            .and_then(|run| run.stop(Stop::Now, Some(cause)));
        self.out.extend(order.map(SessionAction::Order));
    }

    /// What time alone brings.
    fn advance(&mut self, now: Now) {
        self.advance_link(now);
        self.advance_run(now);
        let released = self.quit_at.is_some() && self.run.is_none();
        if released || self.quit_at.is_some_and(|at| now.mono >= at) {
            self.quit_at = None;
            self.forget();
            self.out.push(SessionAction::Quit(None));
        }
    }

    fn advance_link(&mut self, now: Now) {
        match self.link {
            Link::Waiting { until } if now.mono >= until => {
                self.link = Link::Dialling;
                self.out.push(SessionAction::Connect);
            }
            Link::Greeting { until } if now.mono >= until => {
                self.lose(
                    now.mono,
                    "the coordinator does not answer; is it one, and of this version?",
                    Finality::Retry,
                );
            }
            Link::Joined if now.mono >= self.heard_at.after(SILENCE_MAX) => {
                self.lose(
                    now.mono,
                    "the coordinator was not heard for 10 s",
                    Finality::Retry,
                );
            }
            Link::Joined if now.mono >= self.beats.next_at() => {
                let beat = self.beats.beat(now);
                self.send(Up::Beat(beat));
            }
            _ => {}
        }
    }

    fn advance_run(&mut self, now: Now) {
        // Without a run only the link goes on.
        let Some(run) = &mut self.run else { return };
        if run.lease_expires(now) {
            let run_name = run.name().to_owned();
            let run = run.id();
            self.out.push(SessionAction::Order(Order::Stop {
                run,
                how: Stop::Now,
            }));
            self.out
                .push(SessionAction::Say(News::LeaseExpired { run_name }));
        } else if run.missed_start(now.mono) {
            let run = run.id();
            self.out.push(SessionAction::Order(Order::Forget { run }));
            self.note_end(now.mono);
        } else if self.link == Link::Joined && !self.beats.in_burst(now.mono) {
            let clock = self.beats.reading(now.mono);
            let answer = run.measured(clock);
            answer
                .into_iter()
                .for_each(|answer| self.send(Up::Prepared(answer)));
        }
    }

    fn note(&mut self, run: Option<RunId>, event: &str, text: String) {
        if self.link == Link::Joined {
            let run_id = run.map(RunId::to_wire).unwrap_or_default();
            self.send(Up::Note(Note {
                run_id,
                event: cut(event.to_owned()),
                text: cut(text),
            }));
        }
    }

    fn send_began(&mut self) {
        let began = self
            .run
            .as_ref()
            .filter(|_| self.link == Link::Joined)
            .and_then(LocalRun::began_message);
        began
            .into_iter()
            .for_each(|began| self.send(Up::Began(began)));
    }

    fn send_end(&mut self, now: Mono) {
        let clock = self.beats.reading(now);
        let ended = self
            .run
            .as_ref()
            .filter(|_| self.link == Link::Joined)
            .and_then(|run| run.ended_message(clock));
        ended
            .into_iter()
            .for_each(|ended| self.send(Up::Ended(ended)));
    }

    fn forget(&mut self) {
        if let Some(run) = self.run.take() {
            self.out
                .push(SessionAction::Order(Order::Forget { run: run.id() }));
        }
    }

    fn has(&self, run: RunId) -> bool {
        self.run.as_ref().is_some_and(|held| held.id() == run)
    }

    fn run_named(&mut self, run_id: &[u8]) -> Option<&mut LocalRun> {
        let run = RunId::from_wire(run_id)?;
        self.run.as_mut().filter(|held| held.id() == run)
    }

    fn send(&mut self, message: Up) {
        self.out.push(SessionAction::Send(from_agent(message)));
    }
}
