//! What a journey leaves in its funnel.

use super::{BLIND, Recorder};
use crate::{Funnel, JourneyCell, JourneyEnd, JourneyTimes};

impl Recorder {
    /// A journey begins: its first step follows.
    pub fn begin_journey(&mut self, cell: JourneyCell) {
        if !BLIND {
            self.funnel(cell).counts.begun += 1;
        }
    }

    /// A journey was due and could not be begun. Its first operation is an arrival never sent
    /// ([`Recorder::not_sent`]).
    pub fn count_journey_not_sent(&mut self, cell: JourneyCell) {
        self.funnel(cell).counts.not_sent += 1;
    }

    /// A journey begins a step; whether it is the first time that it has come to it, which it may
    /// repeat.
    pub fn begin_step(&mut self, cell: JourneyCell, step: u16, is_first: bool) {
        if BLIND {
            return;
        }
        let counts = self.funnel(cell).step(step);
        counts.begun += 1;
        counts.reached += u64::from(is_first);
    }

    /// A journey comes to a step and skips it, because its user has made it before; whether it is
    /// the first time that it has come to it.
    pub fn skip_step(&mut self, cell: JourneyCell, step: u16, is_first: bool) {
        if BLIND {
            return;
        }
        let funnel = self.funnel(cell);
        funnel.skip(step);
        funnel.step(step).reached += u64::from(is_first);
    }

    /// The first step of a group begins.
    pub fn begin_group(&mut self, cell: JourneyCell, group: u16) {
        if !BLIND {
            self.funnel(cell).group(group).begun += 1;
        }
    }

    /// The last step of a group has ended ok, `time_ns` after its first one was due, of which the
    /// plan wants `paused_ns` as pauses.
    pub fn complete_group(
        &mut self,
        (cell, group): (JourneyCell, u16),
        time_ns: u64,
        paused_ns: u64,
    ) {
        if BLIND {
            return;
        }
        let tally = self.funnel(cell).group(group);
        tally.completed += 1;
        tally.time.record(time_ns);
        tally.wait.record(time_ns.saturating_sub(paused_ns));
    }

    /// The operation of a step has ended.
    pub fn end_step(&mut self, cell: JourneyCell, step: u16, is_ok: bool) {
        if BLIND {
            return;
        }
        let counts = self.funnel(cell).step(step);
        counts.ok += u64::from(is_ok);
        counts.failed += u64::from(!is_ok);
    }

    /// A journey has ended. Only completed ones have times: any other says nothing of how long the
    /// journey takes.
    pub fn end_journey(&mut self, cell: JourneyCell, end: JourneyEnd, times: JourneyTimes) {
        if BLIND {
            return;
        }
        let is_within = self.window.contains(times.done_at);
        let funnel = self.funnel(cell);
        match end {
            JourneyEnd::Completed => {
                funnel.counts.completed += 1;
                funnel.counts.completed_within += u64::from(is_within);
                funnel.time.record(times.time_ns);
                let wait_ns = times.time_ns.saturating_sub(times.paused_ns);
                funnel.wait.record(wait_ns);
            }
            JourneyEnd::Failed => funnel.counts.failed += 1,
            JourneyEnd::Abandoned => funnel.counts.abandoned += 1,
        }
    }

    #[inline]
    fn funnel(&mut self, cell: JourneyCell) -> &mut Funnel {
        self.funnels.at(cell)
    }
}
