//! Bodies in a content coding: what is decoded does not depend on how they are split into reads.

use crate::script::{Script, pieces};
use engine::fuzzing::DecoderDoor;

/// What became of a body.
#[derive(Debug, PartialEq, Eq)]
struct DecodedBody {
    /// Length and hash of what was decoded.
    decoded: (u64, u64),
    /// Whether the body was whole; `None` if more came of it than is read.
    whole: Option<bool>,
}

/// Two bytes (which coding, how the body is split), then the body.
pub fn content(data: &[u8]) {
    let mut script = Script::new(data);
    let (kind, seed) = (script.byte(), script.byte());
    let (coding, is_timed) = match kind % 5 {
        0 => ("gzip", false),
        1 => ("gzip", true),
        2 => ("br", false),
        3 => ("br", true),
        _ => ("zstd", false),
    };
    let body = script.rest();
    let decode = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let door = DecoderDoor::new(coding.as_bytes(), is_timed);
        read(door.expect("a coding that is known"), pieces)
    };
    let at_once = decode(&mut [body].into_iter());
    let in_pieces = decode(&mut pieces(body, seed));
    // How much of a broken body is decoded before the fault is found depends on the pieces.
    let is_broken = |body: &DecodedBody| body.whole == Some(false);
    assert!(
        at_once == in_pieces || (is_broken(&at_once) && is_broken(&in_pieces)),
        "{coding}: at once {at_once:?}, in pieces {in_pieces:?}"
    );
}

fn read(mut door: DecoderDoor, pieces: &mut dyn Iterator<Item = &[u8]>) -> DecodedBody {
    let mut pieces = pieces.filter(|piece| !piece.is_empty());
    let fed = pieces.try_for_each(|piece| door.feed(piece));
    let ended = fed.and_then(|()| door.finish());
    DecodedBody {
        decoded: door.decoded(),
        whole: (!door.is_full()).then_some(ended.is_ok()),
    }
}
