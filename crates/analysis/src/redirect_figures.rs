//! Redirects that operations followed.

use crate::counts;
use measure::FollowedRedirects;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Redirects that operations of one request followed in the measured part. These answers are among
/// no other statuses, which are those that operations ended with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RedirectFigures {
    /// Name of the request.
    pub request: String,
    /// Number of redirects that were followed.
    pub followed: u64,
    /// The same by status.
    pub statuses: BTreeMap<u16, u64>,
}

impl RedirectFigures {
    /// The figures of the requests that were redirected, in the plan's order.
    pub(crate) fn all(requests: &[String], redirects: &FollowedRedirects) -> Vec<RedirectFigures> {
        let all = (0..).zip(requests).map(|(place, request)| {
            let statuses: BTreeMap<u16, u64> = redirects.of_request(place).collect();
            RedirectFigures {
                request: request.clone(),
                followed: counts::sum(statuses.values()),
                statuses,
            }
        });
        all.filter(|figures| figures.followed > 0).collect()
    }
}
