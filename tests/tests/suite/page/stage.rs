//! Documents to make pages of, and pages in files for the browser.

use analysis::{
    CampaignDocument, ComparedCell, Document, HeatColumn, HeatMap, LoadRecord, MachineRow,
    PercentileFigure, Row, SessionOffers, StageRecord,
};
use interop::Browser;
use report::{Format, Style, read, read_campaign};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Markup that a hostile name could contain.
pub(crate) const HOSTILE: &str =
    "</script><script>window.broken=1</script><img src=x onerror=window.broken=1>\u{202e}\"'`";

fn golden(name: &str) -> Vec<u8> {
    let reports = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/report/tests/golden");
    std::fs::read(reports.join(name)).unwrap()
}

/// The result that the golden files of `report` are made from.
pub(crate) fn document() -> Document {
    read(&golden("result-v1.json")).unwrap()
}

/// An hour of four agents, with everything that a page can draw.
pub(crate) fn hour() -> Document {
    let mut document = document();
    document.run.duration_ns = 3_590_000_000_000;
    document.run.warm_up_ns = 10_000_000_000;
    document.series.row_seconds = 1;
    document.series.rows = (0..3_600).map(row).collect();
    document.agents = four(&document.agents[0], |agent, name| agent.name = name);
    document.by_agent = four(&document.by_agent[0], |group, name| group.name = name);
    document.machines = four(&document.machines[0], |machine, name| {
        let row = machine.rows[0].clone();
        let second = |second| MachineRow {
            second,
            cpu_busy: f64::from(second) / 3_601.0,
            ..row.clone()
        };
        machine.rows = (0..3_600).map(second).collect();
        machine.name = name;
    });
    document.heat_map = HeatMap {
        column_seconds: 15,
        row_ends_ns: (0..60).map(|row| 1_000_000 + row * 100_000).collect(),
        columns: (0..240)
            .map(|column| HeatColumn {
                second: column * 15,
                counts: (0..60).map(|row| row * u64::from(column)).collect(),
            })
            .collect(),
    };
    let times = document.measured.times.get_mut("response_time").unwrap();
    times.percentile_curve = (0_u32..70)
        .map(|part| PercentileFigure {
            percentile: 100.0 - 100.0 / 10_f64.powf(f64::from(part) / 10.0),
            value_ns: 1_000_000 * u64::from(1 + part * part),
            at_least: part > 60,
        })
        .collect();
    document.session_offers = vec![offers(0, 1, 90), offers(1, 0, 3), offers(1, 1, 100)];
    document.plan.load = LoadRecord::Closed {
        connections: 34,
        max_connections: None,
        think_time: false,
        stages: 2,
    };
    document.plan.stages = vec![
        asked((10, 1_800), (34.0, 34.0)),
        asked((1_800, 3_600), (34.0, 50.0)),
    ];
    document
}

fn asked(seconds: (u64, u64), amounts: (f64, f64)) -> StageRecord {
    StageRecord {
        from_ns: seconds.0 * 1_000_000_000,
        to_ns: seconds.1 * 1_000_000_000,
        from: amounts.0,
        to: amounts.1,
    }
}

fn offers(by: u32, to: u32, accepted: u64) -> SessionOffers {
    SessionOffers {
        issued_by: format!("10.0.0.{by}:443"),
        offered_to: format!("10.0.0.{to}:443"),
        offered: 100,
        accepted,
    }
}

fn four<T: Clone>(one: &T, rename: impl Fn(&mut T, String)) -> Vec<T> {
    let named = |number| {
        let mut copy = one.clone();
        rename(&mut copy, format!("load-{number}"));
        copy
    };
    (1..=4).map(named).collect()
}

fn row(second: u32) -> Row {
    let wave = u64::from(second % 97);
    Row {
        second,
        seconds: 1,
        warm_up: second < 10,
        agents: 4,
        started: 10_007 + wave,
        ended: 10_003 + wave,
        errors: wave % 5,
        in_service: f64::from(second % 53),
        response_time_count: 10_007,
        response_time_p50_ns: 1_234_567 + wave * 1_000,
        response_time_p90_ns: 2_234_567 + wave * 3_000,
        response_time_p99_ns: 7_234_567 + wave * 9_000,
        response_time_p999_ns: 9_234_567 + wave * 11_000,
        response_time_max_ns: 91_234_567 + wave * 13_000,
        phase_means_ns: ["connect", "handshake_full", "send", "first_byte", "receive"]
            .map(|phase| (phase.to_owned(), 134_567 + wave))
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
        .map(|phase| (phase.to_owned(), 134_567 + wave))
        .into(),
        errors_by_kind: [("http.time_out".to_owned(), wave % 5)].into(),
        ..Row::default()
    }
}

/// A comparison of `variants` variants.
pub(crate) fn campaign(variants: usize) -> CampaignDocument {
    let mut campaign = read_campaign(&golden("campaign-v1.json")).unwrap();
    let name = |number: usize| format!("variant-{number}");
    let comparison = campaign.comparison.as_mut().unwrap();
    comparison.variants = (0..variants).map(name).collect();
    for row in &mut comparison.rows {
        let (first, others) = row.cells.split_first().unwrap();
        let cells = others.iter().cycle().take(variants - 1);
        let cells: Vec<ComparedCell> = std::iter::once(first).chain(cells).cloned().collect();
        row.cells = cells;
    }
    let runs = campaign.runs.clone();
    campaign.runs = (0..variants)
        .map(|number| {
            let mut run = runs[number % runs.len()].clone();
            run.variant = name(number);
            run
        })
        .collect();
    campaign
}

/// A page in a file.
pub(crate) struct PageFile {
    folder: TempDir,
}

impl PageFile {
    pub(crate) fn run(document: &Document) -> PageFile {
        PageFile::new(&Format::Html.render(document, Style::PLAIN))
    }

    pub(crate) fn campaign(document: &CampaignDocument) -> PageFile {
        PageFile::new(&Format::Html.render_campaign(document, Style::PLAIN))
    }

    fn new(page: &str) -> PageFile {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("report.html"), page).unwrap();
        PageFile { folder }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("report.html")
    }
}

/// Asserts that nothing on the page was refused, and no script failed.
pub(crate) fn assert_quiet(browser: &mut Browser) {
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

/// Asserts that the page itself does not scroll sideways; names what sticks out.
pub(crate) fn assert_fits(browser: &mut Browser) {
    let wide = browser.value(
        "(() => {
            const width = document.documentElement.clientWidth;
            if (document.documentElement.scrollWidth <= width) return [];
            return [...document.body.querySelectorAll('*')]
                .filter((element) => element.getBoundingClientRect().right > width + 1)
                .slice(0, 5)
                .map((element) => element.outerHTML.slice(0, 120));
        })()",
    );
    assert_eq!(wide, serde_json::json!([]), "wider than the window");
}
