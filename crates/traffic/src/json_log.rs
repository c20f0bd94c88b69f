//! Logs of one JSON object a line: the keys are nginx's variables, or other usual names for them.

use crate::recorded::LineResult;
use crate::request_facts::RequestFacts;
use crate::skip::LineError;
use crate::variable::Variable;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Reads a line.
pub(crate) fn read(line: &[u8]) -> LineResult {
    let object = object(line)?;
    let mut facts = RequestFacts::default();
    for (key, value) in &object {
        let Some(text) = scalar(value) else {
            continue;
        };
        let variable = Variable::from_json_key(key);
        facts.set(&variable, text).map_err(|why| LineError {
            column: 1,
            why: format!("{key}: {why}: {value}"),
        })?;
    }
    Ok(facts.finish())
}

/// The object of a line.
pub(crate) fn object(line: &[u8]) -> Result<Map<String, Value>, LineError> {
    serde_json::from_slice(line).map_err(|error| LineError {
        column: error.column().max(1),
        why: without_place(&error.to_string()),
    })
}

/// An error of serde_json without its own line and column.
pub(crate) fn without_place(text: &str) -> String {
    let place = text.rfind(" at line ").unwrap_or(text.len());
    text[..place].to_owned()
}

/// A value as the text that the server put in; `None` if it has parts.
fn scalar(value: &Value) -> Option<Cow<'_, [u8]>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text.as_bytes())),
        Value::Number(number) => Some(Cow::Owned(number.to_string().into_bytes())),
        Value::Bool(is) => Some(Cow::Owned(is.to_string().into_bytes())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
