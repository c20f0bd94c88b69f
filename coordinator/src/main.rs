//! The binary `coordinator`.

use std::process::ExitCode;

fn main() -> ExitCode {
    coordinator::run(coordinator::Cli::from_command_line()).into()
}
