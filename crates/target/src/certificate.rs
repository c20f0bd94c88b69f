//! What a certificate that is made here is like: the kind of its key, and what is wrong with it.

/// Kind of a certificate's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum KeyKind {
    /// ECDSA on the curve P-256.
    #[default]
    P256,
    /// RSA with 2048 bits.
    Rsa2048,
}

/// What is wrong with a certificate; each has only this one fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CertificateDefect {
    /// Past its notAfter.
    Expired,
    /// Before its notBefore.
    NotYetValid,
    /// For `wrong.test` only.
    WrongName,
    /// Signed by itself, not by the CA.
    SelfSigned,
}
