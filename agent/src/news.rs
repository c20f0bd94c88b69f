//! The agent's messages on standard error while it stays. The agent goes on even if they are not
//! read or cannot be written.

use crate::service_manager;
use control::{EndCause, News};
use measure::is_unprintable;
use std::fmt::Display;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::time::Duration;

/// Lines that can wait to be written. A run needs a handful.
const LINES_MAX: usize = 1_024;
/// How long the end waits for lines that are not read.
const LAST_WORDS_MAX: Duration = Duration::from_secs(1);

/// Writes lines on a thread of its own: a terminal that is held (Ctrl-S), or a pipe that is not
/// read, blocks the thread that writes to it.
pub(crate) struct NewsWriter {
    lines: SyncSender<String>,
    /// Lines for which there was no room since the last one that was taken.
    dropped: u64,
    /// Closed when everything is written.
    written: Receiver<()>,
}

impl NewsWriter {
    /// # Errors
    /// If the thread cannot be started.
    pub(crate) fn start(mut out: impl Write + Send + 'static) -> io::Result<NewsWriter> {
        let (lines, waiting) = sync_channel::<String>(LINES_MAX);
        let (writing, written) = channel();
        let write = move || {
            let _until_the_end = writing;
            for line in waiting {
                // A failure cannot be reported anywhere: the reader has seen enough, the terminal
                // was closed, or the disk is full. One call per line, so that lines of several
                // agents on one terminal stay apart.
                let _ = out.write_all(line.as_bytes());
                service_manager::show(&line);
            }
        };
        // Not joined, because it may wait for a reader forever.
        std::thread::Builder::new()
            .name("news".into())
            .spawn(write)?;
        Ok(NewsWriter {
            lines,
            dropped: 0,
            written,
        })
    }

    /// Writes the news as a line, if there is room.
    pub(crate) fn tell(&mut self, news: &News) {
        self.say(words(news));
    }

    pub(crate) fn say(&mut self, told: impl Display) {
        let mut text = line(told);
        if self.dropped > 0 {
            let dropped = format!(
                "{} lines are missing here: they were not read in time",
                self.dropped
            );
            text = line(dropped) + &text;
        }
        match self.lines.try_send(text) {
            Err(TrySendError::Full(_)) => self.dropped += 1,
            Ok(()) | Err(TrySendError::Disconnected(_)) => self.dropped = 0,
        }
    }

    /// Waits a moment for the lines that are not written yet.
    pub(crate) fn end(self) {
        drop(self.lines);
        // Nothing is ever sent: the channel closes when the thread ends.
        let _ = self.written.recv_timeout(LAST_WORDS_MAX);
    }
}

/// Writes a line to standard error, unless that is not read.
pub fn say(told: impl Display) {
    // A machine that cannot start a thread does without the line.
    if let Ok(mut writer) = NewsWriter::start(io::stderr()) {
        writer.say(told);
        writer.end();
    }
}

/// Makes a line safe to print: names and reasons come from other machines, and their control
/// characters could move the cursor.
fn line(told: impl Display) -> String {
    let is_unsafe = |c: char| is_unprintable(c) && !matches!(c, '\n' | '\t');
    let told = told.to_string().replace(is_unsafe, "?");
    format!("agent: {told}\n")
}

fn words(news: &News) -> String {
    match news {
        News::Joined {
            coordinator_version,
        } => format!("joined (coordinator {coordinator_version}); waiting for a run"),
        News::Away { why } => format!("not joined: {why}; trying again"),
        News::RunOver => "run over, waiting for the next".to_owned(),
        News::Notice(text) => text.clone(),
        News::Preparing { run_name } => format!("{run_name}: preparing"),
        News::CannotRun { run_name, problem } => format!("{run_name}: cannot run: {problem}"),
        News::Watching { run_name } => format!("{run_name}: watching this machine"),
        News::Starting { run_name } => format!("{run_name}: starting"),
        News::LeaseExpired { run_name } => {
            format!(
                "{run_name}: the coordinator was not heard for longer than the lease: nothing is \
                 sent any more, the data is kept"
            )
        }
        News::Ended { run_name, cause } => format!("{run_name}: ended ({})", cause_words(cause)),
        News::Released {
            run_name,
            dropped_intervals: 0,
        } => format!("{run_name}: everything is delivered; waiting for a run"),
        News::Released {
            run_name,
            dropped_intervals,
        } => {
            format!(
                "{run_name}: {dropped_intervals} seconds of data were not wanted any more and are \
                 dropped; waiting for a run"
            )
        }
        News::MissedStart { run_name } => format!(
            "{run_name}: the start instant came before a lease did; the link to the coordinator \
             is slow or was cut; waiting for another instant"
        ),
        News::Outranked {
            run_name,
            epoch,
            obeyed,
        } => format!(
            "{run_name}: this coordinator has no say over it any more: another one took it up \
             later (epoch {obeyed}, this one is of {epoch}); its data is kept for that one"
        ),
        News::Holding {
            run_name,
            intervals,
            left,
        } => format!(
            "{run_name}: {intervals} seconds of data are kept for its own coordinator, for {} s \
             more; this one does not know the run",
            left.as_secs()
        ),
        News::Dropped {
            run_name,
            intervals,
            kept,
        } => format!(
            "{run_name}: {intervals} seconds of data and the sum of the run are lost: its \
             coordinator did not take them within {} s",
            kept.as_secs()
        ),
        News::CannotSpool { why } => format!(
            "data that waits for the coordinator has no place but memory: {why}; when that is \
             full, the load stops"
        ),
    }
}

fn cause_words(cause: &EndCause) -> String {
    match cause {
        EndCause::Plan => "all of the plan is done".to_owned(),
        EndCause::Stopped => "stopped".to_owned(),
        EndCause::LeaseExpired => "lease expired".to_owned(),
        EndCause::Failed(why) => format!("failed: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{LINES_MAX, NewsWriter, line};
    use std::fs::File;
    use std::io::{BufRead as _, BufReader, Read as _};

    #[test]
    fn what_cannot_be_written_is_not_said_and_nothing_breaks() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        for mut news in [NewsWriter::start(full), NewsWriter::start(writer)]
            .into_iter()
            .flatten()
        {
            news.say("x");
            news.end();
        }
    }

    #[test]
    fn pipe_that_nobody_reads_stops_nobody_and_what_it_missed_is_counted() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut news = NewsWriter::start(writer).unwrap();
        // More than a pipe and the queue hold: 64 KiB, and LINES_MAX lines of 1 KB.
        let all = 4 * LINES_MAX;
        for number in 0..all {
            news.say(format_args!("{number:01000}"));
        }
        let dropped = usize::try_from(news.dropped).unwrap();
        assert!(dropped > LINES_MAX, "{dropped}");
        let mut first = [0; 1008];
        reader.read_exact(&mut first).unwrap();
        let (seen, on) = std::sync::mpsc::channel();
        let reading = std::thread::spawn(move || {
            let (mut reader, mut rest) = (BufReader::new(reader), String::new());
            while reader.read_line(&mut rest).unwrap() > 0 {
                if rest.ends_with("agent: on\n") {
                    let _ = seen.send(());
                }
            }
            rest
        });
        // There is room once the reader has come this far.
        while news.dropped > 0 {
            std::thread::yield_now();
            news.say("on");
        }
        // The end waits for a moment only, and the reader may have no CPU then.
        on.recv().unwrap();
        news.end();
        let rest = reading.join().unwrap();
        let missing = rest.lines().find(|line| line.contains("missing")).unwrap();
        let counted: usize = missing.split(' ').nth(1).unwrap().parse().unwrap();
        let said = rest.lines().filter(|line| line.contains("000")).count();
        assert_eq!(said + 1 + dropped, all);
        assert!(counted >= dropped, "{missing}");
        assert!(rest.ends_with("agent: on\n"), "it goes on");
    }

    #[test]
    fn end_does_not_wait_for_a_reader_that_never_comes() {
        let (_reader, writer) = std::io::pipe().unwrap();
        let mut news = NewsWriter::start(writer).unwrap();
        for _ in 0..200 {
            news.say("x".repeat(1_000));
        }
        news.end();
    }

    #[test]
    fn line_of_another_machine_moves_no_cursor() {
        assert_eq!(line("a\x1b[2J\rb\u{202e}c"), "agent: a?[2J?b?c\n");
    }
}
