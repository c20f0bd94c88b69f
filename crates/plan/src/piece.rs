//! Texts with placeholders as pieces, and the values of `[let]`, which may be made of such texts.

use crate::words::words;
use crate::{CapturePlaceholder, DataColumn, Generator, ScalarType};
use data::Escape;
use secret::Secret;
use std::fmt;
use std::sync::Arc;

/// Text with placeholders. Only these exact words are placeholders, so JSON needs no escaping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Pieces in order; adjacent literals are joined.
    pub pieces: Vec<Piece>,
}

/// A piece of a [`Template`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Sent as it is.
    Literal(Arc<str>),
    /// `{user}`: number of the virtual user (closed loop), or of the connection slot or the user of
    /// shared connections (open loop), cluster-wide, from 0.
    User,
    /// `{seq}`: number of the operation, cluster-wide, from 0.
    Seq,
    /// `{random}`: 64 seeded random bits as 16 hexadecimal digits.
    Random,
    /// A cell of a data file.
    Column(DataColumn),
    /// A value that is made for each operation.
    Made(MadePlaceholder),
    /// A text that was captured from an earlier answer of the same journey.
    Captured(CapturePlaceholder),
    /// The token of credentials with this name, which is fetched beside the load.
    Token(Arc<str>),
    /// The value of a variable that is secret. Texts show `{name}`.
    Secret {
        /// Name of the variable.
        name: Arc<str>,
        /// Its value.
        value: Secret<Arc<str>>,
        /// How the value is written.
        escape: Escape,
    },
}

/// A value of `[let]`: one text per operation, the same wherever it stands in the operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeValue {
    /// Its name in placeholders.
    pub name: String,
    /// What its text is.
    pub source: MadeSource,
}

/// What the text of a made value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MadeSource {
    /// It follows from the operation's number, or is the time.
    Generated(Generator),
    /// It follows from another text.
    Composed(Composition),
}

/// A text that another text becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composition {
    /// What becomes of the text before it is encoded.
    pub digest: Digest,
    /// The other text.
    pub of: Template,
    /// How the bytes are written.
    pub encoding: Encoding,
}

/// What becomes of a text before it is encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Digest {
    /// Nothing: the text is encoded.
    None,
    /// Its hash.
    Hash(HashFunction),
    /// Its authentication code (RFC 2104).
    Hmac {
        /// The hash function.
        hash: HashFunction,
        /// The key's bytes.
        key: Template,
    },
    /// Its signature for AWS: an authentication code whose key is derived anew each day.
    Signature(Box<SigningKey>),
}

/// What the key of a signature is derived from: a new one each day (UTC).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningKey {
    /// The secret key.
    pub secret: Secret<Template>,
    /// Region of the service.
    pub region: String,
    /// Name of the service.
    pub service: String,
}

/// A hash function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashFunction {
    /// FIPS 180-4; broken, and still asked for.
    Sha1,
    /// FIPS 180-4.
    Sha256,
    /// FIPS 180-4.
    Sha384,
    /// FIPS 180-4.
    Sha512,
}

words!(HashFunction {
    Sha1 => "sha1",
    Sha256 => "sha256",
    Sha384 => "sha384",
    Sha512 => "sha512",
});

/// How bytes are written as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Lower-case hexadecimal digits.
    Hex,
    /// RFC 4648 §4, with padding.
    Base64,
    /// RFC 4648 §5, without padding.
    Base64Url,
}

words!(Encoding { Hex => "hex", Base64 => "base64", Base64Url => "base64url" });

/// A made value in a template: `{NAME}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadePlaceholder {
    /// The value.
    pub value: Arc<MadeValue>,
    /// How its text is written.
    pub escape: Escape,
    /// The plan asks for the text as it is: `{NAME|raw}`.
    pub is_raw: bool,
}

impl fmt::Display for MadePlaceholder {
    /// The placeholder.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let raw = if self.is_raw { "|raw" } else { "" };
        write!(f, "{{{}{raw}}}", self.value.name)
    }
}

impl Composition {
    /// Bytes of the text that one of `bytes` bytes becomes.
    #[must_use]
    pub fn length(&self, bytes: usize) -> usize {
        self.encoding.length(match self.digest {
            Digest::None => bytes,
            Digest::Hash(hash) | Digest::Hmac { hash, .. } => hash.bytes(),
            Digest::Signature(_) => HashFunction::Sha256.bytes(),
        })
    }
}

impl HashFunction {
    /// Bytes of a hash.
    fn bytes(self) -> usize {
        match self {
            HashFunction::Sha1 => 20,
            HashFunction::Sha256 => 32,
            HashFunction::Sha384 => 48,
            HashFunction::Sha512 => 64,
        }
    }
}

impl Encoding {
    /// Bytes of the text for `bytes` bytes.
    fn length(self, bytes: usize) -> usize {
        match self {
            Encoding::Hex => 2 * bytes,
            Encoding::Base64 => bytes.div_ceil(3) * 4,
            Encoding::Base64Url => (bytes * 4).div_ceil(3),
        }
    }
}

impl MadeValue {
    /// The texts that it is made of.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &Template> {
        let composition = match &self.source {
            MadeSource::Generated(_) => None,
            MadeSource::Composed(composition) => Some(composition),
        };
        let key = composition.and_then(|composition| match &composition.digest {
            Digest::None | Digest::Hash(_) => None,
            Digest::Hmac { key, .. } => Some(key),
            Digest::Signature(key) => Some(key.secret.reveal()),
        });
        let of = composition.map(|composition| &composition.of);
        key.into_iter().chain(of)
    }

    /// Whether its text is shown nowhere, since a secret is part of it.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.templates().any(Template::is_secret)
    }

    /// How many made values are made to make this one, itself included.
    pub(crate) fn work(&self) -> usize {
        let pieces = self.templates().flat_map(Template::all_pieces);
        1 + pieces
            .filter(|piece| matches!(piece, Piece::Made(_)))
            .count()
    }

    /// Whether every byte that a text may have is as `is_right` asks.
    pub(crate) fn has_only(&self, is_right: impl Fn(u8) -> bool) -> bool {
        match &self.source {
            MadeSource::Generated(generator) => generator.has_only(is_right),
            MadeSource::Composed(Composition { encoding, .. }) => {
                let others = match encoding {
                    Encoding::Hex => return "0123456789abcdef".bytes().all(is_right),
                    Encoding::Base64 => "+/=",
                    Encoding::Base64Url => "-_",
                };
                let mut alphanumeric = (0..128).filter(u8::is_ascii_alphanumeric);
                alphanumeric.all(&is_right) && others.bytes().all(is_right)
            }
        }
    }

    /// Whether no place of a request asks for an escape of its texts.
    #[must_use]
    pub fn is_unreserved(&self) -> bool {
        // RFC 3986 §2.3.
        self.has_only(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
    }

    /// Whether every text is a number of this type.
    pub(crate) fn is_number_of(&self, kind: ScalarType) -> bool {
        match &self.source {
            MadeSource::Generated(generator) => generator.is_number_of(kind),
            MadeSource::Composed(_) => false,
        }
    }

    /// Whether every text is a value of JSON.
    pub(crate) fn is_json(&self) -> bool {
        match &self.source {
            MadeSource::Generated(generator) => generator.is_json(),
            MadeSource::Composed(_) => false,
        }
    }
}

impl Template {
    /// The pieces, and those that its made values are made of.
    pub(crate) fn all_pieces(&self) -> Vec<&Piece> {
        let mut all = Vec::new();
        for piece in &self.pieces {
            all.push(piece);
            if let Piece::Made(made) = piece {
                all.extend(made.value.templates().flat_map(Template::all_pieces));
            }
        }
        all
    }

    /// Whether a secret is part of it.
    pub(crate) fn is_secret(&self) -> bool {
        self.all_pieces().into_iter().any(|piece| match piece {
            Piece::Secret { .. } | Piece::Captured(_) | Piece::Token(_) => true,
            Piece::Column(column) => column.is_secret(),
            _ => false,
        })
    }

    /// Whether a timestamp is part of it.
    #[must_use]
    pub fn has_time(&self) -> bool {
        self.all_pieces().into_iter().any(|piece| match piece {
            Piece::Made(made) => matches!(
                made.value.source,
                MadeSource::Generated(Generator::Timestamp(_))
            ),
            _ => false,
        })
    }
}
