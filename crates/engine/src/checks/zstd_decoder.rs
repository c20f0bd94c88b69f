//! Decodes zstd (RFC 8878) as it comes, block by block.

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, Write};

/// The largest window of a content coding (RFC 9659). A decoder holds that much memory, and one
/// block.
const MAX_WINDOW_BYTES: u64 = 8 << 20;

/// A block's header, and the most content that a block has (RFC 8878 §3.1.1.2).
const BLOCK_HEADER_BYTES: usize = 3;
const MAX_BLOCK_BYTES: usize = 128 << 10;

/// The longest header of a frame, with its magic number (RFC 8878 §3.1.1.1), and where its
/// descriptor stands.
const MAX_FRAME_HEADER_BYTES: usize = 18;
const DESCRIPTOR_AT: usize = 4;
const HAS_CHECKSUM: u8 = 1 << 2;
const CHECKSUM_BYTES: usize = 4;

/// A decoder that writes to `W`.
pub(super) struct ZstdDecoder<W> {
    frame: FrameDecoder,
    place: FramePart,
    /// Bytes of a header or a block that has not come whole.
    kept: Vec<u8>,
    writer: W,
}

/// What comes next.
#[derive(Debug, Clone, Copy)]
enum FramePart {
    /// A frame, or the end.
    Frame,
    /// This many bytes of a frame that is to be skipped.
    Skipped(usize),
    Block {
        has_checksum: bool,
    },
}

impl<W: Write> ZstdDecoder<W> {
    pub(super) fn new(writer: W) -> ZstdDecoder<W> {
        let mut frame = FrameDecoder::new();
        frame.set_max_window_size(MAX_WINDOW_BYTES);
        ZstdDecoder {
            frame,
            place: FramePart::Frame,
            kept: Vec::new(),
            writer,
        }
    }

    pub(super) fn get_ref(&self) -> &W {
        &self.writer
    }

    pub(super) fn get_mut(&mut self) -> &mut W {
        &mut self.writer
    }

    /// Decodes the next bytes, and writes what has left the window.
    pub(super) fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut kept = std::mem::take(&mut self.kept);
        kept.extend_from_slice(bytes);
        let mut taken = 0;
        while let Some(step) = self.step(&kept[taken..])? {
            taken += step;
        }
        kept.drain(..taken);
        self.kept = kept;
        Ok(())
    }

    /// Fails unless a frame has ended with the last byte.
    pub(super) fn finish(&self) -> io::Result<()> {
        match self.place {
            FramePart::Frame if self.kept.is_empty() => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Decodes what these bytes begin with. Returns how many bytes that is, `None` if it has not
    /// come whole.
    fn step(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        match self.place {
            _ if bytes.is_empty() => Ok(None),
            FramePart::Frame => self.begin(bytes),
            FramePart::Skipped(left) => {
                let skipped = left.min(bytes.len());
                self.place = match left - skipped {
                    0 => FramePart::Frame,
                    left => FramePart::Skipped(left),
                };
                Ok(Some(skipped))
            }
            FramePart::Block { has_checksum } => {
                let Some(length) = block_length(bytes, has_checksum)? else {
                    return Ok(None);
                };
                match bytes.get(..length) {
                    Some(block) => self.decode(block).map(|()| Some(length)),
                    None => Ok(None),
                }
            }
        }
    }

    /// Reads a frame's header.
    fn begin(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let mut rest = bytes;
        match self.frame.init(&mut rest) {
            Ok(()) => {
                let has_checksum = bytes[DESCRIPTOR_AT] & HAS_CHECKSUM != 0;
                self.place = FramePart::Block { has_checksum };
                Ok(Some(bytes.len() - rest.len()))
            }
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                self.place = match length {
                    0 => FramePart::Frame,
                    length => FramePart::Skipped(length as usize),
                };
                Ok(Some(bytes.len() - rest.len()))
            }
            // A header that has not come whole is told apart from a broken one by its length.
            Err(_) if bytes.len() < MAX_FRAME_HEADER_BYTES => Ok(None),
            Err(error) => Err(broken(error)),
        }
    }

    /// Decodes a block, with the checksum behind the last one.
    fn decode(&mut self, mut block: &[u8]) -> io::Result<()> {
        let one = BlockDecodingStrategy::UptoBlocks(1);
        let is_last = self.frame.decode_blocks(&mut block, one).map_err(broken)?;
        self.frame.collect_to_writer(&mut self.writer)?;
        if is_last {
            self.place = FramePart::Frame;
            let sent = self.frame.get_checksum_from_data();
            if sent.is_some() && sent != self.frame.get_calculated_checksum() {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        Ok(())
    }
}

/// Bytes of the block that begins here, with the checksum that may follow the last one; `None` if
/// its header has not come whole.
fn block_length(bytes: &[u8], has_checksum: bool) -> io::Result<Option<usize>> {
    let Some(&[low, middle, high]) = bytes.first_chunk::<BLOCK_HEADER_BYTES>() else {
        return Ok(None);
    };
    let header = u32::from_le_bytes([low, middle, high, 0]);
    let (is_last, kind, size) = (header & 1 == 1, header >> 1 & 3, (header >> 3) as usize);
    if size > MAX_BLOCK_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // A byte that is repeated stands there once.
    let content = if kind == 1 { 1 } else { size };
    let checksum = if is_last && has_checksum {
        CHECKSUM_BYTES
    } else {
        0
    };
    Ok(Some(BLOCK_HEADER_BYTES + content + checksum))
}

fn broken(error: FrameDecoderError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, proptest};
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    const HEAD: [u8; 6] = [0x28, 0xb5, 0x2f, 0xfd, 0, 0x50]; // a window of 1 MiB

    /// A block of this kind, whose header says this size.
    fn block(is_last: bool, kind: u32, size: u32, content: &[u8]) -> Vec<u8> {
        let header = u32::from(is_last) | kind << 1 | size << 3;
        [&header.to_le_bytes()[..BLOCK_HEADER_BYTES], content].concat()
    }

    /// What comes of a body in pieces of this length.
    fn decode(body: &[u8], piece: usize) -> io::Result<Vec<u8>> {
        let mut decoder = ZstdDecoder::new(Vec::new());
        body.chunks(piece)
            .try_for_each(|bytes| decoder.take(bytes))?;
        decoder.finish()?;
        Ok(decoder.writer)
    }

    #[test]
    fn frames_of_every_kind_of_block_follow_each_other() {
        let text = "the quick brown fox ".repeat(20_000);
        let skipped = [0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
        let nothing_skipped = [0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0];
        let body = [
            &skipped[..],
            &HEAD,
            &block(false, 0, 5, b"plain"),
            &block(true, 1, 7, b"x"),
            &nothing_skipped,
            &compress_to_vec(text.as_bytes(), CompressionLevel::Fastest),
            &HEAD,
            &block(true, 0, 0, b""),
        ]
        .concat();
        let expected = format!("plainxxxxxxx{text}");
        for piece in [1, 2, 3, 7, 1000, body.len()] {
            assert!(
                decode(&body, piece).unwrap() == expected.as_bytes(),
                "by {piece}"
            );
        }
    }

    #[test]
    fn what_breaks_the_rules_is_an_error() {
        let too_wide = [0x28, 0xb5, 0x2f, 0xfd, 0, 0x69]; // more than 8 MiB
        let needs_dictionary = [0x28, 0xb5, 0x2f, 0xfd, 1, 0x50, 7];
        let cases: [&[u8]; 5] = [
            &[&too_wide[..], &block(true, 0, 0, &[])].concat(),
            &[&needs_dictionary[..], &block(true, 0, 0, &[])].concat(),
            &[&HEAD[..], &block(true, 3, 0, &[])].concat(),
            &[&HEAD[..], &block(true, 1, (128 << 10) + 1, b"x")].concat(),
            &[&HEAD[..], &block(true, 2, 3, b"abc")].concat(),
        ];
        for (number, case) in cases.into_iter().enumerate() {
            assert!(decode(case, 1).is_err(), "case {number}");
            assert!(decode(case, case.len()).is_err(), "case {number}");
        }
    }

    #[test]
    fn wrong_checksum_is_an_error() {
        let mut body = include_bytes!("answer_watch/coded/body.zst").to_vec();
        assert!(decode(&body, 1).is_ok());
        *body.last_mut().unwrap() ^= 1;
        assert!(decode(&body, 1).is_err());
    }

    #[test]
    fn memory_is_bounded_by_the_window() {
        let mut decoder = ZstdDecoder::new(io::sink());
        decoder.take(&HEAD).unwrap();
        for _ in 0..10_000 {
            decoder.take(&block(false, 1, 128 << 10, b"x")).unwrap();
            assert!(decoder.frame.can_collect() == 0 && decoder.kept.is_empty());
        }
    }

    proptest! {
        #[test]
        fn damaged_bodies_do_no_harm(
            number in any::<u64>(), at in any::<usize>(), flip in any::<u8>(), piece in 1usize..999,
        ) {
            let text = format!("{number} and ").repeat((number % 5_000) as usize);
            let mut body = compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
            let at = at % body.len();
            body[at] ^= flip;
            let cut_differently = decode(&body, piece).ok();
            assert!(cut_differently == decode(&body, body.len()).ok());
        }
    }
}
