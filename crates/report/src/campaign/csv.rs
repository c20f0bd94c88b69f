//! A campaign as one long table for spreadsheets and data frames, with one value per row (RFC 4180,
//! but with plain newlines).

use super::search::{outcome, purpose};
use analysis::{
    CampaignDocument, CapacityRow, Change, ComparedFigure, ComparedPair, Comparison, HoldRecord,
    RunSummary, ScalingRow, Unit, VariantScaling, VariantSearch,
};
use std::fmt::Write as _;

/// `amount` is the load that was held, or the number of agents. `low` and `high` are the ends of
/// the interval of a change.
const HEADER: &str = "section,variant,repeat,step,amount,name,value,unit,low,high,remark";

/// A row. An empty cell means that the column does not apply.
#[derive(Debug, Clone, Default)]
struct Line {
    section: &'static str,
    variant: String,
    repeat: Option<u32>,
    step: Option<u32>,
    amount: Option<f64>,
    name: String,
    value: Option<f64>,
    unit: &'static str,
    ends: Option<(f64, f64)>,
    remark: String,
}

pub(crate) fn render(campaign: &CampaignDocument) -> String {
    let mut lines: Vec<Line> = campaign.runs.iter().flat_map(run).collect();
    lines.extend(campaign.comparison.iter().flat_map(comparison));
    lines.extend(campaign.searches.iter().flat_map(search));
    lines.extend(campaign.capacities.iter().flat_map(capacity));
    lines.extend(campaign.scalings.iter().flat_map(scaling));
    let mut text = format!("{HEADER}\n");
    lines.iter().for_each(|line| write(&mut text, line));
    text
}

fn run(run: &RunSummary) -> Vec<Line> {
    let at = Line {
        section: "run",
        variant: run.variant.clone(),
        repeat: Some(run.repeat),
        remark: run.verdict.name().to_owned(),
        ..Line::default()
    };
    let values = [
        ("ended", Some(run.ended as f64), "count"),
        ("errors", Some(run.errors as f64), "count"),
        ("ok_per_second", Some(run.ok_per_second), "per_second"),
        (
            "response_time_p50",
            run.response_time_p50_ns.map(|ns| ns as f64),
            "ns",
        ),
        (
            "response_time_p99",
            run.response_time_p99_ns.map(|ns| ns as f64),
            "ns",
        ),
    ];
    let mut lines = each(&at, &values);
    mark_bound(
        &mut lines,
        "response_time_p50",
        run.response_time_p50_at_least,
    );
    mark_bound(
        &mut lines,
        "response_time_p99",
        run.response_time_p99_at_least,
    );
    lines
}

fn comparison(comparison: &Comparison) -> Vec<Line> {
    let rows = comparison.rows.iter();
    let figures = rows.flat_map(|row| figure(row, comparison));
    let pairs = comparison.along_axes.iter();
    let pairs = pairs.flat_map(|pair| along_axis(pair, comparison));
    figures.chain(pairs).collect()
}

fn scaling(scaled: &VariantScaling) -> Vec<Line> {
    let rows = scaled.scaling.rows.iter();
    let rows = rows.flat_map(|row| agents(row, &scaled.variant, scaled.repeat));
    let answer = Line {
        section: "answer",
        variant: scaled.variant.clone(),
        repeat: Some(scaled.repeat),
        name: "stops_at".into(),
        value: scaled.scaling.stops_at.map(f64::from),
        remark: scaled.scaling.statement.clone(),
        ..Line::default()
    };
    rows.chain([answer]).collect()
}

fn figure(figure: &ComparedFigure, comparison: &Comparison) -> Vec<Line> {
    let mut lines = Vec::new();
    for (variant, cell) in comparison.variants.iter().zip(&figure.cells) {
        let at = Line {
            variant: variant.clone(),
            name: figure.name.clone(),
            ..Line::default()
        };
        let remark = if cell.at_least { "at_least" } else { "" }.to_owned();
        lines.push(Line {
            section: "value",
            value: cell.value,
            unit: unit(figure.unit),
            remark,
            ..at.clone()
        });
        let change = cell.change.as_ref();
        lines.extend(change.map(|change| change_line("change", change, figure.unit, at)));
    }
    lines
}

/// The variant column names both variants if the two differ in one axis.
fn along_axis(pair: &ComparedPair, comparison: &Comparison) -> Vec<Line> {
    let changes = pair.changes.iter();
    let lines = changes.filter_map(|of_pair| {
        let at = Line {
            variant: format!("{} against {}", pair.variant, pair.against),
            name: of_pair.name.clone(),
            ..Line::default()
        };
        let unit = comparison.row(&of_pair.name)?.unit;
        Some(change_line("axis", &of_pair.change, unit, at))
    });
    lines.collect()
}

fn change_line(section: &'static str, change: &Change, unit: Unit, at: Line) -> Line {
    let ends = change
        .interval
        .map(|interval| (interval.low, interval.high));
    Line {
        section,
        value: change.estimate,
        // The unit of a change's estimate: for shares it is a difference, not a ratio.
        unit: if unit == Unit::Share {
            "difference"
        } else {
            "ratio"
        },
        ends,
        remark: change.text.clone(),
        ..at
    }
}

fn search(searched: &VariantSearch) -> Vec<Line> {
    let record = &searched.search;
    let at = Line {
        variant: searched.variant.clone(),
        repeat: Some(searched.repeat),
        ..Line::default()
    };
    let passed = record
        .answer
        .as_ref()
        .and_then(analysis::SearchAnswer::passed);
    let answer = Line {
        section: "answer",
        name: "passed".into(),
        value: passed,
        remark: record.statement.clone(),
        ..at.clone()
    };
    record
        .steps
        .iter()
        .flat_map(|step| hold(step, &at))
        .chain([answer])
        .collect()
}

fn hold(step: &HoldRecord, at: &Line) -> Vec<Line> {
    let figures = &step.result.figures;
    let remark = format!(
        "{}: {}",
        purpose(step.purpose),
        outcome(&step.result.outcome)
    );
    let at = Line {
        section: "hold",
        step: Some(step.step),
        amount: Some(step.amount),
        remark,
        ..at.clone()
    };
    let values = [
        (
            "started_per_second",
            Some(figures.started_per_second),
            "per_second",
        ),
        ("ok_per_second", Some(figures.ok_per_second), "per_second"),
        (
            "response_time_p50",
            figures.response_time_p50_ns.map(|ns| ns as f64),
            "ns",
        ),
        (
            "response_time_p99",
            figures.response_time_p99_ns.map(|ns| ns as f64),
            "ns",
        ),
        ("errors", Some(figures.errors as f64), "count"),
        ("busiest_worker", figures.busiest_worker_share, "share"),
    ];
    let mut lines = each(&at, &values);
    mark_bound(
        &mut lines,
        "response_time_p50",
        figures.response_time_p50_at_least,
    );
    mark_bound(
        &mut lines,
        "response_time_p99",
        figures.response_time_p99_at_least,
    );
    lines
}

fn capacity(row: &CapacityRow) -> Vec<Line> {
    let at = Line {
        section: "capacity",
        variant: row.variant.clone(),
        ..Line::default()
    };
    let knee = row.knee.as_ref();
    let mut lines = each(
        &at,
        &[
            ("passed", row.passed, ""),
            ("failed", row.failed, ""),
            ("knee", knee.map(|knee| knee.users), "users"),
            (
                "plateau_ok_per_second",
                knee.map(|knee| knee.plateau_ok_per_second),
                "per_second",
            ),
        ],
    );
    lines.extend(row.change.as_ref().map(|change| {
        let ends = change.high.map(|high| (change.low, high));
        Line {
            name: "capacity".into(),
            unit: "ratio",
            ends,
            remark: change.text.clone(),
            ..at
        }
    }));
    lines
}

fn agents(row: &ScalingRow, variant: &str, repeat: u32) -> Vec<Line> {
    let at = Line {
        section: "agents",
        variant: variant.to_owned(),
        repeat: Some(repeat),
        amount: Some(f64::from(row.agents)),
        remark: row.verdict.name().to_owned(),
        ..Line::default()
    };
    let values = [
        (
            "started_per_second",
            Some(row.started_per_second),
            "per_second",
        ),
        ("ok_per_second", Some(row.ok_per_second), "per_second"),
        (
            "response_time_p99",
            row.response_time_p99_ns.map(|ns| ns as f64),
            "ns",
        ),
        ("error_share", row.error_share, "share"),
        ("busiest_worker", row.busiest_worker_share, "share"),
        ("server_cpus", row.server_cpus, "count"),
    ];
    let mut lines = each(&at, &values);
    mark_bound(
        &mut lines,
        "response_time_p99",
        row.response_time_p99_at_least,
    );
    lines
}

/// Marks a figure as a lower bound, if it is one.
fn mark_bound(lines: &mut [Line], name: &str, at_least: bool) {
    let figures = lines
        .iter_mut()
        .filter(|line| at_least && line.name == name);
    figures.for_each(|line| line.remark.push_str("; at_least"));
}

fn each(at: &Line, values: &[(&str, Option<f64>, &'static str)]) -> Vec<Line> {
    let line = |&(name, value, unit): &(&str, Option<f64>, &'static str)| Line {
        name: name.into(),
        value,
        unit,
        ..at.clone()
    };
    values
        .iter()
        .filter(|(_, value, _)| value.is_some())
        .map(line)
        .collect()
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Ns => "ns",
        Unit::Count => "count",
        Unit::Share => "share",
        Unit::PerSecond => "per_second",
        Unit::BytesPerSecond => "bytes_per_second",
    }
}

fn write(text: &mut String, line: &Line) {
    let whole = |number: Option<u32>| number.map(|number| number.to_string()).unwrap_or_default();
    let real = |number: Option<f64>| {
        number
            .map(|number| format!("{number:.6}"))
            .map(trim_zeros)
            .unwrap_or_default()
    };
    let low = real(line.ends.map(|(low, _)| low));
    let high = real(line.ends.map(|(_, high)| high));
    let cells = [
        line.section.to_owned(),
        quote(&line.variant),
        whole(line.repeat),
        whole(line.step),
        real(line.amount),
        quote(&line.name),
        real(line.value),
        line.unit.to_owned(),
        low,
        high,
        quote(&line.remark),
    ];
    let _ = writeln!(text, "{}", cells.join(","));
}

fn trim_zeros(number: String) -> String {
    number
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
}

fn quote(text: &str) -> String {
    let clean: String = text
        .chars()
        .map(|c| if measure::is_unprintable(c) { ' ' } else { c })
        .collect();
    if clean.contains([',', '"']) {
        format!("\"{}\"", clean.replace('"', "\"\""))
    } else {
        clean
    }
}
