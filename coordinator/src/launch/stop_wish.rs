//! How a job is asked to end while it goes on.

use tokio::sync::mpsc;

/// Room for wishes that are not looked at yet. After the third, nothing is waited for.
const WISHES_MAX: usize = 4;

/// Asks a job to end. Its first wish lets what has begun finish; each further one is more urgent.
#[derive(Debug)]
pub(crate) struct StopHandle(mpsc::Sender<()>);

/// The wishes of a [`StopHandle`].
#[derive(Debug)]
pub(crate) struct StopWishes(mpsc::Receiver<()>);

impl StopHandle {
    /// A handle, and the wishes that it makes.
    pub(crate) fn new() -> (StopHandle, StopWishes) {
        let (handle, wishes) = mpsc::channel(WISHES_MAX);
        (StopHandle(handle), StopWishes(wishes))
    }

    /// Asks for the end, or for a sooner one.
    pub(crate) fn stop(&self) {
        // A job that is over needs no wish, and one that has not looked at four needs no fifth.
        let _ = self.0.try_send(());
    }
}

impl StopWishes {
    /// Waits for the next wish. May be dropped and called again.
    pub(super) async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending().await
        }
    }
}
