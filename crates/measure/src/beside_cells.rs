//! What an interval has beside its cells. All of it is empty in most plans, so it is kept apart
//! from the cells, which would otherwise grow.

use crate::{
    FailedRows, FollowedRedirects, GrpcMessages, GrpcTally, SigningTally, Snapshot, TokenTallies,
    WebSocketTally, WithheldBodies,
};

/// What a worker records in an interval that belongs to no cell.
#[derive(Debug, Default)]
pub(crate) struct BesideCells {
    pub(crate) failed_rows: FailedRows,
    pub(crate) redirects: FollowedRedirects,
    pub(crate) withheld: WithheldBodies,
    pub(crate) tokens: TokenTallies,
    pub(crate) signing: SigningTally,
    pub(crate) grpc: GrpcTally,
    pub(crate) grpc_messages: GrpcMessages,
    pub(crate) websockets: WebSocketTally,
}

impl BesideCells {
    pub(crate) fn is_empty(&self) -> bool {
        self.failed_rows.is_empty()
            && self.redirects.is_empty()
            && self.withheld.is_empty()
            && self.tokens.is_empty()
            && self.signing == SigningTally::default()
            && self.grpc.is_empty()
            && self.grpc_messages.is_empty()
            && self.websockets.is_empty()
    }

    pub(crate) fn merge_into(&self, snapshot: &mut Snapshot) {
        snapshot.failed_rows.merge(&self.failed_rows);
        snapshot.redirects.merge(&self.redirects);
        snapshot.withheld.merge(&self.withheld);
        snapshot.tokens.merge(&self.tokens);
        snapshot.signing.merge(&self.signing);
        snapshot.grpc.merge(&self.grpc);
        snapshot.grpc_messages.merge(&self.grpc_messages);
        snapshot.websockets.merge(&self.websockets);
    }
}
