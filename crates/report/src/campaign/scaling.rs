//! Throughput by number of agents.

use super::{Section, variant_name};
use crate::style::Paint;
use analysis::human::{number, share, time_or_more};
use analysis::{ScalingRow, VariantScaling};

pub(super) fn section(scaled: &VariantScaling) -> Section {
    Section {
        title: format!("Agents: {}", variant_name(&scaled.variant, scaled.repeat, scaled.repeat + 1)),
        sentences: vec![(Paint::Title, scaled.scaling.statement.clone())],
        headings: vec!["agents", "begun/s", "ok/s", "p99", "errors", "worker", "verdict"],
        rows: scaled.scaling.rows.iter().map(row).collect(),
        ..Section::default()
    }
}

fn row(row: &ScalingRow) -> Vec<String> {
    vec![
        row.agents.to_string(),
        number(row.started_per_second),
        number(row.ok_per_second),
        row.response_time_p99_ns.map(|ns| time_or_more(ns as f64, row.response_time_p99_at_least)).unwrap_or_default(),
        row.error_share.map(share).unwrap_or_default(),
        row.busiest_worker_share.map(share).unwrap_or_default(),
        row.verdict.name().to_owned(),
    ]
}
