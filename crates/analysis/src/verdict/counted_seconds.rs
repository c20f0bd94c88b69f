//! The seconds of a run that a rule looks at: those that the figures cover, and of these the ones
//! in which the load was not carried, or in which there was load at all.

use crate::stretches::Stretches;
use crate::{Document, LoadRecord, MachineRow, Row};

/// A second was not carried if the backlog grew in it by this share of what was due.
const GROWTH_SHARE_MAX: f64 = 0.01;

/// Arrivals and answers scatter by the square root of their number; a deviation of more than this
/// many times that is not scatter.
const SIGMAS: f64 = 3.0;

/// A second of a closed loop is under load if at least this share of the most users ever under way
/// are under way in it.
const UNDER_LOAD_SHARE: f64 = 0.5;

/// A machine's row that covers less than this share of its time is ignored: shares of a short time
/// are noise.
const KNOWN_SHARE_MIN: f64 = 0.5;

/// The last second of a run can arrive too late to be kept, and a monitor can hear of the start too
/// late to see the first one.
pub(super) const LATE_SECONDS: u64 = 1;

const SECOND_NS: u64 = 1_000_000_000;

/// Whether the load was carried, which decides where to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carried {
    Wholly,
    NotWholly,
}

/// The seconds to look at.
#[derive(Debug, Clone, Default)]
pub(super) struct CountedSeconds(Stretches);

impl CountedSeconds {
    /// Returns the seconds in which a limit of the client would count: all measured ones, or for an
    /// open loop whose load was not carried, those in which it was not.
    pub(super) fn of_client(document: &Document, carried: Carried) -> CountedSeconds {
        match (&document.plan.load, carried) {
            (LoadRecord::Open { .. }, Carried::NotWholly) => not_carried(document),
            _ => CountedSeconds::over(measured(document)),
        }
    }

    /// Returns the seconds in which a limit of the server or the network would count: the same, or
    /// for a closed loop those with users under way. One last answer that hangs must not dilute the
    /// others.
    pub(super) fn under_load(document: &Document, carried: Carried) -> CountedSeconds {
        match &document.plan.load {
            LoadRecord::Open { .. } => CountedSeconds::of_client(document, carried),
            LoadRecord::Closed { .. } => {
                let most = measured(document).map(|row| row.in_service);
                let most = most.fold(0.0, f64::max);
                let is_busy = |row: &&Row| row.in_service >= UNDER_LOAD_SHARE * most;
                CountedSeconds::over(measured(document).filter(is_busy))
            }
        }
    }

    fn over<'a>(rows: impl Iterator<Item = &'a Row>) -> CountedSeconds {
        let mut seconds = Stretches::default();
        for row in rows {
            for second in row.second..row.second.saturating_add(row.seconds.max(1)) {
                seconds.mark(second);
            }
        }
        CountedSeconds(seconds)
    }

    /// Returns the rows of a machine that cover any of these seconds.
    pub(super) fn rows<'a>(&self, rows: &'a [MachineRow]) -> Vec<&'a MachineRow> {
        let rows = rows.iter();
        rows.filter(|row| is_known(row) && self.touch(row))
            .collect()
    }

    /// Returns how many seconds they are.
    pub(super) fn number(&self) -> u64 {
        self.0.number()
    }

    fn touch(&self, row: &MachineRow) -> bool {
        let end = row.second.saturating_add(row.seconds.max(1));
        (row.second..end).any(|second| self.0.contains(second))
    }

    fn is_empty(&self) -> bool {
        self.0.end() == 0
    }
}

pub(super) fn is_known(row: &MachineRow) -> bool {
    row.elapsed_ns as f64 >= KNOWN_SHARE_MIN * f64::from(row.seconds.max(1)) * SECOND_NS as f64
}

/// Returns the rows of the measured part; if it ends within a row, that row is included if at least
/// half of it is measured.
pub(super) fn measured(document: &Document) -> impl Iterator<Item = &Row> {
    let run = &document.run;
    let end_ns = run.warm_up_ns.saturating_add(run.duration_ns);
    let is_inside = move |row: &&Row| {
        let half_ns = u64::from(row.seconds.max(1)) * SECOND_NS / 2;
        !row.warm_up && u64::from(row.second) * SECOND_NS + half_ns <= end_ns
    };
    document.series.rows.iter().filter(is_inside)
}

/// Returns the rows with load that end before the load does, in order of time and including the
/// warm-up. A second in which the run ended has less of everything.
pub(super) fn whole_rows(document: &Document) -> impl Iterator<Item = &Row> {
    let run = &document.run;
    let end_ns = run.warm_up_ns.saturating_add(run.duration_ns);
    let is_whole = move |row: &&Row| {
        let end = u64::from(row.second) + u64::from(row.seconds.max(1));
        end * SECOND_NS <= end_ns && row.in_service > 0.0
    };
    document.series.rows.iter().filter(is_whole)
}

/// Returns the seconds in which less ended than was due, or all of them if no single one stands
/// out.
fn not_carried(document: &Document) -> CountedSeconds {
    let is_behind = |row: &&Row| {
        let due = row.due() as f64;
        due - row.ended as f64 > (GROWTH_SHARE_MAX * due).max(SIGMAS * due.sqrt())
    };
    let behind = CountedSeconds::over(measured(document).filter(is_behind));
    if behind.is_empty() {
        return CountedSeconds::over(measured(document));
    }
    behind
}
