//! The report page: its content, and what hostile texts cannot do in it. The package `interop`
//! tests that a browser shows it.

use crate::golden::{assert_golden, campaign, document};
use analysis::{
    CampaignDocument, Contribution, Document, HeatColumn, HeatMap, HoldOutcome, Knee, LoadRecord,
    PercentileFigure, Row, RunSummary, SessionOffers, StageRecord, Takeover, Unattended,
};
use report::{Format, Style};

fn page(document: &Document) -> String {
    Format::Html.render(document, Style::PLAIN)
}

/// The page without style and script, which do not depend on the run.
fn body(page: &str) -> &str {
    let begin = page.find("<body>").unwrap();
    let end = page.find("</body>").unwrap();
    &page[begin..end]
}

#[test]
fn page_is_as_agreed() {
    let text = page(&document());
    let script = body(&text).find("<script>").unwrap();
    let shown = body(&text)[..script].replace("><", ">\n<");
    assert_golden("page.html", &shown);
}

#[test]
fn page_needs_nothing_but_itself() {
    let campaign = Format::Html.render_campaign(&campaign(), Style::PLAIN);
    for text in [page(&document()), campaign] {
        assert!(text.starts_with("<!DOCTYPE html>"));
        for foreign in [
            " src=",
            "<link",
            "@import",
            "url(",
            "fetch(",
            "XMLHttpRequest",
        ] {
            assert!(!text.contains(foreign), "{foreign}");
        }
        // Only scripts whose hash is in the policy are run.
        assert_eq!(text.matches("<script>").count(), 1);
        assert!(text.contains("script-src &apos;sha256-") || text.contains("script-src 'sha256-"));
        assert!(!text.contains("unsafe-inline"));
    }
}

#[test]
fn hostile_words_stay_words() {
    let hostile = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u{202e}\"'";
    let mut document = document();
    document.run.name = hostile.to_owned();
    document.plan.url = format!("https://edge.test/{hostile}");
    document.plan.text = hostile.to_owned();
    document.notes.push(hostile.to_owned());
    document.verdict.evidence.push(hostile.to_owned());
    document.agents[0].name = hostile.to_owned();
    document.machines[0].name = hostile.to_owned();
    document.measured.errors[0].name = hostile.to_owned();
    document.by_address[0].name = hostile.to_owned();
    for row in &mut document.series.rows {
        row.errors_by_kind.insert(hostile.to_owned(), 1);
    }
    let text = page(&document);
    assert!(!text.contains("<img") && !text.contains("<script>alert"));
    assert_eq!(text.matches("<script").count(), 2, "data and program");
    assert_eq!(text.matches("</script>").count(), 2);
}

#[test]
fn hour_is_a_page_below_a_megabyte() {
    let mut document = document();
    let row = |second: u32| Row {
        second,
        seconds: 1,
        started: 10_007 + u64::from(second),
        ended: 10_003,
        in_service: f64::from(second) / 7.0,
        response_time_p50_ns: 1_234_567 + u64::from(second),
        response_time_p90_ns: 2_234_567 + u64::from(second),
        response_time_p99_ns: 7_234_567 + u64::from(second),
        response_time_p999_ns: 9_234_567 + u64::from(second),
        response_time_max_ns: 91_234_567 + u64::from(second),
        phase_means_ns: ["connect", "handshake_full", "send", "first_byte", "receive"]
            .map(|phase| (phase.to_owned(), 1_234_567 + u64::from(second)))
            .into(),
        phase_parts_ns: [
            "connect",
            "handshake_full",
            "send",
            "first_byte",
            "receive",
            "queued",
            "other",
        ]
        .map(|phase| (phase.to_owned(), 1_234_567 + u64::from(second)))
        .into(),
        errors_by_kind: [("http.time_out".to_owned(), 3)].into(),
        ..Row::default()
    };
    document.series.rows = (0..3_600).map(row).collect();
    let machine = document.machines[0].clone();
    let machines = (0..5).map(|number| {
        let mut machine = machine.clone();
        machine.name = format!("load-{number}");
        let row = machine.rows[0].clone();
        let second = |second| analysis::MachineRow {
            second,
            cpu_busy: f64::from(second) / 3_601.0,
            ..row.clone()
        };
        machine.rows = (0..3_600).map(second).collect();
        machine
    });
    document.machines = machines.collect();
    document.heat_map = HeatMap {
        column_seconds: 15,
        row_ends_ns: (0..60).map(|row| 1_000_000 + row * 100_000).collect(),
        columns: (0..240)
            .map(|column| HeatColumn {
                second: column * 15,
                counts: (0..60).map(|row| row * 1_000).collect(),
            })
            .collect(),
    };
    let size = page(&document).len();
    assert!(size < 1_000_000, "{size} bytes");
}

#[test]
fn local_ports_have_a_plot_where_a_tenth_of_them_is_in_use() {
    let mut document = document();
    let title = "<b>Local ports</b>";
    for (ports, is_shown) in [(None, false), (Some(0.09), false), (Some(0.67), true)] {
        document.machines[0].rows[0].ports = ports;
        assert_eq!(page(&document).contains(title), is_shown, "{ports:?}");
    }
}

#[test]
fn what_happened_to_the_run_is_marked_where_it_happened() {
    let mut document = document();
    let marks = |document: &Document| page(document).matches("class=\"mark ").count();
    assert_eq!(marks(&document), 0);
    let timelines = page(&document).matches("class=\"timeline\"").count();
    document.fleet.contributions = vec![Contribution {
        from_second: 4,
        to_second: 5,
        agents: 1,
        whole: false,
    }];
    document.fleet.takeovers = vec![Takeover {
        agent: 1,
        to: vec![0],
        after_ns: 6_000_000_000,
    }];
    document.unattended = vec![Unattended {
        from_ns: 7_500_000_000,
        to_ns: 8_000_000_000,
        seconds: 0.5,
    }];
    let row = &mut document.series.rows[9];
    (row.ended, row.in_service) = (0, 34.0);
    let text = page(&document);
    for words in [
        "<b>4 s to 6 s</b> 1 of 2 agents contributed",
        "<b>6 s</b> load-2 was lost; its share went to load-1",
        "<b>7.5 s to 8 s</b> no coordinator was there",
        "<b>9 s to 10 s</b> nothing ended, with 34 operations under way",
    ] {
        assert!(text.contains(words), "{words}");
    }
    assert_eq!(marks(&document), 8 * timelines, "on both widths of each");
}

#[test]
fn what_was_asked_for_is_drawn_beside_what_was_measured() {
    let mut document = document();
    let wanted = |document: &Document| page(document).matches(" wanted\"").count();
    // Two thresholds are about response times, and a closed loop has a line of users.
    assert_eq!(wanted(&document), 3);
    document.plan.load = LoadRecord::Open {
        arrivals_per_second: 1_234.0,
        arrivals: "even".to_owned(),
        max_connections: 9,
        users: None,
        stages: 0,
    };
    assert_eq!(wanted(&document), 3);
    let LoadRecord::Open { stages, .. } = &mut document.plan.load else {
        panic!("it was made so");
    };
    *stages = 2;
    let lines = |document: &Document| {
        let text = page(document);
        let paths = text
            .split("<path class=\"")
            .filter(|it| it.contains(" wanted\""));
        paths.map(|it| it.matches('V').count()).collect::<Vec<_>>()
    };
    assert_eq!(wanted(&document), 2, "later amounts are not known");
    let second = 1_000_000_000_u64;
    let warm_up = document.run.warm_up_ns;
    let stage = |from, to, amounts: (f64, f64)| StageRecord {
        from_ns: warm_up + from * second,
        to_ns: warm_up + to * second,
        from: amounts.0,
        to: amounts.1,
    };
    document.plan.stages = vec![
        stage(0, 4, (1_234.0, 3_000.0)),
        stage(4, 4, (3_000.0, 2_000.0)),
    ];
    assert!(lines(&document)[0] > 3, "a ramp has a step for each second");
    let text = page(&document);
    for words in [
        "a ramp from 1.23k/s to 3k/s",
        "a step from 3k/s to 2k/s",
        "a hold of 2k/s",
        ">ramp to 3k/s</text>",
    ] {
        assert!(text.contains(words), "{words}");
    }
}

#[test]
fn part_that_is_far_from_the_others_is_named() {
    let mut document = document();
    let one = document.by_agent[0].clone();
    document.by_agent = (1..=5)
        .map(|number| {
            let mut group = one.clone();
            group.name = format!("load-{number}");
            group
        })
        .collect();
    let sentences = |document: &Document| {
        let text = page(document);
        text.matches("load-3 stands out").count() + text.matches(" stands out").count()
    };
    assert_eq!(sentences(&document), 0, "equal parts");
    let figures = &mut document.by_agent[2].figures;
    let times = figures.times.get_mut("response_time").unwrap();
    times
        .percentiles
        .iter_mut()
        .for_each(|figure| figure.value_ns *= 3);
    assert_eq!(sentences(&document), 2, "named once");
    document.by_agent[2].figures.operations.error_share = Some(0.5);
    assert_eq!(sentences(&document), 4, "and for its errors");
}

#[test]
fn address_that_refuses_sessions_of_another_is_seen_at_a_glance() {
    let mut document = document();
    let offers = |by: &str, to: &str, accepted| SessionOffers {
        issued_by: by.to_owned(),
        offered_to: to.to_owned(),
        offered: 100,
        accepted,
    };
    document.session_offers = vec![offers("a", "a", 100), offers("a", "b", 0)];
    let text = page(&document);
    assert!(text.contains("<td class=\"share s7\">100 / 100</td>"));
    assert!(text.contains("<td class=\"share s0\">0 / 100</td>"));
}

#[test]
fn broken_series_is_drawn_as_far_as_it_goes() {
    let mut document = document();
    let last = document.series.rows.len() - 1;
    document.series.rows[last].second = u32::MAX;
    document.series.rows[0].second = 7;
    document.series.row_seconds = 0;
    document.machines[0].rows[0].second = u32::MAX;
    document.heat_map = HeatMap {
        column_seconds: 0,
        row_ends_ns: vec![0, 5],
        columns: vec![HeatColumn {
            second: u32::MAX,
            counts: vec![1, 2, 3],
        }],
    };
    assert!(page(&document).contains("</html>"));
}

fn curve(factor: u64) -> Vec<PercentileFigure> {
    let point = |(percentile, value_ns)| PercentileFigure {
        percentile,
        value_ns: value_ns * factor,
        at_least: false,
    };
    let points = [(0.0, 1_000_000), (90.0, 3_000_000), (100.0, 9_000_000)];
    points.map(point).to_vec()
}

#[test]
fn every_run_has_a_curve_and_of_many_variants_the_slowest_a_colour() {
    let mut campaign = campaign();
    let run = campaign.runs[0].clone();
    let run = |(variant, repeat): (u64, u32)| RunSummary {
        variant: format!("variant-{variant}"),
        repeat,
        response_time_p99_ns: Some((100 - variant) * 1_000_000),
        response_time_curve: curve(100 - variant),
        ..run.clone()
    };
    campaign.runs = (0..20).flat_map(|it| [(it, 0), (it, 1)]).map(run).collect();
    let text = Format::Html.render_campaign(&campaign, Style::PLAIN);
    let begin = text.find("<b>Percentiles of response times</b>").unwrap();
    let narrow = begin + text[begin..].find("class=\"narrow\"").unwrap();
    let figure = &text[begin..narrow];
    for (class, curves) in [("line grey", 24), ("line c0", 2), ("line c7", 2)] {
        assert_eq!(figure.matches(class).count(), curves, "{class}");
    }
    assert!(figure.contains("the fastest 12 are grey"), "{figure}");
    let legend = &text[begin..begin + text[begin..].find("</figure>").unwrap()];
    let named = |variant: u32| legend.contains(&format!("</span>variant-{variant}</li>"));
    assert_eq!((named(0), named(7), named(8)), (true, true, false));

    campaign.runs.truncate(2);
    let text = Format::Html.render_campaign(&campaign, Style::PLAIN);
    assert!(text.contains("</span>repeat 2</li>"), "one variant");
}

#[test]
fn earlier_run_lies_over_the_curves_of_a_page() {
    let mut document = document();
    let times = document.measured.times.get_mut("response_time").unwrap();
    times.percentile_curve = curve(1);
    let mut compared = campaign();
    compared.runs[0].response_time_curve = curve(2);
    let text = report::page_against_baseline(&document, &compared);
    for words in [
        "</span>response time, baseline</li>",
        "Against the baseline",
    ] {
        assert!(text.contains(words), "{words}");
        assert!(!page(&document).contains(words), "{words}");
    }
    let drawn = |text: &str| text.matches("<path class=\"line c2\"").count();
    assert_eq!(drawn(&text), drawn(&page(&document)) + 2, "wide and narrow");
}

#[test]
fn parts_of_the_mean_time_lie_over_one_another() {
    let mut document = document();
    assert!(!page(&document).contains("class=\"area"), "not known");
    for row in &mut document.series.rows {
        let parts = [("connect", 10_000_000), ("queued", 30_000_000)];
        row.phase_parts_ns = parts.map(|(name, ns)| (name.to_owned(), ns)).into();
    }
    let text = page(&document);
    let areas: Vec<&str> = text.split("<path class=\"area c").skip(1).collect();
    assert_eq!(areas.len(), 2, "drawn once for both widths");
    // The sum is 40 ms, with 5 % of room above it; each area reaches down to the axis.
    for (area, expected) in areas.iter().zip([40.0, 10.0]) {
        let place = area
            .split('V')
            .nth(1)
            .and_then(|rest| rest.split('H').next());
        let height = (214.0 - place.unwrap().parse::<f64>().unwrap()) / 198.0 * 42.0;
        assert!((height - expected).abs() < 0.1, "{height}, not {expected}");
    }
}

#[test]
fn agents_have_a_picture_only_if_one_was_missing_under_load() {
    let mut document = document();
    for row in &mut document.series.rows {
        row.agents = if row.second < 12 { 2 } else { 1 };
    }
    let has = |document: &Document| page(document).contains("data-timeline=\"agents\"");
    assert!(!has(&document), "the load ends at 12 s");
    document.series.rows[7].agents = 1;
    assert!(has(&document));
}

#[test]
fn search_shows_how_its_range_closed() {
    let mut campaign = campaign();
    campaign.searches.truncate(1);
    let search = &mut campaign.searches[0].search;
    let hold = search.steps[0].clone();
    let step = |step, amount, outcome: HoldOutcome| {
        let mut hold = hold.clone();
        (hold.step, hold.amount, hold.result.outcome) = (step, amount, outcome);
        hold
    };
    let failed = || HoldOutcome::Failed {
        reasons: Vec::new(),
    };
    search.steps = vec![
        step(1, 100.0, HoldOutcome::Passed),
        step(2, 400.0, failed()),
        step(3, 200.0, HoldOutcome::Passed),
        step(4, 280.0, failed()),
    ];
    search.knee = None;
    let widths = |campaign: &CampaignDocument| -> Vec<f64> {
        let text = Format::Html.render_campaign(campaign, Style::PLAIN);
        let begin = text.find("aria-label=\"Range after each hold\"").unwrap();
        let picture = &text[begin..begin + text[begin..].find("</svg>").unwrap()];
        let bars = picture.split("<rect class=\"tail\"").skip(1);
        let width = |bar: &str| {
            bar.split("width=\"")
                .nth(1)
                .unwrap()
                .split('"')
                .next()
                .map(|width| width.parse().unwrap())
        };
        bars.map(|bar| width(bar).unwrap()).collect()
    };
    let closing = widths(&campaign);
    assert_eq!(closing.len(), 4);
    assert!(
        closing.windows(2).all(|pair| pair[1] < pair[0]),
        "{closing:?}"
    );
    // The axis is logarithmic, and each hold halves the rest.
    assert!((closing[1] / closing[2] - 2.0).abs() < 0.02, "{closing:?}");
    // A hold that contradicts others leaves no range.
    campaign.searches[0]
        .search
        .steps
        .push(step(5, 300.0, HoldOutcome::Passed));
    assert_eq!(widths(&campaign).len(), 4);
}

#[test]
fn knee_and_the_end_of_scaling_are_in_the_pictures() {
    let mut campaign = campaign();
    let has = |campaign: &CampaignDocument, words: &str| {
        let text = Format::Html.render_campaign(campaign, Style::PLAIN);
        text.contains(words)
    };
    let knee = Knee {
        users: 12.0,
        ok_per_second: 990.0,
        below: Some(8.0),
        plateau_ok_per_second: 1_000.0,
        up_to: 40.0,
        up_to_ok_per_second: 1_010.0,
    };
    for known in [None, Some(knee)] {
        let is_known = known.is_some();
        campaign
            .searches
            .iter_mut()
            .for_each(|it| it.search.knee.clone_from(&known));
        assert_eq!(has(&campaign, "aria-label=\"Rate by load\""), is_known);
    }
    assert!(has(&campaign, "on it stays at 1k/s"));
    for stops_at in [None, Some(2)] {
        campaign.scalings[0].scaling.stops_at = stops_at;
        let says = has(&campaign, "from 2 agents on, more bring nothing");
        assert_eq!(says, stops_at.is_some());
    }
}

#[test]
fn reasons_that_fill_a_screen_are_folded_behind_their_result() {
    let mut campaign = campaign();
    let search = &mut campaign.searches[0].search;
    search.statement = format!("200/s passed (it was {}); so", "slow, ".repeat(60));
    let text = Format::Html.render_campaign(&campaign, Style::PLAIN);
    assert!(text.contains("<summary>200/s passed …</summary>"), "{text}");
    campaign.searches[0].search.statement = "200/s passed (it was slow)".to_owned();
    let text = Format::Html.render_campaign(&campaign, Style::PLAIN);
    assert!(text.contains("<p>200/s passed (it was slow)</p>"), "{text}");
}
