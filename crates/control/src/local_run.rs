//! An agent's part in one run, from the plan to the last acknowledgement.

use crate::beats::to_wire;
use crate::file_cache::FileCache;
use crate::file_inbox::{FileInbox, FileProblem};
use crate::interval_store::Stash;
use crate::lease::{Lease, longest};
use crate::outbox::Outbox;
use crate::{
    Assignment, ClockReading, CoordinatorId, Digest, EndCause, Finding, INTERVAL_MAX_BYTES, Mono,
    Order, PlanFile, RunId, SharePath, Stop, StoredFiles,
};
use crate::{News, Now};
use proto::{Began, Bytes, Ended, FilePart, IntervalPart, Prepare, Prepared, Resume, Start};
use proto::{TakeOver, TookOver, Want};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Parts of other agents' shares that one agent takes over in a run; more are refused.
pub const TAKEN_OVER_MAX: usize = 1_024;

/// A run that an agent has, and how far it has come.
#[derive(Debug)]
pub(crate) struct LocalRun {
    run: RunId,
    prepare: Prepare,
    /// Files that are on this agent's disk.
    stored: Vec<Digest>,
    plan_digest: Digest,
    /// The coordinator that is obeyed: the one of the highest epoch that was heard of.
    coordinator: CoordinatorId,
    epoch: u64,
    phase: LocalPhase,
    outbox: Outbox,
    next_interval: u32,
    began: Option<FirstInstant>,
    /// Number of the latest start instant that was announced.
    attempt: u32,
    told_missed: bool,
    /// The coordinator that was last told that the run is kept for another one.
    told_kept: Option<CoordinatorId>,
    /// The coordinator that was last reported as no longer obeyed.
    told_outranked: Option<CoordinatorId>,
    /// Answers to orders to take over, by number; `None` while the runner has not answered.
    taken_over: BTreeMap<u32, Option<TookOver>>,
    /// Why the run must end, if the runner does not know the reason.
    cut: Option<EndCause>,
    ended: Option<Ended>,
    ended_at: Mono,
}

/// When the load began, and how that was reported.
#[derive(Debug)]
struct FirstInstant {
    at: Mono,
    /// The clock by which it was first reported, and the report. By another clock it is reported
    /// anew.
    told: Option<(Bytes, Began)>,
    /// Whether it was sent on this stream.
    is_sent: bool,
}

#[derive(Debug)]
enum LocalPhase {
    /// Files are arriving.
    Receiving(FileInbox),
    /// The runner has the plan.
    Preparing,
    /// The runner is ready, and the clock is being measured.
    Measuring(Prepared),
    /// The coordinator knows that this agent is ready.
    Ready,
    /// The start instant is announced, and `go` says whether every other agent knows it too. The
    /// lease is still missing.
    Armed { at: Mono, go: bool },
    /// The runner has its start order.
    Firing { at: Mono, lease: Lease },
    /// It no longer fires, and what it holds is uploaded.
    Uploading,
}

/// A run to prepare for, or why its files cannot be accepted.
pub(crate) type Begun = Result<LocalRun, FileProblem>;

impl LocalRun {
    /// Creates a run to prepare for, and the request for the files it lacks, if the coordinator
    /// waits for one. Returns `None` for a message that no coordinator of this version sends.
    pub(crate) fn new(
        prepare: Prepare,
        coordinator: CoordinatorId,
        cache: &mut FileCache,
        store: &dyn StoredFiles,
    ) -> Option<(Begun, Option<Want>)> {
        let run = RunId::from_wire(&prepare.run_id)?;
        let plan_digest = Digest::from_wire(&prepare.plan_digest)?;
        let Lacking { here, stored, want } = Lacking::new(&prepare, cache, store)?;
        let files = want
            .as_ref()
            .map_or(prepare.files, |want| want.sha256.len() as u32);
        let inbox = FileInbox::new(files, prepare.files_bytes, here);
        let begun = inbox.map(|inbox| LocalRun {
            run,
            plan_digest,
            coordinator,
            epoch: prepare.epoch.max(1),
            outbox: Outbox::new(run, prepare.agents),
            prepare,
            stored,
            phase: LocalPhase::Receiving(inbox),
            next_interval: 0,
            began: None,
            attempt: 0,
            told_missed: false,
            told_kept: None,
            told_outranked: None,
            taken_over: BTreeMap::new(),
            cut: None,
            ended: None,
            ended_at: Mono(0),
        });
        Some((begun, want))
    }

    pub(crate) fn id(&self) -> RunId {
        self.run
    }

    pub(crate) fn name(&self) -> &str {
        &self.prepare.run_name
    }

    /// Whether the run outlives its stream. Before the start it does not, because the coordinator
    /// begins it anew.
    pub(crate) fn is_begun(&self) -> bool {
        matches!(
            self.phase,
            LocalPhase::Firing { .. } | LocalPhase::Uploading
        )
    }

    pub(crate) fn is_firing(&self) -> bool {
        matches!(self.phase, LocalPhase::Firing { .. })
    }

    pub(crate) fn outbox(&mut self) -> &mut Outbox {
        &mut self.outbox
    }

    /// The highest epoch that was heard of.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether the run obeys this coordinator.
    pub(crate) fn obeys(&self, coordinator: CoordinatorId) -> bool {
        self.coordinator == coordinator
    }

    /// Takes a coordinator's claim that the run is at this epoch. Returns whether the coordinator
    /// is obeyed from now on: one of a later epoch is, and at the same epoch only the same
    /// coordinator.
    pub(crate) fn claim(&mut self, coordinator: CoordinatorId, epoch: u64) -> bool {
        if epoch.max(1) > self.epoch {
            self.epoch = epoch;
            self.coordinator = coordinator;
        }
        self.obeys(coordinator)
    }

    /// The longest lease that the run can have.
    pub(crate) fn longest_lease(&self) -> Duration {
        longest(self.prepare.lease_ns)
    }

    /// Number of the run's seconds that are not delivered.
    pub(crate) fn backlog(&self) -> usize {
        self.outbox.intervals()
    }

    /// Whether anything of the run is still to be delivered, including its totals.
    pub(crate) fn has_data(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Whether to tell this coordinator, once, that the run is kept for another one.
    pub(crate) fn tell_kept(&mut self, coordinator: CoordinatorId) -> bool {
        !self.obeys(coordinator)
            && self.has_data()
            && self.told_kept.replace(coordinator) != Some(coordinator)
    }

    /// Whether to report, once, that this coordinator is no longer obeyed.
    pub(crate) fn tell_outranked(&mut self, coordinator: CoordinatorId) -> bool {
        self.told_outranked.replace(coordinator) != Some(coordinator)
    }

    /// When its load ended.
    pub(crate) fn ended_at(&self) -> Mono {
        self.ended_at
    }

    pub(crate) fn set_ended_at(&mut self, now: Mono) {
        self.ended_at = now;
    }

    /// Starts over on another stream.
    pub(crate) fn rewind(&mut self, resume: &Resume, stash: &mut Stash) {
        self.outbox.rewind(resume, stash);
        if let Some(began) = &mut self.began {
            began.is_sent = false;
        }
    }

    /// Takes a part of a file; ignored once files are no longer wanted.
    pub(crate) fn file(&mut self, part: &FilePart) -> Result<(), FileProblem> {
        match &mut self.phase {
            LocalPhase::Receiving(inbox) => inbox.take(part),
            _ => Ok(()),
        }
    }

    /// The order to prepare, once every file has arrived.
    pub(crate) fn assignment(&mut self) -> Option<Order> {
        // Checked before the phase is replaced, so that files stay while others are missing.
        if !matches!(&self.phase, LocalPhase::Receiving(inbox) if inbox.is_complete()) {
            return None;
        }
        let LocalPhase::Receiving(inbox) =
            std::mem::replace(&mut self.phase, LocalPhase::Preparing)
        else {
            return None;
        };
        Some(Order::Prepare(Assignment {
            run: self.run,
            run_name: self.prepare.run_name.clone(),
            plan: std::mem::take(&mut self.prepare.plan).into(),
            plan_digest: self.plan_digest,
            agent_index: self.prepare.agent_index,
            agents: self.prepare.agents,
            files: inbox.into_files(),
            stored: std::mem::take(&mut self.stored),
            storable: storable(&self.prepare).collect(),
            minted: self.own_file(),
            force: self.prepare.force,
        }))
    }

    /// The file that is of no use to another run, or another agent.
    pub(crate) fn own_file(&self) -> Option<Digest> {
        Digest::from_wire(&self.prepare.minted)
    }

    /// Notes that the runner is ready. Returns whether it was asked.
    pub(crate) fn note_ready(
        &mut self,
        plan_digest: Digest,
        addresses: Vec<String>,
        workers: u32,
        findings: Vec<Finding>,
    ) -> bool {
        let asked = matches!(self.phase, LocalPhase::Preparing);
        if asked {
            self.phase = LocalPhase::Measuring(Prepared {
                run_id: self.run.to_wire(),
                plan_digest: plan_digest.to_wire(),
                addresses,
                workers,
                findings: findings.into_iter().map(Finding::into_wire).collect(),
                ..Prepared::default()
            });
        }
        asked
    }

    /// The answer to the plan, once the clock is measured.
    pub(crate) fn answer_plan(&mut self, clock: Option<ClockReading>) -> Option<Prepared> {
        let LocalPhase::Measuring(prepared) = &mut self.phase else {
            return None;
        };
        let answer = Prepared {
            clock: clock.map(to_wire),
            ..std::mem::take(prepared)
        };
        self.phase = LocalPhase::Ready;
        Some(answer)
    }

    /// Takes an announced start instant. Returns whether it is accepted: not if it has passed, nor
    /// if a later one replaced it.
    pub(crate) fn arm(&mut self, start: &Start, at: Mono, now: Mono) -> bool {
        let waits = matches!(self.phase, LocalPhase::Ready | LocalPhase::Armed { .. });
        let is_new = start.attempt > self.attempt;
        if !waits || !is_new || at <= now {
            return false;
        }
        self.attempt = start.attempt;
        self.phase = LocalPhase::Armed { at, go: false };
        true
    }

    /// Notes that every agent knows the start instant of this number. Returns whether a lease is
    /// accepted from now on.
    pub(crate) fn go(&mut self, attempt: u32) -> bool {
        match &mut self.phase {
            LocalPhase::Armed { go, .. } if attempt == self.attempt => {
                *go = true;
                true
            }
            _ => false,
        }
    }

    /// Takes a lease that was granted for a beat sent at `sent`. Returns the order to the runner,
    /// if one follows.
    pub(crate) fn grant(&mut self, sent: Now, length: Duration, now: Now) -> Option<Order> {
        let longest = self.longest_lease();
        match &mut self.phase {
            LocalPhase::Armed { at, go: true } => {
                let at = *at;
                // A lease that expired on its way begins nothing; the next beat asks again.
                let lease = Lease::begin(sent.boot, length, longest, now.boot)?;
                if now.mono >= at {
                    return None;
                }
                let lease_until = lease.until();
                self.phase = LocalPhase::Firing { at, lease };
                Some(Order::Start {
                    run: self.run,
                    at,
                    lease_until,
                })
            }
            LocalPhase::Firing { lease, .. } => {
                let until = lease.extend(sent.boot, length, now.boot)?;
                Some(Order::ExtendLease {
                    run: self.run,
                    until,
                })
            }
            _ => None,
        }
    }

    /// Whether the start instant passed without a lease, so that the run waits for another one.
    /// Returns the news about it the first time.
    pub(crate) fn miss_start(&mut self, now: Mono) -> Option<News> {
        if !matches!(self.phase, LocalPhase::Armed { at, .. } if now >= at) {
            return None;
        }
        self.phase = LocalPhase::Ready;
        let run_name = self.name().to_owned();
        (!std::mem::replace(&mut self.told_missed, true)).then_some(News::MissedStart { run_name })
    }

    /// Takes a part of another agent's share. Returns the order, or the answer if it is known
    /// already. Each number takes effect once, however often it comes. The part begins at an
    /// instant of the run clock, so each arrival is fired by one agent only, however far apart
    /// agents began.
    pub(crate) fn take_over(&mut self, message: TakeOver) -> Result<Option<Order>, TookOver> {
        let TakeOver { number, .. } = message;
        if let Some(answer) = self.taken_over.get(&number) {
            return answer.clone().map_or(Ok(None), Err);
        }
        let at = match &self.phase {
            LocalPhase::Firing { at, .. } if self.cut.is_none() => *at,
            _ => return Err(self.took_over(number, Err("it does not fire".to_owned()))),
        };
        if self.taken_over.len() >= TAKEN_OVER_MAX {
            let problem = format!(
                "it was given {TAKEN_OVER_MAX} parts of lost agents' shares before, and takes no \
                 more; too many agents were lost"
            );
            return Err(self.took_over(number, Err(problem)));
        }
        self.taken_over.insert(number, None);
        let parts = message.parts.iter();
        Ok(Some(Order::TakeOver {
            run: self.run,
            number,
            share: SharePath {
                agent_index: message.agent_index,
                parts: parts.map(|part| (part.part, part.parts)).collect(),
            },
            from: at.after(Duration::from_nanos(message.from_ns)),
        }))
    }

    /// Answers an order to take over, and keeps the answer in case it is asked for again.
    pub(crate) fn took_over(&mut self, number: u32, answer: Result<Mono, String>) -> TookOver {
        let mut said = TookOver {
            run_id: self.run.to_wire(),
            number,
            ..TookOver::default()
        };
        match (answer, &self.phase) {
            (Err(problem), _) => said.problem = crate::wire::cut(problem),
            (Ok(from), LocalPhase::Firing { at, .. }) => said.from_ns = from.0.saturating_sub(at.0),
            (Ok(_), _) => said.problem = "it does not fire any more".to_owned(),
        }
        if let Some(kept) = self.taken_over.get_mut(&number) {
            *kept = Some(said.clone());
        }
        said
    }

    /// Whether the lease has expired just now. The runner must stop, and the run never fires again.
    pub(crate) fn lease_expires(&mut self, now: Now) -> bool {
        let LocalPhase::Firing { lease, .. } = &mut self.phase else {
            return false;
        };
        let just_expired = self.cut.is_none() && lease.expires(now.boot);
        if just_expired {
            self.cut = Some(EndCause::LeaseExpired);
        }
        just_expired
    }

    /// Whether it fires, and its lease has not expired.
    pub(crate) fn is_leased(&self, now: Now) -> bool {
        match &self.phase {
            LocalPhase::Firing { lease, .. } => self.cut.is_none() && now.boot < lease.until(),
            _ => false,
        }
    }

    /// When something happens without a message: a missed start, or the end of a lease.
    pub(crate) fn wake_at(&self, now: Now) -> Option<Mono> {
        match &self.phase {
            LocalPhase::Armed { at, .. } => Some(*at),
            LocalPhase::Firing { lease, .. } if self.cut.is_none() => {
                Some(now.mono.after(lease.until().since(now.boot)))
            }
            _ => None,
        }
    }

    /// Ends the run early. Returns the order to the runner, if it fires.
    pub(crate) fn stop(&mut self, how: Stop, cause: Option<EndCause>) -> Option<Order> {
        if self.is_firing() {
            self.cut = self.cut.take().or(cause);
            return Some(Order::Stop { run: self.run, how });
        }
        if !self.is_begun() {
            self.end_unfired(cause.unwrap_or(EndCause::Stopped));
        }
        None
    }

    /// Notes when the load began.
    pub(crate) fn began(&mut self, at: Mono) {
        self.began = Some(FirstInstant {
            at,
            told: None,
            is_sent: false,
        });
    }

    /// Whether the first instant is still to be sent on this stream, because the clock was not
    /// measured.
    pub(crate) fn owes_began(&self) -> bool {
        self.began.as_ref().is_some_and(|began| !began.is_sent)
    }

    /// The report of the first instant, by the clock of this name; `None` while that is not
    /// measured.
    pub(crate) fn began_message(
        &mut self,
        clock_id: &Bytes,
        clock: Option<ClockReading>,
        now: Mono,
    ) -> Option<Began> {
        let run_id = self.run.to_wire();
        let began = self.began.as_mut()?;
        let at = began.at;
        let is_same = |told: &(Bytes, Began)| told.0 == *clock_id;
        if !began.told.as_ref().is_some_and(is_same) {
            let (began_at, bound_ns) = clock?.to_fleet_past(at, now);
            let message = Began {
                run_id,
                began_at_ns: began_at.0,
                bound_ns,
            };
            began.told = Some((clock_id.clone(), message));
        }
        began.is_sent = true;
        began.told.as_ref().map(|(_, message)| message.clone())
    }

    /// Keeps an interval. If it is too large to be sent, returns the order that ends the run.
    pub(crate) fn interval(
        &mut self,
        interval: u32,
        encoded: Bytes,
        stash: &mut Stash,
    ) -> Option<Order> {
        self.next_interval = self.next_interval.max(interval.saturating_add(1));
        let Some(cause) = too_large(&format!("second {interval} of the run"), &encoded) else {
            self.outbox.keep(interval, encoded, stash);
            return None;
        };
        self.stop(Stop::Now, Some(cause))
    }

    /// Notes that the runner has ended. Totals follow the last interval, if they can be sent.
    pub(crate) fn on_end(
        &mut self,
        cause: EndCause,
        totals: Bytes,
        figures: Bytes,
        stash: &mut Stash,
    ) {
        if self.ended.is_some() {
            return; // a runner that is stopped in its last moment may end twice
        }
        let problem = too_large("the sum of the run", &totals);
        if problem.is_none() {
            self.outbox.keep_totals(self.next_interval, totals, stash);
        }
        let cause = self.cut.take().or(problem).unwrap_or(cause);
        self.finish(cause, figures);
    }

    /// Why it ended, once it has.
    pub(crate) fn end_cause(&self) -> Option<EndCause> {
        self.ended
            .as_ref()
            .map(|ended| crate::wire::end_cause(ended.cause, &ended.text))
    }

    /// The last message, once everything before it is acknowledged and the first instant was sent.
    pub(crate) fn end_message(&self, clock: Option<ClockReading>) -> Option<Ended> {
        let is_last = self.outbox.is_empty() && !self.owes_began();
        let ended = self.ended.clone().filter(|_| is_last)?;
        Some(Ended {
            clock: clock.map(to_wire),
            ..ended
        })
    }

    pub(crate) fn next_part(&mut self, stash: &mut Stash) -> Option<IntervalPart> {
        self.outbox.next_part(stash)
    }

    fn end_unfired(&mut self, cause: EndCause) {
        self.finish(cause, Bytes::new());
    }

    fn finish(&mut self, cause: EndCause, figures: Bytes) {
        let (cause, text) = crate::wire::end_cause_to_wire(cause);
        let run_id = self.run.to_wire();
        self.ended = Some(Ended {
            run_id,
            cause: cause.into(),
            text,
            figures,
            clock: None,
        });
        self.phase = LocalPhase::Uploading;
    }
}

/// The files that an agent needs, by where they are.
#[derive(Default)]
struct Lacking {
    /// In memory.
    here: Vec<PlanFile>,
    /// On the disk.
    stored: Vec<Digest>,
    /// The request for the others, if the coordinator waits for one.
    want: Option<Want>,
}

impl Lacking {
    /// `None` if a file's name is not a hash.
    fn new(prepare: &Prepare, cache: &mut FileCache, store: &dyn StoredFiles) -> Option<Lacking> {
        let mut lacking = Lacking::default();
        if prepare.needs.is_empty() {
            return Some(lacking);
        }
        let needs = prepare.needs.iter().map(|need| Digest::from_wire(need));
        let needs: Option<BTreeSet<Digest>> = needs.collect();
        let storable: BTreeSet<Digest> = storable(prepare).collect();
        let mut sha256 = Vec::new();
        for need in needs? {
            match cache.get(need) {
                Some(file) => lacking.here.push(file),
                None if storable.contains(&need) && store.has(need) => lacking.stored.push(need),
                None => sha256.push(need.to_wire()),
            }
        }
        let run_id = prepare.run_id.clone();
        lacking.want = Some(Want { run_id, sha256 });
        Some(lacking)
    }
}

/// The files that may be stored for later runs.
fn storable(prepare: &Prepare) -> impl Iterator<Item = Digest> {
    let hashes = prepare.storable.iter();
    hashes.filter_map(|sha256| Digest::from_wire(sha256))
}

/// Why the run cannot be reported in full, if this is more than can be sent.
fn too_large(what: &str, encoded: &Bytes) -> Option<EndCause> {
    const MIB: usize = 1 << 20;
    (encoded.len() > INTERVAL_MAX_BYTES).then(|| {
        EndCause::Failed(format!(
            "{what} takes {} MiB encoded, and at most {} travel; use fewer requests or addresses \
             in one plan",
            encoded.len().div_ceil(MIB),
            INTERVAL_MAX_BYTES / MIB
        ))
    })
}
