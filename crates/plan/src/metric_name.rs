//! Names of the figures a threshold can be about, and of comparisons, there and back.

use crate::{Comparison, Metric, Statistic};
use std::fmt;
use std::str::FromStr;

/// Histograms by the names the result gives them; `handshake` is its four kinds together.
const HISTOGRAMS: [&str; 18] = [
    "response_time",
    "service_time",
    "lateness",
    "schedule_delay",
    "connection_wait",
    "loop_lag",
    "dns",
    "connect",
    "handshake",
    "handshake_full",
    "handshake_full_retried",
    "handshake_resumed",
    "handshake_resumed_retried",
    "send",
    "first_byte",
    "receive",
    "opening",
    "processing",
];

const STAGES: [&str; 5] = ["load", "dns", "connect", "tls", "http"];

/// Kinds of failures, and the families that have members.
const KINDS: [&str; 17] = [
    "refused",
    "reset",
    "unreachable",
    "time_out",
    "eof",
    "bad_tls",
    "body_length",
    "short_body",
    "bad_framing",
    "no_such_name",
    "ports_exhausted",
    "files_exhausted",
    "not_allowed",
    "not_sent",
    "cut",
    "no_http2",
    "no_resolver",
];
const FAMILIES: [&str; 7] = [
    "alert_received",
    "alert_sent",
    "certificate",
    "status",
    "os",
    "stream_reset",
    "go_away",
];

impl Metric {
    /// Figures that are numbers. All are about the measured part, without the warm-up.
    ///
    /// - `rate`: operations ended ok per second
    /// - `operations.count`: operations ended
    /// - `errors.count`, `errors.share`: operations ended otherwise than ok, timed out or failed;
    ///   share of those ended
    /// - `timed_out.count`, `timed_out.share`: of those, the timed out
    /// - `not_sent.count`, `not_sent.share`: of those, arrivals of an open loop that were never
    ///   sent
    /// - `payload.rate`: bytes of response bodies per second
    /// - `connections.count`: connections opened
    /// - `connections.reused.share`: operations on a connection that was open before, over those
    ///   begun
    /// - `tls.handshakes.count`: completed handshakes
    /// - `tls.resumed.share`, `tls.offered.share`, `tls.retried.share`: handshakes that were
    ///   resumed, that offered a session, that took a HelloRetryRequest, over all handshakes
    /// - `tls.accepted.share`: resumed handshakes over those that offered a session
    ///
    /// Beside these, `errors.<failure>.count` and `.share`, where the failure is a stage
    /// (`errors.tls.share`), a stage with a kind (`errors.connect.refused.count`), or one of a
    /// family (`errors.http.status.503.count`).
    pub const NUMBERS: [&str; 16] = [
        "rate",
        "operations.count",
        "errors.count",
        "errors.share",
        "timed_out.count",
        "timed_out.share",
        "not_sent.count",
        "not_sent.share",
        "payload.rate",
        "connections.count",
        "connections.reused.share",
        "tls.handshakes.count",
        "tls.resumed.share",
        "tls.offered.share",
        "tls.accepted.share",
        "tls.retried.share",
    ];
}

/// Why a name is no figure, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetricError {
    /// A histogram without, or with an unknown, statistic.
    #[error(
        "{0} is a distribution; write which figure of it: {0}.p99 (any percentile), .mean, .min, \
         .max or .sd"
    )]
    Statistic(String),
    /// A failure that there is not.
    #[error(
        "no failure has this name; write errors.STAGE.KIND.count or .share with a stage of load, \
         dns, connect, tls, http, such as errors.connect.refused.count"
    )]
    Failure,
    /// Nothing like it.
    #[error("unknown figure; write {0}, or another of docs/PLAN.md")]
    Unknown(String),
}

impl FromStr for Metric {
    type Err = MetricError;

    fn from_str(text: &str) -> Result<Metric, MetricError> {
        if Metric::NUMBERS.contains(&text) {
            return Ok(Metric::Number(text.to_owned()));
        }
        if let Some((failure, "count" | "share")) = text
            .strip_prefix("errors.")
            .and_then(|rest| rest.rsplit_once('.'))
        {
            return if is_failure(failure) {
                Ok(Metric::Number(text.to_owned()))
            } else {
                Err(MetricError::Failure)
            };
        }
        let (histogram, statistic) = text.split_once('.').unwrap_or((text, ""));
        if !HISTOGRAMS.contains(&histogram) {
            return Err(MetricError::Unknown(nearest(histogram, statistic, text)));
        }
        let statistic = statistic
            .parse()
            .map_err(|()| MetricError::Statistic(histogram.to_owned()))?;
        Ok(Metric::Time {
            histogram: histogram.to_owned(),
            statistic,
        })
    }
}

/// A stage, a stage with a kind, or one with a family and a member of it.
fn is_failure(name: &str) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    match parts.as_slice() {
        [stage] => STAGES.contains(stage),
        [stage, kind] => {
            STAGES.contains(stage) && (KINDS.contains(kind) || FAMILIES.contains(kind))
        }
        [stage, family, member] => {
            STAGES.contains(stage) && FAMILIES.contains(family) && is_word(member)
        }
        _ => false,
    }
}

impl FromStr for Statistic {
    type Err = ();

    fn from_str(text: &str) -> Result<Statistic, ()> {
        match text {
            "min" => Ok(Statistic::Min),
            "mean" => Ok(Statistic::Mean),
            "sd" => Ok(Statistic::StdDev),
            "max" => Ok(Statistic::Max),
            "median" => Ok(Statistic::Percentile(50.0)),
            _ => text
                .strip_prefix('p')
                .and_then(crate::rate::decimal)
                .filter(|p| *p <= 100.0)
                .map(Statistic::Percentile)
                .ok_or(()),
        }
    }
}

impl Comparison {
    /// The comparison a text begins with, and what follows it.
    pub(crate) fn split(text: &str) -> Option<(Comparison, &str)> {
        let signs = [
            ("<=", Comparison::AtMost),
            (">=", Comparison::AtLeast),
            ("<", Comparison::Below),
            (">", Comparison::Above),
        ];
        signs
            .into_iter()
            .find_map(|(sign, comparison)| Some((comparison, text.strip_prefix(sign)?)))
    }
}

fn nearest(histogram: &str, statistic: &str, text: &str) -> String {
    let likeness = |name: &str, to: &str| {
        let to: String = to.chars().take(60).collect();
        (strsim::normalized_damerau_levenshtein(name, &to) * 1e6) as u32
    };
    let number = Metric::NUMBERS
        .into_iter()
        .max_by_key(|name| likeness(name, text))
        .unwrap_or("rate");
    // What others call latency is, counted from the intended instant, the response time.
    let histogram = if matches!(histogram, "latency" | "duration" | "time") {
        "response_time"
    } else {
        histogram
    };
    let time = HISTOGRAMS
        .into_iter()
        .max_by_key(|name| likeness(name, histogram))
        .unwrap_or("response_time");
    if likeness(number, text) >= likeness(time, histogram) {
        return number.to_owned();
    }
    let statistic: Statistic = statistic.parse().unwrap_or(Statistic::Percentile(99.0));
    format!("{time}.{statistic}")
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Metric::Time {
                histogram,
                statistic,
            } => write!(f, "{histogram}.{statistic}"),
            Metric::Number(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statistic::Min => f.write_str("min"),
            Statistic::Mean => f.write_str("mean"),
            Statistic::StdDev => f.write_str("sd"),
            Statistic::Max => f.write_str("max"),
            Statistic::Percentile(percentile) => write!(f, "p{percentile}"),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Comparison::Below => "<",
            Comparison::AtMost => "<=",
            Comparison::Above => ">",
            Comparison::AtLeast => ">=",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Comparison, Metric};

    #[test]
    fn names_are_read_as_they_are_written() {
        let same = [
            "response_time.p99",
            "response_time.p99.9",
            "handshake.mean",
            "lateness.max",
            "dns.sd",
            "errors.share",
            "rate",
            "errors.tls.share",
            "errors.connect.refused.count",
            "errors.http.status.503.share",
        ];
        let cases = same
            .into_iter()
            .map(|name| (name, name))
            .chain([("opening.median", "opening.p50"), ("send.p099", "send.p99")]);
        for (name, shown) in cases {
            assert_eq!(name.parse::<Metric>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_figure_names_one() {
        let cases = [
            ("response_time", "response_time.p99 (any percentile)"),
            ("response_time.p101", "response_time.p99 (any percentile)"),
            ("response_times.p95", "write response_time.p95"),
            ("errors.rate", "write errors.share"),
            ("tls.resumed", "write tls.resumed.share"),
            ("errors.https.count", "with a stage of"),
            ("errors.tls.refuse.count", "with a stage of"),
            ("latency.p95", "write response_time.p95"),
        ];
        for (name, cure) in cases {
            let message = name.parse::<Metric>().unwrap_err().to_string();
            assert!(message.contains(cure), "{name}: {message}");
        }
    }

    #[test]
    fn comparisons_are_split_at_the_longest_sign() {
        assert_eq!(Comparison::split("<= 1"), Some((Comparison::AtMost, " 1")));
        assert_eq!(Comparison::split("<1"), Some((Comparison::Below, "1")));
        assert_eq!(Comparison::split("=< 1"), None);
    }
}
