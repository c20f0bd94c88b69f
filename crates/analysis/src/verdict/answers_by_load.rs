//! Compares seconds with few operations under way to seconds with many: if each answer takes no
//! longer with many, answers do not wait for one another.

use super::counted_seconds::whole_rows;
use crate::{Document, Row, human};

/// Few means at most this share of the most operations ever under way,
const FEW_MAX: f64 = 0.5;

/// and many means at least this share.
const MANY_MIN: f64 = 0.75;

/// Answers take no longer if they take at most this many times as long.
const LONGER_MAX: f64 = 1.1;

/// Fewer answers than this are too few for a mean,
const ANSWERS_MIN: u64 = 20;

/// and so are fewer seconds than this.
const SECONDS_MIN: usize = 2;

/// If answers take longer than this share of a row, many end in a later row than they began in,
/// where the load can be different.
const LONG_SHARE_MAX: f64 = 0.3;

/// Answers share something if this many times as many under way
const FLAT_LOAD_MIN: f64 = 1.5;

/// bring at most this many times as much.
const FLAT_RISE_MAX: f64 = 1.1;

/// For that, one second is enough if it has this many answers.
const FLAT_ANSWERS_MIN: u64 = 50;

/// Returns whether many operations under way brought hardly more than fewer did: each then took
/// longer because of the others, in whatever order they were answered.
pub(super) fn is_flat(document: &Document) -> bool {
    let rows: Vec<&Row> = whole_rows(document).collect();
    let most = rows.iter().map(|row| row.in_service).fold(0.0, f64::max);
    let is_telling = |row: &&&Row| row.ok() >= FLAT_ANSWERS_MIN;
    let few = rows
        .iter()
        .filter(is_telling)
        .find(|row| row.in_service * FLAT_LOAD_MIN <= most);
    let many: Vec<&Row> = rows
        .iter()
        .copied()
        .filter(|row| row.in_service >= MANY_MIN * most)
        .collect();
    few.zip(LoadMean::new(&many)).is_some_and(|(few, many)| {
        let few_per_second = few.ok() as f64 / f64::from(few.seconds.max(1));
        many.ok_per_second <= FLAT_RISE_MAX * few_per_second
    })
}

/// Means over seconds with few and over seconds with many operations under way.
pub(super) struct AnswersByLoad {
    few: LoadMean,
    many: LoadMean,
}

struct LoadMean {
    under_way: f64,
    ok_per_second: f64,
}

impl AnswersByLoad {
    /// Returns `None` if the run lacks seconds of either kind.
    pub(super) fn new(document: &Document) -> Option<AnswersByLoad> {
        let rows: Vec<&Row> = whole_rows(document).collect();
        let most = rows.iter().map(|row| row.in_service).fold(0.0, f64::max);
        let of = |is_of: &dyn Fn(f64) -> bool| {
            let rows = rows.iter().copied();
            LoadMean::new(&rows.filter(|row| is_of(row.in_service)).collect::<Vec<_>>())
        };
        let few = of(&|under_way| under_way <= FEW_MAX * most)?;
        let row_seconds = document.series.row_seconds.max(1);
        let is_short = few.seconds_each() <= LONG_SHARE_MAX * f64::from(row_seconds);
        let many = of(&|under_way| under_way >= MANY_MIN * most)?;
        is_short.then_some(AnswersByLoad { few, many })
    }

    /// Returns the operations under way in the seconds with many of them.
    pub(super) fn most(&self) -> f64 {
        self.many.under_way
    }

    /// Returns the answers per second in the seconds with many under way.
    pub(super) fn most_per_second(&self) -> f64 {
        self.many.ok_per_second
    }

    /// Returns whether answers took no longer with many under way, and so brought as many more
    /// answers.
    pub(super) fn took_no_longer(&self) -> bool {
        self.many.seconds_each() <= LONGER_MAX * self.few.seconds_each()
    }

    pub(super) fn in_words(&self) -> String {
        let [few, many] = [&self.few, &self.many].map(|mean| {
            let under_way = human::number(mean.under_way);
            (under_way, human::number(mean.ok_per_second))
        });
        format!(
            "{} operations under way brought {}/s, and {} brought {}/s",
            few.0, few.1, many.0, many.1
        )
    }
}

impl LoadMean {
    fn new(rows: &[&Row]) -> Option<LoadMean> {
        let seconds: f64 = rows.iter().map(|row| f64::from(row.seconds.max(1))).sum();
        let under_way = rows
            .iter()
            .map(|row| row.in_service * f64::from(row.seconds.max(1)));
        let ok: u64 = rows.iter().map(|row| row.ok()).sum();
        (rows.len() >= SECONDS_MIN && ok >= ANSWERS_MIN).then(|| LoadMean {
            under_way: under_way.sum::<f64>() / seconds,
            ok_per_second: ok as f64 / seconds,
        })
    }

    /// Returns how long each takes, by Little's law.
    fn seconds_each(&self) -> f64 {
        self.under_way / self.ok_per_second
    }
}
