//! Bodies that were not sent because the server answered first.

use measure::WithheldBodies;
use serde::{Deserialize, Serialize};

/// Bodies of one request that waited for leave (`request.expect_continue`) in the measured part and
/// were not sent, since the answer came in its place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WithheldFigures {
    /// Name of the request.
    pub request: String,
    /// Number of bodies.
    pub bodies: u64,
}

impl WithheldFigures {
    /// The figures of the requests that have such bodies, in the plan's order.
    pub(crate) fn all(requests: &[String], withheld: &WithheldBodies) -> Vec<WithheldFigures> {
        let all = withheld.iter().filter_map(|(place, bodies)| {
            let request = requests.get(usize::from(place))?.clone();
            Some(WithheldFigures { request, bodies })
        });
        all.collect()
    }
}
