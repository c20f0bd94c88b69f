//! A coordinator's fleet, along hand-made timelines.

mod coordinator;
mod ending;
mod joining;
mod losses;
mod monitors;
mod resumed;
mod several_runs;
mod shares;
mod starting;
mod tokens;
mod uploads;
