//! The messages of `control.proto` and, with the feature `service`, the gRPC client and server. The
//! generated code is committed, so that a build needs no protoc; `tests/generated.rs` generates it
//! again and compares.

#[rustfmt::skip]
#[path = "cannonade.control.v1.rs"]
mod generated;

mod file_part;
mod prepare;
mod run_token;

pub use generated::*;
pub use prost::Message;
pub use prost::bytes::Bytes;

/// Version of the wire protocol. An agent and a coordinator with different versions refuse each
/// other.
pub const PROTOCOL: u32 = 7;

/// The largest message, in either direction.
pub const MESSAGE_MAX_BYTES: usize = 1 << 20;

/// Content of one part of a file. On 64 kbit/s it delays the messages behind it by two seconds.
pub const PART_MAX_BYTES: usize = 16 << 10;
