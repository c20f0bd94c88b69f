//! The client's side of one HTTP/2 connection (RFC 9113), without I/O: plaintext in, frames and
//! events out.
//!
//! A connection has a fixed number of *lanes*; each carries one stream at a time. Bodies are
//! counted and discarded in place. Outgoing frames are gathered in `out`, so that all requests
//! triggered by the answers of one read leave together.

mod connection;
mod dynamic_table;
mod field;
mod field_texts;
mod frame;
mod frame_budget;
mod frame_reader;
mod header_blocks;
mod hpack;
mod hpack_error;
mod hpack_string;
mod huffman;
mod known_block;
mod peer;
mod response_fields;
mod static_table;

pub(crate) use connection::{Http2Connection, Violation};
pub(crate) use frame::code::NO_ERROR;
pub(crate) use header_blocks::HeaderBlocks;

#[cfg(test)]
mod tests;
