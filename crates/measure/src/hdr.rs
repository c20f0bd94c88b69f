//! HdrHistogram's V2 encoding and its deflated form, written and read by our own code; the bytes
//! are a foreign format, so reading trusts none of them. Source: `AbstractHistogram.java` and
//! `ZigZagLEB128` of HdrHistogram 2.1.

use crate::bucket::{BUCKETS, HIGHEST, SIGNIFICANT_DIGITS};
use crate::deflate::{self, Inflater, Wrapping};
use crate::{Histogram, zigzag};

const COOKIE: u32 = 0x1c84_9303 | 0x10;
const COMPRESSED_COOKIE: u32 = 0x1c84_9304 | 0x10;
/// Cookie, payload length, normalizing offset, digits (4 bytes each), lowest, highest, ratio (8
/// bytes each).
const HEADER_BYTES: usize = 40;
const LOWEST: u64 = 1;
const RATIO: f64 = 1.0;
/// A histogram in which no bucket is empty and every counter needs its 9 bytes.
const MAX_PLAIN_BYTES: usize = HEADER_BYTES + BUCKETS * zigzag::MAX_BYTES;

/// More values in one histogram than any run records, and as many as a float counts exactly: a
/// bound for foreign counts.
pub(crate) const MAX_COUNT: u64 = 1 << 53;

/// Why bytes are not a histogram of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistogramError {
    /// The bytes end early, or go on after the end.
    #[error("histogram of {found} bytes, where its header says {stated}")]
    Length {
        /// Bytes that the header announces.
        stated: u64,
        /// Bytes there are.
        found: u64,
    },
    /// Not an HdrHistogram in V2 (deflate) encoding.
    #[error("histogram begins with {found:#010x}, where HdrHistogram V2 has {wanted:#010x}")]
    Cookie {
        /// What was there.
        found: u32,
        /// What stands there in this encoding.
        wanted: u32,
    },
    /// An HdrHistogram with other buckets than ours.
    #[error("histogram's {field} is {found}, only {wanted} can be merged")]
    Layout {
        /// Which parameter of the layout.
        field: &'static str,
        /// What was there.
        found: u64,
        /// What stands there in ours.
        wanted: u64,
    },
    /// The deflate stream is broken, or holds more than a histogram can.
    #[error("histogram's deflate stream is broken or too long")]
    Deflate,
    /// A counter is cut off, lies beyond the last bucket, or is larger than any run makes it.
    #[error("histogram's counter at byte {at} is cut off, beyond the last bucket, or too large")]
    Counter {
        /// Offset in the inflated payload.
        at: usize,
    },
}

impl Histogram {
    /// The histogram in HdrHistogram's V2 deflate encoding: what other tools read, and what an
    /// `.hlog` holds as base64.
    #[must_use]
    pub fn encode_v2_deflate(&self) -> Vec<u8> {
        let mut plain = Vec::new();
        write_plain(self, &mut plain);
        let mut encoded = COMPRESSED_COOKIE.to_be_bytes().to_vec();
        encoded.extend([0; 4]);
        deflate::append(&plain, Wrapping::Zlib, &mut encoded);
        let length = u32::try_from(encoded.len() - 8).expect("a histogram is far below 4 GiB");
        encoded[4..8].copy_from_slice(&length.to_be_bytes());
        encoded
    }

    /// Reads HdrHistogram's V2 deflate encoding.
    ///
    /// # Errors
    /// Where the bytes are anything else, or have other buckets than ours. Hostile bytes cost
    /// bounded memory and time.
    pub fn decode_v2_deflate(encoded: &[u8]) -> Result<Histogram, HistogramError> {
        let mut fields = HdrFields(encoded);
        expect_cookie(&mut fields, COMPRESSED_COOKIE)?;
        expect_length(&mut fields)?;
        let mut plain = Vec::new();
        Inflater::new(Wrapping::Zlib)
            .inflate(fields.0, MAX_PLAIN_BYTES, &mut plain)
            .map_err(|_| HistogramError::Deflate)?;
        read_plain(&plain)
    }
}

fn write_plain(histogram: &Histogram, plain: &mut Vec<u8>) {
    plain.extend(COOKIE.to_be_bytes());
    plain.extend([0; 4]);
    plain.extend(0u32.to_be_bytes());
    plain.extend(SIGNIFICANT_DIGITS.to_be_bytes());
    plain.extend(LOWEST.to_be_bytes());
    plain.extend(HIGHEST.to_be_bytes());
    plain.extend(RATIO.to_be_bytes());
    write_counts(histogram, plain);
    let length = u32::try_from(plain.len() - HEADER_BYTES)
        .expect("the counts of a histogram are far below 4 GiB");
    plain[4..8].copy_from_slice(&length.to_be_bytes());
}

/// Counters from the first to the last that is not 0: a count as it is, two or more zeros as minus
/// their number.
pub(crate) fn write_counts(histogram: &Histogram, plain: &mut Vec<u8>) {
    let mut next = 0;
    for (index, count) in histogram.counts() {
        // A lone zero takes a byte either way; Java's writer writes it plainly.
        match index - next {
            0 => {}
            1 => zigzag::write(0, plain),
            zeros => zigzag::write(-(zeros as i64), plain),
        }
        zigzag::write(i64::try_from(count).unwrap_or(i64::MAX), plain);
        next = index + 1;
    }
    if next == 0 {
        zigzag::write(0, plain);
    }
}

fn read_plain(plain: &[u8]) -> Result<Histogram, HistogramError> {
    let mut fields = HdrFields(plain);
    expect_cookie(&mut fields, COOKIE)?;
    let stated = fields.u32()?;
    expect_field("normalizing offset", u64::from(fields.u32()?), 0)?;
    expect_field(
        "number of significant digits",
        u64::from(fields.u32()?),
        u64::from(SIGNIFICANT_DIGITS),
    )?;
    expect_field("lowest discernible value", fields.u64()?, LOWEST)?;
    expect_field("highest trackable value", fields.u64()?, HIGHEST)?;
    expect_field("conversion ratio (bits)", fields.u64()?, RATIO.to_bits())?;
    let found = fields.0.len() as u64;
    if u64::from(stated) != found {
        return Err(HistogramError::Length {
            stated: u64::from(stated),
            found,
        });
    }
    read_counts(fields.0)
}

/// A longer payload makes its room as it goes: a hostile one is zeros that say nothing.
const READ_RESERVE_MAX: usize = 256;

/// Reads what [`write_counts`] wrote, all of `payload`.
pub(crate) fn read_counts(payload: &[u8]) -> Result<Histogram, HistogramError> {
    let mut histogram = Histogram::default();
    // Most buckets take two bytes for the empty ones before them, and one for their count.
    histogram.reserve(payload.len().min(READ_RESERVE_MAX) / 3 + 1);
    let mut rest = payload;
    let mut index = 0_usize;
    let mut total = 0_u64;
    while !rest.is_empty() {
        let broken = HistogramError::Counter {
            at: payload.len() - rest.len(),
        };
        let Some(number) = zigzag::read(&mut rest) else {
            return Err(broken);
        };
        let Ok(count) = u64::try_from(number) else {
            // Below 0: so many empty buckets in a row.
            let zeros = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
            index = index.saturating_add(zeros);
            continue;
        };
        total = total.saturating_add(count);
        if total > MAX_COUNT || !histogram.append(index, count) {
            return Err(broken);
        }
        index += 1;
    }
    Ok(histogram)
}

/// Big-endian fields from the front of foreign bytes.
struct HdrFields<'a>(&'a [u8]);

impl HdrFields<'_> {
    fn u32(&mut self) -> Result<u32, HistogramError> {
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Result<u64, HistogramError> {
        self.take().map(u64::from_be_bytes)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], HistogramError> {
        let found = self.0.len() as u64;
        let (field, rest) = self.0.split_first_chunk().ok_or(HistogramError::Length {
            stated: N as u64,
            found,
        })?;
        self.0 = rest;
        Ok(*field)
    }
}

fn expect_cookie(fields: &mut HdrFields<'_>, wanted: u32) -> Result<(), HistogramError> {
    let found = fields.u32()?;
    if found == wanted {
        Ok(())
    } else {
        Err(HistogramError::Cookie { found, wanted })
    }
}

fn expect_length(fields: &mut HdrFields<'_>) -> Result<(), HistogramError> {
    let stated = u64::from(fields.u32()?);
    let found = fields.0.len() as u64;
    if stated == found {
        Ok(())
    } else {
        Err(HistogramError::Length { stated, found })
    }
}

fn expect_field(field: &'static str, found: u64, wanted: u64) -> Result<(), HistogramError> {
    if found == wanted {
        Ok(())
    } else {
        Err(HistogramError::Layout {
            field,
            found,
            wanted,
        })
    }
}
