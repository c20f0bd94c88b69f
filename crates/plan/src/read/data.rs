//! Reads `[data.NAME]`: files whose rows requests take.

use crate::data_file::{DataFile, FORMATS};
use crate::read::context::Context;
use crate::read::data_place;
use crate::read::field::Field;
use crate::read::node::{NodeValue, Table};
use crate::read::section::PlanSection;
use crate::rows::RowTakers;
use crate::{AtEnd, DataPlace, File, RowOrder};
use data::{DataFormat, DataTable, FileLayout, MAX_LINES};
use std::sync::Arc;

/// The section of the data files.
pub(crate) const SECTION: &str = "data";
/// Keys of a data file.
const KEYS: [&str; 10] = [
    "file",
    "send",
    "format",
    "header",
    "columns",
    "delimiter",
    "order",
    "at_end",
    "rows",
    "secret",
];
const MAX_FILES: usize = 100;
const MAX_NAME_BYTES: usize = 20;

/// Names of the data files that a plan declares, whether they can be read or not.
pub(crate) fn names(plan: &Table) -> Vec<String> {
    match plan.get(SECTION).map(|entry| &entry.node.value) {
        Some(NodeValue::Table(files)) => files.keys().cloned().collect(),
        _ => Vec::new(),
    }
}

/// Reads all data files; `None` if one is wrong and was reported.
pub(crate) fn read(root: &PlanSection<'_>) -> Option<Vec<Arc<DataFile>>> {
    let section = root.section(SECTION)?;
    let files = section.all();
    if files.len() > MAX_FILES {
        section.problem(format_args!(
            "has {} files; write at most {MAX_FILES}",
            files.len()
        ));
        return None;
    }
    let files: Vec<Option<Arc<DataFile>>> = files
        .into_iter()
        .map(|(name, field)| one(name, &field).map(Arc::new))
        .collect();
    files.into_iter().collect()
}

fn one(name: &str, field: &Field<'_>) -> Option<DataFile> {
    if !is_fit(name) {
        field.problem(format_args!(
            "is not the name of a data file; write at most {MAX_NAME_BYTES} letters, digits, \"_\" \
             and \"-\", beginning with a letter"
        ));
        return None;
    }
    let section = field.section()?;
    // All are known, whatever is wrong with one.
    for key in KEYS {
        section.field(key);
    }
    if !section.has("file") {
        section.problem("names no file; write file = \"users.csv\"");
    }
    let (file, place) = data_place::read(&section).unzip();
    let layout = layout(&section, file.as_ref());
    let order = section
        .read("order", |field| field.choice())
        .unwrap_or(RowOrder::Sequential);
    let at_end = at_end(&section, order);
    let known = file.as_ref().zip(place.as_ref()).zip(layout.as_ref());
    let table = known.and_then(|(known, layout)| table_of(&section, known, layout));
    let secret = table.as_ref().map(|table| secret(&section, table));
    section.finish();
    Some(DataFile {
        name: name.to_owned(),
        file: file?,
        place: place?,
        layout: layout?,
        table: table?,
        order,
        at_end: at_end?,
        secret: secret?,
    })
}

fn is_fit(name: &str) -> bool {
    name.len() <= MAX_NAME_BYTES
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

fn layout(section: &PlanSection<'_>, file: Option<&File>) -> Option<FileLayout> {
    let given = section.has("format");
    let format = section.read("format", format).or_else(|| {
        let found = file.filter(|_| !given).map(|file| by_name(&file.name));
        if let Some(None) = found {
            section.problem_at(
                "file",
                "has a name that says no format; write format = \"csv\", \"tsv\", \"jsonl\" or \
                 \"lines\"",
            );
        }
        found.flatten()
    });
    let columns = section.read("columns", |field| {
        field.list_of("names such as [\"login\", \"password\"]", |name| {
            name.text("the name of a column").map(str::to_owned)
        })
    });
    let has_columns = section.has("columns");
    let header = section.read("header", |field| field.flag());
    let delimiter = section.read("delimiter", delimiter);
    let format = format?;
    if !matches!(format, DataFormat::Csv | DataFormat::Tsv) {
        section.refuse(&["header"], "is for CSV and TSV; remove it");
    }
    if format != DataFormat::Csv {
        section.refuse(&["delimiter"], "is for CSV; remove it");
    }
    (columns.is_some() == has_columns).then_some(FileLayout {
        format,
        delimiter: delimiter.unwrap_or(b','),
        header: header.unwrap_or(!has_columns)
            && matches!(format, DataFormat::Csv | DataFormat::Tsv),
        columns,
    })
}

fn format(field: Field<'_>) -> Option<DataFormat> {
    let text = field.text("\"csv\", \"tsv\", \"jsonl\" or \"lines\"")?;
    let found = FORMATS.iter().find(|(_, word, _)| *word == text);
    if found.is_none() {
        field.refuse("is not known here; write \"csv\", \"tsv\", \"jsonl\" or \"lines\"");
    }
    found.map(|(format, _, _)| *format)
}

fn by_name(name: &str) -> Option<DataFormat> {
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let has_end = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    let found = FORMATS.iter().find(|(_, _, ends)| has_end(ends));
    found.map(|(format, _, _)| *format)
}

fn delimiter(field: Field<'_>) -> Option<u8> {
    match field.text("a character such as \";\"")?.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n' | 0) => Some(*byte),
        _ => {
            field.refuse("is no delimiter; write one character of ASCII, such as \";\"");
            None
        }
    }
}

fn at_end(section: &PlanSection<'_>, order: RowOrder) -> Option<AtEnd> {
    let default = if order == RowOrder::Unique {
        AtEnd::Stop
    } else {
        AtEnd::Again
    };
    if !section.has("at_end") {
        return Some(default);
    }
    let at_end = section.read("at_end", |field| field.choice())?;
    let cure = match (order, at_end) {
        (RowOrder::Unique, AtEnd::Again) => {
            "\"again\" would take rows twice; write \"stop\" or \"fail\", or order = \"sequential\""
        }
        (RowOrder::Random, AtEnd::Stop | AtEnd::Fail) => {
            "has no meaning with order = \"random\", which never comes to an end; remove it"
        }
        (RowOrder::User, AtEnd::Stop) => {
            "has no meaning with order = \"user\"; write \"fail\" to refuse more users than rows, \
             or \"again\" to let users share rows"
        }
        _ => return Some(at_end),
    };
    section.problem_at("at_end", cure);
    None
}

fn table_of(
    section: &PlanSection<'_>,
    (file, place): (&File, &DataPlace),
    layout: &FileLayout,
) -> Option<DataTable> {
    let stated = section.read("rows", |field| field.whole(1..=MAX_LINES));
    if !section.context.is_to_run() {
        let columns = layout.columns.clone().unwrap_or_default();
        return Some(DataTable::elsewhere(columns, stated.unwrap_or_default()));
    }
    let table = section
        .context
        .table(file, place, layout)
        .map_err(|why| section.problem_at("file", format_args!("{:?} {why}", file.name)))
        .ok()?;
    if stated.is_some_and(|stated| stated != table.rows()) {
        let found = table.rows();
        section.problem_at(
            "rows",
            format_args!(
                "{:?} has {found} rows; remove this, or give the file it is about",
                file.name
            ),
        );
    }
    Some(table)
}

/// Names of the columns that are secret.
fn secret(section: &PlanSection<'_>, table: &DataTable) -> Vec<String> {
    let column = |field: &Field<'_>| {
        let name = field.text("the name of a column")?;
        if table.column(name).is_none() {
            field.refuse(format_args!(
                "is not one of the {} columns that the file's first line names; if that line is a \
                 row, write header = false and columns = […]",
                table.columns().len()
            ));
            return None;
        }
        Some(name.to_owned())
    };
    let columns = section.read("secret", |field| {
        field.list_of("names such as [\"password\"]", column)
    });
    columns.unwrap_or_default()
}

/// Notes files that no request takes a row of.
pub(crate) fn note_unused(context: &Context<'_>, takers: RowTakers<'_>) {
    for file in context.data() {
        if !takers.use_file(&file.name) {
            context.note(format!(
                "data.{}: no request has a column of it, such as {{{}.{}}}",
                file.name,
                file.name,
                file.table.columns()[0]
            ));
        }
    }
}
