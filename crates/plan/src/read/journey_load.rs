//! Reads `journey.load`: the load of one journey, beside those of others.

use crate::read::field::Field;
use crate::read::node::NodeValue;
use crate::read::section::PlanSection;
use crate::read::stages::{rate, stages};
use crate::{Arrivals, Journey, JourneyLoad, Load, MergedArrivals, Shape};

/// Most journeys with a load of their own: finding an arrival takes time for each of them.
const MAX_LOADS: usize = 100;
/// The sum of the weights that journeys with a load of their own have in means.
const WEIGHTS: f64 = 10_000.0;

/// Paths of `journey.load`, without indices.
pub(crate) const KEYS: &[&str] = &[
    "journey.load",
    "journey.load.rate",
    "journey.load.stage",
    "journey.load.stage.over",
    "journey.load.stage.to",
];

/// The loads of journeys.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum JourneyLoads {
    /// They share one load.
    Shared,
    /// Each has its own.
    Own(Vec<JourneyLoad>),
    /// They have, but wrong ones, which were reported.
    Wrong,
}

/// Reads the loads of the plan's journeys.
pub(crate) fn read(root: &PlanSection<'_>) -> JourneyLoads {
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
    let loads: Vec<Option<JourneyLoad>> = sections
        .iter()
        .map(|section| section.read("load", |field| one(&field)))
        .collect();
    let loads: Option<Vec<JourneyLoad>> = loads.into_iter().collect();
    match loads {
        Some(loads) if loads.len() == fields.len() => JourneyLoads::Own(loads),
        _ => JourneyLoads::Wrong,
    }
}

fn one(field: &Field<'_>) -> Option<JourneyLoad> {
    let section = field.section()?;
    section.refuse(
        &["connections"],
        "makes a closed loop, and journeys with a load of their own arrive; write rate, or one \
         load.connections for all journeys, with weights",
    );
    section.refuse(
        &[
            "arrivals",
            "max_connections",
            "duration",
            "journeys",
            "warm_up",
            "seed",
        ],
        "is the same for all journeys; write it in [load]",
    );
    let first = section.read("rate", rate);
    if !section.has("rate") {
        section
            .problem("has no rate; write rate = \"5/s\", or \"0/s\" before a stage that raises it");
    }
    let shape = first.map(|rate| Shape::Open {
        rate,
        arrivals: Arrivals::Even,
        max_connections: 1,
    });
    let stages = section.read("stage", |field| stages(&field, shape.as_ref()));
    let has_stages = section.has("stage");
    section.finish();
    let load = JourneyLoad {
        rate: first?,
        stages: if has_stages { stages? } else { Vec::new() },
    };
    if load.profile().peak() == 0.0 {
        field.problem("comes to no arrival; write a rate above 0, or a stage that raises it");
    }
    Some(load)
}

/// Gives journeys with loads of their own the weights that they have in means over all journeys:
/// their shares of the arrivals.
pub(crate) fn weigh(journeys: &mut [Journey], load: &Load) {
    let (Some(arrivals), Some(span_ns)) =
        (MergedArrivals::after_warm_up(load), load.measured_span_ns())
    else {
        return;
    };
    let counts = arrivals.counts_before(span_ns);
    let total: u64 = counts.iter().sum();
    for (journey, count) in journeys.iter_mut().zip(counts) {
        let share = count as f64 / total.max(1) as f64;
        journey.weight = ((share * WEIGHTS).round() as u32).max(1);
    }
}
