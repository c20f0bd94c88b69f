//! What the agent says on standard error while it stays.

use control::{EndCause, News};

/// Says it in a line of its own.
pub(crate) fn tell(news: News) {
    eprintln!("agent: {}", words(&news));
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
