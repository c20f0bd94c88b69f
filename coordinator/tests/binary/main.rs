//! The binary itself, from its command line to its exit code, against the built-in target.

mod command;
mod interruptions;
mod quick;
mod refusals;
mod remote;
mod runs;
mod terminal;
