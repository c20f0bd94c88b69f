//! Reads from a ClientHello's bytes what it offers, since rustls does not report it.

use super::sessions::OfferedSession;

/// Extensions that carry a session (RFC 8446 §4.2.11, RFC 5077 §3.2).
const PRE_SHARED_KEY: u16 = 41;
const SESSION_TICKET: u16 = 35;

/// Whether a ClientHello carries the session that was found: a pre_shared_key, a non-empty session
/// ticket, or the id of a TLS 1.2 session. A hello that offers TLS 1.3 without such a session has a
/// random id (RFC 8446 §D.4).
pub(super) fn offers_session(record: &[u8], found: OfferedSession) -> bool {
    session_in_hello(record, found).unwrap_or(false)
}

/// See [`offers_session`]; `None` if the record is not a ClientHello (RFC 8446 §4.1.2).
fn session_in_hello(record: &[u8], found: OfferedSession) -> Option<bool> {
    // Record header, handshake header, version, random.
    let mut rest = record.get(5 + 4 + 2 + 32..)?;
    let session_id = take(&mut rest, 1)?;
    let _cipher_suites = take(&mut rest, 2)?;
    let _compression_methods = take(&mut rest, 1)?;
    let mut extensions = take(&mut rest, 2)?;
    while let Some((code, after)) = extensions.split_first_chunk::<2>() {
        extensions = after;
        let body = take(&mut extensions, 2)?;
        match u16::from_be_bytes(*code) {
            PRE_SHARED_KEY => return Some(true),
            // An empty one only asks for a ticket (RFC 5077 §3.2).
            SESSION_TICKET if !body.is_empty() => return Some(true),
            _ => {}
        }
    }
    Some(found == OfferedSession::Tls12 && !session_id.is_empty())
}

/// Takes a vector that is preceded by its length in `size` bytes.
fn take<'a>(rest: &mut &'a [u8], size: usize) -> Option<&'a [u8]> {
    let (length, after) = rest.split_at_checked(size)?;
    let length = length
        .iter()
        .fold(0, |length, &byte| length << 8 | usize::from(byte));
    let (body, after) = after.split_at_checked(length)?;
    *rest = after;
    Some(body)
}
