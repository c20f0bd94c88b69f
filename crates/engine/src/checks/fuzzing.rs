//! Entry points for fuzzing: a content decoder without the checks that read what it writes, and the
//! reader of gRPC messages.

use super::content_decoder::{ContentDecoder, DecodedReader};
use super::grpc_text::grpc_text;
use super::message_reader;
use std::io::{self, Write};

/// Bytes of a decoded body that are read. A bomb has no end, and neither would an input.
const MOST_BYTES: u64 = 256 << 10;

/// The prime of FNV-1a with 64 bits.
const PRIME: u64 = 0x0100_0000_01b3;

/// A decoder of a content coding, as an answer's checks have it.
pub struct DecoderDoor(ContentDecoder<Sink>);

/// The fields of a message that `shape` names, as JSON; `None` if it cannot be read.
#[must_use]
pub fn read_message(message: &[u8], shape: &plan::MessageShape) -> Option<serde_json::Value> {
    message_reader::read(message, shape).ok()
}

/// What is shown of a field `grpc-message`.
#[must_use]
pub fn read_grpc_text(field: &[u8]) -> String {
    grpc_text(field)
}

/// What came out of a decoder: how many bytes, and which.
struct Sink {
    hash: u64,
    bytes: u64,
    is_timed: bool,
}

impl DecoderDoor {
    /// The decoder of `coding`, of a stream of events if that `is_timed`; `None` if there is none.
    #[must_use]
    pub fn new(coding: &[u8], is_timed: bool) -> Option<DecoderDoor> {
        let sink = Sink {
            hash: 0,
            bytes: 0,
            is_timed,
        };
        ContentDecoder::new(coding, sink).map(DecoderDoor)
    }

    /// Feeds it bytes.
    ///
    /// # Errors
    /// Fails if they are not of the coding, or if enough has been decoded.
    pub fn feed(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.take(bytes)
    }

    /// The body has ended.
    ///
    /// # Errors
    /// Fails if it is not whole.
    pub fn finish(&mut self) -> io::Result<()> {
        self.0.finish()
    }

    /// Whether as much has been decoded as is read.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.0.reader().bytes == MOST_BYTES
    }

    /// How many bytes it has decoded, and their hash.
    #[must_use]
    pub fn decoded(&self) -> (u64, u64) {
        let sink = self.0.reader();
        (sink.bytes, sink.hash)
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = usize::try_from(MOST_BYTES - self.bytes).unwrap_or(usize::MAX);
        let taken = &bytes[..bytes.len().min(room)];
        for &byte in taken {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(PRIME);
        }
        self.bytes += taken.len() as u64;
        if self.bytes == MOST_BYTES {
            return Err(io::ErrorKind::Other.into());
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl DecodedReader for Sink {
    fn is_timed(&self) -> bool {
        self.is_timed
    }
}
