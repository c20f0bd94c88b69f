//! Reads fields that name a file, with or without its hash.

use crate::read::field::Field;
use crate::read::file_source::FileContent;
use crate::read::node::NodeValue;
use crate::read::section::PlanSection;
use crate::{File, PrivateFile, Sha256};
use std::sync::Arc;

impl<'a> Field<'a> {
    /// Reads a file of at most `max_bytes`, given by name or as `{ file = "…", sha256 = "…" }`.
    pub(crate) fn file(&self, max_bytes: usize) -> Option<File> {
        let (name, known) = self.file_name()?;
        let content = self.context.content(name, known);
        let content = self.check(name, known, max_bytes, content)?;
        Some(File {
            name: name.to_owned(),
            sha256: content.sha256,
            content: Arc::clone(content.bytes.reveal()),
        })
    }

    /// Like [`Field::file`], for a private file.
    pub(crate) fn private_file(&self, max_bytes: usize) -> Option<PrivateFile> {
        let (name, known) = self.file_name()?;
        self.private_file_of_name(name, known, max_bytes)
    }

    /// Reads the private file `name` on behalf of this field.
    pub(crate) fn private_file_of_name(
        &self,
        name: &str,
        known: Option<Sha256>,
        max_bytes: usize,
    ) -> Option<PrivateFile> {
        let elsewhere = |sha256| PrivateFile {
            name: name.to_owned(),
            sha256,
            content: None,
        };
        let content = match (self.context.private(name, known), known) {
            (Ok(None), Some(sha256)) => return Some(elsewhere(sha256)),
            (content, _) => content
                .and_then(|content| content.ok_or_else(|| "its hash is not stated".to_owned())),
        };
        let content = self.check(name, known, max_bytes, content)?;
        Some(PrivateFile {
            content: Some(content.bytes),
            ..elsewhere(content.sha256)
        })
    }

    /// The name of a file and its hash, if stated.
    pub(crate) fn file_name(&self) -> Option<(&'a str, Option<Sha256>)> {
        match &self.node.value {
            NodeValue::Table(_) => self.section().and_then(name_and_hash),
            value if matches!(value, NodeValue::Text(_)) || self.node.variable.is_some() => {
                self.text("the name of a file").map(|name| (name, None))
            }
            _ => {
                self.wrong_type(
                    "the name of a file",
                    "one such as \"ca.pem\", relative to the plan",
                );
                None
            }
        }
    }

    /// Returns the content if it is available, small enough, and matches the stated hash.
    fn check(
        &self,
        name: &str,
        known: Option<Sha256>,
        max_bytes: usize,
        content: Result<FileContent, String>,
    ) -> Option<FileContent> {
        match content {
            Err(why) => self.problem(format_args!(
                "{name:?} cannot be read: {why}; paths are relative to the plan file"
            )),
            Ok(content) if content.bytes.reveal().len() > max_bytes => {
                self.problem(format_args!(
                    "{name:?} has {} bytes; use a file of at most {max_bytes}",
                    content.bytes.reveal().len()
                ));
            }
            Ok(FileContent { sha256, .. }) if known.is_some_and(|known| known != sha256) => self
                .problem(format_args!(
                    "{name:?} has the SHA-256 {sha256}, which is not the stated one; correct \
                     sha256, or the file"
                )),
            Ok(content) => return Some(content),
        }
        None
    }
}

fn name_and_hash(section: PlanSection<'_>) -> Option<(&str, Option<Sha256>)> {
    let name = section.field("file");
    if name.is_none() {
        section.problem("names no file; write { file = \"ca.pem\" }");
    }
    let name = name.and_then(|field| field.text("the name of a file"));
    let known = section.read("sha256", |field| field.parse("64 hexadecimal digits"));
    section.finish();
    name.map(|name| (name, known))
}
