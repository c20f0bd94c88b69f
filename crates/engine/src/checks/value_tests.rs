//! Whether a header field's value, or a value of JSON, passes a test.

use memchr::memmem;
use plan::ValueTest;
use serde_json::Value;

/// Whether the value of a header field passes. One that is there is never absent.
pub(super) fn passes_as_field(test: &ValueTest, value: &[u8]) -> bool {
    // `inf` and `nan`, which Rust's parser takes, are words.
    let number = || {
        let number = std::str::from_utf8(value).ok()?.parse::<f64>().ok()?;
        number.is_finite().then_some(number)
    };
    match test {
        ValueTest::Present => true,
        ValueTest::Absent | ValueTest::Flag(_) => false,
        ValueTest::Text(text) => value == text.as_bytes(),
        ValueTest::Contains(text) => memmem::find(value, text.as_bytes()).is_some(),
        ValueTest::Matches(pattern) => pattern.is_in(value),
        ValueTest::Whole(wanted) => {
            let whole = std::str::from_utf8(value).ok().map(str::parse::<i64>);
            whole == Some(Ok(*wanted)) || number() == Some(*wanted as f64)
        }
        ValueTest::Decimal(wanted) => number() == Some(*wanted),
        ValueTest::Compares(relation, limit) => {
            number().is_some_and(|number| relation.holds(number, *limit))
        }
    }
}

/// The number of the first test, each with a number and a pointer, that a document fails.
pub(super) fn first_failed(tests: &[(u16, String, ValueTest)], document: &Value) -> Option<u16> {
    let mut tests = tests.iter();
    let failed = tests.find(|(_, pointer, test)| !passes_as_json(test, document.pointer(pointer)));
    failed.map(|&(number, ..)| number)
}

/// Whether a value of JSON passes; `None` is one that is not there.
fn passes_as_json(test: &ValueTest, value: Option<&Value>) -> bool {
    let text = || value.and_then(Value::as_str);
    let number = || value.and_then(Value::as_f64);
    match test {
        ValueTest::Present => value.is_some(),
        ValueTest::Absent => value.is_none(),
        ValueTest::Text(wanted) => text() == Some(wanted),
        ValueTest::Contains(wanted) => text().is_some_and(|text| text.contains(wanted.as_str())),
        ValueTest::Matches(pattern) => text().is_some_and(|text| pattern.is_in(text.as_bytes())),
        ValueTest::Flag(wanted) => value.and_then(Value::as_bool) == Some(*wanted),
        ValueTest::Whole(wanted) => match value.and_then(Value::as_i64) {
            Some(whole) => whole == *wanted,
            None => number() == Some(*wanted as f64),
        },
        ValueTest::Decimal(wanted) => number() == Some(*wanted),
        ValueTest::Compares(relation, limit) => {
            number().is_some_and(|number| relation.holds(number, *limit))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Pattern, Relation};

    fn pattern(text: &str) -> ValueTest {
        ValueTest::Matches(Pattern::new(text).unwrap())
    }

    #[test]
    fn fields_are_compared_as_texts_and_as_numbers() {
        let text = |text: &str| ValueTest::Text(text.to_owned());
        let cases = [
            (text("text/html"), "text/html", true),
            (text("text/html"), "text/html; charset=utf-8", false),
            (text("text/html"), "Text/HTML", false),
            (ValueTest::Contains("html".to_owned()), "text/html; a", true),
            (pattern("^HIT"), "HIT", true),
            (pattern("^HIT"), "a HIT", false),
            (ValueTest::Present, "", true),
            (ValueTest::Whole(60), "60", true),
            (ValueTest::Whole(60), "60.0", true),
            (ValueTest::Whole(60), "61", false),
            (ValueTest::Whole(60), "sixty", false),
            (ValueTest::Decimal(0.5), "0.50", true),
            (ValueTest::Compares(Relation::AtMost, 60.0), "60", true),
            (ValueTest::Compares(Relation::Below, 60.0), "60", false),
            (ValueTest::Compares(Relation::Above, 0.0), "", false),
            (ValueTest::Compares(Relation::Above, 0.0), "inf", false),
        ];
        for (test, value, expected) in cases {
            let passes = passes_as_field(&test, value.as_bytes());
            assert_eq!(passes, expected, "{test:?} of {value:?}");
        }
    }

    #[test]
    fn values_of_json_keep_their_types() {
        let document = r#"{"n": 12, "big": 9007199254740993, "f": 0.5, "t": "ok", "b": true,
            "null": null, "a": [{"id": "x"}], "a/b~c": 1, "whole": 3.0}"#;
        let document: Value = serde_json::from_str(document).unwrap();
        let text = |text: &str| ValueTest::Text(text.to_owned());
        let cases = [
            ("/n", ValueTest::Whole(12), true),
            ("/n", text("12"), false),
            ("/n", ValueTest::Compares(Relation::Above, 11.5), true),
            ("/n", ValueTest::Compares(Relation::AtLeast, 12.5), false),
            ("/big", ValueTest::Whole(9_007_199_254_740_993), true),
            ("/big", ValueTest::Whole(9_007_199_254_740_992), false),
            ("/whole", ValueTest::Whole(3), true),
            ("/f", ValueTest::Decimal(0.5), true),
            ("/t", text("ok"), true),
            ("/t", pattern("^o"), true),
            ("/t", ValueTest::Contains("k".to_owned()), true),
            ("/t", ValueTest::Compares(Relation::Above, 0.0), false),
            ("/b", ValueTest::Flag(true), true),
            ("/b", ValueTest::Flag(false), false),
            ("/null", ValueTest::Present, true),
            ("/null", text("null"), false),
            ("/none", ValueTest::Absent, true),
            ("/none", ValueTest::Present, false),
            ("/a/0/id", text("x"), true),
            ("/a/1/id", ValueTest::Absent, true),
            ("/a~1b~0c", ValueTest::Whole(1), true),
            ("", ValueTest::Present, true),
        ];
        for (pointer, test, expected) in cases {
            let passes = passes_as_json(&test, document.pointer(pointer));
            assert_eq!(passes, expected, "{test:?} of {pointer}");
        }
    }
}
