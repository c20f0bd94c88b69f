//! When a session ends by itself: it has waited for a coordinator for too long, or has served the
//! one coordinator it is for.

use super::{Link, Session};
use crate::{EndCause, Finality, Mono, News, SessionAction};
use std::time::Duration;

/// How long an agent stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stay {
    /// Whether it ends after the runs of one coordinator, and reports whether its part in them was
    /// complete.
    pub is_for_one_coordinator: bool,
    /// How long it waits for a coordinator while it holds no run; `None` for as long as it takes.
    pub absence_max: Option<Duration>,
}

/// What decides when a session ends.
#[derive(Debug, Default)]
pub(super) struct Leaving {
    stay: Stay,
    /// Since when there is no coordinator, while no run is held.
    absent_since: Option<Mono>,
    has_served: bool,
    /// The first thing that kept it from firing and delivering its part.
    failure: Option<String>,
}

impl Leaving {
    pub(super) fn new(stay: Stay) -> Leaving {
        Leaving {
            stay,
            ..Leaving::default()
        }
    }

    pub(super) fn note(&mut self, news: &News) {
        match news {
            News::Released { .. } | News::Watching { .. } => self.has_served = true,
            _ => {}
        }
        let failure = failure(news);
        self.failure = self.failure.take().or(failure);
    }

    /// When the wait for a coordinator ends.
    pub(super) fn absence_ends_at(&self) -> Option<Mono> {
        Some(self.absent_since?.after(self.stay.absence_max?))
    }

    /// Whether it ends when its coordinator does.
    pub(super) fn is_due(&self) -> bool {
        self.stay.is_for_one_coordinator && self.has_served
    }

    fn outcome(&self) -> Option<String> {
        let unserved = (!self.has_served)
            .then(|| "the coordinator has ended, and this agent began no run of it".to_owned());
        self.failure.clone().or(unserved)
    }
}

/// What went wrong with the agent's part, if the news says so.
fn failure(news: &News) -> Option<String> {
    match news {
        News::CannotRun { run_name, problem } => Some(format!("{run_name}: {problem}")),
        News::LeaseExpired { run_name } => Some(format!(
            "{run_name}: the coordinator was not heard for longer than the lease"
        )),
        News::Ended {
            run_name,
            cause: EndCause::Failed(why),
        } => Some(format!("{run_name}: {why}")),
        News::Dropped {
            run_name,
            intervals,
            ..
        } => Some(format!(
            "{run_name}: {intervals} seconds of data were not delivered"
        )),
        _ => None,
    }
}

impl Session {
    /// Sets when the session ends by itself.
    #[must_use]
    pub fn with_stay(mut self, stay: Stay) -> Session {
        self.leaving = Leaving::new(stay);
        self
    }

    /// Ends the session, if its coordinator has gone with the stream, and with it the reason to
    /// stay.
    pub(super) fn leave_after(&mut self, finality: Finality) {
        // A stream that broke may only be cut: the coordinator may still be there.
        let has_gone = match finality {
            Finality::Ended => self.coordinator.is_some(),
            Finality::Nobody => self.leaving.has_served,
            Finality::Retry | Finality::Final => false,
        };
        if self.leaving.stay.is_for_one_coordinator && has_gone && !self.holds_run() {
            let outcome = self.leaving.outcome();
            self.out.push(SessionAction::Quit(outcome));
        }
    }

    /// Gives up if no coordinator came for too long.
    pub(super) fn leave_if_alone(&mut self, now: Mono) {
        if self.link == Link::Joined || self.holds_run() {
            self.leaving.absent_since = None;
            return;
        }
        self.leaving.absent_since.get_or_insert(now);
        if self.leaving.absence_ends_at().is_some_and(|at| now >= at) {
            let seconds = self.leaving.stay.absence_max.unwrap_or_default().as_secs();
            let last = self.said_away.as_deref().unwrap_or("it does not answer");
            let why = format!("no coordinator for {seconds} s (--wait): {last}");
            let failure = self.leaving.failure.take().unwrap_or(why);
            self.out.push(SessionAction::Quit(Some(failure)));
        }
    }
}
