//! The wire and only the wire: messages of `control.proto`, and with the feature `service` the gRPC
//! client and server. The generated code is committed, so that a build needs no protoc;
//! `tests/generated.rs` makes and compares it.

#[rustfmt::skip]
#[path = "cannonade.control.v1.rs"]
mod generated;

mod file_part;
mod prepare;

pub use generated::*;
pub use prost::Message;
pub use prost::bytes::Bytes;

/// Version of this wire. An agent and a coordinator that differ in it refuse each other.
pub const PROTOCOL: u32 = 5;

/// No message is larger, in either direction.
pub const MESSAGE_MAX_BYTES: usize = 1 << 20;

/// Content of one part of a file: what is behind it waits for two seconds on 64 kbit/s.
pub const PART_MAX_BYTES: usize = 16 << 10;
