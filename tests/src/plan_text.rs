//! Plans as text, the way a user writes them.

use crate::Pki;

/// A plan for this URL that trusts the CAs of `pki`; `more` are further lines, such as
/// `connection.requests = 1`, and may end with tables.
#[must_use]
pub fn plan(url: &str, pki: &Pki, more: &str) -> String {
    // With plain HTTP the section would be ignored, and a note would say so.
    let ca = if url.starts_with("https") {
        format!("tls.ca = {:?}\n", pki.ca())
    } else {
        String::new()
    };
    format!("name = \"interop\"\ntarget.url = {url:?}\n{ca}{more}\n")
}
