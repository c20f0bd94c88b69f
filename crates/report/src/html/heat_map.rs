//! Response times over time, as a heat map.

use super::axis::{AxisUnit, ChartAxis};
use super::picture::{
    BOTTOM, HEIGHT, LEFT, PictureWidth, RIGHT, TOP, TimeFrame, WIDTH, in_both_widths, place,
};
use analysis::human::time;
use analysis::{HeatColumn, HeatMap};
use maud::{Markup, html};
use std::fmt::Write as _;

/// Shades of colour.
const SHADES: usize = 8;

/// The ratio of a single row's ends: a third of a doubling, as in larger maps.
const GROWTH: f64 = 1.26;

/// Darker means more operations. Each shade is a single path, which keeps the picture of a long run
/// small.
pub(super) fn draw(map: &HeatMap, frame: TimeFrame<'_>) -> Markup {
    let Some(grid) = HeatGrid::new(map, frame.axis(PictureWidth::Wide)) else {
        return html! {};
    };
    in_both_widths("heat", "Response times over time", &cells(&grid), |size| {
        frame.draw(grid.y, AxisUnit::Time, 6, size)
    })
}

/// The last column is clipped where the run ends.
fn cells(grid: &HeatGrid<'_>) -> Markup {
    let width = grid.column_width();
    html! {
        clipPath id="heat-room" {
            rect x=(LEFT) y="0" width=(WIDTH - LEFT - RIGHT) height=(HEIGHT) {}
        }
        g clip-path="url(#heat-room)" {
            @for (shade, path) in grid.paths(width).iter().enumerate() {
                @if !path.is_empty() {
                    path class={ "heat h" (shade) } stroke-width=(format!("{width:.2}")) d=(path) {}
                }
            }
        }
    }
}

/// The meaning of the shades.
pub(super) fn legend(map: &HeatMap) -> String {
    let most = map.columns.iter().flat_map(|column| &column.counts).max();
    let each = match map.column_seconds {
        1 => "a second".to_owned(),
        seconds => time(f64::from(seconds) * 1e9),
    };
    format!(
        "each cell: operations due in {each}, by response time; the darkest has {}",
        most.copied().unwrap_or(0)
    )
}

/// The cells of a map, on the axes of its picture.
struct HeatGrid<'m> {
    map: &'m HeatMap,
    x: ChartAxis,
    y: ChartAxis,
    /// Where the first row begins, in nanoseconds.
    begin_ns: f64,
    /// The largest count of a cell.
    most: f64,
}

impl<'m> HeatGrid<'m> {
    /// `None` if the map has no rows.
    fn new(map: &'m HeatMap, x: ChartAxis) -> Option<HeatGrid<'m>> {
        let ends = &map.row_ends_ns;
        let (&first, &last) = (ends.first()?, ends.last()?);
        // A row begins where the previous one ends; the first is given the height of the second.
        let second = ends.get(1);
        let growth = second.map_or(GROWTH, |second| *second as f64 / first as f64);
        let begin_ns = first as f64 / growth;
        let counts = map.columns.iter().flat_map(|column| &column.counts);
        Some(HeatGrid {
            map,
            x,
            y: ChartAxis::log(begin_ns, last as f64, HEIGHT - BOTTOM, TOP),
            begin_ns,
            most: counts.copied().max().unwrap_or(0).max(1) as f64,
        })
    }

    /// The left and right edge of a column.
    fn column_ends(&self, column: &HeatColumn) -> (f64, f64) {
        let until = column.second.saturating_add(self.map.column_seconds);
        let at = |second: u32| self.x.place(f64::from(second));
        (at(column.second), at(until))
    }

    /// The width of all columns: at least one pixel, so that a single second of an hour remains
    /// visible. The last one may be cut by the end of the axis, so the widest counts.
    fn column_width(&self) -> f64 {
        let ends = self.map.columns.iter().map(|it| self.column_ends(it));
        ends.map(|(from, until)| until - from).fold(1.0, f64::max)
    }

    /// The lower and upper edge of a row.
    fn row_ends(&self, row: usize) -> (f64, f64) {
        let end = |row: usize| self.map.row_ends_ns[row] as f64;
        let begin = row.checked_sub(1).map_or(self.begin_ns, end);
        (self.y.place(begin), self.y.place(end(row)))
    }

    /// Logarithmic, so that one operation remains visible beside a million.
    fn shade(&self, count: u64) -> usize {
        let part = (count as f64).ln_1p() / self.most.ln_1p();
        ((part * SHADES as f64).ceil() as usize).clamp(1, SHADES) - 1
    }

    /// A path for each shade, through all of its cells. A stroke as wide as the column takes half
    /// the characters of a rectangle.
    fn paths(&self, width: f64) -> Vec<String> {
        let mut paths = vec![String::new(); SHADES];
        for column in &self.map.columns {
            let middle = place(self.column_ends(column).0 + width / 2.0);
            let cells = column.counts.iter().enumerate();
            let cells = cells.take(self.map.row_ends_ns.len());
            for (row, &count) in cells.filter(|(_, count)| **count > 0) {
                let (low, high) = self.row_ends(row);
                let path = &mut paths[self.shade(count)];
                let _ = write!(path, "M{middle} {}V{}", place(low), place(high));
            }
        }
        paths
    }
}

#[cfg(test)]
mod tests {
    use super::super::picture::MeasuredPart;
    use super::*;

    fn frame(bounds: &[f64]) -> TimeFrame<'_> {
        TimeFrame {
            bounds,
            part: MeasuredPart { from: 0.0, to: 9.0 },
            marks: &[],
        }
    }

    #[test]
    fn last_column_of_a_heat_map_begins_at_its_second_and_ends_with_the_run() {
        let column = |second| HeatColumn {
            second,
            counts: vec![1],
        };
        let map = HeatMap {
            column_seconds: 1,
            row_ends_ns: vec![1_000],
            columns: vec![column(0), column(1)],
        };
        let svg = draw(&map, frame(&[0.0, 1.0, 1.1])).into_string();
        // 1.1 s take 824 px. The columns are 749.1 px wide and begin at 64 and at 813.1.
        assert!(svg.contains("M438.5 ") && svg.contains("M1187.6 "), "{svg}");
        assert!(svg.contains("clip-path=\"url(#heat-room)\""), "{svg}");
    }

    #[test]
    fn one_operation_is_seen_beside_a_million() {
        let map = HeatMap {
            column_seconds: 1,
            row_ends_ns: vec![1_000, 2_000],
            columns: vec![HeatColumn {
                second: 0,
                counts: vec![1_000_000, 1],
            }],
        };
        let svg = draw(&map, frame(&[0.0, 1.0])).into_string();
        assert!(svg.contains("heat h0") && svg.contains("heat h7"), "{svg}");
    }

    #[test]
    fn shades_follow_the_logarithm_and_rows_stand_on_one_another() {
        let map = HeatMap {
            column_seconds: 1,
            row_ends_ns: vec![1_000, 10_000],
            columns: vec![HeatColumn {
                second: 0,
                counts: vec![0, 255],
            }],
        };
        let axis = ChartAxis::linear(0.0, 1.0, 0.0, 10.0);
        let grid = HeatGrid::new(&map, axis).expect("there are rows");
        // log2(1 + 255) = 8, so each doubling of 1 + count is a shade. log2(1 + 2) = 1.6,
        // log2(1 + 5) = 2.6, log2(1 + 100) = 6.7, log2(1 + 200) = 7.7.
        let shades = [2, 5, 100, 200].map(|count| grid.shade(count));
        assert_eq!(shades, [1, 2, 6, 7]);
        // The first row is a power of ten high as the second is, so they meet in the middle.
        let middle = (TOP + HEIGHT - BOTTOM) / 2.0;
        assert_eq!(grid.row_ends(0), (HEIGHT - BOTTOM, middle));
        assert_eq!(grid.row_ends(1), (middle, TOP));
        assert!(HeatGrid::new(&HeatMap::default(), axis).is_none());
    }
}
