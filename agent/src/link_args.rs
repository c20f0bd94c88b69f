//! Arguments of every command that joins a coordinator.

use crate::link::{AgentIdentity, CoordinatorAddress};
use crate::token_file;
use anyhow::bail;
use control::{Role, Stay, Token};
use host::Facts;
use proto::Bytes;
use std::path::PathBuf;
use std::time::Duration;

/// Where to join, and as whom.
#[derive(Debug, Clone, clap::Args)]
pub struct LinkArgs {
    /// Address of the coordinator, such as `coordinator.lan:7711` or `[2001:db8::1]:7711`
    #[arg(value_name = "HOST:PORT")]
    pub coordinator: CoordinatorAddress,

    /// Token that `coordinator token` prints; prefer CANNONADE_TOKEN or --token-file, because `ps`
    /// shows this flag
    #[arg(
        long,
        env = "CANNONADE_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN"
    )]
    pub token: Option<String>,

    /// File with the token, such as `coordinator start --token-file` writes; waits for it
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    pub token_file: Option<PathBuf>,

    /// End when the coordinator has: with 0 if this agent fired and delivered its part of every
    /// run, otherwise with 4
    #[arg(long)]
    pub once: bool,

    /// Wait this long for --token-file to be there, and for a coordinator to join [default: 1m for
    /// the file; for the coordinator as long as it takes, with --once 5m]
    #[arg(long, value_name = "DURATION", value_parser = parse_wait)]
    pub wait: Option<Duration>,

    /// Name in results [default: the machine's host name]
    #[arg(long)]
    pub name: Option<String>,

    /// Label in results, such as city=berlin; can be repeated
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = parse_label)]
    pub labels: Vec<(String, String)>,
}

/// A token file is written within moments of the coordinator's start.
const TOKEN_FILE_WAIT: Duration = Duration::from_secs(60);

/// A job that joins one coordinator should not hang if that one never comes.
const ONCE_WAIT: Duration = Duration::from_secs(300);

fn parse_wait(text: &str) -> Result<Duration, String> {
    plan::parse_duration(text)
}

fn parse_label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE, such as city=berlin".to_owned()),
    }
}

impl LinkArgs {
    /// Parses the token from the flag, the file or the environment.
    ///
    /// # Errors
    /// If none is given, or it is not a token.
    pub(crate) fn token(&self) -> anyhow::Result<Token> {
        let text = match (&self.token, &self.token_file) {
            (Some(token), _) => token.clone(),
            (None, Some(file)) => {
                let wait = self.wait.unwrap_or(TOKEN_FILE_WAIT);
                return token_file::read(file, wait);
            }
            (None, None) => bail!(
                "a token is needed: give --token, --token-file or CANNONADE_TOKEN; `coordinator \
                 token` prints it"
            ),
        };
        Ok(text.trim().parse::<Token>()?)
    }

    /// When the agent ends by itself.
    pub(crate) fn stay(&self) -> Stay {
        Stay {
            is_for_one_coordinator: self.once,
            absence_max: self.wait.or(self.once.then_some(ONCE_WAIT)),
        }
    }

    /// What is said about this machine, which has `workers` load threads.
    pub(crate) fn identity(&self, facts: &Facts, role: Role, workers: usize) -> AgentIdentity {
        let name = self.name.as_ref().unwrap_or(&facts.hostname);
        AgentIdentity {
            name: name.clone(),
            labels: self.labels.iter().cloned().collect(),
            workers: workers as u32,
            host: Bytes::from(facts.encode()),
            encoding: measure::ENCODING,
            language: plan::LANGUAGE,
            role,
            calibration: Bytes::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_a_key() {
        assert_eq!(
            parse_label("city=berlin"),
            Ok(("city".into(), "berlin".into()))
        );
        assert!(parse_label("berlin").is_err() && parse_label("=x").is_err());
    }
}
