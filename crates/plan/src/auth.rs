//! How requests prove who sends them: credentials with a name, and the header field that they
//! become.

use crate::{
    AwsCredentials, Composition, Digest, Encoding, MadePlaceholder, MadeSource, MadeValue, Piece,
    Template, TokenRequest,
};
use data::Escape;
use secret::Secret;
use std::sync::Arc;

/// The header field that credentials stand in (RFC 9110 §11.6.2).
pub(crate) const AUTHORIZATION: &str = "authorization";

/// Credentials of the plan: `[auth.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Auth {
    /// Its name; unique in a plan.
    pub name: String,
    /// What the credentials are.
    pub scheme: AuthScheme,
    /// The value of `authorization`; `None` if it follows from the request, which is signed.
    value: Option<Secret<Template>>,
}

/// What credentials are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthScheme {
    /// A name and a password (RFC 7617).
    Basic {
        /// Name of the user, without a colon.
        user: Template,
        /// The password.
        password: Secret<Template>,
    },
    /// A token (RFC 6750).
    Bearer(Secret<Template>),
    /// A token that is fetched, and renewed before it expires.
    OAuth2(Box<TokenRequest>),
    /// Keys of AWS, with which each request is signed.
    Aws(Box<AwsCredentials>),
}

impl Auth {
    pub(crate) fn new(name: &str, scheme: AuthScheme) -> Auth {
        let value = match &scheme {
            AuthScheme::Basic { user, password } => Some(basic(name, user, password.reveal())),
            AuthScheme::Bearer(token) => Some(bearer(token.reveal().pieces.clone())),
            AuthScheme::OAuth2(_) => Some(bearer(vec![Piece::Token(name.into())])),
            AuthScheme::Aws(_) => None,
        };
        Auth {
            name: name.to_owned(),
            scheme,
            value: value.map(Secret::new),
        }
    }

    /// The same credentials with another value.
    pub(crate) fn with_value(&self, value: Template) -> Auth {
        Auth {
            value: Some(Secret::new(value)),
            ..self.clone()
        }
    }

    /// The value of `authorization`; `None` if its requests are signed.
    pub(crate) fn value(&self) -> Option<&Template> {
        self.value.as_ref().map(Secret::reveal)
    }

    /// Its texts: what is sent, and what a token is asked for with.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &Template> {
        let request = self.token_request();
        let asked = request.into_iter().flat_map(TokenRequest::templates);
        let keys = self
            .signing()
            .into_iter()
            .flat_map(AwsCredentials::templates);
        self.value().into_iter().chain(asked).chain(keys)
    }

    /// What its requests are signed with, if they are.
    #[must_use]
    pub fn signing(&self) -> Option<&AwsCredentials> {
        match &self.scheme {
            AuthScheme::Aws(aws) if self.value().is_none() => Some(aws),
            _ => None,
        }
    }

    /// How its token is fetched, if it has one that is.
    #[must_use]
    pub fn token_request(&self) -> Option<&TokenRequest> {
        match &self.scheme {
            AuthScheme::Basic { .. } | AuthScheme::Bearer(_) | AuthScheme::Aws(_) => None,
            AuthScheme::OAuth2(request) => Some(request),
        }
    }
}

/// `Bearer` and a token (RFC 6750 §2.1).
fn bearer(token: Vec<Piece>) -> Template {
    let scheme = [Piece::Literal("Bearer ".into())];
    Template::of_pieces(scheme.into_iter().chain(token).collect())
}

/// `Basic`, and the name and the password in base64 (RFC 7617 §2).
fn basic(name: &str, user: &Template, password: &Template) -> Template {
    let colon = [Piece::Literal(":".into())];
    let pieces = user.pieces.iter().cloned().chain(colon);
    let pieces = pieces.chain(password.pieces.iter().cloned());
    let made = MadeValue {
        name: name.to_owned(),
        source: MadeSource::Composed(Composition {
            digest: Digest::None,
            of: Template::of_pieces(pieces.collect()),
            encoding: Encoding::Base64,
        }),
    };
    Template {
        pieces: vec![
            Piece::Literal("Basic ".into()),
            Piece::Made(MadePlaceholder {
                value: Arc::new(made),
                escape: Escape::None,
                is_raw: false,
            }),
        ],
    }
}
