//! Where the content of files comes from: by name at the coordinator, by hash at an agent.

use crate::{Files, Sha256};
use std::cell::RefCell;
use std::sync::Arc;

/// Where the content of files comes from. Errors are reasons in words.
pub(crate) trait Source {
    /// Content of the file `name`, whose hash may be known.
    fn content(&self, name: &str, known: Option<Sha256>) -> Result<Arc<[u8]>, String>;
    /// Names of the files in a folder.
    fn list(&self, folder: &str) -> Result<Vec<String>, String>;
}

/// Files by name.
pub(crate) struct Names<'a>(pub(crate) RefCell<&'a mut dyn Files>);

/// Files by hash, as canonical text names them.
pub(crate) struct Hashes<'a>(pub(crate) &'a dyn Fn(Sha256) -> Option<Arc<[u8]>>);

impl Source for Names<'_> {
    fn content(&self, name: &str, _known: Option<Sha256>) -> Result<Arc<[u8]>, String> {
        self.0.borrow_mut().read(name).map(Arc::from)
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, String> {
        self.0.borrow_mut().list(folder)
    }
}

impl Source for Hashes<'_> {
    fn content(&self, _name: &str, known: Option<Sha256>) -> Result<Arc<[u8]>, String> {
        let known = known.ok_or("canonical text names files with their sha256")?;
        (self.0)(known).ok_or_else(|| "no content with its hash is at hand".to_owned())
    }

    fn list(&self, _folder: &str) -> Result<Vec<String>, String> {
        Err("canonical text names each file".to_owned())
    }
}
