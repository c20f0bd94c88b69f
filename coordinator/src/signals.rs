//! Ctrl-C, SIGTERM and a terminal that goes away (SIGHUP) as events. What the first and the second
//! one mean is decided by whoever waits for them.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Requests to end, from the keyboard or from another process.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// Nothing under `nohup`: what ignores a hangup goes on.
    hangup: Option<Signal>,
}

impl Signals {
    /// From now on these signals do not end the process.
    pub(crate) fn install() -> std::io::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: (!host::ignores_hangup())
                .then(|| signal(SignalKind::hangup()))
                .transpose()?,
        })
    }

    /// Waits for the next one; may be dropped and called again.
    pub(crate) async fn next(&mut self) {
        let interrupt = self.interrupt.recv();
        let terminate = self.terminate.recv();
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => None,
            }
        };
        tokio::select! {
            Some(()) = interrupt => {}
            Some(()) = terminate => {}
            Some(()) = hangup => {}
            else => std::future::pending().await,
        }
    }
}
