//! Messages from a coordinator that has welcomed the agent. Those about a run count only from the
//! coordinator that the run obeys.

use super::{Link, Session};
use crate::local_run::LocalRun;
use crate::upload_id::UploadId;
use crate::wire::{BUSY, cut};
use crate::{
    CoordinatorId, Finality, FleetTime, Mono, News, Now, Order, RunId, SessionAction, Stop,
};
use proto::ack::Stored;
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{
    Ack, Armed, Grant, Note, Prepare, Prepared, Received, Resume, RunToken, Start, TakeOver,
    Welcome,
};
use std::time::Duration;

impl Session {
    pub(super) fn on_welcome(&mut self, now: Mono, welcome: Welcome) {
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
        self.said_away = None;
        self.is_served = false;
        self.back_off.reset();
        if self.coordinator.replace(coordinator) != Some(coordinator) {
            // Files can be keys, and belong to the previous coordinator.
            self.cache.clear();
        }
        let clock_id = Some(welcome.clock_id).filter(|id| !id.is_empty());
        self.beats
            .attach(clock_id.unwrap_or(welcome.coordinator_id), now);
        let coordinator_version = welcome.coordinator_version;
        self.out.push(SessionAction::Say(News::Joined {
            coordinator_version,
        }));
        self.resume_runs(now, coordinator, &welcome.resumes);
        self.send_observation();
        self.send_profile();
    }

    /// Continues the runs that obey this coordinator.
    fn resume_runs(&mut self, now: Mono, coordinator: CoordinatorId, resumes: &[Resume]) {
        let mut obeying = Vec::new();
        for run in self.run.iter_mut().chain(&mut self.kept) {
            let run_id = run.id().to_wire();
            let resume = resumes.iter().find(|resume| resume.run_id == run_id);
            let outranked = resume.filter(|resume| !run.claim(coordinator, resume.epoch));
            if let Some(resume) = outranked.filter(|_| run.tell_outranked(coordinator)) {
                self.out.push(SessionAction::Say(News::Outranked {
                    run_name: run.name().to_owned(),
                    epoch: resume.epoch,
                    obeyed: run.epoch(),
                }));
            }
            if run.obeys(coordinator) {
                let resume = resume.cloned().unwrap_or_default();
                run.rewind(&resume, &mut self.stash);
                obeying.push(run.id());
            }
        }
        for run in obeying {
            self.send_began(run, now);
            self.send_end(run, now);
        }
        self.tell_kept(now);
    }

    pub(super) fn on_directed(&mut self, now: Now, from: CoordinatorId, message: Down) {
        match message {
            Down::Grant(grant) => self.on_grant(now, from, &grant),
            Down::Prepare(prepare) => self.prepare(now.mono, from, prepare),
            Down::File(part) => {
                let taken = self
                    .run_of(from, &part.run_id)
                    .map_or(Ok(()), |run| run.file(&part));
                self.check_files(taken.map_err(|problem| problem.to_string()));
            }
            Down::Start(start) => self.start(now.mono, from, &start),
            Down::Go(go) => {
                if self
                    .run_of(from, &go.run_id)
                    .is_some_and(|run| run.go(go.attempt))
                {
                    // The answer to this beat brings the lease, without which nothing begins.
                    self.beats.hurry(now.mono);
                }
            }
            Down::Received(received) => self.on_receipt(now.mono, from, &received),
            Down::Ack(ack) => self.on_ack(now.mono, from, &ack),
            Down::TakeOver(message) => self.take_over(from, message),
            Down::Token(token) => self.take_token(now.mono, from, token),
            Down::Stop(stop) => self.on_stop(now.mono, from, &stop),
            Down::Observe(observe) => self.watch(now.mono, observe),
            Down::Release(release) if self.unwatch(&release.run_id) => {}
            Down::Release(release) => self.on_release(from, &release.run_id),
            Down::Welcome(_) | Down::Refused(_) | Down::Notice(_) => {}
        }
    }

    fn on_grant(&mut self, now: Now, from: CoordinatorId, grant: &Grant) {
        // A grant for a beat of another stream does not say when it was asked for.
        let Some(sent) = self.beats.on_grant(grant, now) else {
            return;
        };
        self.window.note_answer(sent.mono);
        self.watch_if_asked(now.mono);
        if !self.beats.in_burst(now.mono) {
            self.send_owed(now.mono);
        }
        let length = Duration::from_nanos(grant.lease_ns);
        // Without a run, a grant is only a measurement of the clock.
        let Some(run) = self.run_of(from, &grant.run_id) else {
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

    pub(super) fn prepare(&mut self, now: Mono, from: CoordinatorId, prepare: Prepare) {
        if let Some(busy) = self.run.as_ref().filter(|run| run.is_begun()) {
            if busy.obeys(from) {
                return self.lose(
                    now,
                    "the coordinator sent a plan while a run is going on here",
                    Finality::Retry,
                );
            }
            let text = format!(
                "it still fires the run {} of another coordinator, and begins with this one when \
                 that is over, which without its coordinator takes {} s at most",
                busy.name(),
                busy.longest_lease().as_secs()
            );
            let run_id = prepare.run_id.clone();
            self.out.push(SessionAction::Say(News::Notice(format!(
                "{}: {text}",
                prepare.run_name
            ))));
            self.next = Some((from, prepare));
            // This run is not held here yet, so it obeys no coordinator, and its own waits for an
            // answer.
            return self.send(Up::Note(Note {
                run_id,
                event: BUSY.to_owned(),
                text,
            }));
        }
        self.forget();
        let run_name = prepare.run_name.clone();
        let run_id = prepare.run_id.clone();
        let Some((begun, want)) = LocalRun::new(prepare, from, &mut self.cache, &*self.store)
        else {
            return self.lose(
                now,
                "the coordinator's plan message makes no sense; run the same version on both",
                Finality::Retry,
            );
        };
        self.out.push(SessionAction::Say(News::Preparing {
            run_name: run_name.clone(),
        }));
        match begun {
            Ok(run) => {
                self.run = Some(run);
                want.into_iter().for_each(|want| self.send(Up::Want(want)));
            }
            Err(problem) => self.cannot_run(run_id, run_name, problem.to_string()),
        }
        self.check_files(Ok(()));
    }

    /// Goes on to the runner once the last file has arrived. A problem with a file is the answer to
    /// the plan.
    fn check_files(&mut self, taken: Result<(), String>) {
        // The file belongs to a run that was refused or forgotten here.
        let Some(run) = &mut self.run else { return };
        match taken {
            Ok(()) => {
                let minted = run.own_file();
                let order = run.assignment();
                if let Some(Order::Prepare(assignment)) = &order {
                    self.unanswered += 1;
                    let kept = assignment.files.iter();
                    kept.filter(|file| Some(file.sha256) != minted)
                        .for_each(|file| self.cache.keep(file));
                }
                self.out.extend(order.map(SessionAction::Order));
            }
            Err(problem) => self.fail_preparing(problem),
        }
    }

    pub(super) fn fail_preparing(&mut self, problem: String) {
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

    fn start(&mut self, now: Mono, from: CoordinatorId, start: &Start) {
        // An agent is ready only once its clock is measured, and only then is a start announced.
        let Some(clock) = self.beats.reading(now) else {
            return;
        };
        let at = clock.to_agent(FleetTime(start.start_at_ns));
        let attempt = start.attempt;
        let run = self.run_of(from, &start.run_id);
        if run.is_some_and(|run| run.arm(start, at, now)) {
            let run_id = start.run_id.clone();
            self.send(Up::Armed(Armed { run_id, attempt }));
        }
    }

    fn on_receipt(&mut self, now: Mono, from: CoordinatorId, received: &Received) {
        if let Some(run) = self.obeying(from, &received.run_id) {
            let trip = self.beats.shortest_trip();
            self.window.note_arrival(run, received, trip, now);
        }
    }

    fn on_ack(&mut self, now: Mono, from: CoordinatorId, ack: &Ack) {
        let Some(run) = RunId::from_wire(&ack.run_id) else {
            return;
        };
        match ack.stored {
            Some(Stored::Interval(number)) => {
                self.on_upload_stored(now, from, run, UploadId::Interval(number));
            }
            Some(Stored::Totals(number)) => {
                self.on_upload_stored(now, from, run, UploadId::Totals(number));
            }
            Some(Stored::Second(second)) => self.on_second_stored(run, second),
            Some(Stored::ProfilePart(part)) => self.on_profile_part_stored(run, part),
            None => {}
        }
    }

    fn on_upload_stored(&mut self, now: Mono, from: CoordinatorId, run: RunId, upload: UploadId) {
        if !self.is_obeyed(run, from) {
            return;
        }
        let trip = self.beats.shortest_trip();
        self.window.note_stored(run, upload, trip, now);
        let runs = self.run.iter_mut().chain(&mut self.kept);
        for held in runs.filter(|held| held.id() == run) {
            held.outbox().acknowledge(upload, &mut self.stash);
        }
        self.send_end(run, now);
    }

    fn take_over(&mut self, from: CoordinatorId, message: TakeOver) {
        let Some(run) = self.run_of(from, &message.run_id) else {
            return;
        };
        match run.take_over(message) {
            Ok(order) => self.out.extend(order.map(SessionAction::Order)),
            Err(answer) => self.send(Up::TookOver(answer)),
        }
    }

    fn take_token(&mut self, now: Mono, from: CoordinatorId, token: RunToken) {
        if let Some(run) = self.run_of(from, &token.run_id) {
            let left = Duration::from_nanos(token.left_ns);
            let order = Order::Token {
                run: run.id(),
                place: token.place,
                text: token.text.into(),
                expires_at: token.ends.then(|| now.after(left)),
            };
            self.out.push(SessionAction::Order(order));
        }
    }

    fn on_stop(&mut self, now: Mono, from: CoordinatorId, stop: &proto::Stop) {
        let how = if stop.now { Stop::Now } else { Stop::Drain };
        // A run that has ended is uploading, and a stop does not prevent that.
        let Some(run) = self.run_of(from, &stop.run_id) else {
            return;
        };
        let order = run.stop(how, None);
        self.out.extend(order.map(SessionAction::Order));
        self.note_end(now);
    }

    fn on_release(&mut self, from: CoordinatorId, run_id: &[u8]) {
        let is_next =
            |(by, prepare): &mut (CoordinatorId, Prepare)| *by == from && prepare.run_id == run_id;
        self.next.take_if(is_next);
        // It was forgotten here already, or belongs to another coordinator.
        let Some(run) = self.obeying(from, run_id).and_then(|run| self.take(run)) else {
            return;
        };
        if run.is_begun() {
            self.is_served = true;
            self.out.push(SessionAction::Say(News::Released {
                run_name: run.name().to_owned(),
                dropped_intervals: run.backlog(),
            }));
        }
        self.drop_run(run);
    }

    /// The run that is being prepared or fired, if it is this one and obeys this coordinator.
    fn run_of(&mut self, from: CoordinatorId, run_id: &[u8]) -> Option<&mut LocalRun> {
        let run = RunId::from_wire(run_id)?;
        let is_it = |held: &&mut LocalRun| held.id() == run && held.obeys(from);
        self.run.as_mut().filter(is_it)
    }

    /// The id of a run that is held here and obeys this coordinator.
    fn obeying(&self, from: CoordinatorId, run_id: &[u8]) -> Option<RunId> {
        let run = RunId::from_wire(run_id)?;
        self.local_run(run)
            .filter(|held| held.obeys(from))
            .map(|_| run)
    }
}
