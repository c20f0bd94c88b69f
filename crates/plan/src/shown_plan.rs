//! A plan whose requests can be shown.

use crate::{Body, BodyPart, Multipart, PartContent, Piece, Plan, Replay, Request, Template, mask};
use data::Escape;
use secret::Secret;
use std::sync::Arc;

/// Stands for a secret.
const SHOWN: &str = "***";

impl Plan {
    /// Whether its requests have texts that the plan declares elsewhere: columns, made values or
    /// secret variables, or that a log has.
    #[must_use]
    pub fn has_declared_texts(&self) -> bool {
        if self.replay.is_some() {
            return true;
        }
        let mut pieces = self.requests.iter().flat_map(Request::all_pieces);
        pieces.any(|piece| {
            matches!(
                piece,
                Piece::Column(_)
                    | Piece::Made(_)
                    | Piece::Captured(_)
                    | Piece::Token(_)
                    | Piece::Secret { .. }
            )
        })
    }

    /// The plan with `***` in place of the secrets that its requests send: variables, columns, what
    /// is made of them, credentials, and headers that are saved nowhere. It is to be shown, not to
    /// be run.
    #[must_use]
    pub fn with_secrets_hidden(&self) -> Plan {
        let requests = self.requests.iter();
        Plan {
            requests: requests.map(hide_secrets).collect(),
            replay: self.replay.as_ref().map(hide_recorded),
            ..self.clone()
        }
    }
}

fn hide_recorded(replay: &Replay) -> Replay {
    Replay {
        arrivals: Arc::new(replay.arrivals.to_be_shown(mask::is_secret_key, SHOWN)),
        ..replay.clone()
    }
}

fn hide_secrets(request: &Request) -> Request {
    let header = |(name, value): &(String, Secret<Template>)| {
        let value = if mask::is_secret_key(name) {
            Template::from(SHOWN)
        } else {
            template(value.reveal())
        };
        (name.clone(), Secret::new(value))
    };
    let body = request.body.as_ref().map(|body| match body {
        Body::Text(text) => Body::Text(template(text)),
        Body::File(_) => body.clone(),
        Body::Message(parts) => {
            Body::Message(parts.iter().map(|part| part.map(&mut template)).collect())
        }
        Body::Multipart(parts) => Body::Multipart(Arc::new(Multipart {
            parts: parts.parts.iter().map(part).collect(),
        })),
    });
    let auth = request.auth.as_ref();
    Request {
        auth: auth.map(|auth| Arc::new(auth.with_value(Template::from(SHOWN)))),
        path: request.path.as_ref().map(template),
        headers: request.headers.iter().map(header).collect(),
        body,
        ..request.clone()
    }
}

fn part(part: &BodyPart) -> BodyPart {
    let content = match &part.content {
        PartContent::Text(text) => PartContent::Text(template(text)),
        PartContent::File(_) => part.content.clone(),
    };
    BodyPart {
        content,
        ..part.clone()
    }
}

fn template(template: &Template) -> Template {
    let piece = |piece: &Piece| {
        let placeholder = match piece {
            Piece::Captured(captured) => return Piece::Literal(captured.to_string().into()),
            Piece::Secret { name, .. } => format!("{{{name}}}"),
            Piece::Column(column) if column.is_secret() => column.to_string(),
            Piece::Made(made) if made.value.is_secret() => made.to_string(),
            _ => return piece.clone(),
        };
        // Its text stays, since the boundary of parts follows from their texts.
        Piece::Secret {
            name: placeholder.trim_matches(['{', '}']).into(),
            value: Secret::new(SHOWN.into()),
            escape: Escape::None,
        }
    };
    Template {
        pieces: template.pieces.iter().map(piece).collect(),
    }
}
