//! Sources of files' contents: by name at the coordinator, by hash at an agent.

use crate::{DataPlace, File, Files, MappedFiles, MessageEncoder, Sha256};
use data::{DataError, DataTable, FileLayout, MappedFile};
use secret::Secret;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use traffic::ReplayLog;

/// A source of files' contents. Errors are reasons in words.
pub(crate) trait FileSource {
    /// Returns the content of the file `name`, whose hash may be known.
    fn content(&self, name: &str, known: Option<Sha256>) -> Result<FileContent, String>;
    /// Like [`FileSource::content`], for a private file: `None` if only its hash is known here.
    fn private(&self, name: &str, known: Option<Sha256>) -> Result<Option<FileContent>, String> {
        self.content(name, known).map(Some)
    }
    /// Lists the files in a folder.
    fn list(&self, folder: &str) -> Result<Vec<String>, String>;
    /// The size of the file `name` in bytes, if it is known before the file is read.
    fn size(&self, _name: &str) -> Option<u64> {
        None
    }
    /// Maps the data file `name`, whose hash may be known: `None` if only its hash is known here.
    fn map(&self, name: &str, known: Option<Sha256>) -> Result<Option<MappedFile>, String>;
    /// Reads a data file as a table.
    fn table(
        &self,
        file: &File,
        place: &DataPlace,
        layout: &FileLayout,
    ) -> Result<DataTable, DataError> {
        match place.mapped() {
            Some(mapped) => DataTable::read_mapped(mapped, layout),
            None => DataTable::read(Arc::clone(&file.content), layout),
        }
    }
    /// Reads a replay file.
    fn replay_log(&self, file: &File) -> Result<ReplayLog, String> {
        let text = data::decompress(Arc::clone(&file.content)).map_err(|why| why.to_string())?;
        ReplayLog::read(&text).map_err(|why| why.to_string())
    }
    /// What encodes messages of gRPC calls; `None` where texts are canonical, which have them
    /// encoded.
    fn encoder(&self) -> Option<MessageEncoder> {
        None
    }
    /// Whether the plan is to be run, for which its secrets are needed.
    fn is_to_run(&self) -> bool {
        true
    }
    /// Whether the text is canonical: it was checked as the user wrote it.
    fn is_canonical(&self) -> bool {
        false
    }
}

/// Bytes of a file, which can be a key, with their hash.
#[derive(Debug, Clone)]
pub(crate) struct FileContent {
    pub(crate) bytes: Secret<Arc<[u8]>>,
    pub(crate) sha256: Sha256,
}

impl FileContent {
    fn new(bytes: Arc<[u8]>) -> FileContent {
        FileContent {
            sha256: Sha256::hash(&bytes),
            bytes: Secret::new(bytes),
        }
    }
}

/// Files found by name.
pub(crate) struct Names<'a>(pub(crate) RefCell<&'a mut dyn Files>);

/// Files found by hash, as canonical text refers to them.
pub(crate) struct Hashes<'a> {
    pub(crate) file: &'a dyn Fn(Sha256) -> Option<Arc<[u8]>>,
    pub(crate) mapped: &'a MappedFiles<'a>,
}

impl FileSource for Names<'_> {
    fn content(&self, name: &str, _known: Option<Sha256>) -> Result<FileContent, String> {
        self.0.borrow_mut().read(name).map(FileContent::new)
    }

    fn size(&self, name: &str) -> Option<u64> {
        self.0.borrow_mut().size(name)
    }

    fn map(&self, name: &str, _known: Option<Sha256>) -> Result<Option<MappedFile>, String> {
        self.0.borrow_mut().map(name).map(Some)
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, String> {
        self.0.borrow_mut().list(folder)
    }

    fn encoder(&self) -> Option<MessageEncoder> {
        self.0.borrow().encoder()
    }
}

impl FileSource for Hashes<'_> {
    fn content(&self, _name: &str, known: Option<Sha256>) -> Result<FileContent, String> {
        let known = known.ok_or("canonical text names files with their sha256")?;
        (self.file)(known)
            .map(FileContent::new)
            .ok_or_else(|| "no content with its hash is at hand".to_owned())
    }

    fn private(&self, name: &str, known: Option<Sha256>) -> Result<Option<FileContent>, String> {
        match known {
            Some(known) => Ok((self.file)(known).map(FileContent::new)),
            None => self.content(name, known).map(Some),
        }
    }

    fn map(&self, name: &str, known: Option<Sha256>) -> Result<Option<MappedFile>, String> {
        let known = known.ok_or("canonical text names files with their sha256")?;
        (self.mapped)(name, known).map(Some)
    }

    fn list(&self, _folder: &str) -> Result<Vec<String>, String> {
        Err("canonical text names each file".to_owned())
    }

    fn is_canonical(&self) -> bool {
        true
    }
}

/// Substitutes the files of a plan that was checked before and is only read again: the stated hash
/// identifies them, and their content is not examined.
pub(crate) struct Elsewhere;

impl FileSource for Elsewhere {
    fn content(&self, _name: &str, known: Option<Sha256>) -> Result<FileContent, String> {
        // Bodies can be any text, and roots must look like a certificate.
        let bytes: Arc<[u8]> = Arc::from(&b"-----BEGIN CERTIFICATE-----"[..]);
        Ok(FileContent {
            sha256: known.ok_or("a saved plan names files with their sha256")?,
            bytes: Secret::new(bytes),
        })
    }

    fn private(&self, _name: &str, known: Option<Sha256>) -> Result<Option<FileContent>, String> {
        known
            .map(|_| None)
            .ok_or_else(|| "a saved plan names files with their sha256".to_owned())
    }

    fn map(&self, _name: &str, _known: Option<Sha256>) -> Result<Option<MappedFile>, String> {
        Ok(None)
    }

    fn list(&self, _folder: &str) -> Result<Vec<String>, String> {
        Err("a saved plan names each file".to_owned())
    }

    fn is_to_run(&self) -> bool {
        false
    }

    fn is_canonical(&self) -> bool {
        true
    }
}

/// Files that are read once even if every variant names them, so that all variants have the same
/// bytes.
pub(crate) struct Once<'a> {
    source: &'a dyn FileSource,
    contents: RefCell<BTreeMap<String, Result<FileContent, String>>>,
    maps: RefCell<BTreeMap<String, Result<Option<MappedFile>, String>>>,
    lists: RefCell<BTreeMap<String, Result<Vec<String>, String>>>,
    tables: RefCell<Vec<KnownTable>>,
    logs: RefCell<BTreeMap<Sha256, Result<ReplayLog, String>>>,
}

/// A data file, whether it is sent, how it is read, and its table.
type KnownTable = (Sha256, bool, FileLayout, Result<DataTable, DataError>);

impl<'a> Once<'a> {
    pub(crate) fn new(source: &'a dyn FileSource) -> Once<'a> {
        Once {
            source,
            contents: RefCell::default(),
            maps: RefCell::default(),
            lists: RefCell::default(),
            tables: RefCell::default(),
            logs: RefCell::default(),
        }
    }
}

impl FileSource for Once<'_> {
    fn content(&self, name: &str, known: Option<Sha256>) -> Result<FileContent, String> {
        let mut contents = self.contents.borrow_mut();
        contents
            .entry(name.to_owned())
            .or_insert_with(|| self.source.content(name, known))
            .clone()
    }

    fn size(&self, name: &str) -> Option<u64> {
        self.source.size(name)
    }

    fn map(&self, name: &str, known: Option<Sha256>) -> Result<Option<MappedFile>, String> {
        self.maps
            .borrow_mut()
            .entry(name.to_owned())
            .or_insert_with(|| self.source.map(name, known))
            .clone()
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, String> {
        self.lists
            .borrow_mut()
            .entry(folder.to_owned())
            .or_insert_with(|| self.source.list(folder))
            .clone()
    }

    fn table(
        &self,
        file: &File,
        place: &DataPlace,
        layout: &FileLayout,
    ) -> Result<DataTable, DataError> {
        let mut tables = self.tables.borrow_mut();
        let key = (&file.sha256, &place.is_sent(), layout);
        let known = tables.iter().find(|(a, b, c, _)| (a, b, c) == key);
        if let Some((_, _, _, table)) = known {
            return table.clone();
        }
        let table = self.source.table(file, place, layout);
        let known = (file.sha256, place.is_sent(), layout.clone(), table.clone());
        tables.push(known);
        table
    }

    fn encoder(&self) -> Option<MessageEncoder> {
        self.source.encoder()
    }

    fn replay_log(&self, file: &File) -> Result<ReplayLog, String> {
        let mut logs = self.logs.borrow_mut();
        let log = logs.entry(file.sha256);
        log.or_insert_with(|| self.source.replay_log(file)).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_file_are_not_in_its_debug_text() {
        let content = FileContent::new(b"PRIVATE KEY".as_slice().into());
        assert_eq!(
            format!("{content:?}"),
            format!("FileContent {{ bytes: ***, sha256: {} }}", content.sha256)
        );
    }
}
