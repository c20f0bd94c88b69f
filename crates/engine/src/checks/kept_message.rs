//! The message that answers a gRPC call, kept until it is whole: then its fields are tested and
//! taken.

use super::AnswerChecks;
use super::message_reader::{WireFault, read};
use super::value_tests::first_failed;
use measure::{GrpcFault, Kind};
use serde_json::Value;
use std::sync::Arc;

/// Bytes before the message.
const PREFIX: usize = 5;
/// Longest message that is kept, in bytes.
const MAX_KEPT: usize = 1 << 20;

/// The message as far as it has come.
#[derive(Debug)]
pub(super) struct KeptMessage {
    checks: Arc<AnswerChecks>,
    /// With its prefix, and at most one byte more than is kept.
    bytes: Vec<u8>,
    /// The fields that the plan names, once the message is whole.
    fields: Value,
}

impl KeptMessage {
    pub(super) fn new(checks: &Arc<AnswerChecks>) -> KeptMessage {
        KeptMessage {
            checks: Arc::clone(checks),
            bytes: Vec::new(),
            fields: Value::Null,
        }
    }

    /// Keeps the next bytes of the body.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let room = (PREFIX + MAX_KEPT + 1).saturating_sub(self.bytes.len());
        self.bytes
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// The body is one whole message: reads its fields, and returns what it fails by, `None` if it
    /// passes.
    pub(super) fn end(&mut self) -> Option<Kind> {
        let bytes = std::mem::take(&mut self.bytes);
        if bytes.len() > PREFIX + MAX_KEPT {
            return Some(Kind::BodyTooLarge);
        }
        let message = match bytes.split_at_checked(PREFIX) {
            // A compressed one cannot be read. The client offers no coding.
            Some(([0, ..], message)) => message,
            _ => return Some(Kind::GrpcFault(GrpcFault::BadMessage)),
        };
        match read(message, &self.checks.answer) {
            Err(WireFault::Broken) => Some(Kind::GrpcFault(GrpcFault::BadMessage)),
            Err(WireFault::TooLarge) => Some(Kind::BodyTooLarge),
            Ok(fields) => {
                let failed = first_failed(&self.checks.json, &fields);
                self.fields = fields;
                failed.map(Kind::Check)
            }
        }
    }

    /// The fields that the plan names; null if there is no message.
    pub(super) fn fields(&self) -> &Value {
        &self.fields
    }
}
