//! How a server is started, and how it tells what it has seen.

use super::{OtherOptions, OtherRow};
use crate::CertificateFiles;
use std::path::Path;
use std::process::Command;

/// Whether CI has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// `.ci/run` installs it.
    Required,
    /// It is large, or not every distribution has it.
    Optional,
}

/// What a command is made of.
pub(super) struct Setting<'a> {
    pub files: &'a CertificateFiles,
    pub options: OtherOptions,
    /// Its content is in `html` of this folder, where it runs.
    pub folder: &'a Path,
    pub port: u16,
}

impl Setting<'_> {
    /// Writes a configuration into the folder.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.join(name), text).unwrap();
    }
}

/// A server.
#[derive(Clone, Copy)]
pub(super) struct Recipe {
    pub program: &'static str,
    pub need: Need,
    /// Files that it cannot do without, where Debian has them.
    pub modules: &'static [&'static str],
    /// Arguments with which it tells its version.
    pub version: &'static [&'static str],
    /// Completes the command. It is one process in the foreground, so that its id is all there is
    /// to stop.
    pub command: fn(&mut Command, &Setting<'_>),
    /// File with its requests in its folder; its output where absent.
    pub log: Option<&'static str>,
    /// The requests in whole lines of that.
    pub rows: fn(&str) -> Vec<OtherRow>,
    /// File (its output where absent), and what stands there once for each handshake completed.
    pub handshakes: Option<(Option<&'static str>, &'static str)>,
}
