//! How the fleet's tasks learn that the fleet is to end.

use tokio::sync::watch;

/// Waits until the fleet is to end, or its handle is gone.
pub(super) async fn quit(quitting: &mut watch::Receiver<bool>) {
    // A handle that was dropped means the same.
    let _ = quitting.wait_for(|quitting| *quitting).await;
}
