//! Which values of a plan are credentials, and a plan's text without them, for everything that is
//! kept or shown.

use crate::SECRET_HEADERS;
use crate::path::{join, within_plan};
use std::ops::Range;
use toml_edit::{Array, Document, Item, TableLike, Value};

/// Replaces a value that is not saved; no server accepts it in its place.
pub const MASK: &str = "(not saved)";

/// The section of the axes, in which a list contains several values.
const AXES: &str = "matrix";

/// The section of the variables, and the key of those that are secret.
const VARIABLES: &str = "vars";
const SECRET: &str = "secret";

/// The section of credentials, and those of its keys that are not secret.
const CREDENTIALS: &str = "auth";
const PUBLIC: [&str; 8] = [
    "user",
    "token_url",
    "client",
    "client_auth",
    "scope",
    "per",
    "region",
    "service",
];

/// Returns those of `names` that are secret headers, each once.
pub(crate) fn secret_headers<'n>(names: impl Iterator<Item = &'n str>) -> Vec<&'static str> {
    let mut found: Vec<&'static str> = names.filter_map(secret_header).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns a plan's text, as given or canonical, with [`MASK`] for the values of secret headers and
/// variables; everything else remains byte for byte. A text that is not TOML is masked as a whole.
///
/// Bodies, paths, names and comments are not examined.
#[must_use]
pub fn mask_secrets(text: &str) -> String {
    let Ok(document) = Document::parse(text) else {
        return MASK.to_owned();
    };
    let mut spans = Vec::new();
    table(document.as_table(), Place::Anywhere, "", &mut spans);
    // Tables of the same name can be in different places of the text.
    spans.sort_by_key(|span| span.start);
    let (mut masked, mut from) = (String::with_capacity(text.len()), 0);
    for span in spans {
        masked.push_str(&text[from..span.start]);
        masked.push_str(&format!("\"{MASK}\""));
        from = span.end;
    }
    masked.push_str(&text[from..]);
    masked
}

/// Whether `key`, which can be a quoted path, ends in the name of a secret header.
pub(crate) fn is_secret_key(key: &str) -> bool {
    key.rsplit('.').next().and_then(secret_header).is_some()
}

/// Whether a value at `path`, which may be an element of a list, must not appear in messages.
pub(crate) fn is_secret_place(path: &str, is_text: bool) -> bool {
    let element = path.rfind('[').filter(|_| path.ends_with(']'));
    let key = &path[..element.unwrap_or(path.len())];
    // Header fields written as one string by mistake can contain secret ones.
    let is_headers = key.trim_end_matches('"').ends_with("headers");
    !has_names_of_users(key) && (is_secret_path(key) || (is_headers && is_text))
}

/// Whether `path` leads to a place whose keys have other meanings than those of a plan, so that
/// none is secret by its name: bodies, and data files.
fn has_names_of_users(path: &str) -> bool {
    let within = within_plan(path);
    let mut parts = within
        .split('.')
        .map(|part| part.split('[').next().unwrap_or_default());
    match parts.next() {
        Some("data") => true,
        Some("request") => match parts.next() {
            Some("json" | "form" | "multipart" | "capture") => true,
            Some("grpc") => parts.next() == Some("message"),
            _ => false,
        },
        _ => false,
    }
}

/// Whether the value at `path` is one by its key or its place.
pub(crate) fn is_secret_path(path: &str) -> bool {
    is_secret_key(path) || is_secret_variable(path) || is_credential(path)
}

/// Whether `path` is that of credentials. Unknown keys are taken for some, since their names may be
/// typing errors.
fn is_credential(path: &str) -> bool {
    let parts: Vec<&str> = within_plan(path).split('.').collect();
    match parts.as_slice() {
        [CREDENTIALS, _, "oauth2", "parameters", _] => false,
        [CREDENTIALS, .., key] => !PUBLIC.contains(key),
        _ => false,
    }
}

/// Whether `path` is that of a variable's secret value.
pub(crate) fn is_secret_variable(path: &str) -> bool {
    let mut parts = path.split('.');
    parts.next_back() == Some(SECRET) && parts.any(|part| part == VARIABLES)
}

/// The name as [`SECRET_HEADERS`] writes it.
pub(crate) fn secret_header(name: &str) -> Option<&'static str> {
    let is_it = |secret: &&str| name.eq_ignore_ascii_case(secret);
    SECRET_HEADERS.into_iter().find(is_it)
}

/// The meaning of a list in place of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The list contains the values of one field.
    Anywhere,
    /// The list contains the values that an axis takes.
    Axis,
}

/// Looks through the table at `path`.
fn table(table: &dyn TableLike, place: Place, path: &str, spans: &mut Vec<Range<usize>>) {
    for (key, value) in table.iter() {
        let path = join(path, key);
        if has_names_of_users(&path) {
            continue;
        }
        let is_axis = place == Place::Axis || key.split('.').next() == Some(AXES);
        let masker = Masker {
            is_secret: is_secret_path(&path),
            path: &path,
        };
        let place = if is_axis {
            Place::Axis
        } else {
            Place::Anywhere
        };
        masker.item(value, place, spans);
    }
}

/// What is known of a value by the keys above it.
#[derive(Clone, Copy)]
struct Masker<'a> {
    is_secret: bool,
    path: &'a str,
}

impl Masker<'_> {
    fn item(self, item: &Item, place: Place, spans: &mut Vec<Range<usize>>) {
        let mut of_table = |inner: &dyn TableLike| table(inner, place, self.path, spans);
        match item {
            Item::None => {}
            Item::Value(inner) => self.value(inner, place, spans),
            Item::Table(inner) => of_table(inner),
            Item::ArrayOfTables(tables) => tables.iter().for_each(|inner| of_table(inner)),
        }
    }

    fn value(self, value: &Value, place: Place, spans: &mut Vec<Range<usize>>) {
        match value {
            // A variant can have the name of a header.
            Value::InlineTable(inner) => table(inner, place, self.path, spans),
            Value::Array(array) if !self.is_secret || is_of_axis(array, place) => {
                // A list within an axis is a single value of it.
                let elements = array.iter();
                elements.for_each(|inner| self.value(inner, Place::Anywhere, spans));
            }
            _ if self.is_secret => spans.extend(value.span()),
            _ => {}
        }
    }
}

fn is_of_axis(array: &Array, place: Place) -> bool {
    place == Place::Axis && !array.is_empty()
}

#[cfg(test)]
mod tests {
    use super::{MASK, mask_secrets};

    #[test]
    fn secret_values_are_masked_wherever_a_plan_may_write_them() {
        let mask = format!("\"{MASK}\"");
        for (text, expected) in [
            (
                "headers = { Authorization = \"s\" }",
                "headers = { Authorization = M }",
            ),
            (
                "headers.COOKIE = [ 's', \"s\" ] # why\r\n",
                "headers.COOKIE = M # why\r\n",
            ),
            (
                "a.\"request.headers.cookie\" = '''\ns'''",
                "a.\"request.headers.cookie\" = M",
            ),
            (
                "[[request]]\nheaders.cookie=5\n[[request]]\n",
                "[[request]]\nheaders.cookie=M\n[[request]]\n",
            ),
            (
                "request = [{ headers = { proxy-authorization = 's' } }]",
                "request = [{ headers = { proxy-authorization = M } }]",
            ),
            (
                "[vars]\nk = { secret = 's' }\nj = 's'\n[request]\nheaders.secret = 's'",
                "[vars]\nk = { secret = M }\nj = 's'\n[request]\nheaders.secret = 's'",
            ),
            (
                "\"variants.a.vars.k.secret\" = 's'\nmatrix.\"vars.k\" = [{ secret = 's' }]",
                "\"variants.a.vars.k.secret\" = M\nmatrix.\"vars.k\" = [{ secret = M }]",
            ),
            (
                "[variants]\ncookie = { x = 's' }",
                "[variants]\ncookie = { x = 's' }",
            ),
            (
                "matrix.\"request.headers.cookie\" = ['s', ['s', 's']]",
                "matrix.\"request.headers.cookie\" = [M, M]",
            ),
            (
                "\"matrix.request.headers\" = [{ cookie = ['s'] }]",
                "\"matrix.request.headers\" = [{ cookie = M }]",
            ),
            (
                "[b]\nc.cookie = 1\n[a]\ncookie = 2\n[b.d]\ncookie = 3",
                "[b]\nc.cookie = M\n[a]\ncookie = M\n[b.d]\ncookie = M",
            ),
            (
                "\u{feff}set-cookie = 's' # cookie = 's'",
                "\u{feff}set-cookie = 's' # cookie = 's'",
            ),
            (
                "[request]\njson = { cookie = 's', vars = { secret = 's' } }\nheaders.cookie = 's'",
                "[request]\njson = { cookie = 's', vars = { secret = 's' } }\nheaders.cookie = M",
            ),
            (
                "[data.vars]\nsecret = ['p']\n[variants.json.request.headers]\ncookie = 's'",
                "[data.vars]\nsecret = ['p']\n[variants.json.request.headers]\ncookie = M",
            ),
            (
                "matrix.\"request.form.cookie\" = ['s']\n[variants.a]\nrequest.json.cookie = 's'",
                "matrix.\"request.form.cookie\" = ['s']\n[variants.a]\nrequest.json.cookie = 's'",
            ),
            (
                "[auth.a]\nbasic = { user = 'u', password = 's' }\nauth.b.bearer = 's'",
                "[auth.a]\nbasic = { user = 'u', password = M }\nauth.b.bearer = M",
            ),
            (
                "matrix.\"auth.a.bearer\" = ['s', 's']\nvariants.x.auth.a.basic.password = 's'",
                "matrix.\"auth.a.bearer\" = [M, M]\nvariants.x.auth.a.basic.password = M",
            ),
            ("not = = TOML", "(not saved)"),
        ] {
            assert_eq!(
                mask_secrets(text),
                expected
                    .replace('M', &mask)
                    .replace(&format!("TO{mask}L"), "TOML"),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_masked_stays_so() {
        let text = mask_secrets("headers = { cookie = ['s'] }\nname = 'x'");
        assert_eq!(mask_secrets(&text), text);
    }
}
