//! The binary itself, from its command line to its exit code, against the built-in target.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod bad_folders;
mod campaigns;
mod command;
mod commands;
mod dashboard;
mod imports;
mod interruptions;
mod metrics;
mod outcome;
mod quick;
mod refusals;
mod remote;
mod runs;
mod saved_plans;
mod searches;
mod secrets;
mod terminal;
mod viewer;
