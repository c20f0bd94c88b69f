//! How a server is started, and how it reports what it has seen.

use super::{OtherOptions, OtherRow};
use crate::CertificateFiles;
use std::path::Path;
use std::process::Command;

/// Whether CI has the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// `.ci/run` installs it.
    Required,
    /// It is large, or some distributions lack it.
    Optional,
}

/// The input of a command.
pub(super) struct Setting<'a> {
    pub files: &'a CertificateFiles,
    pub options: OtherOptions,
    /// The folder it runs in; its content is in `html`.
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
    /// Files that it needs, where Debian installs them.
    pub modules: &'static [&'static str],
    /// Arguments that print its version.
    pub version: &'static [&'static str],
    /// Completes the command. It must be a single process in the foreground, so that stopping its
    /// id stops everything.
    pub command: fn(&mut Command, &Setting<'_>),
    /// The file in its folder with its requests; `None` if it prints them.
    pub log: Option<&'static str>,
    /// Extracts the requests from complete lines of that file.
    pub rows: fn(&str) -> Vec<OtherRow>,
    /// A file (`None` for its output), and the text that appears there once per completed
    /// handshake.
    pub handshakes: Option<(Option<&'static str>, &'static str)>,
}
