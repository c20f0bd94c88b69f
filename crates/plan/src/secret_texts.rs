//! Secrets that a server may send back, kept out of what is saved of its answers.

use crate::{AuthScheme, MASK, Piece, Plan, Request, Template, mask};
use secret::Secret;

/// As much of the beginning of a secret is a secret wherever it stands: servers shorten what they
/// repeat.
const BEGINNING_MIN_BYTES: usize = 8;
/// A shorter secret is looked for as a whole word: as a part of words it would be found everywhere.
const PART_MIN_BYTES: usize = 4;

/// Texts that must not be saved.
#[derive(Clone, Default)]
pub struct SecretTexts(Vec<Secret<String>>);

impl std::fmt::Debug for SecretTexts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SecretTexts").field(&self.0.len()).finish()
    }
}

/// A text that a request sends and that must not be saved.
#[derive(Debug, Clone, PartialEq)]
pub struct SentSecret {
    /// The header field whose value it is, as [`SECRET_HEADERS`] writes it, if it is one of these.
    ///
    /// [`SECRET_HEADERS`]: crate::SECRET_HEADERS
    pub header: Option<&'static str>,
    /// The text.
    pub text: Secret<Template>,
}

impl Request {
    /// What it sends that must not be saved: values of secret header fields, passwords, and
    /// placeholders of secrets. What is captured counts as one where it is a value of a header
    /// field.
    #[must_use]
    pub fn sent_secrets(&self) -> Vec<SentSecret> {
        let mut all = Vec::new();
        let mut add = |header, text| {
            let text = Secret::new(text);
            all.push(SentSecret { header, text });
        };
        for (name, value) in self.fields() {
            match mask::secret_header(name) {
                Some(name) => add(Some(name), value.clone()),
                None => secret_pieces(value, true).for_each(|text| add(None, text)),
            }
        }
        let scheme = self.auth.as_ref().map(|auth| &auth.scheme);
        if let Some(AuthScheme::Basic { password, .. }) = scheme {
            add(None, password.reveal().clone());
        }
        for text in self.templates() {
            secret_pieces(text, false).for_each(|text| add(None, text));
        }
        all
    }
}

/// The secret pieces of a text, each as a text of its own.
fn secret_pieces(text: &Template, with_captured: bool) -> impl Iterator<Item = Template> {
    let is_secret = move |piece: &&Piece| match piece {
        Piece::Secret { .. } | Piece::Token(_) => true,
        Piece::Captured(_) => with_captured,
        Piece::Column(column) => column.is_secret(),
        Piece::Made(made) => made.value.is_secret(),
        Piece::Literal(_) | Piece::User | Piece::Seq | Piece::Random => false,
    };
    let pieces = text.all_pieces().into_iter().filter(is_secret);
    pieces.map(|piece| Template::of_pieces(vec![piece.clone()]))
}

impl SecretTexts {
    /// The secret variables of `plan`.
    #[must_use]
    pub fn from_variables(plan: &Plan) -> SecretTexts {
        let mut texts = SecretTexts::default();
        let variables = plan.secret_variables().into_values();
        variables.for_each(|text| texts.add(None, text));
        texts
    }

    /// Adds a text, of which only the secret words if it is the value of this header field.
    pub fn add(&mut self, header: Option<&str>, text: &str) {
        match header {
            Some(header) => words(header, text).for_each(|word| self.add(None, word)),
            None if text.is_empty() || self.0.iter().any(|it| it.reveal() == text) => {}
            None => self.0.push(Secret::new(text.to_owned())),
        }
    }

    /// The text with [`MASK`] in the place of each secret, and of the beginning of one. `is_cut` if
    /// the text went on, so that its end can be a shorter beginning.
    #[must_use]
    pub fn mask(&self, text: &str, is_cut: bool) -> String {
        let (mut masked, mut at) = (String::with_capacity(text.len()), 0);
        while let Some(character) = text[at..].chars().next() {
            let secrets = self.0.iter().map(|secret| secret.reveal().as_str());
            let found = secrets.filter_map(|secret| found_at(text, at, secret, is_cut));
            match found.max() {
                Some(length) => {
                    masked += MASK;
                    at += length;
                }
                None => {
                    masked.push(character);
                    at += character.len_utf8();
                }
            }
        }
        masked
    }
}

/// How many bytes of `text` from `at` on are this secret, or as much of it as must not be shown.
fn found_at(text: &str, at: usize, secret: &str, is_cut: bool) -> Option<usize> {
    let rest = &text[at..];
    let same = rest.chars().zip(secret.chars()).take_while(|(a, b)| a == b);
    let same: usize = same.map(|(character, _)| character.len_utf8()).sum();
    let is_word_character = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
    let is_word = || {
        let (before, behind) = (text[..at].chars().next_back(), rest[same..].chars().next());
        !is_word_character(before) && !is_word_character(behind)
    };
    let is_found = match same {
        _ if same == secret.len() => same >= PART_MIN_BYTES || is_word(),
        PART_MIN_BYTES.. if is_cut && same == rest.len() => true,
        _ => same >= BEGINNING_MIN_BYTES,
    };
    is_found.then_some(same)
}

/// The words of a secret header that are secret: not the scheme, such as `Bearer`, nor the names of
/// cookies and parameters.
fn words<'t>(header: &'t str, text: &'t str) -> impl Iterator<Item = &'t str> {
    let has_scheme = header != "cookie" && text.trim().contains(char::is_whitespace);
    let text = text.trim_start();
    let scheme = text.find(char::is_whitespace).filter(|_| has_scheme);
    let text = &text[scheme.unwrap_or(0)..];
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, ';' | ','));
    let words = words.flat_map(move |word| {
        // The end of a text in base64 is no value.
        let value = word.split_once('=').map(|(_, value)| value);
        let value = value.filter(|value| !value.trim_matches('=').is_empty());
        // A token may have the sign in it, and then it is secret as a whole too.
        let whole = Some(word).filter(|_| header != "cookie" || value.is_none());
        whole.into_iter().chain(value)
    });
    let words = words.map(|word| word.trim_matches(['"', '\'']));
    words.filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoFiles;

    fn secrets(texts: &[(Option<&str>, &str)]) -> SecretTexts {
        let mut secrets = SecretTexts::default();
        texts
            .iter()
            .for_each(|(header, text)| secrets.add(*header, text));
        secrets
    }

    fn all(secrets: &SecretTexts) -> Vec<&str> {
        secrets
            .0
            .iter()
            .map(|secret| secret.reveal().as_str())
            .collect()
    }

    #[test]
    fn words_of_headers_are_secret_but_not_their_names() {
        for (header, text, words) in [
            ("authorization", "Bearer qwerty-1", &["qwerty-1"][..]),
            ("authorization", "qwerty-1", &["qwerty-1"]),
            ("authorization", "Basic dXNlcjpwYXNz=", &["dXNlcjpwYXNz="]),
            (
                "authorization",
                "Token token=\"ab cd\", x=ef==",
                &["token=\"ab", "ab", "cd", "x=ef==", "ef=="],
            ),
            (
                "cookie",
                "session=abc=def; theme=x; session=abc=def",
                &["abc=def", "x"],
            ),
            ("cookie", "alone", &["alone"]),
            ("authorization", "Bearer ", &["Bearer"]),
        ] {
            assert_eq!(all(&secrets(&[(Some(header), text)])), words, "{text}");
        }
    }

    #[test]
    fn secrets_and_their_beginnings_are_masked_and_nothing_else_is() {
        let secrets = secrets(&[
            (Some("authorization"), "Bearer abcdef-12345"),
            (None, "x"),
            (None, "abcdef-123-other"),
            (None, "pass"),
        ]);
        for (text, masked) in [
            ("no such item", "no such item"),
            ("bad token abcdef-12345!", "bad token (not saved)!"),
            ("abcdef-12345abcdef-12345", "(not saved)(not saved)"),
            ("abcdef-123-other", "(not saved)"),
            ("abcdef-1...(cut off)", "(not saved)...(cut off)"),
            ("abcdef-", "abcdef-"),
            ("axe, x, ax", "axe, (not saved), ax"),
            ("compass", "com(not saved)"),
            ("ü abcdef-1ü", "ü (not saved)ü"),
        ] {
            assert_eq!(secrets.mask(text, false), masked, "{text}");
        }
        assert_eq!(
            secrets.mask("it ends in abcd", true),
            "it ends in (not saved)"
        );
        assert_eq!(secrets.mask("it ends in abc", true), "it ends in abc");
        assert_eq!(format!("{secrets:?}"), "SecretTexts(4)");
    }

    #[test]
    fn requests_tell_what_they_send_that_is_secret() {
        let plan = r#"
target.url = "http://127.0.0.1/"
load = { connections = 1, requests = 1 }
vars = { key = { secret = "hidden" }, open = "shown" }
let.mark = { hmac = "sha256", key = "{key}", of = "{seq}" }
auth.me.basic = { user = "{user}", password = "pw-{seq}" }
[request]
auth = "me"
headers = { cookie = "a=b", x-key = "{open}{key}", x-mark = "{mark}", x-id = "{seq}" }
"#;
        let plan = Plan::parse(plan, &mut NoFiles).expect("a plan");
        let sent = plan.requests()[0].sent_secrets();
        let headers = sent.iter().filter_map(|secret| secret.header);
        assert_eq!(headers.collect::<Vec<_>>(), ["cookie", "authorization"]);
        let texts = sent.iter().map(|secret| secret.text.reveal().to_string());
        let texts: Vec<String> = texts.collect();
        for text in ["a=b", "{key}", "{mark}", "pw-{seq}"] {
            assert!(texts.iter().any(|it| it == text), "{text}: {texts:?}");
        }
        assert!(!texts.iter().any(|it| it == "{seq}"), "{texts:?}");
        assert_eq!(all(&SecretTexts::from_variables(&plan)), ["hidden"]);
    }
}
