//! What one agent delivered: its intervals, each once, their sum by key, and how its run ended.

use crate::cell_tally::CellTally;
use crate::counts::errors;
use crate::{AgentEndCause, AgentResult, AgentSetup, CpuFigures, HistogramColumns, TimeFigure};
use measure::{CellKey, Client, Metric, Period, Snapshot, Totals};
use std::collections::BTreeMap;

/// How an agent's run ended.
#[derive(Debug, Clone, Default)]
pub struct AgentEnd {
    /// Why; absent where it is not known.
    pub cause: Option<AgentEndCause>,
    /// In words, for a failure.
    pub text: String,
    /// How many intervals it made.
    pub intervals: Option<u32>,
    /// Its sum of them.
    pub totals: Option<Totals>,
    /// How busy it was in the measured part.
    pub cpu: Option<CpuFigures>,
    /// The same in the drain.
    pub cpu_drain: Option<CpuFigures>,
}

/// What one agent delivered.
#[derive(Debug, Clone, Default)]
pub(crate) struct AgentRun {
    cells: BTreeMap<CellKey, CellTally>,
    client: Client,
    /// Intervals that came, as first → last of each unbroken stretch.
    seen: BTreeMap<u32, u32>,
    pub(crate) clock: Option<(i64, u64)>,
    pub(crate) began: Option<(i64, u64)>,
    end: Option<AgentEnd>,
}

impl AgentRun {
    /// Counts an interval; `false` where it had come before.
    pub(crate) fn add(&mut self, interval: u32, snapshot: &Snapshot) -> bool {
        if !self.mark(interval) {
            return false;
        }
        for (key, cell) in &snapshot.cells {
            self.cells.entry(*key).or_default().add(cell);
        }
        self.client.merge(&snapshot.client);
        true
    }

    /// Remembers that an interval came, in memory that grows with gaps only.
    fn mark(&mut self, interval: u32) -> bool {
        // The last stretch that begins at or before it.
        let before = self
            .seen
            .range(..=interval)
            .next_back()
            .map(|(&first, &last)| (first, last));
        if before.is_some_and(|(_, last)| last >= interval) {
            return false;
        }
        // It lengthens the stretch that ends before it, and joins it with the one after.
        let first = before
            .filter(|&(_, last)| last + 1 == interval)
            .map_or(interval, |(first, _)| first);
        let next = interval
            .checked_add(1)
            .and_then(|next| self.seen.remove(&next));
        self.seen.insert(first, next.unwrap_or(interval));
        true
    }

    pub(crate) fn ended(&mut self, mut end: AgentEnd) {
        end.cpu = end.cpu.map(CpuFigures::finite);
        // A drain shorter than a second has no sample.
        end.cpu_drain = end
            .cpu_drain
            .filter(|cpu| cpu.samples > 0)
            .map(CpuFigures::finite);
        self.end = Some(end);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    pub(crate) fn end_cause(&self) -> Option<AgentEndCause> {
        self.end.as_ref()?.cause
    }

    /// When its last measured operation ended, on the run clock (the warm-up begins at 0).
    pub(crate) fn last_done_at_ns(&self) -> Option<u64> {
        let measured = self
            .cells
            .iter()
            .filter(|(key, _)| key.period == Period::Measured);
        measured
            .map(|(_, tally)| tally.counters.last_done_at_ns)
            .max()
            .filter(|&last| last > 0)
    }

    /// How long load was offered by what is known, run clock: until something else than the plan's
    /// own clock ended it, else as far as intervals came.
    pub(crate) fn fired_until_ns(&self) -> u64 {
        match self.client.fired_until_ns {
            0 => self
                .seen
                .last_key_value()
                .map_or(0, |(_, &last)| (u64::from(last) + 1) * 1_000_000_000),
            until => until,
        }
    }

    /// What its loops say of themselves.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn cells(&self) -> impl Iterator<Item = (&CellKey, &CellTally)> {
        self.cells.iter()
    }

    /// Measured operations so far, and those of them that are not ok.
    pub(crate) fn ended_and_errors(&self) -> (u64, u64) {
        let (mut ended, mut failed) = (0_u64, 0_u64);
        for (key, tally) in &self.cells {
            if key.period == Period::Measured {
                ended = ended.saturating_add(tally.counters.ended());
                failed = failed.saturating_add(errors(&tally.counters));
            }
        }
        (ended, failed)
    }

    /// Sum over all keys of a period.
    pub(crate) fn tally(&self, period: Period) -> CellTally {
        let mut sum = CellTally::default();
        for (key, tally) in &self.cells {
            sum.take(key.period == period, tally);
        }
        sum
    }

    /// Whether what was counted here is what the agent says it counted; nothing where it said
    /// nothing.
    fn totals_match(&self) -> Option<bool> {
        let reported = self.end.as_ref()?.totals.as_ref()?;
        let mut counted = Totals::default();
        for (key, tally) in &self.cells {
            counted.add_cell(
                *key,
                &tally.counters,
                tally.times.iter().map(|(&of, times)| (of, times)),
            );
        }
        counted.add_client(&self.client);
        Some(counted == *reported)
    }

    /// Numbers between 0 and the last one made that never came.
    fn missing(&self) -> Vec<(u32, u32)> {
        let made = self.end.as_ref().and_then(|end| end.intervals);
        let made = made.unwrap_or_else(|| {
            self.seen
                .last_key_value()
                .map_or(0, |(_, last)| last.saturating_add(1))
        });
        let mut missing = Vec::new();
        let mut next = 0;
        for (&first, &last) in &self.seen {
            if first > next {
                missing.push((next, first - 1));
            }
            next = last.saturating_add(1);
        }
        if next < made {
            missing.push((next, made - 1));
        }
        missing
    }

    /// Its entry in the document.
    pub(crate) fn result(&self, index: u32, setup: &AgentSetup) -> AgentResult {
        let end = self.end.clone().unwrap_or_default();
        let tally = self.tally(Period::Measured);
        let time = |metric| {
            tally
                .headline(&[metric])
                .map(|headline| TimeFigure::new(&headline, HistogramColumns::Omitted))
        };
        let mut fired_at = self.cells.keys().filter_map(|key| key.address);
        AgentResult {
            index,
            name: setup.name.clone(),
            labels: setup.labels.clone(),
            workers: setup.workers,
            facts: setup.facts.clone(),
            clock_offset_ns: self.clock.map(|(offset, _)| offset),
            clock_bound_ns: self.clock.map(|(_, bound)| bound),
            began_at_ns: self.began.map(|(at, _)| at),
            began_bound_ns: self.began.map(|(_, bound)| bound),
            ended: end.cause,
            ended_text: end.text,
            intervals: self
                .seen
                .iter()
                .map(|(&first, &last)| u64::from(last - first) + 1)
                .sum(),
            missing_intervals: self.missing(),
            totals_match: self.totals_match(),
            target_is_local: fired_at.any(|address| setup.is_own(address.ip())),
            cpu: end.cpu,
            cpu_drain: end.cpu_drain,
            lateness: time(Metric::Lateness),
            schedule_delay: time(Metric::ScheduleDelay),
            loop_lag: crate::client::loop_lag(&self.client),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_counts_once_in_any_order_and_gaps_stay_visible() {
        let mut run = AgentRun::default();
        let fresh: Vec<bool> = [0, 1, 5, 1, 3, 5, 4, 0, 7]
            .into_iter()
            .map(|interval| run.mark(interval))
            .collect();
        assert_eq!(
            fresh,
            [true, true, true, false, true, false, true, false, true]
        );
        assert_eq!(run.seen, BTreeMap::from([(0, 1), (3, 5), (7, 7)]));
        assert_eq!(run.missing(), [(2, 2), (6, 6)]);
        run.ended(AgentEnd {
            intervals: Some(10),
            ..AgentEnd::default()
        });
        assert_eq!(run.missing(), [(2, 2), (6, 6), (8, 9)]);
        assert!(run.mark(u32::MAX) && !run.mark(u32::MAX));
    }
}
