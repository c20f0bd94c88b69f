//! The coordinator: starts agents at one instant, merges what they measured, and says what it
//! means. The binary is only [`run`]; everything is here so that it can be tested.

mod calibrated_agents;
mod check;
mod cli;
mod compare;
mod exit;
mod explain;
pub mod fleet;
mod front;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod import;
mod job;
mod launch;
mod local;
mod machine_name;
mod mint;
mod own_agents;
mod plan_file;
mod planned_run;
mod progress;
mod quick;
mod record;
mod render;
#[cfg(any(test, feature = "fuzzing", feature = "rehearsal"))]
mod sample_run;
mod saved_result;
mod set_args;
mod start;
mod start_clock;
#[cfg(feature = "load")]
mod target_process;
mod terminal;
mod token;
mod token_file;

pub use cli::Cli;
pub use exit::Exit;
#[cfg(feature = "rehearsal")]
pub use record::RecordRehearsal;
#[cfg(feature = "rehearsal")]
pub use run_folder::FolderError;

use clap::CommandFactory as _;
#[cfg(feature = "load")]
use cli::AgentCommand;
use cli::Command;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Carries out a command line, and returns how to exit.
#[must_use]
pub fn run(cli: Cli) -> Exit {
    // A panic has been reported by then, and unwinding has stopped the processes that were started.
    catch_unwind(AssertUnwindSafe(|| obey(cli))).unwrap_or(Exit::Failed)
}

fn obey(cli: Cli) -> Exit {
    let exit = match cli.command {
        Command::Start(args) => start::start(*args),
        Command::Token(args) => token::token(&args),
        Command::Check(args) => check::check(&args),
        Command::Quick(args) => quick::quick(*args),
        Command::Report(args) => render::report(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Import(args) => import::import(&args),
        #[cfg(feature = "load")]
        Command::Agent {
            command: AgentCommand::Join(args),
        } => agent::join(&args).map(|()| Exit::Passed),
        Command::Completions(args) => {
            command_line::completions(&args, "coordinator", &Cli::command()).map(|()| Exit::Passed)
        }
        Command::Man(args) => command_line::man(&args, Cli::command()).map(|()| Exit::Passed),
        #[cfg(feature = "load")]
        Command::Target(args) => target_process::serve(&args),
    };
    exit.unwrap_or_else(|error| {
        terminal::say(format_args!("error: {error:#}"));
        Exit::Failed
    })
}
