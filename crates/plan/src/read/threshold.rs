//! Reads `[thresholds]`.

use crate::rate::decimal;
use crate::read::field::Field;
use crate::read::part_figure::FigureParts;
use crate::read::section::PlanSection;
use crate::{
    GroupFigure, Journey, Limit, Relation, Request, Threshold, ThresholdMetric,
    ThresholdMetricError, ThresholdScope, duration, quote,
};

const MAX_THRESHOLDS: usize = 1000;

/// Prefix of figures of a single request.
const OF_REQUEST: &str = "request.";
/// Prefix of figures of the journeys of one name.
const OF_JOURNEY: &str = "journey.";

/// Reads the section. `requests` and `journeys` are `None` if they cannot be read, which has been
/// reported.
pub(crate) fn read(
    section: &PlanSection<'_>,
    requests: Option<&[Request]>,
    journeys: Option<&[Journey]>,
) -> Vec<Threshold> {
    let fields = section.all();
    if fields.len() > MAX_THRESHOLDS {
        section.problem(format_args!(
            "has {} lines; write at most {MAX_THRESHOLDS}",
            fields.len()
        ));
        return Vec::new();
    }
    let mut thresholds: Vec<Threshold> = Vec::new();
    for (name, field) in fields {
        match one(name, &field, (requests, journeys)) {
            Some(same) if thresholds.iter().any(|other| is_same(other, &same)) => {
                field.problem(format_args!(
                    "is {} once more; keep one of the two",
                    same.name()
                ));
            }
            threshold => thresholds.extend(threshold),
        }
    }
    thresholds
}

fn is_same(one: &Threshold, other: &Threshold) -> bool {
    (&one.scope, &one.metric) == (&other.scope, &other.metric)
}

fn one(
    name: &str,
    field: &Field<'_>,
    (requests, journeys): (Option<&[Request]>, Option<&[Journey]>),
) -> Option<Threshold> {
    let of_request = name.strip_prefix(OF_REQUEST);
    let (scope, metric) = match (of_request, name.strip_prefix(OF_JOURNEY)) {
        (Some(rest), _) => FigureParts::requests(requests?).read(rest),
        (_, Some(rest)) => FigureParts::journeys(journeys?).read(rest),
        (None, None) => name
            .parse()
            .map(|metric| (ThresholdScope::Run, metric))
            .map_err(|why: ThresholdMetricError| why.to_string()),
    }
    .map_err(|why| field.problem(why))
    .ok()?;
    if let Some(requests) = requests {
        refuse_unknown_check(field, &metric, requests);
        refuse_without_stream(field, (&scope, &metric), requests);
    }
    if let Some(journeys) = journeys {
        refuse_unknown_group(field, (&scope, &metric), journeys);
    }
    let example = example(&metric);
    let text = field.text(example)?.trim();
    let Some((comparison, rest)) = Relation::split(text) else {
        field.refuse(format_args!(
            "does not begin with <, <=, > or >=; write one such as {example}"
        ));
        return None;
    };
    let limit = limit(&metric, rest.trim())
        .map_err(|why| field.refuse(format_args!("compares with {:?}, which {why}", rest.trim())));
    limit.ok().map(|limit| Threshold {
        scope,
        metric,
        comparison,
        limit,
    })
}

/// A threshold on a check that the plan does not have would always be met. What is to be captured
/// is numbered with the checks.
fn refuse_unknown_check(field: &Field<'_>, metric: &ThresholdMetric, requests: &[Request]) {
    let name = metric.to_string();
    let rest = name.strip_prefix("errors.http.check.");
    let number = rest.and_then(|rest| rest.split('.').next()?.parse().ok());
    let checks = requests
        .iter()
        .map(|request| request.expect.checks.len() + request.captures.len())
        .sum();
    if let Some(number) = number.filter(|number| !(1..=checks).contains(number)) {
        field.problem(format_args!(
            "is about check {number}, and the plan has {checks}, numbered from 1 in the order of \
             its requests; write errors.http.check.count for all of them"
        ));
    }
}

/// A threshold on a group that the journey does not have would never be met.
fn refuse_unknown_group(
    field: &Field<'_>,
    (scope, metric): (&ThresholdScope, &ThresholdMetric),
    journeys: &[Journey],
) {
    let figure = match metric {
        ThresholdMetric::Time { histogram, .. } => histogram,
        ThresholdMetric::Number(name) => name,
    };
    let ThresholdScope::Journey(name) = scope else {
        return;
    };
    let mut journeys = journeys.iter();
    let Some((group, _)) = GroupFigure::split(figure) else {
        return;
    };
    let groups = journeys.find(|journey| journey.name == *name);
    let groups = groups.map_or(&[][..], Journey::groups);
    if groups.is_empty() {
        field.problem(format_args!(
            "is about group {group:?}, and journey {name:?} has none; write {{ group = {group:?}, \
             steps = […] }} in its steps"
        ));
    } else if groups.iter().all(|known| known != group) {
        let listed: Vec<String> = groups.iter().take(10).map(|name| quote(name)).collect();
        field.problem(format_args!(
            "is about group {group:?}, and journey {name:?} has {}; write one of these",
            listed.join(", ")
        ));
    }
}

/// A threshold on events that no request can have would never be met.
fn refuse_without_stream(
    field: &Field<'_>,
    (scope, metric): (&ThresholdScope, &ThresholdMetric),
    requests: &[Request],
) {
    let is_meant = |request: &Request| match scope {
        ThresholdScope::Request(name) => *name == request.name,
        ThresholdScope::Run | ThresholdScope::Journey(_) => true,
    };
    let mut meant = requests.iter().filter(|request| is_meant(request));
    if metric.is_of_streams() && !meant.any(|request| request.stream.is_some()) {
        field.problem(
            "is about events, and the answers are no streams of them; write [request.stream] with \
             events = \"sse\" or \"lines\"",
        );
    }
    let has_messages = |request: &Request| {
        let mut socket = request.websocket.iter();
        socket.any(|socket| !socket.messages.is_empty())
    };
    let mut meant = requests.iter().filter(|request| is_meant(request));
    if metric.is_of_messages() && !meant.any(has_messages) {
        field.problem(
            "is about messages of WebSockets, and no request sends any; write \
             [request.websocket] with message = \"…\"",
        );
    }
    let has_pings = |request: &Request| {
        let mut socket = request.websocket.iter();
        socket.any(|socket| socket.ping.is_some())
    };
    let mut meant = requests.iter().filter(|request| is_meant(request));
    if metric.is_of_pings() && !meant.any(has_pings) {
        field.problem(
            "is about pings of WebSockets, and no request sends any; write [request.websocket] \
             with ping = \"20s\"",
        );
    }
}

fn example(metric: &ThresholdMetric) -> &'static str {
    match metric {
        ThresholdMetric::Time { .. } => "\"<= 250ms\"",
        ThresholdMetric::Number(name) if name == "completed.share" => "\">= 0.995\"",
        ThresholdMetric::Number(name) if name.ends_with(".share") => "\"<= 0.001\"",
        ThresholdMetric::Number(name) if name.ends_with("rate") => "\">= 1000\"",
        ThresholdMetric::Number(_) => "\"<= 10\"",
    }
}

/// Converts a percentage to the nearest share: divided by 100, 99.9 is above 0.999.
fn share(percent: &str) -> Option<f64> {
    decimal(percent)?;
    format!("{percent}e-2").parse().ok()
}

fn limit(metric: &ThresholdMetric, text: &str) -> Result<Limit, String> {
    let ThresholdMetric::Number(name) = metric else {
        return duration::parse(text).map(Limit::Time);
    };
    // The names determine the kind of number: see `NumberName`.
    let is_share = name.ends_with(".share");
    let is_rate = name.ends_with("rate");
    let most = if is_share { 1.0 } else { f64::INFINITY };
    let number = match (text.strip_suffix('%'), text.strip_suffix("/s")) {
        (Some(percent), _) if is_share => share(percent.trim()),
        (_, Some(rate)) if is_rate => decimal(rate.trim()),
        _ => decimal(text),
    };
    match number {
        Some(number) if number <= most => Ok(Limit::Number(number)),
        Some(_) => Err(
            "is more than a share can be; write a number from 0 to 1, or a percentage such as \
             \"0.1%\""
                .to_owned(),
        ),
        None => Err(format!(
            "is not a number; write one such as {}",
            example(metric)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn percentages_are_the_nearest_shares() {
        for (percent, expected) in [
            ("99.9", Some(0.999)),
            ("0.1", Some(0.001)),
            ("100", Some(1.0)),
            ("0", Some(0.0)),
            (".5", Some(0.005)),
            ("7", Some(0.07)),
            ("", None),
            ("1e1", None),
            ("-1", None),
        ] {
            assert_eq!(share(percent), expected, "{percent}");
        }
    }
}
