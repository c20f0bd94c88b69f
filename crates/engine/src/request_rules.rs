//! What HTTP asks of a request, whatever its version.

use plan::Plan;

/// Whether a request of this method anticipates a body.
pub(crate) fn takes_body(method: &str) -> bool {
    matches!(method, "POST" | "PUT" | "PATCH")
}

/// The URL's host and port, as requests name it.
pub(crate) fn authority(plan: &Plan) -> String {
    plan.target().url.authority()
}
