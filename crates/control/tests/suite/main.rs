//! State machines along timelines that are made by hand. `simulation` makes theirs at random.

mod fleet;
mod session;
