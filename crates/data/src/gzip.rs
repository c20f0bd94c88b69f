//! Decompresses a file that begins as gzip does.

use crate::{DataError, MAX_BYTES};
use bytes::Bytes;
use std::io::Read as _;
use std::sync::Arc;

/// The first bytes of every gzip member (RFC 1952 §2.3.1).
pub(crate) const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The content as it is; decompressed if it is gzip.
///
/// # Errors
/// It is broken, or has more than [`MAX_BYTES`].
pub fn decompress(content: Arc<[u8]>) -> Result<Bytes, DataError> {
    if !content.starts_with(&MAGIC) {
        return Ok(Bytes::from_owner(content));
    }
    let mut text = Vec::new();
    let reader = flate2::read::MultiGzDecoder::new(&content[..]);
    // One byte more than may be there shows that there is too much.
    let read = reader.take(MAX_BYTES as u64 + 1).read_to_end(&mut text);
    read.map_err(|error| DataError::Gzip(error.to_string()))?;
    if text.len() > MAX_BYTES {
        return Err(DataError::Large);
    }
    text.shrink_to_fit();
    Ok(text.into())
}
