//! Documents written by hand, rendered in every format and compared with golden files.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod campaign;
mod formats;
mod golden;
mod hlog;
mod page;
mod prometheus;
