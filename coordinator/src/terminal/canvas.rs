//! The part of standard error that is redrawn in place, and the lines that stay above it. There is
//! one for the process, so that a line that is printed does not tear what another thread draws. The
//! terminal is asked for nothing but its size, since one that does not answer would hold up the
//! run.

use rustix::process::{Signal, getpid, kill_process};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, TryLockError};
use tokio::signal::unix::{SignalKind, signal};

/// How many lines are kept while the whole screen is taken, to be written when it is given back.
const SAID_MAX: usize = 1_000;

/// How many of these are shown, at most: the last ones.
const SHOWN_MAX: usize = 100;

/// Takes the alternate screen and hides the cursor, and the reverse (xterm's control sequences).
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// A line for a terminal, with its colours.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct CanvasLine {
    /// Has escape sequences for colours, and no others.
    pub(crate) text: String,
    /// Columns that it takes.
    pub(crate) columns: usize,
}

/// The whole screen, from now until this is dropped or a result is printed.
#[derive(Debug)]
pub(crate) struct FullScreen(());

impl FullScreen {
    /// Takes the screen, before anything is drawn. It is also given back before a panic is
    /// reported, and while the process is stopped. Must be called within a runtime.
    pub(crate) fn enter() -> FullScreen {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                leave_for_panic();
                before(panic);
            }));
        });
        *canvas() = Canvas::FULL;
        write(ENTER);
        tokio::spawn(give_back_when_asked());
        FullScreen(())
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        leave();
    }
}

/// Replaces what is drawn in place; without lines, clears it.
pub(crate) fn draw(lines: Vec<CanvasLine>) {
    let columns = super::columns(&io::stderr());
    match &mut *canvas() {
        Canvas::Inline { drawn, .. } if lines.is_empty() && drawn.is_empty() => {}
        Canvas::Inline { drawn, at } if *drawn == lines && *at == columns => {}
        Canvas::Inline { drawn, at } => {
            write(&redraw(&lines, rows(drawn, columns)));
            (*drawn, *at) = (lines, columns);
        }
        // At the end of a run the screen stays for the next one.
        Canvas::Full { .. } if lines.is_empty() => {}
        Canvas::Full { shown, .. } if *shown == lines => {}
        Canvas::Full { shown, .. } => {
            write(&whole(&lines));
            *shown = lines;
        }
    }
}

/// The last lines that were printed while the whole screen is taken, as many as any screen has room
/// for; `None` while it is not taken.
pub(crate) fn said() -> Option<Vec<String>> {
    match &*canvas() {
        Canvas::Inline { .. } => None,
        Canvas::Full { said, .. } => {
            let first = said.len().saturating_sub(SHOWN_MAX);
            Some(said.range(first..).cloned().collect())
        }
    }
}

/// Writes lines that stay, in place of what is drawn, which is to be drawn again below them. While
/// the whole screen is taken they are kept until it is given back.
pub(super) fn say(lines: &str) {
    match &mut *canvas() {
        Canvas::Inline { drawn, .. } => {
            let up = rows(&std::mem::take(drawn), super::columns(&io::stderr()));
            let erased = if up > 0 {
                redraw(&[], up)
            } else {
                String::new()
            };
            write(&format!("{erased}{lines}\n"));
        }
        Canvas::Full { said, .. } => Canvas::keep(said, lines),
    }
}

/// Gives the whole screen back, if it is taken, and writes what was printed meanwhile.
pub(super) fn leave() {
    canvas().give_back();
}

/// Makes Ctrl-Z and Ctrl-\ do what they usually do, after the screen was given back.
async fn give_back_when_asked() {
    let kinds = [Signal::TSTP, Signal::QUIT].map(|it| signal(SignalKind::from_raw(it.as_raw())));
    // If the system refuses, the screen stays as it is.
    let [Ok(mut stop), Ok(mut quit)] = kinds else {
        return;
    };
    loop {
        tokio::select! {
            Some(()) = stop.recv() => suspend(),
            Some(()) = quit.recv() => {
                leave();
                std::process::abort();
            }
            else => return,
        }
    }
}

/// Stops the process until it is continued.
fn suspend() {
    // Locked until the screen is taken again, so that no other thread draws in between.
    let mut canvas = canvas();
    if matches!(*canvas, Canvas::Full { .. }) {
        write(LEAVE);
    }
    // A process can always stop itself.
    let _ = kill_process(getpid(), Signal::STOP);
    if let Canvas::Full { shown, .. } = &mut *canvas {
        write(ENTER);
        // Makes the next drawing a complete one.
        shown.clear();
    }
}

/// The thread that panics may hold the lock, if it was drawing.
fn leave_for_panic() {
    match CANVAS.try_lock() {
        Ok(mut canvas) => canvas.give_back(),
        Err(TryLockError::Poisoned(canvas)) => canvas.into_inner().give_back(),
        Err(TryLockError::WouldBlock) => write(LEAVE),
    }
}

/// The state of standard error.
enum Canvas {
    /// Lines in place, the cursor below them.
    Inline {
        drawn: Vec<CanvasLine>,
        /// Columns of the terminal when they were drawn.
        at: usize,
    },
    /// The alternate screen.
    Full {
        said: VecDeque<String>,
        shown: Vec<CanvasLine>,
    },
}

impl Canvas {
    const EMPTY: Canvas = Canvas::Inline {
        drawn: Vec::new(),
        at: 0,
    };

    const FULL: Canvas = Canvas::Full {
        said: VecDeque::new(),
        shown: Vec::new(),
    };

    fn give_back(&mut self) {
        if let Some(text) = self.release() {
            write(&text);
        }
    }

    /// Marks the screen as not taken. Returns what is to be written for that; `None` if it was not
    /// taken.
    fn release(&mut self) -> Option<String> {
        let Canvas::Full { said, .. } = self else {
            return None;
        };
        let mut text = LEAVE.to_owned();
        said.iter().for_each(|line| {
            let _ = writeln!(text, "{line}");
        });
        *self = Canvas::EMPTY;
        Some(text)
    }

    /// Keeps lines until the screen is given back, as many as there is room for.
    fn keep(said: &mut VecDeque<String>, lines: &str) {
        said.extend(lines.lines().map(str::to_owned));
        let overdue = said.len().saturating_sub(SAID_MAX);
        said.drain(..overdue);
    }
}

static CANVAS: Mutex<Canvas> = Mutex::new(Canvas::EMPTY);

/// A thread that panicked while drawing has left the state as it was before.
fn canvas() -> MutexGuard<'static, Canvas> {
    CANVAS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many rows the lines take by now: a terminal that was made narrower has wrapped them.
fn rows(drawn: &[CanvasLine], columns: usize) -> usize {
    let rows = |line: &CanvasLine| line.columns.div_ceil(columns.max(1)).max(1);
    drawn.iter().map(rows).sum()
}

/// Replaces the `up` rows above the cursor. Wrapping is off meanwhile: a line that is too long
/// after all would otherwise take two rows, and the next drawing would miss one.
fn redraw(lines: &[CanvasLine], up: usize) -> String {
    let mut text = String::new();
    if up > 0 {
        let _ = write!(text, "\x1b[{up}A");
    }
    text.push_str("\r\x1b[J");
    if !lines.is_empty() {
        text.push_str("\x1b[?7l");
        lines.iter().for_each(|line| {
            let _ = writeln!(text, "{}", line.text);
        });
        text.push_str("\x1b[?7h");
    }
    text
}

/// Replaces the whole screen. Nothing is erased before it is written anew, so nothing flickers.
fn whole(lines: &[CanvasLine]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    let lines = lines.join("\x1b[K\r\n");
    format!("\x1b[H\x1b[?7l{lines}\x1b[K\x1b[J\x1b[?7h")
}

/// Writes in one call, so that nothing flickers. A failure is ignored: there is no one to report it
/// to.
fn write(content: &str) {
    let mut terminal = io::stderr().lock();
    let _ = terminal
        .write_all(content.as_bytes())
        .and_then(|()| terminal.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> CanvasLine {
        CanvasLine {
            text: text.to_owned(),
            columns: text.len(),
        }
    }

    #[test]
    fn redrawing_goes_up_by_what_was_drawn() {
        assert_eq!(redraw(&[line("x")], 0), "\r\x1b[J\x1b[?7lx\n\x1b[?7h");
        assert_eq!(redraw(&[], 3), "\x1b[3A\r\x1b[J");
    }

    #[test]
    fn lines_that_a_narrower_terminal_wrapped_take_more_rows() {
        let drawn = [line(""), line("0123456789"), line("01234567890")];
        assert_eq!(
            [20, 10, 5, 0].map(|columns| rows(&drawn, columns)),
            [3, 4, 6, 22]
        );
    }

    #[test]
    fn screen_is_given_back_once_with_the_last_lines_that_were_said() {
        let mut canvas = Canvas::FULL;
        if let Canvas::Full { said, .. } = &mut canvas {
            (0..=SAID_MAX).for_each(|number| Canvas::keep(said, &format!("{number}\n")));
        }
        let text = canvas.release().unwrap();
        assert!(text.starts_with("\x1b[?25h\x1b[?1049l1\n2\n"), "{text}");
        assert!(text.ends_with("\n1000\n"), "{text}");
        assert_eq!(canvas.release(), None);
    }

    #[test]
    fn whole_screen_is_written_over_and_its_rest_erased() {
        assert_eq!(
            whole(&[line("a"), line("b")]),
            "\x1b[H\x1b[?7la\x1b[K\r\nb\x1b[K\x1b[J\x1b[?7h"
        );
    }
}
