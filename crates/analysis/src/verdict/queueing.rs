//! Decides from the clients' times whether answers waited for one another: behind a fixed number of
//! connections or users, a queue at the server makes nearly every answer late.

use super::phases::PHASES;
use crate::{Document, TimeFigure};

/// Phases with less than this share of the service time are ignored.
const PHASE_SHARE_MIN: f64 = 0.1;

/// Answers are alike if median and mean are at most this many times the fastest.
const ALIKE_MAX: f64 = 1.15;

/// Least share of the answers to count as early; the slowest of these is compared with the fastest
/// answer.
const EARLY_SHARE_MIN: f64 = 0.01;

/// Answers that scatter by themselves are spread evenly from the fastest one on: the distance of
/// the early ones from it, over the median, is at most this many times their share.
const SCATTER: f64 = 3.0;

/// If the early share is larger than this, it says nothing about answers that scatter.
const SCATTER_SHARE_MAX: f64 = 0.05;

/// The median of answers that scatter is at least this many times the fastest. If it is closer, and
/// some take longer, those few may wait behind all the others, which have a worker each.
const SCATTER_MIN: f64 = 1.7;

/// Answers that scatter leave no hole between the 10th and the 90th percentile. A hole spans times
/// of which one is this many times the other,
const HOLE: f64 = 1.25;

/// with less than this share of the answers between them. If workers finish together, the next
/// answers take one turn, or two.
const HOLE_SHARE: f64 = 0.02;

/// In a line, the early answers are farther from the fastest one than this, over the median,
const LINE_GAP_MIN: f64 = 0.45;

/// if the early share is at most this;
const LINE_SHARE_MAX: f64 = 0.1;

/// or at most this in a run of few answers,
const FILLING_SHARE_MAX: f64 = 0.25;

/// or at most this, if the slowest of the early ones took nearly the median,
const FULL_SHARE_MAX: f64 = 0.4;
const FULL_GAP_MIN: f64 = 0.85;

/// where this share of the early ones took less than half of the median, as they do while a line
/// fills;
const FILLING_MIN: f64 = 0.2;

/// and the median is at least this many times the fastest answer.
const LINE_GROWTH_MIN: f64 = 2.0;

/// While a line fills, the answers that took less than half of the median are spread out: this
/// share of them took more than a quarter of it. Without bursts it is a half; a server whose quota
/// is fresh answers the first few at once. Of two kinds of answers it is nearly none.
const FILLING_SHARE_MIN: f64 = 0.15;

/// The conclusion from the times of a run's answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Queueing {
    /// No answer waited for another: all took as long as the fastest one.
    Alike,
    /// No answer waited for another: many were nearly as fast as the fastest one. If many share a
    /// CPU, all such answers may have been slower for it.
    Scattered,
    /// Neither can be concluded.
    Unclear,
    /// The answers stood in one line.
    Line,
}

/// The conclusion, and the phase that shows it.
#[derive(Debug, Clone)]
pub(super) struct QueueingLook<'d> {
    pub(super) queueing: Queueing,
    /// The phase that decides: the one that shows most of a queue.
    pub(super) phase: &'static str,
    pub(super) times: &'d TimeFigure,
    /// The fastest answer of the run, including the warm-up.
    pub(super) fastest_ns: u64,
}

impl QueueingLook<'_> {
    /// Looks at the phases that matter. `early` is the number of answers that may have come before
    /// the queue was full, if there was one.
    pub(super) fn new(document: &Document, early: f64) -> Option<QueueingLook<'_>> {
        let times = &document.measured.times;
        let sum = |figure: &TimeFigure| figure.mean_ns * figure.count as f64;
        let whole = times.get("service_time").map(sum)?;
        let figures = PHASES.into_iter().filter_map(|phase| {
            let figure = times.get(phase)?;
            (sum(figure) >= PHASE_SHARE_MIN * whole).then_some((phase, figure))
        });
        let looks = figures.map(|(phase, times)| {
            let fastest_ns = fastest_ns(document, phase, times);
            QueueingLook {
                queueing: Queueing::new(times, fastest_ns as f64, early),
                phase,
                times,
                fastest_ns,
            }
        });
        looks.max_by_key(|look| look.queueing)
    }
}

impl QueueingLook<'_> {
    /// Returns the name of the phase, for messages.
    pub(super) fn phase_in_words(&self) -> &'static str {
        match self.phase {
            "connect" => "connects",
            "handshake" => "handshakes",
            "first_byte" => "first bytes",
            "send" => "requests on their way out",
            _ => "bodies",
        }
    }
}

/// Includes the warm-up: after it, every answer of the measured part may have met a queue.
fn fastest_ns(document: &Document, phase: &str, measured: &TimeFigure) -> u64 {
    let warm_up = document.warm_up.as_ref();
    let before = warm_up.and_then(|figures| figures.times.get(phase));
    let before = before.filter(|figure| figure.count > 0);
    before.map_or(measured.min_ns, |figure| figure.min_ns.min(measured.min_ns))
}

impl Queueing {
    fn new(times: &TimeFigure, fastest_ns: f64, early: f64) -> Queueing {
        let Some(median) = times.percentile(50.0) else {
            return Queueing::Unclear;
        };
        let median_ns = median.value_ns as f64;
        if median_ns.max(times.mean_ns) <= ALIKE_MAX * fastest_ns {
            return Queueing::Alike;
        }
        let share = (early / times.count.max(1) as f64).max(EARLY_SHARE_MIN);
        let Some(early_ns) = slowest_of(times, share) else {
            return Queueing::Unclear;
        };
        let gap = (early_ns - fastest_ns) / median_ns;
        let is_scattered = gap <= SCATTER * share && median_ns >= SCATTER_MIN * fastest_ns;
        if share <= SCATTER_SHARE_MAX && is_scattered && !has_hole(times) {
            return Queueing::Scattered;
        }
        let is_late = gap >= LINE_GAP_MIN && median_ns >= LINE_GROWTH_MIN * fastest_ns;
        let fast = up_to(times, median_ns / 2.0);
        let is_full = gap >= FULL_GAP_MIN && share <= FULL_SHARE_MAX;
        let fills = (share <= FILLING_SHARE_MAX || is_full) && fast >= FILLING_MIN * early;
        let is_early_small = share <= LINE_SHARE_MAX || fills;
        if is_early_small && is_late && has_no_fast_kind(times, median_ns) {
            return Queueing::Line;
        }
        Queueing::Unclear
    }
}

/// Returns whether answers are of distinct kinds, with nothing between them.
fn has_hole(times: &TimeFigure) -> bool {
    let Some((low_ns, high_ns)) = slowest_of(times, 0.1).zip(slowest_of(times, 0.9)) else {
        return true;
    };
    let columns = times.histogram.iter().map(|column| column.to_ns as f64);
    let mut windows = columns.filter(|&from| from >= low_ns && from * HOLE <= high_ns);
    let least = HOLE_SHARE * times.count as f64;
    windows.any(|from| up_to(times, from * HOLE) - up_to(times, from) < least)
}

/// Returns whether the few fast answers are those of a line that filled, rather than a kind of
/// their own.
fn has_no_fast_kind(times: &TimeFigure, median_ns: f64) -> bool {
    let fast = up_to(times, median_ns / 2.0);
    let fastest = up_to(times, median_ns / 4.0);
    fast <= 1.0 || fast - fastest >= FILLING_SHARE_MIN * fast
}

/// Returns the time of the slowest among the fastest `share` of all answers, from the columns of
/// the histogram.
fn slowest_of(times: &TimeFigure, share: f64) -> Option<f64> {
    let mut missing = share * times.count as f64;
    let mut from_ns = times.min_ns.max(1) as f64;
    for column in &times.histogram {
        let (count, to_ns) = (column.count as f64, column.to_ns as f64);
        if count > 0.0 && missing <= count {
            // Columns grow by a constant factor, so interpolate on a logarithmic scale.
            return Some(from_ns * (to_ns / from_ns).powf(missing / count));
        }
        missing -= count;
        from_ns = to_ns.max(1.0);
    }
    None
}

/// Returns how many answers took no longer than this.
fn up_to(times: &TimeFigure, ns: f64) -> f64 {
    let mut from_ns = times.min_ns.max(1) as f64;
    let mut sum = 0.0;
    for column in &times.histogram {
        let to_ns = column.to_ns.max(1) as f64;
        if to_ns <= ns {
            sum += column.count as f64;
        } else if from_ns < ns {
            sum += column.count as f64 * (ns / from_ns).ln() / (to_ns / from_ns).ln();
        }
        from_ns = to_ns;
    }
    sum
}
