//! Reads `[thresholds]`.

use crate::rate::decimal;
use crate::read::field::Field;
use crate::read::section::PlanSection;
use crate::{Limit, Relation, Threshold, ThresholdMetric, duration};

const MAX_THRESHOLDS: usize = 1000;

pub(crate) fn read(section: &PlanSection<'_>) -> Vec<Threshold> {
    let fields = section.all();
    if fields.len() > MAX_THRESHOLDS {
        section.problem(format_args!(
            "has {} lines; write at most {MAX_THRESHOLDS}",
            fields.len()
        ));
        return Vec::new();
    }
    let mut thresholds: Vec<Threshold> = Vec::new();
    for (name, field) in fields {
        match one(name, &field) {
            Some(same) if thresholds.iter().any(|other| other.metric == same.metric) => {
                field.problem(format_args!(
                    "is {} once more; keep one of the two",
                    same.metric
                ));
            }
            threshold => thresholds.extend(threshold),
        }
    }
    thresholds
}

fn one(name: &str, field: &Field<'_>) -> Option<Threshold> {
    let metric: ThresholdMetric = name.parse().map_err(|why| field.problem(why)).ok()?;
    let example = example(&metric);
    let text = field.text(example)?.trim();
    let Some((comparison, rest)) = Relation::split(text) else {
        field.refuse(format_args!(
            "does not begin with <, <=, > or >=; write one such as {example}"
        ));
        return None;
    };
    let limit = limit(&metric, rest.trim())
        .map_err(|why| field.refuse(format_args!("compares with {:?}, which {why}", rest.trim())));
    limit.ok().map(|limit| Threshold {
        metric,
        comparison,
        limit,
    })
}

fn example(metric: &ThresholdMetric) -> &'static str {
    match metric {
        ThresholdMetric::Time { .. } => "\"<= 250ms\"",
        ThresholdMetric::Number(name) if name.ends_with(".share") => "\"<= 0.001\"",
        ThresholdMetric::Number(name) if name.ends_with("rate") => "\">= 1000\"",
        ThresholdMetric::Number(_) => "\"<= 10\"",
    }
}

fn limit(metric: &ThresholdMetric, text: &str) -> Result<Limit, String> {
    let ThresholdMetric::Number(name) = metric else {
        return duration::parse(text).map(Limit::Time);
    };
    // The names say what the numbers are: see NumberName.
    let is_share = name.ends_with(".share");
    let is_rate = name.ends_with("rate");
    let most = if is_share { 1.0 } else { f64::INFINITY };
    let number = match (text.strip_suffix('%'), text.strip_suffix("/s")) {
        (Some(percent), _) if is_share => decimal(percent.trim()).map(|percent| percent / 100.0),
        (_, Some(rate)) if is_rate => decimal(rate.trim()),
        _ => decimal(text),
    };
    match number {
        Some(number) if number <= most => Ok(Limit::Number(number)),
        Some(_) => Err(
            "is more than a share can be; write a number from 0 to 1, or a percentage such as \
             \"0.1%\""
                .to_owned(),
        ),
        None => Err(format!(
            "is not a number; write one such as {}",
            example(metric)
        )),
    }
}
