//! Stays joined until the agent is to end, and reports on standard error what happens.

use crate::hangup::Hangups;
use crate::link::{self, LinkConfig, LinkEnd, Quit};
use crate::news::NewsWriter;
use crate::service_manager;
use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// Signals that can wait for the link, which takes them at once.
const SIGNALS_MAX: usize = 4;

/// Runs the link until it is told to end: by SIGINT or SIGTERM, by a terminal that goes away while
/// no run is held (SIGHUP), or by a coordinator that will never have it.
///
/// # Errors
/// If the coordinator refuses for good.
pub(crate) fn stay(config: LinkConfig, link_end: LinkEnd) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("starting the link")?;
    let mut news = NewsWriter::start(std::io::stderr())?;
    let ended = runtime.block_on(async {
        let quit = quit_on_signal(Hangups::install()?)?;
        service_manager::tell_ready();
        link::run(config, link_end, |told| news.tell(&told), quit)
            .await
            .map_err(anyhow::Error::from)
    });
    service_manager::tell_stopping();
    news.end();
    ended
}

/// Sends a message for each signal that asks for the end: the first ends in an orderly way, the
/// second at once.
fn quit_on_signal(mut hangups: Hangups) -> anyhow::Result<mpsc::Receiver<Quit>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (quit, asked) = mpsc::channel(SIGNALS_MAX);
    // The task ends with the runtime, which ends with the process.
    tokio::spawn(async move {
        loop {
            let why = tokio::select! {
                _ = interrupt.recv() => Quit::Asked,
                _ = terminate.recv() => Quit::Asked,
                () = hangups.next() => Quit::Hangup,
            };
            if quit.send(why).await.is_err() {
                return;
            }
        }
    });
    Ok(asked)
}
