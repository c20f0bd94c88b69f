//! The encoding of HdrHistogram's files, version 2, compressed: `encodeIntoCompressedByteBuffer` of
//! `AbstractHistogram.java`, HdrHistogram 2.1.

use crate::{Histogram, counts, deflate};
use flate2::{Compress, Compression};
use std::fmt;

/// Marks version 2, with counters in at most 9 bytes each.
const COOKIE: u32 = 0x1c84_9313;
/// Marks version 2, compressed.
const COMPRESSED_COOKIE: u32 = 0x1c84_9314;

/// The compressed bytes are a zlib stream (RFC 1950).
const ZLIB_HEADER: bool = true;

/// Bytes before the counters.
const HEAD: usize = 40;

/// Encodes histograms for HdrHistogram's tools, one after the other. Its memory is reused, since a
/// compressor takes several hundred kilobytes.
pub struct HdrEncoder {
    compress: Compress,
    plain: Vec<u8>,
    encoded: Vec<u8>,
}

impl HdrEncoder {
    /// An encoder that has encoded nothing yet.
    #[must_use]
    pub fn new() -> HdrEncoder {
        HdrEncoder {
            compress: Compress::new(Compression::default(), ZLIB_HEADER),
            plain: Vec::new(),
            encoded: Vec::new(),
        }
    }

    /// The histogram in version 2 of HdrHistogram's encoding, compressed.
    pub fn encode(&mut self, histogram: &Histogram) -> &[u8] {
        self.plain.clear();
        self.plain.resize(HEAD, 0);
        counts::write_counts(histogram, &mut self.plain);
        let head = head(self.plain.len() - HEAD);
        self.plain[..HEAD].copy_from_slice(&head);

        self.encoded.clear();
        self.encoded.extend(COMPRESSED_COOKIE.to_be_bytes());
        self.encoded.extend([0; 4]);
        self.compress.reset();
        deflate::append_by(&mut self.compress, &self.plain, &mut self.encoded);
        let length = u32_of(self.encoded.len() - 8);
        self.encoded[4..8].copy_from_slice(&length.to_be_bytes());
        &self.encoded
    }
}

/// What stands before `payload` bytes of counters, in big-endian order.
fn head(payload: usize) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..4].copy_from_slice(&COOKIE.to_be_bytes());
    head[4..8].copy_from_slice(&u32_of(payload).to_be_bytes());
    // Bytes 8 to 11 are the normalizing index offset: 0, since values are not shifted.
    head[12..16].copy_from_slice(&u32::from(Histogram::SIGNIFICANT_DIGITS).to_be_bytes());
    head[16..24].copy_from_slice(&Histogram::LOWEST_NS.to_be_bytes());
    head[24..32].copy_from_slice(&Histogram::HIGHEST_NS.to_be_bytes());
    // What an integer is multiplied by to make a floating-point value.
    head[32..].copy_from_slice(&1.0_f64.to_be_bytes());
    head
}

fn u32_of(length: usize) -> u32 {
    u32::try_from(length).expect("33 thousand counters of 9 bytes fit")
}

impl Default for HdrEncoder {
    fn default() -> HdrEncoder {
        HdrEncoder::new()
    }
}

impl fmt::Debug for HdrEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HdrEncoder").finish_non_exhaustive()
    }
}
