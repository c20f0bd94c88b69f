//! Texts that are taken from an answer: from its header fields as they pass, and from its body once
//! that is whole.

use crate::journey_memory::NewText;
use measure::{Kind, SplitMix};
use plan::{Capture, CapturePick, CapturePlace, Capturer, MissingCapture};
use serde_json::Value;

/// For each capture, the texts of header fields that it may take; empty for those of the body.
#[derive(Debug, Default)]
pub(super) struct FieldCaptures(Vec<Vec<Vec<u8>>>);

impl FieldCaptures {
    /// Looks for texts in fields, given as names and values.
    pub(super) fn new<'f>(
        captures: &[(u16, Capture)],
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])> + Clone,
    ) -> FieldCaptures {
        let of_capture = |(_, capture): &(u16, Capture)| match &capture.from {
            CapturePlace::Header(name) => {
                let values = values_of(fields.clone(), name).filter(|value| is_fit(value));
                values.map(<[u8]>::to_vec).collect()
            }
            CapturePlace::Cookie(name) => {
                let set = values_of(fields.clone(), "set-cookie");
                let values = set.filter_map(|set| cookie_value(set, name.as_bytes()));
                values
                    .filter(|value| is_fit(value))
                    .map(<[u8]>::to_vec)
                    .collect()
            }
            CapturePlace::Json(_) | CapturePlace::Matches(_) | CapturePlace::Html { .. } => {
                Vec::new()
            }
        };
        FieldCaptures(captures.iter().map(of_capture).collect())
    }
}

/// The values of the fields called `wanted`.
pub(super) fn values_of<'f>(
    fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
    wanted: &str,
) -> impl Iterator<Item = &'f [u8]> {
    let fields = fields.filter(move |(name, _)| name.eq_ignore_ascii_case(wanted.as_bytes()));
    fields.map(|(_, value)| value.trim_ascii())
}

/// The body of an answer, as far as texts are taken from it.
#[derive(Debug, Clone, Copy)]
pub(super) enum KeptBody<'b> {
    Text(&'b [u8]),
    /// Fields of the message that answers a gRPC call.
    Message(&'b Value),
}

/// Takes the texts of an answer with these fields and this body, in whose page those of `html` were
/// found. The error is the failure of the first capture without a text that must have one.
pub(super) fn take_texts(
    captures: &[(u16, Capture)],
    (fields, html): (FieldCaptures, Vec<Vec<Vec<u8>>>),
    body: KeptBody<'_>,
    random: u64,
) -> Result<Vec<NewText>, Kind> {
    let mut document = None;
    let mut texts = Vec::with_capacity(captures.len());
    let (mut of_fields, mut of_html) = (fields.0.into_iter(), html.into_iter());
    for (place, (number, capture)) in captures.iter().enumerate() {
        let mut found = of_fields.next().unwrap_or_default();
        match &capture.from {
            CapturePlace::Header(_) | CapturePlace::Cookie(_) => {}
            CapturePlace::Html { .. } => found = of_html.next().unwrap_or_default(),
            CapturePlace::Json(pointer) => {
                let document = match body {
                    KeptBody::Message(fields) => Some(fields),
                    KeptBody::Text(body) => document
                        .get_or_insert_with(|| serde_json::from_slice::<Value>(body).ok())
                        .as_ref(),
                };
                if let Some(document) = document {
                    find_json(document, pointer, &mut found);
                }
            }
            CapturePlace::Matches(capturer) => {
                if let KeptBody::Text(body) = body {
                    find_matches(capturer, body, capture.pick, &mut found);
                }
            }
        }
        if !capture.numbers.is_empty() {
            found.retain(|text| capture.numbers.iter().all(|number| number.takes(text)));
        }
        let picked = match capture.pick {
            CapturePick::First => 0,
            CapturePick::Last => found.len().saturating_sub(1),
            CapturePick::Random => {
                let bits = SplitMix::nth(random, place as u64);
                ((u128::from(bits) * found.len() as u128) >> 64) as usize
            }
        };
        match found.into_iter().nth(picked) {
            Some(text) => texts.push((capture.index, text)),
            None if capture.missing == MissingCapture::Skip => {}
            None => return Err(Kind::Check(*number)),
        }
    }
    Ok(texts)
}

/// Whether a text can be taken: it has a length that is kept for each journey, and no character
/// that would end a header field in which it is sent.
pub(super) fn is_fit(text: &[u8]) -> bool {
    (1..=Capture::MAX_BYTES).contains(&text.len())
        && text
            .iter()
            .all(|&byte| byte == b'\t' || !byte.is_ascii_control())
}

/// The value of the cookie `name`, if that is what the value of a field `set-cookie` sets (RFC 6265
/// §5.2).
fn cookie_value<'f>(set: &'f [u8], name: &[u8]) -> Option<&'f [u8]> {
    let pair = set.split(|&byte| byte == b';').next()?;
    let equals = pair.iter().position(|&byte| byte == b'=')?;
    (pair[..equals].trim_ascii() == name).then(|| pair[equals + 1..].trim_ascii())
}

/// Appends the texts at `pointer` (RFC 6901), whose parts `*` stand for every element.
fn find_json(value: &Value, pointer: &str, found: &mut Vec<Vec<u8>>) {
    let Some(rest) = pointer.strip_prefix('/') else {
        let text = match value {
            Value::String(text) => text.clone().into_bytes(),
            Value::Number(number) => number.to_string().into_bytes(),
            Value::Bool(flag) => flag.to_string().into_bytes(),
            Value::Null | Value::Array(_) | Value::Object(_) => return,
        };
        if is_fit(&text) {
            found.push(text);
        }
        return;
    };
    let (part, rest) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    match value {
        Value::Array(elements) if part == "*" => {
            elements
                .iter()
                .for_each(|element| find_json(element, rest, found));
        }
        Value::Object(members) if part == "*" && !members.contains_key("*") => {
            members
                .values()
                .for_each(|member| find_json(member, rest, found));
        }
        _ => {
            if let Some(inner) = value.pointer(&format!("/{part}")) {
                find_json(inner, rest, found);
            }
        }
    }
}

/// Appends the texts that an expression takes out of the body, as many as are needed for a pick.
fn find_matches(capturer: &Capturer, body: &[u8], pick: CapturePick, found: &mut Vec<Vec<u8>>) {
    let mut memory = capturer.memory();
    let mut from = 0;
    while from <= body.len()
        && let Some((text, end)) = capturer.find(&mut memory, body, from)
    {
        let text = &body[text];
        if is_fit(text) {
            found.push(text.to_vec());
            if pick == CapturePick::First {
                return;
            }
        }
        from = if end > from { end } else { from + 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::super::html_search::{HtmlSearch, HtmlWishes};
    use super::*;
    use plan::{NoFiles, Plan};

    /// Captures `what`, a table of a plan, from an answer.
    fn capture(what: &str, fields: &[(&str, &str)], body: &str) -> Result<Vec<String>, Kind> {
        let text = format!(
            "target.url = \"http://127.0.0.1/\"
             request = [{{ name = \"a\", capture = {{ {what} }} }}]
             journey = [{{ steps = [\"a\"] }}]
             load = {{ connections = 1, journeys = 1 }}"
        );
        let plan = Plan::parse(&text, &mut NoFiles).expect(what);
        let captures = plan.requests()[0].captures.iter().cloned();
        let captures: Vec<(u16, Capture)> = (1..).zip(captures).collect();
        let fields = fields.iter().map(|(a, b)| (a.as_bytes(), b.as_bytes()));
        let fields = FieldCaptures::new(&captures, fields);
        let wishes = HtmlWishes::new(captures.iter().map(|(_, capture)| capture));
        let mut page = HtmlSearch::default();
        page.take(&wishes, body.as_bytes());
        let html = page.take_found();
        let body = KeptBody::Text(body.as_bytes());
        let texts = take_texts(&captures, (fields, html), body, 7)?;
        let text = |(_, text)| String::from_utf8(text).expect("a text");
        Ok(texts.into_iter().map(text).collect())
    }

    #[test]
    fn texts_are_found_where_the_plan_says() {
        let fields = [
            ("Set-Cookie", "id=abc; Path=/; HttpOnly"),
            ("Location", "/item/7"),
            ("set-cookie", "theme = dark "),
            ("set-cookie", "id=def"),
        ];
        let body = r#"{"items": [{"id": 3}, {"id": "x"}, {"no": 1}], "a/b": true, "t": "é\"",
            "n": null, "page": "<a href=/1><A HREF='/2&amp;'>"}"#;
        for (what, text) in [
            ("x = { cookie = \"id\" }", "abc"),
            ("x = { cookie = \"id\", pick = \"last\" }", "def"),
            ("x = { cookie = \"theme\" }", "dark"),
            ("x = { header = \"LOCATION\" }", "/item/7"),
            ("x = { json = \"/items/0/id\" }", "3"),
            ("x = { json = \"/items/*/id\", pick = \"last\" }", "x"),
            ("x = { json = \"/a~1b\" }", "true"),
            ("x = { json = \"/t\" }", "é\""),
            (
                "x = { matches = '\"id\": \"?(\\w)' , pick = \"last\" }",
                "x",
            ),
            ("x = { matches = 'items' }", "items"),
            ("x = { html = \"a\", attribute = \"href\" }", "/1"),
            (
                "x = { html = \"a\", attribute = \"href\", pick = \"last\" }",
                "/2&",
            ),
        ] {
            assert_eq!(
                capture(what, &fields, body),
                Ok(vec![text.to_owned()]),
                "{what}"
            );
        }
    }

    #[test]
    fn a_missing_text_fails_or_is_skipped() {
        let long = format!(
            "{{\"a\": \"{}\", \"b\": \"x\\ny\"}}",
            "z".repeat(Capture::MAX_BYTES + 1)
        );
        for what in [
            "cookie = \"id\"",
            "json = \"/n\"",
            "json = \"/a\"",
            "json = \"/b\"",
            "matches = 'q'",
        ] {
            let failed = capture(&format!("x = {{ {what} }}"), &[], &long);
            assert_eq!(failed, Err(Kind::Check(1)), "{what}");
            let skipped = capture(&format!("x = {{ {what}, missing = \"skip\" }}"), &[], &long);
            assert_eq!(skipped, Ok(Vec::new()), "{what}");
        }
        assert_eq!(
            capture("x = { json = \"\" }", &[], "no JSON"),
            Err(Kind::Check(1))
        );
    }

    #[test]
    fn every_element_is_picked_at_random() {
        let captures = "x = { json = \"/*\", pick = \"random\" }";
        let text = format!(
            "target.url = \"http://127.0.0.1/\"\nrequest = [{{ name = \"a\", capture = {{ \
             {captures} }} }}]\njourney = [{{ steps = [\"a\"] }}]\nload = {{ connections = 1, \
             journeys = 1 }}"
        );
        let plan = Plan::parse(&text, &mut NoFiles).expect("a plan");
        let captures = [(1, plan.requests()[0].captures[0].clone())];
        let mut counts = [0; 3];
        for random in 0..300 {
            let nothing = (FieldCaptures::default(), Vec::new());
            let texts = take_texts(&captures, nothing, KeptBody::Text(b"[0, 1, 2]"), random);
            let texts = texts.expect("there are three");
            counts[usize::from(texts[0].1[0] - b'0')] += 1;
        }
        assert!(counts.iter().all(|&count| count > 60), "{counts:?}");
    }
}
