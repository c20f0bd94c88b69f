//! The binary `agent`: a load machine.

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    match agent::run(&agent::MachineCli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            agent::say(format_args!("{error:#}"));
            ExitCode::from(4)
        }
    }
}
