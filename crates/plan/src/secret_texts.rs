//! Secrets that a server may send back, kept out of what is saved of its answers.

use crate::{MASK, Piece, Plan, Request};
use std::borrow::Cow;

/// A word of a secret header that is shorter is not looked for: it would be found everywhere.
const WORD_MIN_BYTES: usize = 6;
/// As much of the beginning of a secret at the end of a text that was cut is a secret.
const CUT_MIN_BYTES: usize = 4;

/// The texts of a plan that must not be saved: its secret variables, and what its secret headers
/// have for all requests. Secrets that only an agent knows, such as tokens that it fetches, and
/// secret columns of data files are not among them.
#[derive(Clone, Default)]
pub struct SecretTexts(Vec<Box<str>>);

impl std::fmt::Debug for SecretTexts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SecretTexts").field(&self.0.len()).finish()
    }
}

impl SecretTexts {
    /// The secrets of `plan`.
    #[must_use]
    pub fn new(plan: &Plan) -> SecretTexts {
        let variables = plan.secret_variables().into_values();
        let mut texts: Vec<Box<str>> = variables.map(Box::from).collect();
        let fields = plan.requests.iter().flat_map(Request::fields);
        for (name, value) in fields {
            let Some(name) = crate::mask::secret_header(name) else {
                continue;
            };
            for piece in &value.pieces {
                if let Piece::Literal(text) = piece {
                    texts.extend(words(name, text).map(Box::from));
                }
            }
        }
        texts.retain(|text| !text.is_empty());
        // One that contains another is replaced as a whole.
        texts.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        texts.dedup();
        SecretTexts(texts)
    }

    /// The text with [`MASK`] in the place of each secret, and of the beginning of one at its end,
    /// where it may have been cut.
    #[must_use]
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut masked = Cow::Borrowed(text);
        for secret in &self.0 {
            if masked.contains(&**secret) {
                masked = Cow::Owned(masked.replace(&**secret, MASK));
            }
        }
        let begun = self.0.iter().filter_map(|secret| {
            let ends = secret.char_indices().map(|(end, _)| end).rev();
            let mut ends = ends.take_while(|&end| end >= CUT_MIN_BYTES);
            ends.find(|&end| masked.ends_with(&secret[..end]))
        });
        if let Some(longest) = begun.max() {
            let kept = &masked[..masked.len() - longest];
            masked = Cow::Owned(format!("{kept}{MASK}"));
        }
        masked
    }
}

/// The words of a secret header that are secret: not the scheme, such as `Bearer`, nor the names of
/// cookies.
fn words<'t>(header: &str, text: &'t str) -> impl Iterator<Item = &'t str> {
    let is_cookie = header == "cookie";
    let has_scheme = !is_cookie && text.contains(' ');
    let words = text.split(move |c: char| c.is_whitespace() || (is_cookie && c == ';'));
    let words = words.skip(usize::from(has_scheme));
    let value = move |word: &'t str| match word.split_once('=') {
        Some((_, value)) if is_cookie => value.trim_matches('"'),
        _ => word,
    };
    words.map(value).filter(|word| word.len() >= WORD_MIN_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoFiles;

    fn secrets(text: &str) -> SecretTexts {
        SecretTexts::new(&Plan::parse(text, &mut NoFiles).expect("a plan"))
    }

    const PLAN: &str = r#"
target.url = "http://127.0.0.1/"
load = { connections = 1, requests = 1 }
request.headers = { authorization = "Bearer abcdef-12345", x-tenant = "tenant-of-mine" }
"#;

    #[test]
    fn values_of_cookies_are_masked_and_equal_secrets_are_one() {
        let plan = r#"
target.url = "http://127.0.0.1/"
load = { connections = 1, requests = 1 }
[[request]]
path = "/a"
headers = { authorization = "Bearer qwertyuiopas", cookie = "session=abcdefghijkl; theme=x" }
[[request]]
path = "/b"
headers = { authorization = "Bearer qwertyuiopas", cookie = "session=abcdefghijkl; theme=x" }
"#;
        let secrets = secrets(plan);
        assert_eq!(secrets.0.len(), 2);
        let masked = secrets.mask("no session abcdefghijkl here");
        assert_eq!(masked, format!("no session {MASK} here"));
    }

    #[test]
    fn secret_headers_are_masked_and_others_are_not() {
        let secrets = secrets(PLAN);
        for (text, masked) in [
            ("no such item", "no such item"),
            ("bad token abcdef-12345!", "bad token (not saved)!"),
            (
                "Bearer is for tenant-of-mine",
                "Bearer is for tenant-of-mine",
            ),
            ("abcdef-12345abcdef-12345", "(not saved)(not saved)"),
            ("cut off: abcdef-12", "cut off: (not saved)"),
            ("abcd", "(not saved)"),
            ("abc", "abc"),
        ] {
            assert_eq!(secrets.mask(text), masked, "{text}");
        }
        assert_eq!(format!("{secrets:?}"), "SecretTexts(1)");
    }

    #[test]
    fn plan_without_secrets_changes_nothing() {
        let secrets = secrets(&PLAN.replace("authorization", "x-other"));
        assert!(matches!(secrets.mask("abcdef-12345"), Cow::Borrowed(_)));
    }
}
