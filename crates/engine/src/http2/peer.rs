//! The peer's settings (RFC 9113 §6.5.2).

use super::frame::{
    DEFAULT_HEADER_TABLE, DEFAULT_MAX_FRAME, DEFAULT_WINDOW, MAX_WINDOW, code, setting,
};

/// The peer's settings.
#[derive(Debug)]
pub(super) struct Peer {
    /// Whether the peer has sent them, so that the connection is settled.
    pub(super) is_known: bool,
    pub(super) max_streams: u32,
    /// The fewest streams that it has allowed so far.
    pub(super) fewest_streams: u32,
    pub(super) window: i64,
    pub(super) max_frame: usize,
    /// Whether it opens sockets (RFC 8441 §3).
    pub(super) opens_sockets: bool,
    header_table: HeaderTable,
}

/// The size of the dynamic table with which the peer reads our header blocks. We use none, but have
/// to say so if the peer's is smaller than the default (RFC 7541 §4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeaderTable {
    /// Large enough that we need not say anything.
    Default,
    /// Smaller than the default: the next block starts with a size update.
    Shrunk,
    /// We have said that the table is empty, which remains true whatever follows.
    Empty,
}

impl Default for Peer {
    /// The settings before the peer has sent any.
    fn default() -> Peer {
        Peer {
            is_known: false,
            max_streams: u32::MAX,
            fewest_streams: u32::MAX,
            window: DEFAULT_WINDOW,
            max_frame: DEFAULT_MAX_FRAME,
            opens_sockets: false,
            header_table: HeaderTable::Default,
        }
    }
}

impl Peer {
    /// Applies one setting. Returns the change of stream windows; errors are codes of RFC 9113 §7.
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
            // From 2^14 to 2^24 − 1 (RFC 9113 §6.5.2).
            setting::MAX_FRAME_SIZE => match value {
                0x4000..=0xff_ffff => self.max_frame = value as usize,
                _ => return Err(code::PROTOCOL_ERROR),
            },
            setting::ENABLE_CONNECT_PROTOCOL => match value {
                0 if !self.opens_sockets => {}
                1 => self.opens_sockets = true,
                _ => return Err(code::PROTOCOL_ERROR),
            },
            _ => {}
        }
        Ok(0)
    }

    /// Whether the next block has to say that our table is empty; this is needed once.
    pub(super) fn wants_size_update(&mut self) -> bool {
        let wants = self.header_table == HeaderTable::Shrunk;
        if wants {
            self.header_table = HeaderTable::Empty;
        }
        wants
    }
}
