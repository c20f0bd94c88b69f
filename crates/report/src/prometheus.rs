//! A run for Prometheus, in the format that the scraper asks for: text 0.0.4, or protobuf, which is
//! the only one with native histograms.

mod protobuf;
mod text;

use analysis::{Document, TimeFigure};

/// Bounds of classic time buckets as powers of two of nanoseconds, from 16 µs to 137 s. They must
/// not change between scrapes.
const BUCKETS: std::ops::RangeInclusive<u32> = 14..=37;

/// The format of an answer to a scrape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrometheusFormat {
    /// Readable lines.
    Text,
    /// Messages of Prometheus's client model, each preceded by its length.
    Protobuf,
}

impl PrometheusFormat {
    /// The format that a request's header field `accept` prefers.
    #[must_use]
    pub fn negotiate(accept: &str) -> PrometheusFormat {
        let weight = |wanted: fn(&str) -> bool| {
            let ranges = accept.split(',').filter(|range| wanted(range));
            ranges.map(weight).fold(0.0, f64::max)
        };
        let is_protobuf = |range: &str| {
            let family = "proto=io.prometheus.client.MetricFamily";
            [
                "application/vnd.google.protobuf",
                family,
                "encoding=delimited",
            ]
            .into_iter()
            .all(|part| range.split(';').any(|found| found.trim() == part))
        };
        let is_text = |range: &str| range.trim_start().starts_with("text/plain");
        if weight(is_protobuf) > weight(is_text) {
            PrometheusFormat::Protobuf
        } else {
            PrometheusFormat::Text
        }
    }

    /// The answer's header field `content-type`.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            PrometheusFormat::Text => "text/plain; version=0.0.4; charset=utf-8",
            PrometheusFormat::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; \
                 encoding=delimited"
            }
        }
    }

    /// All metrics of a run.
    #[must_use]
    pub fn render(self, document: &Document) -> Vec<u8> {
        match self {
            PrometheusFormat::Text => text::page(document).into_bytes(),
            PrometheusFormat::Protobuf => protobuf::messages(document),
        }
    }
}

/// The weight (`q`) of a media range, from 0 to 1 (RFC 9110, section 12.4.2).
fn weight(range: &str) -> f64 {
    let mut parameters = range.split(';').map(str::trim);
    let weight = parameters.find_map(|parameter| parameter.strip_prefix("q="));
    weight.map_or(1.0, |weight| weight.parse().unwrap_or(0.0))
}

/// Upper bounds in seconds, each with the number of all values up to it.
fn classic_buckets(figure: &TimeFigure) -> impl Iterator<Item = (f64, u64)> {
    BUCKETS.map(|power| {
        let bound = 2_f64.powi(power as i32) / 1e9;
        (
            bound,
            figure.exponential_histogram.up_to_power_of_two(power),
        )
    })
}

fn sum_seconds(figure: &TimeFigure) -> f64 {
    figure.mean_ns * figure.count as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::PrometheusFormat::{self, Protobuf, Text};

    #[test]
    fn scrapers_get_what_they_prefer() {
        let protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
                        encoding=delimited";
        for (accept, format) in [
            // The headers that Prometheus 2.42 sends with and without native histograms.
            (
                format!("{protobuf},text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
                Protobuf,
            ),
            ("text/plain;version=0.0.4;q=0.5,*/*;q=0.1".to_owned(), Text),
            (format!("text/plain;q=0.5, {protobuf};q=0.2"), Text),
            (protobuf.replace("delimited", "text"), Text),
            ("*/*".to_owned(), Text),
            (String::new(), Text),
        ] {
            assert_eq!(PrometheusFormat::negotiate(&accept), format, "{accept}");
        }
    }
}
