//! A view of a run as cells of a terminal: figures with their course, and the members. Pure;
//! `terminal` writes it.

use super::run_view::RunView;
use super::text;
use super::trend::{Trend, TrendSecond};
use crate::terminal::CanvasLine;
use analysis::LiveMachine;
use analysis::human::time;
use control::{AgentStage, FleetTime, RunStage};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Color, Modifier, Style as CellStyle};
use ratatui::symbols::bar;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Row, Sparkline, SparklineBar, Table, Widget as _};
use report::Style;

/// From this many columns on, members are shown beside the figures.
const WIDE: u16 = 120;

/// Columns of the figures in that case.
const FIGURES: u16 = 80;

/// Columns before the course of a figure.
const LABEL: u16 = 18;

/// Seconds of its course, if the panel is a few lines among others.
const COURSE: usize = 60;

/// Most columns of a member's name.
const NAME_MAX: u16 = 32;

/// An agent or a server whose CPUs are this busy is highlighted.
const BUSY: f64 = 0.9;

/// Bars of a course in ASCII.
const ASCII: bar::Set<'static> = bar::Set {
    full: "#",
    seven_eighths: "#",
    three_quarters: "+",
    five_eighths: "+",
    half: "-",
    three_eighths: "-",
    one_quarter: ".",
    one_eighth: ".",
    empty: " ",
};

const TITLE: CellStyle = CellStyle::new().add_modifier(Modifier::BOLD);
const FAINT: CellStyle = CellStyle::new().add_modifier(Modifier::DIM);
const PLAIN: CellStyle = CellStyle::new();
const COURSE_STYLE: CellStyle = CellStyle::new().fg(Color::Cyan);
const DOUBTFUL: CellStyle = CellStyle::new().fg(Color::Yellow);
const BAD: CellStyle = CellStyle::new().fg(Color::Red).add_modifier(Modifier::BOLD);

/// A view of a run, and the terminal that shows it.
pub(super) struct Panel<'v> {
    pub(super) view: &'v RunView,
    pub(super) trend: &'v Trend,
    pub(super) now: FleetTime,
    pub(super) style: Style,
    /// Rows of the terminal.
    pub(super) rows: usize,
}

/// A row of the figures.
enum PanelRow {
    Words(Line<'static>),
    Course {
        label: String,
        figure: fn(TrendSecond) -> Option<u64>,
    },
}

/// How much room there is.
#[derive(Clone, Copy)]
struct PanelRoom {
    columns: u16,
    /// Most seconds of a figure's course.
    seconds: usize,
    /// Rows of a figure's course.
    course: u16,
    /// Most agents, and most servers, with a row each.
    members: usize,
}

impl Panel<'_> {
    /// Draws a few lines among others; the terminal is not taken.
    pub(super) fn inline(&self) -> Vec<CanvasLine> {
        let columns = cells(self.style.width);
        let room = PanelRoom {
            columns,
            seconds: COURSE,
            course: 1,
            members: if columns < WIDE { 3 } else { 5 },
        };
        let (figures, members) = (self.figures(), self.members(room));
        let height = if columns < WIDE {
            figures.len() + members.len()
        } else {
            figures.len().max(members.len())
        };
        // The cursor is below them, and a line that has scrolled away cannot be replaced.
        let height = cells(height.min(self.rows.saturating_sub(1)));
        let mut buffer = Buffer::empty(Rect::new(0, 0, columns, height));
        self.draw(figures, members, room, &mut buffer);
        painted(&buffer, self.style.colour)
    }

    /// Draws the whole screen, with the last of the printed lines.
    pub(super) fn whole(&self, said: &[String]) -> Vec<CanvasLine> {
        let figures = self.figures();
        let is_course = |row: &&PanelRow| matches!(row, PanelRow::Course { .. });
        let words = figures.len() - figures.iter().filter(is_course).count();
        let course = (self.rows.saturating_sub(words) / 8).clamp(1, 8);
        let columns = cells(self.style.width);
        let room = PanelRoom {
            columns,
            seconds: usize::MAX,
            course: cells(course),
            members: (self.rows / 4).max(1),
        };
        let members = self.members(room);
        // The rate, p50 and p99 have a course each.
        let of_figures = words + 3 * course;
        let used = if columns < WIDE {
            of_figures + members.len()
        } else {
            of_figures.max(members.len())
        };
        let mut buffer = Buffer::empty(Rect::new(0, 0, columns, cells(self.rows)));
        self.draw(figures, members, room, &mut buffer);
        // A row is left free above the printed lines.
        let free = self.rows.saturating_sub(used + 1);
        let said: Vec<String> = said.iter().flat_map(|line| self.broken(line)).collect();
        let said = &said[said.len().saturating_sub(free)..];
        let first = self.rows - said.len();
        for (row, line) in (first..).zip(said) {
            buffer.set_line(0, cells(row), &Line::styled(line, FAINT), columns);
        }
        painted(&buffer, self.style.colour)
    }

    /// Breaks a printed line into as many rows as it needs: a token must be seen whole.
    fn broken(&self, line: &str) -> Vec<String> {
        let characters: Vec<char> = self.style.text(line).chars().collect();
        let rows = characters.chunks(self.style.width.max(1));
        rows.map(|row| row.iter().collect()).collect()
    }

    fn draw(
        &self,
        figures: Vec<PanelRow>,
        members: Vec<Row<'static>>,
        room: PanelRoom,
        buffer: &mut Buffer,
    ) {
        let heights = figures.iter().map(|row| match row {
            PanelRow::Words(_) => 1,
            PanelRow::Course { .. } => room.course,
        });
        // Laid out by hand: ratatui's `Layout` solves inequalities, and this runs four times a
        // second.
        let area = buffer.area;
        let (left, right) = if room.columns < WIDE {
            let height = heights.clone().sum::<u16>().min(area.height);
            let below = Rect::new(0, height, area.width, area.height - height);
            (Rect { height, ..area }, below)
        } else {
            let beside = FIGURES + 2;
            let right = Rect::new(beside, 0, area.width - beside, area.height);
            (
                Rect {
                    width: FIGURES,
                    ..area
                },
                right,
            )
        };
        let mut top = left.y;
        for (row, height) in figures.iter().zip(heights.collect::<Vec<_>>()) {
            let area = Rect::new(left.x, top, left.width, height).intersection(buffer.area);
            self.draw_row(row, area, room, buffer);
            top = top.saturating_add(height);
        }
        let widths = [
            Constraint::Max(NAME_MAX),
            Constraint::Length(13),
            Constraint::Length(9),
            Constraint::Min(0),
        ];
        Table::new(members, widths).render(right, buffer);
    }

    fn draw_row(&self, row: &PanelRow, area: Rect, room: PanelRoom, buffer: &mut Buffer) {
        match row {
            // A terminal that is too low has no room for it.
            _ if area.is_empty() => {}
            PanelRow::Words(line) => line.render(area, buffer),
            PanelRow::Course { label, figure } => {
                let label = Line::raw(self.style.text(label));
                let width = LABEL.min(area.width);
                buffer.set_line(area.x, area.y, &label, width);
                let course = Rect {
                    x: area.x + width,
                    width: area.width - width,
                    ..area
                };
                let seconds = room.seconds.min(usize::from(course.width));
                let values = self.trend.last(seconds, figure);
                let bars = values.into_iter().map(SparklineBar::from);
                Sparkline::default()
                    .data(bars.collect::<Vec<_>>())
                    .style(COURSE_STYLE)
                    .absent_value_symbol(" ")
                    .bar_set(if self.style.unicode {
                        bar::NINE_LEVELS
                    } else {
                        ASCII
                    })
                    .render(course, buffer);
            }
        }
    }

    /// The run, its progress, and its figures.
    fn figures(&self) -> Vec<PanelRow> {
        let (view, title) = (self.view, &self.view.title);
        let after_title = |words: String| vec![self.titled(title, &words)];
        let mut rows = match view.run.stage() {
            RunStage::Gathering => after_title(text::gathering(view)),
            RunStage::Preparing => {
                let mut rows = after_title("preparing".to_owned());
                rows.push(self.words(&text::agents(view, self.now), PLAIN));
                rows
            }
            RunStage::Armed { start_at } => self.firing(start_at),
            RunStage::Over { .. } => after_title("ended".to_owned()),
        };
        if let Some(search) = &view.search {
            rows.push(self.words(search, PLAIN));
        }
        if let Some(trouble) = text::storage(view) {
            rows.push(self.words(&trouble, BAD));
        }
        rows
    }

    fn firing(&self, start: FleetTime) -> Vec<PanelRow> {
        let (view, title) = (self.view, &self.view.title);
        let (share_done, clock) = text::clock(view, start, self.now);
        let width = Span::raw(title).width() + Span::raw(&clock).width() + 4;
        let room = self.style.width.min(usize::from(FIGURES));
        let bar = text::bar(share_done, room.saturating_sub(width), self.style.unicode);
        let agents = text::agents(view, self.now);
        let mut rows = vec![self.titled(title, &format!("{bar}  {clock}"))];
        let Some(live) = &view.live else {
            rows.push(self.words("no figures yet", FAINT));
            rows.push(self.words(&agents, PLAIN));
            return rows;
        };
        let course = |label: String, figure| PanelRow::Course { label, figure };
        let age = text::age(view, live, self.now);
        rows.extend([
            course(
                format!("{}/s{age}", text::count(live.ended_per_second)),
                |second| Some(second.rate),
            ),
            course(format!("p50 {}", text::p50(live)), |second| second.p50_ns),
            course(format!("p99 {}", text::p99(live)), |second| second.p99_ns),
        ]);
        let errors = if live.total_errors > 0 { BAD } else { PLAIN };
        let line = Line::from(vec![
            Span::styled(self.style.text(&text::errors(live)), errors),
            Span::raw(self.style.text(&format!("  {agents}"))),
        ]);
        rows.push(PanelRow::Words(line));
        rows
    }

    fn titled(&self, title: &str, words: &str) -> PanelRow {
        PanelRow::Words(Line::from(vec![
            Span::styled(self.style.text(title), TITLE),
            Span::raw(self.style.text(&format!("  {words}"))),
        ]))
    }

    fn words(&self, words: &str, style: CellStyle) -> PanelRow {
        PanelRow::Words(Line::styled(self.style.text(words), style))
    }

    /// Agents and servers: all of them while they are few, otherwise those that do worst.
    fn members(&self, room: PanelRoom) -> Vec<Row<'static>> {
        // Before figures come, a line of words describes the agents.
        let Some(live) = &self.view.live else {
            return Vec::new();
        };
        let is_over = text::is_over(self.view, self.now);
        let agents = self.view.run.agents().iter().enumerate();
        let agents = agents.map(|(index, agent)| PanelMember {
            name: agent.name(),
            status: text::word(agent, is_over),
            is_amiss: text::is_amiss(agent),
            // Nothing is known of an agent that is done or away.
            machine: if text::is_amiss(agent) || agent.stage() == AgentStage::Ended {
                LiveMachine::default()
            } else {
                live.by_agent.get(index).copied().unwrap_or_default()
            },
        });
        let servers = self.view.run.monitors().enumerate();
        let servers = servers.map(|(index, name)| PanelMember {
            name,
            status: "server",
            is_amiss: false,
            machine: live.monitors.get(index).copied().unwrap_or_default(),
        });
        let agents = worst(agents.collect(), room.members);
        let servers = worst(servers.collect(), room.members);
        let members = agents.iter().chain(&servers);
        members.map(|member| member.row(self.style)).collect()
    }
}

/// An agent or a monitor.
struct PanelMember<'v> {
    name: &'v str,
    status: &'static str,
    /// Whether it is in trouble.
    is_amiss: bool,
    machine: LiveMachine,
}

impl PanelMember<'_> {
    fn busy(&self) -> f64 {
        self.machine.cpu_busy.unwrap_or_default()
    }

    fn row(&self, style: Style) -> Row<'static> {
        let cell = |text: String, look| Cell::from(Line::styled(style.text(&text), look));
        let cpu = self
            .machine
            .cpu_busy
            .map_or_else(String::new, |busy| format!("CPU {:.0} %", busy * 100.0));
        let late = self.machine.late_ns.map_or_else(String::new, |late_ns| {
            format!("late {}", time(late_ns as f64))
        });
        let look = |is_so| if is_so { DOUBTFUL } else { PLAIN };
        Row::new([
            cell(format!("  {}", self.name), PLAIN),
            cell(self.status.to_owned(), look(self.is_amiss)),
            cell(cpu, look(self.busy() >= BUSY)),
            cell(late, PLAIN),
        ])
    }
}

/// All members, or as many as there is room for: those in trouble first, then the busiest.
fn worst(mut members: Vec<PanelMember<'_>>, room: usize) -> Vec<PanelMember<'_>> {
    if members.len() > room {
        members.sort_by(|one, other| {
            let by_busy = || other.busy().total_cmp(&one.busy());
            other.is_amiss.cmp(&one.is_amiss).then_with(by_busy)
        });
        members.truncate(room);
    }
    members
}

/// Converts a number of cells; no terminal has more than fit.
fn cells(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// The rows as they are sent to a terminal, without the blanks at their ends.
fn painted(buffer: &Buffer, colour: bool) -> Vec<CanvasLine> {
    let area = buffer.area;
    (area.top()..area.bottom())
        .map(|row| painted_row(buffer, row, colour))
        .collect()
}

fn painted_row(buffer: &Buffer, row: u16, colour: bool) -> CanvasLine {
    let mut line = CanvasLine::default();
    let (mut column, mut blanks, mut look) = (0, 0, BLANK);
    while let Some(cell) = buffer.cell((column, row)) {
        if cell.symbol() == " " {
            column += 1;
            blanks += 1;
            continue;
        }
        // A character of two columns is in the first of its cells, and the second is blank.
        let width = cells(Span::raw(cell.symbol()).width().max(1));
        column = column.saturating_add(width);
        line.text.push_str(&" ".repeat(std::mem::take(&mut blanks)));
        let other = (cell.fg, cell.modifier);
        if colour && look != other {
            line.text.push_str(&escape(other));
            look = other;
        }
        line.text.push_str(cell.symbol());
        line.columns = usize::from(column);
    }
    if look != BLANK {
        line.text.push_str(&escape(BLANK));
    }
    line
}

/// The look of a cell without a style.
const BLANK: (Color, Modifier) = (Color::Reset, Modifier::empty());

/// Escape codes for the look of the next characters (ECMA-48, 8.3.117).
fn escape((colour, modifier): (Color, Modifier)) -> String {
    let mut codes = String::from("\x1b[0");
    if modifier.contains(Modifier::BOLD) {
        codes.push_str(";1");
    }
    if modifier.contains(Modifier::DIM) {
        codes.push_str(";2");
    }
    codes.push_str(match colour {
        Color::Red => ";31",
        Color::Yellow => ";33",
        Color::Cyan => ";36",
        _ => "",
    });
    codes.push('m');
    codes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::scene::{NOW, facts, firing, take, view};
    use control::RunEvent;
    use std::time::Duration;

    const LOAD: &str = "connections = 1, duration = \"60s\"";

    fn style(width: usize) -> Style {
        Style {
            colour: false,
            width,
            unicode: true,
        }
    }

    fn machine(cpu_busy: f64, late_ns: u64) -> LiveMachine {
        LiveMachine {
            cpu_busy: Some(cpu_busy),
            late_ns: Some(late_ns),
        }
    }

    /// Two agents and a monitor, 15 s after the start.
    fn scene(start: FleetTime) -> (RunView, Trend) {
        let mut view = firing(LOAD, start);
        let monitor = facts("db");
        take(&mut view, &RunEvent::Watching { monitor }, start);
        view.search = Some("search: hold 4 at 1200/s, 1000/s passed".to_owned());
        let mut live = view.live.take().unwrap();
        live.by_agent = vec![machine(0.12, 100_000), machine(0.95, 250_000)];
        live.monitors = vec![LiveMachine {
            cpu_busy: Some(0.8),
            late_ns: None,
        }];
        let mut trend = Trend::default();
        for second in 1..=14 {
            live.second = second;
            live.ended_per_second = u64::from(second) * 100;
            trend.take(&live);
        }
        view.live = Some(live);
        (view, trend)
    }

    fn panel<'v>((view, trend): &'v (RunView, Trend), start: FleetTime, style: Style) -> Panel<'v> {
        Panel {
            view,
            trend,
            now: start.after(Duration::from_secs(15)),
            style,
            rows: 24,
        }
    }

    fn texts(lines: &[CanvasLine]) -> Vec<&str> {
        lines.iter().map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn panel_of_80_columns_has_figures_then_members() {
        let start = NOW;
        let scene = scene(start);
        let lines = panel(&scene, start, style(80)).inline();
        assert_eq!(
            texts(&lines),
            [
                "edge  [██████████····························]  15s of 60s, 45s left",
                "1400/s             ▁▁▂▂▃▄▄▅▅▆▆▇█",
                "p50 1.20 ms       ██████████████",
                "p99 ≥ 30.0 s      ██████████████",
                "errors 5 (1.00 %)  agents: 2 firing",
                "search: hold 4 at 1200/s, 1000/s passed",
                "  a                              firing        CPU 12 %  late 100 µs",
                "  b                              firing        CPU 95 %  late 250 µs",
                "  db                             server        CPU 80 %",
            ]
        );
    }

    #[test]
    fn panel_of_200_columns_has_members_beside_the_figures() {
        let start = NOW;
        let scene = scene(start);
        let lines = panel(&scene, start, style(200)).inline();
        let lines = texts(&lines);
        assert_eq!(lines.len(), 6, "{lines:#?}");
        assert!(lines[0].contains("45s left") && lines[0].ends_with("late 100 µs"));
        let whole = panel(&scene, start, style(200)).whole(&["said".to_owned()]);
        let whole = texts(&whole);
        assert_eq!((whole.len(), whole[23]), (24, "said"), "{whole:#?}");
        assert!(whole[1].starts_with("1400/s"), "{whole:#?}");
        assert!(whole[2].ends_with("CPU 80 %"), "{whole:#?}");
    }

    #[test]
    fn panel_is_as_wide_and_high_as_the_terminal_at_most() {
        let start = NOW;
        let scene = scene(start);
        for (columns, rows) in [(40, 24), (20, 5), (1, 2), (119, 1), (120, 3), (300, 100)] {
            let panel = Panel {
                rows,
                ..panel(&scene, start, style(columns))
            };
            let said = vec!["x".repeat(500); 40];
            let inline = panel.inline();
            let whole = panel.whole(&said);
            assert!(inline.len() < rows.max(1), "{columns}x{rows}");
            assert_eq!(whole.len(), rows);
            for line in inline.iter().chain(&whole) {
                assert!(line.columns <= columns, "{columns}x{rows}: {line:?}");
                assert_eq!(line.text.chars().count(), line.columns);
            }
        }
        let narrow = panel(&scene, start, style(40)).inline();
        let narrow = texts(&narrow);
        assert!(narrow[0].ends_with("15s of 60s, 45s left"), "{narrow:#?}");
        assert!(
            narrow[2].starts_with("p50 1.20 ms       ███"),
            "{narrow:#?}"
        );
    }

    #[test]
    fn names_move_no_cursor_and_ascii_stays_ascii() {
        let start = NOW;
        let mut scene = scene(start);
        for monitor in ["a\x1b[2J\u{9b}2J", "宽宽"].map(facts) {
            take(&mut scene.0, &RunEvent::Watching { monitor }, start);
        }
        scene.0.title = "\x1b]0;x\x07".to_owned();
        for unicode in [true, false] {
            let style = Style {
                unicode,
                ..style(80)
            };
            let lines = panel(&scene, start, style).inline();
            let all = texts(&lines).join("\n");
            assert!(!all.chars().any(|c| c.is_control() && c != '\n'), "{all}");
            assert!(all.contains("a?[2J?2J"), "{all}");
            assert_eq!(all.contains("宽宽"), unicode, "{all}");
            assert_eq!(!all.is_ascii(), unicode, "{all}");
        }
    }

    #[test]
    fn colour_says_what_stands_out_and_is_left_out_where_it_is_not_wanted() {
        let start = NOW;
        let scene = scene(start);
        let colour = Style {
            colour: true,
            ..style(80)
        };
        let lines = panel(&scene, start, colour).inline();
        let lines = texts(&lines);
        assert!(lines[0].starts_with("\x1b[0;1medge  \x1b[0m"), "{lines:#?}");
        assert!(lines[4].starts_with("\x1b[0;1;31merrors"), "{lines:#?}");
        assert!(
            lines[7].contains("\x1b[0;33mCPU 95 %  \x1b[0mlate"),
            "{lines:#?}"
        );
    }

    #[test]
    fn of_many_agents_those_that_do_worst_are_shown() {
        let start = NOW;
        let (mut view, trend) = scene(start);
        let agents = ["a", "b", "c", "d", "e"].map(facts).to_vec();
        take(&mut view, &RunEvent::Assembled { agents }, start);
        let start_in = Duration::ZERO;
        let start_at = control::FleetTime(0);
        take(&mut view, &RunEvent::Armed { start_at, start_in }, start);
        let why = "reset".to_owned();
        take(&mut view, &RunEvent::Gone { agent: 3, why }, start);
        let busy = [0.1, 0.5, 0.9, 0.0, 0.2];
        view.live.as_mut().unwrap().by_agent = busy.map(|busy| machine(busy, 0)).to_vec();
        let scene = (view, trend);
        let lines = panel(&scene, start, style(80)).inline();
        let names = lines[6..]
            .iter()
            .filter_map(|line| line.text.split_whitespace().next());
        assert_eq!(names.collect::<Vec<_>>(), ["d", "c", "b", "db"]);
        assert!(lines[6].text.ends_with("away"), "{lines:#?}");
    }

    #[test]
    fn before_the_start_and_after_the_end_there_is_a_line() {
        let now = NOW;
        let mut view = view(LOAD);
        let trend = Trend::default();
        let shown = |view: &RunView| {
            let panel = Panel {
                view,
                trend: &trend,
                now,
                style: style(60),
                rows: 24,
            };
            panel.inline()
        };
        assert_eq!(
            texts(&shown(&view)),
            ["edge  waiting for 2 agents (none has joined); each `agent jo"]
        );
        let outcome = control::RunOutcome::Ran;
        take(&mut view, &RunEvent::Done { outcome }, now);
        assert_eq!(texts(&shown(&view)), ["edge  ended"]);
    }
}
