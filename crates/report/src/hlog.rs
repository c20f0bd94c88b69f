//! `histograms.hlog`: HdrHistogram's interval log, version 1.3, written as the run goes and readable by its tools.
//! Source: `HistogramLogWriter.java` of HdrHistogram 2.1.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use measure::{CellKey, Distribution, Outcome, Period, Snapshot};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Values are nanoseconds; the log's own column of maxima is in milliseconds, as HdrHistogram's tools expect.
const NS_PER_MS: f64 = 1e6;

/// Writes an interval log: the header once, then the lines of each interval.
///
/// A line is `Tag=<metric>.<outcome>,<start s>,<length s>,<max ms>,<histogram>`; the warm-up's tags begin with `warm_up.`.
/// Response times are under the second they were intended in, all others under the second they were recorded in, so the
/// same tag and second may stand on several lines, which add up. Ratios, which are no times, are left out. Before the lines of an agent's interval stands the comment
/// `#[Agent: <index>]`, so that what each agent recorded can be told apart.
#[derive(Debug, Clone)]
pub struct HlogWriter {
    started_at: String,
    started_at_ms: u64,
}

impl HlogWriter {
    /// `started_at` is the start instant in UTC, RFC 3339, and `started_at_ms` the same in milliseconds since 1970.
    #[must_use]
    pub fn new(started_at: &str, started_at_ms: u64) -> HlogWriter {
        HlogWriter { started_at: started_at.replace(['\n', '\r'], " "), started_at_ms }
    }

    /// The lines a log begins with.
    #[must_use]
    pub fn header(&self) -> String {
        let seconds = self.started_at_ms as f64 / 1000.0;
        format!(
            "#[Histogram log format version 1.3]\n\
             #[StartTime: {seconds:.3} (seconds since epoch), {}]\n\
             #[BaseTime: {seconds:.3} (seconds since epoch)]\n\
             #[values are nanoseconds; the column Interval_Max is milliseconds]\n\
             \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
            self.started_at
        )
    }

    /// The lines of what the agent with this index recorded in second `number` of the run clock, all requests and addresses
    /// together.
    #[must_use]
    pub fn interval(&self, agent: u32, number: u32, snapshot: &Snapshot) -> String {
        let mut lines: BTreeMap<(u32, String), Distribution> = BTreeMap::new();
        for (key, cell) in &snapshot.cells {
            for (&(outcome, metric), distribution) in cell.times.iter().filter(|((_, metric), _)| metric.is_time()) {
                lines.entry((number, tag(key, metric.name(), outcome))).or_default().merge(distribution);
            }
            for (&(outcome, intended), distribution) in &cell.response_times {
                lines.entry((intended, tag(key, "response_time", outcome))).or_default().merge(distribution);
            }
        }
        let mut text = format!("#[Agent: {agent}]\n");
        let filled = lines.iter().filter(|(_, distribution)| !distribution.histogram.is_empty());
        filled.for_each(|((second, tag), distribution)| write_line(&mut text, *second, tag, distribution));
        text
    }
}

fn tag(key: &CellKey, metric: &str, outcome: Outcome) -> String {
    let period = match key.period {
        Period::WarmUp => "warm_up.",
        Period::Measured => "",
    };
    format!("{period}{metric}.{}", outcome.name())
}

fn write_line(text: &mut String, second: u32, tag: &str, distribution: &Distribution) {
    let encoded = STANDARD.encode(distribution.histogram.encode_v2_deflate());
    let max_ms = distribution.max as f64 / NS_PER_MS;
    let _ = writeln!(text, "Tag={tag},{second}.000,1.000,{max_ms:.3},{encoded}");
}
