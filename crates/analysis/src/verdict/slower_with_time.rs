//! Decides whether the same number of operations under way brought less later than before: slowing
//! down with time says nothing about the load.

use crate::{Row, human};

/// Loads are the same if their ratio is within these bounds.
const SAME: [f64; 2] = [0.87, 1.15];

/// The seconds before have about as many under way as the one they are compared with, by these
/// factors,
const BEFORE: [f64; 2] = [0.87, 1.05];

/// and the seconds after as many or slightly more, by these factors,
const NEXT: [f64; 2] = [0.95, 1.3];

/// where each second brought at most this share of what those before did.
const LESS: f64 = 0.8;

/// Fewer seconds than this can be a pause.
const ROWS_MIN: usize = 2;

/// Answers per second scatter; a deviation of more than this many standard errors is not scatter.
const SIGMAS: f64 = 3.0;

/// Throughput of seconds with about the same load, before and later.
pub(super) struct SlowerWithTime {
    second: u32,
    before: Brought,
    later: Brought,
}

/// Operations under way, and the answers they brought.
#[derive(Debug, Clone, Copy)]
struct Brought {
    under_way: f64,
    ok_per_second: f64,
}

impl SlowerWithTime {
    /// Finds the clearest case in these rows, which are in order of time.
    pub(super) fn new(rows: &[&Row]) -> Option<SlowerWithTime> {
        let cases = (1..rows.len()).filter_map(|place| {
            let (until, after) = rows.split_at(place);
            SlowerWithTime::between(until, after)
        });
        let clearest = cases.min_by(|a, b| a.ratio().total_cmp(&b.ratio()));
        clearest.or_else(|| SlowerWithTime::at_the_return(rows))
    }

    /// Finds a case in which the load returned to what it was. The second of the change holds
    /// answers from before and after it, so each later row is compared with earlier ones that are
    /// not adjacent to it.
    fn at_the_return(rows: &[&Row]) -> Option<SlowerWithTime> {
        let compared = rows.iter().enumerate().filter_map(|(place, row)| {
            let earlier = near(&rows[..place.saturating_sub(1)], row.in_service, SAME);
            let case = SlowerWithTime {
                second: row.second,
                before: Brought::mean(&earlier)?,
                later: Brought::new(row),
            };
            Some((case.is_less(case.later, earlier.len()), case))
        });
        let (slower, others): (Vec<_>, Vec<_>) = compared.partition(|(is_less, _)| *is_less);
        let is_lasting = slower.len() >= ROWS_MIN && slower.len() > others.len();
        slower
            .into_iter()
            .map(|(_, case)| case)
            .next()
            .filter(|_| is_lasting)
    }

    /// Compares the rows on both sides of a change, at the load of the last row before it.
    fn between(until: &[&Row], after: &[&Row]) -> Option<SlowerWithTime> {
        let load = until.last()?.in_service;
        let before = near(until, load, BEFORE);
        let next = near(after, load, NEXT);
        let later = near(after, load, [NEXT[0], f64::INFINITY]);
        let case = SlowerWithTime {
            second: after.first()?.second,
            before: Brought::mean(&before)?,
            later: Brought::most(&next)?,
        };
        let all_later = Brought::most(&later)?;
        let is_lasting = next.len() >= ROWS_MIN
            || later.len() >= ROWS_MIN && case.is_less(all_later, before.len());
        (is_lasting && case.is_less(case.later, before.len())).then_some(case)
    }

    fn ratio(&self) -> f64 {
        self.later.ok_per_second / self.before.ok_per_second
    }

    fn is_less(&self, later: Brought, rows_before: usize) -> bool {
        let (before, later) = (self.before.ok_per_second, later.ok_per_second);
        // The variance of a Poisson count is its mean, and `before` is a mean over several counts.
        let error = (before / rows_before as f64 + later).sqrt();
        later <= LESS * before && before - later >= SIGMAS * error
    }

    pub(super) fn in_words(&self) -> String {
        let [before, later] = [self.before, self.later].map(|brought| {
            let under_way = human::number(brought.under_way);
            (under_way, human::number(brought.ok_per_second))
        });
        format!(
            "{} operations under way brought {}/s before second {}, and {} at most {}/s from then \
             on, so that answers became slower with time, whatever the load",
            before.0, before.1, self.second, later.0, later.1
        )
    }
}

/// Returns the rows whose load is within these factors of `load`.
fn near<'r>(rows: &[&'r Row], load: f64, [least, most]: [f64; 2]) -> Vec<&'r Row> {
    let is_near = |row: &&Row| (least * load..=most * load).contains(&row.in_service);
    rows.iter().copied().filter(is_near).collect()
}

impl Brought {
    fn new(row: &Row) -> Brought {
        Brought {
            under_way: row.in_service,
            ok_per_second: row.ok() as f64 / f64::from(row.seconds.max(1)),
        }
    }

    fn mean(rows: &[&Row]) -> Option<Brought> {
        let of = |part: fn(Brought) -> f64| {
            rows.iter().map(|row| part(Brought::new(row))).sum::<f64>() / rows.len() as f64
        };
        (!rows.is_empty()).then(|| Brought {
            under_way: of(|brought| brought.under_way),
            ok_per_second: of(|brought| brought.ok_per_second),
        })
    }

    /// Returns the row that brought most.
    fn most(rows: &[&Row]) -> Option<Brought> {
        let brought = rows.iter().map(|row| Brought::new(row));
        brought.max_by(|a, b| a.ok_per_second.total_cmp(&b.ok_per_second))
    }
}
