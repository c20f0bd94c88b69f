//! Which rows of data files an operation has, for those that failed.

use crate::values::Values;
use data::DataTable;
use measure::RowId;
use plan::{Plan, RowSource};
use std::sync::Arc;

/// Where the rows of each request come from; empty for a plan without data files.
pub(crate) struct RowFinder(Vec<Vec<FileRows>>);

/// A data file that a request takes rows of.
struct FileRows {
    /// Its place in the plan.
    file: u16,
    table: DataTable,
    rows: Arc<RowSource>,
}

impl RowFinder {
    pub(crate) fn new(plan: &Plan) -> RowFinder {
        if plan.data().is_empty() {
            return RowFinder(Vec::new());
        }
        let sources = plan.row_sources();
        let mut finder = RowFinder(plan.requests().iter().map(|_| Vec::new()).collect());
        for (file, data) in (0..).zip(plan.data()) {
            let takes = plan.takes_rows(&data.name).into_iter();
            for (files, _) in finder.0.iter_mut().zip(takes).filter(|(_, takes)| *takes) {
                files.push(FileRows {
                    file,
                    table: data.table.clone(),
                    rows: Arc::clone(&sources[&data.name]),
                });
            }
        }
        finder
    }

    /// The rows of an operation that sends `request`, and the lines in which they begin.
    pub(crate) fn find(&self, request: u16, values: Values) -> impl Iterator<Item = (RowId, u64)> {
        let files = self.0.get(usize::from(request)).into_iter().flatten();
        files.map(move |taken| {
            let row = taken.rows.row(values.number_in_part(), values.user);
            let file = taken.file;
            (RowId { file, row }, taken.table.line(row))
        })
    }
}
