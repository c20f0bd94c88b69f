//! What HTTP asks of a request, whatever its version.

use plan::{Plan, Request, Url};

/// Whether a request of this method anticipates a body.
pub(crate) fn takes_body(method: &str) -> bool {
    matches!(method, "POST" | "PUT" | "PATCH")
}

/// The URL's host and port, as requests name it.
pub(crate) fn authority(plan: &Plan) -> String {
    plan.target().url.authority()
}

/// A request as it is sent to each of the target's destinations that redirects may lead to.
pub(crate) fn at_destinations<'p>(
    plan: &'p Plan,
    request: &'p Request,
) -> impl Iterator<Item = (&'p Url, Request)> {
    let target = plan.target();
    let others = target.redirects_to.iter();
    let others = others.map(|origin| (&origin.url, request.to_origin(&origin.url)));
    std::iter::once((&target.url, request.clone())).chain(others)
}
