//! Frames of a WebSocket server: what is read does not depend on how they are split into reads, and
//! is what another implementation reads.

use crate::script::{Script, pieces};
use engine::fuzzing::{ReadFrame, WebSocketDoor};
use std::io::{self, Cursor, Read, Write};
use tungstenite::error::ProtocolError;
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Error, Message, WebSocket};

/// What became of a server's bytes.
#[derive(Debug, PartialEq, Eq)]
struct ReadFrames {
    frames: Vec<ReadFrame>,
    /// Whether they broke the protocol.
    is_broken: bool,
}

/// A byte (how the frames are split), then the frames.
pub fn websocket(data: &[u8]) {
    let mut script = Script::new(data);
    let seed = script.byte();
    let bytes = script.rest();
    let read = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let mut door = WebSocketDoor::default();
        let is_broken = pieces.map(|piece| door.feed(piece)).any(|fed| fed.is_err());
        let frames = door.into_frames();
        ReadFrames { frames, is_broken }
    };
    let at_once = read(&mut [bytes].into_iter());
    assert_eq!(at_once, read(&mut pieces(bytes, seed)), "in pieces");
    let other = read_by_tungstenite(bytes);
    let common = at_once.frames.len().min(other.frames.len());
    let frames = at_once.frames.iter().map(as_tungstenite_reads);
    assert!(
        frames
            .take(common)
            .eq(other.frames.iter().take(common).cloned()),
        "{at_once:?}"
    );
    match (at_once.is_broken, other.fault) {
        (false, PeerFault::None) => assert_eq!(at_once.frames.len(), other.frames.len()),
        (false, PeerFault::Broken) => panic!("{at_once:?} is broken after {:?}", other.frames),
        // It does not mind everything that is broken, such as a length in a longer form than it
        // needs.
        (true, PeerFault::None) => assert_eq!(common, at_once.frames.len()),
        // It looks at each fragment of a text, not only at the whole of it.
        (_, PeerFault::NoText) | (true, PeerFault::Broken) => {}
    }
}

/// What another implementation makes of a server's bytes.
struct OtherReader {
    frames: Vec<ReadFrame>,
    fault: PeerFault,
}

/// What another implementation finds wrong.
enum PeerFault {
    None,
    /// A text that is no UTF-8, or a fragment of one.
    NoText,
    Broken,
}

fn read_by_tungstenite(bytes: &[u8]) -> OtherReader {
    let mut config = WebSocketConfig::default();
    config.max_message_size = Some(16 << 20);
    config.max_frame_size = Some(16 << 20);
    let peer = Peer(Cursor::new(bytes));
    let mut socket = WebSocket::from_raw_socket(peer, Role::Client, Some(config));
    let mut frames = Vec::new();
    loop {
        frames.push(match socket.read() {
            Ok(Message::Text(text)) => ReadFrame::Message(text.as_bytes().to_vec()),
            Ok(Message::Binary(bytes)) => ReadFrame::Message(bytes.to_vec()),
            Ok(Message::Ping(payload)) => ReadFrame::Ping(payload.to_vec()),
            Ok(Message::Pong(payload)) => ReadFrame::Pong(payload.to_vec()),
            Ok(Message::Close(close)) => {
                let code = close.map(|close| close.code.into());
                frames.push(ReadFrame::Close(code));
                // What follows a close frame is ignored.
                let fault = PeerFault::None;
                return OtherReader { frames, fault };
            }
            Ok(Message::Frame(_)) => continue,
            Err(error) => {
                let fault = fault(&error);
                return OtherReader { frames, fault };
            }
        });
    }
}

/// It has 1002 in place of codes that it does not know, of which 1014 is registered (IANA).
fn as_tungstenite_reads(frame: &ReadFrame) -> ReadFrame {
    match frame {
        ReadFrame::Close(Some(1014)) => ReadFrame::Close(Some(1002)),
        frame => frame.clone(),
    }
}

fn fault(error: &Error) -> PeerFault {
    match error {
        Error::Utf8(_) => PeerFault::NoText,
        // The bytes have ended without a close frame, as those of a test do.
        Error::Io(_) | Error::ConnectionClosed => PeerFault::None,
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => PeerFault::None,
        _ => PeerFault::Broken,
    }
}

/// A server that has sent these bytes, and takes everything.
struct Peer<'a>(Cursor<&'a [u8]>);

impl Read for Peer<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Peer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
