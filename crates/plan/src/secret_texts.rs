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
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
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

/// The words of a secret header that are secret: not the scheme, such as `Bearer`.
fn words<'t>(header: &str, text: &'t str) -> impl Iterator<Item = &'t str> {
    let has_scheme = header != "cookie" && text.contains(' ');
    let words = text.split_whitespace().skip(usize::from(has_scheme));
    words.filter(|word| word.len() >= WORD_MIN_BYTES)
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
