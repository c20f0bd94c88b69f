//! What a job tells while it goes on. Who listens decides how it is shown.

use super::final_result::FinalResult;
use crate::progress::RunView;
use control::Token;
use std::net::SocketAddr;

/// Watches a job.
pub(crate) trait JobObserver {
    /// Takes what the job tells.
    fn tell(&self, news: JobNews<'_>);

    /// Takes a line that says how far the job is.
    fn say(&self, line: String) {
        self.tell(JobNews::Said(line));
    }

    /// Whether a person may see the job and end it; otherwise no wait may be endless.
    fn is_watched(&self) -> bool;
}

/// What a job tells.
#[derive(Debug)]
pub(crate) enum JobNews<'a> {
    /// Agents can join here.
    Listening {
        address: SocketAddr,
        token: &'a Token,
    },
    /// How far the job is, in words.
    Said(String),
    /// A problem or an address, in words; not left out for a user who wants little to be said.
    Warned(String),
    /// A run is shown from now on.
    RunBegan,
    /// How the run goes.
    RunGoes(Box<RunView>),
    /// The run is no longer shown.
    RunEnded,
    /// What the job leaves. Its agents are let go after this.
    Result(Box<FinalResult>),
}
