//! What renderings are compared with. `UPDATE_GOLDEN=1` rewrites them; review the difference.

use analysis::{CampaignDocument, Document};
use report::{read, read_campaign};
use std::path::PathBuf;

/// Where a golden file is.
pub fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

/// The document of a run.
pub fn document() -> Document {
    read(&std::fs::read(golden("result-v1.json")).unwrap()).unwrap()
}

/// The document of a campaign.
pub fn campaign() -> CampaignDocument {
    read_campaign(&std::fs::read(golden("campaign-v1.json")).unwrap()).unwrap()
}

/// Asserts that a golden file has this text.
pub fn assert_golden(name: &str, text: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(golden(name), text).unwrap();
    }
    let expected = std::fs::read_to_string(golden(name)).unwrap_or_default();
    assert!(text == expected, "{name} differs; rendered:\n{text}");
}
