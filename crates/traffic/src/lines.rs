//! Lines of a log, each bounded: a file without a line break costs no memory.

use std::io::{self, BufRead};

/// Longest line that is read: a log of nginx has at most some 100 KB, but a target of vegeta holds
/// its body.
pub(crate) const LINE_MAX_BYTES: usize = 16 << 20;

/// What [`LineReader::next`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnd {
    /// A line, which is in the buffer.
    Whole,
    /// A line longer than [`LINE_MAX_BYTES`], of which the buffer has the beginning.
    TooLong,
}

/// Reads line after line, and counts them.
pub(crate) struct LineReader<R> {
    input: R,
    /// The current line without its line break.
    pub(crate) line: Vec<u8>,
    /// Its number, from 1.
    pub(crate) number: u64,
    line_break: &'static [u8],
}

impl<R: BufRead> LineReader<R> {
    pub(crate) fn new(input: R) -> LineReader<R> {
        LineReader {
            input,
            line: Vec::new(),
            number: 0,
            line_break: b"",
        }
    }

    /// What ended the current line, for formats whose lines are parts of something else.
    pub(crate) fn line_break(&self) -> &'static [u8] {
        self.line_break
    }

    /// Reads the next line into the buffer; `None` at the end of the input.
    ///
    /// # Errors
    /// The input cannot be read.
    pub(crate) fn next(&mut self) -> io::Result<Option<LineEnd>> {
        self.line.clear();
        let most = LINE_MAX_BYTES as u64 + 1;
        let mut input = io::Read::take(&mut self.input, most);
        if input.read_until(b'\n', &mut self.line)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.line_break = b"";
        if self.line.pop_if(|last| *last == b'\n').is_some() {
            let is_two = self.line.pop_if(|last| *last == b'\r').is_some();
            self.line_break = if is_two { b"\r\n" } else { b"\n" };
        } else if self.line.len() > LINE_MAX_BYTES {
            self.line.truncate(LINE_MAX_BYTES);
            self.input.skip_until(b'\n')?;
            return Ok(Some(LineEnd::TooLong));
        }
        Ok(Some(LineEnd::Whole))
    }
}

#[cfg(test)]
mod tests {
    use super::{LINE_MAX_BYTES, LineEnd, LineReader};
    use std::io::{BufReader, Read as _};

    #[test]
    fn line_breaks_of_any_kind_end_lines() {
        let mut lines = LineReader::new(&b"a\r\n\nb"[..]);
        let mut seen = Vec::new();
        while lines.next().unwrap().is_some() {
            seen.push((lines.number, lines.line.clone()));
        }
        let expected = [(1, b"a".to_vec()), (2, Vec::new()), (3, b"b".to_vec())];
        assert_eq!(seen, expected);
    }

    #[test]
    fn line_without_an_end_costs_its_bound() {
        let endless = std::io::repeat(0).take(LINE_MAX_BYTES as u64 * 4);
        let input = BufReader::new(endless.chain(&b"\nafter\n"[..]));
        let mut lines = LineReader::new(input);
        assert_eq!(lines.next().unwrap(), Some(LineEnd::TooLong));
        assert!(lines.line.capacity() <= 2 * LINE_MAX_BYTES + 64);
        assert_eq!(lines.next().unwrap(), Some(LineEnd::Whole));
        assert_eq!((lines.line.as_slice(), lines.number), (&b"after"[..], 2));
        assert_eq!(lines.next().unwrap(), None);
    }
}
