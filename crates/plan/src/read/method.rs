//! Reads `request.method`.

use crate::read::field::Field;
use crate::read::header;

const METHODS: [&str; 8] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE",
];

pub(crate) fn method(field: Field<'_>) -> Option<String> {
    let text = field.text("a method such as \"GET\"")?;
    let upper = text.to_ascii_uppercase();
    if !header::is_token(text) || text.len() > 32 {
        field.refuse("is not a method (RFC 9110 §5.6.2); write one such as \"GET\"");
    } else if upper == "CONNECT" {
        field.refuse("opens a tunnel, which is no request to a server; write another method");
    } else if text != upper && METHODS.contains(&upper.as_str()) {
        field.refuse(format_args!(
            "is not {upper}: methods are case-sensitive; write {upper:?}"
        ));
    } else {
        return Some(text.to_owned());
    }
    None
}
