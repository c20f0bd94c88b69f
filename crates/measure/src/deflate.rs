//! Deflated bytes (RFC 1951) in memory, with a bound on what they become.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// What stands around a deflate stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrapping {
    /// Nothing.
    Raw,
    /// A header and a check sum (RFC 1950).
    Zlib,
}

/// Why bytes could not be inflated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InflateError {
    /// They are no deflate stream, end inside it, or go on after it.
    Broken,
    /// They become more bytes than they may.
    TooLong,
}

/// Appends `plain` to `out`, deflated.
pub(crate) fn append(plain: &[u8], wrapping: Wrapping, out: &mut Vec<u8>) {
    let mut compress = Compress::new(Compression::fast(), wrapping == Wrapping::Zlib);
    loop {
        // Room for a block of stored bytes, so that one round is nearly always enough.
        out.reserve(plain.len() / 2 + 64);
        let read = usize::try_from(compress.total_in()).expect("it is in memory");
        let status = compress.compress_vec(&plain[read..], out, FlushCompress::Finish);
        if status.expect("deflate into memory cannot fail") == Status::StreamEnd {
            return;
        }
    }
}

/// Inflates any number of streams, one after the other.
pub(crate) struct Inflater {
    decompress: Decompress,
    wrapping: Wrapping,
}

impl Inflater {
    pub(crate) fn new(wrapping: Wrapping) -> Inflater {
        Inflater {
            decompress: Decompress::new(wrapping == Wrapping::Zlib),
            wrapping,
        }
    }

    /// Puts what `deflated` becomes, `most` bytes at most, in the place of what `out` holds. Memory
    /// grows with what comes out, not with what a header promises.
    pub(crate) fn inflate(
        &mut self,
        deflated: &[u8],
        most: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), InflateError> {
        self.decompress.reset(self.wrapping == Wrapping::Zlib);
        out.clear();
        out.reserve(deflated.len().saturating_mul(3).min(most) + 64);
        loop {
            let [read, made] = [self.decompress.total_in(), self.decompress.total_out()];
            let rest = usize::try_from(read).map_or(&[][..], |read| &deflated[read..]);
            let status = self
                .decompress
                .decompress_vec(rest, out, FlushDecompress::None)
                .map_err(|_| InflateError::Broken)?;
            if out.len() > most {
                return Err(InflateError::TooLong);
            }
            if status == Status::StreamEnd {
                let is_all = self.decompress.total_in() == deflated.len() as u64;
                return is_all.then_some(()).ok_or(InflateError::Broken);
            }
            let is_stuck =
                [self.decompress.total_in(), self.decompress.total_out()] == [read, made];
            if out.len() < out.capacity() && is_stuck {
                return Err(InflateError::Broken);
            }
            if out.len() == out.capacity() {
                out.reserve(out.len().min(most - out.len()) + 64);
            }
        }
    }
}
