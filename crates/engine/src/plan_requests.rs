//! The plan's requests, written in the HTTP version that the plan speaks.

use crate::body::BodyUpload;
use crate::checks::AnswerChecks;
use crate::failed_row::RowFinder;
use crate::hops::{Hop, HopForm, HopId, Hops};
use crate::http2;
use crate::journey_memory::{JourneyMemories, JourneyMemory};
use crate::live_operation::LiveOperation;
use crate::pool_users::PoolUsers;
use crate::request::{Http1Request, Http1Requests};
use crate::request_tallies::RequestTallies;
use crate::template::ValueSources;
use crate::values::{JourneyView, Values};
use measure::{RedirectFault, RowId};
use plan::{Close, HttpVersion, Plan};
use std::sync::Arc;

/// The plan's requests, built before the run.
pub(crate) struct PlanRequests {
    http1: Http1Requests,
    /// The same requests for HTTP/2, if the plan speaks it.
    http2: Option<http2::HeaderBlocks>,
    close: Close,
    has_sockets: bool,
    rows: RowFinder,
    hops: Hops,
    /// What journeys remember.
    pub(crate) memories: JourneyMemories,
    /// Who makes which journey, if journeys share connections.
    pub(crate) pool_users: Option<Box<PoolUsers>>,
}

impl PlanRequests {
    pub(crate) fn new(plan: &Plan, tallies: &RequestTallies) -> PlanRequests {
        let sources = ValueSources::new(plan, tallies);
        let speaks_http2 = plan.connection().http != HttpVersion::Http11;
        PlanRequests {
            http1: Http1Requests::new(plan, &sources),
            http2: speaks_http2.then(|| http2::HeaderBlocks::new(plan, &sources)),
            close: plan.connection().close,
            has_sockets: plan.requests().iter().any(|it| it.websocket.is_some()),
            rows: RowFinder::new(plan),
            hops: Hops::default(),
            memories: JourneyMemories::default(),
            pool_users: None,
        }
    }

    /// Who closes connections.
    #[inline]
    pub(crate) fn close(&self) -> Close {
        self.close
    }

    /// The operation's request, whatever the HTTP version.
    #[inline]
    pub(crate) fn request_of(&self, operation: &LiveOperation) -> &Http1Request {
        self.http1.request(operation.id.request)
    }

    /// A text of an answer to the operation, as it may be saved.
    pub(crate) fn masked(&self, user: u64, operation: &LiveOperation, text: &str) -> String {
        match &self.request_of(operation).secrets {
            Some(secrets) => secrets.mask(&self.values(user, operation), text),
            None => text.to_owned(),
        }
    }

    /// What is looked at of answers to a request; `None` if that is nothing.
    pub(crate) fn checks(&self, request: u16) -> Option<&AnswerChecks> {
        self.http1.request(request).checks.as_deref()
    }

    /// Writes the operation's request for HTTP/1.1. `closes` if it asks the server to close the
    /// connection. Returns the rest of its body if that is large.
    #[inline]
    pub(crate) fn write_http1(
        &self,
        closes: bool,
        user: u64,
        operation: &LiveOperation,
        plain: &mut Vec<u8>,
    ) -> Option<BodyUpload> {
        let values = || self.values(user, operation);
        let request = self.request_of(operation);
        if let Some((hop, followed)) = self.hop_of(operation).zip(request.hops.as_ref()) {
            return followed.write(hop, values, plain);
        }
        request.write(closes, values, plain)
    }

    /// What the operation is known by. `user` is that of its connection.
    pub(crate) fn values(&self, user: u64, operation: &LiveOperation) -> Values {
        let values = self.own_values(user, operation);
        let view = |memory: &Arc<JourneyMemory>| JourneyView {
            memory: Arc::clone(memory),
            hop_target: self.hop_of(operation).map(|hop| (*hop.target).into()),
        };
        Values {
            journey: self.memories.of(values.seq).map(view),
            ..values
        }
    }

    /// The same without what its journey remembers.
    fn own_values(&self, user: u64, operation: &LiveOperation) -> Values {
        let values = Values::new(user, operation);
        let users = self.pool_users.as_ref();
        match users.and_then(|users| users.maker(values.seq)) {
            None => values,
            Some(maker) => Values {
                user: maker.number,
                ..values
            },
        }
    }

    /// Gives cookies that an answer to the operation's request sets to its journey.
    pub(crate) fn set_cookies(&mut self, user: u64, operation: &LiveOperation, set: &[Vec<u8>]) {
        let values = self.values(user, operation);
        let Some(source) = self.http1.request(operation.id.request).cookies.clone() else {
            return;
        };
        // A journey's first cookie may come at a hop, when the journey remembers nothing yet.
        let hop = operation.hop.and_then(|hop| self.hops.get(hop));
        let hop = hop.map(|hop| &*hop.target);
        self.memories.set_cookies(values.seq, |jar| {
            source.with_scope(&values, hop, |scope| {
                set.iter().for_each(|field| jar.set(field, scope));
            });
        });
    }

    /// Writes the operation's header block. Returns its body, if it has one.
    pub(crate) fn write_http2(
        &self,
        user: u64,
        operation: &LiveOperation,
        block: &mut Vec<u8>,
    ) -> Option<BodyUpload> {
        let blocks = self.http2.as_ref();
        let blocks = blocks.expect("HTTP/2 is spoken only if the plan says so");
        let (request, values) = (operation.id.request, self.values(user, operation));
        match self.hop_of(operation) {
            Some(hop) => blocks.write_hop(request, hop, &values, block),
            None => blocks.write(request, &values, block),
        }
    }

    /// Follows a redirect, the answer to the operation's request with `status` and `location`.
    /// Returns the place of what is sent next, and where that goes, by place among the target's
    /// destinations.
    pub(crate) fn follow(
        &mut self,
        user: u64,
        operation: &LiveOperation,
        (status, location): (u16, &[u8]),
    ) -> Result<(HopId, u16), RedirectFault> {
        let request = self.http1.request(operation.id.request);
        let request = request.hops.as_ref().ok_or(RedirectFault::TooMany)?;
        let sent_at = operation.sent().map_or(operation.begun_at, |sent| sent.at);
        let values = self.values(user, operation).at_once(true);
        let before = self.hop_of(operation);
        let hop = request.follow(before, &values, (status, location), sent_at)?;
        let origin = hop.origin;
        Ok((self.hops.put(operation.hop, hop), origin))
    }

    /// Where the operation is, if it has followed redirects.
    #[inline]
    pub(crate) fn hop_of(&self, operation: &LiveOperation) -> Option<&Hop> {
        self.hops.get(operation.hop?)
    }

    /// From when on the operation's time-out runs: a redirect does not put it off. `from` if it has
    /// followed none.
    #[inline]
    pub(crate) fn timeout_from(&self, operation: &LiveOperation, from: u64) -> u64 {
        self.hop_of(operation).map_or(from, |hop| hop.since)
    }

    /// Forgets where an operation was that has ended.
    pub(crate) fn end(&mut self, hop: HopId) {
        self.hops.remove(hop);
    }

    /// Whether any of them opens a socket.
    pub(crate) fn has_sockets(&self) -> bool {
        self.has_sockets
    }

    /// Whether the operation's request may be sent again on a new connection (RFC 9110 §9.2.2).
    pub(crate) fn is_idempotent(&self, operation: &LiveOperation) -> bool {
        self.is_now_get(operation) || self.request_of(operation).is_idempotent
    }

    /// Whether the operation's request changes nothing on the server (RFC 9110 §9.2.1).
    pub(crate) fn is_safe(&self, operation: &LiveOperation) -> bool {
        self.is_now_get(operation) || self.request_of(operation).is_safe
    }

    fn is_now_get(&self, operation: &LiveOperation) -> bool {
        self.hop_of(operation)
            .is_some_and(|hop| hop.form == HopForm::Get)
    }

    /// The operation's rows of data files, and the lines in which they begin.
    pub(crate) fn rows(
        &self,
        user: u64,
        operation: &LiveOperation,
    ) -> impl Iterator<Item = (RowId, u64)> {
        let values = self.own_values(user, operation);
        self.rows.find(operation.id.request, values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{CellId, Period};
    use plan::NoFiles;

    /// A journey of one request with these fields, and its operation.
    fn journey(fields: &str) -> (PlanRequests, LiveOperation) {
        let text = format!(
            "target.url = \"http://127.0.0.1/\"
             request = [{{ name = \"a\", path = \"/a\", redirects = 1{fields} }}]
             journey = [{{ steps = [\"a\"] }}]
             load = {{ connections = 1, journeys = 1 }}"
        );
        let plan = Plan::parse(&text, &mut NoFiles).expect("a plan");
        let id = CellId {
            period: Period::Measured,
            request: 0,
            address: 0,
        };
        let requests = PlanRequests::new(&plan, &RequestTallies::default());
        (requests, LiveOperation::new(id, 0, 0, 0, 0))
    }

    fn has_cookie(requests: &PlanRequests, operation: &LiveOperation) -> bool {
        let mut bytes = Vec::new();
        requests.write_http1(false, 0, operation, &mut bytes);
        let text = String::from_utf8(bytes).expect("a request of ASCII");
        text.contains("\r\nCookie: k=v\r\n")
    }

    #[test]
    fn first_cookie_of_a_journey_is_for_the_path_that_a_redirect_led_to() {
        let (mut requests, planned) = journey("");
        let led = requests.follow(0, &planned, (302, b"/b/c?d"));
        let redirected = LiveOperation {
            hop: Some(led.expect("it is followed").0),
            ..planned
        };
        requests.set_cookies(0, &redirected, &[b"k=v".to_vec()]);
        assert!(has_cookie(&requests, &redirected));
        assert!(!has_cookie(&requests, &planned));
    }

    #[test]
    fn domain_of_a_cookie_is_compared_with_the_host_that_the_server_sees() {
        let given = ", headers = { Host = \"www.shop.test:80\" }";
        for (fields, domain, is_kept) in [
            ("", "127.0.0.1", true),
            ("", "shop.test", false),
            (given, "shop.test", true),
            (given, "127.0.0.1", false),
        ] {
            let (mut requests, planned) = journey(fields);
            let cookie = format!("k=v; Domain={domain}").into_bytes();
            requests.set_cookies(0, &planned, &[cookie]);
            assert_eq!(
                has_cookie(&requests, &planned),
                is_kept,
                "{fields} {domain}"
            );
        }
    }
}
