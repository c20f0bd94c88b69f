//! How values are overwritten, so that no freed memory holds them.

use bytes::Bytes;
use std::sync::Arc;
use zeroize::Zeroize;

/// A value that can be overwritten. What others still share stays, for the last of them to wipe.
pub trait Wipe {
    /// Overwrites the value in a way that the compiler does not leave out.
    fn wipe(&mut self);
}

impl Wipe for String {
    fn wipe(&mut self) {
        self.zeroize();
    }
}

impl Wipe for Vec<u8> {
    fn wipe(&mut self) {
        self.zeroize();
    }
}

impl<const N: usize> Wipe for [u8; N] {
    fn wipe(&mut self) {
        self.zeroize();
    }
}

impl Wipe for Arc<[u8]> {
    fn wipe(&mut self) {
        if let Some(bytes) = Arc::get_mut(self) {
            bytes.zeroize();
        }
    }
}

impl Wipe for Arc<str> {
    fn wipe(&mut self) {
        if let Some(text) = Arc::get_mut(self) {
            text.zeroize();
        }
    }
}

impl Wipe for Bytes {
    fn wipe(&mut self) {
        if let Ok(mut bytes) = std::mem::take(self).try_into_mut() {
            bytes.zeroize();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_one_owner_is_overwritten() {
        let mut array = *b"planted";
        array.wipe();
        assert_eq!(array, [0; 7]);
        let mut bytes: Arc<[u8]> = b"planted".as_slice().into();
        bytes.wipe();
        assert_eq!(bytes[..], [0; 7]);
        let mut text: Arc<str> = "planted".into();
        text.wipe();
        assert_eq!(&text[..], "\0\0\0\0\0\0\0");
    }

    #[test]
    fn what_is_shared_stays_for_its_last_owner() {
        let mut first: Arc<[u8]> = b"planted".as_slice().into();
        let last = Arc::clone(&first);
        first.wipe();
        assert_eq!(last[..], *b"planted");
        let mut first = Bytes::from(b"planted".to_vec());
        let last = first.slice(2..);
        first.wipe();
        assert_eq!(last, b"anted"[..]);
    }
}
