//! Requests that are signed for AWS: which fields sign them, as templates. Signature Version 4, as
//! "Signature Version 4 signing process" of the AWS General Reference has it.

use crate::canonical_target::CanonicalTarget;
use crate::{
    AwsCredentials, Body, Composition, Digest, Encoding, Generator, HashFunction, MadePlaceholder,
    MadeSource, MadeValue, Piece, Plan, Request, SigningKey, Template, TimeFormat,
};
use data::Escape;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Fields that signed requests have by themselves.
pub(crate) const OWN_FIELDS: [&str; 3] =
    ["x-amz-date", "x-amz-content-sha256", "x-amz-security-token"];

impl Plan {
    /// The fields that sign `request`, beside its own; none if it is not signed.
    #[must_use]
    pub fn signature(&self, request: &Request) -> Vec<(&'static str, Template)> {
        let signing = request.auth.as_ref().and_then(|auth| auth.signing());
        signing.map_or_else(Vec::new, |aws| {
            let authority = self.target.url.authority();
            let own_path = Template::literal(&self.target.url.path);
            let path = request.path.as_ref().unwrap_or(&own_path);
            sign(aws, request, &authority, path)
        })
    }
}

fn sign(
    aws: &AwsCredentials,
    request: &Request,
    authority: &str,
    path: &Template,
) -> Vec<(&'static str, Template)> {
    let payload = payload(request);
    let mut own = vec![("x-amz-date", template([timestamp("%Y%m%dT%H%M%SZ")]))];
    if aws.is_encoded_once() {
        own.push(("x-amz-content-sha256", payload.clone()));
    }
    let session = aws.session_token.as_ref();
    own.extend(session.map(|token| ("x-amz-security-token", token.reveal().clone())));
    let signed = signed_fields(request, authority, &own);
    let names: Vec<&str> = signed.keys().map(String::as_str).collect();
    let names = names.join(";");
    let canonical = canonical_request(aws, request, path, &signed, (&names, &payload));
    let scope = [
        timestamp("%Y%m%d"),
        text(&format!("/{}/{}/aws4_request", aws.region, aws.service)),
    ];
    let mut to_sign = vec![
        text("AWS4-HMAC-SHA256\n"),
        timestamp("%Y%m%dT%H%M%SZ"),
        text("\n"),
    ];
    to_sign.extend(scope.clone());
    to_sign.push(text("\n"));
    to_sign.push(made(Digest::Hash(HashFunction::Sha256), canonical));
    let key = Box::new(SigningKey {
        secret: aws.secret_key.clone(),
        region: aws.region.clone(),
        service: aws.service.clone(),
    });
    let mut value = vec![text("AWS4-HMAC-SHA256 Credential=")];
    value.extend(aws.access_key.reveal().pieces.clone());
    value.push(text("/"));
    value.extend(scope);
    value.push(text(&format!(", SignedHeaders={names}, Signature=")));
    value.push(made(Digest::Signature(key), template(to_sign)));
    own.push(("authorization", template(value)));
    own
}

/// The fields that are signed: `host` and all that begin with `x-amz-`, by name.
fn signed_fields(
    request: &Request,
    authority: &str,
    own: &[(&'static str, Template)],
) -> BTreeMap<String, Vec<Piece>> {
    let host = request.host().cloned();
    let host = host.unwrap_or_else(|| Template::literal(authority));
    let mut signed = BTreeMap::from([("host".to_owned(), host.pieces)]);
    for (name, value) in own {
        signed.insert((*name).to_owned(), value.pieces.clone());
    }
    for (name, value) in &request.headers {
        let name = name.to_ascii_lowercase();
        if name.starts_with("x-amz-") {
            let values = signed.entry(name).or_default();
            if !values.is_empty() {
                values.push(text(","));
            }
            values.extend(value.reveal().pieces.iter().map(with_single_spaces));
        }
    }
    signed
}

/// Spaces in a row count as one.
fn with_single_spaces(piece: &Piece) -> Piece {
    let Piece::Literal(literal) = piece else {
        return piece.clone();
    };
    let mut single = String::with_capacity(literal.len());
    for character in literal.chars() {
        if character != ' ' || !single.ends_with(' ') {
            single.push(character);
        }
    }
    text(&single)
}

fn canonical_request(
    aws: &AwsCredentials,
    request: &Request,
    path: &Template,
    signed: &BTreeMap<String, Vec<Piece>>,
    (names, payload): (&str, &Template),
) -> Template {
    let target = CanonicalTarget::new(path, aws.is_encoded_once());
    // Targets that cannot be signed were refused.
    let target = target.unwrap_or_default();
    let mut pieces = vec![text(&format!("{}\n", request.method))];
    pieces.extend(target.path);
    pieces.push(text("\n"));
    pieces.extend(target.query);
    pieces.push(text("\n"));
    for (name, value) in signed {
        pieces.push(text(&format!("{name}:")));
        pieces.extend(value.iter().cloned());
        pieces.push(text("\n"));
    }
    pieces.push(text(&format!("\n{names}\n")));
    pieces.extend(payload.pieces.iter().cloned());
    template(pieces)
}

/// The hash of the body.
fn payload(request: &Request) -> Template {
    let hash = |of| template([made(Digest::Hash(HashFunction::Sha256), of)]);
    match &request.body {
        Some(Body::Text(body)) => hash(body.clone()),
        Some(Body::File(file)) => Template::literal(&file.sha256.to_string()),
        // Parts and messages were refused.
        Some(Body::Multipart(_) | Body::Message(_)) | None => hash(template([])),
    }
}

fn template(pieces: impl IntoIterator<Item = Piece>) -> Template {
    Template::of_pieces(pieces.into_iter().collect())
}

fn text(text: &str) -> Piece {
    Piece::Literal(text.into())
}

fn made(digest: Digest, of: Template) -> Piece {
    value(MadeSource::Composed(Composition {
        digest,
        of,
        encoding: Encoding::Hex,
    }))
}

fn timestamp(pattern: &str) -> Piece {
    let format: TimeFormat = pattern.parse().expect("a pattern of this file");
    value(MadeSource::Generated(Generator::Timestamp(format)))
}

/// A value that is written as it is.
fn value(source: MadeSource) -> Piece {
    let value = MadeValue {
        name: "signature".to_owned(),
        source,
    };
    Piece::Made(MadePlaceholder {
        value: Arc::new(value),
        escape: Escape::None,
        is_raw: false,
    })
}
