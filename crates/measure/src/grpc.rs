//! gRPC's status codes, how answers break its rules, and the names of both.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The status that a call ended with (gRPC, "Status codes and their use in gRPC"). The order is
/// that of the codes, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum GrpcStatus {
    /// Not an error.
    Ok,
    /// Cancelled, typically by the caller.
    Cancelled,
    /// An error without a code of its own, and every code that is not defined.
    Unknown,
    /// The request is wrong whatever the state of the system.
    InvalidArgument,
    /// The deadline has passed.
    DeadlineExceeded,
    /// What was asked for does not exist.
    NotFound,
    /// What was to be created is there already.
    AlreadyExists,
    /// The caller may not do it.
    PermissionDenied,
    /// A quota, or the room for something, is used up.
    ResourceExhausted,
    /// The system is not in the state that the call needs.
    FailedPrecondition,
    /// Aborted, typically because of a conflict.
    Aborted,
    /// Beyond the valid range.
    OutOfRange,
    /// The server has no such method.
    Unimplemented,
    /// Something in the server is broken.
    Internal,
    /// The service cannot be had now.
    Unavailable,
    /// Data is lost or damaged for good.
    DataLoss,
    /// The caller is not known.
    Unauthenticated,
}

/// How an answer with status 200 breaks the rules of gRPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum GrpcFault {
    /// It has no `grpc-status`, in trailers or in a head without a body.
    NoStatus,
    /// Its `grpc-status` is not a number.
    BadStatus,
    /// It is ok without a message.
    NoMessage,
    /// It has several messages, where one is the answer.
    ManyMessages,
    /// A message has no valid prefix, is cut, or is compressed by no coding that the head names.
    BadMessage,
    /// Its content type is not gRPC's.
    ContentType,
}

const STATUSES: [(GrpcStatus, &str); 17] = [
    (GrpcStatus::Ok, "ok"),
    (GrpcStatus::Cancelled, "cancelled"),
    (GrpcStatus::Unknown, "unknown"),
    (GrpcStatus::InvalidArgument, "invalid_argument"),
    (GrpcStatus::DeadlineExceeded, "deadline_exceeded"),
    (GrpcStatus::NotFound, "not_found"),
    (GrpcStatus::AlreadyExists, "already_exists"),
    (GrpcStatus::PermissionDenied, "permission_denied"),
    (GrpcStatus::ResourceExhausted, "resource_exhausted"),
    (GrpcStatus::FailedPrecondition, "failed_precondition"),
    (GrpcStatus::Aborted, "aborted"),
    (GrpcStatus::OutOfRange, "out_of_range"),
    (GrpcStatus::Unimplemented, "unimplemented"),
    (GrpcStatus::Internal, "internal"),
    (GrpcStatus::Unavailable, "unavailable"),
    (GrpcStatus::DataLoss, "data_loss"),
    (GrpcStatus::Unauthenticated, "unauthenticated"),
];

const FAULTS: [(GrpcFault, &str); 6] = [
    (GrpcFault::NoStatus, "no_status"),
    (GrpcFault::BadStatus, "bad_status"),
    (GrpcFault::NoMessage, "no_message"),
    (GrpcFault::ManyMessages, "many_messages"),
    (GrpcFault::BadMessage, "bad_message"),
    (GrpcFault::ContentType, "content_type"),
];

impl GrpcStatus {
    /// The number of statuses.
    pub const NUMBER: usize = STATUSES.len();

    /// All of them, by code.
    pub fn all() -> impl Iterator<Item = GrpcStatus> {
        STATUSES.into_iter().map(|(status, _)| status)
    }

    /// The status with this code; [`GrpcStatus::Unknown`] for one that is not defined.
    #[must_use]
    pub fn of_code(code: u64) -> GrpcStatus {
        let index = usize::try_from(code).unwrap_or(usize::MAX);
        STATUSES
            .get(index)
            .map_or(GrpcStatus::Unknown, |&(status, _)| status)
    }

    /// Its code.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Its name in results, lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        STATUSES[self as usize].1
    }

    /// The status with this name, in either case.
    #[must_use]
    pub fn named(name: &str) -> Option<GrpcStatus> {
        let mut all = STATUSES.into_iter();
        let found = all.find(|(_, known)| known.eq_ignore_ascii_case(name));
        found.map(|(status, _)| status)
    }
}

impl GrpcFault {
    /// All of them.
    pub fn all() -> impl Iterator<Item = GrpcFault> {
        FAULTS.into_iter().map(|(fault, _)| fault)
    }

    /// Its name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        FAULTS[self as usize].1
    }

    /// The fault with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<GrpcFault> {
        let mut all = FAULTS.into_iter();
        all.find(|(_, known)| *known == name)
            .map(|(fault, _)| fault)
    }
}

/// Statuses that measured calls ended with, expected or not, by request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrpcTally(BTreeMap<(u16, GrpcStatus), u64>);

impl GrpcTally {
    /// Counts calls of `request`, by its place in the plan, that ended with `status`.
    pub fn count(&mut self, request: u16, status: GrpcStatus, number: u64) {
        let count = self.0.entry((request, status)).or_default();
        *count = count.saturating_add(number);
    }

    /// Adds everything in `other`.
    pub fn merge(&mut self, other: &GrpcTally) {
        for (&(request, status), &number) in &other.0 {
            self.count(request, status, number);
        }
    }

    /// Requests, statuses and numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u16, GrpcStatus, u64)> {
        let all = self.0.iter();
        all.map(|(&(request, status), &number)| (request, status, number))
    }

    /// Whether no call has ended with a status.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_and_fault_stands_at_its_place() {
        assert_eq!(GrpcStatus::all().count(), GrpcStatus::NUMBER);
        for (code, status) in (0_u8..).zip(GrpcStatus::all()) {
            assert_eq!(status.code(), code);
            assert_eq!(GrpcStatus::of_code(code.into()), status);
            assert_eq!(GrpcStatus::named(status.name()), Some(status));
        }
        for (place, fault) in GrpcFault::all().enumerate() {
            assert_eq!(fault as usize, place);
            assert_eq!(GrpcFault::named(fault.name()), Some(fault));
        }
    }

    #[test]
    fn undefined_code_is_unknown() {
        for code in [17, 255, 256, u64::MAX] {
            assert_eq!(GrpcStatus::of_code(code), GrpcStatus::Unknown);
        }
        assert_eq!(GrpcStatus::named("NOT_FOUND"), Some(GrpcStatus::NotFound));
        assert_eq!(GrpcStatus::named("nothing"), None);
    }

    #[test]
    fn calls_of_a_request_are_summed_by_status() {
        let (mut all, mut more) = (GrpcTally::default(), GrpcTally::default());
        all.count(1, GrpcStatus::Ok, 2);
        more.count(1, GrpcStatus::Ok, u64::MAX);
        more.count(0, GrpcStatus::Aborted, 3);
        all.merge(&more);
        assert_eq!(
            all.iter().collect::<Vec<_>>(),
            [(0, GrpcStatus::Aborted, 3), (1, GrpcStatus::Ok, u64::MAX)]
        );
        assert!(!all.is_empty() && GrpcTally::default().is_empty());
    }
}
