//! The Grafana dashboard in `examples`.

use serde_json::Value;
use std::collections::BTreeSet;

/// Suffixes of the names of a histogram's metrics.
const PARTS: [&str; 3] = ["_bucket", "_sum", "_count"];

/// A panel of the dashboard.
#[derive(Debug)]
pub(crate) struct Panel {
    id: u64,
    /// Left, top, width and height, in cells of a row of 24.
    place: [u64; 4],
    pub(crate) queries: Vec<String>,
}

fn dashboard() -> Value {
    serde_json::from_str(include_str!("../../../../examples/grafana/cannonade.json")).unwrap()
}

pub(crate) fn panels() -> Vec<Panel> {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    panels.map(panel).collect()
}

fn panel(panel: &Value) -> Panel {
    let targets = panel["targets"].as_array().unwrap().iter();
    Panel {
        id: panel["id"].as_u64().unwrap(),
        place: ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().unwrap()),
        queries: targets
            .map(|target| target["expr"].as_str().unwrap().to_owned())
            .collect(),
    }
}

/// Metrics that a query names.
fn metrics(query: &str) -> Vec<&str> {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let words = query.split(|c| !is_of_name(c));
    words
        .filter(|word| word.starts_with("cannonade_"))
        .collect()
}

#[test]
fn dashboard_asks_for_metrics_that_there_are_and_of_one_run() {
    let page = include_str!("../../../../crates/report/tests/golden/metrics.txt");
    let told: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    let mut asked = BTreeSet::new();
    for query in panels().iter().flat_map(|panel| &panel.queries) {
        let metrics = metrics(query);
        assert!(!metrics.is_empty(), "{query}");
        assert_eq!(
            query.matches("{run=\"$run\"}").count(),
            metrics.len(),
            "{query}"
        );
        asked.extend(metrics.into_iter().map(|metric| {
            let histogram = PARTS.iter().find_map(|part| metric.strip_suffix(part));
            histogram
                .filter(|name| told.contains(name))
                .unwrap_or(metric)
                .to_owned()
        }));
    }
    let told = |metric: &String| told.contains(metric.as_str());
    assert!(asked.iter().all(told), "{asked:?}");
    assert!(asked.len() >= 12, "{asked:?}");
    let variables = dashboard()["templating"]["list"].to_string();
    assert!(
        variables.contains("label_values(cannonade_run_info, run)"),
        "{variables}"
    );
}

#[test]
fn panels_have_numbers_and_places_of_their_own() {
    let panels = panels();
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel.id).collect();
    assert_eq!(ids.len(), panels.len());
    let mut taken = BTreeSet::new();
    for Panel { id, place, .. } in &panels {
        let [x, y, width, height] = *place;
        assert!(x + width <= 24, "{id} is beyond the row");
        for cell in (x..x + width).flat_map(|x| (y..y + height).map(move |y| (x, y))) {
            assert!(taken.insert(cell), "{id} lies over another one");
        }
    }
}
