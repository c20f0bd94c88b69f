//! The wish that the fleet shall end, as its tasks hear of it.

use tokio::sync::watch;

/// Waits until the fleet shall end, or its handle is gone.
pub(super) async fn quit(quitting: &mut watch::Receiver<bool>) {
    // A handle that was dropped wants the same.
    let _ = quitting.wait_for(|quitting| *quitting).await;
}
