//! Decides whether the load was sent in time, and carried while it was offered.

use super::client::{LATE_P99_MAX, LATE_P99_MAX_NS, late_bound};
use super::slow_answers::may_be_slow_by_themselves;
use super::{BoundNumber, RuleBound, RuleId, RuleReading, errors};
use crate::{
    AgentEndCause, AgentResult, Backlog, Document, LoadOutcome, LoadPart, LoadRecord,
    PercentileFigure, human,
};

/// An open loop missed its load if more than this share of arrivals could not be sent.
const NOT_SENT_SHARE_MAX: f64 = 0.001;

/// If at least this share of arrivals waited, the 99th percentile is one of those.
const WAITED_SHARE_MIN: f64 = 0.01;

const NEVER_SENT: RuleBound =
    RuleBound::new("{}", &[BoundNumber::ShareInDigits(NOT_SENT_SHARE_MAX)]);

const PILED_UP: RuleBound = RuleBound::new("more than could be chance", &[]);

/// Reads whether the load was sent in time, and carried. There is no such reading for a closed
/// loop, whose load is whatever results from it.
pub(super) fn readings(document: &Document) -> Vec<RuleReading> {
    match document.plan.load {
        LoadRecord::Closed { .. } => Vec::new(),
        LoadRecord::Open {
            max_connections,
            users,
            ..
        } => vec![
            waiting(document, max_connections, users),
            never_sent(document),
            backlog(document),
        ],
    }
}

fn waiting(document: &Document, max_connections: u32, users: Option<u32>) -> RuleReading {
    let bound = late_bound(late_percentile(document));
    let Some(late) = lateness(document) else {
        return RuleReading::unknown(RuleId::Lateness, bound);
    };
    RuleReading {
        rule: RuleId::Lateness,
        says: describe_waiting(document, max_connections, users),
        acquits: None,
        figure: format!("p{} {}", late.percentile, human::percentile(late)),
        bound,
        distance: Some(late.value_ns as f64 / LATE_P99_MAX_NS as f64),
    }
}

/// Returns how late the operation at the percentile was that 1 % of the arrivals lie beyond.
fn lateness(document: &Document) -> Option<PercentileFigure> {
    let percentile = late_percentile(document);
    document.measured.percentile("lateness", percentile)
}

/// Returns the percentile of operations that 1 % of the arrivals lie beyond. Only the first step of
/// a journey can wait for a user, or for a connection of its own, so of ten steps it is the 99.9th;
/// one that is not among the figures counts as the next higher.
fn late_percentile(document: &Document) -> f64 {
    let beyond = 1.0 / document.load_counts().operations_each;
    let percentiles = [99.0, 99.9];
    let mut percentiles = percentiles.into_iter();
    let wanted = percentiles.find(|percentile| 100.0 - percentile <= beyond + 1e-9);
    wanted.unwrap_or(99.99)
}

fn never_sent(document: &Document) -> RuleReading {
    let share = not_sent_share(document);
    RuleReading {
        rule: RuleId::NeverSent,
        says: not_sent(document),
        acquits: None,
        figure: format!("{} of the arrivals", human::share(share)),
        bound: NEVER_SENT,
        distance: Some(share / NOT_SENT_SHARE_MAX),
    }
}

fn backlog(document: &Document) -> RuleReading {
    let Some(backlog) = &document.backlog else {
        return RuleReading::unknown(RuleId::Backlog, PILED_UP);
    };
    let growth = Growth::new(backlog);
    RuleReading {
        rule: RuleId::Backlog,
        says: describe_backlog(document),
        acquits: None,
        figure: format!(
            "grew by {:.0} {}, of which {:.0} could be chance",
            growth.growth, growth.when, growth.chance
        ),
        bound: PILED_UP,
        distance: (growth.chance > 0.0).then(|| growth.growth.max(0.0) / growth.chance),
    }
}

/// The growth of a backlog: that of the part that decided, or of the second half in results of
/// versions that judged no parts.
struct Growth {
    when: String,
    due: u64,
    growth: f64,
    chance: f64,
}

impl Growth {
    fn new(backlog: &Backlog) -> Growth {
        match backlog.decisive() {
            Some(part) => Growth {
                when: in_seconds(part),
                due: part.due,
                growth: part.growth,
                chance: part.chance,
            },
            None => Growth {
                when: "in the second half".to_owned(),
                due: backlog.due,
                growth: backlog.growth() as f64,
                chance: backlog.noise,
            },
        }
    }
}

/// Formats the part's time like `from second 6 to 9`, on the run clock.
pub(super) fn in_seconds(part: &LoadPart) -> String {
    let second = |ns: u64| match ns as f64 / 1e9 {
        second if second < 999.5 => human::number(second),
        second => format!("{second:.0}"),
    };
    format!(
        "from second {} to {}",
        second(part.from_ns),
        second(part.to_ns)
    )
}

/// Returns the run that shows more of a load whose journeys waited for what they share.
pub(super) fn next_run(document: &Document) -> Option<String> {
    let LoadRecord::Open {
        max_connections,
        users: users @ Some(_),
        ..
    } = document.plan.load
    else {
        return None;
    };
    describe_waiting(document, max_connections, users)?;
    Some(
        "a run with more load.users or load.max_connections: if it brings no more, the server is \
         the limit"
            .to_owned(),
    )
}

/// What an open loop has to make operations with, such as `9 connections`.
pub(super) fn places(max_connections: u32, users: Option<u32>) -> String {
    let connections = human::counted(max_connections.into(), "connection");
    match users {
        None => connections,
        Some(users) => format!("{} or {connections}", human::counted(users.into(), "user")),
    }
}

/// Describes arrivals that had to wait for a connection: all that the plan allows were in use then.
/// If journeys share connections, each of their steps can wait, and the first one also for a user.
fn describe_waiting(
    document: &Document,
    max_connections: u32,
    users: Option<u32>,
) -> Option<String> {
    let late_ns = lateness(document)?.value_ns;
    let waits = document.measured.times.get("connection_wait")?;
    let counts = document.load_counts();
    let waited = waits.count as f64 / counts.due.max(1) as f64;
    let (share, what) = match users {
        None => (waited.min(1.0), "arrivals"),
        Some(_) => (waited / counts.operations_each, "steps"),
    };
    let replay = document.replay.as_ref();
    let for_what = match replay.and_then(|it| it.planned_connections) {
        None => format!("one of {}, all in use", places(max_connections, users)),
        Some(_) => format!(
            "their connection of the log (for the answer to the request before, or for one of {})",
            human::counted(max_connections.into(), "connection")
        ),
    };
    // If fewer waited, something else made 1 % of them late.
    (late_ns > LATE_P99_MAX_NS && waited >= WAITED_SHARE_MIN).then(|| {
        format!(
            "{} of the {what} waited for {for_what}, so that 1 % began {} or more late (bound: \
             {LATE_P99_MAX})",
            human::share(share),
            human::time(late_ns as f64)
        )
    })
}

/// Describes a backlog that grew: load that was carried later than it was offered, if at all.
pub(crate) fn describe_backlog(document: &Document) -> Option<String> {
    let backlog = document.backlog.as_ref().filter(|it| !it.has_kept_up())?;
    let Growth {
        when,
        due,
        growth,
        chance,
    } = Growth::new(backlog);
    let ended = (due as f64 - growth).max(0.0);
    let unit = document.load_counts().unit;
    let slowing = backlog.decisive().and_then(|part| part.slowing);
    let why = match slowing.filter(|_| growth <= chance) {
        // Few operations, which piled up too evenly for chance.
        Some(slowing) => format!("evenly, and answers took {slowing:.2} s longer with each second"),
        None => format!("up to {chance:.0} could be chance"),
    };
    let mut text = format!(
        "the load was not carried while it was offered: {when} {due} {unit}s were due and \
         {ended:.0} ended, so that the backlog grew by {growth:.0} ({why})"
    );
    if may_be_slow_by_themselves(document) {
        text += "; answers took longer than half of the measured part, and as long from its \
                 beginning on, so a longer one may say otherwise";
    }
    Some(text)
}

/// Returns the part that is too short to decide, if that is all that keeps the load from being met.
fn too_short(document: &Document) -> Option<&LoadPart> {
    let backlog = document.backlog.as_ref()?;
    let is_short = backlog.outcome() == LoadOutcome::TooShort;
    backlog.decisive().filter(|_| is_short)
}

/// Returns how long a run that is too short to decide whether its load was carried would have to
/// be.
pub(super) fn least_length_ns(document: &Document) -> Option<u64> {
    too_short(document)?.needed_ns
}

pub(super) fn describe_least_length(document: &Document, needed_ns: u64) -> String {
    let needed = human::exact(&human::time(needed_ns as f64));
    if document.plan.stages.is_empty() {
        format!("a run of {needed} or more: load.duration")
    } else {
        format!("stages of {needed} or more: load.stage[].over")
    }
}

fn too_short_in_words(part: &LoadPart, unit: &str) -> String {
    let slower = match (part.slowing, part.slowing_error) {
        (Some(slowing), Some(error)) => format!(
            ", which became {slowing:.2} ± {error:.2} s longer with each second (bound: {})",
            LoadPart::SLOWING_MAX
        ),
        _ => String::new(),
    };
    let answered = if part.under_way > 0.0 {
        let mean = human::time(part.mean_response_ns());
        format!("were due, and answered after {mean} on average{slower}")
    } else {
        let ended = (part.due as f64 - part.growth).max(0.0);
        format!("were due and {ended:.0} ended")
    };
    format!(
        "too short to tell whether the load was carried: {} {} {unit}s {answered}",
        in_seconds(part),
        part.due
    )
}

/// Describes arrivals for which no connection was free: load that was asked for and never offered.
pub(crate) fn not_sent(document: &Document) -> Option<String> {
    let share = not_sent_share(document);
    (share > NOT_SENT_SHARE_MAX).then(|| {
        format!(
            "{} of the arrivals ({}) were not sent",
            human::share(share),
            document.load_counts().not_sent
        )
    })
}

/// Returns the share of arrivals that were never sent: of operations, or of journeys.
fn not_sent_share(document: &Document) -> f64 {
    let counts = document.load_counts();
    counts.not_sent as f64 / counts.due.max(1) as f64
}

/// Returns whether there were more errors than in a load that is carried.
pub(super) fn has_errors(document: &Document) -> bool {
    document.measured.operations.error_share.unwrap_or(0.0) > errors::SHARE_MAX
}

/// Describes the outcome of a load that was sent in time: when it was sent, how it was answered,
/// and whether throughput kept up.
pub(super) fn describe_carried(document: &Document) -> Vec<String> {
    let operations = &document.measured.operations;
    let sent = describe_sending(document);
    if errors::lead(document) {
        return vec![sent];
    }
    if has_errors(document) {
        let failed = human::share(operations.error_share.unwrap_or(0.0));
        let bound = human::share(errors::SHARE_MAX);
        let answered = format!("{failed} of them ended in an error (bound: {bound})");
        return vec![sent, answered];
    }
    let answered = format!(
        "{} of {} {} answered as expected",
        operations.ok,
        operations.ended,
        human::one_or_many(operations.ended, "was", "were")
    );
    let kept_up = match (&document.backlog, too_short(document)) {
        (None, _) => cut_short(document),
        (Some(_), Some(part)) => too_short_in_words(part, document.load_counts().unit),
        (Some(backlog), None) => describe_level(backlog),
    };
    vec![sent, answered, kept_up]
}

/// Explains why nothing is known of the backlog.
fn cut_short(document: &Document) -> String {
    let is_stopped = |agent: &AgentResult| agent.ended == Some(AgentEndCause::Stopped);
    let why = if document.agents.iter().any(is_stopped) {
        "the run was stopped"
    } else {
        "not every agent went through the plan"
    };
    format!("{why}: nothing shows whether the rest of the load would have been carried")
}

fn describe_sending(document: &Document) -> String {
    let counts = document.load_counts();
    let begun = human::number(counts.begun_per_second);
    let late = match lateness(document) {
        None => String::new(),
        Some(late) => format!(
            ", 99 % of them within {} of their instant",
            human::time(late.value_ns as f64)
        ),
    };
    format!("{begun} {}s per second were sent{late}", counts.unit)
}

fn describe_level(backlog: &Backlog) -> String {
    let Backlog {
        due, ended, at_end, ..
    } = backlog;
    let stages = match backlog.parts.len() {
        0 | 1 => String::new(),
        parts => format!(" in each of {parts} parts of the run"),
    };
    format!(
        "throughput kept up{stages}: {due} due and {ended} ended in the second half, {at_end} \
         under way at its end"
    )
}
