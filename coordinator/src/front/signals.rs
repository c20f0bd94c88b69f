//! Ctrl-C, SIGTERM and a terminal that goes away (SIGHUP) as wishes that a job ends.

use crate::launch::StopHandle;
use std::convert::Infallible;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Requests to end, from the keyboard or from another process.
#[derive(Debug)]
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// `None` under `nohup`: a process that ignores hangups goes on.
    hangup: Option<Signal>,
}

impl Signals {
    /// Keeps these signals from ending the process from now on.
    pub(super) fn install() -> std::io::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: (!host::ignores_hangup())
                .then(|| signal(SignalKind::hangup()))
                .transpose()?,
        })
    }

    /// Makes a wish of each signal.
    pub(super) async fn pass_on(mut self, stop: &StopHandle) -> Infallible {
        loop {
            self.next().await;
            stop.stop();
        }
    }

    async fn next(&mut self) {
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
