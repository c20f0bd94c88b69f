//! Odd servers and odd paths to them: the bytes between the client and nginx are cut off, or torn
//! into pieces.

mod certificates;
mod early_answers;
mod ipv6;
mod losses;
mod records;
mod relay;
mod resets;
