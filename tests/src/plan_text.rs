//! Plans as text, as users write them.

use crate::Pki;

/// A plan for this URL that trusts the CAs of `pki`. `more` has further lines, such as
/// `connection.requests = 1`, and may end with tables.
#[must_use]
pub fn plan(url: &str, pki: &Pki, more: &str) -> String {
    // With plain HTTP the section would be ignored, with a note.
    let ca = if url.starts_with("https") {
        format!("tls.ca = {:?}\n", pki.ca())
    } else {
        String::new()
    };
    format!("name = \"interop\"\ntarget.url = {url:?}\n{ca}{more}\n")
}
