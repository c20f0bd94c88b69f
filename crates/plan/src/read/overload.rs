//! Checks whether a hold of a capacity search is long enough for a small overload to show.
//!
//! At a rate 3 % above the target's capacity, each second leaves 0.03 s of work behind, so an
//! arrival t seconds after the beginning of the warm-up waits 0.03·t. In a hold of h seconds after
//! a warm-up of w, the wait grows evenly from 0.03·w to 0.03·(w + h); its percentile p is 0.03·(w +
//! h·p/100). The time that an answer takes without any wait is ignored.

use crate::{
    Capacity, Limit, NumberName, Plan, Relation, RequestsPerConnection, SearchRange, Statistic,
    Threshold, ThresholdMetric, Words as _, duration,
};
use measure::Metric;
use std::time::Duration;

/// The part of the capacity by which the target is overloaded.
const OVERLOAD: f64 = 0.03;
/// Histograms that do not grow with the target's queue.
const NOT_OF_TARGET: [Metric; 3] = [Metric::Lateness, Metric::Dns, Metric::Send];

/// Returns a remark if `capacity.hold` is so short that no threshold would notice. A closed loop
/// never builds up such a queue.
pub(crate) fn note(plan: &Plan, capacity: &Capacity) -> Option<String> {
    let SearchRange::Rate { .. } = capacity.range else {
        return None;
    };
    let hold = capacity.hold.as_secs_f64();
    let warm_up = plan.load.warm_up.as_secs_f64();
    let needed = plan
        .thresholds
        .iter()
        .filter_map(|threshold| seconds_to_violate(threshold, plan))
        .reduce(f64::min);
    if needed.is_some_and(|needed| needed < hold) {
        return None;
    }
    let last = OVERLOAD * (hold + warm_up);
    let longer = needed
        .filter(|needed| *needed < 3600.0)
        .map(|needed| format!("hold = \"{}s\" or longer, or ", needed.floor() + 1.0));
    Some(format!(
        "search.hold = \"{}\" is too short for an overload of 3 % to show: by its end arrivals \
         wait {} (0.03 of warm_up and hold), and no threshold notices that; write {}a threshold \
         such as \"response_time.p99\" = \"<= {}\"",
        duration::write(capacity.hold),
        in_ms(last),
        longer.unwrap_or_default(),
        in_ms(last / 2.0),
    ))
}

/// Seconds that a hold must exceed for the overload to violate `threshold`; `None` if no length is
/// enough.
fn seconds_to_violate(threshold: &Threshold, plan: &Plan) -> Option<f64> {
    if !matches!(threshold.comparison, Relation::Below | Relation::AtMost) {
        return None;
    }
    let warm_up = plan.load.warm_up.as_secs_f64();
    // Seconds of overload until arrivals wait that long.
    let until = |wait: Duration| wait.as_secs_f64() / OVERLOAD;
    let at_share =
        |wait, share: f64| (share > 0.0).then(|| ((until(wait) - warm_up) / share).max(0.0));
    match (&threshold.metric, threshold.limit) {
        (
            ThresholdMetric::Time {
                histogram,
                statistic,
            },
            Limit::Time(limit),
        ) if grows_with_queue(histogram) => {
            match statistic {
                Statistic::Percentile(percentile) => at_share(limit, percentile / 100.0),
                Statistic::Max => at_share(limit, 1.0),
                Statistic::Mean => at_share(limit, 0.5),
                // For a uniform distribution: its width divided by √12.
                Statistic::StdDev => Some(until(limit) * 12f64.sqrt()),
                Statistic::Min => (until(limit) < warm_up).then_some(0.0),
            }
        }
        // A queue that is too long shows up as time-outs.
        (ThresholdMetric::Number(name), Limit::Number(limit)) => {
            match NumberName::from_word(name)? {
                NumberName::ErrorsCount | NumberName::TimedOutCount => {
                    at_share(time_out(plan), 1.0)
                }
                NumberName::ErrorsShare | NumberName::TimedOutShare => {
                    at_share(time_out(plan), 1.0 - limit)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn grows_with_queue(histogram: &str) -> bool {
    NOT_OF_TARGET
        .iter()
        .all(|metric| metric.name() != histogram)
}

fn time_out(plan: &Plan) -> Duration {
    match plan.connection.requests {
        RequestsPerConnection::HandshakeOnly => plan.connection.timeouts.handshake,
        _ => plan.connection.timeouts.request,
    }
}

fn in_ms(seconds: f64) -> String {
    duration::write(Duration::from_millis(
        ((seconds * 1e3).round() as u64).max(1),
    ))
}
