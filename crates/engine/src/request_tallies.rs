//! What a worker counts while the bytes of requests are written. Requests that have nothing of it
//! pay nothing; what was counted is taken once a second.

use crate::clock::monotonic_ns;
use crate::signing_meter::SigningSum;
use crate::tokens::{TokenShelf, Tokens};
use measure::{CellId, Period, Recorder, RequestsByPart, TokenTally};
use plan::Plan;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// The tallies of one worker. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestTallies {
    tokens: Vec<Arc<WorkerToken>>,
    /// The place in `tokens` of each request's token, if it has one.
    of_requests: Vec<Option<usize>>,
    /// What digests and signatures cost.
    pub(crate) signing: Arc<SigningSum>,
}

/// A token, and the requests of this worker that had it.
///
/// Only the worker's own thread writes the counts. They are atomic because what they are part of is
/// shared, and cost no more than plain numbers.
#[derive(Debug)]
pub(crate) struct WorkerToken {
    shelf: Arc<TokenShelf>,
    requests: PartCounts,
    expired: PartCounts,
    /// What the request that was written last had of it: a [`TokenUse`].
    last: AtomicU8,
}

/// What a request had of its token when it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenUse {
    /// None: it needs none, or goes to another origin, which gets none.
    None,
    Good,
    Expired,
}

#[derive(Debug, Default)]
struct PartCounts([AtomicU64; 2]);

impl RequestTallies {
    /// The tallies of a worker that sends requests of `plan`, which have `tokens`.
    pub(crate) fn new(plan: &Plan, tokens: &Tokens) -> RequestTallies {
        let kept: Vec<Arc<WorkerToken>> = tokens
            .shelves()
            .map(|shelf| Arc::new(WorkerToken::new(shelf)))
            .collect();
        let place = |request: &plan::Request| {
            let auth = request.auth.as_ref()?;
            kept.iter().position(|token| token.is_of(&auth.name))
        };
        RequestTallies {
            of_requests: plan.requests().iter().map(place).collect(),
            tokens: kept,
            signing: Arc::default(),
        }
    }

    /// The token of the credential with this name.
    pub(crate) fn token(&self, name: &str) -> Option<&Arc<WorkerToken>> {
        self.tokens.iter().find(|token| token.is_of(name))
    }

    /// What the latest of these requests had of its token.
    pub(crate) fn last_use(&self, request: u16) -> TokenUse {
        let token = self.of_request(request);
        token.map_or(TokenUse::None, WorkerToken::last_use)
    }

    /// Writes a request of an operation that may never reach a server: it does not count yet.
    pub(crate) fn uncounted<T>(&self, id: CellId, write: impl FnOnce() -> T) -> T {
        let Some(token) = self.of_request(id.request) else {
            return write();
        };
        token.set_last_use(TokenUse::None);
        let written = write();
        token.subtract(id.period, token.last_use());
        written
    }

    /// Counts a request that did not count when it was written, and that the server has read.
    pub(crate) fn count(&self, id: CellId, used: TokenUse) {
        if let Some(token) = self.of_request(id.request) {
            token.count(id.period, used);
        }
    }

    /// Moves what was counted into `recorder`.
    pub(crate) fn drain_into(&self, recorder: &mut Recorder) {
        for (place, token) in (0..).zip(&self.tokens) {
            recorder.add_tokens(place, &token.take_tally());
        }
        recorder.add_signing(&self.signing.take());
    }

    fn of_request(&self, request: u16) -> Option<&WorkerToken> {
        let place = *self.of_requests.get(usize::from(request))?;
        self.tokens.get(place?).map(|token| &**token)
    }
}

impl WorkerToken {
    fn new(shelf: &Arc<TokenShelf>) -> WorkerToken {
        WorkerToken {
            shelf: Arc::clone(shelf),
            requests: PartCounts::default(),
            expired: PartCounts::default(),
            last: AtomicU8::new(TokenUse::None as u8),
        }
    }

    fn is_of(&self, name: &str) -> bool {
        self.shelf.name() == name
    }

    /// Appends the token to `out`, as part of a request of this part of the run.
    pub(crate) fn write(&self, period: Period, out: &mut Vec<u8>) {
        let token = self.shelf.load();
        out.extend_from_slice(token.text.reveal().as_bytes());
        let used = match token.has_expired(monotonic_ns) {
            false => TokenUse::Good,
            true => TokenUse::Expired,
        };
        self.count(period, used);
        self.set_last_use(used);
    }

    fn count(&self, period: Period, used: TokenUse) {
        if used != TokenUse::None {
            self.requests.add(period);
        }
        if used == TokenUse::Expired {
            self.expired.add(period);
        }
    }

    fn subtract(&self, period: Period, used: TokenUse) {
        if used != TokenUse::None {
            self.requests.subtract(period);
        }
        if used == TokenUse::Expired {
            self.expired.subtract(period);
        }
    }

    fn last_use(&self) -> TokenUse {
        let uses = [TokenUse::None, TokenUse::Good, TokenUse::Expired];
        uses[usize::from(self.last.load(Ordering::Relaxed)) % uses.len()]
    }

    fn set_last_use(&self, used: TokenUse) {
        self.last.store(used as u8, Ordering::Relaxed);
    }

    fn take_tally(&self) -> TokenTally {
        TokenTally {
            requests: self.requests.take(),
            expired: self.expired.take(),
            ..TokenTally::default()
        }
    }
}

impl PartCounts {
    #[inline]
    fn add(&self, period: Period) {
        self.set(period, self.of(period) + 1);
    }

    /// Nothing is taken between the request that was added and this.
    fn subtract(&self, period: Period) {
        self.set(period, self.of(period).saturating_sub(1));
    }

    fn of(&self, period: Period) -> u64 {
        self.0[period as usize].load(Ordering::Relaxed)
    }

    fn set(&self, period: Period, number: u64) {
        self.0[period as usize].store(number, Ordering::Relaxed);
    }

    fn take(&self) -> RequestsByPart {
        let take = |period| self.0[period as usize].swap(0, Ordering::Relaxed);
        RequestsByPart {
            warm_up: take(Period::WarmUp),
            measured: take(Period::Measured),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Http1Requests;
    use crate::template::ValueSources;
    use crate::values::Values;
    use plan::NoFiles;
    use secret::Secret;

    /// Two credentials, and a request without any.
    const PLAN: &str = r#"
        target.url = "http://127.0.0.1/"
        load = { connections = 1, requests = 1 }
        auth.a.oauth2 = { token_url = "http://127.0.0.1/a", client = "c", secret = "s" }
        auth.b.oauth2 = { token_url = "http://127.0.0.1/b", client = "c", secret = "s" }
        [[request]]
        name = "bare"
        [[request]]
        name = "of_b"
        auth = "b"
        [[request]]
        name = "of_a"
        auth = "a"
    "#;

    struct Scene {
        tokens: Tokens,
        tallies: RequestTallies,
        requests: Http1Requests,
    }

    impl Scene {
        fn new() -> Scene {
            let plan = Plan::parse(PLAN, &mut NoFiles).expect("a plan");
            let tokens = Tokens::new(&plan);
            let tallies = RequestTallies::new(&plan, &tokens);
            Scene {
                requests: Http1Requests::new(&plan, &ValueSources::new(&plan, &tallies)),
                tokens,
                tallies,
            }
        }

        fn put(&self, place: usize, text: &str, expires_at: u64) {
            let shelf = self.tokens.shelves().nth(place).expect("a shelf");
            shelf.put(Secret::new(text.to_owned()), Some(expires_at));
        }

        fn write(&self, request: u16, seq: u64) -> String {
            let mut out = Vec::new();
            let values = Values {
                seq,
                is_warm_up: seq >= WARM_UP,
                ..Values::default()
            };
            self.requests
                .request(request)
                .write(false, || values, &mut out);
            String::from_utf8(out).expect("a request of ASCII")
        }

        /// Requests and expired ones, of the warm-up and the measured part, by credential.
        fn counted(&self) -> Vec<[u64; 4]> {
            let mut recorder = Recorder::new(3);
            self.tallies.drain_into(&mut recorder);
            let (snapshot, _) = recorder.cut(1, None).into_snapshot();
            let counts = |place| {
                let tally = snapshot.tokens.of(place);
                let (all, expired) = (tally.requests, tally.expired);
                [all.warm_up, all.measured, expired.warm_up, expired.measured]
            };
            (0..2).map(counts).collect()
        }
    }

    const WARM_UP: u64 = 9_000_000_000_000_000_000;

    #[test]
    fn requests_are_counted_by_credential_part_and_age_of_the_token() {
        let scene = Scene::new();
        scene.put(0, "one", u64::MAX - 1);
        scene.put(1, "two", 1);
        assert!(!scene.write(0, 0).contains("authorization"));
        for (request, seq, token) in [(1, 0, "two"), (1, WARM_UP, "two"), (2, 0, "one")] {
            let bytes = scene.write(request, seq);
            let field = format!("authorization: Bearer {token}\r\n");
            assert!(bytes.contains(&field), "{bytes}");
        }
        assert_eq!(scene.counted(), [[0, 1, 0, 0], [1, 1, 1, 1]]);
        scene.put(1, "three", u64::MAX - 1);
        assert!(scene.write(1, 0).contains("three"));
        assert_eq!(scene.counted(), [[0; 4], [0, 1, 0, 0]]);
    }

    #[test]
    fn request_that_may_not_arrive_counts_once_the_server_has_it() {
        let scene = Scene::new();
        scene.put(1, "old", 1);
        let id = CellId {
            period: Period::Measured,
            request: 1,
            address: 0,
        };
        let bytes = scene.tallies.uncounted(id, || scene.write(1, 0));
        assert!(bytes.contains("old"), "{bytes}");
        let used = scene.tallies.last_use(1);
        assert_eq!(scene.counted(), [[0; 4], [0; 4]]);
        // A new token does not change what has gone out.
        scene.put(1, "new", u64::MAX - 1);
        scene.tallies.count(id, used);
        assert_eq!(scene.counted(), [[0; 4], [0, 1, 0, 1]]);
        // A redirect can lead to where no token goes along.
        for request in [0, 1] {
            let id = CellId { request, ..id };
            scene.tallies.uncounted(id, || scene.write(0, 0));
            assert_eq!(scene.tallies.last_use(request), TokenUse::None);
            scene.tallies.count(id, TokenUse::None);
        }
        assert_eq!(scene.counted(), [[0; 4], [0; 4]]);
    }

    #[test]
    fn worker_that_writes_while_tokens_change_has_whole_ones_in_their_order() {
        let shelf = Tokens::new(&Plan::parse(PLAN, &mut NoFiles).expect("a plan"));
        let shelf = Arc::clone(shelf.shelves().next().expect("a shelf"));
        let text = |number: u64| Secret::new(format!("{number:09}").repeat(100));
        shelf.put(text(0), None);
        let write = {
            let shelf = Arc::clone(&shelf);
            move || {
                let (token, mut last) = (WorkerToken::new(&shelf), 0);
                while last < 2_000 {
                    let mut got = Vec::new();
                    token.write(Period::Measured, &mut got);
                    let got = String::from_utf8(got).expect("a token of ASCII");
                    let number: u64 = got[..9].parse().expect("a number");
                    assert!(number >= last && got == *text(number).reveal(), "{got}");
                    last = number;
                }
            }
        };
        let workers = [0, 1].map(|_| std::thread::spawn(write.clone()));
        (1..=2_000).for_each(|number| shelf.put(text(number), None));
        for worker in workers {
            worker.join().expect("no worker fails");
        }
    }
}
