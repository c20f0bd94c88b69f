//! How a token is asked for: OAuth 2.0 with the client's own credentials.

use crate::words::words;
use crate::{Piece, Template, Url};
use data::Escape;
use secret::Secret;

/// Asks for a token with client credentials (RFC 6749 §4.4). Its texts are the same for every
/// operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRequest {
    /// Where tokens are fetched.
    pub token_url: Url,
    /// The client's identifier.
    pub client: Template,
    /// The client's secret.
    pub secret: Secret<Template>,
    /// How the client proves who it is.
    pub client_auth: ClientAuth,
    /// What the token is to be good for, in the server's words (RFC 6749 §3.3).
    pub scope: Option<String>,
    /// Who fetches it.
    pub per: TokenHolder,
    /// What else the server wants to be told, by name.
    pub parameters: Vec<(String, Template)>,
}

/// How a client proves who it is (RFC 6749 §2.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientAuth {
    /// By the header field `authorization`.
    Basic,
    /// By parameters in the body, for servers that take nothing else.
    Body,
}

/// Who has a token of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TokenHolder {
    /// Each agent fetches its own.
    #[default]
    Agent,
    /// The coordinator fetches one for all agents.
    Fleet,
}

words!(TokenHolder { Agent => "agent", Fleet => "fleet" });
words!(ClientAuth { Basic => "basic", Body => "body" });

impl TokenRequest {
    /// The body to send, a form (RFC 6749 §4.4.2).
    #[must_use]
    pub fn body(&self) -> Secret<String> {
        let mut body = Secret::new("grant_type=client_credentials".to_owned());
        let mut add = |name: &str, value: &str| {
            let out = body.reveal_mut();
            for (separator, text) in [('&', name), ('=', value)] {
                out.push(separator);
                out.push_str(form_encoded(text).reveal());
            }
        };
        if self.client_auth == ClientAuth::Body {
            add("client_id", fixed_text(&self.client).reveal());
            add("client_secret", self.secret_text().reveal());
        }
        if let Some(scope) = &self.scope {
            add("scope", scope);
        }
        for (name, value) in &self.parameters {
            add(name, fixed_text(value).reveal());
        }
        body
    }

    /// The name and the password of the field `authorization`, with a colon between, if the client
    /// proves who it is that way. Both are encoded as in a form (RFC 6749 §2.3.1).
    #[must_use]
    pub fn basic(&self) -> Option<Secret<String>> {
        if self.client_auth == ClientAuth::Body {
            return None;
        }
        let mut basic = form_encoded(fixed_text(&self.client).reveal());
        basic.reveal_mut().push(':');
        let secret = form_encoded(self.secret_text().reveal());
        basic.reveal_mut().push_str(secret.reveal());
        Some(basic)
    }

    /// The client's secret, with the values of variables.
    #[must_use]
    pub fn secret_text(&self) -> Secret<String> {
        fixed_text(self.secret.reveal())
    }

    /// The texts that may have secret variables.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &Template> {
        let parameters = self.parameters.iter().map(|(_, value)| value);
        [&self.client, self.secret.reveal()]
            .into_iter()
            .chain(parameters)
    }
}

fn form_encoded(text: &str) -> Secret<String> {
    let mut encoded = Vec::new();
    Escape::Query.put(text.as_bytes(), &mut encoded);
    Secret::new(String::from_utf8(encoded).expect("all other bytes are escaped"))
}

/// The text of a template without placeholders that differ between operations.
fn fixed_text(template: &Template) -> Secret<String> {
    let mut text = Secret::new(String::new());
    for piece in &template.pieces {
        match piece {
            Piece::Literal(literal) => text.reveal_mut().push_str(literal),
            Piece::Secret { value, .. } => text.reveal_mut().push_str(value.reveal()),
            _ => debug_assert!(
                false,
                "texts of a token's request have no such placeholders"
            ),
        }
    }
    text
}
