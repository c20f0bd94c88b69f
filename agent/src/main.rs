//! The binary `agent`: a load machine.

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// A load machine of Cannonade: it sends the load that its coordinator asks for, and nothing else
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: JoinCommand,
}

#[derive(Debug, Subcommand)]
enum JoinCommand {
    /// Join a coordinator and serve run after run
    Join(agent::JoinArgs),
}

fn main() -> ExitCode {
    let JoinCommand::Join(join) = Arguments::parse().command;
    match agent::join(&join) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            agent::say(format_args!("{error:#}"));
            ExitCode::from(4)
        }
    }
}
