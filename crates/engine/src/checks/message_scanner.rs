//! Finds the messages of a gRPC answer, which comes in pieces. Keeps none of it.

/// Bytes before a message: whether it is compressed, and its length (gRPC over HTTP/2,
/// "Length-Prefixed-Message").
const PREFIX: usize = 5;

/// What has been found so far, and where in a message the next byte stands.
#[derive(Debug)]
pub(super) struct MessageScanner {
    /// Whether the head names a coding, so that messages may be compressed.
    has_coding: bool,
    prefix: [u8; PREFIX],
    /// Bytes of the prefix that have come, and those of the message that have not.
    of_prefix: usize,
    left: u32,
    /// Messages that are whole.
    messages: u64,
    is_broken: bool,
}

impl MessageScanner {
    /// An answer whose messages may be compressed, or may not.
    pub(super) fn new(has_coding: bool) -> MessageScanner {
        MessageScanner {
            has_coding,
            prefix: [0; PREFIX],
            of_prefix: 0,
            left: 0,
            messages: 0,
            is_broken: false,
        }
    }

    /// Messages that are whole.
    pub(super) fn messages(&self) -> u64 {
        self.messages
    }

    /// Whether what has come is whole messages and nothing else.
    pub(super) fn is_whole(&self) -> bool {
        !self.is_broken && self.of_prefix == 0
    }

    /// Scans the next bytes of the body, up to the end of message number `most`.
    pub(super) fn take(&mut self, mut bytes: &[u8], most: u64) {
        while !bytes.is_empty() && !self.is_broken && self.messages < most {
            if self.of_prefix < PREFIX {
                let taken = bytes.len().min(PREFIX - self.of_prefix);
                self.prefix[self.of_prefix..][..taken].copy_from_slice(&bytes[..taken]);
                self.of_prefix += taken;
                bytes = &bytes[taken..];
                if self.of_prefix == PREFIX {
                    self.begin();
                }
                continue;
            }
            let taken = bytes.len().min(self.left as usize);
            self.left -= taken as u32; // at most what was left
            bytes = &bytes[taken..];
            self.end_if_whole();
        }
    }

    fn begin(&mut self) {
        let [flag, l0, l1, l2, l3] = self.prefix;
        self.left = u32::from_be_bytes([l0, l1, l2, l3]);
        self.is_broken = flag > u8::from(self.has_coding);
        self.end_if_whole();
    }

    fn end_if_whole(&mut self) {
        if self.left == 0 && !self.is_broken {
            self.messages += 1;
            self.of_prefix = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &[u8] = b"\0\0\0\0\x02ab\0\0\0\0\0";

    fn scanned(pieces: &[&[u8]], most: u64) -> (u64, bool) {
        let mut scanner = MessageScanner::new(false);
        pieces.iter().for_each(|bytes| scanner.take(bytes, most));
        (scanner.messages(), scanner.is_whole())
    }

    #[test]
    fn messages_are_counted_once_they_are_whole_wherever_pieces_end() {
        for end in 0..=TWO.len() {
            let (messages, is_whole) = match end {
                0 => (0, true),
                1..=6 => (0, false),
                7 => (1, true),
                8..=11 => (1, false),
                _ => (2, true),
            };
            for begin in 0..=end {
                let pieces = [&TWO[..begin], &TWO[begin..end]];
                assert_eq!(
                    scanned(&pieces, u64::MAX),
                    (messages, is_whole),
                    "{begin} {end}"
                );
            }
        }
    }

    #[test]
    fn what_follows_the_last_one_wanted_is_not_looked_at() {
        assert_eq!(scanned(&[TWO, b"\xff\xff"], 1), (1, true));
        assert_eq!(scanned(&[TWO, b"\xff\xff"], 2), (2, true));
        assert_eq!(scanned(&[TWO, b"\xff\0\0\0\0"], 3), (2, false));
    }

    #[test]
    fn message_of_another_kind_than_the_head_says_is_none() {
        let compressed = b"\x01\0\0\0\0";
        assert_eq!(scanned(&[compressed], u64::MAX), (0, false));
        let mut scanner = MessageScanner::new(true);
        scanner.take(compressed, u64::MAX);
        assert_eq!((scanner.messages(), scanner.is_whole()), (1, true));
        scanner.take(b"\x02\0\0\0\0", u64::MAX);
        assert_eq!((scanner.messages(), scanner.is_whole()), (1, false));
    }
}
