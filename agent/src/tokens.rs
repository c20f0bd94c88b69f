//! Fetches the tokens that a run's requests carry: before the run, and again before they expire, on
//! a thread beside the load. What is fetched is counted apart from the load.

mod token_answer;
mod token_client;
mod token_course;

use engine::{Policy, TokenShelf, Tokens, monotonic_ns};
use measure::nanoseconds;
use plan::Plan;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;
use token_answer::TokenAnswer;
use token_client::TokenClient;
use token_course::TokenCourse;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Tells a sentence about a token while the run goes on. It must not wait.
pub(crate) type TellOfToken = Box<dyn Fn(String) + Send + Sync>;

/// Keeps a run's tokens fresh until it is dropped.
#[derive(Debug)]
pub(crate) struct TokenKeeper {
    /// Ends the thread when it is dropped.
    stop: Option<watch::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// One credential, and its token.
struct KeptToken {
    name: String,
    client: Arc<TokenClient>,
    shelf: Arc<TokenShelf>,
    course: TokenCourse,
    tell: Arc<TellOfToken>,
}

impl TokenKeeper {
    /// Fetches every token that requests of `plan` carry, puts it into `tokens`, and goes on to
    /// renew it. `None` if there are none. `agent` is this agent's index.
    ///
    /// Fails with a sentence if a token cannot be fetched.
    pub(crate) fn start(
        plan: &Plan,
        tokens: &Tokens,
        (policy, agent): (&Policy, u32),
        tell: TellOfToken,
    ) -> Result<Option<TokenKeeper>, String> {
        let tell = Arc::new(tell);
        let kept = |((name, request), shelf): ((&str, _), &Arc<TokenShelf>)| {
            let client = TokenClient::new(plan, request, policy);
            let client = client.map_err(|error| format!("auth.{name}.oauth2: {error}"))?;
            Ok(KeptToken {
                name: name.to_owned(),
                client: Arc::new(client),
                shelf: Arc::clone(shelf),
                course: TokenCourse::new(agent),
                tell: Arc::clone(&tell),
            })
        };
        let kept = plan.token_requests().zip(tokens.shelves()).map(kept);
        let kept = kept.collect::<Result<Vec<KeptToken>, String>>()?;
        if kept.is_empty() {
            return Ok(None);
        }
        let (stop, stopped) = watch::channel(());
        let (ready, is_ready) = channel();
        let work = move || keep(kept, &stopped, &ready);
        let thread = std::thread::Builder::new()
            .name("tokens".into())
            .spawn(work);
        let thread = thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        let fetched = is_ready.recv();
        fetched.unwrap_or_else(|_| Err("the thread that fetches tokens died".to_owned()))?;
        Ok(Some(TokenKeeper {
            stop: Some(stop),
            thread: Some(thread),
        }))
    }
}

impl Drop for TokenKeeper {
    fn drop(&mut self) {
        self.stop = None;
        // It has said why, if it died.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The thread: fetches all tokens, reports that to `ready`, and renews them until `stopped`.
fn keep(kept: Vec<KeptToken>, stopped: &watch::Receiver<()>, ready: &Sender<Result<(), String>>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = ready.send(Err(format!("cannot set up a thread: {error}")));
            return;
        }
    };
    runtime.block_on(async {
        let fetched = fetch_all(kept).await;
        let (kept, outcome) = match fetched {
            Ok(kept) => (kept, Ok(())),
            Err(error) => (Vec::new(), Err(error)),
        };
        // The other end waits for nothing else.
        let _ = ready.send(outcome);
        let mut renewals = JoinSet::new();
        for token in kept {
            renewals.spawn(token.renew_until(stopped.clone()));
        }
        renewals.join_all().await;
    });
    // A lookup that hangs must not hold up the end of the run.
    runtime.shutdown_background();
}

/// Fetches all tokens at once; fails with the first failure.
async fn fetch_all(kept: Vec<KeptToken>) -> Result<Vec<KeptToken>, String> {
    let mut fetches = JoinSet::new();
    for token in kept {
        fetches.spawn(token.fetch_first());
    }
    let mut fetched = Vec::new();
    while let Some(ended) = fetches.join_next().await {
        fetched.push(ended.map_err(|error| error.to_string())??);
    }
    Ok(fetched)
}

impl KeptToken {
    async fn fetch_first(mut self) -> Result<KeptToken, String> {
        let asked_at = Instant::now();
        let answer = self.client.fetch().await;
        let answer = answer.map_err(|why| format!("auth.{}.oauth2: {why}", self.name))?;
        self.take(asked_at, answer);
        Ok(self)
    }

    /// Renews the token until the run is over.
    async fn renew_until(mut self, mut stopped: watch::Receiver<()>) {
        loop {
            tokio::select! {
                // The sender was dropped.
                _ = stopped.changed() => return,
                () = self.renew() => {}
            }
        }
    }

    /// Waits until a new token is due, and asks for it. The one before may expire meanwhile.
    async fn renew(&mut self) {
        let (client, renew_at) = (Arc::clone(&self.client), self.course.renew_at());
        let mut renewal = std::pin::pin!(async move {
            until(renew_at).await;
            (Instant::now(), client.fetch().await)
        });
        let (asked_at, answer) = loop {
            tokio::select! {
                answered = &mut renewal => break answered,
                () = until(self.course.expires_at()) => self.expire(),
            }
        };
        // A timer is late by a millisecond or so.
        self.expire();
        match answer {
            Ok(answer) => self.take(asked_at, answer),
            Err(why) => {
                self.shelf.count_not_fetched();
                if self.course.on_failure(Instant::now()) {
                    (self.tell)(format!(
                        "the token of auth.{} could not be renewed, and is asked for again: {why}",
                        self.name
                    ));
                }
            }
        }
    }

    fn take(&mut self, asked_at: Instant, answer: TokenAnswer) {
        self.course.on_token(asked_at, answer.life);
        self.shelf.count_fetched();
        let expires_at = self.course.expires_at().map(monotonic);
        self.shelf.put(answer.token, expires_at);
    }

    /// Counts that the token has expired, if it has.
    fn expire(&mut self) {
        if let Some(at) = self.course.expire(Instant::now()) {
            self.shelf.count_ran_out(monotonic(at));
        }
    }
}

/// An instant in nanoseconds of the engine's clock.
fn monotonic(at: Instant) -> u64 {
    let (here, now) = (Instant::now(), monotonic_ns());
    match at.checked_duration_since(here) {
        Some(ahead) => now.saturating_add(nanoseconds(ahead)),
        None => now.saturating_sub(nanoseconds(here.duration_since(at))),
    }
}

/// Waits until `at`; for ever if there is no such instant.
async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
