//! A request that goes out with the ClientHello, and whether the server accepts it (RFC 8446
//! §4.2.10).

use super::record_cipher::RECORD_OVERHEAD;

/// The outcome for a request that was to go out with the ClientHello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EarlyDataFate {
    /// There was none, or rustls refused it.
    None,
    /// It went out as this many bytes, and the server has not accepted it.
    Sent(usize),
    /// The server accepted it.
    Accepted(usize),
}

/// Appends early data of `length` bytes to the ClientHello in `outgoing`. `encrypt` calls rustls,
/// whose type cannot be named.
pub(super) fn put_early(
    length: usize,
    outgoing: &mut Vec<u8>,
    encrypt: impl FnOnce(&mut [u8]) -> Option<usize>,
) -> EarlyDataFate {
    let before = outgoing.len();
    outgoing.resize(before + length + RECORD_OVERHEAD, 0);
    let written = encrypt(&mut outgoing[before..]).unwrap_or(0);
    outgoing.truncate(before + written);
    if written == 0 {
        EarlyDataFate::None
    } else {
        EarlyDataFate::Sent(written)
    }
}

/// Whether a record that rustls wrote is an EndOfEarlyData. rustls sends it only if the server has
/// accepted early data, which its unbuffered API does not report otherwise. No other handshake
/// record is this short (4 bytes of message, one of type, 16 of tag; RFC 8446 §4.5, §5.2).
pub(super) fn is_end_of_early_data(record: &[u8]) -> bool {
    matches!(record, [23, 3, 3, 0, 21, ..])
}
