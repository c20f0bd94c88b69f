//! The names that a plan declares, as they stand in braces.

use crate::read::variables::{Variables, names_in};
use crate::template::{Placeholders, name_in_braces};
use crate::{CapturePlaceholder, DataColumn, DataFile, MadePlaceholder, MadeValue, Piece};
use data::Escape;
use std::sync::Arc;

/// Asks for a text as it is, behind its name.
const RAW: &str = "|raw";

/// What the names in a plan's braces stand for.
pub(crate) struct PlanNames<'a> {
    pub(crate) variables: &'a Variables,
    pub(crate) data: &'a [Arc<DataFile>],
    pub(crate) made: &'a [Arc<MadeValue>],
    /// Names of captured texts, each once.
    pub(crate) captures: &'a [Arc<str>],
}

impl Placeholders for PlanNames<'_> {
    fn piece(&self, name: &str) -> Option<Piece> {
        self.variables
            .piece(name)
            .or_else(|| self.column(name).map(Piece::Column))
            .or_else(|| self.made(name).map(Piece::Made))
            .or_else(|| self.capture(name).map(Piece::Captured))
    }
}

impl<'a> PlanNames<'a> {
    /// Whether the plan declares none.
    pub(crate) fn is_empty(&self) -> bool {
        self.variables.is_empty()
            && self.data.is_empty()
            && self.made.is_empty()
            && self.captures.is_empty()
    }

    /// The first part of `text` that names a data file, without its braces.
    pub(crate) fn data_in<'t>(&self, text: &'t str) -> Option<&'t str> {
        names_in(text).find(|name| self.file(name).is_some())
    }

    /// The first part of `text` that names a made value, without its braces.
    pub(crate) fn made_in<'t>(&self, text: &'t str) -> Option<&'t str> {
        names_in(text).find(|name| self.made(name).is_some())
    }

    /// The first part of `text` that names a captured text, without its braces.
    pub(crate) fn capture_in<'t>(&self, text: &'t str) -> Option<&'t str> {
        names_in(text).find(|name| self.capture(name).is_some())
    }

    /// The first name in `text` that is no column of the data file that it names.
    pub(crate) fn unknown_column<'t>(&self, text: &'t str) -> Option<(&'a DataFile, &'t str)> {
        names_in(text).find_map(|name| {
            let (file, column) = self.file(name)?;
            let column = column.strip_suffix(RAW).unwrap_or(column);
            file.table
                .column(column)
                .is_none()
                .then_some((&**file, column))
        })
    }

    /// Whether `text` begins with a column whose cells stay as they are.
    pub(crate) fn begins_raw(&self, text: &str) -> bool {
        let column = name_in_braces(text).and_then(|name| self.column(name));
        column.is_some_and(|column| column.is_raw)
    }

    fn column(&self, name: &str) -> Option<DataColumn> {
        let (name, is_raw) = without_raw(name);
        let (file, column) = self.file(name)?;
        Some(DataColumn {
            index: file.table.column(column)?,
            file: Arc::clone(file),
            escape: Escape::None,
            is_raw,
        })
    }

    fn made(&self, name: &str) -> Option<MadePlaceholder> {
        let (name, is_raw) = without_raw(name);
        let value = self.made.iter().find(|made| made.name == name)?;
        Some(MadePlaceholder {
            value: Arc::clone(value),
            escape: Escape::None,
            is_raw,
        })
    }

    /// The captured text that `name` stands for.
    pub(crate) fn capture(&self, name: &str) -> Option<CapturePlaceholder> {
        let (name, is_raw) = without_raw(name);
        let index = self.captures.iter().position(|known| **known == *name)?;
        Some(CapturePlaceholder {
            name: Arc::clone(&self.captures[index]),
            index: u16::try_from(index).ok()?,
            escape: Escape::None,
            is_raw,
        })
    }

    /// The data file that `name` begins with, and what follows its dot.
    fn file<'t>(&self, name: &'t str) -> Option<(&'a Arc<DataFile>, &'t str)> {
        let (file, column) = name.split_once('.')?;
        let file = self.data.iter().find(|data| data.name == file)?;
        Some((file, column))
    }
}

/// A name in braces, and whether the text is asked for as it is.
pub(crate) fn without_raw(name: &str) -> (&str, bool) {
    match name.strip_suffix(RAW) {
        Some(name) => (name, true),
        None => (name, false),
    }
}
