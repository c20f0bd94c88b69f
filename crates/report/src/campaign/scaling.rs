//! Throughput by number of agents.

use super::{ReportSection, SectionSubject, headings_of, variant_name};
use crate::style::Paint;
use analysis::human::{number, share, time_or_more};
use analysis::{ScalingRow, VariantScaling};

pub(super) fn section(place: usize, scaled: &VariantScaling) -> ReportSection {
    let rows = &scaled.scaling.rows;
    let knows_server = rows.iter().any(|row| row.server_cpus.is_some());
    let mut headings = vec![
        "agents", "begun/s", "ok/s", "p99", "errors", "worker", "verdict",
    ];
    headings.extend(knows_server.then_some("server CPUs"));
    ReportSection {
        title: format!(
            "Agents: {}",
            variant_name(&scaled.variant, scaled.repeat, scaled.repeat + 1)
        ),
        subject: SectionSubject::Scaling(place),
        sentences: vec![(Paint::Title, scaled.scaling.statement.clone())],
        headings: headings_of(&headings),
        rows: rows.iter().map(|each| row(each, knows_server)).collect(),
        ..ReportSection::default()
    }
}

fn row(row: &ScalingRow, knows_server: bool) -> Vec<String> {
    let mut cells = vec![
        row.agents.to_string(),
        number(row.started_per_second),
        number(row.ok_per_second),
        row.response_time_p99_ns
            .map(|ns| time_or_more(ns as f64, row.response_time_p99_at_least))
            .unwrap_or_default(),
        row.error_share.map(share).unwrap_or_default(),
        row.busiest_worker_share.map(share).unwrap_or_default(),
        row.verdict.name().to_owned(),
    ];
    cells.extend(knows_server.then(|| row.server_cpus.map(number).unwrap_or_default()));
    cells
}
