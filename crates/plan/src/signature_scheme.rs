//! The signature schemes that can be offered, and why others cannot.

use crate::nearest::nearest;
use crate::{SignatureScheme, TlsVersion};
use std::str::FromStr;

const fn scheme(code: u16, name: &'static str) -> SignatureScheme {
    SignatureScheme { code, name }
}

impl SignatureScheme {
    /// The schemes that rustls 0.23 with aws-lc-rs verifies.
    pub const ALL: [SignatureScheme; 13] = [
        scheme(0x0403, "ecdsa_secp256r1_sha256"),
        scheme(0x0503, "ecdsa_secp384r1_sha384"),
        scheme(0x0603, "ecdsa_secp521r1_sha512"),
        scheme(0x0807, "ed25519"),
        scheme(0x0804, "rsa_pss_rsae_sha256"),
        scheme(0x0805, "rsa_pss_rsae_sha384"),
        scheme(0x0806, "rsa_pss_rsae_sha512"),
        scheme(0x0401, "rsa_pkcs1_sha256"),
        scheme(0x0501, "rsa_pkcs1_sha384"),
        scheme(0x0601, "rsa_pkcs1_sha512"),
        scheme(0x0904, "mldsa44"),
        scheme(0x0905, "mldsa65"),
        scheme(0x0906, "mldsa87"),
    ];

    /// Whether a server can sign a handshake of `version` with it: PKCS #1 only in TLS 1.2
    /// (RFC 8446 §4.2.3), ML-DSA only in TLS 1.3 (draft-ietf-tls-mldsa).
    #[must_use]
    pub fn fits(self, version: TlsVersion) -> bool {
        match self.code {
            0x0401 | 0x0501 | 0x0601 => version == TlsVersion::V12,
            0x0904..=0x0906 => version == TlsVersion::V13,
            _ => true,
        }
    }
}

/// Why a name is not a scheme that can be offered. The message continues a sentence that starts
/// with the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureSchemeError {
    /// A scheme with SHA-1, for which signatures can be forged.
    #[error(
        "signs with SHA-1, and rustls does not offer it; write one such as \
         \"rsa_pss_rsae_sha256\", or try `openssl s_client -sigalgs`"
    )]
    Sha1,
    /// A scheme that exists, but is missing in rustls with aws-lc-rs.
    #[error(
        "is a signature scheme that rustls with aws-lc-rs does not verify; write one such as \
         \"rsa_pss_rsae_sha256\", or try `openssl s_client -sigalgs`, which has more"
    )]
    Foreign,
    /// Not a scheme.
    #[error("is not a known signature scheme; write {0:?} or another of docs/PLAN.md")]
    Unknown(&'static str),
}

impl FromStr for SignatureScheme {
    type Err = SignatureSchemeError;

    /// Accepts IANA's names, in any case.
    fn from_str(text: &str) -> Result<SignatureScheme, SignatureSchemeError> {
        let name = text.to_ascii_lowercase();
        if let Some(found) = SignatureScheme::ALL.into_iter().find(|it| it.name == name) {
            return Ok(found);
        }
        let foreign = [
            "ed448",
            "rsa_pss_pss_",
            "sm2",
            "gostr",
            "slhdsa",
            "ecdsa_brainpool",
        ];
        Err(if name.ends_with("_sha1") {
            SignatureSchemeError::Sha1
        } else if foreign.iter().any(|family| name.starts_with(family)) {
            SignatureSchemeError::Foreign
        } else {
            SignatureSchemeError::Unknown(nearest(
                &name,
                SignatureScheme::ALL.iter().map(|scheme| scheme.name),
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{SignatureScheme, SignatureSchemeError};

    #[test]
    fn schemes_are_known_by_their_names() {
        let code = |name: &str| name.parse().map(|scheme: SignatureScheme| scheme.code);
        assert_eq!(code("ecdsa_secp256r1_sha256"), Ok(0x0403));
        assert_eq!(code("MLDSA65"), Ok(0x0905));
        assert_eq!(code("rsa_pkcs1_sha1"), Err(SignatureSchemeError::Sha1));
        assert_eq!(code("ed448"), Err(SignatureSchemeError::Foreign));
        assert_eq!(
            code("rsa_pss_rsa_sha256"),
            Err(SignatureSchemeError::Unknown("rsa_pss_rsae_sha256"))
        );
    }
}
