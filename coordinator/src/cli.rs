//! The command line as it is typed. The modules named after the commands decide what it means.

use crate::check::CheckArgs;
use crate::compare::CompareArgs;
use crate::explain::ExplainArgs;
use crate::import::ImportArgs;
use crate::quick::{self, QuickArgs};
use crate::render::ReportArgs;
use crate::start::StartArgs;
#[cfg(feature = "load")]
use crate::target_process::TargetArgs;
use crate::token::TokenArgs;
use clap::{Parser, Subcommand};
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  coordinator start --local --agents 2 examples/quickstart.toml
  coordinator start --agents 4 plan.toml       (then `agent join` on four machines)
  coordinator check --agents 4 plan.toml
  coordinator quick -n 10000 -c 100 https://10.0.0.11/
  coordinator report --format markdown runs/20260101T120000Z-plan
  coordinator explain runs/20260101T120000Z-plan
  coordinator compare runs/20260101T120000Z-plan runs/20260102T120000Z-plan
  coordinator import access.log > replay.jsonl

Exit codes:
  0    passed
  1    a threshold failed, no operation succeeded, any failed and
       --fail-on-error is given, the lowest load of a search failed, or compare
       found a regression
  2    the command line, the plan, or a saved run or log that is named cannot be
       used
  3    the run cannot be trusted: agents were lost, the schedule was missed, or
       agents began too far apart; with thresholds or --strict also if the load
       generator or the network was the limit; with thresholds on times or
       rates, or --strict, also if the load was not offered, or too briefly to
       tell; with --strict also if agents were lost as the plan allows; a search
       ended at the limit of the load generator; compare cannot judge a limit
  4    anything else: an agent cannot run the plan, a port is in use, a file
       cannot be saved
  130  interrupted
  If several apply, the order is 2, 4, 130, 3, 1, 0.";

/// Finds out what an HTTPS service can carry, and proves that the answer is about the server
#[derive(Debug, Parser)]
#[command(
    name = "coordinator",
    version,
    long_version = command_line::build_words(),
    after_help = EXAMPLES,
    max_term_width = 100
)]
pub struct Cli {
    /// The command with its arguments.
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Reads the command line; if it is wrong, or asks for help, the process ends.
    #[must_use]
    pub fn from_command_line() -> Cli {
        Cli::from_words(std::env::args_os().collect()).unwrap_or_else(|error| error.exit())
    }

    /// Parses these words, the program's name first.
    ///
    /// # Errors
    /// The words are wrong, or ask for help.
    pub(crate) fn from_words(words: Vec<OsString>) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(quick::with_two_dashes(words)).map_err(quick::with_cure)
    }
}

/// The commands of the coordinator.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a plan, all its variants, or its search: wait for agents, start them together, merge
    /// their figures
    Start(Box<StartArgs>),
    /// Print the token by which agents join, also before `start`
    Token(TokenArgs),
    /// Show what a plan would run and each agent's share, or everything that is wrong with it
    Check(CheckArgs),
    /// Load one URL from this machine, without a plan file
    Quick(Box<QuickArgs>),
    /// Print a saved run, or convert it to another format
    Report(ReportArgs),
    /// Show what each rule of a saved run's verdict looked at, and how far it was from deciding
    Explain(ExplainArgs),
    /// Compare two saved runs, or two sets of runs: what differs by more than the noise?
    Compare(CompareArgs),
    /// Make a replay of a log: nginx, Apache, HAR, GoReplay, vegeta
    Import(Box<ImportArgs>),
    /// Print what lets a shell complete this command line
    Completions(command_line::CompletionsArgs),
    /// Write manual pages, for packagers
    #[command(hide = true)]
    Man(command_line::ManArgs),
    /// The process that `start --local` starts for each agent.
    #[cfg(feature = "load")]
    #[command(hide = true)]
    Agent {
        /// The agent's command.
        #[command(subcommand)]
        command: AgentCommand,
    },
    /// The process that `start --local` starts for the built-in target.
    #[cfg(feature = "load")]
    #[command(hide = true)]
    Target(TargetArgs),
}

/// The commands of an agent.
#[cfg(feature = "load")]
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// Join a coordinator.
    Join(Box<agent::JoinArgs>),
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::{CommandFactory as _, Parser as _};

    #[test]
    fn command_line_contradicts_itself_nowhere() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_flag_is_explained() {
        for command in Cli::command()
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
        {
            for argument in command
                .get_arguments()
                .filter(|argument| argument.get_id() != "help")
            {
                let help = argument
                    .get_help()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                assert!(
                    help.len() >= 5,
                    "{} {}: {help:?}",
                    command.get_name(),
                    argument.get_id()
                );
            }
        }
    }

    /// The words of each line that runs `coordinator`, up to the first that is for the shell.
    fn commands(yaml: &str) -> Vec<Vec<&str>> {
        let lines = yaml.lines().map(|line| line.trim_start_matches([' ', '-']));
        let commands = lines.filter(|line| line.starts_with("coordinator "));
        let is_ours = |word: &&str| ![">", ">>", "||", "&&", "|"].contains(word);
        commands
            .map(|line| line.split_whitespace().take_while(is_ours).collect())
            .collect()
    }

    #[test]
    fn examples_for_ci_type_what_is_understood() {
        for yaml in [
            include_str!("../../examples/ci/github-actions.yml"),
            include_str!("../../examples/ci/gitlab-ci.yml"),
        ] {
            let commands = commands(yaml);
            for command in ["check", "start", "report"] {
                let is_there = commands.iter().any(|words| words[1] == command);
                assert!(is_there, "{command}: {commands:?}");
            }
            for words in commands {
                let typed = Cli::try_parse_from(&words);
                assert!(typed.is_ok(), "{words:?}: {}", typed.unwrap_err());
            }
        }
    }
}
