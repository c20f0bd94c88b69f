//! Whose limit was it? Each case stages a limit of the client, of the server or of the network with
//! real servers, and the verdict must be that one, or none: a wrong one is worse than none. It
//! measures, so it runs alone; it takes minutes, so it is asked for by `-- --ignored`. `REPEAT=10`
//! plays each case ten times.
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
