//! `result.json` as other programs read it, and what a server knows about the same run.

use interop::{Exchange, Finished};
use serde_json::Value;
use std::time::{Duration, Instant};

/// The parts of `result.json` that are read.
pub struct Reading {
    result: Value,
}

impl Reading {
    pub fn new(finished: &Finished) -> Reading {
        Reading {
            result: finished.result(),
        }
    }

    /// A number, by its path: `/measured/rates/ok_per_second`.
    pub fn number(&self, path: &str) -> f64 {
        self.find(path)
            .and_then(Value::as_f64)
            .unwrap_or_else(|| panic!("result.json has no number {path}"))
    }

    /// A count, by its path.
    pub fn count(&self, path: &str) -> u64 {
        self.find(path)
            .and_then(Value::as_u64)
            .unwrap_or_else(|| panic!("result.json has no count {path}"))
    }

    /// A percentile of times by their path, in milliseconds: `/measured/times/first_byte`.
    pub fn percentile_ms(&self, path: &str, percentile: f64) -> f64 {
        let figures = self
            .find(&format!("{path}/percentiles"))
            .unwrap_or_else(|| panic!("result.json has no times {path}"));
        let is_it = |figure: &&Value| figure["percentile"].as_f64() == Some(percentile);
        let figure = figures.as_array().unwrap().iter().find(is_it).unwrap();
        figure["value_ns"].as_f64().unwrap() / 1e6
    }

    /// The verdict's name.
    pub fn verdict(&self) -> String {
        self.result["verdict"]["verdict"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// The verdict's evidence, one sentence per line.
    pub fn evidence(&self) -> String {
        let sentences = self.result["verdict"]["evidence"].as_array().unwrap();
        sentences
            .iter()
            .map(|sentence| sentence.as_str().unwrap().to_owned() + "\n")
            .collect()
    }

    /// Rows of the series.
    pub fn rows(&self) -> &[Value] {
        self.result["series"]["rows"].as_array().unwrap()
    }

    pub fn find(&self, path: &str) -> Option<&Value> {
        self.result.pointer(path).filter(|value| !value.is_null())
    }
}

/// Answers per second in a part of the run, counted from the first request, by the server's own
/// clock.
pub fn answered_per_second(exchanges: &[Exchange], skip: Duration, length: Duration) -> f64 {
    let begin = first(exchanges) + skip;
    let answered = exchanges.iter().filter_map(|exchange| exchange.answered_at);
    answered
        .filter(|&at| at >= begin && at < begin + length)
        .count() as f64
        / length.as_secs_f64()
}

/// As [`answered_per_second`], but a request under way at an end of the part counts with the
/// fraction of its time that lies within.
pub fn carried_per_second(exchanges: &[Exchange], skip: Duration, length: Duration) -> f64 {
    let begin = first(exchanges) + skip;
    let end = begin + length;
    let within = exchanges.iter().map(|exchange| {
        let answered_at = exchange.answered_at.unwrap_or(end);
        let inside = answered_at
            .min(end)
            .saturating_duration_since(exchange.asked_at.max(begin));
        inside.as_secs_f64() / (answered_at - exchange.asked_at).as_secs_f64().max(1e-9)
    });
    within.sum::<f64>() / length.as_secs_f64()
}

/// Requests per second, from the first request to the last answer.
pub fn answered_per_second_in_all(exchanges: &[Exchange]) -> f64 {
    let answered = exchanges.iter().filter_map(|exchange| exchange.answered_at);
    let last = answered.max().expect("there were answers");
    exchanges.len() as f64 / (last - first(exchanges)).as_secs_f64()
}

/// Mean number of requests under way in a second of the run, counted from the first one, by the
/// server's own clock.
pub fn under_way(exchanges: &[Exchange], second: u64) -> f64 {
    let begin = first(exchanges) + Duration::from_secs(second);
    let end = begin + Duration::from_secs(1);
    let within = exchanges.iter().map(|exchange| {
        let answered_at = exchange.answered_at.unwrap_or(end);
        answered_at
            .min(end)
            .saturating_duration_since(exchange.asked_at.max(begin))
            .as_secs_f64()
    });
    within.sum()
}

/// When the server received its first request.
fn first(exchanges: &[Exchange]) -> Instant {
    exchanges.first().expect("there were requests").asked_at
}

/// Whether `value` differs from `truth` by at most this share of it.
pub fn is_near(value: f64, truth: f64, share: f64) -> bool {
    (value - truth).abs() <= truth * share
}
