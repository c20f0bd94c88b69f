//! A campaign written by hand, rendered in every format and compared with golden files, as
//! `formats.rs` does for a run.

use crate::golden::{assert_golden, campaign, golden};
use analysis::{CampaignDocument, ComparedPair, LimitOutcome, PairChange, RunState};
use report::{Format, Style, read_campaign};

#[test]
fn campaign_renders_in_every_format_as_agreed() {
    for (format, name) in [
        (Format::Json, "campaign-v1.json"),
        (Format::Console, "campaign.txt"),
        (Format::Markdown, "campaign.md"),
        (Format::Csv, "campaign.csv"),
        (Format::Junit, "campaign.xml"),
    ] {
        assert_golden(name, &format.render_campaign(&campaign(), Style::PLAIN));
    }
}

#[test]
fn lower_bounds_are_told_in_csv() {
    let mut campaign = campaign();
    campaign.runs[0].response_time_p99_at_least = true;
    let text = Format::Csv.render_campaign(&campaign, Style::PLAIN);
    let mut p99 = text
        .lines()
        .filter(|line| line.contains("response_time_p99,"));
    assert!(
        p99.next().is_some_and(|line| line.ends_with("; at_least")),
        "{text}"
    );
}

#[test]
fn what_differs_from_a_baseline_is_a_table_with_the_noise() {
    let mut campaign = campaign();
    campaign.capacities.clear(); // they belong to the searches
    assert_golden("baseline.md", &report::against_baseline(&campaign));
}

#[test]
fn headline_of_a_search_says_what_was_found() {
    let mut campaign = campaign();
    campaign.runs.clear();
    campaign.limits.clear();
    campaign.searches.truncate(1);
    let scalings = std::mem::take(&mut campaign.scalings);
    assert_eq!(report::campaign_headline(&campaign), "320 users passed");
    campaign.searches[0].search.answer = None;
    campaign.state = RunState::Interrupted;
    assert_eq!(report::campaign_headline(&campaign), "interrupted");
    campaign.scalings = scalings;
    let stopped = "interrupted · stops rising at 3 agents";
    assert_eq!(report::campaign_headline(&campaign), stopped);
    campaign.scalings[0].scaling.stops_at = None;
    let rising = "interrupted · no stop was seen";
    assert_eq!(report::campaign_headline(&campaign), rising);
}

#[test]
fn newer_campaign_is_refused_with_a_cure() {
    let text = std::fs::read_to_string(golden("campaign-v1.json")).unwrap();
    let newer = text.replacen("\"schema\": 1", "\"schema\": 9", 1);
    let error = read_campaign(newer.as_bytes()).unwrap_err().to_string();
    assert!(
        error.contains("schema 9") && error.contains("use the version that wrote it"),
        "{error}"
    );
    assert!(
        read_campaign(b"{}")
            .unwrap_err()
            .to_string()
            .starts_with("not a result of this tool")
    );
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [20, 30, 40, 60, 79, 80, 120, 200] {
        let text = Format::Console.render_campaign(
            &campaign(),
            Style {
                colour: false,
                width,
                unicode: false,
            },
        );
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(
            widest <= width && text.is_ascii(),
            "{widest} columns of {width}:\n{text}"
        );
    }
}

#[test]
fn every_row_of_the_table_has_all_columns() {
    let text = Format::Csv.render_campaign(&campaign(), Style::PLAIN);
    let columns = |line: &str| {
        let unquoted: Vec<&str> = line.split('"').step_by(2).collect();
        unquoted.concat().matches(',').count()
    };
    assert!(
        text.lines().count() > 100 && text.lines().all(|line| columns(line) == 10),
        "{text}"
    );
}

#[test]
fn hostile_names_stay_text() {
    let mut campaign = campaign();
    campaign.runs[0].variant = "\x1b[2J|\"<,\n".into();
    campaign.name = "a\u{7}b".into();
    for format in [
        Format::Console,
        Format::Markdown,
        Format::Csv,
        Format::Junit,
    ] {
        let text = format.render_campaign(&campaign, Style::PLAIN);
        assert!(
            !text.contains(['\x1b', '\u{7}']),
            "{}: {text}",
            format.name()
        );
    }
    assert!(
        Format::Junit
            .render_campaign(&campaign, Style::PLAIN)
            .contains("|&quot;&lt;,")
    );
    assert!(
        Format::Csv
            .render_campaign(&campaign, Style::PLAIN)
            .contains("|\"\"<, \",")
    );
}

#[test]
fn table_without_intervals_says_how_to_get_some() {
    let mut campaign = campaign();
    campaign.comparison.as_mut().unwrap().looked_at = 0;
    let text = Format::Console.render_campaign(&campaign, Style::PLAIN);
    assert!(
        text.contains("make repeats, or runs of 16 s or") && !text.contains("confidence"),
        "{text}"
    );
}

#[test]
fn variants_that_differ_in_one_axis_stand_beside_each_other_in_every_format() {
    let mut campaign = campaign();
    let comparison = campaign.comparison.as_mut().unwrap();
    let row = comparison.row("response_time.p99").unwrap();
    let change = row.cells[1].change.clone().unwrap();
    let name = row.name.clone();
    comparison.along_axes.push(ComparedPair {
        variant: "b2".to_owned(),
        against: "a2".to_owned(),
        changes: vec![PairChange { name, change }],
    });
    for format in [
        Format::Console,
        Format::Markdown,
        Format::Csv,
        Format::Html,
        Format::Json,
    ] {
        let rendered = format.render_campaign(&campaign, Style::PLAIN);
        let words = match format {
            Format::Json => "\"along_axes\"",
            _ => "b2 against a2",
        };
        assert!(rendered.contains(words), "{}: {rendered}", format.name());
    }
}

#[test]
fn empty_campaign_renders_everywhere() {
    let empty = CampaignDocument::new("0.1.0".into(), "x".into(), "2026-01-02T03:04:05Z".into());
    for format in Format::ALL {
        assert!(
            !format.render_campaign(&empty, Style::PLAIN).is_empty(),
            "{}",
            format.name()
        );
    }
    assert_eq!(
        (empty.exit_code(true), empty.state),
        (0, RunState::Incomplete)
    );
}

#[test]
fn exit_code_is_that_of_the_worst() {
    type Keep = fn(&mut CampaignDocument);
    let cases: [(&str, Keep, u8); 6] = [
        ("all of it", |_| {}, 3),
        (
            "runs with thresholds, one client-bound",
            |it| it.runs.retain(|run| run.variant == "https"),
            3,
        ),
        (
            "a failed threshold",
            |it| {
                it.runs
                    .retain(|run| run.variant == "https" && run.repeat == 0)
            },
            1,
        ),
        (
            "runs that passed",
            |it| it.runs.retain(|run| run.variant == "http"),
            0,
        ),
        (
            "a limit beyond the noise",
            |it| {
                it.runs.clear();
                it.limits
                    .retain(|limit| limit.outcome == LimitOutcome::Regressed);
            },
            1,
        ),
        (
            "a limit that cannot be told",
            |it| {
                it.runs.clear();
                it.limits
                    .retain(|limit| limit.outcome == LimitOutcome::Unknown);
            },
            3,
        ),
    ];
    for (what, keep, code) in cases {
        let mut campaign = campaign();
        campaign.scalings.clear();
        if what != "all of it" {
            campaign
                .searches
                .retain(|search| search.variant == "tickets");
            if !what.contains("limit") {
                campaign.limits.clear();
            }
        }
        keep(&mut campaign);
        assert_eq!(campaign.exit_code(false), code, "{what}");
    }
}

#[test]
fn comparison_with_too_many_or_too_few_cells_renders_everywhere() {
    let mut campaign = campaign();
    let comparison = campaign.comparison.as_mut().unwrap();
    let cell = comparison.rows[0].cells[0].clone();
    comparison.rows[0].cells.extend([cell.clone(), cell]);
    comparison.rows[1].cells.clear();
    for format in Format::ALL {
        let text = format.render_campaign(&campaign, Style::PLAIN);
        assert!(!text.is_empty(), "{}", format.name());
    }
}
