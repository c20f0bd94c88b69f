//! The tokens that requests carry, and how the workers get a new one: without waiting for a lock.
//! Others fetch them.

use arc_swap::ArcSwap;
use plan::Plan;
use secret::Secret;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The tokens of a run: one for each credential that has its token fetched. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Tokens(Arc<[Arc<TokenShelf>]>);

/// Where the token of a credential is put for the workers.
#[derive(Debug)]
pub struct TokenShelf {
    /// The credential's name.
    name: String,
    token: ArcSwap<RunToken>,
    /// Requests that had an expired token.
    sent_expired: AtomicU64,
}

#[derive(Debug, Default)]
struct RunToken {
    text: Secret<String>,
    has_expired: bool,
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

    /// Where the token of the credential with this name is.
    pub(crate) fn shelf(&self, name: &str) -> Option<&Arc<TokenShelf>> {
        self.shelves().find(|shelf| shelf.name == name)
    }
}

impl TokenShelf {
    fn new(name: &str) -> TokenShelf {
        TokenShelf {
            name: name.to_owned(),
            token: ArcSwap::default(),
            sent_expired: AtomicU64::new(0),
        }
    }

    /// Puts a new token there: requests whose bytes are written from now on have it.
    pub fn put(&self, text: Secret<String>) {
        self.token.store(Arc::new(RunToken {
            text,
            has_expired: false,
        }));
    }

    /// Notes that the token has expired. Requests go on to have it until there is a new one, and
    /// are counted.
    pub fn expire(&self) {
        let text = self.token.load().text.clone();
        self.token.store(Arc::new(RunToken {
            text,
            has_expired: true,
        }));
    }

    /// How many requests had an expired token so far.
    #[must_use]
    pub fn sent_expired(&self) -> u64 {
        self.sent_expired.load(Ordering::Relaxed)
    }

    /// Appends the token to `out`, as part of a request.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let token = self.token.load();
        out.extend_from_slice(token.text.reveal().as_bytes());
        if token.has_expired {
            self.sent_expired.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(shelf: &TokenShelf) -> String {
        let mut out = Vec::new();
        shelf.write(&mut out);
        String::from_utf8(out).expect("a token of ASCII")
    }

    #[test]
    fn new_token_is_in_the_next_request_and_expired_ones_are_counted() {
        let shelf = TokenShelf::new("api");
        shelf.put(Secret::new("one".to_owned()));
        assert_eq!((written(&shelf).as_str(), shelf.sent_expired()), ("one", 0));
        shelf.expire();
        assert_eq!((written(&shelf).as_str(), shelf.sent_expired()), ("one", 1));
        shelf.put(Secret::new("two".to_owned()));
        assert_eq!((written(&shelf).as_str(), shelf.sent_expired()), ("two", 1));
    }

    #[test]
    fn worker_that_writes_while_tokens_change_has_whole_ones_in_their_order() {
        let shelf = Arc::new(TokenShelf::new("api"));
        let text = |number: u64| Secret::new(format!("{number:09}").repeat(100));
        shelf.put(text(0));
        let write = {
            let shelf = Arc::clone(&shelf);
            move || {
                let mut last = 0;
                while last < 2_000 {
                    let got = written(&shelf);
                    let number: u64 = got[..9].parse().expect("a number");
                    assert!(number >= last && got == *text(number).reveal(), "{got}");
                    last = number;
                }
            }
        };
        let workers = [0, 1].map(|_| std::thread::spawn(write.clone()));
        (1..=2_000).for_each(|number| shelf.put(text(number)));
        for worker in workers {
            worker.join().expect("no worker fails");
        }
    }
}
