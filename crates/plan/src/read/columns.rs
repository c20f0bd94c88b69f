//! Columns of data files and made values in the texts of requests: how they are written where they
//! stand, and whether they can stand there.

use crate::read::field::Field;
use crate::read::json_text::Quotes;
use crate::{DataColumn, Host, MadePlaceholder, Piece, Template};
use data::Escape;

/// Reports what names a data file of the plan, and none of its columns.
pub(crate) fn refuse_unknown(field: &Field<'_>, text: &str) {
    let names = field.context.names();
    if let Some((file, column)) = names.unknown_column(text) {
        let (columns, name) = (file.table.columns(), &file.name);
        // A first line that is no header holds what is secret.
        if file.secret.is_empty() {
            field.problem(format_args!(
                "names the column {column:?} of data.{name}, which has {}",
                columns.join(", ")
            ));
        } else {
            field.problem(format_args!(
                "names the column {column:?} of data.{name}, which is none of its {} columns",
                columns.len()
            ));
        }
    }
}

impl Template {
    /// The columns in it.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &DataColumn> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Column(column) => Some(column),
            _ => None,
        })
    }

    /// The made values in it.
    fn made(&self) -> impl Iterator<Item = &MadePlaceholder> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Made(made) => Some(made),
            _ => None,
        })
    }

    /// Gives each column, made value and secret an escape by the text before it.
    fn escape(&mut self, mut escape_after: impl FnMut(&str) -> Escape) {
        let mut escape = escape_after("");
        for piece in &mut self.pieces {
            match piece {
                Piece::Literal(text) => escape = escape_after(text),
                Piece::Column(column) if !column.is_raw => column.escape = escape,
                Piece::Made(made) if !made.is_raw => made.escape = escape,
                Piece::Captured(captured) if !captured.is_raw => captured.escape = escape,
                Piece::Secret { escape: own, .. } => *own = escape,
                _ => {}
            }
        }
    }
}

/// Cells in a path are percent-encoded, before and after its `?`.
pub(crate) fn in_path(field: &Field<'_>, path: &mut Template) {
    let mut escape = Escape::Segment;
    for piece in &mut path.pieces {
        match piece {
            Piece::Literal(text) if text.contains('?') => escape = Escape::Query,
            Piece::Column(column) if !column.is_raw => column.escape = escape,
            Piece::Made(made) if !made.is_raw => made.escape = escape,
            Piece::Captured(captured) if !captured.is_raw => captured.escape = escape,
            _ => {}
        }
    }
    let is_of_path = |byte: u8| byte.is_ascii_graphic() && byte != b'#';
    let can_stand = |cell: &[u8]| cell.iter().all(|&byte| is_of_path(byte));
    for made in path.made().filter(|made| made.is_raw) {
        if !made.value.has_only(is_of_path) {
            field.problem(format_args!(
                "{made} has characters that cannot stand in a path as they are; leave out |raw"
            ));
        }
    }
    for (place, piece) in path.pieces.iter().enumerate() {
        let Piece::Column(column) = piece else {
            continue;
        };
        let is_raw = column.is_raw;
        if is_raw && place == 0 {
            let is_path = |cell: &[u8]| cell.starts_with(b"/") && can_stand(cell);
            let cure = "begin each with \"/\", and percent-encode what a path cannot have";
            check_cells(field, column, is_path, "has a cell that is no path", cure);
        } else if is_raw {
            let what = "has a cell that cannot stand in a path as it is";
            check_cells(field, column, can_stand, what, "leave out |raw");
        }
    }
}

/// Cells in a header stay as they are, and cannot end it.
pub(crate) fn in_header(field: &Field<'_>, value: &Template) {
    let is_of_header = |byte: u8| byte == b'\t' || !byte.is_ascii_control();
    let is_right = |cell: &[u8]| cell.iter().all(|&byte| is_of_header(byte));
    for made in value.made() {
        if !made.value.has_only(is_of_header) {
            field.problem(format_args!(
                "{made} has a control character, which would end or break the header; remove it \
                 from let.{}",
                made.value.name
            ));
        }
    }
    for column in value.columns() {
        check_cells(
            field,
            column,
            is_right,
            "has a cell with a control character, which would end or break the header",
            "remove it from the file",
        );
    }
}

/// Texts that end at `byte`, called `what`, cannot have it.
pub(crate) fn without(field: &Field<'_>, value: &Template, byte: u8, what: &str) {
    for made in value.made() {
        if !made.value.has_only(|other| other != byte) {
            field.problem(format_args!(
                "{made} has {what}; remove it from let.{}",
                made.value.name
            ));
        }
    }
    for column in value.columns() {
        let is_right = |cell: &[u8]| !cell.contains(&byte);
        let what = format!("has a cell with {what}");
        check_cells(field, column, is_right, &what, "remove it from the file");
    }
}

/// Cells that name connections are DNS names.
pub(crate) fn in_server_name(field: &Field<'_>, column: &DataColumn) {
    let is_right = |cell: &[u8]| {
        let host = std::str::from_utf8(cell).map(str::parse);
        matches!(host, Ok(Ok(Host::Name(_))))
    };
    check_cells(
        field,
        column,
        is_right,
        "has a cell that is no DNS name",
        "write one such as \"edge.test\", in ASCII and without a final dot",
    );
}

/// How the text of a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyKind {
    Json,
    Form,
    Other,
}

impl BodyKind {
    /// By the content type, or else by how the text begins.
    pub(crate) fn new(content_type: Option<&str>, body: &Template) -> BodyKind {
        let begins = |text: &str| text.trim_start().starts_with(['{', '[']);
        let content_type = content_type.map(str::to_ascii_lowercase);
        match (content_type, body.pieces.first()) {
            (Some(name), _) if name.contains("json") => BodyKind::Json,
            (Some(name), _) if name.contains("form-urlencoded") => BodyKind::Form,
            (None, Some(Piece::Literal(text))) if begins(text) => BodyKind::Json,
            _ => BodyKind::Other,
        }
    }
}

/// Cells in a body are escaped as its kind asks: in JSON, within strings; in forms, everywhere.
pub(crate) fn in_body(field: &Field<'_>, body: &mut Template, kind: BodyKind) {
    match kind {
        BodyKind::Other => {}
        BodyKind::Form => body.escape(|_| Escape::Query),
        BodyKind::Json => {
            let mut quotes = Quotes::default();
            body.escape(|text| {
                if quotes.are_open_after(text) {
                    Escape::Json
                } else {
                    Escape::None
                }
            });
            let is_bare = |made: &&MadePlaceholder| made.escape == Escape::None && !made.is_raw;
            for made in body.made().filter(is_bare) {
                if made.value.is_json() {
                    continue;
                }
                field.problem(format_args!(
                    "{made} is no JSON value, and stands outside of a string; put quotes around \
                     it here"
                ));
            }
            let alone = |column: &&DataColumn| column.escape == Escape::None && !column.is_raw;
            for column in body.columns().filter(alone) {
                check_cells(
                    field,
                    column,
                    |cell| serde_json::from_slice::<serde::de::IgnoredAny>(cell).is_ok(),
                    "has a cell that is no JSON value, and stands outside of a string",
                    "put quotes around it here",
                );
            }
        }
    }
}

/// Cells in a message of Protocol Buffers are texts as they are.
pub(crate) fn in_message(field: &Field<'_>, text: &Template) {
    for column in text.columns() {
        check_cells(
            field,
            column,
            |cell| std::str::from_utf8(cell).is_ok(),
            "has a cell that is not UTF-8, which a field of the type string cannot have",
            "remove it from the file",
        );
    }
}

/// Reports the first cell that cannot stand where its column does. The file of canonical text has
/// been checked already.
pub(crate) fn check_cells(
    field: &Field<'_>,
    column: &DataColumn,
    is_right: impl Fn(&[u8]) -> bool,
    what: &str,
    cure: &str,
) {
    if field.context.is_canonical() {
        return;
    }
    let found = column.file.table.find_wrong(column.index, is_right);
    if let Some((row, line)) = found {
        field.problem(format_args!(
            "{column} {what}: row {} of {:?}, in line {line}; {cure}",
            row + 1,
            column.file.file.name
        ));
    }
}
