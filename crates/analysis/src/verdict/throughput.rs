//! Decides whether throughput stopped following the load, which shows a server's limit without a
//! look at the server.

use super::at_once::AtOnce;
use super::counted_seconds::measured;
use super::phases::processing_share;
use super::queueing::{Queueing, QueueingLook};
use super::users_knee;
use super::users_knee::UsersKnee;
use super::{
    BoundNumber, RuleBound, RuleId, RuleReading, answers_by_load, connections_ran_out, load,
};
use crate::{Backlog, Document, LoadRecord, Row, human};

/// The load was at least this many times what was carried.
const BEYOND: f64 = 1.1;

/// Throughput rose by at most this factor over the second half, or by the square root of how far
/// the load was beyond it: just above the capacity a rise means that throughput still follows; far
/// beyond it, that few answers scatter, or that the server became faster.
const RISE_MAX: f64 = 1.1;

/// At least this share of the service time was spent waiting for the server.
const PROCESSING_MIN: f64 = 0.5;

const OPEN_BOUND: RuleBound = RuleBound::new(
    "{} of what was carried, which hardly rises, in front of the server",
    &[BoundNumber::Share(BEYOND)],
);

const CLOSED_BOUND: RuleBound = RuleBound::new(
    "{} as many bring at most {} and take {} as long, in front of the server",
    &[
        BoundNumber::Times(users_knee::BEYOND),
        BoundNumber::Share(users_knee::RISE_MAX),
        BoundNumber::Times(users_knee::SLOWER_MIN),
    ],
);

/// The state of the server, as monitors saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MonitorsSaw {
    /// No monitor watched.
    Nothing,
    /// A monitor watched, but none of the seconds that count.
    OtherSeconds,
    /// The server had room.
    Room,
    /// A resource of the server is used up, or nearly; or too few seconds are known.
    NoRoom,
}

/// How throughput followed the load in one kind of loop.
struct Followed {
    figure: String,
    reach: f64,
    /// Whether nothing in the load itself explains it.
    is_shown: bool,
}

/// Reads whether throughput follows the load. `is_in_doubt` means that something other than the
/// server may be the reason if it does not.
pub(super) fn reading(document: &Document, seen: MonitorsSaw, is_in_doubt: bool) -> RuleReading {
    let (followed, bound) = match document.plan.load {
        LoadRecord::Open {
            max_connections,
            users,
            ..
        } => (
            arrivals(document, &load::places(max_connections, users)),
            OPEN_BOUND,
        ),
        LoadRecord::Closed { stages, .. } => (users(document, stages), CLOSED_BOUND),
    };
    let Some(Followed {
        figure,
        reach,
        is_shown,
    }) = followed
    else {
        return RuleReading::unknown(RuleId::Throughput, bound);
    };
    let speaks = reach >= 1.0 && is_shown && !is_in_doubt;
    let how = match seen {
        MonitorsSaw::Nothing => {
            "throughput stopped following the load while the clients had room, as the clients saw \
             it (no monitor watched)"
        }
        MonitorsSaw::OtherSeconds => {
            "throughput stopped following the load while the clients had room, as the clients saw \
             it (no monitor watched these seconds)"
        }
        MonitorsSaw::Room => {
            "throughput stopped following the load while clients and the watched server had \
             room, so that the server waits for something"
        }
        MonitorsSaw::NoRoom => "throughput stopped following the load while the clients had room",
    };
    RuleReading {
        rule: RuleId::Throughput,
        says: speaks.then(|| format!("{how}: {figure} (bound: {bound})")),
        acquits: None,
        figure,
        bound,
        distance: Some(reach),
    }
}

/// For an open loop that completed its plan: compares what was due with what was carried, in the
/// part that piled up or in the second half.
fn arrivals(document: &Document, places: &str) -> Option<Followed> {
    let (backlog, offered) = document
        .backlog
        .as_ref()
        .and_then(|it| Some((it, Offered::new(document, it)?)))?;
    let processing = processing_share(document)?;
    let beyond = offered.due / offered.ended.max(1.0);
    let queueing = queueing(document);
    let is_line = queueing == Queueing::Line || answers_by_load::is_flat(document);
    let has_room = has_connections(document) || is_line;
    let line = match queueing {
        _ if has_room => String::new(),
        Queueing::Alike | Queueing::Scattered => format!(
            "; all {places} were in use, and answers took no longer for it, \
             so more of them may carry more"
        ),
        Queueing::Unclear | Queueing::Line => format!(
            "; all {places} were in use, and nothing shows whether more of \
             them would carry more"
        ),
    };
    let figure = format!(
        "{:.0} were due {} and {:.0} ended, which rose by a factor of {:.2} in it; {} of the \
         service time was waiting for the server{line}",
        offered.due,
        offered.when,
        offered.ended,
        offered.rise,
        human::share(processing)
    );
    let reach = (beyond / BEYOND)
        .min(RISE_MAX.max(beyond.sqrt()) / offered.rise)
        .min(processing / PROCESSING_MIN);
    Some(Followed {
        figure,
        reach,
        is_shown: !backlog.has_kept_up() && has_room,
    })
}

/// Returns whether answers stood in line behind the plan's connections.
fn queueing(document: &Document) -> Queueing {
    let early = AtOnce::new(document).map(|at_once| at_once.early(document));
    let look = early.and_then(|early| QueueingLook::new(document, early));
    look.map_or(Queueing::Unclear, |look| look.queueing)
}

/// For a closed loop with stages: looks for a knee within the run. A single number of users does
/// not show whether others would bring more.
fn users(document: &Document, stages: u32) -> Option<Followed> {
    let knee = UsersKnee::new(document).filter(|_| stages > 0)?;
    let processing = processing_share(document)?;
    let figure = format!(
        "{}; {} of the service time was waiting for the server",
        knee.in_words(),
        human::share(processing)
    );
    Some(Followed {
        figure,
        reach: knee.reach().min(processing / PROCESSING_MIN),
        is_shown: knee.goes_with_load() && !connections_ran_out(document),
    })
}

/// Operations due and ended as the load piled up: in the part that shows it most, or in the second
/// half.
struct Offered {
    when: String,
    due: f64,
    ended: f64,
    /// Factor by which throughput rose.
    rise: f64,
}

impl Offered {
    fn new(document: &Document, backlog: &Backlog) -> Option<Offered> {
        let part = backlog.decisive().filter(|_| !backlog.has_kept_up());
        let Some(part) = part else {
            return Some(Offered {
                when: "in the second half".to_owned(),
                due: backlog.due as f64,
                ended: backlog.ended as f64,
                rise: rise(measured(document))?,
            });
        };
        let is_in_it = |row: &&Row| {
            let begin_ns = u64::from(row.second) * 1_000_000_000;
            part.from_ns <= begin_ns && begin_ns < part.to_ns
        };
        Some(Offered {
            when: load::in_seconds(part),
            due: part.due as f64,
            ended: part.due as f64 - part.growth,
            rise: rise(measured(document).filter(is_in_it))?,
        })
    }
}

/// Returns the factor by which throughput rose from the third quarter of these rows to the last
/// one, or from the first half to the second if there are few rows.
fn rise<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<f64> {
    let rows: Vec<f64> = rows
        .map(|row| row.ended as f64 / f64::from(row.seconds.max(1)))
        .collect();
    let half = rows.get(rows.len() / 2..).filter(|half| half.len() > 1);
    let half = half.or_else(|| (rows.len() > 1).then_some(&rows[..]))?;
    let (before, after) = half.split_at(half.len() / 2);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    Some(mean(after) / mean(before)).filter(|rise| rise.is_finite() && *rise > 0.0)
}

/// Returns whether arrivals found a connection; otherwise the plan's own limit may hold them back.
fn has_connections(document: &Document) -> bool {
    let waits = document.measured.times.get("connection_wait");
    document.measured.operations.not_sent == 0 && waits.is_none_or(|waits| waits.count == 0)
}
