//! Where throughput stops following the users of a closed loop whose stages change their number:
//! a knee inside the run.

use super::counted_seconds::measured;
use super::slower_with_time::SlowerWithTime;
use crate::{Document, Row, human};

/// So many times as many users are beyond the knee,
const BEYOND: f64 = 1.5;

/// where they bring no more than so many times as much,
const RISE_MAX: f64 = 1.1;

/// and wait so many times as long. Answers that only come late, while users change, do not.
const SLOWER_MIN: f64 = 1.25;

/// Seconds that a point is the mean of: one alone scatters too much.
const POINT_ROWS: usize = 3;

/// The least load from which on more of it brings nothing, or what comes nearest to that.
pub(super) struct UsersKnee {
    knee: LoadPoint,
    most: LoadPoint,
    slower: Option<SlowerWithTime>,
}

/// What seconds with about the same load brought.
#[derive(Debug, Clone, Copy)]
struct LoadPoint {
    under_way: f64,
    ok_per_second: f64,
    response_ns: f64,
}

impl UsersKnee {
    /// Of a run that has seconds enough with different loads.
    pub(super) fn new(document: &Document) -> Option<UsersKnee> {
        let rows = whole_rows(document);
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

    /// Whether nothing shows that time slowed the answers down, and not the load.
    pub(super) fn goes_with_load(&self) -> bool {
        self.slower.is_none()
    }

    /// How far it is towards being one: 1 or more is.
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
            ok_per_second: mean(|row| {
                row.ended.saturating_sub(row.errors) as f64 / f64::from(row.seconds.max(1))
            }),
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

/// In the order of time. A second that the run ended in has less of everything, and does not count.
fn whole_rows(document: &Document) -> Vec<&Row> {
    let run = &document.run;
    let end_ns = run.warm_up_ns.saturating_add(run.duration_ns);
    let is_whole = |row: &&Row| {
        let end = u64::from(row.second) + u64::from(row.seconds.max(1));
        end * 1_000_000_000 <= end_ns && row.in_service > 0.0
    };
    measured(document).filter(is_whole).collect()
}

/// By load, ascending.
fn points(rows: &[&Row]) -> Vec<LoadPoint> {
    let mut rows = rows.to_vec();
    rows.sort_by(|a, b| a.in_service.total_cmp(&b.in_service));
    rows.windows(POINT_ROWS).map(LoadPoint::new).collect()
}
