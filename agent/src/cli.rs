//! The command line of a load machine as it is typed.

use crate::calibrate::{CalibrateArgs, calibrate};
use crate::join::{JoinArgs, join};
use crate::monitor::{MonitorArgs, monitor};
use clap::{CommandFactory as _, Parser, Subcommand};
use command_line::{CompletionsArgs, ManArgs, build_words, completions, man};

/// A load machine of Cannonade: it sends the load that its coordinator asks for, and nothing else
#[derive(Debug, Parser)]
#[command(name = "agent", version, long_version = build_words(), about, max_term_width = 100)]
pub struct MachineCli {
    #[command(subcommand)]
    command: MachineCommand,
}

#[derive(Debug, Subcommand)]
enum MachineCommand {
    /// Join a coordinator and serve run after run
    Join(JoinArgs),
    /// Join a coordinator and watch this machine during its runs; sends no load
    Monitor(MonitorArgs),
    /// Measure what this machine's load threads can do, and keep it for `join`
    Calibrate(CalibrateArgs),
    /// Print what lets a shell complete this command line
    Completions(CompletionsArgs),
    /// Write manual pages, for packagers
    #[command(hide = true)]
    Man(ManArgs),
}

/// Carries out a command line.
///
/// # Errors
/// If the command cannot do what it was asked for.
pub fn run(cli: &MachineCli) -> anyhow::Result<()> {
    match &cli.command {
        MachineCommand::Join(args) => join(args),
        MachineCommand::Monitor(args) => monitor(args),
        MachineCommand::Calibrate(args) => calibrate(args),
        MachineCommand::Completions(args) => completions(args, "agent", &MachineCli::command()),
        MachineCommand::Man(args) => man(args, MachineCli::command()),
    }
}

#[cfg(test)]
mod tests {
    use super::MachineCli;
    use clap::CommandFactory as _;

    #[test]
    fn command_line_contradicts_itself_nowhere() {
        MachineCli::command().debug_assert();
    }
}
