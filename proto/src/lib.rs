//! The wire and only the wire
