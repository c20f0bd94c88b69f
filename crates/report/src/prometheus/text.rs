//! The text format 0.0.4.

use super::{classic_buckets, sum_seconds};
use crate::run_metrics::{MetricKind, MetricLabel, MetricValue, RunMetric, run_metrics};
use analysis::{Document, TimeFigure};
use std::borrow::Cow;
use std::fmt::{Display, Write as _};

/// All metrics.
pub(super) fn page(document: &Document) -> String {
    let mut page = MetricsPage {
        run: &document.run.id,
        text: String::new(),
    };
    for metric in run_metrics(document) {
        page.metric(&metric);
    }
    page.text
}

/// The metrics of a run. All samples of a metric follow its description.
struct MetricsPage<'d> {
    run: &'d str,
    text: String,
}

impl MetricsPage<'_> {
    fn metric(&mut self, metric: &RunMetric<'_>) {
        let (name, help) = (metric.prometheus_name(), metric.help);
        let kind = match metric.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Times => "histogram",
        };
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for sample in &metric.samples {
            match sample.value {
                MetricValue::Count(count) => self.sample(&name, &sample.labels, count),
                MetricValue::Number(number) => self.sample(&name, &sample.labels, number),
                MetricValue::Times(figure) => self.histogram(&name, &sample.labels, figure),
            }
        }
    }

    fn sample(&mut self, name: &str, labels: &[MetricLabel<'_>], value: impl Display) {
        let _ = write!(self.text, "{name}{{run=\"{}\"", escape(self.run));
        for (label, text) in labels {
            let _ = write!(self.text, ",{label}=\"{}\"", escape(text));
        }
        let _ = writeln!(self.text, "}} {value}");
    }

    fn histogram(&mut self, name: &str, labels: &[MetricLabel<'_>], figure: &TimeFigure) {
        let bucket = format!("{name}_bucket");
        let up_to = |bound: Cow<'static, str>| [labels, &[("le", bound)]].concat();
        for (bound, count) in classic_buckets(figure) {
            self.sample(&bucket, &up_to(bound.to_string().into()), count);
        }
        self.sample(&bucket, &up_to("+Inf".into()), figure.count);
        self.sample(&format!("{name}_sum"), labels, sum_seconds(figure));
        self.sample(&format!("{name}_count"), labels, figure.count);
    }
}

/// Escapes text inside quotes, as the format requires.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
