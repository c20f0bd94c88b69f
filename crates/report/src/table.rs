//! A table whose first column is aligned to the left and the others to the right. A column without
//! figures is left out. If the terminal is too narrow, each row becomes a paragraph of `heading
//! value` lines, so that no figure is lost; a heading that leaves no room for its value gets a line
//! of its own.

use crate::Style;
use crate::style::Paint;

/// Spaces before each line.
const INDENT: usize = 2;

/// Spaces between columns.
const GAP: usize = 2;

/// A table as lines of text.
#[derive(Debug)]
pub(crate) struct TextTable {
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
    optional: &'static [usize],
}

impl TextTable {
    pub(crate) fn new(headings: &[&str]) -> TextTable {
        TextTable {
            headings: headings.iter().map(|&heading| heading.to_owned()).collect(),
            rows: Vec::new(),
            optional: &[],
        }
    }

    /// Leaves out the columns in `optional` if the terminal is too narrow for all.
    pub(crate) fn with_optional(self, optional: &'static [usize]) -> TextTable {
        TextTable { optional, ..self }
    }

    /// Adds a row, which has one cell per heading.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.headings.len());
        self.rows.push(cells);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn lines(&self, style: Style) -> Vec<String> {
        let is_used =
            |column: &usize| *column == 0 || self.rows.iter().any(|row| !row[*column].is_empty());
        let used = || (0..self.headings.len()).filter(is_used);
        let is_needed = |column: &usize| !self.optional.contains(column);
        [
            used().collect::<Vec<_>>(),
            used().filter(is_needed).collect(),
        ]
        .iter()
        .find_map(|columns| self.side_by_side(columns, style))
        .unwrap_or_else(|| self.stack(&used().collect::<Vec<_>>(), style))
    }

    /// The columns side by side; `None` if they are too wide.
    fn side_by_side(&self, columns: &[usize], style: Style) -> Option<Vec<String>> {
        let (headings, rows) = self.pick(columns, style);
        // Measured after conversion: in ASCII, `≥` takes two characters.
        let widths: Vec<usize> = (0..headings.len())
            .map(|column| width(&headings, &rows, column))
            .collect();
        let total = INDENT + widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        if total > style.columns() {
            return None;
        }
        let mut lines: Vec<String> = Vec::new();
        if headings.iter().any(|heading| !heading.is_empty()) {
            lines.push(style.paint(Paint::Faint, &align(&headings, &widths)));
        }
        lines.extend(rows.iter().map(|row| align(row, &widths)));
        Some(lines)
    }

    fn stack(&self, columns: &[usize], style: Style) -> Vec<String> {
        let (headings, rows) = self.pick(columns, style);
        let rows = rows.iter();
        rows.flat_map(|row| stack(&headings, row, style)).collect()
    }

    /// Headings and rows of these columns, in characters that the terminal can show.
    fn pick(&self, columns: &[usize], style: Style) -> (Vec<String>, Vec<Vec<String>>) {
        let shown = |row: &Vec<String>| -> Vec<String> {
            let cells = columns.iter();
            cells.map(|&column| style.text(&row[column])).collect()
        };
        (shown(&self.headings), self.rows.iter().map(shown).collect())
    }
}

fn width(headings: &[String], rows: &[Vec<String>], column: usize) -> usize {
    let cells = rows
        .iter()
        .filter_map(|row| row.get(column))
        .chain(headings.get(column));
    cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
}

fn align(row: &[String], widths: &[usize]) -> String {
    let mut line = " ".repeat(INDENT);
    for (column, (cell, &width)) in row.iter().zip(widths).enumerate() {
        match column {
            0 => line.push_str(&format!("{cell:<width$}")),
            _ => line.push_str(&format!("{:GAP$}{cell:>width$}", "")),
        }
    }
    line.trim_end().to_owned()
}

fn stack(headings: &[String], row: &[String], style: Style) -> Vec<String> {
    let columns = style.columns();
    let name: String = row
        .first()
        .into_iter()
        .flat_map(|name| name.chars())
        .take(columns - INDENT)
        .collect();
    let mut lines = vec![format!("{:INDENT$}{name}", "")];
    for (heading, cell) in headings
        .iter()
        .zip(row)
        .skip(1)
        .filter(|(_, cell)| !cell.is_empty())
    {
        let line = format!("{:indent$}{heading} {cell}", "", indent = 2 * INDENT);
        if line.chars().count() <= columns {
            lines.push(line);
            continue;
        }
        for (text, indent) in [(heading, 2 * INDENT), (cell, 3 * INDENT)] {
            let line = format!("{:indent$}{text}", "");
            lines.push(line.chars().take(columns).collect());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TextTable {
        let mut table = TextTable::new(&["", "mean", "max"]);
        table.row(vec!["connect".into(), "1.20 µs".into(), "12.0 ms".into()]);
        table.row(vec!["total".into(), "9 ns".into(), "1 s".into()]);
        table
    }

    #[test]
    fn columns_are_aligned() {
        assert_eq!(
            table().lines(Style::PLAIN),
            [
                "              mean      max",
                "  connect  1.20 µs  12.0 ms",
                "  total       9 ns      1 s"
            ]
        );
    }

    #[test]
    fn column_without_figures_is_left_out() {
        let mut table = TextTable::new(&["", "late", "max"]);
        table.row(vec!["a".into(), String::new(), "1 s".into()]);
        assert_eq!(table.lines(Style::PLAIN), ["     max", "  a  1 s"]);
    }

    #[test]
    fn figure_stays_behind_its_heading_where_others_have_none() {
        let mut table = TextTable::new(&["", "http", "tls.versions=1.2", "tls.versions=1.3"]);
        let cells = ["connect.p50", "", "1.20 µs", "12.0 ms"];
        table.row(cells.map(str::to_owned).to_vec());
        let narrow = Style {
            width: 26,
            ..Style::PLAIN
        };
        assert_eq!(
            table.lines(narrow),
            [
                "  connect.p50",
                "    tls.versions=1.2",
                "      1.20 µs",
                "    tls.versions=1.3",
                "      12.0 ms"
            ]
        );
    }

    #[test]
    fn narrow_terminal_gets_rows_one_under_the_other() {
        let narrow = Style {
            width: 24,
            ..Style::PLAIN
        };
        assert_eq!(
            table().lines(narrow),
            [
                "  connect",
                "    mean 1.20 µs",
                "    max 12.0 ms",
                "  total",
                "    mean 9 ns",
                "    max 1 s"
            ]
        );
    }
}
