//! Placeholders in the number fields of a gRPC message: which of them are numbers of the field's
//! type, whatever the operation.

use crate::read::columns::check_cells;
use crate::read::field::Field;
use crate::{Body, MessagePart, Piece, Request, ScalarType, Template, Words as _};

/// Reports a text that is not a number of this type in every operation.
pub(crate) fn check(field: &Field<'_>, text: &Template, kind: ScalarType) {
    let word = kind.word();
    let [piece] = text.pieces.as_slice() else {
        field.problem(format_args!(
            "has {text:?} in a field of the type {word}, which takes one placeholder and no other \
             characters",
            text = text.to_string()
        ));
        return;
    };
    let why = match piece {
        Piece::User => return, // it is below ten million
        Piece::Seq if is_wide(kind) => return,
        Piece::Seq => "it has up to 19 digits, which int64 and other whole numbers of 64 bits have",
        Piece::Random => "it is hexadecimal",
        Piece::Captured(_) => return, // an answer without such a number has not what is captured
        Piece::Column(column) => {
            let what = format!("has a cell that is no {word}");
            let is_right = |cell: &[u8]| kind.takes(cell);
            return check_cells(field, column, is_right, &what, "remove it from the file");
        }
        Piece::Made(made) if made.value.is_number_of(kind) => return,
        Piece::Made(_) => "not every value that it can have is such a number",
        Piece::Secret { value, .. } if kind.takes(value.reveal().as_bytes()) => return,
        Piece::Secret { .. } => "the value of this variable is no such number",
        Piece::Literal(literal) if kind.takes(literal.as_bytes()) => return,
        Piece::Literal(_) => "it is no such number",
        Piece::Token(_) => "a token is no number",
    };
    field.problem(format_args!(
        "has {:?} in a field of the type {word}: {why}; write a value of [let] such as {{ random = \
         [1, 6] }}",
        text.to_string()
    ));
}

/// Whether every number of an operation or a journey is one of this type.
fn is_wide(kind: ScalarType) -> bool {
    let range = kind.range();
    range.is_some_and(|range| *range.end() >= i128::from(i64::MAX))
}

/// Marks captures whose texts stand in number fields.
pub(crate) fn mark_captures(requests: &mut [Request]) {
    let messages = requests.iter().filter_map(|request| match &request.body {
        Some(Body::Message(message)) => Some(message),
        _ => None,
    });
    let numbers = messages.flatten().flat_map(MessagePart::numbers);
    let of_captures = numbers.filter_map(|(text, kind)| match text.pieces.as_slice() {
        [Piece::Captured(captured)] => Some((captured.index, kind)),
        _ => None,
    });
    let numbers: Vec<(u16, ScalarType)> = of_captures.collect();
    for capture in requests
        .iter_mut()
        .flat_map(|request| &mut request.captures)
    {
        let own = numbers.iter().filter(|(index, _)| *index == capture.index);
        capture.numbers = own.map(|(_, kind)| *kind).collect();
    }
}
