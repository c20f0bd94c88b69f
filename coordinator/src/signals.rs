//! Ctrl-C and SIGTERM as events. What the first and the second one mean is decided by whoever waits
//! for them.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Requests to end, from the keyboard or from another process.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// From now on these signals do not end the process.
    pub(crate) fn install() -> std::io::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next one; may be dropped and called again.
    pub(crate) async fn next(&mut self) {
        let interrupt = self.interrupt.recv();
        let terminate = self.terminate.recv();
        tokio::select! {
            Some(()) = interrupt => {}
            Some(()) = terminate => {}
            else => std::future::pending().await,
        }
    }
}
