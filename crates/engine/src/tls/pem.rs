//! Certificates from PEM files.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// The certificates of a file, in its order; an error says why there is none.
pub(super) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())?;
    if found.is_empty() {
        Err("it has no CERTIFICATE section".into())
    } else {
        Ok(found)
    }
}
