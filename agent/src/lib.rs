//! A load machine: joins a coordinator and fires what it is told. A library too, so that a
//! coordinator can start agents of its own by running itself again.

mod hangup;
mod join;
pub mod link;
mod news;
mod runner;
mod sampling;

pub use join::{JoinArgs, join, parse_allowed};
pub use news::say;
