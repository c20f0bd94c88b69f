//! An agent's part in one run, from the plan to the last acknowledgement.

use crate::beats::to_wire;
use crate::file_cache::FileCache;
use crate::file_inbox::{FileInbox, FileProblem};
use crate::interval_store::Stash;
use crate::lease::{Lease, longest};
use crate::outbox::Outbox;
use crate::{
    Assignment, ClockReading, CoordinatorId, Digest, EndCause, Finding, INTERVAL_MAX_BYTES, Mono,
    Order, PlanFile, RunId, SharePath, Stop,
};
use crate::{News, Now};
use proto::{Began, Bytes, Ended, FilePart, IntervalPart, Prepare, Prepared, Resume, Start};
use proto::{TakeOver, TookOver, Want};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Parts of other agents' shares that one agent fires in a run; more are refused.
const TAKEN_OVER_MAX: usize = 1_024;

/// A run an agent has, and how far it is.
#[derive(Debug)]
pub(crate) struct LocalRun {
    run: RunId,
    prepare: Prepare,
    plan_digest: Digest,
    /// Whose word counts: the coordinator of the highest epoch that was heard of.
    coordinator: CoordinatorId,
    epoch: u64,
    phase: LocalPhase,
    outbox: Outbox,
    next_interval: u32,
    began: Option<FirstInstant>,
    /// The latest start instant that was named, by its number.
    attempt: u32,
    told_missed: bool,
    /// The coordinator of which was told that the run is kept for another one.
    told_kept: Option<CoordinatorId>,
    /// The coordinator of which was told that its word does not count any more.
    told_outranked: Option<CoordinatorId>,
    /// Answers to what was taken over, by number; nothing while the runner has not answered.
    taken_over: BTreeMap<u32, Option<TookOver>>,
    /// Why it must end, if that is for another reason than the runner knows.
    cut: Option<EndCause>,
    ended: Option<Ended>,
    ended_at: Mono,
}

/// When the load began, and how that was told.
#[derive(Debug)]
struct FirstInstant {
    at: Mono,
    /// By which clock it was told first. By another one it is told anew.
    told: Option<(Bytes, Began)>,
    /// Whether this stream has it.
    is_sent: bool,
}

#[derive(Debug)]
enum LocalPhase {
    /// Files are on their way.
    Receiving(FileInbox),
    /// The runner has the plan.
    Preparing,
    /// The runner is ready, and the clock is measured.
    Measuring(Prepared),
    /// The coordinator knows.
    Ready,
    /// The start instant is named; whether every other agent knows it too. The lease is missing
    /// still.
    Armed { at: Mono, go: bool },
    /// The runner has its start order.
    Firing { at: Mono, lease: Lease },
    /// It fires no more; what it holds is uploaded.
    Uploading,
}

/// A run to prepare for, or why its files cannot be taken.
pub(crate) type Begun = Result<LocalRun, FileProblem>;

impl LocalRun {
    /// A run to prepare for, and which of its files to ask for, if that is to be said; a message
    /// nobody of this version sends gives nothing.
    pub(crate) fn new(
        prepare: Prepare,
        coordinator: CoordinatorId,
        cache: &mut FileCache,
    ) -> Option<(Begun, Option<Want>)> {
        let run = RunId::from_wire(&prepare.run_id)?;
        let plan_digest = Digest::from_wire(&prepare.plan_digest)?;
        let (here, want) = lacking(&prepare, cache)?;
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

    /// Whether it outlives its stream: before the start it does not, since the coordinator begins
    /// it anew.
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

    /// Whether this coordinator's word about the run counts.
    pub(crate) fn obeys(&self, coordinator: CoordinatorId) -> bool {
        self.coordinator == coordinator
    }

    /// A coordinator names the run and the epoch it is of. Whether its word counts from now on: a
    /// later epoch's does, and the same one's only from the same coordinator.
    pub(crate) fn claim(&mut self, coordinator: CoordinatorId, epoch: u64) -> bool {
        if epoch.max(1) > self.epoch {
            self.epoch = epoch;
            self.coordinator = coordinator;
        }
        self.obeys(coordinator)
    }

    /// The longest lease that it may have.
    pub(crate) fn longest_lease(&self) -> Duration {
        longest(self.prepare.lease_ns)
    }

    /// Seconds of the run that are not delivered.
    pub(crate) fn undelivered(&self) -> usize {
        self.outbox.intervals()
    }

    /// Whether something of it is still to be delivered, its sum included.
    pub(crate) fn has_data(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Whether this coordinator is to be told that the run is kept for another one; once.
    pub(crate) fn tell_kept(&mut self, coordinator: CoordinatorId) -> bool {
        !self.obeys(coordinator)
            && self.has_data()
            && self.told_kept.replace(coordinator) != Some(coordinator)
    }

    /// Whether to tell that this coordinator's word does not count any more; once.
    pub(crate) fn tell_outranked(&mut self, coordinator: CoordinatorId) -> bool {
        self.told_outranked.replace(coordinator) != Some(coordinator)
    }

    /// When its load was over.
    pub(crate) fn ended_at(&self) -> Mono {
        self.ended_at
    }

    pub(crate) fn set_ended_at(&mut self, now: Mono) {
        self.ended_at = now;
    }

    /// The stream is another one.
    pub(crate) fn rewind(&mut self, resume: &Resume, stash: &mut Stash) {
        self.outbox.rewind(resume, stash);
        if let Some(began) = &mut self.began {
            began.is_sent = false;
        }
    }

    /// Takes a part of a file, unless files are not wanted any more.
    pub(crate) fn file(&mut self, part: &FilePart) -> Result<(), FileProblem> {
        match &mut self.phase {
            LocalPhase::Receiving(inbox) => inbox.take(part),
            _ => Ok(()),
        }
    }

    /// The order to prepare, once every file is here.
    pub(crate) fn assignment(&mut self) -> Option<Order> {
        // Looked at before it is taken out: files that are missing still stay where they are.
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
            minted: self.minted(),
            force: self.prepare.force,
        }))
    }

    /// Which file is of no use to another run, or another agent.
    pub(crate) fn minted(&self) -> Option<Digest> {
        Digest::from_wire(&self.prepare.minted)
    }

    /// The runner is ready. Whether it was asked.
    pub(crate) fn prepared(
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
    pub(crate) fn measured(&mut self, clock: Option<ClockReading>) -> Option<Prepared> {
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

    /// The start instant is named. Whether it is taken: one that went by is not, nor one that
    /// another took the place of.
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

    /// Every agent knows the start instant of this number. Whether a lease is believed now.
    pub(crate) fn go(&mut self, attempt: u32) -> bool {
        match &mut self.phase {
            LocalPhase::Armed { go, .. } if attempt == self.attempt => {
                *go = true;
                true
            }
            _ => false,
        }
    }

    /// A lease was granted for a beat sent at `sent`.
    pub(crate) fn grant(&mut self, sent: Now, length: Duration, now: Now) -> Option<Order> {
        let longest = self.longest_lease();
        match &mut self.phase {
            LocalPhase::Armed { at, go: true } => {
                let at = *at;
                // A lease that ran out on its way begins nothing: the next beat asks again.
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

    /// Whether the start instant went by without a lease: the run waits for another one. What to
    /// say about it, the first time.
    pub(crate) fn missed_start(&mut self, now: Mono) -> Option<News> {
        if !matches!(self.phase, LocalPhase::Armed { at, .. } if now >= at) {
            return None;
        }
        self.phase = LocalPhase::Ready;
        let run_name = self.name().to_owned();
        (!std::mem::replace(&mut self.told_missed, true)).then_some(News::MissedStart { run_name })
    }

    /// A part of another agent's share: the order, or the answer if that is known already. Each
    /// number takes effect once, however often it comes. It begins at an instant of the run clock:
    /// however far apart agents began, each arrival is one's own.
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

    /// The answer to a part of another agent's share, kept in case it is asked for again.
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

    /// Whether the lease has run out just now; the runner must stop, and the run never fires again.
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

    /// Whether it fires, and its lease has not run out.
    pub(crate) fn is_leased(&self, now: Now) -> bool {
        match &self.phase {
            LocalPhase::Firing { lease, .. } => self.cut.is_none() && now.boot < lease.until(),
            _ => false,
        }
    }

    /// When something happens without a message: a start is missed, a lease runs out.
    pub(crate) fn wake_at(&self, now: Now) -> Option<Mono> {
        match &self.phase {
            LocalPhase::Armed { at, .. } => Some(*at),
            LocalPhase::Firing { lease, .. } if self.cut.is_none() => {
                Some(now.mono.after(lease.until().since(now.boot)))
            }
            _ => None,
        }
    }

    /// Ends it early; the order to the runner, if it fires.
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

    /// The load began.
    pub(crate) fn began(&mut self, at: Mono) {
        self.began = Some(FirstInstant {
            at,
            told: None,
            is_sent: false,
        });
    }

    /// Whether the stream lacks the first instant: its clock was not measured yet.
    pub(crate) fn owes_began(&self) -> bool {
        self.began.as_ref().is_some_and(|began| !began.is_sent)
    }

    /// What to tell the coordinator of the first instant, which goes by the clock of this name;
    /// nothing while that is not measured.
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

    /// Keeps an interval; where it is too large to travel, the order that ends the run.
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

    /// The runner has ended; totals follow the last interval, if they are not too large to travel.
    pub(crate) fn ended(
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
    pub(crate) fn ended_cause(&self) -> Option<EndCause> {
        self.ended
            .as_ref()
            .map(|ended| crate::wire::end_cause(ended.cause, &ended.text))
    }

    /// The last message, once everything before it is acknowledged and the first instant is told.
    pub(crate) fn ended_message(&self, clock: Option<ClockReading>) -> Option<Ended> {
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

/// Files of the plan that are here, and those to ask for where the coordinator waits for that;
/// nothing where it names files as nobody does.
fn lacking(prepare: &Prepare, cache: &mut FileCache) -> Option<(Vec<PlanFile>, Option<Want>)> {
    if prepare.needs.is_empty() {
        return Some((Vec::new(), None));
    }
    let needs: Option<BTreeSet<Digest>> = prepare
        .needs
        .iter()
        .map(|need| Digest::from_wire(need))
        .collect();
    let (mut here, mut sha256) = (Vec::new(), Vec::new());
    for need in needs? {
        match cache.get(need) {
            Some(file) => here.push(file),
            None => sha256.push(need.to_wire()),
        }
    }
    let run_id = prepare.run_id.clone();
    Some((here, Some(Want { run_id, sha256 })))
}

/// Why the run cannot be told whole, if this is more than travels.
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
