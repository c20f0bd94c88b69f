//! Tests of the engine against sound and broken servers from the `target` crate.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod expect_continue;
mod faults;
mod grpc;
mod hand_written;
mod http2_servers;
mod loops;
mod losses;
mod lost_connections;
mod mix;
mod several_addresses;
mod support;
mod too_early;
mod uploads;
