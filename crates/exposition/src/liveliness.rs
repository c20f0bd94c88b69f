//! When the viewer at the other end of a connection last sent or received something.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// When a viewer last showed a sign of life.
#[derive(Debug)]
pub(crate) struct Liveliness {
    /// Instants count from here.
    since: Instant,
    moved_at_ns: AtomicU64,
    /// Answers that are being made; meanwhile it is not the viewer that is waited for.
    answers: AtomicU32,
}

/// Marks an answer as being made, for as long as this lives.
pub(crate) struct Answering(Arc<Liveliness>);

impl Liveliness {
    pub(crate) fn new() -> Arc<Liveliness> {
        Arc::new(Liveliness {
            since: Instant::now(),
            moved_at_ns: AtomicU64::new(0),
            answers: AtomicU32::new(0),
        })
    }

    pub(crate) fn answering(self: &Arc<Liveliness>) -> Answering {
        self.answers.fetch_add(1, Ordering::Relaxed);
        Answering(Arc::clone(self))
    }

    fn moved(&self) {
        let now = u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.moved_at_ns.store(now, Ordering::Relaxed);
    }

    /// `None` while an answer is being made for the viewer.
    pub(crate) fn silent_since(&self) -> Option<Instant> {
        let moved_at = Duration::from_nanos(self.moved_at_ns.load(Ordering::Relaxed));
        (self.answers.load(Ordering::Relaxed) == 0).then(|| self.since + moved_at)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.moved();
        self.0.answers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A stream that notes when bytes move.
pub(crate) struct NotedStream {
    stream: TcpStream,
    liveliness: Arc<Liveliness>,
}

impl NotedStream {
    pub(crate) fn new(stream: TcpStream, liveliness: Arc<Liveliness>) -> NotedStream {
        NotedStream { stream, liveliness }
    }
}

impl AsyncRead for NotedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_ready() {
            self.liveliness.moved();
        }
        read
    }
}

impl AsyncWrite for NotedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if written.is_ready() {
            self.liveliness.moved();
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
