//! Versions that must be the same on both sides.

use crate::wire::cut;
use proto::{Hello, PROTOCOL, Role};

/// The coordinator's versions, with which an agent's hello is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versions {
    /// Version of its program.
    pub program: String,
    /// Version of the encoding of intervals and totals.
    pub encoding: u32,
    /// Version of the language of plans.
    pub language: u32,
}

impl Versions {
    /// Why an agent with another wire protocol cannot be a member; `None` if it can.
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

    /// Why a member cannot serve this coordinator's runs; `None` if it can, or if it is a monitor,
    /// which reads no plan and sends no interval.
    pub(crate) fn misfit_of_runs(&self, hello: &Hello) -> Option<String> {
        if hello.role() == Role::Monitor {
            return None;
        }
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
