//! Tests of the crate through its public interface.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod campaign;
mod formats;
mod golden;
mod hlog;
mod page;
mod prometheus;
