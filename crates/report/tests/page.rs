//! The report page: what it holds, and what hostile words cannot do in it. That a browser shows it
//! is tried in the package `interop`.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use analysis::{Document, HeatColumn, HeatMap, Row};
use report::{Format, Style, read, read_campaign};
use std::path::PathBuf;

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

fn document() -> Document {
    read(&std::fs::read(golden("result-v1.json")).unwrap()).unwrap()
}

fn page(document: &Document) -> String {
    Format::Html.render(document, Style::PLAIN)
}

/// Without the style and the program, which say nothing of the run.
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
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(golden("page.html"), &shown).unwrap();
    }
    let expected = std::fs::read_to_string(golden("page.html")).unwrap_or_default();
    assert!(shown == expected, "page.html differs; rendered:\n{shown}");
}

#[test]
fn page_needs_nothing_but_itself() {
    let campaign = std::fs::read(golden("campaign-v1.json")).unwrap();
    let campaign = read_campaign(&campaign).unwrap();
    let campaign = Format::Html.render_campaign(&campaign, Style::PLAIN);
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
        // Only what stands here with its hash is run.
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
