use super::*;
use proptest::prelude::*;

/// A frame of a server.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        length @ 0..=125 => frame.push(length as u8),
        length @ 126..=0xffff => {
            frame.push(126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend(payload);
    frame
}

/// What a reader tells of `bytes`, which come in pieces of `piece`.
fn read(bytes: &[u8], piece: usize) -> (Vec<String>, Option<WebSocketFault>) {
    let (mut reader, mut told) = (MessageReader::default(), Vec::new());
    for piece in bytes.chunks(piece.max(1)) {
        let fed = reader.feed(piece, &mut |arrival| told.push(format!("{arrival:?}")));
        if let Err(fault) = fed {
            return (told, Some(fault));
        }
    }
    (told, None)
}

fn message(text: &str) -> String {
    format!("{:?}", PeerFrame::Message(text.as_bytes()))
}

#[test]
fn fragments_are_put_together_around_control_frames() {
    let bytes = [
        frame(0x81, b"one"),
        frame(0x01, b"t"),
        frame(0x89, b"ping"),
        frame(0x00, b"w"),
        frame(0x8a, b""),
        frame(0x80, b"o"),
        frame(0x82, &[0xff; 300]),
        frame(0x81, b""),
        frame(0x88, &[3, 232]),
        b"\xff\xff what follows is ignored".to_vec(),
    ];
    let wanted = [
        message("one"),
        format!("{:?}", PeerFrame::Ping(b"ping")),
        format!("{:?}", PeerFrame::Pong(b"")),
        message("two"),
        format!("{:?}", PeerFrame::Message(&[0xff; 300])),
        message(""),
        format!("{:?}", PeerFrame::Close(Some(1000))),
    ];
    let bytes = bytes.concat();
    for piece in [1, 2, 3, 7, 64, bytes.len()] {
        assert_eq!(read(&bytes, piece), (wanted.to_vec(), None), "{piece}");
    }
}

#[test]
fn each_broken_frame_has_its_fault() {
    use WebSocketFault::{BadControl, BadFragment, BadFrame, MessageTooLarge, NotUtf8};
    let huge = [&[0x82, 127][..], &(MAX_MESSAGE as u64 + 1).to_be_bytes()].concat();
    let longest = [&[0x82, 127][..], &u64::MAX.to_be_bytes()].concat();
    let cases: [(Vec<u8>, WebSocketFault); 18] = [
        (vec![0x81, 0x81], BadFrame),
        (frame(0xc1, b""), BadFrame),
        (frame(0xa1, b""), BadFrame),
        (frame(0x91, b""), BadFrame),
        (frame(0x83, b""), BadFrame),
        (frame(0x8b, b""), BadFrame),
        (vec![0x82, 126, 0, 125], BadFrame),
        (vec![0x82, 127, 0, 0, 0, 0, 0, 0, 255, 255], BadFrame),
        (longest, BadFrame),
        (frame(0x09, b""), BadControl),
        (frame(0x89, &[0; 126]), BadControl),
        (frame(0x88, &[3]), BadControl),
        (frame(0x88, &[3, 237]), BadControl), // 1005 is never sent
        (frame(0x88, &[3, 232, 0xff]), BadControl),
        (frame(0x80, b""), BadFragment),
        ([frame(0x01, b"a"), frame(0x81, b"b")].concat(), BadFragment),
        (huge, MessageTooLarge),
        (frame(0x81, &[0xc3, 0x28]), NotUtf8),
    ];
    for (bytes, fault) in cases {
        for piece in [1, bytes.len()] {
            assert_eq!(read(&bytes, piece), (Vec::new(), Some(fault)), "{bytes:x?}");
        }
    }
}

proptest! {
    #[test]
    fn pieces_make_no_difference(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        piece in 1..9usize,
    ) {
        prop_assert_eq!(read(&bytes, piece), read(&bytes, bytes.len()));
    }
}
