//! Opens the input: unpacks gzip, drops a byte order mark, and looks at the beginning.

use flate2::read::MultiGzDecoder;
use std::io::{self, BufReader, Cursor, Read};

/// How much of the beginning is looked at to recognise the format.
const SAMPLE_BYTES: u64 = 64 << 10;

/// Read at once.
const BUFFER_BYTES: usize = 256 << 10;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The unpacked input, and its beginning.
pub(crate) struct Input<'r> {
    pub(crate) reader: BufReader<Box<dyn Read + 'r>>,
    pub(crate) sample: Vec<u8>,
}

impl<'r> Input<'r> {
    /// # Errors
    /// The beginning cannot be read or unpacked.
    pub(crate) fn open(mut input: impl Read + 'r) -> io::Result<Input<'r>> {
        let mut magic = Vec::new();
        input.by_ref().take(2).read_to_end(&mut magic)?;
        let is_packed = magic == GZIP_MAGIC;
        let whole = Cursor::new(magic).chain(input);
        let mut plain: Box<dyn Read + 'r> = if is_packed {
            let whole = BufReader::with_capacity(BUFFER_BYTES, whole);
            Box::new(Unpacked(MultiGzDecoder::new(whole)))
        } else {
            Box::new(whole)
        };
        let mut sample = Vec::new();
        plain.by_ref().take(SAMPLE_BYTES).read_to_end(&mut sample)?;
        if sample.starts_with(BYTE_ORDER_MARK) {
            sample.drain(..BYTE_ORDER_MARK.len());
        }
        let whole = Cursor::new(sample.clone()).chain(plain);
        Ok(Input {
            reader: BufReader::with_capacity(BUFFER_BYTES, Box::new(whole)),
            sample,
        })
    }
}

/// Says what is wrong with gzip data, which the decoder calls by its own terms.
struct Unpacked<R>(R);

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| {
            let why = match error.kind() {
                io::ErrorKind::UnexpectedEof => {
                    "its gzip data end early: the file is cut, or still being written"
                }
                io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                    "its gzip data are damaged"
                }
                _ => return error,
            };
            io::Error::new(error.kind(), why)
        })
    }
}
