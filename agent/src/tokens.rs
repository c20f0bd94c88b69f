//! Fetches the tokens that a run's requests carry: before the run, and again before they expire, on
//! a thread beside the load. What is fetched is no part of the run's numbers.

mod token_answer;
mod token_client;
mod token_course;

use engine::{Policy, RunClock, TokenShelf, Tokens};
use plan::Plan;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use token_client::TokenClient;
use token_course::{TokenCounts, TokenCourse};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Tells a sentence about a token while the run goes on. It must not wait.
pub(crate) type TellOfToken = Box<dyn Fn(String) + Send + Sync>;

/// Keeps a run's tokens fresh until it is dropped.
#[derive(Debug)]
pub(crate) struct TokenKeeper {
    /// Ends the thread when it is dropped.
    stop: Option<watch::Sender<()>>,
    started: Arc<StartedAt>,
    thread: Option<JoinHandle<Vec<String>>>,
}

/// When the run starts, once that is known: the engine's clock, and the one that a wait has.
#[derive(Debug, Default)]
struct StartedAt(OnceLock<Instant>);

/// One credential, and its token.
struct KeptToken {
    name: String,
    client: Arc<TokenClient>,
    shelf: Arc<TokenShelf>,
    course: TokenCourse,
    started: Arc<StartedAt>,
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
        let (started, tell) = (Arc::default(), Arc::new(tell));
        let kept = |((name, request), shelf): ((&str, _), &Arc<TokenShelf>)| {
            let client = TokenClient::new(plan, request, policy);
            let client = client.map_err(|error| format!("auth.{name}.oauth2: {error}"))?;
            Ok(KeptToken {
                name: name.to_owned(),
                client: Arc::new(client),
                shelf: Arc::clone(shelf),
                course: TokenCourse::new(agent),
                started: Arc::clone(&started),
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
            started,
            thread: Some(thread),
        }))
    }

    /// Says when the run starts, in nanoseconds of the monotonic clock.
    pub(crate) fn run_starts_at(&self, at: u64) {
        let until = Duration::from_nanos(RunClock::starting_at(at).until_start());
        // A run starts once.
        let _ = self.started.0.set(Instant::now() + until);
    }

    /// Ends, and says what became of each token.
    pub(crate) fn finish(mut self) -> Vec<String> {
        self.end()
    }

    fn end(&mut self) -> Vec<String> {
        self.stop = None;
        let thread = self.thread.take();
        // It has said why, if it died.
        thread
            .and_then(|thread| thread.join().ok())
            .unwrap_or_default()
    }
}

impl Drop for TokenKeeper {
    fn drop(&mut self) {
        self.end();
    }
}

impl StartedAt {
    /// An instant as a place in the run.
    fn place(&self, at: Instant) -> String {
        let since = self
            .0
            .get()
            .and_then(|start| at.checked_duration_since(*start));
        since.map_or("before the run began".to_owned(), |since| {
            format!("{:.1} s into the run", since.as_secs_f64())
        })
    }
}

/// The thread: fetches all tokens, reports that to `ready`, and renews them until `stopped`.
fn keep(
    kept: Vec<KeptToken>,
    stopped: &watch::Receiver<()>,
    ready: &Sender<Result<(), String>>,
) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = ready.send(Err(format!("cannot set up a thread: {error}")));
            return Vec::new();
        }
    };
    let sentences = runtime.block_on(async {
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
        renewals.join_all().await
    });
    // A lookup that hangs must not hold up the end of the run.
    runtime.shutdown_background();
    sentences
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
        self.course.on_token(asked_at, answer.life);
        self.shelf.put(answer.token);
        Ok(self)
    }

    /// Renews the token until the run is over. Returns what became of it.
    async fn renew_until(mut self, mut stopped: watch::Receiver<()>) -> String {
        loop {
            tokio::select! {
                // The sender was dropped.
                _ = stopped.changed() => return self.describe(),
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
        match answer {
            Ok(answer) => {
                self.course.on_token(asked_at, answer.life);
                self.shelf.put(answer.token);
            }
            Err(why) => {
                if self.course.on_failure(Instant::now()) {
                    self.tell(&format!(
                        "could not be renewed, and is asked for again: {why}"
                    ));
                }
            }
        }
    }

    fn expire(&mut self) {
        let now = Instant::now();
        self.course.on_expiry(now);
        self.shelf.expire();
        let place = self.started.place(now);
        self.tell(&format!(
            "expired {place}; requests have it until there is a new one"
        ));
    }

    fn tell(&self, what: &str) {
        (self.tell)(format!("the token of auth.{} {what}", self.name));
    }

    fn describe(&self) -> String {
        let TokenCounts {
            fetched,
            failed,
            ran_out,
            first_ran_out,
        } = self.course.counts;
        let mut text = format!(
            "the token of auth.{} was fetched {}",
            self.name,
            times(fetched)
        );
        if failed > 0 {
            text += &format!(", and could not be fetched {}", times(failed));
        }
        if let Some(first) = first_ran_out {
            let (place, times) = (self.started.place(first), times(ran_out));
            let requests = self.shelf.sent_expired();
            text += &format!(
                "; it ran out {times}, first {place}, and {requests} requests had an expired one"
            );
        }
        text
    }
}

fn times(number: u32) -> String {
    match number {
        1 => "once".to_owned(),
        number => format!("{number} times"),
    }
}

/// Waits until `at`; for ever if there is no such instant.
async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
