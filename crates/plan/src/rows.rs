//! Which row of a data file an operation takes: it follows from the operation's number over the
//! cluster, so one agent or a thousand send the same rows.

use crate::mix::{Mix, Uses};
use crate::{DataFile, Piece, Plan, Request, RowOrder, Tls};
use measure::SplitMix;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Distinguishes the random numbers of rows from others of the run.
const ROW_SEED: u64 = 0x726f_7773_206f_6620;
/// Rounds of the Feistel network. Four are enough in theory (Luby and Rackoff, 1988), but leave
/// orders of a handful of rows uneven: of five rows the last one was last in 26 % of them.
const ROUNDS: u64 = 8;

/// The rows that a plan's operations take of one file.
#[derive(Debug, Clone)]
pub struct RowSource {
    order: RowOrder,
    /// At least one.
    rows: u64,
    seed: u64,
    /// How many operations before one take a row; `None` if all do.
    uses: Option<Uses>,
}

/// The row sources of a plan by the name of the file.
pub type RowSources = BTreeMap<String, Arc<RowSource>>;

impl Plan {
    /// How the plan's operations take rows of its data files.
    #[must_use]
    pub fn row_sources(&self) -> RowSources {
        let sources = self.data.iter().map(|file| {
            let source = RowSource::new(file, self.row_takers(), self.load.seed);
            (file.name.clone(), Arc::new(source))
        });
        sources.collect()
    }

    /// Whether operations of each request take a row of the data file `name`, in the plan's order.
    #[must_use]
    pub fn takes_rows(&self, name: &str) -> Vec<bool> {
        self.row_takers().take_rows(name)
    }

    fn row_takers(&self) -> RowTakers<'_> {
        RowTakers {
            requests: &self.requests,
            tls: self.tls.as_ref(),
            takes_always: self.replay.is_some() || !self.journeys.is_empty(),
        }
    }
}

/// What takes rows of a plan's data files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowTakers<'a> {
    pub(crate) requests: &'a [Request],
    /// A connection's name is that of any operation's row, whatever that requests.
    pub(crate) tls: Option<&'a Tls>,
    /// Every arrival and every turn of a user takes a row, whatever it sends: a log or a journey
    /// says what that is.
    pub(crate) takes_always: bool,
}

impl RowSource {
    pub(crate) fn new(file: &DataFile, takers: RowTakers<'_>, seed: u64) -> RowSource {
        let taking = takers.take_rows(&file.name);
        let uses = (!takers.takes_always && !taking.iter().all(|&takes| takes)).then(|| {
            let requests = takers.requests.iter();
            let weights: Vec<u32> = requests.map(|request| request.weight).collect();
            Mix::new(&weights, seed).uses(&taking)
        });
        RowSource {
            order: file.order,
            rows: file.table.rows().max(1),
            seed: file.name.bytes().fold(seed ^ ROW_SEED, |seed, byte| {
                SplitMix::nth(seed, u64::from(byte))
            }),
            uses,
        }
    }

    /// The row, from 0, that operation `seq` of virtual user `user` takes.
    #[inline]
    #[must_use]
    pub fn row(&self, seq: u64, user: u64) -> u64 {
        if self.order == RowOrder::User {
            return user % self.rows;
        }
        let nth = match &self.uses {
            None => seq,
            Some(uses) => uses.before(seq),
        };
        let (pass, place) = (nth / self.rows, nth % self.rows);
        match self.order {
            RowOrder::Shuffled => permute(place, self.rows, SplitMix::nth(self.seed, pass)),
            RowOrder::Random => {
                let bits = SplitMix::nth(self.seed, nth);
                ((u128::from(bits) * u128::from(self.rows)) >> 64) as u64
            }
            _ => place,
        }
    }

    /// How many operations there are before the first that finds no row left, if rows are taken
    /// only once; `None` if no operation takes one.
    pub(crate) fn operations(&self) -> Option<u64> {
        match &self.uses {
            None => Some(self.rows),
            Some(uses) => uses.until(self.rows),
        }
    }
}

impl RowTakers<'_> {
    /// Whether any operation takes a row of the file `name`.
    pub(crate) fn use_file(self, name: &str) -> bool {
        let mut requests = self.requests.iter();
        requests.any(|request| self.take_row(request, name))
    }

    /// Whether operations of each request take a row of the file `name`.
    fn take_rows(self, name: &str) -> Vec<bool> {
        let requests = self.requests.iter();
        requests
            .map(|request| self.take_row(request, name))
            .collect()
    }

    /// Whether operations of `request` take a row of the file `name`.
    fn take_row(self, request: &Request, name: &str) -> bool {
        let names = self.tls.and_then(Tls::name_column);
        let mut pieces = request.all_pieces();
        names.is_some_and(|column| column.file.name == name)
            || pieces
                .any(|piece| matches!(piece, Piece::Column(column) if column.file.name == name))
    }
}

/// Where `place` below `rows` comes to be in an order that `key` gives: a Feistel network over the
/// next power of four, walked until it is below `rows` again (Black and Rogaway, 2002).
fn permute(place: u64, rows: u64, key: u64) -> u64 {
    let bits = u64::BITS - (rows - 1).leading_zeros();
    let half = bits.div_ceil(2).max(1);
    let mask = (1 << half) - 1;
    let mut place = place;
    loop {
        let (mut left, mut right) = (place >> half, place & mask);
        for round in 0..ROUNDS {
            let mixed = SplitMix::nth(key ^ right, round) & mask;
            (left, right) = (right, left ^ mixed);
        }
        place = left << half | right;
        if place < rows {
            return place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(order: RowOrder, rows: u64) -> RowSource {
        RowSource {
            order,
            rows,
            seed: 7,
            uses: None,
        }
    }

    #[test]
    fn each_order_takes_rows_as_it_says() {
        let rows = |order, number: u64| -> Vec<u64> {
            (0..number)
                .map(|seq| source(order, 5).row(seq, 13))
                .collect()
        };
        assert_eq!(rows(RowOrder::Sequential, 7), [0, 1, 2, 3, 4, 0, 1]);
        assert_eq!(rows(RowOrder::Unique, 5), [0, 1, 2, 3, 4]);
        assert_eq!(rows(RowOrder::User, 3), [3, 3, 3]);
        // Agents of other builds must send the same rows.
        assert_eq!(rows(RowOrder::Shuffled, 10), [2, 1, 0, 4, 3, 1, 0, 4, 2, 3]);
        assert_eq!(rows(RowOrder::Random, 10), [1, 0, 4, 2, 2, 1, 2, 1, 0, 2]);
    }

    #[test]
    fn shuffled_rows_are_each_taken_once_a_pass() {
        for rows in [1, 2, 3, 4, 5, 63, 64, 65, 1000, 4097] {
            let source = source(RowOrder::Shuffled, rows);
            for pass in 0..3 {
                let taken = (0..rows).map(|place| source.row(pass * rows + place, 0));
                let mut taken: Vec<u64> = taken.collect();
                let is_ordered = taken.is_sorted();
                taken.sort_unstable();
                assert!(taken.into_iter().eq(0..rows), "{rows} rows, pass {pass}");
                assert!(rows < 10 || !is_ordered, "{rows} rows, pass {pass}");
            }
        }
    }

    #[test]
    fn every_order_of_a_pass_is_as_likely_as_another() {
        let source = source(RowOrder::Shuffled, 5);
        let mut taken = [[0; 5]; 5];
        for seq in 0..50_000 {
            taken[(seq % 5) as usize][source.row(seq, 0) as usize] += 1;
        }
        let are_even = |rows: &[i32; 5]| rows.iter().all(|times| (1800..2200).contains(times));
        assert!(taken.iter().all(are_even), "{taken:?}");
    }

    #[test]
    fn random_rows_are_as_likely_as_each_other() {
        let source = source(RowOrder::Random, 10);
        let mut taken = [0; 10];
        (0..10_000).for_each(|seq| taken[source.row(seq, 0) as usize] += 1);
        assert!(
            taken.iter().all(|times| (850..1150).contains(times)),
            "{taken:?}"
        );
    }
}
