//! Reads `[replay]`: the file of a log whose requests are sent, and what of it.

use crate::load::{MAX_RATE, rate};
use crate::read::field::Field;
use crate::read::section::PlanSection;
use crate::replay::{LogFacts, RecordedArrivals, ReplayPace};
use crate::{
    File, HandshakeFacts, Rate, Replay, ReplayConnections, ReplayHandshakes, ReplayStatus, duration,
};
use measure::nanoseconds;
use std::sync::Arc;
use std::time::Duration;
use traffic::LoggedHandshake;

/// Most bytes of a file as it is on the disk: agents take no more of all files together.
const MAX_FILE_BYTES: usize = 1 << 30;
const MAX_TURNS: u32 = 1000;
const SLOWEST: f64 = 0.001;
const FASTEST: f64 = 1000.0;
const MONTH: Duration = Duration::from_secs(30 * 24 * 3600);
/// The longest time of a log that keeps its nanoseconds.
const LONGEST_LOG: Duration = Duration::from_secs(100 * 24 * 3600);
const MAX_COUNTS: usize = 1024;

/// Paths of `[replay]`.
pub(crate) const KEYS: &[&str] = &[
    "replay.file",
    "replay.speed",
    "replay.loop",
    "replay.from",
    "replay.to",
    "replay.status",
    "replay.connections",
    "replay.handshakes",
    "replay.log",
    "replay.log.requests",
    "replay.log.length",
    "replay.log.connections",
    "replay.log.counts",
    "replay.log.handshakes",
    "replay.log.handshakes.full",
    "replay.log.handshakes.resumed",
    "replay.log.handshakes.names",
    "replay.log.handshakes.tls12",
    "replay.log.handshakes.tls13",
];

pub(crate) fn read(section: PlanSection<'_>) -> Option<Replay> {
    if !section.has("file") {
        section.problem(
            "names no file; write file = \"replay.jsonl\", which `coordinator import` makes of a \
             log",
        );
    }
    let file = section.read("file", |field| field.file(MAX_FILE_BYTES));
    let speed = given(&section, "speed", 1.0, speed);
    let turns = given(&section, "loop", 1, |field| field.whole32(1..=MAX_TURNS));
    let from = given(&section, "from", Duration::ZERO, time_of_log);
    let to = given(&section, "to", None, |field| time_of_log(field).map(Some));
    let status = given(&section, "status", ReplayStatus::Recorded, |field| {
        field.choice()
    });
    let connections = given(
        &section,
        "connections",
        ReplayConnections::Pooled,
        |field| field.choice(),
    );
    let handshakes = given(&section, "handshakes", ReplayHandshakes::Planned, |field| {
        field.choice()
    });
    let facts = section.read("log", |field| field.section().and_then(facts));
    let (from, to, connections, handshakes) = (from?, to?, connections?, handshakes?);
    if to.is_some_and(|to| to <= from) {
        section.problem_at("to", "is not after from; write a later time");
        return None;
    }
    let pace = ReplayPace {
        from_ns: nanoseconds(from),
        speed: speed?,
        turns: turns?,
    };
    let mut arrivals = arrivals(&section, file.as_ref()?, (pace, to), facts)?;
    check_length(&section, &arrivals)?;
    if connections == ReplayConnections::Recorded {
        check_connections(&section, &arrivals)?;
        arrivals = arrivals.repeating_connections();
    }
    if handshakes == ReplayHandshakes::Recorded {
        arrivals = repeating_handshakes(&section, arrivals)?;
    }
    section.finish();
    Some(Replay {
        file: file?,
        from,
        to,
        status: status?,
        connections,
        handshakes,
        arrivals: Arc::new(arrivals),
    })
}

/// The value of `key`, or `default`; `None` if it is wrong and was reported.
fn given<'a, T>(
    section: &PlanSection<'a>,
    key: &'static str,
    default: T,
    read: impl FnOnce(Field<'a>) -> Option<T>,
) -> Option<T> {
    if section.has(key) {
        section.read(key, read)
    } else {
        Some(default)
    }
}

fn speed(field: Field<'_>) -> Option<f64> {
    let speed = field.number("one such as 10, for ten times as fast")?;
    if !(SLOWEST..=FASTEST).contains(&speed) {
        field.refuse(format_args!(
            "is out of range; write a number from {SLOWEST} to {FASTEST}, such as 10 for ten times \
             as fast"
        ));
        return None;
    }
    Some(speed)
}

fn time_of_log(field: Field<'_>) -> Option<Duration> {
    field.duration(Duration::ZERO..=LONGEST_LOG)
}

/// What the canonical text says of the log.
fn facts(section: PlanSection<'_>) -> Option<LogFacts> {
    let requests = section.read("requests", |field| field.whole(1..=u64::from(u32::MAX)));
    let length = section.read("length", time_of_log);
    let connections = section.read("connections", |field| field.whole32(0..=u32::MAX));
    let counts = section.read("counts", |field| {
        field.list_of("numbers such as [2, 0, 1]", |count| {
            count.whole(0..=u64::from(u32::MAX))
        })
    });
    let handshakes = section.read("handshakes", |field| {
        field.section().and_then(handshake_facts)
    });
    let facts = LogFacts {
        handshakes,
        requests: requests?,
        length_ns: nanoseconds(length?).max(1),
        connections: connections?,
        counts: counts?,
    };
    let is_whole = facts.counts.iter().sum::<u64>() == facts.requests;
    if !is_whole || facts.counts.len() > MAX_COUNTS {
        section.problem("does not fit together; leave it out, and it is made of the file");
        return None;
    }
    section.finish();
    Some(facts)
}

fn handshake_facts(section: PlanSection<'_>) -> Option<HandshakeFacts> {
    let number = |key| section.read(key, |field| field.whole32(0..=u32::MAX));
    let [full, resumed, names, tls12, tls13] =
        ["full", "resumed", "names", "tls12", "tls13"].map(number);
    section.finish();
    Some(HandshakeFacts {
        full: full?,
        resumed: resumed?,
        names: names?,
        tls12: tls12?,
        tls13: tls13?,
    })
}

fn arrivals(
    section: &PlanSection<'_>,
    file: &File,
    (pace, to): (ReplayPace, Option<Duration>),
    facts: Option<LogFacts>,
) -> Option<RecordedArrivals> {
    if !section.context.is_to_run() {
        if facts.is_none() {
            section.problem(
                "has no log, which a saved plan says of its file; give the run's own plan, or \
                 start it with its file",
            );
        }
        return Some(RecordedArrivals::elsewhere(facts?, pace));
    }
    let log = section.context.replay_log(file);
    let log = log.map_err(|why| section.problem_at("file", format_args!("{:?} {why}", file.name)));
    let arrivals = RecordedArrivals::new(&log.ok()?, to.map(nanoseconds), pace);
    if arrivals.is_none() {
        section.problem(format_args!(
            "has no request of {:?} from {} on; correct from and to, which count from the \
             beginning of the log",
            file.name,
            duration::write(Duration::from_nanos(pace.from_ns))
        ));
    }
    arrivals
}

/// Whether the log has the connections that are to be repeated.
fn check_connections(section: &PlanSection<'_>, arrivals: &RecordedArrivals) -> Option<()> {
    if arrivals.connections() > 0 {
        return Some(());
    }
    section.problem_at(
        "connections",
        "is \"recorded\", and the log does not have them; log them ($connection in nginx, %a and \
         %{remote}p in Apache), or write \"pooled\"",
    );
    None
}

/// The same with the handshakes of the log, if it has them; `None` if not, which was reported.
fn repeating_handshakes(
    section: &PlanSection<'_>,
    arrivals: RecordedArrivals,
) -> Option<RecordedArrivals> {
    if !arrivals.repeats_connections() {
        section.problem_at(
            "handshakes",
            "is \"recorded\", and each handshake belongs to a connection of the log; write \
             connections = \"recorded\" beside it, or \"planned\"",
        );
        return None;
    }
    let is_known = |one: &LoggedHandshake| *one != LoggedHandshake::default();
    let log = arrivals.log();
    if log.entries() > 0 && !log.handshakes().iter().any(is_known) {
        section.problem_at(
            "handshakes",
            "is \"recorded\", and the log does not have them; log them ($ssl_session_reused, \
             $ssl_protocol and $ssl_server_name in nginx), or write \"planned\"",
        );
        return None;
    }
    let repeating = arrivals.repeating_handshakes();
    let refuse = |name: String| {
        section.problem_at(
            "file",
            format_args!(
                "has the server name {name:?}, which is not a DNS name, so no ClientHello can \
                 have it (RFC 6066 §3); remove server_name, or the requests of that connection"
            ),
        );
    };
    repeating.map_err(refuse).ok()
}

/// The mean rate of a replay that can be.
fn check_length(section: &PlanSection<'_>, arrivals: &RecordedArrivals) -> Option<Rate> {
    if Duration::from_nanos(arrivals.span_ns()) > MONTH {
        section.problem("takes longer than 720h; write a higher speed, or fewer turns");
        return None;
    }
    let length = Duration::from_nanos(arrivals.length_ns());
    if length > LONGEST_LOG {
        section.problem(format_args!(
            "is of {} of the log, and at most {} can be replayed; write from and to",
            duration::write(length),
            duration::write(LONGEST_LOG)
        ));
        return None;
    }
    let mean = mean_rate(arrivals);
    if mean.is_none() {
        section.problem(format_args!(
            "comes to more than {MAX_RATE} requests per second; write a lower speed"
        ));
    }
    mean
}

/// The mean rate, if a load can have it.
pub(crate) fn mean_rate(arrivals: &RecordedArrivals) -> Option<Rate> {
    let seconds = arrivals.turn_ns() as f64 / 1e9;
    rate(arrivals.requests() as f64 / seconds).ok()
}
