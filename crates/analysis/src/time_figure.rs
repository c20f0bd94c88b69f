//! Figures of one quantity's times, and the headline from which they are made.

use crate::{ExponentialHistogram, PercentileFigure, human};
use measure::{Distribution, Histogram, Metric, Outcome, Percentile};
use serde::{Deserialize, Serialize};

/// Percentiles of every figure.
const PERCENTILES: [f64; 7] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99];

/// Columns of a histogram: a multiple of 12, so that the 12 rows on a console combine whole
/// columns.
const COLUMNS: usize = 60;

/// Points on the curve of percentiles for each halving of the share of values above.
const CURVE_STEPS: u32 = 5;

/// Most points of a curve that is shown beside others: enough for the eye.
const THIN_CURVE_MAX: usize = 48;

/// A histogram's columns grow up to this multiple of the 99th percentile.
const TAIL: u64 = 4;

/// A distribution in which some values are known to be cut short: censored data.
///
/// The time of a timed-out operation, and the wait of an arrival that was never sent, are lower
/// bounds. The true value can lie anywhere above, so a percentile is known only if moving all of
/// them to infinity does not move it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Headline {
    /// All values, including lower bounds.
    pub distribution: Distribution,
    /// The lower bounds alone.
    pub censored: Distribution,
    /// Number of values from operations that timed out, which cut them short.
    pub timed_out: u64,
    /// Number of values from arrivals that were never sent, which cut them short.
    pub not_sent: u64,
}

/// A column of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Column {
    /// Upper bound: the column holds values above the column before, up to and including this.
    pub to_ns: u64,
    /// Number of values in it.
    pub count: u64,
}

/// Whether a figure includes the columns of its histogram, which are large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HistogramColumns {
    Drawn,
    Omitted,
}

/// Figures of one quantity's times, in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeFigure {
    /// Number of values.
    pub count: u64,
    /// Values from operations that were cut short by their time-out.
    pub timed_out: u64,
    /// Values from arrivals that were never sent, which is how long they had waited.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_sent: u64,
    /// Whether mean and maximum are lower bounds, since values were cut short. Missing in results
    /// of earlier versions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// Values above one hour.
    pub overflow: u64,
    /// Arithmetic mean, exact.
    pub mean_ns: f64,
    /// Standard deviation of all values, exact.
    pub sd_ns: f64,
    /// Smallest value, exact.
    pub min_ns: u64,
    /// Largest value, exact.
    pub max_ns: u64,
    /// Percentiles, at most 0.1 % above the true ones.
    pub percentiles: Vec<PercentileFigure>,
    /// Columns whose bounds grow by a constant factor from the smallest value; the last ends at the
    /// largest. Empty in groups. Results of earlier versions call it `picture`.
    #[serde(alias = "picture")]
    pub histogram: Vec<Column>,
    /// Curve from the 0th percentile to the largest value, with five points for each halving of the
    /// share of values above; only for response and service times of the whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentile_curve: Vec<PercentileFigure>,
    /// The same values in buckets that are the same in every run, for monitoring systems.
    #[serde(default, skip_serializing_if = "ExponentialHistogram::is_empty")]
    pub exponential_histogram: ExponentialHistogram,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Headline {
    /// Creates the headline of a distribution whose values are all known.
    pub(crate) fn exact(distribution: &Distribution) -> Headline {
        Headline {
            distribution: distribution.clone(),
            ..Headline::default()
        }
    }

    /// Adds the values of one metric and outcome; those of fast failures are in no headline.
    pub(crate) fn take(&mut self, outcome: Outcome, metric: Metric, distribution: &Distribution) {
        if outcome == Outcome::Failed {
            return;
        }
        self.distribution.merge(distribution);
        if !is_cut_short(outcome, metric) {
            return;
        }
        self.censored.merge(distribution);
        let number = match outcome {
            Outcome::TimedOut => &mut self.timed_out,
            _ => &mut self.not_sent,
        };
        *number = number.saturating_add(distribution.count);
    }

    /// Returns whether mean and maximum are lower bounds: some value would have been larger.
    pub(crate) fn is_cut_short(&self) -> bool {
        !self.censored.is_empty()
    }

    /// Adds another headline.
    pub(crate) fn merge(&mut self, other: &Headline) {
        self.distribution.merge(&other.distribution);
        self.censored.merge(&other.censored);
        self.timed_out = self.timed_out.saturating_add(other.timed_out);
        self.not_sent = self.not_sent.saturating_add(other.not_sent);
    }

    /// Returns a percentile, 0 to 100; `None` if there are no values.
    #[must_use]
    pub fn percentile(&self, percentile: f64) -> Option<PercentileFigure> {
        self.percentiles(&[percentile]).pop()
    }

    /// Returns percentiles, smallest first; empty if there are no values.
    fn percentiles(&self, percentiles: &[f64]) -> Vec<PercentileFigure> {
        let figure = |(&percentile, found): (&f64, Percentile)| {
            let is_known = self.censored.is_empty()
                || self
                    .at_most(percentile)
                    .is_some_and(|most| most <= found.value_ns);
            PercentileFigure {
                percentile,
                value_ns: found.value_ns,
                at_least: found.at_least || !is_known,
            }
        };
        let found = self.distribution.percentiles(percentiles);
        percentiles.iter().zip(found).map(figure).collect()
    }

    /// Returns an upper bound of the percentile, wherever the values that were cut short would have
    /// ended; `None` if there is none.
    pub(crate) fn at_most(&self, percentile: f64) -> Option<u64> {
        // If all values that were cut short were infinite, the rank would fall among the known
        // values, or beyond them.
        let rank = measure::rank(percentile, self.distribution.count);
        let known = self.distribution.count - self.censored.count;
        if self.censored.is_empty() && rank == known {
            return Some(self.distribution.max);
        }
        let found = value_at_rank(&self.distribution.histogram, &self.censored.histogram, rank)?;
        Some(found.min(self.distribution.max))
    }
}

/// Returns whether values are lower bounds. Only the times that were cut short are: the connect of
/// a timed-out operation was measured in full.
fn is_cut_short(outcome: Outcome, metric: Metric) -> bool {
    match outcome {
        Outcome::Ok | Outcome::Failed => false,
        Outcome::TimedOut => {
            matches!(
                metric,
                Metric::ResponseTime
                    | Metric::ServiceTime
                    | Metric::Processing
                    | Metric::Receive
                    // Recorded for operations that ran out of time before their first event.
                    | Metric::FirstEvent
                    | Metric::FirstEventService
                    | Metric::MessageTime
                    | Metric::PingTime
            )
        }
        Outcome::NotSent => metric != Metric::ScheduleDelay,
    }
}

/// Returns the value of this rank among the values of `all` that are not in `censored`.
fn value_at_rank(all: &Histogram, censored: &Histogram, rank: u64) -> Option<u64> {
    let mut censored = censored.iter().peekable();
    let mut known = 0;
    for bucket in all.iter() {
        let cut_short = censored
            .next_if(|next| next.lowest_ns == bucket.lowest_ns)
            .map_or(0, |next| next.count);
        known += bucket.count.saturating_sub(cut_short);
        if known >= rank {
            return Some(bucket.highest_ns);
        }
    }
    None
}

impl TimeFigure {
    pub(crate) fn new(headline: &Headline, columns: HistogramColumns) -> TimeFigure {
        let distribution = &headline.distribution;
        TimeFigure {
            count: distribution.count,
            timed_out: headline.timed_out,
            not_sent: headline.not_sent,
            at_least: headline.is_cut_short(),
            overflow: distribution.overflow,
            mean_ns: distribution.mean().unwrap_or(0.0),
            sd_ns: distribution.std_dev().unwrap_or(0.0),
            min_ns: distribution.min,
            max_ns: distribution.max,
            percentiles: headline.percentiles(&PERCENTILES),
            histogram: if columns == HistogramColumns::Drawn {
                draw(distribution)
            } else {
                Vec::new()
            },
            percentile_curve: Vec::new(),
            exponential_histogram: ExponentialHistogram::default(),
        }
    }

    /// Adds the curve of percentiles and the exponential histogram.
    pub(crate) fn with_curve(self, headline: &Headline) -> TimeFigure {
        TimeFigure {
            percentile_curve: headline.percentiles(&curve_percentiles(self.count)),
            ..self.with_buckets(headline)
        }
    }

    /// Adds the exponential histogram.
    pub(crate) fn with_buckets(self, headline: &Headline) -> TimeFigure {
        TimeFigure {
            exponential_histogram: ExponentialHistogram::new(&headline.distribution),
            ..self
        }
    }

    /// Returns [`TimeFigure::percentile_curve`] with fewer points, including the largest value.
    pub(crate) fn thin_curve(&self) -> Vec<PercentileFigure> {
        let curve = &self.percentile_curve;
        // One point fewer, since the last one is always kept.
        let each = curve.len().div_ceil(THIN_CURVE_MAX - 1).max(1);
        let last = curve.len().saturating_sub(1);
        let points = curve.iter().enumerate();
        points
            .filter(|(place, _)| place % each == 0 || *place == last)
            .map(|(_, point)| *point)
            .collect()
    }

    /// Returns whether mean and maximum are lower bounds.
    #[must_use]
    pub fn is_cut_short(&self) -> bool {
        self.at_least || self.timed_out > 0 || self.not_sent > 0
    }

    /// Formats the mean, with `≥ ` in front if it is a lower bound.
    #[must_use]
    pub fn mean_in_words(&self) -> String {
        human::time_or_more(self.mean_ns, self.is_cut_short())
    }

    /// Formats the largest value, with `≥ ` in front if it is a lower bound.
    #[must_use]
    pub fn max_in_words(&self) -> String {
        human::time_or_more(self.max_ns as f64, self.is_cut_short())
    }

    /// Returns a percentile if the figure has it.
    #[must_use]
    pub fn percentile(&self, percentile: f64) -> Option<PercentileFigure> {
        self.percentiles
            .iter()
            .copied()
            .find(|figure| figure.percentile == percentile)
    }
}

/// Returns the percentiles of a curve over `count` values, as many as these can resolve.
fn curve_percentiles(count: u64) -> Vec<f64> {
    let halvings = u64::BITS - count.leading_zeros();
    let steps = (0..halvings).flat_map(|halving| (0..CURVE_STEPS).map(move |step| (halving, step)));
    let above = |(halving, step): (u32, u32)| {
        let from = 0.5_f64.powi(halving as i32);
        from * (1.0 - 0.5 * f64::from(step) / f64::from(CURVE_STEPS))
    };
    let above = steps
        .map(above)
        .take_while(|above| above * count as f64 >= 1.0);
    let mut percentiles: Vec<f64> = above.map(|above| 100.0 * (1.0 - above)).collect();
    percentiles.push(100.0);
    percentiles
}

/// Counts values in columns with logarithmic bounds, so that both a long tail and a narrow peak
/// stay visible. Values far beyond the 99th percentile, mostly time-outs, share the last column:
/// they would otherwise squeeze everything else together.
fn draw(distribution: &Distribution) -> Vec<Column> {
    let Some(p99) = distribution.percentile(99.0) else {
        return Vec::new();
    };
    // The logarithmic scale cannot begin at 0.
    let low = distribution.min.max(1) as f64;
    let high = distribution
        .max
        .min(p99.value_ns.saturating_mul(TAIL))
        .max(1);
    // Values beyond `high` share the last column.
    let grown = if high < distribution.max {
        COLUMNS - 1
    } else {
        COLUMNS
    };
    let growth = (high as f64 / low).max(1.0);
    let bound = |column: usize| (low * growth.powf(column as f64 / grown as f64)).ceil() as u64;
    let mut columns: Vec<Column> = (1..COLUMNS)
        .map(|column| Column {
            to_ns: bound(column),
            count: 0,
        })
        .collect();
    columns.push(Column {
        to_ns: distribution.max,
        count: distribution.overflow,
    });
    for (at, count) in distribution.by_bucket_end() {
        let column = columns
            .partition_point(|column| column.to_ns < at)
            .min(COLUMNS - 1);
        columns[column].count = columns[column].count.saturating_add(count);
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(values: &[u64]) -> Distribution {
        let mut distribution = Distribution::default();
        values.iter().for_each(|&value| distribution.record(value));
        distribution
    }

    fn headline(ok: &[u64], timed_out: &[u64]) -> Headline {
        let mut headline = Headline::exact(&recorded(ok));
        headline.take(
            Outcome::TimedOut,
            Metric::ResponseTime,
            &recorded(timed_out),
        );
        headline
    }

    #[test]
    fn thin_curve_keeps_its_ends_and_few_points() {
        for count in [0, 1, 5, 3_000, 100_000] {
            let values: Vec<u64> = (1..=count).collect();
            let headline = headline(&values, &[]);
            let figure = TimeFigure::new(&headline, HistogramColumns::Omitted);
            let figure = figure.with_curve(&headline);
            let (whole, thin) = (&figure.percentile_curve, figure.thin_curve());
            assert_eq!((thin.first(), thin.last()), (whole.first(), whole.last()));
            assert!(thin.len() <= THIN_CURVE_MAX, "{} of {count}", thin.len());
            assert!(thin.len() >= whole.len().min(THIN_CURVE_MAX / 2), "{count}");
        }
    }

    #[test]
    fn figures_are_those_worked_out_by_hand() {
        let figure = TimeFigure::new(
            &headline(&[2, 4, 4, 4, 5, 5, 7, 9], &[]),
            HistogramColumns::Omitted,
        );
        assert_eq!(
            (figure.count, figure.min_ns, figure.max_ns, figure.timed_out),
            (8, 2, 9, 0)
        );
        assert_eq!(
            (figure.mean_ns, figure.sd_ns),
            (5.0, 2.0),
            "the textbook's example"
        );
        assert_eq!(
            figure.percentile(50.0).unwrap().value_ns,
            4,
            "the fourth of eight"
        );
        assert_eq!(figure.percentile(75.0).unwrap().value_ns, 5, "the sixth");
        assert_eq!(figure.percentile(99.0).unwrap().value_ns, 9);
        assert!(figure.histogram.is_empty());
    }

    #[test]
    fn percentile_at_or_above_a_timed_out_value_is_a_lower_bound() {
        let ninety: Vec<u64> = (1..=90).collect();
        let headline = headline(&ninety, &[1000; 10]);
        for (percentile, value_ns, at_least) in [
            (50.0, 50, false),
            (90.0, 90, false),
            (90.5, 1000, true),
            (99.0, 1000, true),
        ] {
            assert_eq!(
                headline.percentile(percentile).unwrap(),
                PercentileFigure {
                    percentile,
                    value_ns,
                    at_least
                }
            );
        }
    }

    #[test]
    fn ok_value_above_a_time_out_is_a_lower_bound_too() {
        let headline = headline(&[10, 2000], &[1000]);
        assert!(!headline.percentile(33.0).unwrap().at_least);
        assert_eq!(
            headline.percentile(100.0).unwrap(),
            PercentileFigure {
                percentile: 100.0,
                value_ns: 2000,
                at_least: true
            }
        );
    }

    /// 1600/s for 5 s on a server of 800/s: half of the arrivals are answered, the others had
    /// waited for up to 2.5 s.
    #[test]
    fn percentile_that_waiting_arrivals_could_move_is_a_lower_bound() {
        let mut headline = headline(&[10, 20, 30, 40], &[]);
        headline.take(
            Outcome::NotSent,
            Metric::ResponseTime,
            &recorded(&[0, 5, 25, 60]),
        );
        // Recorded: 0 5 10 20 | 25 30 40 60. If the four were infinite: 10 20 30 40 | ∞.
        for (percentile, least, most) in [
            (12.5, 0, Some(10)),
            (25.0, 5, Some(20)),
            (50.0, 20, Some(40)),
            (62.5, 25, None),
            (75.0, 30, None),
        ] {
            let figure = headline.percentile(percentile).unwrap();
            assert_eq!(
                (
                    figure.value_ns,
                    figure.at_least,
                    headline.at_most(percentile)
                ),
                (least, true, most),
                "p{percentile}"
            );
        }
        assert_eq!((headline.timed_out, headline.not_sent), (0, 4));
    }

    #[test]
    fn value_that_was_cut_short_above_a_percentile_leaves_it_alone() {
        let mut headline = headline(&[1, 2, 3], &[]);
        headline.take(Outcome::NotSent, Metric::Lateness, &recorded(&[3000]));
        headline.take(Outcome::NotSent, Metric::ScheduleDelay, &recorded(&[2]));
        headline.take(Outcome::Failed, Metric::ResponseTime, &recorded(&[0; 9]));
        // 1 2 2 3 | 3000: it is known when the arrival that was never sent was noticed.
        for (percentile, value_ns, at_least) in
            [(60.0, 2, false), (80.0, 3, false), (81.0, 3000, true)]
        {
            assert_eq!(
                headline.percentile(percentile).unwrap(),
                PercentileFigure {
                    percentile,
                    value_ns,
                    at_least
                }
            );
        }
    }

    #[test]
    fn mean_and_maximum_are_lower_bounds_only_where_values_were_cut_short() {
        let figure = |outcome, metric| {
            let mut headline = headline(&[1, 2, 3], &[]);
            headline.take(outcome, metric, &recorded(&[50]));
            TimeFigure::new(&headline, HistogramColumns::Omitted)
        };
        for (outcome, metric, is_cut_short) in [
            (Outcome::Ok, Metric::ResponseTime, false),
            (Outcome::TimedOut, Metric::ResponseTime, true),
            (Outcome::TimedOut, Metric::Connect, false),
            (Outcome::NotSent, Metric::Lateness, true),
            (Outcome::NotSent, Metric::ScheduleDelay, false),
        ] {
            let figure = figure(outcome, metric);
            assert_eq!(
                figure.is_cut_short(),
                is_cut_short,
                "{outcome:?} {metric:?}"
            );
            assert_eq!(figure.at_least, is_cut_short);
            let words = if is_cut_short { "≥ 50 ns" } else { "50 ns" };
            assert_eq!(figure.max_in_words(), words);
        }
    }

    fn many_and(one: u64) -> Vec<u64> {
        (1000..2000).chain([one]).collect()
    }

    #[test]
    fn far_away_values_leave_room_for_the_others() {
        let columns = draw(&recorded(&many_and(30_000_000_000)));
        assert_eq!(
            columns[59],
            Column {
                to_ns: 30_000_000_000,
                count: 1
            }
        );
        assert!(
            columns.iter().filter(|column| column.count > 0).count() > 15,
            "{columns:?}"
        );
    }

    #[test]
    fn curve_has_five_steps_in_each_half_of_the_rest_and_ends_at_the_largest_value() {
        let expected = [
            0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 55.0, 60.0, 65.0, 70.0, 75.0, 100.0,
        ];
        let percentiles = curve_percentiles(4);
        assert_eq!(percentiles.len(), expected.len(), "{percentiles:?}");
        for (found, expected) in percentiles.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{percentiles:?}");
        }
        assert_eq!(curve_percentiles(0), [100.0]);
        let headline = headline(&[1, 2, 3], &[9]);
        let curve = TimeFigure::new(&headline, HistogramColumns::Drawn).with_curve(&headline);
        let last = curve.percentile_curve.last().expect("there are values");
        assert_eq!((last.value_ns, last.at_least), (9, true));
    }

    #[test]
    fn histogram_holds_every_value_and_ends_at_the_largest() {
        let hour = 3_600_000_000_000;
        for values in [
            vec![5],
            vec![1000; 7],
            (1..=10_000).collect(),
            vec![0, 1, hour],
            vec![1, hour + 1, 2 * hour],
            many_and(hour),
        ] {
            let columns = draw(&recorded(&values));
            assert_eq!(columns.len(), COLUMNS);
            assert_eq!(
                columns.iter().map(|column| column.count).sum::<u64>(),
                values.len() as u64
            );
            assert!(
                columns.is_sorted_by_key(|column| column.to_ns),
                "{columns:?}"
            );
            assert_eq!(columns.last().unwrap().to_ns, *values.iter().max().unwrap());
        }
        assert_eq!(draw(&recorded(&[])), []);
    }
}
