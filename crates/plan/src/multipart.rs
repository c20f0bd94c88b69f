//! Bodies of several parts (RFC 7578).

use crate::{File, Sha256, Template};
use std::fmt::Write as _;

/// Digits of the hash in a boundary: as many as cannot occur by chance.
const BOUNDARY_DIGITS: usize = 32;

/// A body of several parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Multipart {
    /// At least one, in order.
    pub parts: Vec<BodyPart>,
}

/// A part of a body.
#[derive(Debug, Clone, PartialEq)]
pub struct BodyPart {
    /// Name of the form's field.
    pub name: String,
    /// What it holds.
    pub content: PartContent,
    /// Name of the file, as the server sees it.
    pub filename: Option<String>,
    /// Media type; the server assumes `text/plain` without it.
    pub media_type: Option<String>,
}

/// What a part holds.
#[derive(Debug, Clone, PartialEq)]
pub enum PartContent {
    /// Text from the plan.
    Text(Template),
    /// A file, sent as it is.
    File(File),
}

impl Multipart {
    /// The boundary between parts. It follows from what the plan says of them.
    #[must_use]
    pub fn boundary(&self) -> String {
        let mut text = String::new();
        for (number, part) in self.parts.iter().enumerate() {
            let content = match &part.content {
                PartContent::Text(text) => text.to_string(),
                PartContent::File(file) => file.sha256.to_string(),
            };
            // Writing to a string cannot fail.
            let _ = write!(text, "{number}{}\n{content}\n", part.name);
        }
        let hash = Sha256::hash(text.as_bytes()).to_string();
        format!("cannonade-{}", &hash[..BOUNDARY_DIGITS])
    }

    /// What stands before part `number`, from its delimiter to the empty line.
    #[must_use]
    pub fn head(&self, number: usize) -> String {
        let part = &self.parts[number];
        let line = if number > 0 { "\r\n" } else { "" };
        let mut head = format!(
            "{line}--{}\r\nContent-Disposition: form-data; name=\"{}\"",
            self.boundary(),
            part.name
        );
        // Writing to a string cannot fail.
        if let Some(filename) = &part.filename {
            let _ = write!(head, "; filename=\"{filename}\"");
        }
        if let Some(media_type) = &part.media_type {
            let _ = write!(head, "\r\nContent-Type: {media_type}");
        }
        head + "\r\n\r\n"
    }

    /// What stands behind the last part.
    #[must_use]
    pub fn end(&self) -> String {
        format!("\r\n--{}--\r\n", self.boundary())
    }

    /// Its texts.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &Template> {
        self.parts.iter().filter_map(|part| match &part.content {
            PartContent::Text(text) => Some(text),
            PartContent::File(_) => None,
        })
    }

    /// Its files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.parts.iter().filter_map(|part| match &part.content {
            PartContent::File(file) => Some(file),
            PartContent::Text(_) => None,
        })
    }
}
