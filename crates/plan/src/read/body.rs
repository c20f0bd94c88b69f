//! Reads a request's body: a text, a file, a form, JSON, or several parts.

use crate::multipart::{BodyPart, Multipart, PartContent};
use crate::read::columns::{self, BodyKind};
use crate::read::field::Field;
use crate::read::json_text;
use crate::read::node::NodeValue;
use crate::read::section::PlanSection;
use crate::read::template::template;
use crate::{Body, Piece, Template};
use data::Escape;
use secret::Secret;
use std::sync::Arc;

const MAX_BYTES: usize = 64 << 20;
const MAX_PARTS: usize = 100;
const MAX_NAME_BYTES: usize = 200;
/// The keys of which a request has one at most.
pub(crate) const KINDS: [&str; 5] = ["body", "body_file", "form", "json", "multipart"];
const CONTENT_TYPE: &str = "content-type";

type Headers = Vec<(String, Secret<Template>)>;

/// Reads the body, and adds the header field that says what it is if `headers` has none.
pub(crate) fn read(section: &PlanSection<'_>, headers: &mut Headers) -> Option<Body> {
    let given: Vec<&str> = KINDS.into_iter().filter(|kind| section.has(kind)).collect();
    if let [first, others @ ..] = given.as_slice() {
        for other in others {
            section.problem_at(
                other,
                format_args!("given beside {first}; keep one of them"),
            );
        }
    }
    let text = section.read("body", |field| {
        let written = field.template_text("the body's text")?;
        field.reveal(written)?;
        let mut text = template(&field, written);
        let kind = BodyKind::new(content_type(headers).as_deref(), &text);
        columns::in_body(&field, &mut text, kind);
        Some(Body::Text(text))
    });
    let file = section.read("body_file", |field| field.file(MAX_BYTES).map(Body::File));
    let form = section.read("form", |field| form(&field, headers));
    let json = section.read("json", |field| json(&field, headers));
    let parts = section.read("multipart", |field| multipart(&field, headers));
    text.or(file).or(form).or(json).or(parts)
}

fn content_type(headers: &Headers) -> Option<String> {
    let mut headers = headers.iter();
    let found = headers.find(|(name, _)| name.eq_ignore_ascii_case(CONTENT_TYPE));
    found.map(|(_, value)| value.reveal().to_string())
}

/// Says what the body is, unless the plan does.
fn add_content_type(headers: &mut Headers, value: &str) {
    if content_type(headers).is_none() {
        let value = Secret::new(Template::from(value));
        headers.push((CONTENT_TYPE.to_owned(), value));
    }
}

/// Reads a form: what its names and values mean in a form is encoded.
fn form(field: &Field<'_>, headers: &mut Headers) -> Option<Body> {
    let section = field.section()?;
    let mut pieces = Vec::new();
    for (name, value) in section.all() {
        let values = match &value.node.value {
            NodeValue::List(_) => value.list("a list of values")?,
            _ => vec![value],
        };
        for value in values {
            let and = if pieces.is_empty() { "" } else { "&" };
            pieces.push(Piece::Literal(format!("{and}{}=", encode(name)).into()));
            pieces.extend(form_value(&value)?);
        }
    }
    add_content_type(headers, "application/x-www-form-urlencoded");
    let mut text = Template::of_pieces(pieces);
    if BodyKind::new(content_type(headers).as_deref(), &text) != BodyKind::Form {
        field.problem("has a content-type that is no form's; remove it from headers");
        return None;
    }
    columns::in_body(field, &mut text, BodyKind::Form);
    Some(Body::Text(text))
}

fn form_value(field: &Field<'_>) -> Option<Vec<Piece>> {
    let text = match &field.node.value {
        NodeValue::Table(_) | NodeValue::List(_) => {
            field.wrong_type(
                "a text, a number or a flag",
                "one of these, or a list of them",
            );
            return None;
        }
        value => field
            .node
            .variable
            .clone()
            .unwrap_or_else(|| value.to_text()),
    };
    let pieces = template(field, &text).pieces.into_iter();
    let encoded = pieces.map(|piece| match piece {
        Piece::Literal(text) => Piece::Literal(encode(&text).into()),
        other => other,
    });
    Some(encoded.collect())
}

fn encode(text: &str) -> String {
    let mut encoded = Vec::with_capacity(text.len());
    Escape::Query.put(text.as_bytes(), &mut encoded);
    // Percent-encoding leaves ASCII only.
    String::from_utf8_lossy(&encoded).into_owned()
}

/// Reads JSON, written as text or as a table.
fn json(field: &Field<'_>, headers: &mut Headers) -> Option<Body> {
    let text = match &field.node.value {
        NodeValue::Text(text) => text.clone(),
        _ => json_text::write(field)?,
    };
    field.reveal(&text)?;
    let mut template = template(field, &text);
    if let Err(why) = json_text::check(&template) {
        field.problem(format_args!(
            "is no JSON with values in place of its placeholders: {why}; write body = '…' to send \
             it as it is"
        ));
        return None;
    }
    columns::in_body(field, &mut template, BodyKind::Json);
    add_content_type(headers, "application/json");
    if BodyKind::new(content_type(headers).as_deref(), &template) != BodyKind::Json {
        field.problem("has a content-type that is not JSON's; remove it from headers");
        return None;
    }
    Some(Body::Text(template))
}

fn multipart(field: &Field<'_>, headers: &mut Headers) -> Option<Body> {
    let parts = field.list_of("parts such as { name = \"file\", file = \"a.png\" }", part)?;
    if !(1..=MAX_PARTS).contains(&parts.len()) {
        field.problem(format_args!(
            "has {} parts; write between 1 and {MAX_PARTS}",
            parts.len()
        ));
        return None;
    }
    let multipart = Multipart { parts };
    let own = format!("multipart/form-data; boundary={}", multipart.boundary());
    if content_type(headers).is_some_and(|given| given != own) {
        field.problem(
            "has a content-type of its own, with the boundary of its parts; remove it from headers",
        );
        return None;
    }
    add_content_type(headers, &own);
    Some(Body::Multipart(Arc::new(multipart)))
}

fn part(field: &Field<'_>) -> Option<BodyPart> {
    let section = field.section()?;
    let name = section.read("name", part_word);
    if !section.has("name") {
        section.problem("has no name; write name = \"file\"");
    }
    let text = section.read("text", |field| {
        let written = field.template_text("the part's text")?;
        field.reveal(written)?;
        Some(PartContent::Text(template(&field, written)))
    });
    let file = section.read("file", |field| field.file(MAX_BYTES).map(PartContent::File));
    if section.has("text") == section.has("file") {
        section.problem("holds a text or a file; write text = \"…\" or file = \"…\"");
    }
    let filename = section.read("filename", part_word);
    let media_type = section.read("type", part_word);
    let is_whole = section.has("filename") == filename.is_some()
        && section.has("type") == media_type.is_some();
    section.finish();
    let content = text.or(file)?;
    let filename = filename.or_else(|| match &content {
        PartContent::File(file) => file.name.rsplit('/').next().map(str::to_owned),
        PartContent::Text(_) => None,
    });
    is_whole.then_some(())?;
    if filename.as_deref().is_some_and(|name| !fits_head(name)) {
        field.problem(
            "has a file whose name does not fit the head of a part; write filename = \"…\" too",
        );
        return None;
    }
    Some(BodyPart {
        name: name?,
        content,
        filename,
        media_type,
    })
}

fn fits_head(text: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&text.len())
        && !text.contains(|c: char| c.is_control() || c == '"' || c == '\\')
}

/// Reads a text that stands in the head of a part.
fn part_word(field: Field<'_>) -> Option<String> {
    let text = field.text("a text")?;
    let fits = fits_head(text);
    if !fits {
        field.refuse(format_args!(
            "does not fit the head of a part; write 1 to {MAX_NAME_BYTES} bytes without quotation \
             marks, backslashes and control characters"
        ));
    }
    fits.then(|| text.to_owned())
}
