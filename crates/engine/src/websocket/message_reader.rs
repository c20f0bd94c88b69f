//! Reads the frames of a server, and puts fragments of messages together (RFC 6455 §5).

use super::opcode;
use measure::WebSocketFault;

/// Longest message that is read.
const MAX_MESSAGE: usize = 16 << 20;
const MAX_CONTROL: u64 = 125;
/// Room that a socket keeps between messages.
const KEPT_BYTES: usize = 1024;
const LONGEST_HEAD: usize = 10;

const FIN: u8 = 0x80;
const RESERVED: u8 = 0x70;
const MASKED: u8 = 0x80;

/// What has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeerFrame<'a> {
    /// A text or binary message.
    Message(&'a [u8]),
    Ping(&'a [u8]),
    Pong(&'a [u8]),
    /// The server closes, with a code if it gave one.
    Close(Option<u16>),
}

/// The reader of one socket, fed with bytes as they come.
#[derive(Debug, Default)]
pub(crate) struct MessageReader {
    /// The head of the frame under way, and how much of it there is.
    head: [u8; LONGEST_HEAD],
    head_bytes: usize,
    frame: Option<OpenFrame>,
    /// What has come of the message under way, and whether that is text.
    message: Vec<u8>,
    is_text: Option<bool>,
    control: Vec<u8>,
    /// The server has closed; what follows is ignored.
    is_closed: bool,
}

/// A frame whose head has come.
#[derive(Debug, Clone, Copy)]
struct OpenFrame {
    opcode: u8,
    is_final: bool,
    left: u64,
}

impl OpenFrame {
    fn is_control(self) -> bool {
        self.opcode >= opcode::CLOSE
    }
}

impl MessageReader {
    /// Takes bytes, and tells `sink` of each message and control frame that they complete.
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        sink: &mut impl FnMut(PeerFrame<'_>),
    ) -> Result<(), WebSocketFault> {
        while !bytes.is_empty() && !self.is_closed {
            let frame = match self.frame {
                Some(frame) => frame,
                None => match self.take_head(&mut bytes)? {
                    Some(frame) => frame,
                    None => break,
                },
            };
            let taken = frame.left.min(bytes.len() as u64);
            let (payload, rest) = bytes.split_at(taken as usize);
            bytes = rest;
            let left = frame.left - taken;
            self.frame = (left > 0).then_some(OpenFrame { left, ..frame });
            match frame.is_control() {
                true => self.take_control(frame.opcode, payload, left == 0, sink)?,
                false => self.take_data(payload, frame.is_final && left == 0, sink)?,
            }
        }
        Ok(())
    }

    /// Takes bytes of a head off `bytes`; `None` if it is not complete.
    fn take_head(&mut self, bytes: &mut &[u8]) -> Result<Option<OpenFrame>, WebSocketFault> {
        loop {
            let wanted = match (self.head_bytes, self.head[1]) {
                (0 | 1, _) => 2,
                (_, 126) => 4,
                (_, 127) => LONGEST_HEAD,
                _ => 2,
            };
            if self.head_bytes == wanted {
                break;
            }
            let taken = (wanted - self.head_bytes).min(bytes.len());
            let (head, rest) = bytes.split_at(taken);
            self.head[self.head_bytes..self.head_bytes + taken].copy_from_slice(head);
            self.head_bytes += taken;
            *bytes = rest;
            if self.head_bytes >= 2 {
                self.judge_head()?;
            }
            if self.head_bytes < wanted {
                return Ok(None);
            }
        }
        let frame = self.open_frame()?;
        self.head_bytes = 0;
        // An empty payload has no byte to come with.
        self.frame = Some(frame);
        Ok(Some(frame))
    }

    /// Refuses what is wrong in the first two bytes of a head.
    fn judge_head(&self) -> Result<(), WebSocketFault> {
        let [first, second, ..] = self.head;
        let (code, is_final) = (first & 0x0f, first & FIN != 0);
        let is_known = code <= opcode::BINARY || (opcode::CLOSE..=opcode::PONG).contains(&code);
        if first & RESERVED != 0 || second & MASKED != 0 || !is_known {
            return Err(WebSocketFault::BadFrame);
        }
        let is_control = code >= opcode::CLOSE;
        if is_control && (!is_final || u64::from(second) > MAX_CONTROL) {
            return Err(WebSocketFault::BadControl);
        }
        let continues = code == opcode::CONTINUATION;
        if !is_control && continues != self.is_text.is_some() {
            return Err(WebSocketFault::BadFragment);
        }
        Ok(())
    }

    fn open_frame(&mut self) -> Result<OpenFrame, WebSocketFault> {
        let head = &self.head;
        let (left, least) = match head[1] {
            126 => (u64::from(u16::from_be_bytes([head[2], head[3]])), 126),
            127 => {
                let [_, _, length @ ..] = *head;
                (u64::from_be_bytes(length), 0x1_0000)
            }
            short => (u64::from(short), 0),
        };
        // The shortest form it is, and the highest bit is 0 (RFC 6455 §5.2).
        if left < least || left > i64::MAX as u64 {
            return Err(WebSocketFault::BadFrame);
        }
        let frame = OpenFrame {
            opcode: head[0] & 0x0f,
            is_final: head[0] & FIN != 0,
            left,
        };
        if !frame.is_control() {
            if left > (MAX_MESSAGE - self.message.len()) as u64 {
                return Err(WebSocketFault::MessageTooLarge);
            }
            if frame.opcode != opcode::CONTINUATION {
                self.is_text = Some(frame.opcode == opcode::TEXT);
            }
        }
        Ok(frame)
    }

    fn take_data(
        &mut self,
        payload: &[u8],
        is_whole: bool,
        sink: &mut impl FnMut(PeerFrame<'_>),
    ) -> Result<(), WebSocketFault> {
        if !is_whole {
            self.message.extend_from_slice(payload);
            return Ok(());
        }
        let is_text = self.is_text.take() == Some(true);
        let judge = |message: &[u8]| match is_text && std::str::from_utf8(message).is_err() {
            true => Err(WebSocketFault::NotUtf8),
            false => Ok(()),
        };
        // A message that came with one read is not copied.
        if self.message.is_empty() {
            judge(payload)?;
            sink(PeerFrame::Message(payload));
            return Ok(());
        }
        self.message.extend_from_slice(payload);
        judge(&self.message)?;
        sink(PeerFrame::Message(&self.message));
        self.message.clear();
        self.message.shrink_to(KEPT_BYTES);
        Ok(())
    }

    fn take_control(
        &mut self,
        code: u8,
        payload: &[u8],
        is_whole: bool,
        sink: &mut impl FnMut(PeerFrame<'_>),
    ) -> Result<(), WebSocketFault> {
        self.control.extend_from_slice(payload);
        if !is_whole {
            return Ok(());
        }
        match code {
            opcode::CLOSE => {
                let code = close_code(&self.control)?;
                self.is_closed = true;
                sink(PeerFrame::Close(code));
            }
            opcode::PING => sink(PeerFrame::Ping(&self.control)),
            _ => sink(PeerFrame::Pong(&self.control)),
        }
        self.control.clear();
        Ok(())
    }
}

/// The code of a close frame (RFC 6455 §5.5.1, §7.4).
fn close_code(payload: &[u8]) -> Result<Option<u16>, WebSocketFault> {
    let [high, low, reason @ ..] = payload else {
        return match payload {
            [] => Ok(None),
            _ => Err(WebSocketFault::BadControl),
        };
    };
    let code = u16::from_be_bytes([*high, *low]);
    let is_allowed = matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999);
    if !is_allowed || std::str::from_utf8(reason).is_err() {
        return Err(WebSocketFault::BadControl);
    }
    Ok(Some(code))
}

#[cfg(test)]
mod tests;
