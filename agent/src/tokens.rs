//! Fetches the tokens that a run's requests carry: before the run, and again before they expire, on
//! a thread beside the load. What is fetched is counted apart from the load.

mod token_answer;
mod token_client;
mod token_course;

use engine::{Policy, TokenShelf, Tokens, monotonic_ns};
use measure::nanoseconds;
use plan::{Plan, TokenHolder, TokenRequest};
use secret::Secret;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;
use token_client::TokenClient;
use token_course::TokenCourse;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Tells a sentence about a token while the run goes on. It must not wait.
pub(crate) type TellOfToken = Box<dyn Fn(String) + Send + Sync>;

/// What came of asking for a token.
#[derive(Debug)]
pub enum TokenNews {
    /// The token.
    Came {
        /// Its text.
        text: Secret<String>,
        /// When it expires; `None` if it does not.
        expires_at: Option<Instant>,
    },
    /// It could not be renewed, and is asked for again.
    Missed {
        /// A sentence about it, the first time since the last token.
        told: Option<String>,
    },
}

/// Takes what came of asking for the token at a place of [`Plan::token_requests`]. It must not
/// wait.
type TakeNews = Arc<dyn Fn(usize, TokenNews) + Send + Sync>;

/// Keeps a run's tokens fresh until it is dropped.
#[derive(Debug)]
pub struct TokenKeeper {
    /// Ends the thread when it is dropped.
    stop: Option<watch::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// One credential, and its token.
struct KeptToken {
    name: String,
    place: usize,
    client: Arc<TokenClient>,
    course: TokenCourse,
    take: TakeNews,
}

/// Who keeps tokens.
#[derive(Debug, Clone, Copy)]
enum Keeper<'a> {
    /// An agent, with its policy and its index.
    Agent(&'a Policy, u32),
    Coordinator,
}

impl TokenKeeper {
    /// Fetches every token that requests of `plan` carry and an agent fetches, puts it into
    /// `tokens`, and goes on to renew it. `None` if there are none. `agent` is this agent's index.
    ///
    /// Fails with a sentence if a token cannot be fetched.
    pub(crate) fn start(
        plan: &Plan,
        tokens: &Tokens,
        (policy, agent): (&Policy, u32),
        tell: TellOfToken,
    ) -> Result<Option<TokenKeeper>, String> {
        let shelves: Vec<Arc<TokenShelf>> = tokens.shelves().cloned().collect();
        let take = move |place: usize, news: TokenNews| match (news, &shelves[place]) {
            (TokenNews::Came { text, expires_at }, shelf) => {
                shelf.count_fetched();
                shelf.put(text, expires_at.map(monotonic));
            }
            (TokenNews::Missed { told }, shelf) => {
                shelf.count_not_fetched();
                told.into_iter().for_each(&tell);
            }
        };
        TokenKeeper::keep(plan, Keeper::Agent(policy, agent), Arc::new(take))
    }

    /// Fetches every token that the coordinator fetches for all agents, tells `take` of it, and
    /// goes on to renew it. `None` if there are none. It may take a while, and connects to whatever
    /// address the plan names.
    ///
    /// # Errors
    /// A sentence, if a token cannot be fetched.
    pub fn of_fleet(
        plan: &Plan,
        take: impl Fn(usize, TokenNews) + Send + Sync + 'static,
    ) -> Result<Option<TokenKeeper>, String> {
        TokenKeeper::keep(plan, Keeper::Coordinator, Arc::new(take))
    }

    fn keep(
        plan: &Plan,
        keeper: Keeper<'_>,
        take: TakeNews,
    ) -> Result<Option<TokenKeeper>, String> {
        let requests = plan.token_requests().enumerate();
        let own = requests.filter(|(_, (_, request))| keeper.holder() == request.per);
        let kept = own.map(|(place, of)| KeptToken::new(plan, place, of, keeper, &take));
        let kept = kept.collect::<Result<Vec<KeptToken>, String>>()?;
        if kept.is_empty() {
            return Ok(None);
        }
        let (stop, stopped) = watch::channel(());
        let (ready, is_ready) = channel();
        let work = move || fetch_until(kept, &stopped, &ready);
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

impl Keeper<'_> {
    fn holder(self) -> TokenHolder {
        match self {
            Keeper::Agent(..) => TokenHolder::Agent,
            Keeper::Coordinator => TokenHolder::Fleet,
        }
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
fn fetch_until(
    kept: Vec<KeptToken>,
    stopped: &watch::Receiver<()>,
    ready: &Sender<Result<(), String>>,
) {
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
    fn new(
        plan: &Plan,
        place: usize,
        (name, request): (&str, &TokenRequest),
        keeper: Keeper<'_>,
        take: &TakeNews,
    ) -> Result<KeptToken, String> {
        let (policy, agent) = match keeper {
            Keeper::Agent(policy, agent) => (Some(policy), agent),
            Keeper::Coordinator => (None, 0),
        };
        let client = TokenClient::new(plan, request, policy);
        let client = client.map_err(|error| format!("auth.{name}.oauth2: {error}"))?;
        Ok(KeptToken {
            name: name.to_owned(),
            place,
            client: Arc::new(client),
            course: TokenCourse::new(agent),
            take: Arc::clone(take),
        })
    }

    async fn fetch_first(mut self) -> Result<KeptToken, String> {
        let asked_at = Instant::now();
        let answer = self.client.fetch().await;
        let answer = answer.map_err(|why| format!("auth.{}.oauth2: {why}", self.name))?;
        self.put(asked_at, answer);
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

    /// Waits until a new token is due, and asks for it.
    async fn renew(&mut self) {
        until(self.course.renew_at()).await;
        let asked_at = Instant::now();
        match self.client.fetch().await {
            Ok(answer) => self.put(asked_at, answer),
            Err(why) => {
                let is_first = self.course.on_failure(Instant::now());
                let told = is_first.then(|| {
                    format!(
                        "the token of auth.{} could not be renewed, and is asked for again: {why}",
                        self.name
                    )
                });
                (self.take)(self.place, TokenNews::Missed { told });
            }
        }
    }

    fn put(&mut self, asked_at: Instant, answer: token_answer::TokenAnswer) {
        self.course.on_token(asked_at, answer.life);
        let came = TokenNews::Came {
            text: answer.token,
            expires_at: answer.life.map(|life| asked_at + life),
        };
        (self.take)(self.place, came);
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
