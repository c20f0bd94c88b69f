//! Templates of a plan as pieces of its requests.

use crate::fill::{ComposedSource, Fill, GeneratedSource, Placeholder, literal};
use crate::request_tallies::RequestTallies;
use crate::signing_meter::SigningMeter;
use crate::values::{ColumnSource, Values};
use plan::{Composition, Digest, MadePlaceholder, MadeSource, Piece, Plan, RowSources, Template};
use std::sync::Arc;

/// What a plan's placeholders take their texts from.
#[derive(Debug)]
pub(crate) struct ValueSources {
    /// One for each data file.
    rows: RowSources,
    seed: u64,
    tallies: RequestTallies,
}

/// Whether a digest is metered by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Metering {
    Own,
    /// It is part of another one, whose time includes it.
    Outer,
}

impl ValueSources {
    /// The sources of `plan`, for requests that are counted in `tallies`. Where these have none of
    /// its tokens, requests show `***`.
    pub(crate) fn new(plan: &Plan, tallies: &RequestTallies) -> ValueSources {
        ValueSources {
            rows: plan.row_sources(),
            seed: plan.load().seed,
            tallies: tallies.clone(),
        }
    }

    /// Appends `template` to `pieces`.
    pub(crate) fn template(&self, template: &Template, pieces: &mut Vec<Fill>) {
        self.put(template, Metering::Own, pieces);
    }

    fn put(&self, template: &Template, metering: Metering, pieces: &mut Vec<Fill>) {
        for piece in &template.pieces {
            match piece {
                Piece::Literal(text) => literal(pieces, text.as_bytes()),
                Piece::User => pieces.push(Fill::Value(Placeholder::User)),
                Piece::Seq => pieces.push(Fill::Value(Placeholder::Seq)),
                Piece::Random => pieces.push(Fill::Value(Placeholder::Random)),
                Piece::Column(column) => {
                    let source = ColumnSource::new(column, &self.rows);
                    pieces.push(Fill::Value(Placeholder::Column(Arc::new(source))));
                }
                Piece::Made(made) => self.made(made, metering, pieces),
                Piece::Captured(captured) => pieces.push(Fill::Value(Placeholder::Captured {
                    index: captured.index,
                    escape: captured.escape,
                })),
                Piece::Token(name) => match self.tallies.token(name) {
                    Some(token) => {
                        let token = Placeholder::Token(Arc::clone(token));
                        pieces.push(Fill::Value(token));
                    }
                    None => literal(pieces, b"***"),
                },
                Piece::Secret { value, escape, .. } => {
                    let mut text = Vec::new();
                    escape.put(value.reveal().as_bytes(), &mut text);
                    literal(pieces, &text);
                }
            }
        }
    }

    fn made(&self, made: &MadePlaceholder, metering: Metering, pieces: &mut Vec<Fill>) {
        let (value, escape) = (&*made.value, made.escape);
        let placeholder = match &value.source {
            MadeSource::Generated(generator) => Placeholder::Generated(Arc::new(
                GeneratedSource::new(value, generator, self.seed, escape),
            )),
            MadeSource::Composed(made) => {
                let inner = match made.digest {
                    Digest::None => metering,
                    Digest::Hash(_) | Digest::Hmac { .. } | Digest::Signature(_) => Metering::Outer,
                };
                let texts = self.texts(made, inner);
                let source = ComposedSource::new(value, made, texts, escape);
                if source.is_constant() {
                    let mut text = Vec::new();
                    let placeholder = Placeholder::Composed(Arc::new(source));
                    placeholder.put(&Values::default(), &mut text);
                    return literal(pieces, &text);
                }
                let source = match (metering, inner) {
                    (Metering::Own, Metering::Outer) => {
                        let number = pieces.len() as u64;
                        source.with_meter(SigningMeter::new(&self.tallies.signing, number))
                    }
                    _ => source,
                };
                Placeholder::Composed(Arc::new(source))
            }
        };
        pieces.push(Fill::Value(placeholder));
    }

    /// The text that a value is made of, and its key.
    fn texts(&self, made: &Composition, metering: Metering) -> (Vec<Fill>, Vec<Fill>) {
        let (mut of, mut key) = (Vec::new(), Vec::new());
        self.put(&made.of, metering, &mut of);
        match &made.digest {
            Digest::None | Digest::Hash(_) => {}
            Digest::Hmac { key: given, .. } => self.put(given, metering, &mut key),
            Digest::Signature(signing) => self.put(signing.secret.reveal(), metering, &mut key),
        }
        (of, key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::NoFiles;

    /// One value of each kind, in texts of each escape.
    const PLAN: &str = r#"
        target.url = "http://127.0.0.1/"
        load = { connections = 1, requests = 1 }
        vars.key = { secret = "k" }
        [let]
        id = "uuid"
        nr = { counter = -3, step = 7 }
        now = { timestamp = "http" }
        amount = { random = [-1.50, 99.5] }
        color = { one_of = ["", "a/b", "ü \"&\\"] }
        token = { random = 9, alphabet = "ab/+ü" }
        hash = { digest = "sha1", of = "{color}{seq}", as = "base64" }
        fixed = { hmac = "sha256", key = "{key}", of = "{hash}:{now}", as = "base64url" }
        own = { hmac = "sha512", key = "{nr}", of = "{random}" }
        basic = { encode = "base64", of = "{color}:{amount}:{user}" }
        [request]
        method = "POST"
        path = "/{id}{nr}{now}{amount}{color}{token}{hash}{fixed}{own}{basic}?{now}{color}{hash}"
        headers = { x = "{id}{nr}{now}{amount}{color}{token}{hash}{fixed}{own}{basic}" }
        body = '{"a": "{id}{now}{color}{token}{hash}{fixed}{own}{basic}", "b": [{nr}, {amount}]}'
    "#;

    fn values(seq: u64) -> Values {
        Values {
            user: seq,
            seq,
            ..Values::default()
        }
        .at_once(true)
    }

    #[test]
    fn every_length_is_that_of_the_text_and_every_part_is_a_part_of_it() {
        let plan = Plan::parse(PLAN, &mut NoFiles).expect("a plan");
        let (sources, request) = (
            ValueSources::new(&plan, &RequestTallies::default()),
            &plan.requests()[0],
        );
        let mut pieces = Vec::new();
        sources.template(request.path.as_ref().expect("a path"), &mut pieces);
        sources.template(request.headers[0].1.reveal(), &mut pieces);
        if let Some(plan::Body::Text(body)) = &request.body {
            sources.template(body, &mut pieces);
        }
        for seq in [0, 1, 2, 3, 4, 5, 99, 9_000_000_000_000_000_000] {
            let values = values(seq);
            for piece in &pieces {
                let mut text = b"before".to_vec();
                piece.fill(&values, &mut text);
                let text = text.strip_prefix(b"before").expect("what was there");
                assert_eq!(piece.length(&values), text.len(), "{piece:?}");
                let mut part = Vec::new();
                piece.fill_part(&values, text.len() / 3, 5, &mut part);
                let rest = &text[text.len() / 3..];
                assert_eq!(part, rest[..rest.len().min(5)], "{piece:?}");
            }
        }
    }
}
