//! The parts of a load and the outcome of each.

use super::OfferedLoad;
use super::load_seconds::LoadSeconds;
use super::part_growth::{PartGrowth, Slowing};
use serde::{Deserialize, Serialize};

const SECOND: f64 = 1e9;

/// With fewer operations under way than this on average, any server is idle for part of the time.
const UNDER_WAY_MAX: f64 = 0.9;

/// Bound on the scatter of the mean number under way, in standard deviations.
const SIGMAS: f64 = 3.3;

/// Answers that become slower account for at least this share of a backlog's growth if it is a
/// queue.
const QUEUED_MIN: f64 = 0.1;

/// After this many mean response times, no answer is left that was begun before a change.
const SETTLED: f64 = 3.0;

/// A backlog has recovered if it exceeds its former size by at most this share of what was due.
const RECOVERED_SHARE: f64 = 0.01;
/// It may be higher than that after at most one in this many seconds.
const HIGH_PARTS: usize = 4;
/// Recovery proves something only if chance accounts for at most this share of what was due.
const RECOVERED_CHANCE: f64 = 0.1;

/// Bounds of the factor by which a part that is too short should be longer.
const LONGER_MIN: f64 = 2.0;
const LONGER_MAX: f64 = 100.0;
/// Shortest part that shows a trend, in seconds.
const NEEDED_MIN_S: f64 = 5.0;

/// Most pieces of a stage, and the fewest seconds of each.
const PIECES_MAX: usize = 8;
const PIECE_SECONDS: usize = 4;

/// The outcome of a part of the load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoadOutcome {
    /// Operations ended as fast as they were due.
    #[default]
    Carried,
    /// Neither outcome can be distinguished from chance.
    TooShort,
    /// More operations were due than ended, and they piled up.
    PiledUp,
}

/// A stage, or a piece of one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadPart {
    /// Start of the part, run clock.
    pub from_ns: u64,
    /// End of the part.
    pub to_ns: u64,
    /// Operations that were due in it.
    pub due: u64,
    /// Arrivals per second times their mean response time: the average number of operations under
    /// way or waiting, unless some of them outlast the part by far.
    pub under_way: f64,
    /// Number of operations by which the backlog grew.
    pub growth: f64,
    /// Number of operations by which it may have grown by chance.
    pub chance: f64,
    /// Seconds by which answers became slower per second of load; absent if the part has too few
    /// seconds to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowing: Option<f64>,
    /// Error bound of `slowing`, by chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowing_error: Option<f64>,
    /// The outcome of the part.
    pub outcome: LoadOutcome,
    /// How long it would have to be for a decision; absent if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed_ns: Option<u64>,
}

impl LoadPart {
    /// A load is carried if answers become slower by less than this per second of load: it is then
    /// less than 1.05 times what the server can carry.
    pub const SLOWING_MAX: f64 = 0.05;

    /// Returns the mean response time of what was due in it, in nanoseconds.
    #[must_use]
    pub fn mean_response_ns(&self) -> f64 {
        let length_ns = self.to_ns.saturating_sub(self.from_ns) as f64;
        self.under_way * length_ns / self.due.max(1) as f64
    }
}

/// A stretch of the schedule between two changes of the plan's rate.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    from_s: f64,
    to_s: f64,
    /// Arrivals per second.
    from: f64,
    to: f64,
}

/// Judges every stage. For a stage with a constant rate, the pieces in which the load piled up are
/// added.
pub(super) fn parts(load: &OfferedLoad<'_>, seconds: &LoadSeconds) -> Vec<LoadPart> {
    let stretches = stretches(load);
    let parts = stretches.iter().flat_map(|stretch| {
        let pieces = stretch.pieces(seconds);
        if stretch.is_level() {
            let whole = stretch.judge(seconds);
            let piled = pieces.into_iter().map(|piece| piece.judge(seconds));
            let piled = piled.filter(|part| part.outcome == LoadOutcome::PiledUp);
            // If the stage as a whole piled up, its pieces add nothing.
            let piled: Vec<LoadPart> = if whole.outcome == LoadOutcome::PiledUp {
                Vec::new()
            } else {
                piled.collect()
            };
            std::iter::once(whole).chain(piled).collect::<Vec<_>>()
        } else {
            pieces.iter().map(|piece| piece.judge(seconds)).collect()
        }
    });
    parts.collect()
}

/// Judges the second half of a measured part in which no second begins. If its backlog grew, that
/// may be a queue, or answers that take longer than the part.
pub(super) fn second_half(load: &OfferedLoad<'_>, due: u64, growth: f64, chance: f64) -> LoadPart {
    let (outcome, needed_ns) = if growth <= chance {
        (LoadOutcome::Carried, None)
    } else {
        (LoadOutcome::TooShort, Some((NEEDED_MIN_S * SECOND) as u64))
    };
    LoadPart {
        from_ns: load.from_ns.saturating_add(load.length_ns / 2),
        to_ns: load.from_ns.saturating_add(load.length_ns),
        due,
        growth,
        chance,
        outcome,
        needed_ns,
        ..LoadPart::default()
    }
}

/// Splits the measured part by the plan's stages.
fn stretches(load: &OfferedLoad<'_>) -> Vec<Stretch> {
    let (from_ns, to_ns) = (load.from_ns, load.from_ns.saturating_add(load.length_ns));
    let stages = load.plan.stages.iter();
    let ends = stages.flat_map(|stage| [stage.from_ns, stage.to_ns]);
    let mut ends: Vec<u64> = ends.filter(|&at| from_ns < at && at < to_ns).collect();
    ends.extend([from_ns, to_ns]);
    ends.sort_unstable();
    ends.dedup();
    let stretch = |pair: &[u64]| Stretch {
        from_s: pair[0] as f64 / SECOND,
        to_s: pair[1] as f64 / SECOND,
        from: load.plan.amount_at(pair[0]).unwrap_or(0.0),
        to: load
            .plan
            .amount_at(pair[1].saturating_sub(1))
            .unwrap_or(0.0),
    };
    ends.windows(2).map(stretch).collect()
}

impl Stretch {
    fn is_level(&self) -> bool {
        (self.to - self.from).abs() <= 0.01 * self.from.max(self.to)
    }

    fn length_s(&self) -> f64 {
        self.to_s - self.from_s
    }

    /// Splits it into equal pieces that are long enough to judge, as far as there are seconds.
    fn pieces(&self, seconds: &LoadSeconds) -> Vec<Stretch> {
        let number = seconds.within(self.from_s, self.to_s).0.len();
        let pieces = (number / PIECE_SECONDS).clamp(1, PIECES_MAX);
        let at = |nth: usize| self.from_s + self.length_s() * nth as f64 / pieces as f64;
        let rate = |nth: usize| self.from + (self.to - self.from) * nth as f64 / pieces as f64;
        let piece = |nth: usize| Stretch {
            from_s: at(nth),
            to_s: at(nth + 1),
            from: rate(nth),
            to: rate(nth + 1),
        };
        (0..pieces).map(piece).collect()
    }

    fn judge(&self, seconds: &LoadSeconds) -> LoadPart {
        let (own, before) = seconds.within(self.from_s, self.to_s);
        let part = PartGrowth {
            seconds: own,
            before,
            is_even: seconds.is_even(),
        };
        let slowing = part.slowing();
        let outcome = self.outcome(&part, slowing, seconds);
        LoadPart {
            from_ns: (self.from_s * SECOND) as u64,
            to_ns: (self.to_s * SECOND) as u64,
            due: part.due() as u64,
            under_way: part.under_way(),
            growth: part.growth(),
            chance: part.chance(),
            slowing: slowing.map(|slowing| slowing.mean),
            slowing_error: slowing
                .map(|slowing| slowing.error)
                .filter(|it| it.is_finite()),
            outcome,
            needed_ns: (outcome == LoadOutcome::TooShort)
                .then(|| self.least_length_ns(&part, slowing)),
        }
    }

    fn outcome(
        &self,
        part: &PartGrowth<'_>,
        slowing: Option<Slowing>,
        seconds: &LoadSeconds,
    ) -> LoadOutcome {
        let unqueued_s = seconds.unqueued_s();
        // Operations under way at each end if no answer waits; there are none when a load begins.
        let expected = self.to * unqueued_s - part.before.min(self.from * unqueued_s);
        if part.is_significant(expected) {
            // Arrivals that were never sent waited in front of the server, however long its answers
            // take.
            return if seconds.has_unsent() || self.is_queue(part, slowing) {
                LoadOutcome::PiledUp
            } else {
                LoadOutcome::TooShort
            };
        }
        let is_short = slowing.is_none() && is_answered_at_once(part);
        let is_level = || self.is_level_answer(part, slowing, unqueued_s);
        let has_recovered = || self.is_level() && has_recovered(part, self.to * unqueued_s);
        if part.due() < 1.0 || is_idle(part) || is_short || is_level() || has_recovered() {
            LoadOutcome::Carried
        } else {
            LoadOutcome::TooShort
        }
    }

    /// Returns whether a backlog that grew is a queue. The alternative is answers that take long
    /// from the first one on, so that more and more are under way until the first ends.
    fn is_queue(&self, part: &PartGrowth<'_>, slowing: Option<Slowing>) -> bool {
        let rate = part.due() / part.length_s();
        let slower = slowing.map_or(0.0, |slowing| slowing.mean * part.length_s());
        let mean_s = part.under_way() / rate;
        slower * rate >= QUEUED_MIN * part.growth() || part.length_s() >= SETTLED * mean_s
    }

    /// Returns whether answers took no longer at its end than at its start, with the certainty
    /// required.
    fn is_level_answer(
        &self,
        part: &PartGrowth<'_>,
        slowing: Option<Slowing>,
        unqueued_s: f64,
    ) -> bool {
        let natural = self.from.max(self.to) * unqueued_s;
        // The numbers under way at both ends scatter like Poisson counts, so their variances add
        // up.
        let growth_max = LoadPart::SLOWING_MAX * part.due() + SIGMAS * (2.0 * natural).sqrt();
        let is_level = |slowing: Slowing| slowing.mean + slowing.error < LoadPart::SLOWING_MAX;
        // Until most answers have come, nothing shows how long the others will take.
        let is_settled =
            part.length_s() * part.due() >= SETTLED * part.under_way() * part.length_s();
        is_settled && slowing.is_some_and(is_level) && part.growth() <= growth_max.max(natural)
    }

    /// Returns how long the part would have to be for a decision: several times as long as answers
    /// take, and longer by as much as its error has to become smaller. Even scatter shrinks with
    /// the length, so this is rather too long than too short.
    fn least_length_ns(&self, part: &PartGrowth<'_>, slowing: Option<Slowing>) -> u64 {
        let length_s = part.length_s().max(self.length_s());
        let mean_s = part.under_way() * part.length_s() / part.due().max(1.0);
        let by_error = slowing.map(|slowing| (slowing.error / LoadPart::SLOWING_MAX).powi(2));
        let by_error = by_error.filter(|factor| factor.is_finite());
        let factor = by_error.unwrap_or(0.0).clamp(LONGER_MIN, LONGER_MAX);
        let needed_s = (length_s * factor).max(SETTLED * mean_s).max(NEEDED_MIN_S);
        (needed_s.ceil() * SECOND) as u64
    }
}

/// Returns whether so few operations were under way that any server had time to spare.
fn is_idle(part: &PartGrowth<'_>) -> bool {
    let scatter = 1.0 + SIGMAS * (2.0 / part.due().max(1.0)).sqrt();
    part.under_way() * scatter < UNDER_WAY_MAX
}

/// Returns whether answers took so little time on average that they cannot have become slower by
/// more than the bound, which would be from nothing to twice the mean. That is all a single second
/// can show.
fn is_answered_at_once(part: &PartGrowth<'_>) -> bool {
    let mean_s = part.under_way() * part.length_s() / part.due().max(1.0);
    2.0 * mean_s < LoadPart::SLOWING_MAX * part.length_s()
}

/// Returns whether a backlog that built up during a short standstill was worked off under the same
/// load: at the end, and after most of its seconds, no more was under way than before it. The part
/// must have enough operations that an overload of a tenth would be beyond chance. `natural` is
/// the number of operations under way if none waits.
fn has_recovered(part: &PartGrowth<'_>, natural: f64) -> bool {
    let is_telling = part.chance() <= RECOVERED_CHANCE * part.due();
    let most = part.before + natural + RECOVERED_SHARE * part.due();
    let seconds = part.seconds.iter();
    let high = seconds.filter(|second| second.backlog > most).count();
    let is_worked_off = part.seconds.last().is_some_and(|last| last.backlog <= most);
    is_telling && is_worked_off && high * HIGH_PARTS <= part.seconds.len()
}
