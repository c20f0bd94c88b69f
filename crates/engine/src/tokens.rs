//! The tokens that requests carry, and how the workers get a new one: without waiting for a lock.
//! Others fetch them.

use crate::clock::monotonic_ns;
use arc_swap::ArcSwap;
use measure::{TokenTallies, TokenTally};
use plan::Plan;
use secret::Secret;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Stands for an instant that does not come.
const NEVER: u64 = u64::MAX;

/// The tokens of a run: one for each credential that has its token fetched. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Tokens(Arc<[Arc<TokenShelf>]>);

/// Where the token of a credential is put for the workers, and what became of it is counted.
#[derive(Debug)]
pub struct TokenShelf {
    /// The credential's name.
    name: String,
    token: ArcSwap<RunToken>,
    /// Counts that have not been taken yet.
    fetched: AtomicU64,
    not_fetched: AtomicU64,
    ran_out: AtomicU64,
    /// When it first ran out since the counts were taken.
    first_ran_out: AtomicU64,
}

/// A token, as requests have it.
#[derive(Debug)]
pub(crate) struct RunToken {
    pub(crate) text: Secret<String>,
    /// The first nanosecond of the monotonic clock at which it is of no use.
    expires_at: u64,
    /// Whether its expiry was counted.
    is_noted: AtomicBool,
}

impl Tokens {
    /// The tokens that requests of `plan` carry; none has been fetched yet.
    pub(crate) fn new(plan: &Plan) -> Tokens {
        let shelf = |(name, _): (&str, _)| Arc::new(TokenShelf::new(name));
        Tokens(plan.token_requests().map(shelf).collect())
    }

    /// Where the token of each credential is put, in the order of [`Plan::token_requests`].
    pub fn shelves(&self) -> impl Iterator<Item = &Arc<TokenShelf>> {
        self.0.iter()
    }

    /// Moves what became of them into `tallies`, in a run that started at `start_at`.
    pub(crate) fn drain_into(&self, start_at: u64, tallies: &mut TokenTallies) {
        let now = monotonic_ns();
        for (place, shelf) in (0..).zip(self.shelves()) {
            tallies.add(place, &shelf.take_tally(start_at, now));
        }
    }
}

impl TokenShelf {
    fn new(name: &str) -> TokenShelf {
        TokenShelf {
            name: name.to_owned(),
            token: ArcSwap::default(),
            fetched: AtomicU64::new(0),
            not_fetched: AtomicU64::new(0),
            ran_out: AtomicU64::new(0),
            first_ran_out: AtomicU64::new(NEVER),
        }
    }

    /// Puts a new token there, which lasts until `expires_at` (monotonic clock, nanoseconds) or for
    /// ever: requests whose bytes are written from now on have it.
    pub fn put(&self, text: Secret<String>, expires_at: Option<u64>) {
        let before = self.token.swap(Arc::new(RunToken {
            text,
            expires_at: expires_at.unwrap_or(NEVER),
            is_noted: AtomicBool::new(false),
        }));
        self.note_expiry(&before, monotonic_ns());
    }

    /// Counts a token that was fetched.
    pub fn count_fetched(&self) {
        self.fetched.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a token that was asked for and did not come.
    pub fn count_not_fetched(&self) {
        self.not_fetched.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts that the token has expired without a new one, if it has by `now`; once for each.
    fn note_expiry(&self, token: &RunToken, now: u64) {
        if token.has_expired(|| now) && !token.is_noted.swap(true, Ordering::Relaxed) {
            self.ran_out.fetch_add(1, Ordering::Relaxed);
            self.first_ran_out
                .fetch_min(token.expires_at, Ordering::Relaxed);
        }
    }

    /// Whether no token was put here yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.token.load().text.reveal().is_empty()
    }

    /// The credential's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The token for a request whose bytes are written now.
    pub(crate) fn load(&self) -> arc_swap::Guard<Arc<RunToken>> {
        self.token.load()
    }

    /// Takes what was counted since the last time, in a run that started at `start_at`.
    fn take_tally(&self, start_at: u64, now: u64) -> TokenTally {
        self.note_expiry(&self.token.load(), now);
        let take = |count: &AtomicU64| count.swap(0, Ordering::Relaxed);
        let first = self.first_ran_out.swap(NEVER, Ordering::Relaxed);
        TokenTally {
            fetched: take(&self.fetched),
            not_fetched: take(&self.not_fetched),
            ran_out: take(&self.ran_out),
            first_ran_out_ns: (first != NEVER).then(|| first.saturating_sub(start_at)),
            ..TokenTally::default()
        }
    }
}

impl Default for RunToken {
    fn default() -> RunToken {
        RunToken {
            text: Secret::default(),
            expires_at: NEVER,
            is_noted: AtomicBool::new(false),
        }
    }
}

impl RunToken {
    /// Whether it is of no use any more. `now` (monotonic clock, nanoseconds) is asked only if it
    /// ends at all.
    #[inline]
    pub(crate) fn has_expired(&self, now: impl FnOnce() -> u64) -> bool {
        self.expires_at != NEVER && now() >= self.expires_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_taken_once_and_instants_are_of_the_run() {
        let shelf = TokenShelf::new("api");
        shelf.count_fetched();
        shelf.count_not_fetched();
        for expires_at in [Some(900), Some(700), Some(800), None] {
            shelf.put(Secret::default(), expires_at);
        }
        let tally = TokenTally {
            fetched: 1,
            not_fetched: 1,
            ran_out: 3,
            first_ran_out_ns: Some(200),
            ..TokenTally::default()
        };
        assert_eq!(shelf.take_tally(500, 1_000), tally);
        assert_eq!(shelf.take_tally(500, 1_000), TokenTally::default());
        shelf.put(Secret::default(), Some(u64::MAX - 1));
        assert_eq!(shelf.take_tally(500, 1_000), TokenTally::default());
        shelf.put(Secret::default(), Some(300));
        assert_eq!(shelf.take_tally(500, 299), TokenTally::default());
        let late = shelf.take_tally(500, 300);
        assert_eq!((late.ran_out, late.first_ran_out_ns), (1, Some(0)));
        assert_eq!(shelf.take_tally(500, 300), TokenTally::default());
    }

    #[test]
    fn token_expires_at_its_instant_and_the_clock_is_asked_only_if_it_does() {
        let shelf = TokenShelf::new("api");
        shelf.put(Secret::new("one".to_owned()), Some(100));
        assert!(!shelf.load().has_expired(|| 99));
        assert!(shelf.load().has_expired(|| 100));
        shelf.put(Secret::new("two".to_owned()), None);
        let unasked = || -> u64 { unreachable!("the token lasts for ever") };
        assert!(!shelf.load().has_expired(unasked));
    }
}
