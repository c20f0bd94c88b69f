//! Statuses that gRPC calls ended with.

use crate::counts;
use measure::GrpcTally;
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
}

impl GrpcFigures {
    /// The figures of the requests that are calls, in the plan's order.
    pub(crate) fn all(requests: &[String], tally: &GrpcTally) -> Vec<GrpcFigures> {
        let all = (0..).zip(requests).map(|(place, request)| {
            let of_request = tally.of_request(place);
            let statuses: BTreeMap<String, u64> = of_request
                .map(|(status, number)| (status.name().to_owned(), number))
                .collect();
            GrpcFigures {
                request: request.clone(),
                answered: counts::sum(statuses.values()),
                statuses,
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
        let all = GrpcFigures::all(&names, &tally);
        let told: Vec<(&str, u64)> = all
            .iter()
            .map(|figures| (figures.request.as_str(), figures.answered))
            .collect();
        assert_eq!(told, [("a", 7), ("c", 1)]);
        let together = GrpcFigures::together(&all);
        assert_eq!(together, BTreeMap::from([("ok", 6), ("unavailable", 2)]));
    }
}
