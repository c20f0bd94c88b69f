//! Request bodies, and how far one has been sent: large ones go out window by window and are never
//! copied whole.

use crate::template::{Fill, Values};
use std::sync::Arc;

/// Bytes that are encrypted and given to a socket at once; what follows waits until it has taken
/// them. A connection that its peer reads slowly holds no more than this.
pub(crate) const WINDOW: usize = 64 * 1024;

/// A body as it is sent: nothing of it is kept per operation.
#[derive(Debug)]
pub(crate) struct RequestBody(Vec<Fill>);

/// A body on its way.
#[derive(Debug)]
pub(crate) struct BodyUpload {
    body: Arc<RequestBody>,
    values: Values,
    /// The piece that goes on, and bytes of it that have been put already.
    piece: usize,
    offset: usize,
    left: usize,
}

impl RequestBody {
    pub(crate) fn new(pieces: Vec<Fill>) -> RequestBody {
        RequestBody(pieces)
    }

    pub(crate) fn length(&self, values: Values) -> usize {
        self.0.iter().map(|piece| piece.length(values)).sum()
    }

    /// Puts all of it into `out`.
    pub(crate) fn fill(&self, values: Values, out: &mut Vec<u8>) {
        self.0.iter().for_each(|piece| piece.fill(values, out));
    }

    /// Whether it is the same for every operation.
    pub(crate) fn is_fixed(&self) -> bool {
        self.0.iter().all(Fill::is_fixed)
    }
}

impl BodyUpload {
    /// Nothing of it has been put yet.
    pub(crate) fn new(body: Arc<RequestBody>, values: Values) -> BodyUpload {
        let left = body.length(values);
        BodyUpload {
            body,
            values,
            piece: 0,
            offset: 0,
            left,
        }
    }

    /// Bytes that have not been put yet.
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// Puts the next `most` bytes into `out`, or what is left.
    pub(crate) fn put(&mut self, most: usize, out: &mut Vec<u8>) {
        let end = out.len() + most.min(self.left);
        while out.len() < end {
            let before = out.len();
            self.body.0[self.piece].fill_part(self.values, self.offset, end - before, out);
            let put = out.len() - before;
            (self.offset, self.left) = (self.offset + put, self.left - put);
            // A window may end with a piece: the next one goes on behind it, whatever its length.
            if out.len() < end {
                (self.piece, self.offset) = (self.piece + 1, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_any_size_make_the_body() {
        let pieces = vec![
            Fill::Shared(Arc::from(*b"shared")),
            Fill::Seq,
            Fill::Bytes(vec![]),
            Fill::Random,
            Fill::Bytes(b" and bytes ".to_vec()),
            Fill::User,
        ];
        let (body, values) = (
            Arc::new(RequestBody::new(pieces)),
            Values {
                user: 12345,
                seq: 0,
                random: 0xabcd,
            },
        );
        let mut whole = Vec::new();
        body.fill(values, &mut whole);
        assert_eq!(whole, b"shared0000000000000abcd and bytes 12345");
        for window in 1..=whole.len() + 1 {
            let (mut upload, mut put) = (BodyUpload::new(Arc::clone(&body), values), Vec::new());
            while upload.left() > 0 {
                let before = put.len();
                upload.put(window, &mut put);
                assert!(
                    put.len() - before == window || upload.left() == 0,
                    "by {window}"
                );
            }
            assert_eq!(put, whole, "by {window}");
        }
    }
}
