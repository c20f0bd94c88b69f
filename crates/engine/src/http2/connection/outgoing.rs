//! Request bodies as DATA frames, as far as windows and buffer space allow.

use super::Http2Connection;
use crate::body;
use crate::http2::frame::{FrameHead, flag, kind};

impl Http2Connection {
    /// Puts more of the waiting bodies into frames, if there is room.
    pub(crate) fn send_bodies(&mut self) {
        if self.has_sockets {
            self.send_outboxes();
        }
        for index in 0..self.active.len() {
            if self.out.len() >= body::WINDOW {
                return;
            }
            self.send_body(self.active[index].1);
        }
    }

    /// Sends as much of the lane's body as both windows and the room in `out` allow.
    pub(super) fn send_body(&mut self, lane: u32) {
        let stream = &mut self.streams[lane as usize];
        while let Some(upload) = &mut stream.upload
            && self.out.len() < body::WINDOW
        {
            // Below 0 if settings have shrunk the windows (RFC 9113 §6.9.2).
            let window = usize::try_from(stream.window.min(self.window)).unwrap_or(0);
            let length = upload
                .left()
                .min(window)
                .min(self.peer.max_frame)
                .min(body::WINDOW);
            if length == 0 {
                return;
            }
            let is_last = length == upload.left();
            let flags = if is_last { flag::END_STREAM } else { 0 };
            FrameHead {
                length,
                kind: kind::DATA,
                flags,
                stream: stream.id,
            }
            .put(&mut self.out);
            upload.put(length, &mut self.out);
            self.budget.earn();
            stream.window -= length as i64;
            self.window -= length as i64;
            if is_last {
                stream.upload = None;
            }
        }
    }
}
