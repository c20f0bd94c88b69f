//! Data files whose rows are taken only once: where the load ends then.

use crate::read::section::PlanSection;
use crate::rows::{RowSource, RowTakers};
use crate::{AtEnd, DataFile, End, Load, Owner, RowOrder, Schedule, Seats, Shape, WorkUnit};
use std::sync::Arc;

/// How rows of a plan's data files are used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowUse<'a> {
    pub(crate) data: &'a [Arc<DataFile>],
    pub(crate) takers: RowTakers<'a>,
    pub(crate) unit: WorkUnit,
    /// The load is that of a search, which makes several runs.
    pub(crate) is_searched: bool,
}

/// The file whose rows are used up first.
pub(crate) struct RowsEnd<'a> {
    file: &'a DataFile,
    /// As many operations find a row.
    operations: u64,
}

impl<'a> RowUse<'a> {
    /// Where rows that are taken once come to an end; `None` if no file has such rows.
    pub(crate) fn end(self, seed: u64) -> Option<RowsEnd<'a>> {
        let once = |file: &&DataFile| {
            file.at_end != AtEnd::Again && file.order != RowOrder::User && file.table.rows() > 0
        };
        let files = self.used_files().filter(once);
        let ends = files.filter_map(|file| {
            let operations = RowSource::new(file, self.takers, seed).operations()?;
            Some(RowsEnd { file, operations })
        });
        ends.min_by_key(|end| end.operations)
    }

    fn used_files(self) -> impl Iterator<Item = &'a DataFile> {
        let files = self.data.iter().map(Arc::as_ref);
        files.filter(move |file| self.takers.use_file(&file.name))
    }

    /// Reports what cannot be with this load, and shortens it to the rows that there are.
    pub(crate) fn limit(self, section: &PlanSection<'_>, load: &mut Load) {
        self.check_users(section, load);
        if self.is_searched {
            // The search itself refuses such rows, whatever it varies.
            return;
        }
        let Some(end) = self.end(load.seed) else {
            return;
        };
        let RowsEnd { file, operations } = end;
        let key = self.unit.key();
        let rows = format!("data.{} has {} rows", file.name, file.table.rows());
        let unique = self
            .used_files()
            .find(|file| file.order == RowOrder::Unique && !load.warm_up.is_zero());
        if let Some(file) = unique {
            section.problem_at(
                "warm_up",
                format_args!(
                    "would take rows that the measured part takes again, and each row of data.{} \
                     is to be taken once; remove it, or write order = \"sequential\" there",
                    file.name
                ),
            );
        } else if let (Shape::Closed { .. }, End::Duration(_)) = (&load.shape, load.end) {
            section.problem_at(
                "duration",
                format_args!(
                    "leaves open how many operations virtual users begin, and {rows}, which are to \
                     be taken once; write {key} = {operations} (without duration and {key} the \
                     load ends with the rows), or at_end = \"again\" in data.{}",
                    file.name
                ),
            );
        } else {
            end.shorten(section, load, &rows, self.unit);
        }
    }

    /// Each virtual user may need a row of its own.
    fn check_users(self, section: &PlanSection<'_>, load: &Load) {
        let sharing = Seats::sharing(load, Owner::ALONE);
        let who = match &sharing {
            Some(_) => "users",
            None => "virtual users or connections",
        };
        let users = sharing.unwrap_or_else(|| Seats::new(load, Owner::ALONE));
        let users = u64::from(users.number());
        let own =
            |file: &&Arc<DataFile>| file.order == RowOrder::User && file.at_end == AtEnd::Fail;
        let mut files = self.data.iter().filter(own);
        let short = files.find(|file| (1..users).contains(&file.table.rows()));
        if let Some(file) = short {
            section.problem(format_args!(
                "has {users} {who}, but data.{} has only {} rows; use \
                 fewer, or let them share rows with at_end = \"again\"",
                file.name,
                file.table.rows()
            ));
        }
    }
}

impl RowsEnd<'_> {
    pub(crate) fn operations(&self) -> u64 {
        self.operations
    }

    /// Reports that a replay of `total` requests needs more rows.
    pub(crate) fn refuse_replay(&self, section: &PlanSection<'_>, total: u64) {
        section.context.problem(
            "replay",
            None,
            format!(
                "sends {total} requests, and data.{} has {} rows, which are to be taken once; \
                 write at_end = \"again\" there, and an order that is not \"unique\"",
                self.file.name,
                self.file.table.rows()
            ),
        );
    }

    fn shorten(&self, section: &PlanSection<'_>, load: &mut Load, rows: &str, unit: WorkUnit) {
        let (key, wanted) = match load.end {
            End::Requests(requests) => (unit.key(), Some(requests)),
            End::Duration(_) => {
                let schedule = Schedule::after_warm_up(load);
                ("duration", schedule.map(|schedule| schedule.total()))
            }
        };
        let Some(wanted) = wanted.filter(|&wanted| wanted > self.operations) else {
            return;
        };
        let (operations, units) = (self.operations, unit.noun());
        if self.file.at_end == AtEnd::Fail {
            section.problem_at(
                key,
                format_args!(
                    "asks for {wanted} {units}, and {rows}, enough for {operations}; ask for \
                     fewer, or write at_end = \"stop\" in data.{}",
                    self.file.name
                ),
            );
            return;
        }
        section.context.note(format!(
            "load.{key} asks for {wanted} {units}, and {rows}: the load ends after {operations}"
        ));
        load.end = End::Requests(operations);
    }
}
