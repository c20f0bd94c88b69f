//! The criteria for success of a request: status, length, and checks of header fields and body.

use crate::toml_text::array;
use crate::{Pattern, Relation, StatusSet, quote};
use measure::GrpcStatus;
use std::fmt::{self, Display};
use std::ops::RangeInclusive;

/// Most characters of a plan's text that a check's words show.
const SHOWN_CHARS: usize = 60;

/// The criteria for success.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Expect {
    /// Statuses that are ok; by default those below 400.
    pub status: StatusSet,
    /// Length of the body in bytes; `None` if any length is ok.
    pub bytes: Option<RangeInclusive<u64>>,
    /// What else must be true of the answer, in the order in which it is checked. All tests of one
    /// header field, and of one JSON pointer, stand together.
    pub checks: Vec<Check>,
    /// Statuses of a gRPC call that are ok; if there are none, only [`GrpcStatus::Ok`] is.
    pub grpc_status: Vec<GrpcStatus>,
}

/// One test of an answer's header fields or body.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// What is looked at.
    pub place: CheckPlace,
    /// What must be true of it.
    pub test: ValueTest,
}

/// The part of an answer that a check looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckPlace {
    /// The header fields of this name, in lower case. One of them must pass.
    Header(String),
    /// The body without its content coding. It has tests for texts and patterns only.
    Body,
    /// The value at this pointer (RFC 6901) of a body that is JSON.
    Json(String),
}

/// What must be true of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueTest {
    /// It is there.
    Present,
    /// It is not there.
    Absent,
    /// It is this text, whole.
    Text(String),
    /// It is this number. A header field's text is read as a number.
    Whole(i64),
    /// It is this number, with a fraction.
    Decimal(f64),
    /// It is `true` or `false` of JSON.
    Flag(bool),
    /// It is a text that has this in it, byte by byte.
    Contains(String),
    /// It is a text in which this has a match.
    Matches(Pattern),
    /// It is a number that compares so.
    Compares(Relation, f64),
}

/// The keys of comparisons in a plan.
pub(crate) const COMPARISONS: [(&str, Relation); 4] = [
    ("min", Relation::AtLeast),
    ("max", Relation::AtMost),
    ("above", Relation::Above),
    ("below", Relation::Below),
];

impl Expect {
    /// Whether it asks for a length of the body, or has a check of it.
    pub(crate) fn looks_at_body(&self) -> bool {
        let is_header = |check: &Check| matches!(check.place, CheckPlace::Header(_));
        self.bytes.is_some() || !self.checks.iter().all(is_header)
    }

    /// The canonical text: an inline table.
    pub(crate) fn canonical(&self) -> String {
        let mut fields = vec![format!("status = {}", statuses(&self.status))];
        fields.extend(self.bytes.as_ref().map(bytes));
        if !self.grpc_status.is_empty() {
            let names = array(&self.grpc_status, |status| quote(status.name()));
            fields.push(format!("grpc_status = {names}"));
        }
        let named = |place: fn(&CheckPlace) -> Option<&str>| {
            let checks = self.checks.iter();
            let named = checks.filter_map(|check| Some((place(&check.place)?, &check.test)));
            table(&named.collect::<Vec<_>>())
        };
        let headers = named(CheckPlace::header).map(|table| format!("headers = {table}"));
        let json = named(CheckPlace::pointer).map(|table| format!("json = {table}"));
        fields.extend(headers);
        fields.extend(self.of_body("contains", |test| match test {
            ValueTest::Contains(text) => Some(text),
            _ => None,
        }));
        fields.extend(self.of_body("matches", |test| match test {
            ValueTest::Matches(pattern) => Some(pattern.text()),
            _ => None,
        }));
        fields.extend(json);
        format!("{{ {} }}", fields.join(", "))
    }

    /// The texts of those tests of the body that have one, as a list under `key`.
    fn of_body<'c>(
        &'c self,
        key: &str,
        text: impl Fn(&'c ValueTest) -> Option<&'c str>,
    ) -> Option<String> {
        let checks = self.checks.iter();
        let of_body = checks.filter(|check| check.place == CheckPlace::Body);
        let texts: Vec<&str> = of_body.filter_map(|check| text(&check.test)).collect();
        (!texts.is_empty()).then(|| format!("{key} = {}", array(&texts, |text| quote(text))))
    }
}

fn bytes(range: &RangeInclusive<u64>) -> String {
    if range.start() == range.end() {
        format!("bytes = {}", range.start())
    } else {
        let (min, max) = range.clone().into_inner();
        format!("bytes = {{ min = {min}, max = {max} }}")
    }
}

fn statuses(set: &StatusSet) -> String {
    array(&set.ranges, |(low, high)| {
        if low == high {
            low.to_string()
        } else {
            format!("\"{low}-{high}\"")
        }
    })
}

/// A table of tests by name; `None` if there are none.
fn table(named: &[(&str, &ValueTest)]) -> Option<String> {
    let groups = named.chunk_by(|(name, _), (other, _)| name == other);
    let entries: Vec<String> = groups
        .map(|group| {
            let (name, _) = group[0];
            let tests: Vec<&ValueTest> = group.iter().map(|&(_, test)| test).collect();
            format!("{} = {}", quote(name), tests_text(&tests))
        })
        .collect();
    (!entries.is_empty()).then(|| format!("{{ {} }}", entries.join(", ")))
}

/// A value that must be equal, or a table of other tests.
fn tests_text(tests: &[&ValueTest]) -> String {
    let keyed = |test: &&ValueTest| match test {
        ValueTest::Text(text) => Err(quote(text)),
        ValueTest::Whole(number) => Err(number.to_string()),
        // Always with a point or an exponent, unlike a whole number.
        ValueTest::Decimal(number) => Err(format!("{number:?}")),
        ValueTest::Flag(flag) => Err(flag.to_string()),
        ValueTest::Present => Ok("present = true".to_owned()),
        ValueTest::Absent => Ok("present = false".to_owned()),
        ValueTest::Contains(text) => Ok(format!("contains = {}", quote(text))),
        ValueTest::Matches(pattern) => Ok(format!("matches = {}", quote(pattern.text()))),
        ValueTest::Compares(relation, limit) => {
            let key = COMPARISONS.iter().find(|(_, known)| known == relation);
            let (key, _) = key.expect("all four relations have a key");
            Ok(format!("{key} = {limit:?}"))
        }
    };
    let keyed: Result<Vec<String>, String> = tests.iter().map(keyed).collect();
    match keyed {
        Ok(keyed) => format!("{{ {} }}", keyed.join(", ")),
        Err(value) => value,
    }
}

impl CheckPlace {
    fn header(&self) -> Option<&str> {
        match self {
            CheckPlace::Header(name) => Some(name),
            CheckPlace::Body | CheckPlace::Json(_) => None,
        }
    }

    fn pointer(&self) -> Option<&str> {
        match self {
            CheckPlace::Json(pointer) => Some(pointer),
            CheckPlace::Body | CheckPlace::Header(_) => None,
        }
    }
}

impl Check {
    /// What an answer is that fails the check, such as `body lacks "Welcome"`.
    #[must_use]
    pub fn failure(&self) -> String {
        let place = &self.place;
        match &self.test {
            ValueTest::Present => format!("{place} is missing"),
            ValueTest::Absent => format!("{place} is present"),
            ValueTest::Text(text) => format!("{place} is not {}", excerpt(text)),
            ValueTest::Whole(number) => format!("{place} is not {number}"),
            ValueTest::Decimal(number) => format!("{place} is not {number}"),
            ValueTest::Flag(flag) => format!("{place} is not {flag}"),
            ValueTest::Contains(text) => format!("{place} lacks {}", excerpt(text)),
            ValueTest::Matches(pattern) => {
                format!("{place} does not match {}", excerpt(pattern.text()))
            }
            ValueTest::Compares(relation, limit) => format!("{place} is not {relation} {limit}"),
        }
    }
}

impl Display for CheckPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckPlace::Header(name) => write!(f, "header {name}"),
            CheckPlace::Body => f.write_str("body"),
            CheckPlace::Json(pointer) if pointer.is_empty() => f.write_str("JSON document"),
            CheckPlace::Json(pointer) => {
                write!(f, "JSON {}", excerpt(pointer).trim_matches('"'))
            }
        }
    }
}

/// A text for a line of a result: in quotes, on one line, and not long.
fn excerpt(text: &str) -> String {
    let short: String = text.chars().take(SHOWN_CHARS).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{short:?}{more}")
}
