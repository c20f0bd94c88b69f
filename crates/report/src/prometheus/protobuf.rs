//! The format with native histograms: the messages of `io.prometheus.client` that are used here,
//! with the field numbers of `prometheus/client_model`.

use super::{classic_buckets, sum_seconds};
use crate::run_metrics::{MetricKind, MetricSample, MetricValue, RunMetric, run_metrics};
use analysis::{Document, TimeFigure};
use prost::Message;

/// Numbers of the enum `MetricType`.
const COUNTER: i32 = 0;
const GAUGE: i32 = 1;
const HISTOGRAM: i32 = 4;

/// 2^-128 s, the default of Prometheus's own libraries. It marks a histogram as native even if it
/// has no values yet.
const ZERO_UP_TO: f64 = 2.938_735_877_055_719e-39;

#[derive(Clone, PartialEq, Message)]
struct PrometheusFamily {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    help: String,
    #[prost(int32, tag = "3")]
    kind: i32,
    #[prost(message, repeated, tag = "4")]
    metrics: Vec<PrometheusSample>,
}

/// Exactly one of the last three fields is set.
#[derive(Clone, PartialEq, Message)]
struct PrometheusSample {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<PrometheusLabel>,
    #[prost(message, optional, tag = "2")]
    gauge: Option<PrometheusValue>,
    #[prost(message, optional, tag = "3")]
    counter: Option<PrometheusValue>,
    #[prost(message, optional, tag = "7")]
    histogram: Option<PrometheusHistogram>,
}

#[derive(Clone, PartialEq, Message)]
struct PrometheusLabel {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, Message)]
struct PrometheusValue {
    #[prost(double, tag = "1")]
    value: f64,
}

#[derive(Clone, PartialEq, Message)]
struct PrometheusHistogram {
    #[prost(uint64, tag = "1")]
    count: u64,
    #[prost(double, tag = "2")]
    sum: f64,
    #[prost(message, repeated, tag = "3")]
    classic: Vec<PrometheusBucket>,
    #[prost(sint32, tag = "5")]
    schema: i32,
    #[prost(double, tag = "6")]
    zero_threshold: f64,
    #[prost(uint64, tag = "7")]
    zero_count: u64,
    #[prost(message, repeated, tag = "12")]
    spans: Vec<PrometheusSpan>,
    /// The difference of each bucket's count to that of the previous bucket.
    #[prost(sint64, repeated, tag = "13")]
    deltas: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct PrometheusBucket {
    #[prost(uint64, tag = "1")]
    cumulative_count: u64,
    #[prost(double, tag = "2")]
    upper_bound: f64,
}

#[derive(Clone, PartialEq, Message)]
struct PrometheusSpan {
    #[prost(sint32, tag = "1")]
    offset: i32,
    #[prost(uint32, tag = "2")]
    length: u32,
}

/// All metrics, each preceded by its length.
pub(super) fn messages(document: &Document) -> Vec<u8> {
    let families = run_metrics(document).into_iter();
    let families = families.map(|metric| family(&document.run.id, &metric));
    families
        .flat_map(|family| family.encode_length_delimited_to_vec())
        .collect()
}

fn family(run: &str, metric: &RunMetric<'_>) -> PrometheusFamily {
    let samples = metric.samples.iter();
    PrometheusFamily {
        name: metric.prometheus_name(),
        help: metric.help.to_owned(),
        kind: match metric.kind {
            MetricKind::Counter => COUNTER,
            MetricKind::Gauge => GAUGE,
            MetricKind::Times => HISTOGRAM,
        },
        metrics: samples.map(|s| sample(run, metric.kind, s)).collect(),
    }
}

fn sample(run: &str, kind: MetricKind, sample: &MetricSample<'_>) -> PrometheusSample {
    let label = |name: &str, value: &str| PrometheusLabel {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    let own = sample.labels.iter();
    let own = own.map(|(name, text)| label(name, text));
    let labelled = PrometheusSample {
        labels: [label("run", run)].into_iter().chain(own).collect(),
        ..PrometheusSample::default()
    };
    let value = match sample.value {
        MetricValue::Count(count) => count as f64,
        MetricValue::Number(number) => number,
        MetricValue::Times(figure) => {
            return PrometheusSample {
                histogram: Some(histogram(figure)),
                ..labelled
            };
        }
    };
    let value = Some(PrometheusValue { value });
    match kind {
        MetricKind::Counter => PrometheusSample {
            counter: value,
            ..labelled
        },
        MetricKind::Gauge | MetricKind::Times => PrometheusSample {
            gauge: value,
            ..labelled
        },
    }
}

fn histogram(figure: &TimeFigure) -> PrometheusHistogram {
    let buckets = figure.exponential_histogram.in_seconds(figure.overflow);
    let counts = buckets.counts.iter();
    let counts = counts.map(|&count| i64::try_from(count).unwrap_or(i64::MAX));
    let deltas = counts.scan(0, |before, count| {
        let delta = count - *before;
        *before = count;
        Some(delta)
    });
    let classic = classic_buckets(figure).map(|(upper_bound, cumulative_count)| PrometheusBucket {
        cumulative_count,
        upper_bound,
    });
    PrometheusHistogram {
        count: figure.count,
        sum: sum_seconds(figure),
        classic: classic.collect(),
        schema: i32::try_from(buckets.scale).unwrap_or(i32::MAX),
        zero_threshold: ZERO_UP_TO,
        zero_count: buckets.zero_count,
        deltas: deltas.collect(),
        spans: vec![PrometheusSpan {
            // Prometheus numbers buckets by their upper bounds, OpenTelemetry by their lower ones.
            offset: buckets.offset + 1,
            length: u32::try_from(buckets.counts.len()).unwrap_or(u32::MAX),
        }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::ExponentialHistogram;

    #[test]
    fn buckets_are_numbered_by_their_upper_bound() {
        // Three values of 1 s, and one of 2^(2/8) s.
        let figure = TimeFigure {
            count: 4,
            exponential_histogram: ExponentialHistogram {
                scale: 3,
                offset: 239,
                counts: vec![3, 0, 1],
                zero_count: 0,
            },
            ..TimeFigure::default()
        };
        let histogram = histogram(&figure);
        let (offset, length) = (1, 3);
        assert_eq!(histogram.spans, [PrometheusSpan { offset, length }]);
        assert_eq!(histogram.deltas, [3, -3, 1]);
        assert_eq!(histogram.schema, 3);
    }

    #[test]
    fn messages_say_what_the_text_says() {
        let document = include_bytes!("../../tests/golden/result-v1.json");
        let document = crate::read(document).unwrap();
        let (mut bytes, mut families) = (&messages(&document)[..], Vec::new());
        while !bytes.is_empty() {
            families.push(PrometheusFamily::decode_length_delimited(&mut bytes).unwrap());
        }
        let text = super::super::text::page(&document);
        let told = families
            .iter()
            .map(|family| format!("# HELP {} {}", family.name, family.help));
        let helps = text.lines().filter(|line| line.starts_with("# HELP"));
        assert!(told.eq(helps.map(str::to_owned)), "{families:#?}");
        let ok = &families[2].metrics[0];
        assert_eq!(ok.counter, Some(PrometheusValue { value: 9_980.0 }));
        assert_eq!(ok.labels[0].value, "b2f1");
    }
}
