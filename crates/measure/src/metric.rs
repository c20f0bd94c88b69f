//! What is measured in time, and the outcomes it is kept apart by.

use serde::{Deserialize, Serialize};

/// How an operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Outcome {
    /// As the plan expects.
    Ok,
    /// A time-out fired; its times are those that had passed. Headline figures use ok and timed
    /// out.
    TimedOut,
    /// Anything else; only `errors.*` shows it.
    Failed,
    /// An arrival of an open loop that was never sent; its times are what it had waited until it
    /// was given up.
    NotSent,
}

/// A quantity with a histogram, of nanoseconds where nothing else is said. A phase that did not
/// happen is not recorded, never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Metric {
    /// done − intended.
    ResponseTime,
    /// done − begun.
    ServiceTime,
    /// begun − intended; in an open loop, and of users who share connections. The sum of the two
    /// below.
    Lateness,
    /// noticed − intended: due until the loop took notice, the client's own part of the lateness.
    ScheduleDelay,
    /// begun − noticed: waiting for a free connection, of operations that had to.
    ConnectionWait,
    /// Duration of name resolution.
    Dns,
    /// TCP connect, about one round trip.
    Connect,
    /// Duration of a full handshake.
    HandshakeFull,
    /// Full handshake with a HelloRetryRequest.
    HandshakeFullRetried,
    /// Duration of a resumed handshake.
    HandshakeResumed,
    /// Resumed handshake with a HelloRetryRequest.
    HandshakeResumedRetried,
    /// First request byte given to TLS or TCP → last request byte written.
    Send,
    /// sent → first response byte.
    FirstByte,
    /// First response byte → last body byte; of a time-out or failure in between, what had passed.
    Receive,
    /// ab's "connect": dns + connect + handshake, of operations that opened their connection.
    Opening,
    /// ab's "processing": done − handshake's end (or begun, on an open connection); not of
    /// operations that failed before.
    Processing,
    /// Not a time: full handshake over TCP connect of the same connection, in thousandths; without
    /// a HelloRetryRequest.
    HandshakeFullInConnects,
    /// Not a time: resumed handshake over TCP connect, as above.
    HandshakeResumedInConnects,
    /// First event − intended, of answers that are streams of events.
    FirstEvent,
    /// First event − begun.
    FirstEventService,
    /// From one event of an answer to the next; 0 for events that came with one read.
    EventGap,
    /// Answer − due, of messages sent over WebSockets.
    MessageTime,
    /// Pong − sent, of pings sent over WebSockets.
    PingTime,
}

impl Outcome {
    /// All, in the order of reports.
    pub const ALL: [Outcome; 4] = [
        Outcome::Ok,
        Outcome::TimedOut,
        Outcome::Failed,
        Outcome::NotSent,
    ];

    /// Name in results and tags.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::TimedOut => "timed_out",
            Outcome::Failed => "failed",
            Outcome::NotSent => "not_sent",
        }
    }
}

/// Name in plans and results of the four kinds of handshakes together.
pub const HANDSHAKE: &str = "handshake";

/// Name in plans and results of the load loops' lag, whose histogram [`crate::Client`] has.
pub const LOOP_LAG: &str = "loop_lag";

impl Metric {
    /// The four kinds of handshakes.
    pub const HANDSHAKES: [Metric; 4] = [
        Metric::HandshakeFull,
        Metric::HandshakeFullRetried,
        Metric::HandshakeResumed,
        Metric::HandshakeResumedRetried,
    ];

    /// Names of all distributions of times in plans and results, in the order of reports:
    /// [`HANDSHAKE`] and [`LOOP_LAG`] among those of the metrics.
    pub fn time_names() -> impl Iterator<Item = &'static str> {
        let times = Metric::ALL.into_iter().filter(|metric| metric.is_time());
        times.flat_map(|metric| {
            let before = match metric {
                Metric::Dns => Some(LOOP_LAG),
                Metric::HandshakeFull => Some(HANDSHAKE),
                _ => None,
            };
            before.into_iter().chain([metric.name()])
        })
    }

    /// All, in the order of reports.
    pub const ALL: [Metric; 23] = [
        Metric::ResponseTime,
        Metric::ServiceTime,
        Metric::Lateness,
        Metric::ScheduleDelay,
        Metric::ConnectionWait,
        Metric::Dns,
        Metric::Connect,
        Metric::HandshakeFull,
        Metric::HandshakeFullRetried,
        Metric::HandshakeResumed,
        Metric::HandshakeResumedRetried,
        Metric::Send,
        Metric::FirstByte,
        Metric::Receive,
        Metric::Opening,
        Metric::Processing,
        Metric::HandshakeFullInConnects,
        Metric::HandshakeResumedInConnects,
        Metric::FirstEvent,
        Metric::FirstEventService,
        Metric::EventGap,
        Metric::MessageTime,
        Metric::PingTime,
    ];

    /// Whether its values are nanoseconds; otherwise they are thousandths of a ratio.
    #[must_use]
    pub fn is_time(self) -> bool {
        !matches!(
            self,
            Metric::HandshakeFullInConnects | Metric::HandshakeResumedInConnects
        )
    }

    /// Name in plans and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Metric::ResponseTime => "response_time",
            Metric::ServiceTime => "service_time",
            Metric::Lateness => "lateness",
            Metric::ScheduleDelay => "schedule_delay",
            Metric::ConnectionWait => "connection_wait",
            Metric::Dns => "dns",
            Metric::Connect => "connect",
            Metric::HandshakeFull => "handshake_full",
            Metric::HandshakeFullRetried => "handshake_full_retried",
            Metric::HandshakeResumed => "handshake_resumed",
            Metric::HandshakeResumedRetried => "handshake_resumed_retried",
            Metric::Send => "send",
            Metric::FirstByte => "first_byte",
            Metric::Receive => "receive",
            Metric::Opening => "opening",
            Metric::Processing => "processing",
            Metric::HandshakeFullInConnects => "handshake_full_in_connects",
            Metric::HandshakeResumedInConnects => "handshake_resumed_in_connects",
            Metric::FirstEvent => "first_event",
            Metric::FirstEventService => "first_event_service",
            Metric::EventGap => "event_gap",
            Metric::MessageTime => "message_time",
            Metric::PingTime => "ping_time",
        }
    }
}
