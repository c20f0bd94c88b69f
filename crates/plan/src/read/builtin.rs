//! Reads `target.builtin`.

use crate::read::field::Field;
use crate::read::node::NodeValue;
use crate::read::section::PlanSection;
use crate::read::target_url::url;
use crate::{Builtin, BuiltinKey, BuiltinPace, Url, duration};
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::time::Duration;

const MAX_BODY_BYTES: u64 = 1 << 30;
const DEFAULT_BODY_BYTES: u64 = 1024;
/// Each busy server takes eight bytes.
const MAX_SERVERS: u32 = 1_000_000;
const HOUR: Duration = Duration::from_secs(3600);
/// Bounds of stalls and service times; no clock of the target is exact below a microsecond.
const SPANS: RangeInclusive<Duration> = Duration::from_micros(1)..=HOUR;
const STALL: &str = "{ every = \"10s\", for = \"1s\" }";
const SERVERS: &str = "{ count = 4, service_time = \"10ms\" }";

/// Paths of `target.builtin`, without indices.
pub(crate) const KEYS: &[&str] = &[
    "target.builtin.tls",
    "target.builtin.key",
    "target.builtin.body_bytes",
    "target.builtin.delay",
    "target.builtin.stall",
    "target.builtin.stall.every",
    "target.builtin.stall.for",
    "target.builtin.stall.first",
    "target.builtin.servers",
    "target.builtin.servers.count",
    "target.builtin.servers.service_time",
];

/// Reads the built-in target, and its address once it listens.
pub(crate) fn builtin(field: Field<'_>) -> Option<(Builtin, Option<Url>)> {
    let section = match field.silent_flag() {
        Some(_) => PlanSection::absent(field.context, &field.path),
        None => field.section()?,
    };
    let tls = section.read("tls", |field| field.flag()).unwrap_or(true);
    let key = section.read("key", |field| field.choice());
    let body_bytes = section
        .read("body_bytes", |field| field.whole(0..=MAX_BODY_BYTES))
        .unwrap_or(DEFAULT_BODY_BYTES);
    let delay = section
        .read("delay", |field| field.duration(Duration::ZERO..=HOUR))
        .unwrap_or_default();
    let pace = pace(&section);
    let at = section.read("at", url);
    section.finish();
    Some((
        Builtin {
            tls,
            key: key.unwrap_or(BuiltinKey::P256),
            body_bytes,
            delay,
            pace: pace?,
        },
        at,
    ))
}

/// `None` if the value is wrong and has been reported.
fn pace(section: &PlanSection<'_>) -> Option<BuiltinPace> {
    let stall = section.read("stall", stall);
    let servers = section.read("servers", servers);
    match (section.has("stall"), section.has("servers")) {
        (true, true) => {
            section.problem_at(
                "servers",
                "given beside stall; keep one: servers for a known capacity, stall for known \
                 pauses",
            );
            None
        }
        (true, false) => stall,
        (false, true) => servers,
        (false, false) => Some(BuiltinPace::AtOnce),
    }
}

fn stall(field: Field<'_>) -> Option<BuiltinPace> {
    let section = table(&field, STALL)?;
    let missing = missing(
        &section,
        &[
            ("every", "how far apart stalls begin"),
            ("for", "how long each lasts"),
        ],
        STALL,
    );
    let every = section.read("every", span);
    let lasts = section.read("for", span);
    let first = section.read("first", |field| field.duration(Duration::ZERO..=HOUR));
    let is_first_wrong = section.has("first") && first.is_none();
    let lasting_field = section.field("for");
    section.finish();
    let (every, lasts) = every.zip(lasts).filter(|_| !missing && !is_first_wrong)?;
    if lasts >= every {
        let most = duration::write(every);
        lasting_field?.refuse(format_args!(
            "never lets it answer: stalls begin every \"{most}\"; write less than that"
        ));
        return None;
    }
    Some(BuiltinPace::Stall {
        every,
        lasts,
        first: first.unwrap_or(every),
    })
}

fn servers(field: Field<'_>) -> Option<BuiltinPace> {
    let section = table(&field, SERVERS)?;
    missing(
        &section,
        &[
            ("count", "how many there are"),
            ("service_time", "how long each takes for a request"),
        ],
        SERVERS,
    );
    let count = section
        .read("count", |field| field.whole32(1..=MAX_SERVERS))
        .and_then(NonZeroU32::new);
    let service_time = section.read("service_time", span);
    section.finish();
    count
        .zip(service_time)
        .map(|(count, service_time)| BuiltinPace::Servers {
            count,
            service_time,
        })
}

fn table<'a>(field: &Field<'a>, example: &str) -> Option<PlanSection<'a>> {
    if let NodeValue::Table(_) = field.node.value {
        return field.section();
    }
    field.wrong_type("a table", example);
    None
}

/// Reports each of the missing `keys`, which come with a description. Returns whether any is
/// missing.
fn missing(section: &PlanSection<'_>, keys: &[(&str, &str)], example: &str) -> bool {
    let mut is_one_absent = false;
    // All of them are reported, so that the user sees everything that is wrong at once.
    for (key, what) in keys.iter().filter(|(key, _)| !section.has(key)) {
        section.problem_at(key, format_args!("missing; say {what}, such as {example}"));
        is_one_absent = true;
    }
    is_one_absent
}

fn span(field: Field<'_>) -> Option<Duration> {
    field.duration(SPANS)
}
