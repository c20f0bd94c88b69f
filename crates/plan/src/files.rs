//! Where the files come from that a plan names, and who encodes messages by them.

use crate::{MessageEncoder, Sha256};
use data::MappedFile;
use std::sync::Arc;

/// The source of files' contents: the plan's folder at the coordinator, received chunks at an
/// agent.
pub trait Files {
    /// Returns the content of the file that the plan calls `name`, or why it is not available.
    ///
    /// # Errors
    /// A reason in words, such as "no such file".
    fn read(&mut self, name: &str) -> Result<Arc<[u8]>, String>;

    /// The size of the file `name` in bytes; `None` if it is not known before it is read.
    fn size(&mut self, _name: &str) -> Option<u64> {
        None
    }

    /// Maps the file `name`, which can be too large to be held.
    ///
    /// # Errors
    /// A reason in words, such as "no such file".
    fn map(&mut self, _name: &str) -> Result<MappedFile, String> {
        Err("files cannot be mapped here".to_owned())
    }

    /// Lists the names of the files in a folder, as [`Files::read`] takes them, in any order.
    ///
    /// # Errors
    /// A reason in words, such as "no such folder".
    fn list(&mut self, _folder: &str) -> Result<Vec<String>, String> {
        Err("folders cannot be listed here".to_owned())
    }

    /// What encodes messages of gRPC calls by descriptors among these files; `None` if nothing
    /// does.
    fn encoder(&self) -> Option<MessageEncoder> {
        None
    }
}

/// A source of data files that are too large to be held, by the name that the plan calls them and
/// the SHA-256 of their content, which is proved. Errors are reasons in words.
pub type MappedFiles<'a> = dyn Fn(&str, Sha256) -> Result<MappedFile, String> + 'a;

/// No files at all: for plans that name none.
#[derive(Debug, Clone, Copy)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&mut self, _name: &str) -> Result<Arc<[u8]>, String> {
        Err("no such file".to_owned())
    }
}
