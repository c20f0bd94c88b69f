//! Scripts that several tests use.

use super::{Reply, ScriptedRequest};
use std::time::{Duration, Instant};

/// Answers `per_second` requests per second in order of arrival, as a single server behind an
/// unbounded queue does.
pub fn one_at_a_time(per_second: u32) -> impl FnMut(&ScriptedRequest) -> Reply + Send + 'static {
    let service_time = Duration::from_secs(1) / per_second;
    let mut free_at: Option<Instant> = None;
    move |request| {
        let begin = free_at.map_or(request.asked_at, |free_at| free_at.max(request.asked_at));
        free_at = Some(begin + service_time);
        Reply::At(begin + service_time)
    }
}
