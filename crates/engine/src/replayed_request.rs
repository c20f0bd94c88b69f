//! The requests of a log as bytes, in both versions of HTTP: what the log has of them is copied
//! from there, and nothing is allocated.

use crate::body::RequestBody;
use crate::fill::Fill;
use crate::request_rules::{authority, takes_body};
use crate::template::ValueSources;
use crate::values::Values;
use measure::Kind;
use plan::{Plan, RecordedArrivals, ReplayStatus, Request, StatusSet};
use std::sync::Arc;

/// The recorded requests of one method.
#[derive(Debug)]
pub(crate) struct ReplayedRequest {
    arrivals: Arc<RecordedArrivals>,
    status: ReplayStatus,
    /// The plan's host, in place of the recorded one.
    host: Option<Vec<Fill>>,
    /// For a request whose host the log does not have.
    authority: Vec<u8>,
    /// Names in lower case of the fields that the plan has: recorded ones of that name are left
    /// out.
    given: Vec<String>,
    body: Arc<RequestBody>,
    /// Without a body it has no length either.
    is_body_optional: bool,
}

impl ReplayedRequest {
    /// What the plan's log has of `request`; `None` if the plan replays nothing.
    pub(crate) fn new(
        plan: &Plan,
        request: &Request,
        sources: &ValueSources,
    ) -> Option<Arc<ReplayedRequest>> {
        let replay = plan.replay()?;
        let arrivals = Arc::clone(&replay.arrivals);
        let host = request.host().map(|given| {
            let mut pieces = Vec::new();
            sources.template(given, &mut pieces);
            pieces
        });
        let names = request.fields();
        Some(Arc::new(ReplayedRequest {
            status: replay.status,
            host,
            authority: authority(plan).into_bytes(),
            given: names.map(|(name, _)| name.to_ascii_lowercase()).collect(),
            body: Arc::new(RequestBody::new(vec![Fill::Recorded(Arc::clone(
                &arrivals,
            ))])),
            is_body_optional: !takes_body(&request.method),
            arrivals,
        }))
    }

    /// Appends the path to `out`.
    pub(crate) fn put_path(&self, values: &Values, out: &mut Vec<u8>) {
        out.extend_from_slice(self.arrivals.log().path(self.entry(values)));
    }

    /// Appends the host to `out`.
    pub(crate) fn put_host(&self, values: &Values, out: &mut Vec<u8>) {
        match &self.host {
            Some(host) => host.iter().for_each(|piece| piece.fill(values, out)),
            None => {
                let recorded = self.arrivals.log().host(self.entry(values));
                out.extend_from_slice(recorded.unwrap_or(&self.authority));
            }
        }
    }

    /// Appends the recorded header fields to `out`, as lines of HTTP/1.1.
    pub(crate) fn put_lines(&self, values: &Values, out: &mut Vec<u8>) {
        if self.given.is_empty() {
            return out.extend_from_slice(self.arrivals.log().fields(self.entry(values)));
        }
        for (name, value) in self.fields(values) {
            for part in [name, b": ", value, b"\r\n"] {
                out.extend_from_slice(part);
            }
        }
    }

    /// Names and values of the recorded header fields that are sent.
    pub(crate) fn fields(&self, values: &Values) -> impl Iterator<Item = (&[u8], &[u8])> {
        let fields = self.arrivals.log().named_fields(self.entry(values));
        fields.filter(|(name, _)| !self.given.iter().any(|given| given.as_bytes() == *name))
    }

    /// The body; `None` if the request has neither a body nor its length.
    pub(crate) fn body(&self, values: &Values) -> Option<&Arc<RequestBody>> {
        let is_absent = self.is_body_optional && self.body.length(values) == 0;
        (!is_absent).then_some(&self.body)
    }

    /// What is wrong with the status of the answer to request `number`.
    pub(crate) fn fault(&self, number: u64, status: u16, expected: &StatusSet) -> Option<Kind> {
        let recorded = match self.status {
            ReplayStatus::Any => return None,
            ReplayStatus::Expected => None,
            ReplayStatus::Recorded => self.arrivals.log().status(self.arrivals.entry(number)),
        };
        match recorded {
            Some(recorded) => (status != recorded).then_some(Kind::NotAsRecorded(status)),
            None => (!expected.contains(status)).then_some(Kind::Status(status)),
        }
    }

    #[inline]
    fn entry(&self, values: &Values) -> usize {
        self.arrivals.entry(values.number_in_part())
    }
}
