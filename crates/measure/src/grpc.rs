//! gRPC's status codes, how answers break its rules, and the names of both.

use serde::{Deserialize, Serialize};

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

impl GrpcStatus {
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

    /// The status with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<GrpcStatus> {
        GrpcStatus::all().find(|status| status.name() == name)
    }
}

impl GrpcFault {
    /// All of them, with the names that results and thresholds write.
    pub(crate) const NAMES: [(GrpcFault, &str); 6] = [
        (GrpcFault::NoStatus, "no_status"),
        (GrpcFault::BadStatus, "bad_status"),
        (GrpcFault::NoMessage, "no_message"),
        (GrpcFault::ManyMessages, "many_messages"),
        (GrpcFault::BadMessage, "bad_message"),
        (GrpcFault::ContentType, "content_type"),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_stands_at_its_place() {
        for (code, status) in (0_u8..).zip(GrpcStatus::all()) {
            assert_eq!(status.code(), code);
            assert_eq!(GrpcStatus::of_code(code.into()), status);
            assert_eq!(GrpcStatus::named(status.name()), Some(status));
        }
        assert_eq!(GrpcStatus::of_code(16), GrpcStatus::Unauthenticated);
    }

    #[test]
    fn undefined_code_is_unknown() {
        for code in [17, 255, 256, u64::MAX] {
            assert_eq!(GrpcStatus::of_code(code), GrpcStatus::Unknown);
        }
        assert_eq!(GrpcStatus::named("nothing"), None);
    }
}
