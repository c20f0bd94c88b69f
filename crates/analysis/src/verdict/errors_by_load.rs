//! Decides whether the server turns operations away as the load rises: none in seconds with less
//! load, many in those with more.

use super::counted_seconds::measured;
use super::{BoundNumber, RuleBound, RuleId, RuleReading};
use crate::{Document, LoadRecord, Row, human};
use measure::{Failure, Kind};

/// Share of what ended in a second from which the second turns operations away.
const SHARE_MIN: f64 = 0.01;

/// Least number of seconds of either kind.
const SECONDS_MIN: usize = 2;

/// The load of seconds that turn away is this many times that of those that do not,
const LOAD_MIN: f64 = 1.2;

/// and is the higher one in this share of all pairs.
const APART_MIN: f64 = 0.95;

/// They carry no less than the others, by this factor: a server that is broken carries less.
const CARRIED_MIN: f64 = 0.9;

/// If their loads differ by this factor, they carry about the same, and more is turned away. A
/// server that fails by itself turns away a share of any load.
const LOADS_APART: f64 = 1.3;

/// The factor up to which two throughputs are about the same.
const RISE_MAX: f64 = 1.15;

const BOUND: RuleBound = RuleBound::new(
    "none with less load, {} and more with {} as much, which carries no less",
    &[BoundNumber::Share(SHARE_MIN), BoundNumber::Times(LOAD_MIN)],
);

pub(super) fn reading(document: &Document) -> RuleReading {
    let is_open = matches!(document.plan.load, LoadRecord::Open { .. });
    let seconds: Vec<AnsweredSecond> = measured(document)
        .filter(|row| row.ended > 0)
        .map(|row| AnsweredSecond::new(row, is_open))
        .collect();
    let (mut refusing, calm): (Vec<AnsweredSecond>, Vec<AnsweredSecond>) = seconds
        .into_iter()
        .partition(|second| second.refused > SHARE_MIN);
    let unknown = RuleReading::unknown(RuleId::ErrorsByLoad, BOUND);
    if refusing.is_empty() {
        let figure = "the server turned nothing away".to_owned();
        return RuleReading { figure, ..unknown };
    }
    if refusing.len() < SECONDS_MIN || calm.len() < SECONDS_MIN {
        return unknown;
    }
    refusing.sort_by(|a, b| a.load.total_cmp(&b.load));
    let load = mean(&refusing, |second| second.load) / mean(&calm, |second| second.load);
    let is_shown = load >= LOAD_MIN
        && part_above(&refusing, &calm) >= APART_MIN
        && carries_no_less(&refusing, &calm)
        && is_flat(&refusing);
    let figure = in_words(&refusing, &calm, is_open);
    RuleReading {
        says: is_shown.then(|| format!("{figure} (bound: {BOUND})")),
        figure,
        distance: Some(if is_shown { load / LOAD_MIN } else { 0.0 }),
        ..unknown
    }
}

/// The load of a second, and its outcome.
struct AnsweredSecond {
    /// Operations begun per second, or under way in a closed loop.
    load: f64,
    ok_per_second: f64,
    /// Share of what ended that the server turned away.
    refused: f64,
}

impl AnsweredSecond {
    fn new(row: &Row, is_open: bool) -> AnsweredSecond {
        let seconds = f64::from(row.seconds.max(1));
        let kinds = row.errors_by_kind.iter();
        let refused = kinds.filter(|(name, _)| is_refusal(name));
        let refused: u64 = refused.map(|(_, count)| count).sum();
        AnsweredSecond {
            load: if is_open {
                row.started as f64 / seconds
            } else {
                row.in_service
            },
            ok_per_second: row.ok() as f64 / seconds,
            refused: refused as f64 / row.ended as f64,
        }
    }
}

/// Returns whether the failure is the server's doing: it cannot take more, or will not.
fn is_refusal(name: &str) -> bool {
    // HTTP/2 error codes, RFC 9113 §7.
    const REFUSED_STREAM: u32 = 7;
    const ENHANCE_YOUR_CALM: u32 = 11;
    let failure: Option<Failure> = name.parse().ok();
    failure.is_some_and(|failure| {
        matches!(
            failure.kind,
            Kind::Status(429 | 500..=599)
                | Kind::Refused
                | Kind::Reset
                | Kind::Eof
                | Kind::StreamReset(REFUSED_STREAM | ENHANCE_YOUR_CALM)
                | Kind::GoAway(ENHANCE_YOUR_CALM)
        )
    })
}

fn mean(seconds: &[AnsweredSecond], of: fn(&AnsweredSecond) -> f64) -> f64 {
    seconds.iter().map(of).sum::<f64>() / seconds.len() as f64
}

/// Returns the share of pairs, of a second that turns away and one that does not, in which the
/// former has the higher load.
fn part_above(refusing: &[AnsweredSecond], calm: &[AnsweredSecond]) -> f64 {
    let pairs = refusing
        .iter()
        .flat_map(|one| calm.iter().map(move |other| (one, other)));
    let above = pairs.filter(|(one, other)| one.load > other.load).count();
    above as f64 / (refusing.len() * calm.len()) as f64
}

fn carries_no_less(refusing: &[AnsweredSecond], calm: &[AnsweredSecond]) -> bool {
    let most = calm
        .iter()
        .map(|second| second.ok_per_second)
        .fold(0.0, f64::max);
    mean(refusing, |second| second.ok_per_second) >= CARRIED_MIN * most
}

/// Returns whether seconds that turn away carry about the same under lower and under higher load.
fn is_flat(refusing: &[AnsweredSecond]) -> bool {
    let (lower, higher) = refusing.split_at(refusing.len() / 2);
    let times = |of: fn(&AnsweredSecond) -> f64| mean(higher, of) / mean(lower, of);
    times(|second| second.load) < LOADS_APART || times(|second| second.ok_per_second) <= RISE_MAX
}

fn in_words(refusing: &[AnsweredSecond], calm: &[AnsweredSecond], is_open: bool) -> String {
    let of = if is_open {
        "operations a second"
    } else {
        "operations under way"
    };
    format!(
        "the server turned away {} with {} {of}, and next to nothing with {}, while it answered \
         {}/s",
        human::share(mean(refusing, |second| second.refused)),
        human::number(mean(refusing, |second| second.load)),
        human::number(mean(calm, |second| second.load)),
        human::number(mean(refusing, |second| second.ok_per_second))
    )
}
