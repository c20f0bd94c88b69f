//! Requests without connections, for benches.

use crate::request::Http1Requests;
use crate::request_tallies::RequestTallies;
use crate::template::ValueSources;
use crate::values::Values;
use plan::Plan;

/// The requests of a plan.
#[derive(Debug)]
pub struct RequestRehearsal(Http1Requests);

impl RequestRehearsal {
    /// Makes them ready, as a worker does before a run.
    #[must_use]
    pub fn new(plan: &Plan) -> RequestRehearsal {
        RequestRehearsal(Http1Requests::new(
            plan,
            &ValueSources::new(plan, &RequestTallies::default()),
        ))
    }

    /// Appends the plan's first request, as operation `seq` sends it, to `out`.
    pub fn write(&self, seq: u64, out: &mut Vec<u8>) {
        let values = || Values {
            seq,
            ..Values::default()
        };
        let _ = self.0.request(0).write(false, values, out);
    }
}
