//! Arguments of everything that joins a coordinator.

use crate::link::{AgentIdentity, CoordinatorAddress};
use anyhow::{Context as _, bail};
use control::{Role, Token};
use host::Facts;
use proto::Bytes;
use std::path::PathBuf;

/// Where to join, and as whom.
#[derive(Debug, Clone, clap::Args)]
pub struct LinkArgs {
    /// Address of the coordinator, such as `coordinator.lan:7711` or `[2001:db8::1]:7711`
    #[arg(value_name = "HOST:PORT")]
    pub coordinator: CoordinatorAddress,

    /// Token that `coordinator start` printed; prefer CANNONADE_TOKEN or --token-file, because `ps`
    /// shows this flag
    #[arg(
        long,
        env = "CANNONADE_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN"
    )]
    pub token: Option<String>,

    /// File with the token
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    pub token_file: Option<PathBuf>,

    /// Name in results [default: the machine's host name]
    #[arg(long)]
    pub name: Option<String>,

    /// Label in results, such as city=berlin; can be repeated
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = parse_label)]
    pub labels: Vec<(String, String)>,
}

fn parse_label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE, such as city=berlin".to_owned()),
    }
}

impl LinkArgs {
    /// # Errors
    /// Where none is given, or it is none.
    pub(crate) fn token(&self) -> anyhow::Result<Token> {
        let text = match (&self.token, &self.token_file) {
            (Some(token), _) => token.clone(),
            (None, Some(file)) => std::fs::read_to_string(file)
                .with_context(|| format!("reading the token from {}", file.display()))?,
            (None, None) => bail!(
                "a token is needed: give --token, --token-file or CANNONADE_TOKEN; `coordinator \
                 start` prints it"
            ),
        };
        Ok(text.trim().parse::<Token>()?)
    }

    /// What is said of this machine, with so many load threads.
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
