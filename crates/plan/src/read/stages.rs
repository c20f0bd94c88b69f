//! Reads amounts of load, and the stages that follow the first one.

use crate::load::{MAX_CONNECTIONS, MAX_RATE};
use crate::read::field::Field;
use crate::read::node::NodeValue;
use crate::read::section::PlanSection;
use crate::{Rate, Shape, Stage};
use std::time::Duration;

const MAX_STAGES: usize = 10_000;
/// The longest stage, and the longest load.
pub(crate) const MONTH: Duration = Duration::from_secs(30 * 24 * 3600);

pub(crate) fn connections(field: Field<'_>) -> Option<u32> {
    field.whole32(0..=MAX_CONNECTIONS)
}

pub(crate) fn rate(field: Field<'_>) -> Option<Rate> {
    let rate = field.rate()?;
    if rate.as_per_second() <= MAX_RATE {
        return Some(rate);
    }
    field.refuse("is more than any cluster offers; write at most \"100000000/s\"");
    None
}

/// `shape` is `None` if it could not be read; then amounts of both kinds are accepted.
pub(crate) fn stages(field: &Field<'_>, shape: Option<&Shape>) -> Option<Vec<Stage>> {
    let fields = field.list("a [[load.stage]] with over and to")?;
    if fields.len() > MAX_STAGES {
        field.problem(format_args!(
            "has {} entries; write at most {MAX_STAGES}",
            fields.len()
        ));
        return None;
    }
    let mut before = shape.map_or(0.0, amount);
    let mut stages = Vec::new();
    for field in &fields {
        let stage = field
            .section()
            .and_then(|section| stage(section, shape, before));
        before = stage.map_or(before, |stage| stage.to);
        stages.push(stage);
    }
    stages.into_iter().collect()
}

pub(crate) fn amount(shape: &Shape) -> f64 {
    match shape {
        Shape::Closed { connections, .. } => f64::from(*connections),
        Shape::Open { rate, .. } => rate.as_per_second(),
    }
}

/// Reads a stage; without `to` it holds the amount before it.
fn stage(section: PlanSection<'_>, shape: Option<&Shape>, before: f64) -> Option<Stage> {
    let over = section.read("over", |field| field.duration(Duration::ZERO..=MONTH));
    let to = section.read("to", |field| stage_amount(&field, shape));
    let has_over = section.has("over");
    let has_to = section.has("to");
    if !has_over && !has_to {
        section.problem(
            "is empty; write over (how long) and to (the amount at its end), such as over = \
             \"60s\", to = 250",
        );
    }
    section.finish();
    let over = if has_over { over? } else { Duration::ZERO };
    Some(Stage {
        over,
        to: if has_to { to? } else { before },
    })
}

fn stage_amount(field: &Field<'_>, shape: Option<&Shape>) -> Option<f64> {
    let is_number = matches!(field.node.value, NodeValue::Whole(_));
    match shape {
        Some(Shape::Closed { .. }) if !is_number => {
            field.refuse(
                "is no number of virtual users, and connections makes this a closed loop; write \
                 one such as 250",
            );
            None
        }
        Some(Shape::Open { .. }) => rate(field.clone()).map(Rate::as_per_second),
        None if !is_number => rate(field.clone()).map(Rate::as_per_second),
        _ => connections(field.clone()).map(f64::from),
    }
}
