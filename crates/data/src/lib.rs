//! Data files as tables: rows found by number, and cells escaped for where they go in a request.
//!
//! A table keeps its file's bytes as they are, and eight bytes per row beside them; sixteen if each
//! row takes several lines. The bytes are held, or mapped ([`MappedFile`]). A cell is found by
//! going through its row, and is escaped while it is copied, so that nothing is allocated.

mod data_error;
mod delimited;
mod escape;
mod gzip;
mod held_file;
mod json_lines;
mod layout;
mod mapped_file;
mod row_lines;
mod table;

pub use data_error::DataError;
pub use escape::Escape;
pub use gzip::decompress;
pub use held_file::read_held;
pub use layout::{DataFormat, FileLayout};
pub use mapped_file::{MapError, MappedFile};
pub use table::{DataTable, TableCell};

/// Longest row, in bytes.
pub const MAX_ROW_BYTES: usize = 1 << 20;
/// Most columns of a table.
pub const MAX_COLUMNS: usize = 1000;
/// Most lines of a file, and so most rows.
pub const MAX_LINES: u64 = u32::MAX as u64;
/// Most bytes of a file once it is decompressed.
pub const MAX_BYTES: usize = 1 << 30;
