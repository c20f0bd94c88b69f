//! WebSockets over streams (RFC 8441): what is sent over them, as far as windows and buffer space
//! allow, and how they end.

use super::Http2Connection;
use crate::body;
use crate::http2::frame::{self, flag, kind};
use crate::websocket::SocketSession;

impl Http2Connection {
    /// Whether the peer opens sockets; it says so with its settings.
    pub(crate) fn opens_sockets(&self) -> bool {
        self.peer.opens_sockets
    }

    /// Whether nothing at all may be sent before the peer has sent its settings.
    pub(crate) fn awaits_settings(&self) -> bool {
        self.has_sockets && !self.peer.is_known
    }

    /// Sends bytes over the lane's socket, behind those that wait for the peer. If they are the
    /// last, they end the stream, unless they have to wait. They are dropped if the peer has ended
    /// it, which the next event says.
    pub(crate) fn send_over_socket(&mut self, lane: u32, bytes: &[u8], are_last: bool) {
        if !self.is_under_way(lane) {
            return;
        }
        let Some(socket) = self.socket(lane) else {
            return;
        };
        socket.outbox.extend_from_slice(bytes);
        if self.send_outbox(lane, are_last) && are_last {
            self.end(self.streams[lane as usize].id);
        }
    }

    /// Puts more of what waits for the peer into frames, if there is room.
    pub(super) fn send_outboxes(&mut self) {
        for index in 0..self.active.len() {
            self.send_outbox(self.active[index].1, false);
        }
    }

    /// Sends as much of what waits as both windows and the room in `out` allow; returns whether
    /// that is all. If it `ends_stream`, the last frame does.
    pub(super) fn send_outbox(&mut self, lane: u32, ends_stream: bool) -> bool {
        let stream = &mut self.streams[lane as usize];
        let watch = stream.watch.as_mut();
        let Some(socket) = watch.and_then(|watch| watch.socket()) else {
            return true;
        };
        while !socket.outbox.is_empty() && self.out.len() < body::WINDOW {
            // Below 0 if settings have shrunk the windows (RFC 9113 §6.9.2).
            let window = usize::try_from(stream.window.min(self.window)).unwrap_or(0);
            let length = socket.outbox.len().min(window).min(self.peer.max_frame);
            if length == 0 {
                break;
            }
            let is_last = ends_stream && length == socket.outbox.len();
            let flags = if is_last { flag::END_STREAM } else { 0 };
            let sent = &socket.outbox[..length];
            frame::put(&mut self.out, kind::DATA, flags, stream.id, sent);
            socket.outbox.drain(..length);
            self.budget.earn();
            stream.window -= length as i64;
            self.window -= length as i64;
        }
        socket.outbox.is_empty()
    }

    /// Ends the lane's socket: unless its stream has ended, by a reset, as in browsers once both
    /// sides have closed. Some servers have forgotten the stream by then, and take no more data on
    /// it. Nothing that has come over it is told any more.
    pub(crate) fn end_socket(&mut self, lane: u32) {
        self.cancel(lane);
        self.progressed.retain(|progressed| *progressed != lane);
        self.events.drain(..std::mem::take(&mut self.polled));
        self.events.retain(|event| event.lane() != Some(lane));
    }

    /// Whether the lane's latest stream asked for a socket, which the peer may have refused.
    pub(super) fn asks_for_socket(&self, lane: u32) -> bool {
        let watch = self.streams[lane as usize].watch.as_ref();
        watch.is_some_and(|watch| watch.wants_socket())
    }

    fn socket(&mut self, lane: u32) -> Option<&mut SocketSession> {
        self.answer_watch(lane)?.socket()
    }
}
