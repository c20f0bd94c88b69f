//! In which lines of a file its rows begin.

/// The line of each row. It keeps those that do not follow the line of the row before, since most
/// rows are one line.
#[derive(Debug, Default)]
pub(crate) struct RowLines {
    /// Rows from 0, and their lines from 1; both fit, since a file has at most
    /// [`crate::MAX_LINES`].
    jumps: Vec<(u32, u32)>,
}

impl RowLines {
    /// Takes the row behind the last one that was taken: its number, and the line it begins in.
    pub(crate) fn push(&mut self, row: usize, line: u64) {
        let (row, line) = (row as u32, line as u32);
        let follows = |&(from, first): &(u32, u32)| line - first == row - from;
        if !self.jumps.last().is_some_and(follows) {
            self.jumps.push((row, line));
        }
    }

    /// The line of a row that was taken.
    pub(crate) fn line(&self, row: u64) -> u64 {
        let later = self
            .jumps
            .partition_point(|&(from, _)| u64::from(from) <= row);
        let (from, line) = self.jumps[..later].last().copied().unwrap_or((0, 1));
        u64::from(line) + (row - u64::from(from))
    }

    /// Gives back the memory that it does not need.
    pub(crate) fn shrink(&mut self) {
        self.jumps.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::RowLines;

    #[test]
    fn only_rows_behind_a_gap_take_memory() {
        let lines = [2, 3, 4, 7, 8, 20, 21, 22, 24];
        let mut kept = RowLines::default();
        for (row, line) in lines.into_iter().enumerate() {
            kept.push(row, line);
        }
        assert_eq!(kept.jumps, [(0, 2), (3, 7), (5, 20), (8, 24)]);
        let read: Vec<u64> = (0..9).map(|row| kept.line(row)).collect();
        assert_eq!(read, lines);
    }
}
