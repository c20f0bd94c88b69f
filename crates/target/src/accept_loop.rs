//! Accepts connections of one listener until told to stop.

use crate::alarm::Alarm;
use crate::connection::serve;
use crate::service::Service;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// Wait after a failed accept, which is nearly always out of file descriptors and would fail again
/// at once.
const ACCEPT_BACK_OFF: Duration = Duration::from_millis(10);

/// Accepts until `stop` is done, then closes what is open.
pub(crate) async fn accept(
    listener: tokio::net::TcpListener,
    alarm: Alarm,
    shared: Arc<Service>,
    stop: impl Future<Output = ()>,
) {
    let mut open = JoinSet::new();
    let alarm = Arc::new(alarm);
    open.spawn(ring(alarm.clone()));
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            Some(ended) = open.join_next() => propagate(ended),
            accepted = listener.accept() => match accepted {
                Ok((tcp, _)) => _ = open.spawn(serve(tcp, shared.clone(), alarm.clone())),
                Err(_) => tokio::time::sleep(ACCEPT_BACK_OFF).await,
            },
        }
    }
    open.shutdown().await;
}

async fn ring(alarm: Arc<Alarm>) {
    alarm.ring().await;
}

/// A panic in a connection is the target's own fault, and must not be taken for the client's.
fn propagate(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}
