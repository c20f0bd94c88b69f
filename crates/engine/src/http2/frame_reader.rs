//! Splits a stream of bytes into frames: DATA is passed on in place as it arrives, other frames
//! whole.

use super::frame::{DEFAULT_MAX_FRAME, FrameHead, HEAD, code, flag, kind};

/// Receives the frames. Errors are codes of RFC 9113 §7.
pub(super) trait FrameHandler {
    /// Whether a header block is incomplete, which only CONTINUATION may follow.
    fn is_in_block(&self) -> bool;

    /// A DATA frame begins; flow control counts its length.
    fn begin_data(&mut self, head: FrameHead) -> Result<(), u32>;

    /// Bytes of the body on stream `id`.
    fn take_data(&mut self, id: u32, bytes: &[u8]);

    /// A DATA frame has ended.
    fn end_data(&mut self, head: FrameHead);

    /// A complete frame other than DATA.
    fn take_frame(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), u32>;
}

/// The position of a connection in its stream of frames.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    /// Bytes of a head, or of a frame other than DATA, that arrives in pieces.
    pieces: Vec<u8>,
    state: ReaderState,
}

#[derive(Debug, Default, Clone, Copy)]
enum ReaderState {
    #[default]
    Head,
    /// In a frame other than DATA.
    Frame(FrameHead),
    /// Before the padding length of a DATA frame.
    PadLength(FrameHead),
    /// In a DATA frame: bytes of the body still to come, and of the padding after them.
    Data {
        head: FrameHead,
        left: usize,
        padding: usize,
    },
}

impl FrameReader {
    /// Passes the input to `handler`, frame by frame. Errors are codes of RFC 9113 §7.
    pub(super) fn feed(
        &mut self,
        mut bytes: &[u8],
        handler: &mut impl FrameHandler,
    ) -> Result<(), u32> {
        loop {
            let enough = match self.state {
                ReaderState::Head => self.read_head(&mut bytes, handler)?,
                ReaderState::Frame(head) => self.read_frame(head, &mut bytes, handler)?,
                ReaderState::PadLength(head) => self.read_pad_length(head, &mut bytes)?,
                ReaderState::Data {
                    head,
                    left,
                    padding,
                } => self.read_data(head, left, padding, &mut bytes, handler),
            };
            if !enough {
                return Ok(());
            }
        }
    }

    /// Returns whether there was a complete head.
    fn read_head(
        &mut self,
        bytes: &mut &[u8],
        handler: &mut impl FrameHandler,
    ) -> Result<bool, u32> {
        let head = self.whole(HEAD, bytes, |bytes| bytes.try_into().map(FrameHead::parse));
        // Fewer than nine bytes so far; nine always make a head.
        let Some(Ok(head)) = head else {
            return Ok(false);
        };
        // Our settings leave the largest frame at its default.
        if head.length > DEFAULT_MAX_FRAME {
            return Err(code::FRAME_SIZE_ERROR);
        }
        self.state = if head.kind != kind::DATA {
            ReaderState::Frame(head)
        } else if handler.is_in_block() {
            return Err(code::PROTOCOL_ERROR);
        } else {
            handler.begin_data(head)?;
            if head.has(flag::PADDED) {
                ReaderState::PadLength(head)
            } else {
                ReaderState::Data {
                    head,
                    left: head.length,
                    padding: 0,
                }
            }
        };
        Ok(true)
    }

    fn read_frame(
        &mut self,
        head: FrameHead,
        bytes: &mut &[u8],
        handler: &mut impl FrameHandler,
    ) -> Result<bool, u32> {
        let Some(taken) = self.whole(head.length, bytes, |payload| {
            handler.take_frame(head, payload)
        }) else {
            return Ok(false);
        };
        self.state = ReaderState::Head;
        taken.map(|()| true)
    }

    fn read_pad_length(&mut self, head: FrameHead, bytes: &mut &[u8]) -> Result<bool, u32> {
        // The next byte would belong to another frame.
        if head.length == 0 {
            return Err(code::FRAME_SIZE_ERROR);
        }
        let Some((&padding, rest)) = bytes.split_first() else {
            return Ok(false);
        };
        *bytes = rest;
        let padding = usize::from(padding);
        let left = head
            .length
            .checked_sub(1 + padding)
            .ok_or(code::PROTOCOL_ERROR)?;
        self.state = ReaderState::Data {
            head,
            left,
            padding,
        };
        Ok(true)
    }

    fn read_data(
        &mut self,
        head: FrameHead,
        left: usize,
        padding: usize,
        bytes: &mut &[u8],
        handler: &mut impl FrameHandler,
    ) -> bool {
        let (body, rest) = bytes.split_at(bytes.len().min(left));
        let (filling, rest) = rest.split_at(rest.len().min(padding));
        *bytes = rest;
        handler.take_data(head.stream, body);
        let left = left - body.len();
        let padding = padding - filling.len();
        let is_over = left + padding == 0;
        self.state = if is_over {
            ReaderState::Head
        } else {
            ReaderState::Data {
                head,
                left,
                padding,
            }
        };
        if is_over {
            handler.end_data(head);
        }
        is_over
    }

    /// Passes the next `length` bytes to `take` once they have arrived; they are not copied if they
    /// came in one piece.
    fn whole<T>(
        &mut self,
        length: usize,
        bytes: &mut &[u8],
        take: impl FnOnce(&[u8]) -> T,
    ) -> Option<T> {
        // The usual case: a read contains whole frames.
        if self.pieces.is_empty()
            && let Some((whole, rest)) = bytes.split_at_checked(length)
        {
            *bytes = rest;
            return Some(take(whole));
        }
        let (more, rest) = bytes.split_at(bytes.len().min(length - self.pieces.len()));
        *bytes = rest;
        self.pieces.extend_from_slice(more);
        if self.pieces.len() < length {
            return None;
        }
        let taken = take(&self.pieces);
        self.pieces.clear();
        Some(taken)
    }
}

/// Removes the padding that a frame's head announces (RFC 9113 §6.1).
pub(super) fn without_padding(head: FrameHead, payload: &[u8]) -> Result<&[u8], u32> {
    if !head.has(flag::PADDED) {
        return Ok(payload);
    }
    let (&padding, rest) = payload.split_first().ok_or(code::FRAME_SIZE_ERROR)?;
    let length = rest
        .len()
        .checked_sub(usize::from(padding))
        .ok_or(code::PROTOCOL_ERROR)?;
    Ok(&rest[..length])
}
