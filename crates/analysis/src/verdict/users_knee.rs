//! The point where throughput stops following the users of a closed loop whose stages change their
//! number: a knee within the run.

use super::counted_seconds::whole_rows;
use super::slower_with_time::SlowerWithTime;
use crate::{Document, Row, human};

/// Beyond the knee there are this many times as many users,
pub(super) const BEYOND: f64 = 1.5;

/// which bring at most this many times as much,
pub(super) const RISE_MAX: f64 = 1.1;

/// and wait at least this many times as long. Answers that only come late, while users change, do
/// not.
pub(super) const SLOWER_MIN: f64 = 1.25;

/// Seconds averaged for a point: a single one scatters too much.
const POINT_ROWS: usize = 3;

/// The lowest load from which more load brings nothing, or what comes closest to it.
pub(super) struct UsersKnee {
    knee: LoadPoint,
    most: LoadPoint,
    slower: Option<SlowerWithTime>,
}

/// Mean of seconds with about the same load.
#[derive(Debug, Clone, Copy)]
struct LoadPoint {
    under_way: f64,
    ok_per_second: f64,
    response_ns: f64,
}

impl UsersKnee {
    /// Returns `None` if the run has too few seconds with different loads.
    pub(super) fn new(document: &Document) -> Option<UsersKnee> {
        let measured = whole_rows(document).filter(|row| !row.warm_up);
        let rows: Vec<&Row> = measured.collect();
        let points = points(&rows);
        let (most, others) = points.split_last()?;
        let reach = |point: &&LoadPoint| point.reach(most);
        let first = others.iter().find(|point| reach(point) >= 1.0);
        let nearest = || others.iter().max_by(|a, b| reach(a).total_cmp(&reach(b)));
        Some(UsersKnee {
            knee: *first.or_else(nearest)?,
            most: *most,
            slower: SlowerWithTime::new(&rows),
        })
    }

    /// Returns whether nothing shows that time, rather than the load, slowed the answers down.
    pub(super) fn goes_with_load(&self) -> bool {
        self.slower.is_none()
    }

    /// Returns how close it comes to being a knee; from 1 on it is one.
    pub(super) fn reach(&self) -> f64 {
        self.knee.reach(&self.most)
    }

    pub(super) fn in_words(&self) -> String {
        let (knee, most) = (self.knee, self.most);
        let slower = self
            .slower
            .as_ref()
            .map_or_else(String::new, |slower| format!("; but {}", slower.in_words()));
        format!(
            "{} operations under way brought {}/s, and {} brought {}/s and took {:.2} times as \
             long{slower}",
            human::number(knee.under_way),
            human::number(knee.ok_per_second),
            human::number(most.under_way),
            human::number(most.ok_per_second),
            most.response_ns / knee.response_ns
        )
    }
}

impl LoadPoint {
    fn new(rows: &[&Row]) -> LoadPoint {
        let mean =
            |of: fn(&Row) -> f64| rows.iter().map(|row| of(row)).sum::<f64>() / rows.len() as f64;
        LoadPoint {
            under_way: mean(|row| row.in_service),
            ok_per_second: mean(|row| row.ok() as f64 / f64::from(row.seconds.max(1))),
            response_ns: mean(|row| row.response_time_mean_ns),
        }
    }

    fn reach(&self, most: &LoadPoint) -> f64 {
        let beyond = most.under_way / self.under_way / BEYOND;
        let flat = RISE_MAX * self.ok_per_second / most.ok_per_second;
        let slower = most.response_ns / self.response_ns / SLOWER_MIN;
        let reach = beyond.min(flat).min(slower);
        if reach.is_finite() { reach } else { 0.0 }
    }
}

/// Returns the points by load, ascending.
fn points(rows: &[&Row]) -> Vec<LoadPoint> {
    let mut rows = rows.to_vec();
    rows.sort_by(|a, b| a.in_service.total_cmp(&b.in_service));
    rows.windows(POINT_ROWS).map(LoadPoint::new).collect()
}
