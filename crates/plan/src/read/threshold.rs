//! Reads `[thresholds]`.

use crate::rate::decimal;
use crate::read::field::Field;
use crate::read::section::PlanSection;
use crate::toml_text::quote;
use crate::{Limit, Relation, Request, Threshold, ThresholdMetric, ThresholdMetricError, duration};

const MAX_THRESHOLDS: usize = 1000;

/// Most requests that a message names.
const NAMED_MAX: usize = 5;

/// Prefix of figures of a single request.
const OF_REQUEST: &str = "request.";

/// Reads the section. `requests` is `None` if they cannot be read, which has been reported.
pub(crate) fn read(section: &PlanSection<'_>, requests: Option<&[Request]>) -> Vec<Threshold> {
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
        match one(name, &field, requests) {
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
    (&one.request, &one.metric) == (&other.request, &other.metric)
}

fn one(name: &str, field: &Field<'_>, requests: Option<&[Request]>) -> Option<Threshold> {
    let (request, metric) = match name.strip_prefix(OF_REQUEST) {
        Some(rest) => of_request(rest, requests?),
        None => name
            .parse()
            .map(|metric| (None, metric))
            .map_err(|why: ThresholdMetricError| why.to_string()),
    }
    .map_err(|why| field.problem(why))
    .ok()?;
    if let Some(requests) = requests {
        refuse_unknown_check(field, &metric, requests);
        refuse_without_stream(field, (request.as_deref(), &metric), requests);
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
        request,
        metric,
        comparison,
        limit,
    })
}

/// A threshold on a check that the plan does not have would always be met.
fn refuse_unknown_check(field: &Field<'_>, metric: &ThresholdMetric, requests: &[Request]) {
    let name = metric.to_string();
    let rest = name.strip_prefix("errors.http.check.");
    let number = rest.and_then(|rest| rest.split('.').next()?.parse().ok());
    let checks = requests
        .iter()
        .map(|request| request.expect.checks.len())
        .sum();
    if let Some(number) = number.filter(|number| !(1..=checks).contains(number)) {
        field.problem(format_args!(
            "is about check {number}, and the plan has {checks}, numbered from 1 in the order of \
             its requests; write errors.http.check.count for all of them"
        ));
    }
}

/// A threshold on events that no request can have would never be met.
fn refuse_without_stream(
    field: &Field<'_>,
    (of_request, metric): (Option<&str>, &ThresholdMetric),
    requests: &[Request],
) {
    let is_meant = |request: &Request| of_request.is_none_or(|name| name == request.name);
    let mut meant = requests.iter().filter(|request| is_meant(request));
    if metric.is_of_streams() && !meant.any(|request| request.stream.is_some()) {
        field.problem(
            "is about events, and the answers are no streams of them; write [request.stream] with \
             events = \"sse\" or \"lines\"",
        );
    }
}

/// Splits a name into a request and its figure. Names of requests can contain dots, and one can
/// start with another: the longest that leaves the name of a figure counts.
fn of_request(
    rest: &str,
    requests: &[Request],
) -> Result<(Option<String>, ThresholdMetric), String> {
    let figure = |request: &str| rest.strip_prefix(request)?.strip_prefix('.');
    let mut begun: Vec<(&str, &str)> = requests
        .iter()
        .filter_map(|request| Some((request.name.as_str(), figure(&request.name)?)))
        .collect();
    begun.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    let is_figure = |figure: &str| figure.parse::<ThresholdMetric>().is_ok();
    // The longest name that a figure follows; without one the longest, for the message.
    let whole = begun.iter().find(|(_, figure)| is_figure(figure));
    let Some((name, figure)) = whole.or(begun.first()) else {
        return Err(unknown_request(rest, requests));
    };
    let metric: ThresholdMetric = figure.parse().map_err(|why| match why {
        ThresholdMetricError::Unknown(nearest) => {
            let nearest = write_key(name, &nearest);
            format!("unknown figure; write {nearest}, or another of docs/PLAN.md")
        }
        why => why.to_string(),
    })?;
    if !metric.is_of_requests() {
        return Err(format!(
            "no single request has {metric}; write {:?} for all of them, or a figure of the \
             request, such as {}",
            metric.to_string(),
            write_key(name, "response_time.p95")
        ));
    }
    Ok((Some((*name).to_owned()), metric))
}

/// The key as plans write it, whatever characters the name contains.
fn write_key(request: &str, figure: &str) -> String {
    quote(&format!("{OF_REQUEST}{request}.{figure}"))
}

fn unknown_request(rest: &str, requests: &[Request]) -> String {
    let names = || requests.iter().map(|request| request.name.as_str());
    if let Some(name) = names().find(|&name| name == rest) {
        let example = write_key(name, "response_time.p95");
        return format!("says no figure of the request; write one such as {example}");
    }
    let is_figure = |figure: &str| figure.parse::<ThresholdMetric>().is_ok();
    // The name may contain dots, so the first split whose rest is a figure counts.
    let dots = rest.match_indices('.');
    let mut splits = dots.map(|(at, _)| (&rest[..at], &rest[at + 1..]));
    let split = splits.find(|(_, figure)| is_figure(figure));
    let (asked, figure) = split.unwrap_or((rest, "response_time.p95"));
    let likeness = |name: &&str| {
        // The comparison takes time in proportion to the product of both lengths.
        let asked: String = asked.chars().take(60).collect();
        (strsim::normalized_damerau_levenshtein(name, &asked) * 1e6) as u32
    };
    let nearest = names().max_by_key(likeness).unwrap_or_default();
    let listed: Vec<String> = names().take(NAMED_MAX).map(quote).collect();
    let more = names().count().saturating_sub(NAMED_MAX);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!(
        "no request is called {asked:?}; write {}, or another of {}{more}",
        write_key(nearest, figure),
        listed.join(", ")
    )
}

fn example(metric: &ThresholdMetric) -> &'static str {
    match metric {
        ThresholdMetric::Time { .. } => "\"<= 250ms\"",
        ThresholdMetric::Number(name) if name.ends_with(".share") => "\"<= 0.001\"",
        ThresholdMetric::Number(name) if name.ends_with("rate") => "\">= 1000\"",
        ThresholdMetric::Number(_) => "\"<= 10\"",
    }
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
        (Some(percent), _) if is_share => decimal(percent.trim()).map(|percent| percent / 100.0),
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
