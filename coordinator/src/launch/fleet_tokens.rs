//! The tokens that all agents of a run have in common: fetched before it, renewed while it goes on.

use crate::fleet::{self, TokenSender};
use crate::own_agents::{TokenKeeper, TokenNews};
use anyhow::Context as _;
use control::{FleetTime, FleetToken, RunId, TokenReport};
use plan::{Plan, TokenHolder};
use std::time::Instant;
use tokio::sync::mpsc;

/// Room for news of tokens. They come half a second apart at least, and are taken at once.
const NEWS_MAX: usize = 256;

/// Keeps the tokens of a run until it is dropped.
pub(super) struct FleetTokens {
    /// `None` if the plan has no such tokens.
    keeper: Option<TokenKeeper>,
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
            keeper,
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

    /// Passes news on to the agents of `run`, which the fleet must have by now, until the keeper
    /// that is returned is dropped.
    pub(super) fn pass_on(self, run: RunId, sender: TokenSender) -> Option<TokenKeeper> {
        let mut news = self.news;
        self.keeper.inspect(|_| {
            tokio::spawn(async move {
                while let Some(report) = news.recv().await {
                    sender.send(run, report).await;
                }
            });
        })
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
