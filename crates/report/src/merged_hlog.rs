//! Merges the agents' seconds into lines of `histograms.hlog`: one per tag and second.

use crate::HlogWriter;
use crate::hlog::{Second, add, for_each};
use measure::Snapshot;
use std::collections::BTreeMap;

/// Seconds kept for an agent that lags. If it lags farther behind, its values get lines of their
/// own, which add up with the others.
const WAITING_MAX: u32 = 60;

/// Response times for a second that is already written are collected for this many seconds, or
/// until they belong to more than [`LATE_MAX`] different seconds.
const LATE_EVERY: u32 = 10;
const LATE_MAX: usize = 60;

/// Merges what agents deliver, second by second.
///
/// A second is written once every active agent has delivered it and the next one, because most
/// response times of its operations are known by then. Later ones are merged too, and written as
/// further lines with the same tag and second, a few per second. Memory does not grow with the
/// length of the run.
#[derive(Debug)]
pub struct MergedHlog {
    writer: HlogWriter,
    /// For each agent, the second after the last one it delivered; `None` once its run is over.
    next: Vec<Option<u32>>,
    /// Seconds that are not written yet.
    waiting: BTreeMap<u32, Second>,
    /// Late values for seconds that are already written.
    late: BTreeMap<u32, Second>,
    /// All seconds below it are written.
    written_below: u32,
    /// The second in which `late` was last written.
    late_written_at: u32,
}

impl MergedHlog {
    /// Expects second 0 from `agents` agents.
    #[must_use]
    pub fn new(writer: HlogWriter, agents: usize) -> MergedHlog {
        MergedHlog {
            writer,
            next: vec![Some(0); agents],
            waiting: BTreeMap::new(),
            late: BTreeMap::new(),
            written_below: 0,
            late_written_at: 0,
        }
    }

    /// The writer, for the header and for lines of a single agent.
    #[must_use]
    pub fn writer(&mut self) -> &mut HlogWriter {
        &mut self.writer
    }

    /// Adds what `agent` recorded in second `number` of the run clock. Returns the lines that are
    /// due. Call it once per second.
    #[must_use]
    pub fn take(&mut self, agent: u32, number: u32, snapshot: &Snapshot) -> String {
        let MergedHlog {
            waiting,
            late,
            written_below,
            ..
        } = self;
        for_each(number, snapshot, |second, tag, values| {
            let seconds = if second < *written_below {
                &mut *late
            } else {
                &mut *waiting
            };
            add(seconds.entry(second).or_default(), tag, values);
        });
        self.skip(agent, number)
    }

    /// Notes that `agent` delivered second `number`, but that it is unreadable. Returns the lines
    /// that are due.
    #[must_use]
    pub fn skip(&mut self, agent: u32, number: u32) -> String {
        if let Some(Some(next)) = self.next.get_mut(agent as usize) {
            *next = number.saturating_add(1).max(*next);
        }
        self.due()
    }

    /// Notes that `agent` will not deliver any more. Returns the lines that are due.
    #[must_use]
    pub fn agent_ended(&mut self, agent: u32) -> String {
        if let Some(next) = self.next.get_mut(agent as usize) {
            *next = None;
        }
        self.due()
    }

    /// Returns all remaining lines.
    #[must_use]
    pub fn finish(&mut self) -> String {
        self.write_below(u32::MAX) + &self.write_late()
    }

    fn due(&mut self) -> String {
        let Some(complete) = self.next.iter().copied().flatten().min() else {
            return self.finish(); // no agent delivers any more
        };
        let newest = self
            .waiting
            .last_key_value()
            .map_or(0, |(&newest, _)| newest);
        // The last second that all agents have delivered still gets response times from the next
        // one.
        let known = complete.saturating_sub(1);
        let overdue = newest.saturating_sub(WAITING_MAX);
        let mut text = self.write_below(known.max(overdue));
        let is_old = self.written_below.saturating_sub(self.late_written_at) >= LATE_EVERY;
        if is_old || self.late.len() > LATE_MAX {
            self.late_written_at = self.written_below;
            text += &self.write_late();
        }
        text
    }

    fn write_below(&mut self, second: u32) -> String {
        let later = self.waiting.split_off(&second);
        self.written_below = self.written_below.max(second);
        let due = std::mem::replace(&mut self.waiting, later);
        self.writer.all_lines("", &due)
    }

    fn write_late(&mut self) -> String {
        self.writer.all_lines("", &std::mem::take(&mut self.late))
    }
}
