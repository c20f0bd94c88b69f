//! Request bodies and the progress of their uploads. Large bodies go out window by window and are
//! never copied whole.

use crate::fill::{self, Fill};
use crate::values::Values;
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Bytes that are encrypted and handed to a socket at once; the rest waits until the socket has
/// taken them. A connection whose peer reads slowly buffers no more than this.
pub(crate) const WINDOW: usize = 64 * 1024;

/// A body as it is sent; operations share it and copy none of it.
#[derive(Debug)]
pub(crate) struct RequestBody {
    pieces: Vec<Fill>,
    /// Bytes of content in each chunk in HTTP/1.1; `None` if it is sent with its length.
    chunk: Option<NonZeroUsize>,
}

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
        RequestBody {
            pieces,
            chunk: None,
        }
    }

    /// The same body in chunks of `bytes` bytes, if there are to be any.
    pub(crate) fn in_chunks(self, bytes: Option<u32>) -> RequestBody {
        let chunk = bytes.and_then(|bytes| NonZeroUsize::new(bytes as usize));
        RequestBody { chunk, ..self }
    }

    /// Whether its length is not said.
    pub(crate) fn is_chunked(&self) -> bool {
        self.chunk.is_some()
    }

    pub(crate) fn length(&self, values: &Values) -> usize {
        self.pieces.iter().map(|piece| piece.length(values)).sum()
    }

    /// Appends the whole body to `out`.
    pub(crate) fn fill(&self, values: &Values, out: &mut Vec<u8>) {
        self.pieces.iter().for_each(|piece| piece.fill(values, out));
    }

    /// The body, if it is the same for every operation and fits a window.
    pub(crate) fn constant(&self) -> Option<Vec<u8>> {
        fill::constant(&self.pieces, WINDOW)
    }
}

impl BodyUpload {
    /// Starts an upload of the whole body.
    pub(crate) fn new(body: Arc<RequestBody>, values: &Values) -> BodyUpload {
        let left = body.length(values);
        BodyUpload {
            body,
            values: values.clone(),
            piece: 0,
            offset: 0,
            left,
        }
    }

    /// Bytes that have not been put yet.
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// Appends the next window to `out`, as HTTP/1.1 frames it.
    pub(crate) fn put_window(&mut self, out: &mut Vec<u8>) {
        match self.body.chunk {
            None => self.put(WINDOW, out),
            Some(chunk) => self.put_chunks(WINDOW, chunk.get(), out),
        }
    }

    /// Appends the next `most` bytes to `out` in chunks of `size` bytes, and the last chunk behind
    /// the last of them (RFC 9112 §7.1). A chunk may begin in one window and end in another.
    fn put_chunks(&mut self, most: usize, size: usize, out: &mut Vec<u8>) {
        let length = self.body.length(&self.values);
        let mut room = most.min(self.left);
        while room > 0 {
            let within = (length - self.left) % size;
            if within == 0 {
                // Writing to a `Vec` cannot fail.
                let _ = write!(out, "{:x}\r\n", size.min(self.left));
            }
            let part = room.min(size - within);
            self.put(part, out);
            room -= part;
            if self.left == 0 || (length - self.left).is_multiple_of(size) {
                out.extend_from_slice(b"\r\n");
            }
        }
        if self.left == 0 {
            out.extend_from_slice(b"0\r\n\r\n");
        }
    }

    /// Appends the next `most` bytes to `out`, or fewer if fewer are left.
    pub(crate) fn put(&mut self, most: usize, out: &mut Vec<u8>) {
        let end = out.len() + most.min(self.left);
        while out.len() < end {
            let before = out.len();
            self.body.pieces[self.piece].fill_part(&self.values, self.offset, end - before, out);
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
    fn chunks_of_any_size_make_the_body_across_windows() {
        let whole: Vec<u8> = (0..1000).map(|number| number as u8).collect();
        for length in [0, 1, 7, 8, 9, 999, 1000] {
            for (size, window) in [(1, 3), (8, 8), (8, 5), (8, 100), (100, 7), (5000, 64)] {
                let body = RequestBody::new(vec![Fill::Bytes(whole[..length].to_vec())]);
                let body = Arc::new(body.in_chunks(Some(size)));
                let mut upload = BodyUpload::new(body, &Values::default());
                let mut put = Vec::new();
                upload.put_chunks(window, size as usize, &mut put);
                while upload.left() > 0 {
                    upload.put_chunks(window, size as usize, &mut put);
                }
                let mut expected = Vec::new();
                for chunk in whole[..length].chunks(size as usize) {
                    write!(expected, "{:x}\r\n", chunk.len()).unwrap();
                    expected.extend([chunk, b"\r\n"].concat());
                }
                expected.extend(b"0\r\n\r\n");
                assert!(put == expected, "{length} by {size} in {window}");
            }
        }
    }

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
