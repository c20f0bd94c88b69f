//! A run for an OpenTelemetry collector: the body of an OTLP push, and the meaning of the answer.

mod messages;

use crate::run_metrics::{
    MetricKind, MetricLabel, MetricSample, MetricUnit, MetricValue, RunMetric, run_metrics,
};
use analysis::{Document, TimeFigure};
use measure::calendar;
use messages::{
    OtlpAttribute, OtlpBuckets, OtlpDistribution, OtlpGauge, OtlpHistogram, OtlpMetric, OtlpNumber,
    OtlpRequest, OtlpResource, OtlpResourceMetrics, OtlpResponse, OtlpScope, OtlpScopeMetrics,
    OtlpSum, OtlpText,
};
use prost::Message as _;
use std::time::Duration;

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`: each push covers everything since the start of the run, so
/// the next push makes up for a lost one.
const CUMULATIVE: i32 = 2;

/// Appended to the description of times.
const PRECISION: &str = "Bucket bounds are 1.6 % too high, since a second is no power of their \
                         base: read off a bucket's middle, a time is up to 6.1 % off. An operation \
                         that was cut short counts with the time it had until then.";

/// The body of a push (`ExportMetricsServiceRequest`, protobuf). `now` is the time since 1970.
#[must_use]
pub fn otlp(document: &Document, now: Duration) -> Vec<u8> {
    let points = DataPoints::new(document, now);
    let metrics = run_metrics(document);
    let metrics = metrics.iter().filter(|metric| !metric.samples.is_empty());
    let scope = OtlpScopeMetrics {
        scope: Some(OtlpScope {
            name: "cannonade".to_owned(),
            version: document.tool_version.clone(),
        }),
        metrics: metrics.map(|metric| points.metric(metric)).collect(),
    };
    let request = OtlpRequest {
        resource_metrics: vec![OtlpResourceMetrics {
            resource: Some(resource(document)),
            scope_metrics: vec![scope],
        }],
    };
    request.encode_to_vec()
}

/// The reason, in the collector's words, why it rejected part of a push that it answered with
/// success.
#[must_use]
pub fn otlp_refusal(answer: &[u8]) -> Option<String> {
    // Some collectors answer with something else; that is not a refusal.
    let partial = OtlpResponse::decode(answer).ok()?.partial_success?;
    let (points, why) = (partial.rejected_data_points, partial.error_message);
    (points > 0).then(|| format!("{points} data points were refused: {why}"))
}

fn resource(document: &Document) -> OtlpResource {
    let run = &document.run;
    let attributes = [
        ("service.name", "cannonade"),
        ("service.version", &document.tool_version),
        ("service.instance.id", &run.id),
        ("cannonade.run.id", &run.id),
        ("cannonade.plan.name", &run.name),
    ];
    OtlpResource {
        attributes: attributes.map(|(key, text)| attribute(key, text)).into(),
    }
}

fn attribute(key: &str, text: &str) -> OtlpAttribute {
    OtlpAttribute {
        key: key.to_owned(),
        value: Some(OtlpText {
            text: Some(text.to_owned()),
        }),
    }
}

/// What all points of a push have in common.
struct DataPoints<'d> {
    run: &'d str,
    started_ns: u64,
    now_ns: u64,
}

impl<'d> DataPoints<'d> {
    fn new(document: &'d Document, now: Duration) -> DataPoints<'d> {
        let now_ns = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let started = calendar::seconds(&document.run.started_at);
        let started = started.and_then(|seconds| u64::try_from(seconds).ok());
        let started_ns = started.unwrap_or(0).saturating_mul(1_000_000_000);
        DataPoints {
            run: &document.run.id,
            // Before the run starts, its start lies in the future.
            started_ns: started_ns.min(now_ns),
            now_ns,
        }
    }

    fn metric(&self, metric: &RunMetric<'_>) -> OtlpMetric {
        // UCUM; a thing that is counted is an annotation in braces.
        let unit = match metric.unit {
            MetricUnit::Things("") => String::new(),
            MetricUnit::Things(thing) => format!("{{{thing}}}"),
            MetricUnit::Seconds => "s".to_owned(),
            MetricUnit::Bytes => "By".to_owned(),
            MetricUnit::Ratio => "1".to_owned(),
        };
        let told = OtlpMetric {
            name: format!("cannonade.{}", metric.name),
            description: metric.help.to_owned(),
            unit,
            ..OtlpMetric::default()
        };
        match metric.kind {
            MetricKind::Counter => OtlpMetric {
                sum: Some(OtlpSum {
                    data_points: self.numbers(&metric.samples),
                    aggregation_temporality: CUMULATIVE,
                    is_monotonic: true,
                }),
                ..told
            },
            MetricKind::Gauge => OtlpMetric {
                gauge: Some(OtlpGauge {
                    data_points: self.numbers(&metric.samples),
                }),
                ..told
            },
            MetricKind::Times => OtlpMetric {
                description: format!("{} {PRECISION}", metric.help),
                exponential_histogram: Some(OtlpHistogram {
                    data_points: self.distributions(&metric.samples),
                    aggregation_temporality: CUMULATIVE,
                }),
                ..told
            },
        }
    }

    fn attributes(&self, labels: &[MetricLabel<'_>]) -> Vec<OtlpAttribute> {
        let own = labels.iter().map(|(name, text)| attribute(name, text));
        [attribute("run", self.run)]
            .into_iter()
            .chain(own)
            .collect()
    }

    fn numbers(&self, samples: &[MetricSample<'_>]) -> Vec<OtlpNumber> {
        let number = |sample: &MetricSample<'_>| {
            let (as_int, as_double) = match sample.value {
                MetricValue::Count(count) => (i64::try_from(count).ok(), None),
                MetricValue::Number(number) => (None, Some(number)),
                MetricValue::Times(_) => return None,
            };
            Some(OtlpNumber {
                attributes: self.attributes(&sample.labels),
                start_time_unix_nano: self.started_ns,
                time_unix_nano: self.now_ns,
                as_double,
                as_int,
            })
        };
        samples.iter().filter_map(number).collect()
    }

    fn distributions(&self, samples: &[MetricSample<'_>]) -> Vec<OtlpDistribution> {
        let distribution = |sample: &MetricSample<'_>| match sample.value {
            MetricValue::Times(figure) => Some(self.distribution(&sample.labels, figure)),
            MetricValue::Count(_) | MetricValue::Number(_) => None,
        };
        samples.iter().filter_map(distribution).collect()
    }

    fn distribution(&self, labels: &[MetricLabel<'_>], figure: &TimeFigure) -> OtlpDistribution {
        let seconds = |ns: u64| (figure.count > 0).then_some(ns as f64 / 1e9);
        let buckets = figure.exponential_histogram.in_seconds(figure.overflow);
        OtlpDistribution {
            attributes: self.attributes(labels),
            start_time_unix_nano: self.started_ns,
            time_unix_nano: self.now_ns,
            count: figure.count,
            sum: Some(figure.mean_ns * figure.count as f64 / 1e9),
            scale: i32::try_from(buckets.scale).unwrap_or(i32::MAX),
            zero_count: buckets.zero_count,
            positive: Some(OtlpBuckets {
                offset: buckets.offset,
                bucket_counts: buckets.counts,
            }),
            min: seconds(figure.min_ns),
            max: seconds(figure.max_ns),
        }
    }
}

#[cfg(test)]
mod tests;
