//! What the real programs do together, end to end, as users run them: one program, since most of
//! its tests wait, and those of one topic then wait beside those of another.

mod faults;
mod files;
mod fixtures;
mod fleet;
mod page;
mod pairs;
mod partitions;
mod servers;
mod streams;
