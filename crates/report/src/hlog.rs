//! The text of `histograms.hlog`: HdrHistogram's interval log, version 1.3, which its tools can
//! read. Source: `HistogramLogWriter.java` of HdrHistogram 2.1.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use measure::{CellKey, Distribution, HdrEncoder, Metric, Outcome, Period, Snapshot};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// Values are in nanoseconds, but the log's column of maxima is in milliseconds, as HdrHistogram's
/// tools expect.
const NS_PER_MS: f64 = 1e6;

/// Writes an interval log: the header once, then lines.
///
/// A line is `Tag=<metric>.<outcome>,<start s>,<length s>,<max ms>,<histogram>`; the tags of the
/// warm-up begin with `warm_up.`. Response times belong to the second in which they were intended,
/// all other times to the second in which they were recorded. Several lines with the same tag and
/// second add up. Ratios are left out, since they are not times.
#[derive(Debug)]
pub struct HlogWriter {
    started_at: String,
    started_at_ms: u64,
    encoder: HdrEncoder,
}

/// Metric and outcome of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tag {
    period: Period,
    metric: Metric,
    outcome: Outcome,
}

/// The distributions of one second, by tag.
pub(crate) type Second = BTreeMap<Tag, Distribution>;

impl HlogWriter {
    /// `started_at` is the start of the run in UTC (RFC 3339), `started_at_ms` the same in
    /// milliseconds since 1970.
    #[must_use]
    pub fn new(started_at: &str, started_at_ms: u64) -> HlogWriter {
        HlogWriter {
            started_at: started_at.replace(['\n', '\r'], " "),
            started_at_ms,
            encoder: HdrEncoder::new(),
        }
    }

    /// The first lines of a log.
    #[must_use]
    pub fn header(&self) -> String {
        let seconds = self.started_at_ms as f64 / 1000.0;
        format!(
            "#[Histogram log format version 1.3]\n#[StartTime: {seconds:.3} (seconds since \
             epoch), {}]\n#[BaseTime: {seconds:.3} (seconds since epoch)]\n#[values are \
             nanoseconds; the column Interval_Max is \
             milliseconds]\n\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"\
             Interval_Compressed_Histogram\"\n",
            self.started_at
        )
    }

    /// The lines for what one agent recorded in second `number` of the run clock, with all requests
    /// and addresses added up. Their tags begin with `agent_<index>.`.
    #[must_use]
    pub fn of_agent(&mut self, agent: u32, number: u32, snapshot: &Snapshot) -> String {
        let prefix = format!("agent_{agent}.");
        let mut seconds: BTreeMap<u32, Second> = BTreeMap::new();
        for_each(number, snapshot, |second, tag, values| {
            add(seconds.entry(second).or_default(), tag, values);
        });
        self.all_lines(&prefix, &seconds)
    }

    /// The lines of several seconds, in order.
    pub(crate) fn all_lines(&mut self, prefix: &str, seconds: &BTreeMap<u32, Second>) -> String {
        let lines = |(&second, content)| self.lines(prefix, second, content);
        seconds.iter().map(lines).collect()
    }

    /// The lines of one second; an empty histogram gets no line.
    fn lines(&mut self, prefix: &str, second: u32, content: &Second) -> String {
        let mut text = String::new();
        for (tag, distribution) in content
            .iter()
            .filter(|(_, distribution)| !distribution.histogram.is_empty())
        {
            let encoded = STANDARD.encode(self.encoder.encode(&distribution.histogram));
            let max_ms = distribution.max as f64 / NS_PER_MS;
            let _ = writeln!(
                text,
                "Tag={prefix}{tag},{second}.000,1.000,{max_ms:.3},{encoded}"
            );
        }
        text
    }
}

/// Calls `take` for each distribution recorded in second `number`, with the second it belongs to.
pub(crate) fn for_each(
    number: u32,
    snapshot: &Snapshot,
    mut take: impl FnMut(u32, Tag, &Distribution),
) {
    for (&CellKey { period, .. }, cell) in &snapshot.cells {
        let times = cell.times.iter();
        for (&(outcome, metric), values) in times.filter(|((_, metric), _)| metric.is_time()) {
            let tag = Tag {
                period,
                metric,
                outcome,
            };
            take(number, tag, values);
        }
        for (&(outcome, intended), values) in &cell.response_times {
            let tag = Tag {
                period,
                metric: Metric::ResponseTime,
                outcome,
            };
            // Nothing is recorded before it is due. A broken agent must not create seconds at will.
            let second = intended.min(number);
            take(second, tag, values);
        }
    }
}

/// Adds values to a second.
pub(crate) fn add(second: &mut Second, tag: Tag, values: &Distribution) {
    second.entry(tag).or_default().merge(values);
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let period = match self.period {
            Period::WarmUp => "warm_up.",
            Period::Measured => "",
        };
        write!(f, "{period}{}.{}", self.metric.name(), self.outcome.name())
    }
}
