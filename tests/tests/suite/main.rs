//! What the real programs do together, end to end, as users run them. It is one program, so that
//! tests of one topic, which mostly wait, run beside those of the others.

mod exporters;
mod faults;
mod files;
mod fixtures;
mod fleet;
mod page;
mod pairs;
mod partitions;
mod program;
mod servers;
