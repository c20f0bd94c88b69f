//! Odd servers and odd ways to them: what crosses between the client and nginx is cut, or torn into
//! pieces.

mod certificates;
mod early_answers;
mod ipv6;
mod losses;
mod records;
mod relay;
mod resets;
