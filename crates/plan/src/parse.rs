//! Plans and campaigns made of text.

use crate::read::{self, Elsewhere, Hashes, Names};
use crate::{Campaign, Files, MappedFiles, Plan, Problems, Settings, Sha256};
use std::cell::RefCell;
use std::sync::Arc;

impl Plan {
    /// Every key that a plan can have, as a dotted path without indices.
    pub const KEYS: &[&str] = read::KEYS;

    /// Parses a plan as a user writes it; reads the files that it names.
    ///
    /// # Errors
    /// Every problem of the text at once, each with its place.
    pub fn parse(text: &str, files: &mut dyn Files) -> Result<Plan, Problems> {
        read::plan(text, &Names(RefCell::new(files)))
    }

    /// Like [`Plan::parse`], for bytes that may not be text.
    ///
    /// # Errors
    /// Like [`Plan::parse`]; bytes that are not UTF-8, or more than [`Plan::MAX_BYTES`], are
    /// problems too.
    pub fn parse_bytes(bytes: &[u8], files: &mut dyn Files) -> Result<Plan, Problems> {
        Plan::parse(read::utf8(bytes)?, files)
    }

    /// Parses canonical text; `file` returns content by hash. Files that are not sent are not
    /// found.
    ///
    /// # Errors
    /// Like [`Plan::parse`]; content that does not match its hash is a problem too.
    pub fn parse_canonical(
        text: &str,
        file: &dyn Fn(Sha256) -> Option<Arc<[u8]>>,
    ) -> Result<Plan, Problems> {
        Plan::parse_canonical_with(text, file, &|_, _| Err("it is not looked for".to_owned()))
    }

    /// Like [`Plan::parse_canonical`]; `mapped` finds the data files that are not sent.
    ///
    /// # Errors
    /// Like [`Plan::parse_canonical`].
    pub fn parse_canonical_with(
        text: &str,
        file: &dyn Fn(Sha256) -> Option<Arc<[u8]>>,
        mapped: &MappedFiles<'_>,
    ) -> Result<Plan, Problems> {
        read::plan(text, &Hashes { file, mapped })
    }

    /// Parses the output of [`Plan::masked_text`], to interpret a run's results: it contains
    /// neither the content of files nor secrets, so the plan cannot be run, and its digest is
    /// different.
    ///
    /// # Errors
    /// Like [`Plan::parse`].
    pub fn parse_saved(text: &str) -> Result<Plan, Problems> {
        read::plan(text, &Elsewhere)
    }
}

impl Campaign {
    /// Every key of the sections that a single plan does not have, as a dotted path.
    pub const KEYS: &[&str] = read::CAMPAIGN_KEYS;

    /// Parses a file as a user writes it; reads each file that it names once.
    ///
    /// # Errors
    /// Every problem of every variant at once, each reported once and with its place. Problems of
    /// only some variants name these.
    pub fn parse(text: &str, files: &mut dyn Files) -> Result<Campaign, Problems> {
        read::campaign(text, &Names(RefCell::new(files)), Settings::NONE)
    }

    /// Like [`Campaign::parse`], for bytes that may not be text, and with values for its variables.
    ///
    /// # Errors
    /// Like [`Campaign::parse`]; bytes that are not UTF-8, or more than [`Plan::MAX_BYTES`], are
    /// problems too.
    pub fn parse_bytes(
        bytes: &[u8],
        files: &mut dyn Files,
        settings: Settings<'_>,
    ) -> Result<Campaign, Problems> {
        let text = read::utf8(bytes)?;
        read::campaign(text, &Names(RefCell::new(files)), settings)
    }
}
