//! Logs of one JSON object a line: the keys are nginx's variables, or other usual names for them.

use crate::recorded::LineResult;
use crate::request_facts::RequestFacts;
use crate::skip::{LineError, SkipReason};
use crate::variable::Variable;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Reads a line. Keys are guessed, so that a value that is not what its key says counts only if the
/// line lacks it: `"status":"success"` and a `"date"` beside `"msec"` are fine.
pub(crate) fn read(line: &[u8]) -> LineResult {
    let object = object(line)?;
    let mut facts = RequestFacts::default();
    let mut first_error = None;
    for (key, value) in &object {
        let Some(text) = scalar(value) else {
            continue;
        };
        if let Err(why) = facts.set(&Variable::from_json_key(key), text) {
            first_error.get_or_insert_with(|| LineError {
                column: 1,
                why: format!("{key}: {why}: {value}"),
            });
        }
    }
    match (facts.finish(), first_error) {
        (Err(SkipReason::NoInstant), Some(error)) => Err(error),
        (read, _) => Ok(read),
    }
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

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn value_that_is_not_what_its_key_says_counts_only_if_it_is_needed() {
        let line = |rest: &str| format!("{{\"request\":\"GET / HTTP/1.1\",{rest}}}");
        let fine = line(r#""msec":1.5,"date":"25.11.2026","status":"success","a":{"b":1}"#);
        let request = read(fine.as_bytes()).unwrap().unwrap();
        assert_eq!(request.stamp.unwrap().since_1970_ns, 1_500_000_000);
        assert_eq!(request.status, None);
        let error = read(line(r#""date":"25.11.2026""#).as_bytes()).unwrap_err();
        assert_eq!(error.why, "date: not a time: \"25.11.2026\"");
    }
}
