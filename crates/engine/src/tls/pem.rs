//! Certificates from PEM files.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{Error, PemObject as _};

/// Returns the certificates of a file, in its order; fails with the reason if there is none.
pub(super) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|error| in_words(&error))?;
    if found.is_empty() {
        Err("it has no CERTIFICATE section".into())
    } else {
        Ok(found)
    }
}

/// Describes what is wrong with a PEM file, without any of its content: a key whose line breaks
/// were lost is a single line.
pub(super) fn in_words(error: &Error) -> String {
    match error {
        Error::MissingSectionEnd { .. } => "it ends before a section's -----END line".to_owned(),
        Error::IllegalSectionStart { .. } => {
            "a -----BEGIN line goes on after its name; are its line breaks lost?".to_owned()
        }
        Error::Base64Decode(_) => "a section is not Base64".to_owned(),
        Error::NoItemsFound => "no such section is in it".to_owned(),
        other => other.to_string(),
    }
}
