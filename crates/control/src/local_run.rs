//! An agent's part in one run, from the plan to the last acknowledgement.

use crate::Now;
use crate::beats::to_wire;
use crate::file_inbox::{FileInbox, FileProblem};
use crate::lease::Lease;
use crate::outbox::Outbox;
use crate::{
    Assignment, ClockReading, Digest, EndCause, INTERVAL_MAX_BYTES, Mono, Order, RunId, Stop,
};
use proto::{Began, Bytes, Ended, FilePart, IntervalPart, Prepare, Prepared};
use std::time::Duration;

/// The run an agent has, and how far it is.
#[derive(Debug)]
pub(crate) struct LocalRun {
    run: RunId,
    prepare: Prepare,
    plan_digest: Digest,
    phase: LocalPhase,
    outbox: Outbox,
    next_interval: u32,
    began: Option<Began>,
    /// Why it must end, if that is for another reason than the runner knows.
    cut: Option<EndCause>,
    ended: Option<Ended>,
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
    /// The start instant is named, and the lease is missing still.
    Armed { at: Mono },
    /// The runner has its start order.
    Firing(Lease),
    /// It fires no more; what it holds is uploaded.
    Uploading,
}

impl LocalRun {
    /// A run to prepare for; a message nobody of this version sends gives nothing.
    pub(crate) fn new(prepare: Prepare) -> Option<Result<LocalRun, FileProblem>> {
        let run = RunId::from_wire(&prepare.run_id)?;
        let plan_digest = Digest::from_wire(&prepare.plan_digest)?;
        Some(
            FileInbox::new(prepare.files, prepare.files_bytes).map(|inbox| LocalRun {
                run,
                prepare,
                plan_digest,
                phase: LocalPhase::Receiving(inbox),
                outbox: Outbox::new(run),
                next_interval: 0,
                began: None,
                cut: None,
                ended: None,
            }),
        )
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
        matches!(self.phase, LocalPhase::Firing(_) | LocalPhase::Uploading)
    }

    pub(crate) fn is_firing(&self) -> bool {
        matches!(self.phase, LocalPhase::Firing(_))
    }

    pub(crate) fn outbox(&mut self) -> &mut Outbox {
        &mut self.outbox
    }

    pub(crate) fn is_full(&self) -> bool {
        self.outbox.is_full()
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
            minted: Digest::from_wire(&self.prepare.minted),
        }))
    }

    /// The runner is ready. Whether it was asked.
    pub(crate) fn prepared(
        &mut self,
        plan_digest: Digest,
        addresses: Vec<String>,
        workers: u32,
    ) -> bool {
        let asked = matches!(self.phase, LocalPhase::Preparing);
        if asked {
            self.phase = LocalPhase::Measuring(Prepared {
                run_id: self.run.to_wire(),
                plan_digest: plan_digest.to_wire(),
                addresses,
                workers,
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

    pub(crate) fn arm(&mut self, at: Mono) {
        if matches!(self.phase, LocalPhase::Ready) {
            self.phase = LocalPhase::Armed { at };
        }
    }

    /// A lease was granted for a beat sent at `sent`.
    pub(crate) fn grant(&mut self, sent: Now, length: Duration, now: Now) -> Option<Order> {
        match &mut self.phase {
            LocalPhase::Armed { at } => {
                let at = *at;
                // A lease that ran out on its way begins nothing: the next beat asks again.
                let lease = Lease::begin(sent.boot, length, now.boot)?;
                if now.mono >= at {
                    return None;
                }
                self.phase = LocalPhase::Firing(lease);
                Some(Order::Start {
                    run: self.run,
                    at,
                    lease_until: lease.until(),
                })
            }
            LocalPhase::Firing(lease) => {
                let until = lease.extend(sent.boot, length, now.boot)?;
                Some(Order::ExtendLease {
                    run: self.run,
                    until,
                })
            }
            _ => None,
        }
    }

    /// Whether the start instant went by without a lease; the run then has ended here.
    pub(crate) fn missed_start(&mut self, now: Mono) -> bool {
        let missed = matches!(self.phase, LocalPhase::Armed { at } if now >= at);
        if missed {
            let text = "the start instant came before a lease did; the link to the coordinator is \
                        too slow or was cut";
            self.end_unfired(EndCause::Failed(text.into()));
        }
        missed
    }

    /// Whether the lease has run out just now; the runner must stop, and the run never fires again.
    pub(crate) fn lease_expires(&mut self, now: Now) -> bool {
        let LocalPhase::Firing(lease) = &mut self.phase else {
            return false;
        };
        let just_expired = self.cut.is_none() && lease.expires(now.boot);
        if just_expired {
            self.cut = Some(EndCause::LeaseExpired);
        }
        just_expired
    }

    /// When something happens without a message: a start is missed, a lease runs out.
    pub(crate) fn wake_at(&self, now: Now) -> Option<Mono> {
        match &self.phase {
            LocalPhase::Armed { at } => Some(*at),
            LocalPhase::Firing(lease) if self.cut.is_none() => {
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

    /// The load began; what to tell the coordinator.
    pub(crate) fn began(&mut self, at: Mono, clock: Option<ClockReading>) {
        // Without a measured clock the instant means nothing elsewhere; a start needs one, though.
        let Some(clock) = clock else { return };
        let began_at = clock.to_fleet(at);
        self.began = Some(Began {
            run_id: self.run.to_wire(),
            began_at_ns: began_at.0,
            bound_ns: clock.bound_ns,
        });
    }

    pub(crate) fn began_message(&self) -> Option<Began> {
        self.began.clone()
    }

    /// Keeps an interval; where it is too large to travel, the order that ends the run.
    pub(crate) fn interval(&mut self, interval: u32, encoded: Bytes) -> Option<Order> {
        self.next_interval = self.next_interval.max(interval.saturating_add(1));
        let Some(cause) = too_large(&format!("second {interval} of the run"), &encoded) else {
            self.outbox.keep(interval, encoded);
            return None;
        };
        self.stop(Stop::Now, Some(cause))
    }

    /// The runner has ended; totals follow the last interval, if they are not too large to travel.
    pub(crate) fn ended(&mut self, cause: EndCause, totals: Bytes, figures: Bytes) {
        let problem = too_large("the sum of the run", &totals);
        if problem.is_none() {
            self.outbox.keep_totals(self.next_interval, totals);
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

    /// The last message, once everything before it is acknowledged.
    pub(crate) fn ended_message(&self, clock: Option<ClockReading>) -> Option<Ended> {
        let ended = self.ended.clone().filter(|_| self.outbox.is_empty())?;
        Some(Ended {
            clock: clock.map(to_wire),
            ..ended
        })
    }

    pub(crate) fn next_part(&mut self) -> Option<IntervalPart> {
        self.outbox.next_part()
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
