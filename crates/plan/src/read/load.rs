//! Reads `[load]`.

use crate::load::{MAX_CONNECTIONS, MAX_RATE, MAX_REQUESTS};
use crate::merged_arrivals;
use crate::read::field::Field;
use crate::read::journey_load::JourneyLoads;
use crate::read::node::NodeValue;
use crate::read::replay::mean_rate;
use crate::read::rows_end::{RowUse, RowsEnd};
use crate::read::section::PlanSection;
use crate::read::shared_connections::{self, JourneySharing};
use crate::read::stages::{MONTH, amount, connections, rate, stages};
use crate::{
    Arrivals, Capacity, End, JourneyLoad, Load, Profile, Rate, Replay, SearchRange, Shape, Stage,
    ThinkTime, VirtualUsers, WorkUnit,
};
use std::sync::Arc;
use std::time::Duration;

const DEFAULT_MAX_CONNECTIONS: u32 = 10_000;
/// Users of journeys that arrive and share connections, if the plan does not say.
const DEFAULT_USERS: u32 = 10_000;
const HOUR: Duration = Duration::from_secs(3600);
const MS: Duration = Duration::from_millis(1);
const DEFAULT_SEED: u64 = 1;
const BESIDE_LOADS: &str = "is given beside the loads that journeys have; remove it, or those";
const TOO_LONG: &str = "takes longer than 720h; shorten it";

/// The source of a load's amount and end.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AmountSource<'s> {
    /// The section itself.
    Own,
    /// The first hold of a search; the section's values are still read, and replaced.
    Searched(&'s Capacity),
    /// A search that could not be read and has been reported.
    Unknown,
}

/// Paths of `[load]`, without indices.
pub(crate) const KEYS: &[&str] = &[
    "load.connections",
    "load.rate",
    "load.arrivals",
    "load.max_connections",
    "load.users",
    "load.duration",
    "load.requests",
    "load.journeys",
    "load.warm_up",
    "load.think_time",
    "load.think_time.min",
    "load.think_time.max",
    "load.seed",
    "load.connect_ramp",
    "load.stage",
    "load.stage.over",
    "load.stage.to",
];

/// What a load is made of.
#[derive(Debug, Clone)]
pub(crate) enum LoadContent<'a> {
    /// Requests, or journeys, which may share connections.
    Planned {
        unit: WorkUnit,
        loads: JourneyLoads,
        sharing: JourneySharing,
    },
    /// The requests of a replay, which is `None` if it is wrong.
    Recorded(Option<&'a Replay>),
}

/// Reads the load.
pub(crate) fn read(
    section: PlanSection<'_>,
    amount: AmountSource<'_>,
    rows: Option<RowUse<'_>>,
    content: LoadContent<'_>,
) -> Option<Load> {
    match content {
        LoadContent::Recorded(replay) => of_replay(section, replay, amount, rows),
        LoadContent::Planned {
            unit,
            loads,
            sharing,
        } => of_amount(section, amount, rows, (unit, loads, sharing)),
    }
}

fn of_amount(
    section: PlanSection<'_>,
    amount: AmountSource<'_>,
    rows: Option<RowUse<'_>>,
    (unit, loads, sharing): (WorkUnit, JourneyLoads, JourneySharing),
) -> Option<Load> {
    refuse_other_unit(&section, unit);
    let seed = seed(&section);
    let (shape, stages) = whole_amount(&section, amount, &loads, sharing);
    // A search replaces stages and end by its holds. They are read all the same, for their
    // problems.
    let (stages, end) = match amount {
        AmountSource::Own => {
            let end_of_rows = rows.and_then(|rows| rows.end(seed));
            let end = end(&section, stages.as_deref(), end_of_rows.as_ref(), unit);
            (stages.clone(), end)
        }
        AmountSource::Searched(search) => (
            Some(Vec::new()),
            Some(end_of_hold(&section, search.hold, unit)),
        ),
        AmountSource::Unknown => (None, read_end(&section, unit).and(None)),
    };
    let time = |key, longest| {
        let time = section.read(key, |field| field.duration(Duration::ZERO..=longest));
        time.unwrap_or_default()
    };
    let (warm_up, connect_ramp) = (time("warm_up", 24 * HOUR), time("connect_ramp", HOUR));
    if let (Some(shape), Some(stages)) = (&shape, &stages) {
        check_amount(&section, shape, stages, warm_up);
    }
    if let (Some(stages), Some(end)) = (&stages, end) {
        check_length(&section, stages, end);
    }
    let mut load = shape
        .zip(stages)
        .zip(end)
        .map(|((shape, stages), end)| Load {
            shape,
            stages,
            end,
            warm_up,
            seed,
            connect_ramp,
            recorded: None,
            journeys: match loads {
                JourneyLoads::Arriving(loads) | JourneyLoads::OfUsers(loads) => loads,
                JourneyLoads::Shared | JourneyLoads::Wrong => Vec::new(),
            },
        });
    if let Some(load) = &mut load {
        if let Some(rows) = rows {
            rows.limit(&section, load);
        }
        check_end(&section, load, amount, unit);
    }
    section.finish();
    load
}

/// Reads the first amount and the stages, of all journeys together if they have loads of their own.
/// Stages that are given but wrong are `None`, so that nothing is concluded from them.
fn whole_amount(
    section: &PlanSection<'_>,
    amount: AmountSource<'_>,
    loads: &JourneyLoads,
    sharing: JourneySharing,
) -> (Option<Shape>, Option<Vec<Stage>>) {
    match (loads, amount) {
        (JourneyLoads::Shared, _) => shape_and_stages(section, amount, sharing),
        (_, AmountSource::Searched(_)) => {
            section.context.problem(
                "search",
                None,
                "looks for the amount of one load, and journeys have loads of their own; write \
                 journey.weight in place of journey.load"
                    .to_owned(),
            );
            wrong_amount(section)
        }
        (JourneyLoads::Arriving(loads), _) => sum_of_arrivals(section, loads, sharing),
        (JourneyLoads::OfUsers(loads), _) => sum_of_users(section, loads, sharing),
        (JourneyLoads::Wrong, _) => wrong_amount(section),
    }
}

fn shape_and_stages(
    section: &PlanSection<'_>,
    amount: AmountSource<'_>,
    sharing: JourneySharing,
) -> (Option<Shape>, Option<Vec<Stage>>) {
    let shape = match amount {
        AmountSource::Own => shape(section, sharing),
        AmountSource::Searched(search) => first_hold(section, search.range, sharing),
        AmountSource::Unknown => read_both(section),
    };
    let stages = section.read("stage", |field| stages(&field, shape.as_ref()));
    match section.has("stage") {
        true => (shape, stages),
        false => (shape, Some(Vec::new())),
    }
}

/// Reads the fields of an amount that has been found wrong, for their own problems.
fn wrong_amount(section: &PlanSection<'_>) -> (Option<Shape>, Option<Vec<Stage>>) {
    section.read("stage", |field| stages(&field, None));
    (read_both(section), None)
}

/// What `[load]` must not have beside the loads of journeys.
fn refuse_amount(section: &PlanSection<'_>) {
    section.refuse(&["rate", "connections", "stage"], BESIDE_LOADS);
}

/// The virtual users of all journeys together.
fn sum_of_users(
    section: &PlanSection<'_>,
    loads: &[JourneyLoad],
    sharing: JourneySharing,
) -> (Option<Shape>, Option<Vec<Stage>>) {
    refuse_amount(section);
    section.refuse(&["users"], BESIDE_LOADS);
    let beside = beside_users(section, sharing);
    let peaks = loads.iter().map(|load| load.profile().peak());
    if peaks.sum::<f64>() > f64::from(MAX_CONNECTIONS) {
        section.problem(format_args!(
            "has more virtual users than {MAX_CONNECTIONS}, all journeys together; write fewer"
        ));
        return (None, None);
    }
    let (first, stages) = merged_arrivals::sum(loads);
    (Some(beside.shape(first as u32)), Some(stages))
}

/// The arrivals of all journeys together.
fn sum_of_arrivals(
    section: &PlanSection<'_>,
    loads: &[JourneyLoad],
    sharing: JourneySharing,
) -> (Option<Shape>, Option<Vec<Stage>>) {
    refuse_amount(section);
    let beside = beside_rate(section, sharing);
    let (first, stages) = merged_arrivals::sum(loads);
    if first > MAX_RATE || stages.iter().any(|stage| stage.to > MAX_RATE) {
        section
            .problem("is more than any cluster offers, all journeys together; write lower rates");
        return (None, None);
    }
    let shape = Rate::per_second(first).map(|rate| beside.shape(rate));
    (shape, Some(stages))
}

/// Reports a number of requests of a load that is made of journeys, or the other way round.
fn refuse_other_unit(section: &PlanSection<'_>, unit: WorkUnit) {
    match unit {
        WorkUnit::Request => section.refuse(
            &["journeys"],
            "counts journeys, and the plan has none; write requests, or a [[journey]]",
        ),
        WorkUnit::Journey => section.refuse(
            &["requests"],
            "counts requests, and this load is made of journeys; write journeys",
        ),
    }
}

/// Reads the load of a replay, whose log says when requests are due; `None` as `replay` if that is
/// wrong and was reported.
fn of_replay(
    section: PlanSection<'_>,
    replay: Option<&Replay>,
    amount: AmountSource<'_>,
    rows: Option<RowUse<'_>>,
) -> Option<Load> {
    let seed = seed(&section);
    let max_connections = section.read("max_connections", max_connections);
    section.refuse(
        &[
            "connections",
            "rate",
            "arrivals",
            "duration",
            "requests",
            "journeys",
            "warm_up",
            "think_time",
            "connect_ramp",
            "stage",
        ],
        "says when operations begin, and with [replay] the log does; remove it, and write \
         replay.speed, loop, from and to",
    );
    section.refuse(
        &["users"],
        "belongs to journeys that share connections; remove it",
    );
    if !matches!(amount, AmountSource::Own) {
        section.context.problem(
            "search",
            None,
            "changes the amount of load, and [replay] has that of its log; remove one of them"
                .to_owned(),
        );
    }
    let arrivals = &replay?.arrivals;
    let total = arrivals.total();
    if let Some(end) = rows.and_then(|rows| rows.end(seed))
        && end.operations() < total
    {
        end.refuse_replay(&section, total);
    }
    let max_connections = max_connections.unwrap_or(DEFAULT_MAX_CONNECTIONS);
    let at_once = arrivals.open_at_once();
    if at_once > max_connections {
        section.context.note(format!(
            "load.max_connections = {max_connections} makes connections wait: the log has up to \
             {at_once} at once"
        ));
    }
    section.finish();
    Some(Load {
        shape: Shape::Open {
            rate: mean_rate(arrivals)?,
            arrivals: Arrivals::Even,
            max_connections,
            users: None,
        },
        stages: Vec::new(),
        end: End::Requests(total),
        warm_up: Duration::ZERO,
        seed,
        connect_ramp: Duration::ZERO,
        recorded: Some(Arc::clone(arrivals)),
        journeys: Vec::new(),
    })
}

fn seed(section: &PlanSection<'_>) -> u64 {
    section
        .read("seed", |field| field.whole(0..=i64::MAX.unsigned_abs()))
        .unwrap_or(DEFAULT_SEED)
}

fn shape(section: &PlanSection<'_>, sharing: JourneySharing) -> Option<Shape> {
    let has_users = section.has("connections") || section.has("users");
    match (has_users && !section.has("rate"), section.has("rate")) {
        (true, false) => read_closed(section, sharing),
        (false, true) if section.has("connections") => {
            let key = sharing.users_key();
            let cure = format!(
                "given beside connections; keep rate for an open loop (and bound its connections \
                 by max_connections), or {key} for a closed loop"
            );
            section.problem_at("rate", cure);
            read_both(section)
        }
        (false, true) => read_open(section, sharing),
        _ => {
            let key = sharing.users_key();
            let cure = format!(
                "says no amount; write {key} = 50 (a closed loop of 50 virtual users) or rate = \
                 \"500/s\" (an open loop)"
            );
            section.problem(cure);
            read_both(section)
        }
    }
}

/// If it is unclear which loop is meant, both are read to report their problems.
fn read_both(section: &PlanSection<'_>) -> Option<Shape> {
    section.read("connections", connections);
    section.read("rate", rate);
    section.read("max_connections", max_connections);
    section.read("users", max_connections);
    section.read("arrivals", arrivals);
    section.read("think_time", think_time);
    None
}

fn read_closed(section: &PlanSection<'_>, sharing: JourneySharing) -> Option<Shape> {
    shared_connections::check_users_key(section, sharing);
    let beside = beside_users(section, sharing);
    let own = section.read("connections", connections);
    let users = own.or(section.read("users", connections));
    users.map(|users| beside.shape(users))
}

/// The fields of a closed loop other than its virtual users.
struct BesideUsers {
    max_connections: Option<u32>,
    think_time: Option<ThinkTime>,
}

impl BesideUsers {
    fn shape(&self, users: u32) -> Shape {
        Shape::Closed {
            connections: users,
            max_connections: self.max_connections,
            think_time: self.think_time,
        }
    }
}

/// Reads the fields of a closed loop other than its virtual users.
fn beside_users(section: &PlanSection<'_>, sharing: JourneySharing) -> BesideUsers {
    // Not given here, but known: a misspelt key may have meant it.
    section.field("rate");
    section.refuse(
        &["arrivals"],
        "belongs to an open loop; remove it, or write a rate in place of virtual users",
    );
    let most = match sharing {
        JourneySharing::Own => {
            section.refuse(
                &["max_connections"],
                "belongs to an open loop, or to journeys that share connections; other virtual \
                 users have one each, so remove it",
            );
            None
        }
        _ => section.read("max_connections", max_connections),
    };
    BesideUsers {
        max_connections: (sharing == JourneySharing::Shared)
            .then_some(most.unwrap_or(DEFAULT_MAX_CONNECTIONS)),
        think_time: section.read("think_time", think_time).flatten(),
    }
}

fn read_open(section: &PlanSection<'_>, sharing: JourneySharing) -> Option<Shape> {
    let beside = beside_rate(section, sharing);
    section.read("rate", rate).map(|rate| beside.shape(rate))
}

/// The fields of an open loop other than its rate.
struct BesideRate {
    arrivals: Arrivals,
    max_connections: u32,
    users: Option<u32>,
}

impl BesideRate {
    fn shape(&self, rate: Rate) -> Shape {
        Shape::Open {
            rate,
            arrivals: self.arrivals,
            max_connections: self.max_connections,
            users: self.users,
        }
    }
}

/// Reads the fields of an open loop other than its rate.
fn beside_rate(section: &PlanSection<'_>, sharing: JourneySharing) -> BesideRate {
    // Not given here, but known: a misspelt key may have meant it.
    section.field("connections");
    section.refuse(
        &["think_time"],
        "belongs to a closed loop: arrivals do not wait for answers; remove it, or write \
         connections in place of rate",
    );
    section.refuse(
        &["connect_ramp"],
        "belongs to a closed loop: an open loop opens connections as arrivals need them; remove it",
    );
    if sharing == JourneySharing::Own {
        shared_connections::refuse_users(section, "remove it");
    }
    let most = section.read("max_connections", max_connections);
    let users = section.read("users", max_connections);
    BesideRate {
        arrivals: section.read("arrivals", arrivals).unwrap_or(Arrivals::Even),
        max_connections: most.unwrap_or(DEFAULT_MAX_CONNECTIONS),
        users: (sharing == JourneySharing::Shared).then_some(users.unwrap_or(DEFAULT_USERS)),
    }
}

/// Reads the shape of a search's first hold.
fn first_hold(
    section: &PlanSection<'_>,
    range: SearchRange,
    sharing: JourneySharing,
) -> Option<Shape> {
    match range {
        SearchRange::Rate { .. } if section.has("connections") => {
            let cure = "makes a closed loop, and search.rate looks for the rate of an open one; \
                        remove it, or write search.connections in place of search.rate";
            section.problem_at("connections", cure);
            read_both(section)
        }
        SearchRange::Connections { .. } if section.has("rate") => {
            let cure = "makes an open loop, and search.connections looks for the virtual users of \
                        a closed one; remove it, or write search.rate in place of \
                        search.connections";
            section.problem_at("rate", cure);
            read_both(section)
        }
        SearchRange::Rate { from, .. } => {
            section.read("rate", rate);
            Some(beside_rate(section, sharing).shape(from))
        }
        SearchRange::Connections { from, .. } => {
            section.read("connections", connections);
            section.read("users", connections);
            shared_connections::check_users_key(section, sharing);
            Some(beside_users(section, sharing).shape(from))
        }
    }
}

/// The end of a hold, which replaces everything that could end the load.
fn end_of_hold(section: &PlanSection<'_>, hold: Duration, unit: WorkUnit) -> End {
    read_end(section, unit);
    let given: Vec<String> = ["rate", "connections", "duration", unit.key(), "stage"]
        .into_iter()
        .filter(|key| section.has(key))
        .map(|key| format!("load.{key}"))
        .collect();
    if !given.is_empty() {
        section
            .context
            .note(format!("[search] takes the place of {}", given.join(", ")));
    }
    End::Duration(hold)
}

/// Most connections, or users.
fn max_connections(field: Field<'_>) -> Option<u32> {
    field.whole32(1..=MAX_CONNECTIONS)
}

fn arrivals(field: Field<'_>) -> Option<Arrivals> {
    field.choice()
}

/// `Some(None)` for a pause of zero.
fn think_time(field: Field<'_>) -> Option<Option<ThinkTime>> {
    let (min, max) = match field.node.value {
        NodeValue::Table(_) => bounds(field.section()?)?,
        _ => pause(field).map(|fixed| (fixed, fixed))?,
    };
    Some((max > Duration::ZERO).then_some(ThinkTime { min, max }))
}

fn bounds(section: PlanSection<'_>) -> Option<(Duration, Duration)> {
    let min = section.read("min", pause);
    let max = section.read("max", pause);
    if !section.has("min") || !section.has("max") {
        section.problem("needs both ends; write { min = \"1s\", max = \"3s\" }");
    }
    let (min, max) = min.zip(max).unwrap_or_default();
    if min > max {
        section.problem_at("min", "is above max; exchange the two");
    }
    section.finish();
    Some((min, max))
}

fn pause(field: Field<'_>) -> Option<Duration> {
    field.duration(Duration::ZERO..=HOUR)
}

fn end(
    section: &PlanSection<'_>,
    stages: Option<&[Stage]>,
    rows: Option<&RowsEnd<'_>>,
    unit: WorkUnit,
) -> Option<End> {
    let end = read_end(section, unit);
    let number = unit.key();
    match (
        section.has("duration") || section.has(number),
        section.has("stage") || stages.is_some_and(|stages| !stages.is_empty()),
    ) {
        (true, _) => end,
        (false, true) => end_of_stages(section, stages?),
        (false, false) if rows.is_some() => rows.map(|rows| End::Requests(rows.operations())),
        (false, false) => {
            section.problem(format_args!(
                "says no end; write duration = \"60s\" or {number} = 10000"
            ));
            None
        }
    }
}

/// The end that is given; `None` if it is missing or wrong.
fn read_end(section: &PlanSection<'_>, unit: WorkUnit) -> Option<End> {
    let number = unit.key();
    let duration = section.read("duration", |field| field.duration(MS..=MONTH));
    let requests = section.read(number, |field| field.whole(1..=MAX_REQUESTS));
    if section.has("duration") && section.has(number) {
        section.problem_at(
            number,
            "given beside duration; keep the one that shall end the run",
        );
        return None;
    }
    duration.map(End::Duration).or(requests.map(End::Requests))
}

fn end_of_stages(section: &PlanSection<'_>, stages: &[Stage]) -> Option<End> {
    let sum = length(stages);
    if sum > MONTH {
        section.problem_at("stage", TOO_LONG);
    } else if sum.is_zero() {
        section.problem_at(
            "stage",
            "gives no length to the run; write duration = \"60s\", or over in a stage",
        );
    }
    (!sum.is_zero() && sum <= MONTH).then_some(End::Duration(sum))
}

fn length(stages: &[Stage]) -> Duration {
    stages
        .iter()
        .fold(Duration::ZERO, |sum, stage| sum.saturating_add(stage.over))
}

fn check_amount(section: &PlanSection<'_>, shape: &Shape, stages: &[Stage], warm_up: Duration) {
    let key = match shape {
        Shape::Closed { .. } => shape.users_key(),
        Shape::Open { .. } => "rate",
    };
    let first = amount(shape);
    if Profile::new(first, stages).peak() == 0.0 {
        section.problem_at(
            key,
            "0 is no load; write a value above 0, or a [[load.stage]] that raises it",
        );
    } else if first == 0.0 && !warm_up.is_zero() {
        section.problem_at(
            "warm_up",
            format_args!("runs at the first amount, and that is 0; remove it, or raise {key}"),
        );
    }
}

fn check_length(section: &PlanSection<'_>, stages: &[Stage], end: End) {
    let length = length(stages);
    match end {
        End::Duration(duration) if length > duration => {
            let cure = crate::duration::write(length);
            section.problem_at(
                "duration",
                format_args!(
                    "ends before the stages do; write at least \"{cure}\", or leave it out"
                ),
            );
        }
        End::Requests(_) if length > MONTH => section.problem_at("stage", TOO_LONG),
        _ => {}
    }
}

/// Checks conditions that involve the whole load.
fn check_end(section: &PlanSection<'_>, load: &Load, amount: AmountSource<'_>, unit: WorkUnit) {
    let profile = Profile::after_warm_up(load);
    match load.end {
        End::Duration(duration) if load.connect_ramp > load.warm_up + duration => {
            let end = if let AmountSource::Searched(_) = amount {
                "search.hold"
            } else {
                "duration"
            };
            section.problem_at(
                "connect_ramp",
                format_args!("is longer than warm_up and {end} together; shorten it"),
            );
        }
        End::Requests(requests) if !reaches(load, &profile, requests) => {
            section.problem_at(
                unit.key(),
                "is never reached, or not in 720h; raise the load, or write a duration instead",
            );
        }
        // How the number is divided does not follow the stages.
        End::Requests(_) if !VirtualUsers::new(load).all_remain() => {
            section.problem_at(
                unit.key(),
                "needs all virtual users to the end, and a stage lets some of them go for good; \
                 write a last stage that brings them back, or a duration instead",
            );
        }
        End::Requests(number) => note_idle(section, load, (unit.key(), number)),
        End::Duration(_) => {}
    }
}

/// Whether `requests` operations can begin within the longest run. A closed loop's speed is up to
/// the server.
fn reaches(load: &Load, profile: &Profile, requests: u64) -> bool {
    match load.shape {
        Shape::Closed { .. } => profile.ceiling().is_none(),
        Shape::Open { .. } => profile
            .instant_of(requests as f64)
            .is_some_and(|at_ns| Duration::from_nanos(at_ns) <= MONTH),
    }
}

fn note_idle(section: &PlanSection<'_>, load: &Load, (key, number): (&str, u64)) {
    let users = load.peak_users().map_or(0, u64::from);
    if let Some(idle @ 1..) = users.checked_sub(number) {
        let users_key = load.shape.users_key();
        let users = match load.journeys.is_empty() {
            true => format!("load.{users_key}"),
            false => format!("the {users_key} of all journeys"),
        };
        let idle = match idle {
            1 => "1 virtual user has".to_owned(),
            idle => format!("{idle} virtual users have"),
        };
        section.context.note(format!(
            "load.{key} = {number} is below {users}: {idle} nothing to do"
        ));
    }
}
