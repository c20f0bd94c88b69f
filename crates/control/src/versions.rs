//! What is numbered, and must be the same on both sides.

use crate::wire::cut;
use proto::{Hello, PROTOCOL};

/// The coordinator's versions, which an agent's hello is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versions {
    /// Of its program.
    pub program: String,
    /// Of the encoding of intervals and totals.
    pub encoding: u32,
    /// Of the language of plans.
    pub language: u32,
}

impl Versions {
    /// Why an agent that speaks another wire cannot be a member; nothing if it can.
    pub(crate) fn misfit_of_wire(&self, hello: &Hello) -> Option<String> {
        (hello.protocol != PROTOCOL).then(|| {
            format!(
                "agent {} speaks protocol {} (version {}), this coordinator {PROTOCOL} (version \
                 {}); install the same version on both",
                cut(hello.name.clone()),
                hello.protocol,
                cut(hello.version.clone()),
                self.program
            )
        })
    }

    /// Why a member cannot serve this coordinator's runs; nothing if it can.
    pub(crate) fn misfit_of_runs(&self, hello: &Hello) -> Option<String> {
        let encoding = (
            hello.snapshot_encoding,
            self.encoding,
            "encodes intervals as",
        );
        let language = (
            hello.plan_language,
            self.language,
            "reads plans of language",
        );
        let differs = |(there, here, _): &(u32, u32, &str)| there != here;
        let (there, here, what) = [encoding, language].into_iter().find(differs)?;
        Some(format!(
            "agent {} {what} version {there} (program {}), this coordinator {here} (program {}); \
             install the same version on both",
            cut(hello.name.clone()),
            cut(hello.version.clone()),
            self.program
        ))
    }
}
