//! An agent's side of the control plane as a state machine: events in, actions out.

mod directed;
mod kept;
mod leaving;
mod watching;

use crate::back_off::BackOff;
use crate::beats::Beats;
use crate::file_cache::FileCache;
use crate::interval_store::{NoStore, Stash};
use crate::local_run::LocalRun;
use crate::observations::Observations;
use crate::profile_outbox::ProfileOutbox;
use crate::stored_files::NoStoredFiles;
use crate::upload_window::UploadWindow;
use crate::wire::{cut, from_agent};
use crate::{
    AgentFacts, Boot, CoordinatorId, EndCause, IntervalStore, LEASE, Mono, Now, Order, Report,
    Role, RunId, Stop, StoredFiles,
};
use crate::{Disconnection, Finality, News, SessionAction, SessionEvent};
use leaving::Leaving;
pub use leaving::Stay;
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{FromCoordinator, HeldRun, Hello, IntervalPart, Note, Observe, PROTOCOL, Prepare};
use std::time::Duration;

/// How long an agent keeps data of a run after its load has ended, by default.
pub const KEEP: Duration = Duration::from_secs(3_600);

/// The coordinator must answer a hello within this time, or the stream is given up.
const GREETING_MAX: Duration = Duration::from_secs(10);

/// A stream that brought nothing for this long is dead, since grants come every second. With longer
/// leases it takes longer.
const SILENCE_MIN: Duration = LEASE.saturating_mul(2);

/// How long an agent that is told to quit uploads what it holds.
const FAREWELL_MAX: Duration = Duration::from_secs(10);

/// How long files of plans are kept while there is no coordinator.
const FILES_KEPT: Duration = Duration::from_secs(600);

/// Target addresses that an agent reports.
const ADDRESSES_MAX: usize = 256;

/// An agent's side of the control plane, over any number of streams and runs.
#[derive(Debug)]
pub struct Session {
    facts: AgentFacts,
    /// Versions of the encoding of intervals and of the language of plans.
    versions: (u32, u32),
    link: Link,
    back_off: BackOff,
    beats: Beats,
    window: UploadWindow,
    now: Now,
    heard_at: Mono,
    /// The coordinator of this stream, or of the last one.
    coordinator: Option<CoordinatorId>,
    said_away: Option<String>,
    /// Whether a run was released since the coordinator was joined, so that it is expected to
    /// leave.
    is_served: bool,
    /// The run that is being prepared or fired.
    run: Option<LocalRun>,
    /// Orders to prepare that the runner has not answered.
    unanswered: u32,
    /// A plan that waits here while the run of another coordinator fires.
    next: Option<(CoordinatorId, Prepare)>,
    /// Runs whose load has ended and that were not released, the oldest first.
    kept: Vec<LocalRun>,
    keep: Duration,
    stash: Stash,
    cache: FileCache,
    store: Box<dyn StoredFiles>,
    /// A run that a monitor was asked to watch, until the clock is measured.
    asked: Option<Observe>,
    observations: Option<Observations>,
    /// The CPU profile of the last run of which a monitor took one.
    profile: Option<ProfileOutbox>,
    quit_at: Option<Mono>,
    leaving: Leaving,
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
    /// Creates a session that dials at its first tick. `seed` spreads the waits of different
    /// agents.
    #[must_use]
    pub fn new(facts: AgentFacts, seed: u64) -> Session {
        Session {
            facts,
            versions: (0, 0),
            link: Link::Waiting { until: Mono(0) },
            back_off: BackOff::new(seed),
            beats: Beats::new(),
            window: UploadWindow::new(),
            now: Now {
                mono: Mono(0),
                boot: Boot(0),
            },
            heard_at: Mono(0),
            coordinator: None,
            said_away: None,
            is_served: false,
            run: None,
            unanswered: 0,
            next: None,
            kept: Vec::new(),
            keep: KEEP,
            stash: Stash::new(Box::new(NoStore)),
            cache: FileCache::new(),
            store: Box::new(NoStoredFiles),
            asked: None,
            observations: None,
            profile: None,
            quit_at: None,
            leaving: Leaving::default(),
            out: Vec::new(),
        }
    }

    /// Sets the encoding of intervals and the language of plans that the hello names.
    #[must_use]
    pub fn with_versions(mut self, encoding: u32, language: u32) -> Session {
        self.versions = (encoding, language);
        self
    }

    /// Sets where intervals go when memory is full. To be called before the first event.
    #[must_use]
    pub fn with_store(mut self, store: Box<dyn IntervalStore>) -> Session {
        self.stash = Stash::new(store);
        self
    }

    /// Sets which files are on the disk. To be called before the first event.
    #[must_use]
    pub fn with_stored_files(mut self, store: Box<dyn StoredFiles>) -> Session {
        self.store = store;
        self
    }

    /// Sets how long undelivered data is kept after a run.
    #[must_use]
    pub fn with_keep(mut self, keep: Duration) -> Session {
        self.keep = keep;
        self
    }

    /// Handles an event. Returns what to do about it, in order.
    pub fn on(&mut self, now: Now, event: SessionEvent) -> Vec<SessionAction> {
        self.now = now;
        match event {
            SessionEvent::Connected => self.greet(now.mono),
            SessionEvent::Disconnected(disconnection) => {
                self.on_disconnect(now.mono, disconnection)
            }
            SessionEvent::Received(message) => self.on_message(now, message),
            SessionEvent::Reported(report) => self.on_report(now, report),
            SessionEvent::Tick => {}
            SessionEvent::ShutDown => self.shut_down(now.mono),
        }
        self.advance(now);
        if let Some(why) = self.stash.trouble() {
            self.out.push(SessionAction::Say(News::CannotSpool { why }));
        }
        for action in &self.out {
            if let SessionAction::Say(news) = action {
                self.leaving.note(news);
            }
        }
        self.leave_if_alone(now.mono);
        std::mem::take(&mut self.out)
    }

    /// When to [`SessionEvent::Tick`] next, if nothing else happens before.
    #[must_use]
    pub fn wake_at(&self, now: Now) -> Mono {
        let link = match self.link {
            Link::Waiting { until } | Link::Greeting { until } => until,
            Link::Dialling => Mono(u64::MAX),
            Link::Joined => self
                .beats
                .next_at()
                .min(self.heard_at.after(self.silence_max())),
        };
        let run = self.run.as_ref().and_then(|run| run.wake_at(now));
        // A burst's end is due once: its answer is sent then, and afterwards it does not matter.
        let burst = self.beats.burst_ends_at().filter(|ends| *ends > now.mono);
        let leaves = self.leaving.absence_ends_at();
        [run, burst, leaves, self.quit_at, self.next_drop_at()]
            .into_iter()
            .flatten()
            .fold(link, Mono::min)
    }

    /// The next part of an interval to send, if there is room for one on the stream.
    pub fn next_part(&mut self) -> Option<IntervalPart> {
        let coordinator = self.coordinator().filter(|_| self.window.has_room())?;
        let runs = self.run.iter_mut().chain(&mut self.kept);
        for run in runs.filter(|run| run.obeys(coordinator)) {
            if let Some(part) = run.next_part(&mut self.stash) {
                self.window.note_sent(run.id(), &part, self.now.mono);
                return Some(part);
            }
        }
        None
    }

    /// Whether reports are taken. If not, more than [`crate::HELD_MAX_BYTES`] wait to be
    /// acknowledged, and the store refuses more. Without a lease all are taken: the load has ended,
    /// so few are left, and behind them comes the end of the run, which says when to drop them.
    #[must_use]
    pub fn takes_reports(&self, now: Now) -> bool {
        !self.stash.is_full() || !self.is_leased(now)
    }

    /// Whether a coordinator counts on this agent: it prepares or fires a run, or keeps data of
    /// one.
    #[must_use]
    pub fn holds_run(&self) -> bool {
        self.run.is_some() || !self.kept.is_empty()
    }

    /// Whether a coordinator counts on this process: see [`Session::holds_run`]; or it watches a
    /// run of one that is there.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        let watches = self.facts.role == Role::Monitor && self.observations.is_some();
        self.holds_run() || (watches && self.link == Link::Joined)
    }

    /// Whether it fires under a lease that holds. Without a coordinator, the run ends with that
    /// lease.
    #[must_use]
    pub fn is_leased(&self, now: Now) -> bool {
        self.run.as_ref().is_some_and(|run| run.is_leased(now))
    }

    fn greet(&mut self, now: Mono) {
        // A run that has not begun was forgotten with its stream.
        let firing = self.run.iter().filter(|run| run.is_begun());
        let held = |run: &LocalRun| HeldRun {
            run_id: run.id().to_wire(),
            epoch: run.epoch(),
        };
        let hello = Hello {
            protocol: PROTOCOL,
            version: self.facts.version.clone(),
            agent_id: self.facts.id.to_wire(),
            name: self.facts.name.clone(),
            labels: self.facts.labels.clone().into_iter().collect(),
            workers: self.facts.workers,
            host: self.facts.host.clone(),
            snapshot_encoding: self.versions.0,
            plan_language: self.versions.1,
            role: match self.facts.role {
                Role::Agent => proto::Role::Agent.into(),
                Role::Monitor => proto::Role::Monitor.into(),
            },
            held_runs: firing.chain(&self.kept).map(held).collect(),
            calibration: self.facts.calibration.clone(),
        };
        self.link = Link::Greeting {
            until: now.after(GREETING_MAX),
        };
        self.send(Up::Hello(hello));
    }

    fn on_disconnect(&mut self, now: Mono, disconnection: Disconnection) {
        let finality = disconnection.finality;
        // A member keeps trying: another coordinator may be there only for a while.
        if finality == Finality::Final && self.coordinator.is_none() {
            self.out.push(SessionAction::Quit(Some(disconnection.why)));
        } else {
            let news = self.news_of_absence(disconnection);
            self.out.extend(news.map(SessionAction::Say));
        }
        self.link = Link::Waiting {
            until: now.after(self.back_off.next(self.is_leased(self.now))),
        };
        self.window.reset();
        // The coordinator sends it again.
        self.next = None;
        self.rewind_observations();
        if self.run.as_ref().is_some_and(|run| !run.is_begun()) {
            self.forget();
        }
        self.leave_after(finality);
    }

    /// The news about an absence: each reason once, and none if the absence was expected.
    fn news_of_absence(&mut self, disconnection: Disconnection) -> Option<News> {
        let Disconnection { why, finality } = disconnection;
        let is_expected = self.is_served && !self.holds_run();
        match finality {
            Finality::Ended if is_expected && self.leaving.is_due() => return None,
            Finality::Ended if is_expected => return Some(News::RunOver),
            Finality::Nobody if is_expected => return None,
            _ if self.said_away.as_ref() == Some(&why) => return None,
            _ => {}
        }
        self.is_served = false;
        self.said_away = Some(why.clone());
        Some(News::Away { why })
    }

    /// Gives up the stream from this side.
    fn lose(&mut self, now: Mono, why: &str, finality: Finality) {
        self.out.push(SessionAction::Disconnect);
        self.on_disconnect(
            now,
            Disconnection {
                why: why.to_owned(),
                finality,
            },
        );
    }

    fn on_message(&mut self, now: Now, message: FromCoordinator) {
        self.heard_at = now.mono;
        match message.message {
            Some(Down::Welcome(welcome)) => self.on_welcome(now.mono, welcome),
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
            // Before a welcome nothing else counts. A message that this version does not know is
            // `None`.
            Some(message) => {
                if let Some(from) = self.coordinator() {
                    self.on_directed(now, from, message);
                }
            }
            None => {}
        }
    }

    /// Whether it answers an order to prepare that another one has followed. The runner answers
    /// each in turn, so it is about a preparation that was forgotten, perhaps one of the same run.
    fn is_of_forgotten_preparation(&mut self, report: &Report) -> bool {
        if !matches!(report, Report::Prepared { .. } | Report::NotPrepared { .. }) {
            return false;
        }
        self.unanswered = self.unanswered.saturating_sub(1);
        self.unanswered > 0
    }

    fn on_report(&mut self, now: Now, report: Report) {
        if self.is_of_forgotten_preparation(&report) {
            return;
        }
        match report {
            Report::Note { run, event, text } => self.note(run, &event, text),
            Report::Observed {
                run,
                second,
                encoded,
            } => self.on_observation(run, second, encoded),
            Report::Profiling { run } => self.profiling(run),
            Report::Profiled { run, encoded } => self.queue_profile(run, &encoded),
            Report::TookOver {
                run,
                number,
                answer,
            } if self.has(run) => {
                let answer = self.run.as_mut().map(|run| run.took_over(number, answer));
                answer
                    .into_iter()
                    .for_each(|answer| self.send_of(run, Up::TookOver(answer)));
            }
            Report::NotPrepared { run, problem } if self.has(run) => self.fail_preparing(problem),
            Report::Prepared {
                run,
                plan_digest,
                mut addresses,
                workers,
                findings,
            } if self.has(run) => {
                addresses.truncate(ADDRESSES_MAX);
                if self
                    .run
                    .as_mut()
                    .is_some_and(|run| run.note_ready(plan_digest, addresses, workers, findings))
                {
                    self.beats.burst(now.mono);
                }
            }
            Report::Began { run, at } if self.has(run) => {
                self.run.iter_mut().for_each(|run| run.began(at));
                self.send_began(run, now.mono);
            }
            Report::Interval {
                run,
                interval,
                encoded,
            } if self.has(run) => {
                let order = self
                    .run
                    .as_mut()
                    .and_then(|run| run.interval(interval, encoded, &mut self.stash));
                self.out.extend(order.map(SessionAction::Order));
            }
            Report::Ended {
                run,
                cause,
                totals,
                figures,
            } if self.has(run) => {
                if let Some(run) = &mut self.run {
                    run.on_end(cause, totals, figures, &mut self.stash);
                }
                self.note_end(now.mono);
            }
            // About a run that was forgotten here.
            _ => {}
        }
    }

    fn note_end(&mut self, now: Mono) {
        let ended = self
            .run
            .as_ref()
            .and_then(|run| Some((run.name().to_owned(), run.end_cause()?)));
        // It was stopped while firing: the runner reports its end later.
        let Some((run_name, cause)) = ended else {
            return;
        };
        self.out
            .push(SessionAction::Say(News::Ended { run_name, cause }));
        if let Some(run) = self.keep_run(now) {
            self.send_end(run, now);
            self.tell_kept(now);
        }
        if let Some((from, prepare)) = self.next.take() {
            self.prepare(now, from, prepare);
        }
    }

    fn shut_down(&mut self, now: Mono) {
        if self.quit_at.is_some() || !self.has_farewell() {
            return self.quit(now);
        }
        self.quit_at = Some(now.after(FAREWELL_MAX));
        let cause = EndCause::Failed("the agent was told to quit".into());
        let order = self
            .run
            .as_mut()
            .and_then(|run| run.stop(Stop::Now, Some(cause)));
        self.out.extend(order.map(SessionAction::Order));
    }

    /// Does what is due when time passes.
    fn advance(&mut self, now: Now) {
        self.advance_link(now);
        self.advance_run(now);
        self.drop_overdue(now.mono);
        let is_over = |at: Mono| now.mono >= at || !self.has_farewell();
        if self.quit_at.is_some_and(is_over) {
            self.quit(now.mono);
        }
    }

    fn quit(&mut self, now: Mono) {
        self.quit_at = None;
        self.drop_all(now);
        self.out.push(SessionAction::Quit(None));
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
            Link::Joined if now.mono >= self.heard_at.after(self.silence_max()) => {
                let seconds = self.silence_max().as_secs();
                let why = format!("the coordinator was not heard for {seconds} s");
                self.lose(now.mono, &why, Finality::Retry);
            }
            Link::Joined if now.mono >= self.beats.next_at() => {
                let beat = self.beats.beat(now);
                self.send(Up::Beat(beat));
            }
            _ => {}
        }
        if self.link != Link::Joined && now.mono >= self.heard_at.after(FILES_KEPT) {
            self.cache.clear();
        }
    }

    fn advance_run(&mut self, now: Now) {
        // Without a run only the link has anything to do.
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
        } else if let Some(news) = run.miss_start(now.mono) {
            self.out.push(SessionAction::Say(news));
        } else if self.link == Link::Joined && self.beats.has_measured(now.mono) {
            let clock = self.beats.reading(now.mono);
            let answer = run.answer_plan(clock);
            answer
                .into_iter()
                .for_each(|answer| self.send(Up::Prepared(answer)));
        }
    }

    /// How long a stream may bring nothing before it is dead. At least twice the longest lease,
    /// because a lease that outlives a silence must be of use.
    fn silence_max(&self) -> Duration {
        let lease = self.run.as_ref().map(LocalRun::longest_lease);
        SILENCE_MIN.max(lease.unwrap_or_default().saturating_mul(2))
    }

    fn note(&mut self, run: Option<RunId>, event: &str, text: String) {
        let note = Note {
            run_id: run.map(RunId::to_wire).unwrap_or_default(),
            event: cut(event.to_owned()),
            text: cut(text),
        };
        match run {
            Some(run) => self.send_of(run, Up::Note(note)),
            None if self.link == Link::Joined => self.send(Up::Note(note)),
            None => {}
        }
    }

    /// Sends the first instant to the current coordinator, once its clock is measured.
    fn send_began(&mut self, run: RunId, now: Mono) {
        if !self
            .coordinator()
            .is_some_and(|from| self.is_obeyed(run, from))
        {
            return;
        }
        let clock = self.beats.reading(now);
        let clock = clock.filter(|_| !self.beats.in_burst(now));
        let clock_id = self.beats.clock_id();
        let mut runs = self.run.iter_mut().chain(&mut self.kept);
        let began = runs
            .find(|held| held.id() == run)
            .and_then(|run| run.began_message(clock_id, clock, now));
        began
            .into_iter()
            .for_each(|began| self.send(Up::Began(began)));
    }

    /// Sends what waited for the clock to be measured.
    fn send_owed(&mut self, now: Mono) {
        let runs = self.run.iter().chain(&self.kept);
        let owing = runs.filter(|run| run.owes_began()).map(LocalRun::id);
        for run in owing.collect::<Vec<_>>() {
            self.send_began(run, now);
            self.send_end(run, now);
        }
    }

    fn is_obeyed(&self, run: RunId, from: CoordinatorId) -> bool {
        self.local_run(run).is_some_and(|run| run.obeys(from))
    }

    fn send_end(&mut self, run: RunId, now: Mono) {
        let clock = self.beats.reading(now);
        let ended = self.local_run(run).and_then(|run| run.end_message(clock));
        ended
            .into_iter()
            .for_each(|ended| self.send_of(run, Up::Ended(ended)));
    }

    fn has(&self, run: RunId) -> bool {
        self.run.as_ref().is_some_and(|held| held.id() == run)
    }

    /// The coordinator that has welcomed this agent on the current stream.
    fn coordinator(&self) -> Option<CoordinatorId> {
        self.coordinator.filter(|_| self.link == Link::Joined)
    }

    /// Sends a message about a run, if the run obeys the current coordinator.
    fn send_of(&mut self, run: RunId, message: Up) {
        if self
            .coordinator()
            .is_some_and(|from| self.is_obeyed(run, from))
        {
            self.send(message);
        }
    }

    fn send(&mut self, message: Up) {
        self.out.push(SessionAction::Send(from_agent(message)));
    }
}
