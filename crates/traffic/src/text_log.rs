//! Reads the lines of a text log by its format, or by the usual one that each line has.

use crate::log_format::LogFormat;
use crate::recorded::LineResult;

/// A text log.
#[derive(Debug)]
pub(crate) struct TextLog {
    /// The one that the last line had comes first.
    formats: Vec<LogFormat>,
}

impl TextLog {
    /// A log whose lines have one format.
    pub(crate) fn new(format: LogFormat) -> TextLog {
        TextLog {
            formats: vec![format],
        }
    }

    /// A log in one of the usual formats, or in several.
    pub(crate) fn usual() -> TextLog {
        TextLog {
            formats: LogFormat::usual(),
        }
    }

    /// Reads a line.
    pub(crate) fn read(&mut self, line: &[u8]) -> LineResult {
        let first = self.formats[0].read(line);
        if first.is_ok() {
            return first;
        }
        let mut others = 1..self.formats.len();
        let found = others.find_map(|nth| Some((nth, self.formats[nth].read(line).ok()?)));
        match found {
            Some((nth, read)) => {
                self.formats.swap(0, nth);
                Ok(read)
            }
            None => first,
        }
    }
}
