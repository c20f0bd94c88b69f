//! The terminals at standard output and standard error: what they can show, and how to write to
//! them without failing on a closed pipe.

mod canvas;

pub(crate) use canvas::{CanvasLine, FullScreen, draw, said};

use measure::is_unprintable;
use report::Style;
use rustix::fs::{FileType, Stat, fstat};
use rustix::io::Errno;
use rustix::termios::tcgetwinsize;
use std::io::{self, IsTerminal as _, Write as _};

/// Columns and rows if the terminal does not report them.
const COLUMNS: usize = 80;
const ROWS: usize = 24;

/// The style that standard output can show. A pipe or a file gets no colour, and the width of
/// `COLUMNS`.
#[must_use]
pub fn output_style() -> Style {
    if !io::stdout().is_terminal() {
        return Style {
            width: columns(&io::stdout()),
            ..Style::PLAIN
        };
    }
    Style {
        colour: has_colour(),
        width: columns(&io::stdout()),
        unicode: has_unicode(),
    }
}

/// The style that standard error can show; `None` if lines cannot be redrawn in place.
#[must_use]
pub fn live_style() -> Option<Style> {
    let is_live = io::stderr().is_terminal() && !is_dumb();
    is_live.then(|| Style {
        colour: has_colour(),
        width: columns(&io::stderr()),
        unicode: has_unicode(),
    })
}

/// Whether a person may read standard error.
pub(crate) fn has_reader() -> bool {
    io::stderr().is_terminal()
}

/// Whether a person may see the run and end it; otherwise no wait may be endless.
pub(crate) fn is_watched() -> bool {
    io::stderr().is_terminal() || io::stdout().is_terminal()
}

/// Rows of the terminal at standard error.
pub(crate) fn live_rows() -> usize {
    let rows = tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_row));
    if rows == 0 { ROWS } else { rows }
}

/// Writes all of `text` to standard output. The reader may have seen enough: a closed pipe is no
/// error, nor is a terminal that is gone. If the whole screen is taken, it is given back first.
///
/// # Errors
/// Any other reason why it cannot be written, such as a full disk.
pub fn print(text: &str) -> io::Result<()> {
    canvas::leave();
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) if is_of_gone_terminal(&error) => Ok(()),
        written => written,
    }
}

/// A terminal that was hung up answers everything with EIO (termios(3)), even the question whether
/// it is a terminal. A disk that fails does so too, but is no character device.
fn is_of_gone_terminal(error: &io::Error) -> bool {
    let is_device = |stat: Stat| FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice;
    error.raw_os_error() == Some(Errno::IO.raw_os_error())
        && fstat(io::stdout()).is_ok_and(is_device)
}

/// Writes a text made by `report`, whose escapes are its own, to standard error, as [`print()`]
/// does. A failure is ignored: there is no one to report it to.
pub fn show(text: &str) {
    canvas::leave();
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes one or more lines to standard error. A failure is ignored: there is no one to report it
/// to. Names and messages come from other machines, so control characters are replaced: they could
/// move the cursor.
pub fn say(line: impl std::fmt::Display) {
    let is_unsafe = |c: char| is_unprintable(c) && !matches!(c, '\n' | '\t');
    canvas::say(&line.to_string().replace(is_unsafe, "?"));
}

/// Like [`say`], in lines that fit the terminal. A word that is wider, such as a path, stays whole,
/// so that it can be copied.
pub fn say_wrapped(sentence: &str) {
    match live_style() {
        Some(style) => say(wrap(sentence, style.width)),
        None => say(sentence),
    }
}

fn wrap(sentence: &str, columns: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in sentence.split(' ') {
        let width = |text: &str| text.chars().count();
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// Like [`say`], unless only problems are to be reported.
pub fn say_unless(quiet: bool, line: impl std::fmt::Display) {
    if !quiet {
        say(line);
    }
}

/// Whether colour is wanted; see <https://no-color.org>.
fn has_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && !is_dumb()
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term == "dumb")
}

/// The first variable that is set and not empty counts (POSIX.1-2017, 8.2).
fn has_unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok());
    let locale = locale
        .filter(|value| !value.is_empty())
        .map(|value| value.to_ascii_lowercase())
        .next();
    locale.is_some_and(|locale| locale.contains("utf-8") || locale.contains("utf8"))
}

fn columns(terminal: &impl std::os::fd::AsFd) -> usize {
    let said = tcgetwinsize(terminal).map_or(0, |size| usize::from(size.ws_col));
    Some(said)
        .filter(|&columns| columns > 0)
        .or_else(|| columns_in(&std::env::var("COLUMNS").ok()?))
        .unwrap_or(COLUMNS)
}

/// The value of `COLUMNS` (POSIX.1-2017, 8.3), if it is a width.
fn columns_in(text: &str) -> Option<usize> {
    text.parse().ok().filter(|&columns| columns > 0)
}

#[cfg(test)]
mod tests {
    use super::{columns_in, wrap};

    #[test]
    fn width_is_a_number_above_0() {
        for (text, columns) in [("132", Some(132)), ("0", None), ("", None), ("x", None)] {
            assert_eq!(columns_in(text), columns, "{text}");
        }
    }

    #[test]
    fn sentence_is_broken_at_spaces_and_a_path_stays_whole() {
        let sentence = "load met · exit 0 · saved in runs/20261122T205644Z-plan";
        for (columns, lines) in [
            (80, &[sentence][..]),
            (
                20,
                &[
                    "load met · exit 0 ·",
                    "saved in",
                    "runs/20261122T205644Z-plan",
                ],
            ),
        ] {
            assert_eq!(wrap(sentence, columns), lines.join("\n"));
        }
    }
}
