//! WebSockets (RFC 6455) without I/O: the opening handshake, messages of the server, messages of
//! ours, and what one socket waits for. Knows no connection and no worker.

mod frame_writer;
mod handshake;
mod message_reader;
mod session;
mod texts;

pub(crate) use frame_writer::{FrameMask, put_close, put_frame};
pub(crate) use handshake::{KEY_LENGTH, SocketOpening, put_key};
#[cfg(feature = "fuzzing")]
pub(crate) use message_reader::{MessageReader, PeerFrame};
pub(crate) use session::{STALL_NS, SocketNews, SocketSession, SocketStep};
pub(crate) use texts::SocketTexts;

/// The opcodes of frames (RFC 6455 §11.8).
mod opcode {
    pub(super) const CONTINUATION: u8 = 0;
    pub(super) const TEXT: u8 = 1;
    pub(super) const BINARY: u8 = 2;
    pub(super) const CLOSE: u8 = 8;
    pub(super) const PING: u8 = 9;
    pub(super) const PONG: u8 = 10;
}

/// What a frame of ours carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameKind {
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

impl FrameKind {
    fn opcode(self) -> u8 {
        match self {
            FrameKind::Text => opcode::TEXT,
            FrameKind::Binary => opcode::BINARY,
            FrameKind::Close => opcode::CLOSE,
            FrameKind::Ping => opcode::PING,
            FrameKind::Pong => opcode::PONG,
        }
    }
}

/// The socket has done what the plan asks for (RFC 6455 §7.4.1).
pub(crate) const NORMAL: u16 = 1000;
/// Stands for a close frame without a code.
pub(crate) const NO_CODE: u16 = 1005;
/// The client goes away, because its run ends.
pub(crate) const GOING_AWAY: u16 = 1001;
