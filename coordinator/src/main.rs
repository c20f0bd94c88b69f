//! The binary `coordinator`.

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    coordinator::run(coordinator::Cli::parse()).into()
}
