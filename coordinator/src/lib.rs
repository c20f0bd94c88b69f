//! Starts agents at one instant and merges what they measured.

pub mod fleet;
