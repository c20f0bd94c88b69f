//! HTTP/2 frames as bytes (RFC 9113 §4.1, §6): frame heads, and the frames that a client sends.

/// Sent first on every connection (RFC 9113 §3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Bytes of a frame's head.
pub(super) const HEAD: usize = 9;
/// The size that every endpoint accepts, and the largest that we accept (RFC 9113 §6.5.2).
pub(super) const DEFAULT_MAX_FRAME: usize = 16 * 1024;
/// A peer's window until its settings change it (RFC 9113 §6.9.2).
pub(super) const DEFAULT_WINDOW: i64 = 65_535;
/// The size of a dynamic table until settings change it (RFC 9113 §6.5.2).
pub(super) const DEFAULT_HEADER_TABLE: u32 = 4096;
/// Largest window (RFC 9113 §6.9.1).
pub(super) const MAX_WINDOW: i64 = (1 << 31) - 1;

/// Frame types (RFC 9113 §6).
pub(super) mod kind {
    pub(crate) const DATA: u8 = 0;
    pub(crate) const HEADERS: u8 = 1;
    pub(crate) const RST_STREAM: u8 = 3;
    pub(crate) const SETTINGS: u8 = 4;
    pub(crate) const PUSH_PROMISE: u8 = 5;
    pub(crate) const PING: u8 = 6;
    pub(crate) const GOAWAY: u8 = 7;
    pub(crate) const WINDOW_UPDATE: u8 = 8;
    pub(crate) const CONTINUATION: u8 = 9;
}

/// Flags; their meaning depends on the frame type.
pub(super) mod flag {
    pub(crate) const ACK: u8 = 0x1;
    pub(crate) const END_STREAM: u8 = 0x1;
    pub(crate) const END_HEADERS: u8 = 0x4;
    pub(crate) const PADDED: u8 = 0x8;
    pub(crate) const PRIORITY: u8 = 0x20;
}

/// Settings (RFC 9113 §6.5.2).
pub(super) mod setting {
    pub(crate) const HEADER_TABLE_SIZE: u16 = 1;
    pub(crate) const ENABLE_PUSH: u16 = 2;
    pub(crate) const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;
    pub(crate) const MAX_FRAME_SIZE: u16 = 5;
    /// RFC 8441 §3.
    pub(crate) const ENABLE_CONNECT_PROTOCOL: u16 = 8;
}

/// Error codes that we send or act on (RFC 9113 §7).
pub(crate) mod code {
    pub(crate) const NO_ERROR: u32 = 0;
    pub(crate) const PROTOCOL_ERROR: u32 = 1;
    pub(crate) const FLOW_CONTROL_ERROR: u32 = 3;
    pub(crate) const FRAME_SIZE_ERROR: u32 = 6;
    pub(crate) const REFUSED_STREAM: u32 = 7;
    pub(crate) const CANCEL: u32 = 8;
    pub(crate) const COMPRESSION_ERROR: u32 = 9;
    pub(crate) const ENHANCE_YOUR_CALM: u32 = 11;
}

/// A frame's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHead {
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl FrameHead {
    pub(super) fn parse(bytes: [u8; HEAD]) -> FrameHead {
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = bytes;
        FrameHead {
            length: u32::from_be_bytes([0, l0, l1, l2]) as usize,
            kind,
            flags,
            stream: u32::from_be_bytes([s0 & 0x7f, s1, s2, s3]),
        }
    }

    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Appends the head to `out`; `length` is below 2^24, like that of every frame we make.
    pub(super) fn put(self, out: &mut Vec<u8>) {
        // Nine bytes: 24 bits of length, type, flags, 31 bits of stream.
        let [_, l0, l1, l2] = (self.length as u32).to_be_bytes();
        let [s0, s1, s2, s3] = self.stream.to_be_bytes();
        out.extend_from_slice(&[l0, l1, l2, self.kind, self.flags, s0, s1, s2, s3]);
    }
}

/// Appends a whole frame to `out`.
pub(super) fn put(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let head = FrameHead {
        // Callers stay below the peer's largest frame, so this fits into 24 bits.
        length: payload.len(),
        kind,
        flags,
        stream,
    };
    head.put(out);
    out.extend_from_slice(payload);
}

/// Appends a frame whose payload is one number to `out`: WINDOW_UPDATE, RST_STREAM.
pub(super) fn put_number(out: &mut Vec<u8>, kind: u8, stream: u32, number: u32) {
    put(out, kind, 0, stream, &number.to_be_bytes());
}

/// Appends a GOAWAY without debug data to `out`. Its last stream id is 0, because the server opens
/// no streams.
pub(super) fn put_go_away(out: &mut Vec<u8>, code: u32) {
    let mut payload = [0; 8];
    payload[4..].copy_from_slice(&code.to_be_bytes());
    put(out, kind::GOAWAY, 0, 0, &payload);
}

/// Appends a client's opening to `out`: the preface, its settings, and a connection window as large
/// as those of streams, so that flow control never holds a response back.
pub(super) fn put_preface(out: &mut Vec<u8>) {
    out.extend_from_slice(PREFACE);
    let settings = [
        (setting::ENABLE_PUSH, 0),
        (setting::INITIAL_WINDOW_SIZE, MAX_WINDOW as u32),
    ];
    let mut payload = Vec::with_capacity(settings.len() * 6);
    for (name, value) in settings {
        payload.extend_from_slice(&u16::to_be_bytes(name));
        payload.extend_from_slice(&u32::to_be_bytes(value));
    }
    put(out, kind::SETTINGS, 0, 0, &payload);
    put_number(
        out,
        kind::WINDOW_UPDATE,
        0,
        (MAX_WINDOW - DEFAULT_WINDOW) as u32,
    );
}

/// Appends a header block to `out` as HEADERS and, beyond `most` bytes, CONTINUATION frames.
pub(super) fn put_headers(
    out: &mut Vec<u8>,
    stream: u32,
    block: &[u8],
    ends_stream: bool,
    most: usize,
) {
    let (first, mut rest) = block.split_at(block.len().min(most));
    // HEADERS carries the end of the stream, the last frame the end of the block.
    let mut flags = end_of_block(rest);
    if ends_stream {
        flags |= flag::END_STREAM;
    }
    put(out, kind::HEADERS, flags, stream, first);
    while !rest.is_empty() {
        let (next, after) = rest.split_at(rest.len().min(most));
        put(out, kind::CONTINUATION, end_of_block(after), stream, next);
        rest = after;
    }
}

/// The flag of a frame of a header block that is followed by `rest`.
fn end_of_block(rest: &[u8]) -> u8 {
    if rest.is_empty() {
        flag::END_HEADERS
    } else {
        0
    }
}
