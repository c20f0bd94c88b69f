//! A terminal that goes away (SIGHUP), for an agent that is meant to outlive it.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Hangups that concern the agent: none under `nohup`.
pub(crate) struct Hangups(Option<Signal>);

impl Hangups {
    pub(crate) fn install() -> std::io::Result<Hangups> {
        let wanted = (!host::ignores_hangup()).then(|| signal(SignalKind::hangup()));
        Ok(Hangups(wanted.transpose()?))
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        if let Some(signal) = &mut self.0
            && signal.recv().await.is_some()
        {
            return;
        }
        std::future::pending().await
    }
}
