//! Reads `request.capture`: texts that are taken from answers.

use crate::html_element::is_attribute_name;
use crate::mask;
use crate::read::context::Context;
use crate::read::expect::is_json_pointer;
use crate::read::field::Field;
use crate::read::header::is_token;
use crate::read::made;
use crate::read::node::{NodeValue, Table};
use crate::read::section::PlanSection;
use crate::read::variables::is_fit;
use crate::{Capture, CapturePick, CapturePlace, Capturer, HtmlElement, MissingCapture};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Most names of captured texts in a plan: each journey under way has a place for each.
const MAX_CAPTURES: usize = 100;
const MAX_POINTER_BYTES: usize = 4096;

/// Keys of which a capture has one, and which say where the text is.
const KINDS: [&str; 5] = ["header", "cookie", "json", "matches", "html"];

const EXAMPLES: &str = "{ json = \"/token\" }, { header = \"location\" }, { cookie = \
                        \"session\" }, { html = \"input[name=csrf]\", attribute = \"value\" } \
                        or { matches = 'id=([0-9]+)' }";

/// Paths of `capture`, without indices and names.
pub(crate) const KEYS: &[&str] = &["request.capture"];

/// Names of the captured texts of a plan, each once and in order, whether they can be read or not.
pub(crate) fn names(plan: &Table) -> Vec<String> {
    let request = plan.get("request").map(|entry| &entry.node.value);
    let tables: Vec<&Table> = match request {
        Some(NodeValue::Table(table)) => vec![table],
        Some(NodeValue::List(nodes)) => {
            let tables = nodes.iter().filter_map(|node| match &node.value {
                NodeValue::Table(table) => Some(table),
                _ => None,
            });
            tables.collect()
        }
        _ => Vec::new(),
    };
    let captures = tables
        .into_iter()
        .filter_map(|table| match &table.get("capture")?.node.value {
            NodeValue::Table(captures) => Some(captures.keys().cloned()),
            _ => None,
        });
    let names: BTreeSet<String> = captures.flatten().collect();
    names.into_iter().collect()
}

/// Makes the names of a plan's captured texts known, and reports those that stand for something
/// else too.
pub(crate) fn declare(context: &Context<'_>, plan: &Table) {
    let names = names(plan);
    if names.len() > MAX_CAPTURES {
        let number = names.len();
        let message = format!("captures texts of {number} names; write at most {MAX_CAPTURES}");
        context.problem("request", None, message);
    }
    let made = made::names(plan);
    let is_other = |name: &&String| context.variables().get(name).is_some() || made.contains(name);
    if let Some(name) = names.iter().find(is_other) {
        let message = format!(
            "captures {name}, which is the name of a variable or made value too; give one of them \
             another name"
        );
        context.problem("request", None, message);
    }
    let names = names.iter().map(|name| Arc::from(name.as_str()));
    context.set_captures(names.collect());
}

/// Reads what the answers to a request give.
pub(crate) fn of_request(request: &PlanSection<'_>, method: &str) -> Vec<Capture> {
    let section = request.read("capture", |field| field.section());
    let fields = section.map(|section| section.all()).unwrap_or_default();
    let mut captures: Vec<Capture> = fields
        .into_iter()
        .filter_map(|(name, field)| one(name, &field))
        .collect();
    let of_body = captures.iter().find(|capture| capture.is_of_body());
    if let Some(capture) = of_body.filter(|_| method == "HEAD") {
        request.problem_at(
            "capture",
            format_args!(
                "takes {} from the body, and an answer to HEAD has none; write method = \"GET\"",
                capture.name
            ),
        );
    }
    captures.sort_by(|a, b| a.name.cmp(&b.name));
    captures
}

fn one(name: &str, field: &Field<'_>) -> Option<Capture> {
    // A key of that name would be masked in texts that are saved.
    if !is_fit(name) || mask::is_secret_key(name) {
        field.problem(
            "is not the name of a captured text; write letters, digits, \"_\" and \"-\", beginning \
             with a letter, and not the name of a secret header",
        );
        return None;
    }
    if !matches!(field.node.value, NodeValue::Table(_)) {
        field.wrong_type("a table that says where the text is", EXAMPLES);
        return None;
    }
    let section = field.section()?;
    let given = section.given(&KINDS);
    let from = match given.as_slice() {
        ["header"] => section.read("header", header),
        ["cookie"] => section.read("cookie", cookie),
        ["json"] => section.read("json", pointer),
        ["matches"] => section.read("matches", capturer),
        ["html"] => html(&section),
        [] => {
            section.problem(format_args!(
                "does not say where the text is; write {EXAMPLES}"
            ));
            None
        }
        several => {
            section.problem(format_args!("has {}; keep one", several.join(" and ")));
            None
        }
    };
    if given != ["html"]
        && let Some(field) = section.field("attribute")
    {
        field.problem(
            "belongs to an element; write html = \"input[name=csrf]\" beside it, or remove it",
        );
    }
    let pick = section.read("pick", |field| field.choice());
    let missing = section.read("missing", |field| field.choice());
    section.finish();
    let placeholder = field.context.names().capture(name)?;
    Some(Capture {
        name: placeholder.name,
        index: placeholder.index,
        from: from?,
        pick: pick.unwrap_or(CapturePick::First),
        missing: missing.unwrap_or(MissingCapture::Fail),
        numbers: Vec::new(), // known once all requests are
    })
}

fn header(field: Field<'_>) -> Option<CapturePlace> {
    let name = field.text("the name of a header field, such as \"location\"")?;
    if !is_token(name) {
        field.refuse("is not a header name (RFC 9110 §5.1); write one such as \"location\"");
        return None;
    }
    Some(CapturePlace::Header(name.to_ascii_lowercase()))
}

fn cookie(field: Field<'_>) -> Option<CapturePlace> {
    let name = field.text("the name of a cookie, such as \"session\"")?;
    if !is_token(name) {
        field.refuse("is not the name of a cookie (RFC 6265 §4.1.1); write one such as \"id\"");
        return None;
    }
    Some(CapturePlace::Cookie(name.to_owned()))
}

fn pointer(field: Field<'_>) -> Option<CapturePlace> {
    let pointer = field.text("a JSON pointer such as \"/items/0/id\"")?;
    if !is_json_pointer(pointer) || pointer.len() > MAX_POINTER_BYTES {
        field.refuse(
            "is not a JSON pointer (RFC 6901); write one such as \"/items/0/id\", or \
             \"/items/*/id\" for any element",
        );
        return None;
    }
    Some(CapturePlace::Json(pointer.to_owned()))
}

fn html(section: &PlanSection<'_>) -> Option<CapturePlace> {
    let element = section.read("html", |field| {
        let text = field.text("an element of HTML, such as \"input[name=csrf]\"")?;
        HtmlElement::new(text).map_err(|why| field.refuse(why)).ok()
    });
    if !section.has("attribute") {
        section.problem("does not say which attribute; write one such as attribute = \"value\"");
    }
    let attribute = section.read("attribute", |field| {
        let name = field.text("the name of an attribute, such as \"value\"")?;
        if !is_attribute_name(name) {
            field.refuse("is not the name of an attribute; write one such as \"value\"");
            return None;
        }
        Some(name.to_ascii_lowercase())
    });
    Some(CapturePlace::Html {
        element: element?,
        attribute: attribute?,
    })
}

fn capturer(field: Field<'_>) -> Option<CapturePlace> {
    let text = field.text("a regular expression with a group, such as 'id=\"([^\"]+)\"'")?;
    if text.is_empty() {
        field.refuse("matches everywhere; write what stands around the text");
        return None;
    }
    let capturer = Capturer::new(text).map_err(|why| field.refuse(why)).ok()?;
    Some(CapturePlace::Matches(capturer))
}
