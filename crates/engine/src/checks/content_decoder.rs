//! Decoders of content codings (RFC 9110 §8.4.1). Each writes a body to its reader as it comes.

use super::body_reader::BodyReader;
use super::zstd_decoder::ZstdDecoder;
use brotli_decompressor::DecompressorWriter;
use flate2::write::MultiGzDecoder;
use std::fmt;
use std::io::{self, Write};

/// Bytes that a decoder of brotli hands over at once.
const BROTLI_OUTPUT_BYTES: usize = 16 * 1024;

/// What a decoder writes to.
pub(super) trait DecodedReader: Write {
    /// Whether it matters when bytes come.
    fn is_timed(&self) -> bool;
}

impl DecodedReader for BodyReader {
    fn is_timed(&self) -> bool {
        self.events.is_some()
    }
}

/// A decoder with the reader that it writes to.
pub(super) enum ContentDecoder<R: DecodedReader = BodyReader> {
    Gzip(Box<MultiGzDecoder<R>>),
    Brotli(Box<DecompressorWriter<R>>),
    Zstd(Box<ZstdDecoder<R>>),
}

impl<R: DecodedReader> ContentDecoder<R> {
    /// The decoder of a coding; `None` if there is none, or none that could write to this reader.
    pub(super) fn new(coding: &[u8], reader: R) -> Option<ContentDecoder<R>> {
        let is_named = |name: &str| coding.eq_ignore_ascii_case(name.as_bytes());
        // The second name is the first one's, by RFC 9110 §8.4.1.3.
        if is_named("gzip") || is_named("x-gzip") {
            return Some(ContentDecoder::Gzip(Box::new(MultiGzDecoder::new(reader))));
        }
        if is_named("br") {
            let decoder = DecompressorWriter::new(reader, BROTLI_OUTPUT_BYTES);
            return Some(ContentDecoder::Brotli(Box::new(decoder)));
        }
        // Its decoder holds back a window of up to 8 MiB, so events would be seen too late.
        (is_named("zstd") && !reader.is_timed())
            .then(|| ContentDecoder::Zstd(Box::new(ZstdDecoder::new(reader))))
    }

    pub(super) fn reader(&self) -> &R {
        match self {
            ContentDecoder::Gzip(decoder) => decoder.get_ref(),
            ContentDecoder::Brotli(decoder) => decoder.get_ref(),
            ContentDecoder::Zstd(decoder) => decoder.get_ref(),
        }
    }

    pub(super) fn reader_mut(&mut self) -> &mut R {
        match self {
            ContentDecoder::Gzip(decoder) => decoder.get_mut(),
            ContentDecoder::Brotli(decoder) => decoder.get_mut(),
            ContentDecoder::Zstd(decoder) => decoder.get_mut(),
        }
    }

    /// Decodes the next bytes, and writes what they become.
    pub(super) fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            ContentDecoder::Gzip(decoder) => {
                decoder.write_all(bytes)?;
                // It keeps what it has made until it is asked again, and events are timed.
                match decoder.get_ref().is_timed() {
                    true => decoder.flush(),
                    false => Ok(()),
                }
            }
            ContentDecoder::Brotli(decoder) => decoder.write_all(bytes),
            ContentDecoder::Zstd(decoder) => decoder.take(bytes),
        }
    }

    /// Writes the rest. Fails if the body is not whole.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        match self {
            ContentDecoder::Gzip(decoder) => decoder.try_finish(),
            ContentDecoder::Brotli(decoder) => decoder.close(),
            ContentDecoder::Zstd(decoder) => decoder.finish(),
        }
    }
}

impl<R: DecodedReader + fmt::Debug> fmt::Debug for ContentDecoder<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let coding = match self {
            ContentDecoder::Gzip(_) => "Gzip",
            ContentDecoder::Brotli(_) => "Brotli",
            ContentDecoder::Zstd(_) => "Zstd",
        };
        f.debug_tuple(coding).field(self.reader()).finish()
    }
}
