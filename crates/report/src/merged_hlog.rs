//! Which lines of `histograms.hlog` are due: one a tag and second over all agents.

use crate::HlogWriter;
use crate::hlog::{Second, add, for_each};
use measure::Snapshot;
use std::collections::BTreeMap;

/// Seconds that wait for an agent. One that lags farther behind, or is away for longer, gets lines
/// of its own, which add up.
const WAITING_MAX: u32 = 60;

/// Response times that come for a second already written are gathered for so long, and for so many
/// seconds at most.
const LATE_EVERY: u32 = 10;
const LATE_MAX: usize = 60;

/// Merges what agents deliver, second by second.
///
/// A second is written when every agent that still fires has delivered it and the next one: most
/// response times of its operations are known by then. Those that come later are merged too and
/// written as further lines of the same tag and second, a few for each second. What is kept does
/// not grow with the run.
#[derive(Debug)]
pub struct MergedHlog {
    writer: HlogWriter,
    /// By agent: the second after the last one that it delivered; nothing once its run is over.
    next: Vec<Option<u32>>,
    /// Seconds that are not written yet.
    waiting: BTreeMap<u32, Second>,
    /// What came for seconds that are.
    late: BTreeMap<u32, Second>,
    /// Seconds below it are written.
    written_below: u32,
    /// When `late` was written last.
    late_written_at: u32,
}

impl MergedHlog {
    /// Ready for second 0 of so many agents.
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

    /// For the header, and for lines of one agent.
    #[must_use]
    pub fn writer(&mut self) -> &mut HlogWriter {
        &mut self.writer
    }

    /// Takes in what `agent` recorded in second `number` of the run clock, once; the lines that are
    /// due.
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

    /// `agent` has delivered second `number`, and nothing in it can be read; the lines that are
    /// due.
    #[must_use]
    pub fn skip(&mut self, agent: u32, number: u32) -> String {
        if let Some(Some(next)) = self.next.get_mut(agent as usize) {
            *next = number.saturating_add(1).max(*next);
        }
        self.due()
    }

    /// `agent` delivers nothing any more; the lines that are due.
    #[must_use]
    pub fn agent_ended(&mut self, agent: u32) -> String {
        if let Some(next) = self.next.get_mut(agent as usize) {
            *next = None;
        }
        self.due()
    }

    /// All lines that are left.
    #[must_use]
    pub fn finish(&mut self) -> String {
        self.write_below(u32::MAX) + &self.write_late()
    }

    fn due(&mut self) -> String {
        let Some(complete) = self.next.iter().copied().flatten().min() else {
            return self.finish(); // nobody delivers any more
        };
        let newest = self
            .waiting
            .last_key_value()
            .map_or(0, |(&newest, _)| newest);
        // The last second that all have delivered still gets response times from the next one.
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
