//! The token by which an agent and a coordinator recognise each other: the hash of the
//! coordinator's CA, and a secret.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secret::Secret;
use sha2::{Digest as _, Sha256};
use std::str::FromStr;
use subtle::ConstantTimeEq as _;

const PREFIX: &str = "cnn1_";
const CHECKSUM_BYTES: usize = 4;
const BYTES: usize = 32 + 32 + CHECKSUM_BYTES;
/// Characters of base64url without padding: six bits each.
const CHARACTERS: usize = (BYTES * 8).div_ceil(6);

/// The token that `start` prints and `join` is given.
///
/// Its text is `cnn1_` and base64url of (SHA-256 of the CA's DER, 32 secret bytes, checksum). The
/// checksum (the first four bytes of the SHA-256 of the rest) distinguishes a mistyped token from a
/// wrong one before anything is dialled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    ca: [u8; 32],
    secret: JoinSecret,
}

impl Token {
    /// Creates the token of the coordinator whose CA has this SHA-256.
    #[must_use]
    pub fn new(ca_sha256: [u8; 32], secret: JoinSecret) -> Token {
        Token {
            ca: ca_sha256,
            secret,
        }
    }

    /// SHA-256 of the DER of the CA that the coordinator's certificate must come from.
    #[must_use]
    pub fn ca_sha256(&self) -> [u8; 32] {
        self.ca
    }

    /// The secret by which the agent proves itself.
    #[must_use]
    pub fn secret(&self) -> &JoinSecret {
        &self.secret
    }

    /// The text of the token. It is a secret, to be shown to its owner only, and stored in a file
    /// of mode 0600.
    #[must_use]
    pub fn reveal(&self) -> String {
        let mut bytes = [self.ca, *self.secret.reveal()].concat();
        let checksum = checksum(&bytes);
        bytes.extend_from_slice(&checksum);
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
    }
}

impl FromStr for Token {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Token, TokenError> {
        let text = text.trim();
        let body = text.strip_prefix(PREFIX).ok_or(TokenError::Foreign)?;
        let characters = body.chars().count();
        if characters != CHARACTERS {
            return Err(TokenError::Length { characters });
        }
        let bytes = URL_SAFE_NO_PAD
            .decode(body)
            .map_err(|_| TokenError::Mistyped)?;
        let bytes: [u8; BYTES] = bytes.try_into().map_err(|_| TokenError::Mistyped)?;
        let (content, sum) = bytes.split_at(BYTES - CHECKSUM_BYTES);
        if sum != checksum(content) {
            return Err(TokenError::Mistyped);
        }
        let half = |from: usize| std::array::from_fn(|i| content[from + i]);
        Ok(Token {
            ca: half(0),
            secret: JoinSecret::new(half(32)),
        })
    }
}

/// 32 random bytes by which an agent proves itself.
#[derive(Debug, Clone)]
pub struct JoinSecret(Secret<[u8; 32]>);

impl JoinSecret {
    /// Creates a secret from these bytes, which must be random.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> JoinSecret {
        JoinSecret(Secret::new(bytes))
    }

    /// The bytes, for a file of mode 0600.
    #[must_use]
    pub fn reveal(&self) -> &[u8; 32] {
        self.0.reveal()
    }

    /// The `authorization` that the agent sends with its stream, only ever inside TLS.
    #[must_use]
    pub fn bearer(&self) -> String {
        format!("Bearer {}", URL_SAFE_NO_PAD.encode(self.reveal()))
    }

    /// Whether `authorization` is that of this secret. The comparison takes the same time wherever
    /// they differ.
    #[must_use]
    pub fn is_proved_by(&self, authorization: &str) -> bool {
        self.bearer()
            .as_bytes()
            .ct_eq(authorization.as_bytes())
            .into()
    }
}

impl PartialEq for JoinSecret {
    fn eq(&self, other: &JoinSecret) -> bool {
        self.reveal().ct_eq(other.reveal()).into()
    }
}

impl Eq for JoinSecret {}

/// Why a text is not a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It is no token at all.
    #[error(
        "this is not a token: one begins with {PREFIX}; copy the whole line that `coordinator \
         start` printed"
    )]
    Foreign,
    /// It was cut short, or two lines were joined.
    #[error(
        "the token is cut short or too long: {characters} characters follow {PREFIX} instead of \
         {CHARACTERS}; copy the whole line that `coordinator start` printed"
    )]
    Length {
        /// Number of characters after the prefix.
        characters: usize,
    },
    /// A character is wrong.
    #[error(
        "the token is mistyped: its checksum does not match; copy the whole line that \
         `coordinator start` printed"
    )]
    Mistyped,
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let hash: [u8; 32] = Sha256::digest(bytes).into();
    std::array::from_fn(|i| hash[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> Token {
        Token::new([7; 32], JoinSecret::new([9; 32]))
    }

    #[test]
    fn text_of_a_token_is_settled() {
        assert_eq!(
            token().reveal(),
            "cnn1_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcJCQkJCQkJCQkJ\
             CQkJCQkJCQkJCQkJCQkJCQkJCQkJCUlED6Q"
        );
    }

    #[test]
    fn token_comes_back_from_its_text_with_space_around() {
        let text = format!("  {}\n", token().reveal());
        assert_eq!(text.parse(), Ok(token()));
    }

    #[test]
    fn every_single_mistyped_character_is_told_as_mistyped() {
        let text = token().reveal();
        for place in PREFIX.len()..text.len() {
            let mut wrong = text.clone().into_bytes();
            wrong[place] = if wrong[place] == b'A' { b'B' } else { b'A' };
            let wrong = String::from_utf8(wrong).expect("ascii");
            assert_eq!(
                wrong.parse::<Token>(),
                Err(TokenError::Mistyped),
                "at {place}: {wrong}"
            );
        }
    }

    #[test]
    fn other_texts_are_refused_by_kind() {
        let text = token().reveal();
        let cases = [
            (String::new(), TokenError::Foreign),
            ("7711".into(), TokenError::Foreign),
            (text.replace("cnn1", "cnn2"), TokenError::Foreign),
            (
                text[..text.len() - 4].into(),
                TokenError::Length { characters: 87 },
            ),
            (format!("{text}AAAA"), TokenError::Length { characters: 95 }),
            (text.replace("BwcH", "Bw!H"), TokenError::Mistyped),
        ];
        for (text, error) in cases {
            assert_eq!(text.parse::<Token>(), Err(error), "{text}");
        }
    }

    #[test]
    fn debug_shows_nothing_of_it() {
        let shown = format!("{:?} {:?}", token(), token().secret());
        let ca = [7; 32];
        assert_eq!(
            shown,
            format!("Token {{ ca: {ca:?}, secret: JoinSecret(***) }} JoinSecret(***)")
        );
    }

    #[test]
    fn secret_is_proved_by_its_own_bearer_alone() {
        let secret = JoinSecret::new([9; 32]);
        assert!(secret.is_proved_by(&secret.bearer()));
        for wrong in [
            "",
            "Bearer",
            &JoinSecret::new([8; 32]).bearer(),
            &secret.bearer()[1..],
        ] {
            assert!(!secret.is_proved_by(wrong), "{wrong}");
        }
    }
}
