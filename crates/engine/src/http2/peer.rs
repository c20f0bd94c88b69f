//! What the peer's settings say (RFC 9113 §6.5.2).

use super::frame::{
    DEFAULT_HEADER_TABLE, DEFAULT_MAX_FRAME, DEFAULT_WINDOW, MAX_WINDOW, code, setting,
};

/// What the peer's settings say.
#[derive(Debug)]
pub(super) struct Peer {
    /// Known, and so settled.
    pub(super) is_known: bool,
    pub(super) max_streams: u32,
    /// The fewest streams that it has allowed so far.
    pub(super) fewest_streams: u32,
    pub(super) window: i64,
    pub(super) max_frame: usize,
    header_table: HeaderTable,
}

/// How large a dynamic table the peer reads our header blocks with. We use none, but it wants to
/// hear so where it has less than the default (RFC 7541 §4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeaderTable {
    /// As large as it need not be told.
    Default,
    /// It is smaller: the next block begins with a size update.
    Shrunk,
    /// It has been told that the table is empty, which holds whatever comes.
    Empty,
}

impl Default for Peer {
    /// Before the peer has said anything.
    fn default() -> Peer {
        Peer {
            is_known: false,
            max_streams: u32::MAX,
            fewest_streams: u32::MAX,
            window: DEFAULT_WINDOW,
            max_frame: DEFAULT_MAX_FRAME,
            header_table: HeaderTable::Default,
        }
    }
}

impl Peer {
    /// Takes one setting; by how much windows of streams change. An error is a code of RFC 9113 §7.
    pub(super) fn set(&mut self, name: u16, value: u32) -> Result<i64, u32> {
        match name {
            setting::HEADER_TABLE_SIZE
                if value < DEFAULT_HEADER_TABLE && self.header_table == HeaderTable::Default =>
            {
                self.header_table = HeaderTable::Shrunk;
            }
            setting::MAX_CONCURRENT_STREAMS => self.max_streams = value,
            setting::INITIAL_WINDOW_SIZE => {
                let window = i64::from(value);
                if window > MAX_WINDOW {
                    return Err(code::FLOW_CONTROL_ERROR);
                }
                return Ok(window - std::mem::replace(&mut self.window, window));
            }
            setting::MAX_FRAME_SIZE => match value {
                0x4000..=0xff_ffff => self.max_frame = value as usize,
                _ => return Err(code::PROTOCOL_ERROR),
            },
            _ => {}
        }
        Ok(0)
    }

    /// Whether the next block is to say that our table is empty; once it has, that holds.
    pub(super) fn wants_size_update(&mut self) -> bool {
        let wants = self.header_table == HeaderTable::Shrunk;
        if wants {
            self.header_table = HeaderTable::Empty;
        }
        wants
    }
}
