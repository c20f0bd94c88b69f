//! Deflated bytes (RFC 1951) in memory, with a bound on what they become.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// A stream has no header or checksum: the caller checks what it becomes.
const WITH_HEADER: bool = false;

/// Why bytes could not be inflated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InflateError {
    /// They are no deflate stream, end inside it, or go on after it.
    Broken,
    /// They become more bytes than they may.
    TooLong,
}

/// Appends `plain` to `out`, deflated.
pub(crate) fn append(plain: &[u8], out: &mut Vec<u8>) {
    let mut compress = Compress::new(Compression::fast(), WITH_HEADER);
    append_by(&mut compress, plain, out);
}

/// Does the same by `compress`, which is new or reset, and decides whether there is a header.
pub(crate) fn append_by(compress: &mut Compress, plain: &[u8], out: &mut Vec<u8>) {
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
pub(crate) struct Inflater(Decompress);

impl Inflater {
    pub(crate) fn new() -> Inflater {
        Inflater(Decompress::new(WITH_HEADER))
    }

    /// Puts what `deflated` becomes, `most` bytes at most, in the place of what `out` holds. Memory
    /// grows with what comes out, not with what a header promises.
    pub(crate) fn inflate(
        &mut self,
        deflated: &[u8],
        most: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), InflateError> {
        self.0.reset(WITH_HEADER);
        out.clear();
        // A first guess. The 64 bytes more let an empty or tiny stream end.
        out.reserve(deflated.len().saturating_mul(3).min(most) + 64);
        loop {
            let [read, made] = [self.0.total_in(), self.0.total_out()];
            let rest = usize::try_from(read).map_or(&[][..], |read| &deflated[read..]);
            let status = self
                .0
                .decompress_vec(rest, out, FlushDecompress::None)
                .map_err(|_| InflateError::Broken)?;
            if out.len() > most {
                return Err(InflateError::TooLong);
            }
            if status == Status::StreamEnd {
                let is_all = self.0.total_in() == deflated.len() as u64;
                return is_all.then_some(()).ok_or(InflateError::Broken);
            }
            // With room for output and neither input nor output moving, the stream ends too early.
            let is_stuck = [self.0.total_in(), self.0.total_out()] == [read, made];
            if out.len() < out.capacity() && is_stuck {
                return Err(InflateError::Broken);
            }
            // Doubles, but never reserves far beyond `most`: 64 bytes above it show that it is
            // exceeded.
            if out.len() == out.capacity() {
                out.reserve(out.len().min(most - out.len()) + 64);
            }
        }
    }
}
