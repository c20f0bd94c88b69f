//! The binary `agent`: a load machine.

use clap::{CommandFactory as _, Parser, Subcommand};
use std::process::ExitCode;

/// A load machine of Cannonade: it sends the load that its coordinator asks for, and nothing else
#[derive(Debug, Parser)]
#[command(name = "agent", version, about, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: MachineCommand,
}

#[derive(Debug, Subcommand)]
enum MachineCommand {
    /// Join a coordinator and serve run after run
    Join(agent::JoinArgs),
    /// Join a coordinator and watch this machine during its runs; sends no load
    Monitor(agent::MonitorArgs),
    /// Measure what this machine's load threads can do, and keep it for `join`
    Calibrate(agent::CalibrateArgs),
    /// Print what lets a shell complete this command line
    Completions(agent::CompletionsArgs),
    /// Write manual pages, for packagers
    #[command(hide = true)]
    Man(agent::ManArgs),
}

fn main() -> ExitCode {
    let ended = match Arguments::parse().command {
        MachineCommand::Join(join) => agent::join(&join),
        MachineCommand::Monitor(monitor) => agent::monitor(&monitor),
        MachineCommand::Calibrate(calibrate) => agent::calibrate(&calibrate),
        MachineCommand::Completions(args) => {
            agent::completions(&args, "agent", &Arguments::command())
        }
        MachineCommand::Man(args) => agent::man(&args, Arguments::command()),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            agent::say(format_args!("{error:#}"));
            ExitCode::from(4)
        }
    }
}
