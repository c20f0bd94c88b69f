//! When a server answers, if not at once: ways to be slow that a measurement can be checked
//! against.

use std::num::NonZeroU32;
use std::time::Duration;

/// When requests are answered. Each [`TargetAnswer`](crate::TargetAnswer) has its own: it counts
/// the requests that it gets itself, over all connections and threads of the target. A
/// [`Timetable`](crate::Timetable) computes what it comes to, instant by instant. It is kept to
/// within tens of microseconds while the target's threads have a CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pace {
    /// Each when it comes.
    #[default]
    AtOnce,
    /// At once, except that from time to time nothing is answered for a while; what comes in a
    /// stall is answered at its end.
    Stall {
        /// From the beginning of a stall to the beginning of the next; more than `lasts`.
        every: Duration,
        /// How long each stall lasts.
        lasts: Duration,
        /// When the first begins, counted from [`Config::paced_from`](crate::Config::paced_from),
        /// or else from the first request.
        first: Duration,
    },
    /// By `count` servers, each of which takes `service_time` for a request, in the order in which
    /// requests come. The capacity is exactly `count / service_time`: delays of the machine do not
    /// add up, since a server is free when its time is over, and not when the answer has been
    /// written. A request whose client has gone is served all the same.
    Servers {
        /// Requests served at a time.
        count: NonZeroU32,
        /// Time for each.
        service_time: Duration,
    },
}
