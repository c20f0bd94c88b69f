//! Statuses that gRPC calls ended with.

use crate::counts;
use measure::{GrpcMessages, GrpcTally};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Statuses that calls of one request ended with in the measured part, expected or not. A call that
/// failed before it had a status is in none of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GrpcFigures {
    /// Name of the request.
    pub request: String,
    /// Number of calls that ended with a status.
    pub answered: u64,
    /// The same by status, such as `ok` or `unavailable`.
    pub statuses: BTreeMap<String, u64>,
    /// What the server said of calls that failed by their status, the first texts of each status.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<GrpcMessageCount>,
}

/// Calls that failed by one status, of which the server said the same (`grpc-message`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GrpcMessageCount {
    /// The status, such as `unavailable`.
    pub status: String,
    /// What the server said, its first 256 bytes, with control characters escaped; empty if it said
    /// nothing. `null` for all other texts together.
    pub text: Option<String>,
    /// Number of calls.
    pub calls: u64,
}

impl GrpcFigures {
    /// The figures of the requests that are calls, in the plan's order.
    pub(crate) fn all(
        requests: &[String],
        tally: &GrpcTally,
        messages: &GrpcMessages,
    ) -> Vec<GrpcFigures> {
        let all = (0..).zip(requests).map(|(place, request)| {
            let of_request = tally.of_request(place);
            let statuses: BTreeMap<String, u64> = of_request
                .map(|(status, number)| (status.name().to_owned(), number))
                .collect();
            GrpcFigures {
                request: request.clone(),
                answered: counts::sum(statuses.values()),
                statuses,
                messages: messages_of(place, tally, messages),
            }
        });
        all.filter(|figures| figures.answered > 0).collect()
    }

    /// The calls of several requests together, by status.
    #[must_use]
    pub fn together(all: &[GrpcFigures]) -> BTreeMap<&str, u64> {
        let mut together: BTreeMap<&str, u64> = BTreeMap::new();
        for (status, &number) in all.iter().flat_map(|figures| &figures.statuses) {
            let sum = together.entry(status).or_default();
            *sum = sum.saturating_add(number);
        }
        together
    }
}

/// The texts of a request by status, those of most calls first. Behind them is how many calls had
/// others.
fn messages_of(request: u16, tally: &GrpcTally, messages: &GrpcMessages) -> Vec<GrpcMessageCount> {
    let of_status = |(status, calls): (measure::GrpcStatus, u64)| {
        let message = |text: Option<&str>, calls| GrpcMessageCount {
            status: status.name().to_owned(),
            text: text.map(str::to_owned),
            calls,
        };
        let texts = messages.of_status(request, status);
        let mut texts: Vec<_> = texts
            .map(|(text, calls)| message(Some(text), calls))
            .collect();
        texts.sort_by_key(|message| std::cmp::Reverse(message.calls));
        let told = counts::sum(texts.iter().map(|message| &message.calls));
        if !texts.is_empty() && told < calls {
            texts.push(message(None, calls - told));
        }
        texts
    };
    tally.of_request(request).flat_map(of_status).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::GrpcStatus;

    #[test]
    fn calls_are_told_by_request_and_together() {
        let mut tally = GrpcTally::default();
        for (request, status, number) in [
            (0, GrpcStatus::Ok, 5),
            (0, GrpcStatus::Unavailable, 2),
            (2, GrpcStatus::Ok, 1),
            (9, GrpcStatus::Ok, 1),
        ] {
            tally.count(request, status, number);
        }
        let names = ["a", "b", "c"].map(str::to_owned);
        let mut messages = GrpcMessages::default();
        messages.count(0, GrpcStatus::Unavailable, "busy", 1);
        let all = GrpcFigures::all(&names, &tally, &messages);
        let message = |text: Option<&str>| GrpcMessageCount {
            status: "unavailable".to_owned(),
            text: text.map(str::to_owned),
            calls: 1,
        };
        assert_eq!(all[0].messages, [message(Some("busy")), message(None)]);
        assert!(all[1].messages.is_empty());
        let told: Vec<(&str, u64)> = all
            .iter()
            .map(|figures| (figures.request.as_str(), figures.answered))
            .collect();
        assert_eq!(told, [("a", 7), ("c", 1)]);
        let together = GrpcFigures::together(&all);
        assert_eq!(together, BTreeMap::from([("ok", 6), ("unavailable", 2)]));
    }
}
