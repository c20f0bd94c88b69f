//! Reads a text with placeholders, and notes parts that only look like one.

use crate::Template;
use crate::read::columns;
use crate::read::field::Field;
use crate::read::plan_names::PlanNames;
use crate::template::look_alikes;

/// Most look-alikes that a note names; more are hardly read.
const NAMED_MAX: usize = 3;

/// Reads the text of `field`. Placeholders of other programs are sent as they are, which is seldom
/// intended.
pub(crate) fn template(field: &Field<'_>, text: &str) -> Template {
    template_with(field, text, &field.context.names())
}

/// Like [`template`], with other names than those that the whole plan declares.
pub(crate) fn template_with(field: &Field<'_>, text: &str, names: &PlanNames<'_>) -> Template {
    columns::refuse_unknown(field, text);
    // A plan that declares names has been searched for strangers already.
    let found = if names.is_empty() {
        look_alikes(text)
    } else {
        Vec::new()
    };
    if !found.is_empty() {
        let named = name_look_alikes(field, &found);
        let verb = if found.len() == 1 { "is" } else { "are" };
        let path = &field.path;
        field.context.note(format!(
            "{path}: {named} {verb} sent as written: only {{user}}, {{seq}} and {{random}} are \
             replaced, without anything around them"
        ));
    }
    Template::with(text, names)
}

/// Names the look-alikes, unless the text is secret: part of a secret is secret too.
fn name_look_alikes(field: &Field<'_>, found: &[&str]) -> String {
    if field.is_secret() {
        return "what looks like a placeholder".to_owned();
    }
    let (shown, more) = found.split_at(found.len().min(NAMED_MAX));
    let more = if more.is_empty() {
        String::new()
    } else {
        format!(" and {} more", more.len())
    };
    format!("{}{more}", shown.join(", "))
}
