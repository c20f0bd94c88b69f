//! Request bodies and the progress of their uploads. Large bodies go out window by window and are
//! never copied whole.

use crate::fill::{self, Fill};
use crate::values::Values;
use std::sync::Arc;

/// Bytes that are encrypted and handed to a socket at once; the rest waits until the socket has
/// taken them. A connection whose peer reads slowly buffers no more than this.
pub(crate) const WINDOW: usize = 64 * 1024;

/// A body as it is sent; operations share it and copy none of it.
#[derive(Debug)]
pub(crate) struct RequestBody(Vec<Fill>);

/// A body that is being sent.
#[derive(Debug)]
pub(crate) struct BodyUpload {
    body: Arc<RequestBody>,
    values: Values,
    /// The current piece, and how many of its bytes have been put already.
    piece: usize,
    offset: usize,
    left: usize,
}

impl RequestBody {
    pub(crate) fn new(pieces: Vec<Fill>) -> RequestBody {
        RequestBody(pieces)
    }

    pub(crate) fn length(&self, values: &Values) -> usize {
        self.0.iter().map(|piece| piece.length(values)).sum()
    }

    /// Appends the whole body to `out`.
    pub(crate) fn fill(&self, values: &Values, out: &mut Vec<u8>) {
        self.0.iter().for_each(|piece| piece.fill(values, out));
    }

    /// The body, if it is the same for every operation and fits a window.
    pub(crate) fn constant(&self) -> Option<Vec<u8>> {
        fill::constant(&self.0, WINDOW)
    }
}

impl BodyUpload {
    /// Starts an upload of the whole body.
    pub(crate) fn new(body: Arc<RequestBody>, values: &Values) -> BodyUpload {
        let left = body.length(values);
        BodyUpload {
            body,
            values: *values,
            piece: 0,
            offset: 0,
            left,
        }
    }

    /// Bytes that have not been put yet.
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// Appends the next `most` bytes to `out`, or fewer if fewer are left.
    pub(crate) fn put(&mut self, most: usize, out: &mut Vec<u8>) {
        let end = out.len() + most.min(self.left);
        while out.len() < end {
            let before = out.len();
            self.body.0[self.piece].fill_part(&self.values, self.offset, end - before, out);
            let put = out.len() - before;
            (self.offset, self.left) = (self.offset + put, self.left - put);
            // A window can end with a piece: the next window continues behind it, whatever its
            // length.
            if out.len() < end {
                (self.piece, self.offset) = (self.piece + 1, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fill::Placeholder;

    #[test]
    fn windows_of_any_size_make_the_body() {
        let pieces = vec![
            Fill::Shared(Arc::from(*b"shared")),
            Fill::Value(Placeholder::Seq),
            Fill::Bytes(vec![]),
            Fill::Value(Placeholder::Random),
            Fill::Bytes(b" and bytes ".to_vec()),
            Fill::Value(Placeholder::User),
        ];
        let (body, values) = (
            Arc::new(RequestBody::new(pieces)),
            Values {
                user: 12345,
                random: 0xabcd,
                ..Values::default()
            },
        );
        let mut whole = Vec::new();
        body.fill(&values, &mut whole);
        assert_eq!(whole, b"shared0000000000000abcd and bytes 12345");
        for window in 1..=whole.len() + 1 {
            let (mut upload, mut put) = (BodyUpload::new(Arc::clone(&body), &values), Vec::new());
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
