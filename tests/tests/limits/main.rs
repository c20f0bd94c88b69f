//! Each case stages a limit of the client, of the server or of the network with real servers, and
//! the verdict must name it, or name none: a wrong verdict is worse than none. The cases measure,
//! so they run alone; they take minutes, so they only run with `-- --ignored`. `REPEAT=10` plays
//! each case ten times.
#![expect(
    clippy::unwrap_used,
    reason = "the suite is test code throughout, helpers too"
)]

mod client;
mod load;
mod network;
mod nobody;
mod plan;
mod right;
mod server;
mod stage;
mod unwanted;
