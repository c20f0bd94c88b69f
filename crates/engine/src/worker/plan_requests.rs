//! The plan's requests, written in the HTTP version that the plan speaks.

use super::connector::ConnectionRules;
use super::sender::Sender;
use crate::body::BodyUpload;
use crate::connection::WorkerConnection;
use crate::http2;
use crate::live_operation::LiveOperation;
use crate::request::{Http1Request, Http1Requests};
use crate::values::Values;
use measure::Period;
use plan::{Close, HttpVersion, Plan};

/// `{seq}` of the warm-up starts here. How many operations the warm-up will have is unknown, and no
/// two operations of a run may have the same number.
const WARM_UP_FROM: u64 = 9_000_000_000_000_000_000;

/// The plan's requests, built before the run.
pub(super) struct PlanRequests {
    http1: Http1Requests,
    /// The same requests for HTTP/2, if the plan speaks it.
    http2: Option<http2::HeaderBlocks>,
}

/// The rest of a request whose header block has been written.
pub(super) struct WrittenStream {
    pub(super) body: Option<BodyUpload>,
    /// Its answer has no body, whatever the fields say.
    pub(super) head_only: bool,
}

impl PlanRequests {
    pub(super) fn new(plan: &Plan) -> PlanRequests {
        let speaks_http2 = plan.connection().http != HttpVersion::Http11;
        PlanRequests {
            http1: Http1Requests::new(plan),
            http2: speaks_http2.then(|| http2::HeaderBlocks::new(plan)),
        }
    }

    #[inline]
    pub(super) fn speak_http2(&self) -> bool {
        self.http2.is_some()
    }

    /// The operation's request, whatever the HTTP version.
    #[inline]
    pub(super) fn request_of(&self, operation: &LiveOperation) -> &Http1Request {
        self.http1.request(operation.id.request)
    }

    /// Writes the operation's request, the next one of its connection, for HTTP/1.1. Returns the
    /// rest of its body if that is large.
    pub(super) fn write_http1(
        &self,
        rules: ConnectionRules,
        user: u64,
        (connection, operation): (&WorkerConnection, &LiveOperation),
        sender: &mut Sender,
    ) -> Option<BodyUpload> {
        let closes = rules.close == Close::Server && connection.is_next_last();
        let values = values(user, operation);
        self.request_of(operation)
            .write(closes, &values, sender.plain())
    }

    /// Writes the operation's header block; `None` if the plan does not speak HTTP/2.
    pub(super) fn write_http2(
        &self,
        user: u64,
        operation: &LiveOperation,
        sender: &mut Sender,
    ) -> Option<WrittenStream> {
        let requests = self.http2.as_ref()?;
        let values = values(user, operation);
        Some(WrittenStream {
            body: requests.write(operation.id.request, &values, sender.plain()),
            head_only: self.request_of(operation).is_head,
        })
    }
}

fn values(user: u64, operation: &LiveOperation) -> Values {
    let seq = match operation.id.period {
        Period::WarmUp => operation.seq.wrapping_add(WARM_UP_FROM),
        Period::Measured => operation.seq,
    };
    Values {
        user,
        seq,
        random: operation.random,
    }
}
