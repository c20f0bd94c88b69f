//! Everything that reads foreign bytes, with arbitrary input. A target is a function that takes
//! bytes, and panics if a property does not hold. It does not know where the bytes come from.
//!
//! Two mutators drive the targets: the one in `tests/moment.rs` on stable Rust, and libFuzzer (see
//! `fuzz/libfuzzer`). docs/TESTING.md has the commands.

mod content;
mod fleet;
mod grpc_call;
mod grpc_message;
mod http1;
mod http2;
mod measured;
mod messages;
pub mod mutation;
mod plans;
mod records;
mod saved;
pub mod script;
mod session;
mod traffic;
mod websocket;
mod words;

pub use content::content;
pub use fleet::fleet;
pub use grpc_call::grpc_call;
pub use grpc_message::grpc_message;
pub use http1::http1;
pub use http2::http2;
pub use measured::{snapshot, totals};
pub use messages::messages;
pub use plans::plan;
pub use records::records;
pub use saved::{campaign, result, run_log};
pub use session::session;
pub use traffic::{log, log_format};
pub use websocket::websocket;
pub use words::{address, policy, token};

/// A function that must not panic, whatever the bytes.
pub type Target = fn(&[u8]);

/// Every target by its name, which is that of its folder in `fuzz/corpus`.
pub const TARGETS: [(&str, Target); 21] = [
    ("address", address),
    ("campaign", campaign),
    ("content", content),
    ("fleet", fleet),
    ("grpc_call", grpc_call),
    ("grpc_message", grpc_message),
    ("http1", http1),
    ("http2", http2),
    ("log", log),
    ("log_format", log_format),
    ("messages", messages),
    ("plan", plan),
    ("policy", policy),
    ("records", records),
    ("result", result),
    ("run_log", run_log),
    ("session", session),
    ("snapshot", snapshot),
    ("token", token),
    ("totals", totals),
    ("websocket", websocket),
];
