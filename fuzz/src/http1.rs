//! HTTP/1.1 responses one after the other on a connection: how they are understood does not depend
//! on how the bytes are split into reads.

use crate::script::{Script, pieces};
use engine::fuzzing::Http1Door;

/// Responses read from one connection.
const RESPONSES_MAX: usize = 32;

/// How a connection's bytes were understood.
#[derive(Debug, Default, PartialEq, Eq)]
struct ReadResponses {
    /// Status and body length of each complete response.
    whole: Vec<(Option<u16>, u64)>,
    /// Status and body length of the last one, which may be incomplete.
    last: (Option<u16>, u64),
    broken: Option<String>,
    /// Whether the end of the connection completes the last one.
    ends_whole: bool,
}

/// Two bytes (which requests were HEAD, how the bytes are split), then the server's bytes.
pub fn http1(data: &[u8]) {
    let mut script = Script::new(data);
    let heads = script.byte();
    let seed = script.byte();
    let bytes = script.rest();
    let at_once = read(heads, [bytes].into_iter());
    let in_pieces = read(heads, pieces(bytes, seed));
    if at_once == in_pieces {
        return;
    }
    // An incomplete line that is already invalid is noticed when it is examined, which may be later
    // if it arrives in pieces. In neither case is a response found in it.
    let is_open = |read: &ReadResponses| read.last.0.is_none() && !read.ends_whole;
    assert!(
        at_once.whole == in_pieces.whole
            && is_open(&at_once)
            && is_open(&in_pieces)
            && (at_once.broken.is_none() || in_pieces.broken.is_none()),
        "at once {at_once:?}, in pieces {in_pieces:?}"
    );
}

fn read<'a>(heads: u8, pieces: impl Iterator<Item = &'a [u8]>) -> ReadResponses {
    let mut read = ReadResponses::default();
    let mut door = Http1Door::default();
    let is_head = |nth: usize| heads >> (nth % 8) & 1 == 1;
    door.expect(is_head(0));
    'connection: for mut piece in pieces {
        while !piece.is_empty() {
            match door.feed(piece) {
                Err(why) => {
                    read.broken = Some(why);
                    break 'connection;
                }
                Ok(taken) => {
                    assert!(taken == piece.len() || door.is_whole(), "bytes are left");
                    piece = &piece[taken..];
                }
            }
            if door.is_whole() {
                read.whole.push(door.answer());
                if !door.keeps_alive() || read.whole.len() == RESPONSES_MAX {
                    break 'connection;
                }
                door.expect(is_head(read.whole.len()));
            }
        }
    }
    read.last = door.answer();
    read.ends_whole = read.broken.is_none() && door.ended();
    read
}
