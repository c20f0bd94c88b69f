use super::*;
use crate::{PrometheusFormat, read};
use analysis::{ExponentialHistogram, RunState};
use std::collections::BTreeSet;

const NOW: Duration = Duration::from_secs(1_767_323_100);

fn document() -> Document {
    read(include_bytes!("../../tests/golden/result-v1.json")).unwrap()
}

fn metrics(document: &Document) -> Vec<OtlpMetric> {
    let request = OtlpRequest::decode(&otlp(document, NOW)[..]).unwrap();
    let resource = request.resource_metrics.into_iter().next().unwrap();
    resource.scope_metrics.into_iter().next().unwrap().metrics
}

fn named(metrics: &[OtlpMetric], name: &str) -> OtlpMetric {
    let metric = metrics.iter().find(|metric| metric.name == name);
    metric.unwrap_or_else(|| panic!("{name}")).clone()
}

/// The name that Prometheus derives from an OpenTelemetry metric.
fn at_prometheus(metric: &OtlpMetric) -> String {
    let unit = match metric.unit.as_str() {
        "s" => "_seconds",
        "By" => "_bytes",
        "1" => "_ratio",
        _ => "",
    };
    let total = if metric.sum.is_some() { "_total" } else { "" };
    format!("{}{unit}{total}", metric.name.replace('.', "_"))
}

#[test]
fn both_ways_tell_the_same_metrics_by_the_same_names() {
    let mut streamed = document();
    streamed.measured.streams.events = 70;
    let times = &mut streamed.measured.times;
    let some = times["service_time"].clone();
    times.insert("first_event".to_owned(), some.clone());
    times.insert("event_gap".to_owned(), some);
    let names = [document(), streamed].map(|document| assert_same_metrics(&document));
    let added: Vec<_> = names[1].difference(&names[0]).collect();
    let wanted = ["event_gap_seconds", "events_total", "first_event_seconds"];
    assert_eq!(
        added,
        wanted.map(|name| format!("cannonade_{name}")).each_ref()
    );
}

/// Returns the names of the metrics, by which both ways tell them.
fn assert_same_metrics(document: &Document) -> BTreeSet<String> {
    let page = String::from_utf8(PrometheusFormat::Text.render(document)).unwrap();
    let scraped: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    let pushed: BTreeSet<String> = metrics(document).iter().map(at_prometheus).collect();
    assert_eq!(
        pushed.iter().map(String::as_str).collect::<BTreeSet<_>>(),
        scraped
    );
    pushed
}

#[test]
fn every_value_of_a_histogram_is_in_a_bucket() {
    let mut document = document();
    for name in ["response_time", "service_time"] {
        let figure = document.measured.times.get_mut(name).unwrap();
        figure.exponential_histogram = ExponentialHistogram {
            scale: 3,
            offset: 160,
            counts: vec![9_000, 0, 900],
            zero_count: 90,
        };
        (figure.overflow, figure.count) = (7, 9_997);
    }
    for name in ["cannonade.response_time", "cannonade.service_time"] {
        let metric = named(&metrics(&document), name);
        assert!(metric.description.contains("6.1 %"));
        let histogram = metric.exponential_histogram.unwrap();
        assert_eq!(histogram.aggregation_temporality, CUMULATIVE);
        let point = &histogram.data_points[0];
        let counts = &point.positive.as_ref().unwrap().bucket_counts;
        assert_eq!(
            counts.iter().sum::<u64>() + point.zero_count,
            point.count,
            "{name}"
        );
    }
}

#[test]
fn counters_begin_with_the_run_and_have_its_id() {
    let operations = named(&metrics(&document()), "cannonade.operations")
        .sum
        .unwrap();
    assert!(operations.is_monotonic);
    let ok = &operations.data_points[0];
    // 2026-01-02T03:04:05Z.
    assert_eq!(ok.start_time_unix_nano, 1_767_323_045_000_000_000);
    assert_eq!(ok.time_unix_nano, NOW.as_nanos() as u64);
    assert_eq!(ok.as_int, Some(9_980));
    assert_eq!(
        ok.attributes,
        [attribute("run", "b2f1"), attribute("outcome", "ok")]
    );
}

#[test]
fn start_that_is_still_to_come_is_not_later_than_the_point() {
    let early = Duration::from_secs(1_767_323_000);
    let request = OtlpRequest::decode(&otlp(&document(), early)[..]).unwrap();
    let metric = &request.resource_metrics[0].scope_metrics[0].metrics[2];
    let point = &metric.sum.as_ref().unwrap().data_points[0];
    assert_eq!(point.start_time_unix_nano, point.time_unix_nano);
}

#[test]
fn run_that_goes_on_has_no_verdict_yet() {
    let mut document = document();
    document.run.state = RunState::Incomplete;
    let metrics = metrics(&document);
    assert!(
        metrics
            .iter()
            .all(|metric| metric.name != "cannonade.verdict")
    );
}

#[test]
fn refusal_is_told_in_the_collectors_words() {
    let partial = |rejected_data_points| OtlpResponse {
        partial_success: Some(messages::OtlpPartialSuccess {
            rejected_data_points,
            error_message: "too old".to_owned(),
        }),
    };
    let told = otlp_refusal(&partial(3).encode_to_vec());
    assert_eq!(told.as_deref(), Some("3 data points were refused: too old"));
    // An empty answer accepts everything, and so does a mere warning.
    assert_eq!(otlp_refusal(&partial(0).encode_to_vec()), None);
    assert_eq!(otlp_refusal(b""), None);
    assert_eq!(otlp_refusal(b"{}"), None);
}
