//! The report page: a single file that needs no network and shows everything a result contains.
//! Tables and pictures are static; the script makes the timelines interactive.

mod axis;
mod campaign;
mod curves;
mod forest;
mod funnels;
mod heat_map;
mod live;
mod marks;
mod parts;
mod picture;
mod steps;
mod timeline;

pub(crate) use campaign::render_campaign;
pub(crate) use live::render_live;

use crate::content::{
    ContentBlock, JourneyRates, Section, Topic, content, limit_in_words, value_in_words, what_ran,
};
use crate::headline::{meaning, tone, verdict};
use crate::style::Paint;
use analysis::human::{counted, exact, number, percentile, share};
use analysis::{CampaignDocument, Document, FigureGroup, HeatMap, Judgement, RunState};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use curves::Curve;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use picture::{MeasuredPart, TimeFrame};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use timeline::{POINTS_MAX, TimeChart, TimeCharts};

const STYLE: &str = concat!(
    include_str!("html/assets/uplot.css"),
    include_str!("html/assets/page.css")
);

const SCRIPT: &str = concat!(
    include_str!("html/assets/uplot.js"),
    include_str!("html/assets/page.js")
);

/// The script of a page that a server sends while the run goes on.
const LIVE_SCRIPT: &str = concat!(
    include_str!("html/assets/uplot.js"),
    include_str!("html/assets/page.js"),
    include_str!("html/assets/live.js")
);

/// The page contains uPlot, whose licence asks to be included.
const LICENCE: &str = include_str!("html/assets/uplot.LICENSE");

/// Points of a line in a static picture.
const DRAWN_MAX: usize = 300;

/// How often a browser without scripts reloads a live page.
const REFRESH_SECONDS: u32 = 5;

/// A cell with more characters is broken into lines.
const CELL_MAX: usize = 36;

/// A table with more rows is collapsed.
const ROWS_OPEN: usize = 40;

/// The page of a run. `compared`, if given, has an earlier run as its first variant and this one as
/// its second.
pub(crate) fn render(document: &Document, compared: Option<&CampaignDocument>) -> String {
    let head = head(document, &what_ran(document), &outcome(document));
    let body = body(document, &head, compared);
    page(&title(document), &data(document), &body)
}

fn title(document: &Document) -> String {
    format!("{}: {}", document.run.name, crate::headline(document))
}

fn body(document: &Document, head: &Markup, compared: Option<&CampaignDocument>) -> Markup {
    let content = content(document);
    let percentiles = content.iter().find(|part| part.topic == Topic::Percentiles);
    let is_below = |part: &&Section| !matches!(part.topic, Topic::Percentiles | Topic::Notes);
    html! {
        (head)
        main {
            (headline(document))
            @if let Some(percentiles) = percentiles {
                section {
                    h2 { (percentiles.title) }
                    (percentile_curves(document, compared))
                    (blocks(percentiles))
                }
            }
            (timelines(document))
            @if let Some(compared) = compared { (campaign::against_baseline(compared)) }
            @for part in content.iter().filter(is_below) { (section(document, part)) }
            (plan(document))
            (trust(document))
        }
    }
}

/// A complete page around `body`.
fn page(title: &str, data: &Value, body: &Markup) -> String {
    frame(title, data, body, None)
}

/// As [`page`]. A page with a version is sent by a server, and its script asks for newer versions.
fn frame(title: &str, data: &Value, body: &Markup, version: Option<u64>) -> String {
    let script = version.map_or(SCRIPT, |_| LIVE_SCRIPT);
    let page = html! {
        (DOCTYPE)
        html lang="en" data-version=[version] {
            (page_head(title, script, version.is_some()))
            body {
                @if version.is_some() {
                    p id="connection" class="verdict bad" role="status" hidden {}
                }
                (body)
                script type="application/json" id="data" { (PreEscaped(embed(data))) }
                script { (PreEscaped(script)) }
                (PreEscaped(format!("<!-- uPlot, {} -->", LICENCE.replace("--", "- -"))))
            }
        }
    };
    let mut text = page.into_string();
    text.push('\n');
    text
}

fn page_head(title: &str, script: &str, is_live: bool) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(content_policy(script, is_live));
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="generator" content={ "Cannonade " (env!("CARGO_PKG_VERSION")) };
            @if is_live {
                noscript { meta http-equiv="refresh" content=(REFRESH_SECONDS); }
            }
            title { (title) }
            style { (PreEscaped(STYLE)) }
        }
    }
}

/// Names, headers and server messages are escaped as text. This policy is a second line of defence:
/// it lets no script run but our own (Content Security Policy Level 3, section 2.3.1).
fn content_policy(script: &str, is_live: bool) -> String {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    format!(
        "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'{}",
        hash(STYLE),
        hash(script),
        if is_live { "; connect-src 'self'" } else { "" }
    )
}

/// JSON inside a page; it must not contain anything that closes the surrounding element.
fn embed(data: &Value) -> String {
    data.to_string().replace('<', "\\u003c")
}

/// What was run, on one line, and the outcome.
fn head(document: &Document, ran: &str, outcome: &Markup) -> Markup {
    html! {
        header {
            h1 { (document.run.name) span class="url" { (document.plan.url) } }
            p class="faint" { (ran) }
            (outcome)
        }
    }
}

fn outcome(document: &Document) -> Markup {
    let record = &document.verdict;
    html! {
        div class={ "verdict " (class(tone(record.verdict))) } {
            p class="name" { (verdict(document)) }
            p { (meaning(document)) }
            ul {
                @for sentence in &record.evidence { li { (sentence) } }
                @for sentence in &record.missing {
                    li class="faint" { "to know more: " (sentence) }
                }
            }
        }
        @if document.run.state != RunState::Complete {
            p class="verdict doubtful" {
                "This run did not go through its plan: " (state(document.run.state)) "."
            }
        }
    }
}

fn state(state: RunState) -> &'static str {
    match state {
        RunState::Complete => "complete",
        RunState::Interrupted => "it was stopped, and what was measured counts",
        RunState::Incomplete => "no agent began, or the coordinator had not finished writing it",
    }
}

fn class(paint: Paint) -> &'static str {
    match paint {
        Paint::Plain | Paint::Title => "",
        Paint::Good => "good",
        Paint::Bad => "bad",
        Paint::Doubtful => "doubtful",
        Paint::Faint => "faint",
    }
}

/// The most important figures, and the margins of thresholds.
fn headline(document: &Document) -> Markup {
    html! {
        section class="tiles" {
            @for (name, value, about) in tiles(document) {
                div { p class="faint" { (name) } p class="value" { (value) } p class="faint" {
                    (about)
                } }
            }
        }
        @if !document.thresholds.is_empty() {
            section class="margins" {
                h2 { "Margins" }
                @for judgement in &document.thresholds { (margin(judgement)) }
            }
        }
    }
}

/// The name of each figure, its value, and what it refers to.
fn tiles(document: &Document) -> [(&'static str, String, String); 5] {
    let figures = &document.measured;
    let operations = &figures.operations;
    let time = |name: &'static str, at: f64| {
        let found = figures.percentile("response_time", at);
        let value = found.map_or_else(|| "–".to_owned(), percentile);
        (name, value, "response time".to_owned())
    };
    let (name, carried, asked) = throughput(document);
    let asked = format!("of {}/s", exact(&number(asked)));
    let carried = format!("{}/s", number(carried));
    let errors = share(operations.error_share.unwrap_or(0.0));
    let of_ended = format!("{} of {}", operations.errors, operations.ended);
    [
        (name, carried, asked),
        time("median", 50.0),
        time("p99", 99.0),
        time("p99.9", 99.9),
        ("errors", errors, of_ended),
    ]
}

/// What was carried per second, of what, in the unit of the plan's load.
fn throughput(document: &Document) -> (&'static str, f64, f64) {
    if document.has_journeys() {
        let JourneyRates { completed, due } = JourneyRates::new(document);
        return ("journeys", completed, due);
    }
    let rates = &document.measured.rates;
    let asked = rates.due_per_second.max(rates.started_per_second);
    ("carried", rates.ok_per_second, asked)
}

/// What part of its limit a threshold's figure used.
fn margin(judgement: &Judgement) -> Markup {
    let used = judgement.actual.map(|actual| actual / judgement.limit);
    let used = used.filter(|used| used.is_finite());
    let width = used.map_or(0.0, |used| (used / 2.0).clamp(0.0, 1.0) * 100.0);
    html! {
        div class={ "margin " (if judgement.passed { "good" } else { "bad" }) } {
            span class="what" { (if judgement.passed { "✓ " } else { "✗ " })
                (limit_in_words(judgement)) }
            svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
                rect class="room" x="0" y="1" width="100" height="6" {}
                rect class="used" x="0" y="1" width=(format!("{width:.1}")) height="6" {}
                line class="limit" x1="50" y1="0" x2="50" y2="8" {}
            }
            span { (value_in_words(judgement)) }
        }
    }
}

fn measured_part(document: &Document) -> MeasuredPart {
    let from = document.run.warm_up_ns as f64 / 1e9;
    MeasuredPart {
        from,
        to: from + document.run.duration_ns as f64 / 1e9,
    }
}

fn percentile_curves(document: &Document, compared: Option<&CampaignDocument>) -> Markup {
    let mut times = document.measured.times.values();
    html! {
        @if times.any(|time| !time.percentile_curve.is_empty()) {
            (curves::figure("", "of all measured operations", curves(document, compared)))
        }
    }
}

fn timelines(document: &Document) -> Markup {
    let charts = TimeCharts::new(document, DRAWN_MAX);
    let marks = marks::marks(document);
    let frame = TimeFrame {
        bounds: &charts.bounds,
        part: measured_part(document),
        marks: &marks,
    };
    html! {
        @if !charts.timelines.is_empty() {
            section id="timelines" {
                h2 { "Over time" }
                p class="faint script" {
                    "Drag to look closer, double-click for all; a click on a name hides its line."
                }
                (marks::list(&marks))
                @for chart in &charts.timelines {
                    (timeline(chart, frame))
                    @if chart.id == "times" {
                        (heat_map(&document.heat_map, frame))
                        (parts_of_mean(charts.parts.as_ref(), frame))
                    }
                }
            }
        }
    }
}

fn timeline(chart: &TimeChart, frame: TimeFrame<'_>) -> Markup {
    html! {
        figure class="timeline" data-timeline=(chart.id) {
            (caption(chart))
            div class="picture" { (picture::timeline(chart, frame)) }
            (line_names(chart))
        }
    }
}

fn caption(chart: &TimeChart) -> Markup {
    html! { figcaption { b { (chart.title) } " " (chart.about) } }
}

fn line_names(chart: &TimeChart) -> Markup {
    picture::legend(chart.lines.iter().map(|line| line.name.clone()))
}

/// All response times. Marks would hide cells.
fn heat_map(map: &HeatMap, frame: TimeFrame<'_>) -> Markup {
    let frame = TimeFrame {
        marks: &[],
        ..frame
    };
    html! {
        @if !map.is_empty() {
            figure id="heat" {
                figcaption { b { "Response times" } " " (heat_map::legend(map)) }
                div class="picture" { (heat_map::draw(map, frame)) }
                p class="reading" {}
            }
        }
    }
}

/// Where the mean response time went.
fn parts_of_mean(chart: Option<&TimeChart>, frame: TimeFrame<'_>) -> Markup {
    html! {
        @if let Some(chart) = chart {
            figure id="parts" {
                (caption(chart))
                div class="picture" { (picture::stack(chart, frame)) }
                (line_names(chart))
            }
        }
    }
}

/// The percentile curves of this run and of an earlier one.
fn curves<'d>(document: &'d Document, compared: Option<&'d CampaignDocument>) -> Vec<Curve<'d>> {
    let times = &document.measured.times;
    let own = ["response_time", "service_time"].map(|name| {
        let points = times
            .get(name)
            .map_or(&[][..], |time| &time.percentile_curve);
        (name.replace('_', " "), points)
    });
    let earlier = compared.and_then(|compared| compared.runs.first());
    let earlier = earlier.map(|run| {
        let name = "response time, baseline".to_owned();
        (name, &run.response_time_curve[..])
    });
    let all = own.into_iter().chain(earlier).enumerate();
    all.map(|(colour, (name, points))| Curve {
        name,
        colour: Some(colour),
        points,
    })
    .collect()
}

/// A section, with the picture for its topic.
fn section(document: &Document, section: &Section) -> Markup {
    let parts: &[FigureGroup] = match section.topic {
        Topic::Requests => &document.by_request,
        Topic::Addresses => &document.by_address,
        Topic::Labels => &document.by_label,
        Topic::Agents => &document.by_agent,
        _ => &[],
    };
    html! {
        section {
            h2 { (section.title) }
            @if section.topic == Topic::Journeys { (funnels::funnels(&document.journeys)) }
            (parts::parts(parts))
            (blocks(section))
        }
    }
}

fn blocks(section: &Section) -> Markup {
    html! {
        @for block in &section.blocks {
            @if let ContentBlock::Items(remarks) | ContentBlock::Remarks(remarks) = block {
                ul {
                    @for remark in remarks { li class=(class(remark.paint)) { (remark.text) } }
                }
            }
            @if let Some(rows) = block.to_table() {
                (table(&rows.headings, &rows.rows, &rows.shares))
            }
        }
    }
}

/// A long table is collapsed, so that readers find what follows it.
fn table(headings: &[String], rows: &[Vec<String>], shares: &[Vec<Option<f64>>]) -> Markup {
    html! {
        @if rows.len() > ROWS_OPEN {
            details {
                summary { (rows.len()) " rows" }
                (open_table(headings, rows, shares))
            }
        } @else {
            (open_table(headings, rows, shares))
        }
    }
}

/// The larger a cell's share, the darker its background.
fn open_table(headings: &[String], rows: &[Vec<String>], shares: &[Vec<Option<f64>>]) -> Markup {
    let shade = |row: usize, cell: usize| {
        let share = (*shares.get(row)?.get(cell)?)?;
        Some(format!("share s{}", (share.clamp(0.0, 1.0) * 7.0).round()))
    };
    html! {
        div class="scroll" tabindex="0" {
            table {
                @if headings.iter().any(|heading| !heading.is_empty()) {
                    thead { tr { @for heading in headings { th { (heading) } } } }
                }
                tbody {
                    @for (number, row) in rows.iter().enumerate() {
                        tr {
                            @for (place, cell) in row.iter().enumerate() {
                                td class=[shade(number, place).or_else(|| long_text(cell))] {
                                    (cell)
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The class for sentences in a table, which are broken into lines to leave room for numbers.
fn long_text(cell: &str) -> Option<String> {
    (cell.chars().count() > CELL_MAX).then(|| "text".to_owned())
}

fn plan(document: &Document) -> Markup {
    html! {
        section {
            h2 { "Plan" }
            p class="faint" { "SHA-256 " code { (document.plan.digest) } }
            details { summary { "as it was given" } pre { (document.plan.text) } }
            @if !document.plan.canonical_text.is_empty() {
                details {
                    summary { "with every default" }
                    pre { (document.plan.canonical_text) }
                }
            }
        }
    }
}

/// How the run was measured, and what limits trust in its figures.
fn trust(document: &Document) -> Markup {
    let machine = |facts: &analysis::MachineFacts| {
        format!(
            "{}, {} CPUs, Linux {}",
            facts.cpu_model, facts.cpus, facts.kernel
        )
    };
    html! {
        section {
            h2 { "How it was measured" }
            @if !document.notes.is_empty() {
                ul { @for note in &document.notes { li { (note) } } }
            }
            details {
                summary { (counted(document.agents.len() as u64, "agent")) }
                ul {
                    @for agent in &document.agents {
                        li { (agent.name) ": " (machine(&agent.facts)) }
                    }
                }
            }
            p class="faint" {
                "Cannonade " (document.tool_version) " · run " (document.run.id) " · "
                (document.run.started_at)
            }
        }
    }
}

/// The data that the script draws.
fn data(document: &Document) -> Value {
    let charts = TimeCharts::new(document, POINTS_MAX);
    let part = measured_part(document);
    let marks = marks::marks(document);
    let marks = marks
        .iter()
        .map(|mark| (mark.from, mark.to, mark.tone.name(), &mark.label));
    let starts = charts.bounds.split_last();
    json!({
        "seconds": starts.map_or(&[][..], |(_, starts)| starts),
        "end": charts.bounds.last(),
        "measured": [part.from, part.to],
        "marks": marks.collect::<Vec<_>>(),
        "timelines": charts.timelines.iter().map(chart_data).collect::<Vec<_>>(),
        "heat": document.heat_map,
        "frame": frame_data(),
    })
}

fn chart_data(chart: &TimeChart) -> Value {
    let lines = chart.lines.iter();
    json!({
        "id": chart.id,
        "unit": chart.unit.name(),
        "log": chart.is_log,
        "names": lines.clone().map(|line| &line.name).collect::<Vec<_>>(),
        "wanted": lines.clone().map(|line| line.is_wanted).collect::<Vec<_>>(),
        "values": lines.map(|line| short(&line.values)).collect::<Vec<_>>(),
    })
}

/// The script draws in the same place as the pictures that it replaces.
fn frame_data() -> Value {
    json!({
        "height": picture::HEIGHT,
        "left": picture::LEFT,
        "right": picture::RIGHT,
        "top": picture::TOP,
        "bottom": picture::HEIGHT - picture::BOTTOM,
    })
}

/// Numbers rounded to four digits; a picture cannot show more.
fn short(values: &[Option<f64>]) -> Vec<Value> {
    let rounded = |value: f64| {
        let power = 10_f64.powf(value.abs().max(1e-12).log10().floor() - 3.0);
        let value = (value / power).round() * power;
        // JSON writes whole numbers without a decimal point, which is shorter.
        if value.fract() == 0.0 && value.abs() < 9e15 {
            json!(value as i64)
        } else {
            json!((value * 1e6).round() / 1e6)
        }
    };
    let value = |value: &Option<f64>| value.map_or(Value::Null, rounded);
    values.iter().map(value).collect()
}
