//! One reading of a text: its problems, remarks and files.

use crate::read::duplicates;
use crate::read::file_source::{FileContent, FileSource};
use crate::read::found_problem::{FoundProblem, FoundProblems, place};
use crate::read::node::{self, Node, Twice};
use crate::read::plan_names::PlanNames;
use crate::read::variables::{NO_VARIABLES, Variables};
use crate::{
    Auth, DataFile, DataPlace, File, MadeValue, MessageEncoder, Problems, Settings, Sha256,
};
use data::{DataError, DataTable, FileLayout, MappedFile};
use std::cell::{OnceCell, RefCell};
use std::sync::Arc;
use traffic::ReplayLog;

/// One reading of a text.
pub(crate) struct Context<'a> {
    text: &'a str,
    findings: RefCell<FoundProblems>,
    notes: RefCell<Vec<String>>,
    source: &'a dyn FileSource,
    settings: Settings<'a>,
    variables: OnceCell<Variables>,
    data: OnceCell<Vec<Arc<DataFile>>>,
    made: OnceCell<Vec<Arc<MadeValue>>>,
    auth: OnceCell<Vec<Arc<Auth>>>,
    captures: OnceCell<Vec<Arc<str>>>,
    cure: UnknownKeyCure,
}

/// Suggests what to write instead of an unknown key, given its table's path, the key, and the
/// table's known keys. Passed in because it knows every section, and each section knows the
/// context.
pub(crate) type UnknownKeyCure = fn(&str, &str, &[&str]) -> String;

impl<'a> Context<'a> {
    pub(crate) fn new(
        text: &'a str,
        source: &'a dyn FileSource,
        settings: Settings<'a>,
        cure: UnknownKeyCure,
    ) -> Context<'a> {
        Context {
            text,
            findings: RefCell::default(),
            notes: RefCell::default(),
            source,
            settings,
            variables: OnceCell::new(),
            data: OnceCell::new(),
            made: OnceCell::new(),
            auth: OnceCell::new(),
            captures: OnceCell::new(),
            cure,
        }
    }

    /// What is set from outside.
    pub(crate) fn settings(&self) -> Settings<'a> {
        self.settings
    }

    /// The variables of the plan that is being read; none before they are known.
    pub(crate) fn variables(&self) -> &Variables {
        self.variables.get().unwrap_or(&NO_VARIABLES)
    }

    /// Makes the plan's variables known, once.
    pub(crate) fn set_variables(&self, variables: Variables) {
        let is_first = self.variables.set(variables).is_ok();
        debug_assert!(is_first, "one reading has one set of variables");
    }

    /// The data files of the plan that is being read; none before they are known.
    pub(crate) fn data(&self) -> &[Arc<DataFile>] {
        self.data.get().map(Vec::as_slice).unwrap_or_default()
    }

    /// Makes the plan's data files known, once.
    pub(crate) fn set_data(&self, data: Vec<Arc<DataFile>>) {
        let is_first = self.data.set(data).is_ok();
        debug_assert!(is_first, "one reading has one set of data files");
    }

    /// The made values of the plan that is being read; none before they are known.
    pub(crate) fn made(&self) -> &[Arc<MadeValue>] {
        self.made.get().map(Vec::as_slice).unwrap_or_default()
    }

    /// Makes the plan's made values known, once.
    pub(crate) fn set_made(&self, made: Vec<Arc<MadeValue>>) {
        let is_first = self.made.set(made).is_ok();
        debug_assert!(is_first, "one reading has one set of made values");
    }

    /// Makes the names of captured texts known, once.
    pub(crate) fn set_captures(&self, names: Vec<Arc<str>>) {
        let is_first = self.captures.set(names).is_ok();
        debug_assert!(is_first, "one reading has one set of captures");
    }

    /// The credentials of the plan that is being read; `None` before they are known, or if any were
    /// wrong.
    pub(crate) fn auth(&self) -> Option<&[Arc<Auth>]> {
        self.auth.get().map(Vec::as_slice)
    }

    /// Makes the plan's credentials known, once.
    pub(crate) fn set_auth(&self, auth: Vec<Arc<Auth>>) {
        let is_first = self.auth.set(auth).is_ok();
        debug_assert!(is_first, "one reading has one set of credentials");
    }

    /// What the names in braces stand for.
    pub(crate) fn names(&self) -> PlanNames<'_> {
        PlanNames {
            variables: self.variables(),
            data: self.data(),
            made: self.made(),
            captures: self.captures.get().map_or(&[], Vec::as_slice),
        }
    }

    /// Another reading of the text, whose problems are of no interest.
    pub(crate) fn silent(&self) -> Context<'a> {
        Context::new(self.text, self.source, self.settings, self.cure)
    }

    /// Suggests what to write instead of the unknown `key` of the table `path`.
    pub(crate) fn cure(&self, path: &str, key: &str, siblings: &[&str]) -> String {
        (self.cure)(path, key, siblings)
    }

    /// Parses the text into a tree; `None` if it is not TOML.
    pub(crate) fn tree(&self) -> Option<Node> {
        match toml_edit::Document::parse(self.text) {
            Ok(document) => {
                let (root, twice) = node::tree(&document);
                twice.iter().for_each(|twice| self.refuse_twice(twice));
                Some(root)
            }
            Err(error) => {
                let twice = duplicates::find(self.text);
                twice.iter().for_each(|twice| self.refuse_twice(twice));
                if twice.is_empty() {
                    let at = error.span().map(|span| span.start);
                    self.problem("", at, not_toml(self.text, at, error.message()));
                }
                None
            }
        }
    }

    fn refuse_twice(&self, twice: &Twice) {
        self.problem_with(&twice.path, Some(twice.second), || {
            let (line, column) = place(self.text, twice.first);
            format!("given twice, first at {line}:{column}; remove one of them")
        });
    }

    pub(crate) fn problem(&self, path: &str, at: Option<usize>, message: String) {
        self.problem_with(path, at, || message);
    }

    /// Like [`Context::problem`], for a message that is expensive: it is not built if there are too
    /// many problems to show.
    pub(crate) fn problem_with(
        &self,
        path: &str,
        at: Option<usize>,
        message: impl FnOnce() -> String,
    ) {
        self.findings.borrow_mut().add(|| FoundProblem {
            at,
            path: path.to_owned(),
            message: message(),
        });
    }

    /// Counts problems that were not kept.
    pub(crate) fn problems_beyond(&self, number: usize) {
        self.findings.borrow_mut().add_beyond(number);
    }

    pub(crate) fn has_problems(&self) -> bool {
        !self.findings.borrow().is_empty()
    }

    /// How many problems were found so far.
    pub(crate) fn problems(&self) -> usize {
        self.findings.borrow().number()
    }

    pub(crate) fn take_findings(&self) -> FoundProblems {
        self.findings.take()
    }

    pub(crate) fn note(&self, text: String) {
        self.notes.borrow_mut().push(text);
    }

    pub(crate) fn take_notes(&self) -> Vec<String> {
        self.notes.take()
    }

    /// Returns the content of the file `name`, whose hash may be known; the error says why there is
    /// none.
    pub(crate) fn content(&self, name: &str, known: Option<Sha256>) -> Result<FileContent, String> {
        self.source.content(name, known)
    }

    /// Like [`Context::content`], for a private file.
    pub(crate) fn private(
        &self,
        name: &str,
        known: Option<Sha256>,
    ) -> Result<Option<FileContent>, String> {
        self.source.private(name, known)
    }

    /// The size of the file `name` in bytes, if it is known before the file is read.
    pub(crate) fn size(&self, name: &str) -> Option<u64> {
        self.source.size(name)
    }

    /// Maps the data file `name`, whose hash may be known: `None` if only its hash is known here.
    pub(crate) fn map(
        &self,
        name: &str,
        known: Option<Sha256>,
    ) -> Result<Option<MappedFile>, String> {
        self.source.map(name, known)
    }

    /// Reads a data file as a table, once for all variants.
    pub(crate) fn table(
        &self,
        file: &File,
        place: &DataPlace,
        layout: &FileLayout,
    ) -> Result<DataTable, DataError> {
        self.source.table(file, place, layout)
    }

    /// Reads a replay file, once for all variants.
    pub(crate) fn replay_log(&self, file: &File) -> Result<ReplayLog, String> {
        self.source.replay_log(file)
    }

    /// What encodes messages of gRPC calls; `None` if nothing does.
    pub(crate) fn encoder(&self) -> Option<MessageEncoder> {
        self.source.encoder()
    }

    /// Whether the plan is to be run, for which its secrets are needed.
    pub(crate) fn is_to_run(&self) -> bool {
        self.source.is_to_run()
    }

    /// Whether the text is canonical: it was checked as the user wrote it.
    pub(crate) fn is_canonical(&self) -> bool {
        self.source.is_canonical()
    }

    pub(crate) fn list(&self, folder: &str) -> Result<Vec<String>, String> {
        self.source.list(folder)
    }

    /// Returns `value` if nothing is wrong, otherwise every problem in the file's order.
    pub(crate) fn finish<T>(self, value: Option<T>) -> Result<T, Problems> {
        let findings = self.findings.into_inner();
        if findings.is_empty() {
            return Ok(value.expect("a part of a plan is missing only where a problem says why"));
        }
        Err(findings.into_problems(self.text))
    }
}

/// The parser's message, and what to write instead if the intention can be guessed.
fn not_toml(text: &str, at: Option<usize>, message: &str) -> String {
    let (before, rest) = at
        .and_then(|at| text.split_at_checked(at))
        .unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let quote = rest.chars().next().filter(|c| TYPOGRAPHIC.contains(c));
    let cure = if let Some(quote) = quote {
        format!("; {quote} is a typographic quotation mark: write \"")
    } else if message.contains("inline table") {
        "; a table in braces takes no fields after them: write it as [name], with its fields on \
         the lines below"
            .to_owned()
    } else if text.trim_start().starts_with('{') {
        format!("; this looks like JSON: {EXAMPLE}")
    } else if line.contains(':') && !line.contains(['=', '"']) {
        format!("; this looks like YAML: {EXAMPLE}")
    } else {
        String::new()
    };
    format!("not TOML: {message}{cure}")
}

/// Characters that word processors put in place of `"`.
const TYPOGRAPHIC: [char; 7] = [
    '\u{201c}', '\u{201d}', '\u{201e}', '\u{2018}', '\u{2019}', '«', '»',
];

const EXAMPLE: &str = "write [target], and url = \"https://edge.test/\" on the line below";
