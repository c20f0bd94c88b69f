//! The client's side of HTTP/2 with frames and arbitrary bytes: what happens does not depend on how
//! the bytes are split into reads.

use crate::script::{Script, pieces};
use engine::fuzzing::Http2Door;

const LANES: u8 = 4;
/// The bit of the first byte that lets requests open sockets.
const SOCKETS: u8 = 0x80;

/// No peer can make a client send more, since pending answers and bodies are bounded.
const SENT_MAX_BYTES: usize = 4 << 20;

/// A byte for how the bytes are split, and whether there may be sockets; then steps: open a stream
/// or a socket, cancel one, send, receive bytes.
pub fn http2(data: &[u8]) {
    let seed = Script::new(data).byte();
    let at_once = connection(data, |bytes| vec![bytes]);
    let in_pieces = connection(data, |bytes| pieces(bytes, seed).collect());
    assert_eq!(at_once.0, in_pieces.0, "the pieces matter");
    let differs = at_once
        .1
        .iter()
        .zip(&in_pieces.1)
        .position(|(one, other)| one != other);
    assert!(
        at_once.1 == in_pieces.1,
        "the pieces matter for what is said: {} bytes, {} in pieces, from {differs:?} on: {}",
        at_once.1.len(),
        in_pieces.1.len(),
        at_once.0
    );
}

/// What happened, and what was sent.
fn connection(data: &[u8], cut: impl Fn(&[u8]) -> Vec<&[u8]>) -> (String, Vec<u8>) {
    let mut script = Script::new(data);
    let mut door = match script.byte() & SOCKETS {
        0 => Http2Door::new(LANES.into()),
        _ => Http2Door::with_sockets(LANES.into()),
    };
    let mut broken = String::new();
    while !script.is_over() && broken.is_empty() {
        let step = script.byte();
        let lane = u32::from(step >> 4) % u32::from(LANES);
        match step & 0xf {
            0 => door.open(lane, 0, false),
            1 => door.open(lane, 0, true),
            2 => door.open(lane, usize::from(script.short()), false),
            3 => door.cancel(lane),
            4 => door.send(),
            9 => door.open_socket(lane),
            10 => door.send_over_socket(lane, usize::from(script.short())),
            11 => door.end_socket(lane, true),
            12 => door.end_socket(lane, false),
            _ => {
                let fed = cut(script.bytes())
                    .into_iter()
                    .try_for_each(|piece| door.feed(piece));
                broken = fed.err().unwrap_or_default();
            }
        }
        let (counted, told) = door.active();
        assert!(
            counted == told || !broken.is_empty(),
            "{counted} streams, told of {told}"
        );
    }
    door.send();
    assert!(
        door.sent().len() <= SENT_MAX_BYTES,
        "{} bytes",
        door.sent().len()
    );
    (format!("{}{broken}", door.log()), door.sent().to_vec())
}
