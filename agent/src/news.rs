//! What the agent says on standard error while it stays. It goes on where nobody reads that.

use control::{EndCause, News};
use std::fmt::Display;
use std::io::Write;

/// Says it in a line of its own.
pub(crate) fn tell(news: &News) {
    say(words(news));
}

/// Writes a line to standard error; there is nobody to tell where that fails: a reader that has
/// seen enough, a terminal that was closed, a full disk.
pub fn say(line: impl Display) {
    write_line(std::io::stderr().lock(), line);
}

/// Names and reasons come from other machines, and control characters could move the cursor.
fn write_line(mut out: impl Write, line: impl Display) {
    let is_unsafe = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    let line = line.to_string().replace(is_unsafe, "?");
    // In one call, so that lines of several agents on one terminal stay apart.
    let _ = out.write_all(format!("agent: {line}\n").as_bytes());
}

fn words(news: &News) -> String {
    match news {
        News::Joined {
            coordinator_version,
        } => format!("joined (coordinator {coordinator_version}); waiting for a run"),
        News::Away { why } => format!("not joined: {why}; trying again"),
        News::Notice(text) => text.clone(),
        News::Preparing { run_name } => format!("{run_name}: preparing"),
        News::CannotRun { run_name, problem } => format!("{run_name}: cannot run: {problem}"),
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
    use super::write_line;
    use std::fs::File;

    #[test]
    fn what_cannot_be_written_is_not_said_and_nothing_breaks() {
        write_line(File::options().write(true).open("/dev/full").unwrap(), "x");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        write_line(writer, "x");
    }

    #[test]
    fn line_of_another_machine_moves_no_cursor() {
        let mut said = Vec::new();
        write_line(&mut said, "a\x1b[2J\rb");
        assert_eq!(said, b"agent: a?[2J?b\n");
    }
}
