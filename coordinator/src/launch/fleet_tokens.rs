//! The tokens that all agents of a run have in common: fetched before it, or while it goes on if
//! another coordinator began it, and renewed.

use crate::fleet::{self, TokenSender};
use crate::own_agents::{TokenKeeper, TokenNews};
use anyhow::Context as _;
use control::{FleetTime, FleetToken, RunId, TokenReport};
use plan::{Plan, TokenHolder};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Room for news of tokens. They come half a second apart at least, and are taken at once.
const NEWS_MAX: usize = 256;

/// The wait after the first failed attempt to fetch the tokens of a run that goes on; it doubles.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
const AGAIN_AFTER_MAX: Duration = Duration::from_secs(30);

/// Keeps the tokens of a run until it is dropped.
pub(super) struct FleetTokens {
    /// Renews them as long as it exists; `None` if the plan has no such tokens.
    _keeper: Option<TokenKeeper>,
    /// Number of tokens, each of which has come once.
    number: usize,
    news: mpsc::Receiver<TokenReport>,
}

impl FleetTokens {
    /// Fetches the tokens that requests of `plan` have and the coordinator fetches.
    pub(super) async fn fetch(plan: &Plan) -> anyhow::Result<FleetTokens> {
        let (tell, news) = mpsc::channel(NEWS_MAX);
        let requests = plan.token_requests();
        let number = requests
            .filter(|(_, request)| request.per == TokenHolder::Fleet)
            .count();
        let plan = plan.clone();
        let take = move |place: usize, news| {
            // The end of a run takes no news.
            let _ = tell.try_send(report(place as u32, news));
        };
        let keeper = tokio::task::spawn_blocking(move || TokenKeeper::of_fleet(&plan, take))
            .await
            .context("the tokens of the run were not fetched")?
            .map_err(anyhow::Error::msg)?;
        Ok(FleetTokens {
            _keeper: keeper,
            number,
            news,
        })
    }

    /// The tokens that came first. What has come since is passed on later.
    pub(super) fn take_first(&mut self) -> Vec<FleetToken> {
        let came = (0..self.number).filter_map(|_| self.news.try_recv().ok());
        let came = came.filter_map(|report| match report {
            TokenReport::Came(token) => Some(token),
            TokenReport::Missed { .. } => None,
        });
        came.collect()
    }

    /// Passes news on to the agents of `run`, which the fleet must have by now, until what is
    /// returned is dropped.
    pub(super) fn pass_on(self, run: RunId, sender: TokenSender) -> TokenTask {
        TokenTask(tokio::spawn(self.forward(run, sender)))
    }

    async fn forward(mut self, run: RunId, sender: TokenSender) {
        while let Some(report) = self.news.recv().await {
            sender.send(run, report).await;
        }
    }

    /// Fetches the tokens of a run that another coordinator began, and passes them on as
    /// [`FleetTokens::pass_on`] does. The run does not wait for them, since its agents have some
    /// already, or may only have to deliver what they measured.
    pub(super) fn fetch_later(plan: Plan, run: RunId, sender: TokenSender) -> TokenTask {
        let mut requests = plan.token_requests();
        let place = requests.position(|(_, request)| request.per == TokenHolder::Fleet);
        drop(requests);
        TokenTask(tokio::spawn(async move {
            let Some(place) = place else {
                return;
            };
            let mut wait = AGAIN_AFTER;
            loop {
                match FleetTokens::fetch(&plan).await {
                    Ok(tokens) => return tokens.forward(run, sender).await,
                    Err(error) => {
                        let told = format!("{error}; the coordinator asks again");
                        let told = Some(told).filter(|_| wait == AGAIN_AFTER);
                        let place = place as u32;
                        sender.send(run, TokenReport::Missed { place, told }).await;
                    }
                }
                tokio::time::sleep(wait).await;
                wait = AGAIN_AFTER_MAX.min(2 * wait);
            }
        }))
    }
}

/// Keeps and renews tokens until it is dropped.
pub(super) struct TokenTask(JoinHandle<()>);

impl Drop for TokenTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn report(place: u32, news: TokenNews) -> TokenReport {
    match news {
        TokenNews::Came { text, expires_at } => TokenReport::Came(FleetToken {
            place,
            text,
            expires_at: expires_at.map(on_fleet_clock),
        }),
        TokenNews::Missed { told } => TokenReport::Missed { place, told },
    }
}

fn on_fleet_clock(at: Instant) -> FleetTime {
    fleet::now().after(at.saturating_duration_since(Instant::now()))
}
