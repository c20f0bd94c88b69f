//! WebSockets over streams (RFC 8441): what is sent over them, as far as windows and buffer space
//! allow, and how they end.

use super::Http2Connection;
use crate::body;
use crate::http2::frame::{self, code, kind};
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

    /// Sends bytes over the lane's socket, behind those that wait for the peer. They are dropped if
    /// the peer has ended it, which is about to be told.
    pub(crate) fn send_over_socket(&mut self, lane: u32, bytes: &[u8]) {
        if self.is_under_way(lane)
            && let Some(socket) = self.socket(lane)
        {
            socket.outbox.extend_from_slice(bytes);
            self.send_outbox(lane);
        }
    }

    /// Puts more of what waits for the peer into frames, if there is room.
    pub(super) fn send_outboxes(&mut self) {
        for index in 0..self.active.len() {
            self.send_outbox(self.active[index].1);
        }
    }

    /// Sends as much of what waits as both windows and the room in `out` allow.
    pub(super) fn send_outbox(&mut self, lane: u32) {
        let stream = &mut self.streams[lane as usize];
        let watch = stream.watch.as_mut();
        let Some(socket) = watch.and_then(|watch| watch.socket()) else {
            return;
        };
        while !socket.outbox.is_empty() && self.out.len() < body::WINDOW {
            // Below 0 if settings have shrunk the windows (RFC 9113 §6.9.2).
            let window = usize::try_from(stream.window.min(self.window)).unwrap_or(0);
            let length = socket.outbox.len().min(window).min(self.peer.max_frame);
            if length == 0 {
                return;
            }
            let sent = &socket.outbox[..length];
            let begin = self.out.len();
            frame::put(&mut self.out, kind::DATA, 0, stream.id, sent);
            socket.outbox.drain(..length);
            let is_all = socket.outbox.is_empty();
            socket.last_frame = is_all.then_some(begin..self.out.len());
            self.budget.earn();
            stream.window -= length as i64;
            self.window -= length as i64;
        }
    }

    /// Ends the lane's socket. The frame that was put last ends the stream if it `is_last`, and
    /// otherwise a reset does, as browsers do once both sides have closed: some servers have
    /// forgotten the stream by then, and take no more data on it. Nothing that has come over it is
    /// told any more.
    pub(crate) fn end_socket(&mut self, lane: u32, is_last: bool) {
        let id = self.streams[lane as usize].id;
        let frame = self.socket(lane).and_then(|it| it.last_frame.clone());
        if self.end(id).is_some() {
            let frame = frame.filter(|frame| is_last && frame.end == self.out.len());
            let is_ended = frame.is_some_and(|at| frame::end_stream(&mut self.out[at], id));
            if !is_ended {
                frame::put_number(&mut self.out, kind::RST_STREAM, id, code::CANCEL);
            }
        }
        self.progressed.retain(|progressed| *progressed != lane);
        self.events.drain(..std::mem::take(&mut self.polled));
        self.events.retain(|event| event.lane() != Some(lane));
    }

    /// Whether the lane's latest stream is a socket.
    pub(super) fn is_socket(&self, lane: u32) -> bool {
        let watch = self.streams[lane as usize].watch.as_ref();
        watch.is_some_and(|watch| watch.has_socket())
    }

    fn socket(&mut self, lane: u32) -> Option<&mut SocketSession> {
        self.answer_watch(lane)?.socket()
    }
}
