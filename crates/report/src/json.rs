//! Reads and writes `result.json`: the document itself, with one line per fact or row.

mod layout;

use analysis::{CampaignDocument, Document};
use layout::JsonLayout;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Why a text cannot be read as a document.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not JSON, or not a document.
    #[error(
        "not a result of this tool, or cut off: {0}; name another run, or bring the file again \
         from where it was copied"
    )]
    Malformed(serde_json::Error),
    /// It was written by a newer version.
    #[error(
        "the result has schema {found}, this version reads up to {known}; use the version that \
         wrote it, or a newer one"
    )]
    Newer {
        /// The schema it states.
        found: u32,
        /// The newest schema that this version reads.
        known: u32,
    },
}

pub(crate) fn render(document: &impl Serialize) -> String {
    let mut text = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, JsonLayout::default());
    document
        .serialize(&mut serializer)
        .expect("a document holds no map with keys that JSON has not");
    text.push(b'\n');
    String::from_utf8(text).expect("JSON is text")
}

/// Reads a `result.json`.
///
/// # Errors
/// The text is not a document, or has a newer schema.
pub fn read(text: &[u8]) -> Result<Document, ReadError> {
    read_up_to(Document::SCHEMA, text)
}

/// Reads a `campaign.json`.
///
/// # Errors
/// As [`read`].
pub fn read_campaign(text: &[u8]) -> Result<CampaignDocument, ReadError> {
    read_up_to(CampaignDocument::SCHEMA, text)
}

fn read_up_to<T: DeserializeOwned>(known: u32, text: &[u8]) -> Result<T, ReadError> {
    #[derive(Deserialize)]
    struct Version {
        schema: u32,
    }
    let Version { schema } = serde_json::from_slice(text).map_err(ReadError::Malformed)?;
    if schema > known {
        return Err(ReadError::Newer {
            found: schema,
            known,
        });
    }
    serde_json::from_slice(text).map_err(ReadError::Malformed)
}
