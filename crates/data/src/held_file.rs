//! Files that are held in memory.

use std::io::{self, Read};
use std::iter::repeat_n;
use std::sync::Arc;

/// Reads what `source` has, and at most one byte more than `max`, which shows that there is more.
/// What has the size that is expected is not copied again once it is read; it can be large, and it
/// can be a key.
///
/// # Errors
/// The source cannot be read.
pub fn read_held(mut source: impl Read, expected: u64, max: u64) -> io::Result<Arc<[u8]>> {
    let most = max.saturating_add(1);
    let mut content: Arc<[u8]> = repeat_n(0, expected.min(most) as usize).collect();
    let room = Arc::get_mut(&mut content).expect("it is not shared yet");
    let filled = fill(&mut source, room)?;
    let mut rest = Vec::new();
    if filled == content.len() {
        let left = most - filled as u64;
        source.take(left).read_to_end(&mut rest)?;
    }
    if rest.is_empty() && filled == content.len() {
        return Ok(content);
    }
    Ok([&content[..filled], &rest].concat().into())
}

/// Reads until `room` is full or nothing is left, and returns how many bytes were read.
fn fill(source: &mut impl Read, room: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < room.len() {
        match source.read(&mut room[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_whole_whatever_size_was_expected() {
        for expected in [0, 1, 4, 5, 6, 100] {
            let content = read_held(&b"12345"[..], expected, 10).expect("readable");
            assert_eq!(&content[..], b"12345", "{expected}");
        }
        assert!(read_held(io::empty(), 0, 10).expect("readable").is_empty());
    }

    #[test]
    fn one_byte_more_than_the_most_shows_that_there_is_more() {
        for expected in [0, 3, 4, 5] {
            let content = read_held(&b"12345"[..], expected, 3).expect("readable");
            assert_eq!(&content[..], b"1234", "{expected}");
        }
    }

    #[test]
    fn source_that_fails_says_so() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        assert!(read_held(b"12".chain(Broken), 5, 10).is_err());
    }
}
