//! Reads `journey.load`: the load of one journey, beside those of others.

use crate::read::field::Field;
use crate::read::node::NodeValue;
use crate::read::section::PlanSection;
use crate::read::shared_connections::{self, JourneySharing};
use crate::read::stages::{amount, connections, rate, stages};
use crate::{Arrivals, Journey, JourneyLoad, Load, Schedule, Shape};

/// Most journeys with a load of their own: finding an arrival takes time for each of them.
const MAX_LOADS: usize = 100;
/// The sum of the weights that journeys with a load of their own have in means.
const WEIGHTS: f64 = 10_000.0;

/// Paths of `journey.load`, without indices.
pub(crate) const KEYS: &[&str] = &[
    "journey.load",
    "journey.load.rate",
    "journey.load.connections",
    "journey.load.users",
    "journey.load.stage",
    "journey.load.stage.over",
    "journey.load.stage.to",
];

/// The loads of journeys.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum JourneyLoads {
    /// They share one load.
    Shared,
    /// Each arrives at a rate of its own.
    Arriving(Vec<JourneyLoad>),
    /// Each has virtual users of its own.
    OfUsers(Vec<JourneyLoad>),
    /// They have loads of their own, but wrong ones, which were reported.
    Wrong,
}

/// Reads the loads of the plan's journeys; `sharing` says whose connections these use.
pub(crate) fn read(root: &PlanSection<'_>, sharing: JourneySharing) -> JourneyLoads {
    let Some(field) = root.field("journey") else {
        return JourneyLoads::Shared;
    };
    let fields = match &field.node.value {
        NodeValue::List(_) => field.list("[[journey]]").unwrap_or_default(),
        _ => vec![field.clone()],
    };
    let sections: Vec<PlanSection<'_>> = fields.iter().filter_map(Field::section).collect();
    let with_load = sections.iter().filter(|section| section.has("load"));
    let number = with_load.count();
    if number == 0 {
        return JourneyLoads::Shared;
    }
    if number > MAX_LOADS {
        field.problem(format_args!(
            "has {number} entries with a load of their own; write at most {MAX_LOADS}, or weights"
        ));
        return JourneyLoads::Wrong;
    }
    for section in &sections {
        if !section.has("load") {
            section.problem(
                "has no load, and other journeys have; write one such as load.rate = \"5/s\"",
            );
        }
        section.refuse(
            &["weight"],
            "is a share of one load, and this journey has its own; remove it",
        );
    }
    let loads: Vec<Option<(Loop, JourneyLoad)>> = sections
        .iter()
        .map(|section| section.read("load", |field| one(&field, sharing)))
        .collect();
    let loads: Option<Vec<(Loop, JourneyLoad)>> = loads.into_iter().collect();
    let Some(loads) = loads.filter(|loads| loads.len() == fields.len()) else {
        return JourneyLoads::Wrong;
    };
    let (kind, _) = loads[0];
    if let Some(other) = loads.iter().position(|(other, _)| *other != kind) {
        sections[other].problem_at(
            "load",
            format_args!(
                "has {}, and journey[0].load has {}; write one of the two in all journeys",
                loads[other].0.key(sharing),
                kind.key(sharing)
            ),
        );
        return JourneyLoads::Wrong;
    }
    let loads = loads.into_iter().map(|(_, load)| load).collect();
    match kind {
        Loop::Open => JourneyLoads::Arriving(loads),
        Loop::Closed => JourneyLoads::OfUsers(loads),
    }
}

/// What the load of a journey is an amount of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loop {
    Open,
    Closed,
}

impl Loop {
    fn key(self, sharing: JourneySharing) -> &'static str {
        match self {
            Loop::Open => "rate",
            Loop::Closed => sharing.users_key(),
        }
    }
}

fn one(field: &Field<'_>, sharing: JourneySharing) -> Option<(Loop, JourneyLoad)> {
    let section = field.section()?;
    section.refuse(
        &[
            "arrivals",
            "max_connections",
            "duration",
            "journeys",
            "warm_up",
            "seed",
            "think_time",
            "connect_ramp",
        ],
        "is the same for all journeys; write it in [load]",
    );
    if section.has("rate") {
        section.refuse(
            &["users"],
            "is the same for all journeys; write it in [load]",
        );
    } else {
        shared_connections::check_users_key(&section, sharing);
    }
    let shape = shape(&section, sharing);
    let stages = section.read("stage", |field| stages(&field, shape.as_ref()));
    let has_stages = section.has("stage");
    section.finish();
    let shape = shape?;
    let load = JourneyLoad {
        amount: amount(&shape),
        stages: if has_stages { stages? } else { Vec::new() },
    };
    let kind = match shape {
        Shape::Open { .. } => Loop::Open,
        Shape::Closed { .. } => Loop::Closed,
    };
    if load.profile().peak() == 0.0 {
        let key = kind.key(sharing);
        match kind {
            Loop::Open => field
                .problem("comes to no arrival; write a rate above 0, or a stage that raises it"),
            Loop::Closed => field.problem(format_args!(
                "comes to no virtual user; write {key} above 0, or a stage that raises them"
            )),
        }
    }
    Some((kind, load))
}

/// The first amount of a journey, as a load of only this journey would have it.
fn shape(section: &PlanSection<'_>, sharing: JourneySharing) -> Option<Shape> {
    let open = section.read("rate", rate).map(|rate| Shape::Open {
        rate,
        arrivals: Arrivals::Even,
        max_connections: 1,
        users: None,
    });
    let own = section.read("connections", connections);
    let users = own.or(section.read("users", connections));
    let closed = users.map(|connections| Shape::Closed {
        connections,
        max_connections: None,
        think_time: None,
    });
    let has_users = section.has("users") && !section.has("rate");
    match (section.has("rate"), section.has("connections") || has_users) {
        (true, true) => {
            section.problem_at(
                "connections",
                "is given beside rate; keep rate for journeys that arrive, or connections for \
                 virtual users who make one after the other",
            );
            None
        }
        (false, false) => {
            let key = sharing.users_key();
            section.problem(format_args!(
                "has no amount; write rate = \"5/s\" (arrivals) or {key} = 20 (virtual users), or \
                 0 before a stage that raises it"
            ));
            None
        }
        _ => open.or(closed),
    }
}

/// Gives journeys with loads of their own the weights that they have in means over all journeys:
/// their shares of the arrivals, or of the time of virtual users.
pub(crate) fn weigh(journeys: &mut [Journey], load: &Load) {
    // How long users take for a number of journeys is unknown, but not how the stages end.
    let span_ns = match Schedule::after_warm_up(load) {
        Some(schedule) => schedule.span_at_rate_ns(),
        None => load.measured_span_ns(),
    };
    let span_ns = span_ns.unwrap_or(u64::MAX);
    let amounts = load.journeys.iter().map(JourneyLoad::profile);
    let amounts: Vec<f64> = amounts
        .map(|profile| profile.integral_at(span_ns))
        .collect();
    let total: f64 = amounts.iter().sum();
    for (journey, amount) in journeys.iter_mut().zip(amounts) {
        let share = amount / total.max(f64::MIN_POSITIVE);
        journey.weight = ((share * WEIGHTS).round() as u32).max(1);
    }
}
