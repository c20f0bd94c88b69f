//! Names of the figures that thresholds can use, and of comparisons, parsed and written.

use crate::words::words;
use crate::{Relation, Statistic, ThresholdMetric, Words as _};
use measure::{Failure, LOOP_LAG, Metric};
use std::fmt;
use std::str::FromStr;

/// Figures that are a single number, by their names in plans and results. All of them are about the
/// measured part, without the warm-up.
///
/// There are also `errors.<failure>.count` and `.share`, where the failure is a stage
/// (`errors.tls.share`), a stage with a kind (`errors.connect.refused.count`), or one of a family
/// (`errors.http.status.503.count`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberName {
    /// Operations per second that ended ok.
    Rate,
    /// Operations that ended, in any way.
    OperationsCount,
    /// Operations that did not end ok: timed out, failed, or never sent.
    ErrorsCount,
    /// The share of ended operations that did not end ok.
    ErrorsShare,
    /// Operations that timed out.
    TimedOutCount,
    /// The share of ended operations that timed out.
    TimedOutShare,
    /// Arrivals of an open loop that were never sent; they are errors.
    NotSentCount,
    /// The share of ended operations that were arrivals never sent.
    NotSentShare,
    /// Bytes of response bodies per second.
    PayloadRate,
    /// Connections that were opened.
    ConnectionsCount,
    /// The share of operations that used a connection that was open already.
    ConnectionsReusedShare,
    /// Completed handshakes.
    TlsHandshakesCount,
    /// The share of handshakes that were resumed.
    TlsResumedShare,
    /// The share of handshakes that offered a session.
    TlsOfferedShare,
    /// The share of handshakes that were resumed, among those that offered a session.
    TlsAcceptedShare,
    /// The share of handshakes that needed a HelloRetryRequest.
    TlsRetriedShare,
    /// Events of streamed answers.
    EventsCount,
    /// Events of streamed answers per second.
    EventsRate,
    /// Messages of WebSockets that were answered.
    MessagesCount,
    /// The same per second.
    MessagesRate,
}

words!(NumberName {
    Rate => "rate",
    OperationsCount => "operations.count",
    ErrorsCount => "errors.count",
    ErrorsShare => "errors.share",
    TimedOutCount => "timed_out.count",
    TimedOutShare => "timed_out.share",
    NotSentCount => "not_sent.count",
    NotSentShare => "not_sent.share",
    PayloadRate => "payload.rate",
    ConnectionsCount => "connections.count",
    ConnectionsReusedShare => "connections.reused.share",
    TlsHandshakesCount => "tls.handshakes.count",
    TlsResumedShare => "tls.resumed.share",
    TlsOfferedShare => "tls.offered.share",
    TlsAcceptedShare => "tls.accepted.share",
    TlsRetriedShare => "tls.retried.share",
    EventsCount => "events.count",
    EventsRate => "events.rate",
    MessagesCount => "messages.count",
    MessagesRate => "messages.rate",
});

/// Figures of the journeys of one name that are a single number. Shares are of the journeys that
/// were due and had their chance: those that were completed, failed or never sent, but not those
/// that the run's end cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JourneyNumber {
    /// Journeys per second that were completed.
    Rate,
    /// Journeys that were completed.
    CompletedCount,
    /// The share of journeys that were completed.
    CompletedShare,
    /// Journeys that ended with a step that failed.
    FailedCount,
    /// The share of journeys that ended with a step that failed.
    FailedShare,
    /// Journeys that the run's end cut off.
    AbandonedCount,
    /// Journeys that were due and never begun.
    NotSentCount,
    /// The share of journeys that were never begun.
    NotSentShare,
}

words!(JourneyNumber {
    Rate => "rate",
    CompletedCount => "completed.count",
    CompletedShare => "completed.share",
    FailedCount => "failed.count",
    FailedShare => "failed.share",
    AbandonedCount => "abandoned.count",
    NotSentCount => "not_sent.count",
    NotSentShare => "not_sent.share",
});

/// Times of completed journeys: until the end of the last operation, and the same without pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JourneyTime {
    /// From the instant at which it was due.
    Time,
    /// The same without the pauses that the plan wants.
    Wait,
}

words!(JourneyTime { Time => "time", Wait => "wait" });

/// Figures of a group of a journey's steps, which are called `group.NAME.` and their word. A
/// journey that repeats a group counts each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupFigure {
    /// Groups whose first step was begun.
    BegunCount,
    /// Groups whose last step ended ok.
    CompletedCount,
    /// Times of the completed ones, from the instant at which the first step was due.
    Time,
    /// The same without the pauses that the plan wants.
    Wait,
}

words!(GroupFigure {
    BegunCount => "begun.count",
    CompletedCount => "completed.count",
    Time => "time",
    Wait => "wait",
});

impl GroupFigure {
    const PREFIX: &str = "group.";

    /// Splits `group.NAME.WORD` into the name and the figure; `None` if it is something else.
    #[must_use]
    pub fn split(text: &str) -> Option<(&str, GroupFigure)> {
        let rest = text.strip_prefix(GroupFigure::PREFIX)?;
        GroupFigure::ALL.iter().find_map(|&figure| {
            let name = rest.strip_suffix(figure.word())?.strip_suffix('.')?;
            (!name.is_empty()).then_some((name, figure))
        })
    }

    /// The metric that a text is the name of, which begins with the prefix.
    fn metric(text: &str) -> Result<ThresholdMetric, ThresholdMetricError> {
        if let Some((_, figure)) = GroupFigure::split(text) {
            return match figure {
                GroupFigure::BegunCount | GroupFigure::CompletedCount => {
                    Ok(ThresholdMetric::Number(text.to_owned()))
                }
                GroupFigure::Time | GroupFigure::Wait => {
                    Err(ThresholdMetricError::Statistic(text.to_owned()))
                }
            };
        }
        let times = [GroupFigure::Time, GroupFigure::Wait];
        let ends = times.iter().filter_map(|figure| {
            let within = format!(".{}.", figure.word());
            Some(text.rfind(&within)? + within.len() - 1)
        });
        // The name may have such a word too, so the last one counts.
        let split = ends.max().map(|at| (&text[..at], &text[at + 1..]));
        let Some((histogram, statistic)) = split.filter(|(it, _)| GroupFigure::split(it).is_some())
        else {
            let nearest = format!("{text}.{}.p99", GroupFigure::Time.word());
            return Err(ThresholdMetricError::Unknown(nearest));
        };
        ThresholdMetric::of_times(histogram, statistic)
    }
}

impl ThresholdMetric {
    /// Names of the figures that are a single number: those of [`NumberName`].
    pub const NUMBERS: [&str; NumberName::WORDS.len()] = NumberName::WORDS;

    /// The metric of journeys with this name: a [`JourneyNumber`], a statistic of a
    /// [`JourneyTime`], or a [`GroupFigure`] of a group of their steps.
    ///
    /// # Errors
    /// Where journeys have no such figure.
    pub fn of_journey(text: &str) -> Result<ThresholdMetric, ThresholdMetricError> {
        if JourneyNumber::from_word(text).is_some() {
            return Ok(ThresholdMetric::Number(text.to_owned()));
        }
        if text.starts_with(GroupFigure::PREFIX) {
            return GroupFigure::metric(text);
        }
        let (time, statistic) = text.split_once('.').unwrap_or((text, ""));
        if JourneyTime::from_word(time).is_none() {
            return Err(ThresholdMetricError::Unknown(nearest_of_journeys(text)));
        }
        ThresholdMetric::of_times(time, statistic)
    }

    /// The figure `statistic` of the times that are called `histogram`.
    fn of_times(histogram: &str, statistic: &str) -> Result<ThresholdMetric, ThresholdMetricError> {
        let statistic = statistic
            .parse()
            .map_err(|()| ThresholdMetricError::Statistic(histogram.to_owned()))?;
        Ok(ThresholdMetric::Time {
            histogram: histogram.to_owned(),
            statistic,
        })
    }

    /// Whether the metric is about the events of streamed answers.
    pub(crate) fn is_of_streams(&self) -> bool {
        const TIMES: [Metric; 3] = [
            Metric::FirstEvent,
            Metric::FirstEventService,
            Metric::EventGap,
        ];
        match self {
            ThresholdMetric::Time { histogram, .. } => {
                TIMES.iter().any(|metric| metric.name() == histogram)
            }
            ThresholdMetric::Number(name) => name.starts_with("events."),
        }
    }

    /// Whether the metric is about the messages of WebSockets.
    pub(crate) fn is_of_messages(&self) -> bool {
        match self {
            ThresholdMetric::Time { histogram, .. } => histogram == Metric::MessageTime.name(),
            ThresholdMetric::Number(name) => name.starts_with("messages."),
        }
    }

    /// Whether the metric is about the pings of WebSockets.
    pub(crate) fn is_of_pings(&self) -> bool {
        match self {
            ThresholdMetric::Time { histogram, .. } => histogram == Metric::PingTime.name(),
            ThresholdMetric::Number(_) => false,
        }
    }

    /// Whether the metric exists for a single request. Connections and their handshakes serve all
    /// requests, and the loop's lag is the client's.
    pub(crate) fn is_of_requests(&self) -> bool {
        match self {
            ThresholdMetric::Time { histogram, .. } => histogram != LOOP_LAG,
            ThresholdMetric::Number(name) => {
                !name.starts_with("connections.") && !name.starts_with("tls.")
            }
        }
    }
}

/// Why a name is not a figure, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThresholdMetricError {
    /// A histogram with a missing or unknown statistic.
    #[error(
        "{0} is a distribution; write which figure of it: {0}.p99 (any percentile), .mean, .min, \
         .max or .sd"
    )]
    Statistic(String),
    /// A failure that does not exist.
    #[error(
        "no failure has this name; write errors.STAGE.KIND.count or .share with a stage of load, \
         dns, connect, tls, http, stream, grpc or websocket, such as errors.connect.refused.count"
    )]
    Failure,
    /// An unknown name.
    #[error("unknown figure; write {0}, or another of docs/PLAN.md")]
    Unknown(String),
}

impl FromStr for ThresholdMetric {
    type Err = ThresholdMetricError;

    fn from_str(text: &str) -> Result<ThresholdMetric, ThresholdMetricError> {
        if NumberName::from_word(text).is_some() {
            return Ok(ThresholdMetric::Number(text.to_owned()));
        }
        if let Some((failure, "count" | "share")) = text
            .strip_prefix("errors.")
            .and_then(|rest| rest.rsplit_once('.'))
        {
            return if Failure::is_prefix(failure) {
                Ok(ThresholdMetric::Number(text.to_owned()))
            } else {
                Err(ThresholdMetricError::Failure)
            };
        }
        let (histogram, statistic) = text.split_once('.').unwrap_or((text, ""));
        if !Metric::time_names().any(|name| name == histogram) {
            return Err(ThresholdMetricError::Unknown(nearest(
                histogram, statistic, text,
            )));
        }
        ThresholdMetric::of_times(histogram, statistic)
    }
}

/// Statistics that are not percentiles.
const PLAIN_STATISTICS: [(Statistic, &str); 4] = [
    (Statistic::Min, "min"),
    (Statistic::Mean, "mean"),
    (Statistic::StdDev, "sd"),
    (Statistic::Max, "max"),
];

impl FromStr for Statistic {
    type Err = ();

    fn from_str(text: &str) -> Result<Statistic, ()> {
        if text == "median" {
            return Ok(Statistic::Percentile(50.0));
        }
        if let Some((statistic, _)) = PLAIN_STATISTICS.iter().find(|(_, word)| *word == text) {
            return Ok(*statistic);
        }
        let percentile = text.strip_prefix('p').and_then(crate::rate::decimal);
        percentile
            .filter(|percentile| *percentile <= 100.0)
            .map(Statistic::Percentile)
            .ok_or(())
    }
}

// Longer signs come before those that they start with.
words!(Relation { AtMost => "<=", AtLeast => ">=", Below => "<", Above => ">" });

impl Relation {
    /// Whether `value` compares so with `limit`.
    #[must_use]
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Relation::Below => value < limit,
            Relation::AtMost => value <= limit,
            Relation::Above => value > limit,
            Relation::AtLeast => value >= limit,
        }
    }

    /// Splits a text into the comparison that it starts with and the rest.
    pub(crate) fn split(text: &str) -> Option<(Relation, &str)> {
        let mut relations = Relation::ALL.iter();
        relations.find_map(|&relation| Some((relation, text.strip_prefix(relation.word())?)))
    }
}

/// Names for times in k6, JMeter, hey, wrk and benchmarks of language models, with our names. Their
/// latency, counted from the intended instant, is our response time.
const FOREIGN_TIMES: [(&str, &str); 18] = [
    ("duration", "response_time"),
    ("elapsed", "response_time"),
    ("http_req_blocked", "connection_wait"),
    ("http_req_connecting", "connect"),
    ("http_req_duration", "response_time"),
    ("http_req_receiving", "receive"),
    ("http_req_sending", "send"),
    ("http_req_tls_handshaking", "handshake"),
    ("http_req_waiting", "first_byte"),
    ("inter_token_latency", "event_gap"),
    ("iteration_duration", "response_time"),
    ("itl", "event_gap"),
    ("latency", "response_time"),
    ("service", "service_time"),
    ("time", "response_time"),
    ("time_to_first_token", "first_event"),
    ("ttfb", "first_byte"),
    ("ttft", "first_event"),
];

/// Their names for numbers.
const FOREIGN_NUMBERS: [(&str, &str); 12] = [
    ("checks", "errors.share"),
    ("data_received", "payload.rate"),
    ("error_rate", "errors.share"),
    ("failures", "errors.count"),
    ("http_req_failed", "errors.share"),
    ("http_reqs", "rate"),
    ("iterations", "operations.count"),
    ("qps", "rate"),
    ("requests", "operations.count"),
    ("rps", "rate"),
    ("throughput", "rate"),
    ("timeouts", "timed_out.count"),
];

/// Parses a statistic, also in the forms of other programs: `p(95)`, `p95`, `avg`, `med`.
fn foreign_statistic(text: &str) -> Option<Statistic> {
    let percentile = text
        .strip_prefix("p(")
        .and_then(|rest| rest.strip_suffix(')'));
    match (text, percentile) {
        (_, Some(percentile)) => format!("p{percentile}").parse().ok(),
        ("avg", None) => Some(Statistic::Mean),
        ("med", None) => Some(Statistic::Percentile(50.0)),
        _ => text.parse().ok(),
    }
}

/// The figure nearest in meaning, if other programs use the name; otherwise nearest in spelling.
fn nearest(histogram: &str, statistic: &str, text: &str) -> String {
    let known = |names: &[(&str, &'static str)]| {
        let found = names.iter().find(|(foreign, _)| *foreign == histogram);
        found.map(|&(_, ours)| ours)
    };
    if let Some(number) = known(&FOREIGN_NUMBERS) {
        return number.to_owned();
    }
    if let Some(statistic) = foreign_statistic(text) {
        return format!("response_time.{statistic}");
    }
    let statistic = foreign_statistic(statistic).unwrap_or(Statistic::Percentile(99.0));
    if let Some(time) = known(&FOREIGN_TIMES) {
        return format!("{time}.{statistic}");
    }
    let likeness = |name: &str, to: &str| {
        // The comparison takes time in proportion to the product of both lengths. Its result is
        // scaled to an integer, because floats have no order to take the largest by.
        let to: String = to.chars().take(60).collect();
        (strsim::normalized_damerau_levenshtein(name, &to) * 1e6) as u32
    };
    let number = ThresholdMetric::NUMBERS
        .into_iter()
        .max_by_key(|name| likeness(name, text))
        .unwrap_or("rate");
    let time = Metric::time_names()
        .max_by_key(|name| likeness(name, histogram))
        .unwrap_or("response_time");
    // A number is named by the whole text, a time only by its part before the statistic.
    if likeness(number, text) >= likeness(time, histogram) {
        return number.to_owned();
    }
    format!("{time}.{statistic}")
}

/// What journeys that went well or not are called elsewhere.
const FOREIGN_ENDS: [(&str, &str); 4] = [
    ("errors", "failed.share"),
    ("iterations", "completed.count"),
    ("ok", "completed.share"),
    ("success", "completed.share"),
];

/// The figure of journeys that is nearest: by its statistic if it has one, by its meaning if other
/// programs use the name, or else in spelling.
fn nearest_of_journeys(text: &str) -> String {
    let (_, statistic) = text.rsplit_once('.').unwrap_or(("", text));
    if let Some(statistic) = foreign_statistic(statistic) {
        return format!("{}.{statistic}", JourneyTime::Time.word());
    }
    let first = text.split('.').next();
    if let Some((_, ours)) = FOREIGN_ENDS.iter().find(|(end, _)| Some(*end) == first) {
        return (*ours).to_owned();
    }
    let shown: String = text.chars().take(60).collect();
    let likeness =
        |name: &&str| (strsim::normalized_damerau_levenshtein(name, &shown) * 1e6) as u32;
    let nearest = JourneyNumber::WORDS.into_iter().max_by_key(likeness);
    nearest.unwrap_or("completed.share").to_owned()
}

impl fmt::Display for ThresholdMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ThresholdMetric::Time {
                histogram,
                statistic,
            } => write!(f, "{histogram}.{statistic}"),
            ThresholdMetric::Number(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Statistic::Percentile(percentile) = self {
            return write!(f, "p{percentile}");
        }
        let plain = PLAIN_STATISTICS.iter().find(|(plain, _)| plain == self);
        f.write_str(plain.map_or("", |(_, word)| word))
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::{FOREIGN_NUMBERS, FOREIGN_TIMES, JourneyNumber, Relation, ThresholdMetric};

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
            assert_eq!(name.parse::<ThresholdMetric>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn names_of_others_stand_for_figures() {
        for (foreign, ours) in FOREIGN_TIMES {
            assert!(format!("{ours}.p99").parse::<ThresholdMetric>().is_ok());
            assert!(foreign.parse::<ThresholdMetric>().is_err(), "{foreign}");
        }
        for (foreign, ours) in FOREIGN_NUMBERS {
            assert!(ours.parse::<ThresholdMetric>().is_ok());
            assert!(foreign.parse::<ThresholdMetric>().is_err(), "{foreign}");
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
            ("http_req_duration", "write response_time.p99,"),
            ("http_req_duration.p(95)", "write response_time.p95,"),
            ("http_req_duration.avg", "write response_time.mean,"),
            ("http_req_failed.rate", "write errors.share,"),
            ("checks", "write errors.share,"),
            ("http_reqs", "write rate,"),
            ("p99", "write response_time.p99,"),
            ("avg", "write response_time.mean,"),
            ("p(99.9)", "write response_time.p99.9,"),
        ];
        for (name, cure) in cases {
            let message = name.parse::<ThresholdMetric>().unwrap_err().to_string();
            assert!(message.contains(cure), "{name}: {message}");
        }
    }

    #[test]
    fn figures_of_journeys_are_read_as_written_or_name_the_nearest() {
        let times = [
            "time.p99",
            "time.mean",
            "wait.p99.9",
            "wait.max",
            "group.a.time.b.wait.p99.9",
            "group.buy.begun.count",
            "group.pay now.completed.count",
        ];
        for name in JourneyNumber::WORDS.into_iter().chain(times) {
            let read = ThresholdMetric::of_journey(name).unwrap();
            assert_eq!(read.to_string(), name);
        }
        let cases = [
            ("completed", "write completed.share"),
            ("success.share", "write completed.share"),
            ("response_time.p95", "write time.p95"),
            ("duration.p(95)", "write time.p95"),
            ("time", "time.p99 (any percentile)"),
            ("wait.p101", "wait.p99 (any percentile)"),
            ("errors.share", "write failed.share"),
            ("group.buy", "write group.buy.time.p99"),
            ("group.buy.time", "group.buy.time is a distribution"),
            ("group.buy.time.p101", "group.buy.time is a distribution"),
            ("group..time.p99", "write group..time.p99.time.p99"),
        ];
        for (name, cure) in cases {
            let message = ThresholdMetric::of_journey(name).unwrap_err().to_string();
            assert!(message.contains(cure), "{name}: {message}");
        }
    }

    #[test]
    fn comparisons_are_split_at_the_longest_sign() {
        assert_eq!(Relation::split("<= 1"), Some((Relation::AtMost, " 1")));
        assert_eq!(Relation::split("<1"), Some((Relation::Below, "1")));
        assert_eq!(Relation::split("=< 1"), None);
    }
}
