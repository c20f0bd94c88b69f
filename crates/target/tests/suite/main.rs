//! The target from outside: what goes over the wire, and that its counts agree.

#![expect(
    clippy::unwrap_used,
    reason = "the suite is test code throughout, helpers too"
)]

mod answers;
mod client;
mod curl;
mod faults;
mod paces;
mod tls;
