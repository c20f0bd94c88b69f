//! The plan's requests, written in the HTTP version that the plan speaks.

use crate::body::BodyUpload;
use crate::failed_row::RowFinder;
use crate::http2;
use crate::live_operation::LiveOperation;
use crate::request::{Http1Request, Http1Requests};
use crate::values::Values;
use measure::RowId;
use plan::{Close, HttpVersion, Plan};

/// The plan's requests, built before the run.
pub(crate) struct PlanRequests {
    http1: Http1Requests,
    /// The same requests for HTTP/2, if the plan speaks it.
    http2: Option<http2::HeaderBlocks>,
    close: Close,
    rows: RowFinder,
}

impl PlanRequests {
    pub(crate) fn new(plan: &Plan) -> PlanRequests {
        let speaks_http2 = plan.connection().http != HttpVersion::Http11;
        PlanRequests {
            http1: Http1Requests::new(plan),
            http2: speaks_http2.then(|| http2::HeaderBlocks::new(plan)),
            close: plan.connection().close,
            rows: RowFinder::new(plan),
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
        let values = || Values::new(user, operation);
        self.request_of(operation).write(closes, values, plain)
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
        blocks.write(operation.id.request, &Values::new(user, operation), block)
    }

    /// The operation's rows of data files, and the lines in which they begin.
    pub(crate) fn rows(
        &self,
        user: u64,
        operation: &LiveOperation,
    ) -> impl Iterator<Item = (RowId, u64)> {
        let values = Values::new(user, operation);
        self.rows.find(operation.id.request, values)
    }
}
