//! The stable dotted name of a failure, as results and thresholds write it, and back.

use crate::http2::{error_code, error_name};
use crate::tls::{alert_code, alert_name};
use crate::{
    CertificateFault, Failure, FailureStage, GrpcFault, GrpcStatus, HttpViolation, Kind,
    RedirectFault, WebSocketFault,
};
use std::fmt;
use std::str::FromStr;

/// A text is not the name of a failure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{name}` is not the name of a failure; write a stage and a kind, such as `connect.refused` \
     or `http.status.503`"
)]
pub struct UnknownFailure {
    /// What was given.
    pub name: String,
}

const STAGES: [(FailureStage, &str); 8] = [
    (FailureStage::Load, "load"),
    (FailureStage::Dns, "dns"),
    (FailureStage::Connect, "connect"),
    (FailureStage::Tls, "tls"),
    (FailureStage::Http, "http"),
    (FailureStage::Stream, "stream"),
    (FailureStage::Grpc, "grpc"),
    (FailureStage::WebSocket, "websocket"),
];

/// Kinds without anything beside them.
const KINDS: [(Kind, &str); 23] = [
    (Kind::Refused, "refused"),
    (Kind::Reset, "reset"),
    (Kind::Unreachable, "unreachable"),
    (Kind::TimeOut, "time_out"),
    (Kind::Eof, "eof"),
    (Kind::BadTls, "bad_tls"),
    (Kind::BodyLength, "body_length"),
    (Kind::ShortBody, "short_body"),
    (Kind::BadFraming, "bad_framing"),
    (Kind::NoSuchName, "no_such_name"),
    (Kind::PortsExhausted, "ports_exhausted"),
    (Kind::FilesExhausted, "files_exhausted"),
    (Kind::NotAllowed, "not_allowed"),
    (Kind::NotSent, "not_sent"),
    (Kind::Cut, "cut"),
    (Kind::NoHttp2, "no_http2"),
    (Kind::NoResolver, "no_resolver"),
    (Kind::HeadTooLarge, "head_too_large"),
    (Kind::NoLease, "no_lease"),
    (Kind::ContentCoding, "content_coding"),
    (Kind::BodyTooLarge, "body_too_large"),
    (Kind::NotJson, "not_json"),
    (Kind::NoEndMarker, "no_end_marker"),
];

/// Kinds that come with a member, such as `status.503`.
mod family {
    pub(super) const ALERT_RECEIVED: &str = "alert_received";
    pub(super) const ALERT_SENT: &str = "alert_sent";
    pub(super) const CERTIFICATE: &str = "certificate";
    pub(super) const STATUS: &str = "status";
    pub(super) const OS: &str = "os";
    pub(super) const STREAM_RESET: &str = "stream_reset";
    pub(super) const GO_AWAY: &str = "go_away";
    pub(super) const VIOLATION: &str = "violation";
    pub(super) const CHECK: &str = "check";
    pub(super) const NOT_AS_RECORDED: &str = "not_as_recorded";
    pub(super) const REDIRECT: &str = "redirect";
    pub(super) const CLOSE: &str = "close";

    pub(super) const ALL: [&str; 12] = [
        ALERT_RECEIVED,
        ALERT_SENT,
        CERTIFICATE,
        STATUS,
        OS,
        STREAM_RESET,
        GO_AWAY,
        VIOLATION,
        CHECK,
        NOT_AS_RECORDED,
        REDIRECT,
        CLOSE,
    ];
}

const REDIRECT_FAULTS: [(RedirectFault, &str); 3] = [
    (RedirectFault::TooMany, "too_many"),
    (RedirectFault::OtherOrigin, "other_origin"),
    (RedirectFault::BadLocation, "bad_location"),
];

const CERTIFICATE_FAULTS: [(CertificateFault, &str); 14] = [
    (CertificateFault::Expired, "expired"),
    (CertificateFault::NotYetValid, "not_yet_valid"),
    (CertificateFault::WrongName, "wrong_name"),
    (CertificateFault::UnknownIssuer, "unknown_issuer"),
    (CertificateFault::BadSignature, "bad_signature"),
    (CertificateFault::Revoked, "revoked"),
    (CertificateFault::WrongPurpose, "wrong_purpose"),
    (CertificateFault::Malformed, "malformed"),
    (CertificateFault::Other, "other"),
    (CertificateFault::SelfSigned, "self_signed"),
    (CertificateFault::NoSubjectAltName, "no_subject_alt_name"),
    (CertificateFault::WeakSignature, "weak_signature"),
    (CertificateFault::WeakKey, "weak_key"),
    (CertificateFault::CaAsServer, "ca_as_server"),
];

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", name_in(&STAGES, self.stage), self.kind)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut member = |family: &str, member: &dyn fmt::Display| write!(f, "{family}.{member}");
        match *self {
            Kind::AlertReceived(code) => member(family::ALERT_RECEIVED, &alert_name(code)),
            Kind::AlertSent(code) => member(family::ALERT_SENT, &alert_name(code)),
            Kind::Certificate(fault) => {
                member(family::CERTIFICATE, &name_in(&CERTIFICATE_FAULTS, fault))
            }
            Kind::Status(status) => member(family::STATUS, &status),
            Kind::Check(number) => member(family::CHECK, &number),
            Kind::NotAsRecorded(status) => member(family::NOT_AS_RECORDED, &status),
            Kind::Os(number) => member(family::OS, &number),
            Kind::StreamReset(code) => member(family::STREAM_RESET, &error_name(code)),
            Kind::GoAway(code) => member(family::GO_AWAY, &error_name(code)),
            Kind::Violation(rule) => {
                member(family::VIOLATION, &name_in(&HttpViolation::NAMES, rule))
            }
            Kind::Redirect(fault) => member(family::REDIRECT, &name_in(&REDIRECT_FAULTS, fault)),
            Kind::GrpcStatus(status) => f.write_str(status.name()),
            Kind::GrpcFault(fault) => f.write_str(name_in(&GrpcFault::NAMES, fault)),
            Kind::WebSocketFault(fault) => f.write_str(name_in(&WebSocketFault::NAMES, fault)),
            Kind::Close(code) => member(family::CLOSE, &code),
            plain => f.write_str(name_in(&KINDS, plain)),
        }
    }
}

impl FromStr for Failure {
    type Err = UnknownFailure;

    fn from_str(name: &str) -> Result<Failure, UnknownFailure> {
        let parts = name
            .split_once('.')
            .and_then(|(stage, kind)| Some((find_in(&STAGES, stage)?, kind_named(kind)?)));
        parts
            .map(|(stage, kind)| Failure { stage, kind })
            .ok_or_else(|| UnknownFailure {
                name: name.to_owned(),
            })
    }
}

impl Failure {
    /// Whether failures can be counted under `name`: a stage, a stage with a kind or a family, or
    /// a family's member, which may be one that was never seen.
    #[must_use]
    pub fn is_prefix(name: &str) -> bool {
        let mut parts = name.splitn(3, '.');
        let stage = parts.next().unwrap_or_default();
        let is_known = match (parts.next(), parts.next()) {
            (None, _) => true,
            (Some(kind), None) => kind_named(kind).is_some() || family::ALL.contains(&kind),
            (Some(family), Some(member)) => family::ALL.contains(&family) && is_member(member),
        };
        is_known && find_in(&STAGES, stage).is_some()
    }
}

fn is_member(text: &str) -> bool {
    let is_of_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !text.is_empty() && text.bytes().all(is_of_word)
}

fn kind_named(name: &str) -> Option<Kind> {
    let Some((family, member)) = name.split_once('.') else {
        let status = || GrpcStatus::named(name).map(Kind::GrpcStatus);
        let fault = || find_in(&GrpcFault::NAMES, name).map(Kind::GrpcFault);
        let of_socket = || find_in(&WebSocketFault::NAMES, name).map(Kind::WebSocketFault);
        return find_in(&KINDS, name)
            .or_else(status)
            .or_else(fault)
            .or_else(of_socket);
    };
    match family {
        family::ALERT_RECEIVED => alert_code(member).map(Kind::AlertReceived),
        family::ALERT_SENT => alert_code(member).map(Kind::AlertSent),
        family::CERTIFICATE => find_in(&CERTIFICATE_FAULTS, member).map(Kind::Certificate),
        family::STATUS => member.parse().ok().map(Kind::Status),
        family::CHECK => member.parse().ok().map(Kind::Check),
        family::NOT_AS_RECORDED => member.parse().ok().map(Kind::NotAsRecorded),
        family::CLOSE => member.parse().ok().map(Kind::Close),
        family::OS => member.parse().ok().map(Kind::Os),
        family::STREAM_RESET => error_code(member).map(Kind::StreamReset),
        family::GO_AWAY => error_code(member).map(Kind::GoAway),
        family::REDIRECT => find_in(&REDIRECT_FAULTS, member).map(Kind::Redirect),
        family::VIOLATION => find_in(&HttpViolation::NAMES, member).map(Kind::Violation),
        _ => None,
    }
}

/// A kind missing from its table would print as `?`; a test goes through all of them.
fn name_in<T: PartialEq + Copy>(names: &[(T, &'static str)], wanted: T) -> &'static str {
    names
        .iter()
        .find(|(known, _)| *known == wanted)
        .map_or("?", |&(_, name)| name)
}

fn find_in<T: Copy>(names: &[(T, &'static str)], wanted: &str) -> Option<T> {
    names
        .iter()
        .find(|(_, name)| *name == wanted)
        .map(|&(known, _)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The next kind in the order of the enum, with every member of a family that has a table.
    fn all_kinds() -> Vec<Kind> {
        let mut kinds: Vec<Kind> = KINDS.iter().map(|&(kind, _)| kind).collect();
        kinds.extend(
            (0..=u8::MAX).flat_map(|code| [Kind::AlertReceived(code), Kind::AlertSent(code)]),
        );
        kinds.extend(
            CERTIFICATE_FAULTS
                .iter()
                .map(|&(fault, _)| Kind::Certificate(fault)),
        );
        let faults = REDIRECT_FAULTS.iter();
        kinds.extend(faults.map(|&(fault, _)| Kind::Redirect(fault)));
        let rules = HttpViolation::NAMES.iter();
        kinds.extend(rules.map(|&(rule, _)| Kind::Violation(rule)));
        kinds.extend(GrpcStatus::all().map(Kind::GrpcStatus));
        let faults = GrpcFault::NAMES.iter();
        kinds.extend(faults.map(|&(fault, _)| Kind::GrpcFault(fault)));
        let faults = WebSocketFault::NAMES.iter();
        kinds.extend(faults.map(|&(fault, _)| Kind::WebSocketFault(fault)));
        kinds.extend([Kind::Close(1011), Kind::Close(u16::MAX)]);
        kinds.extend([
            Kind::Status(503),
            Kind::Status(0),
            Kind::Check(1),
            Kind::Check(u16::MAX),
            Kind::NotAsRecorded(404),
            Kind::Os(111),
            Kind::Os(-1),
        ]);
        kinds.extend(
            (0..20)
                .chain([u32::MAX])
                .flat_map(|code| [Kind::StreamReset(code), Kind::GoAway(code)]),
        );
        kinds
    }

    #[test]
    fn names_are_stable() {
        let cases = [
            (FailureStage::Connect, Kind::Refused, "connect.refused"),
            (
                FailureStage::Tls,
                Kind::AlertReceived(40),
                "tls.alert_received.handshake_failure",
            ),
            (
                FailureStage::Tls,
                Kind::AlertSent(254),
                "tls.alert_sent.alert_254",
            ),
            (
                FailureStage::Tls,
                Kind::Certificate(CertificateFault::Expired),
                "tls.certificate.expired",
            ),
            (FailureStage::Http, Kind::Status(503), "http.status.503"),
            (FailureStage::Http, Kind::Check(3), "http.check.3"),
            (
                FailureStage::Http,
                Kind::NotAsRecorded(404),
                "http.not_as_recorded.404",
            ),
            (
                FailureStage::Http,
                Kind::Redirect(RedirectFault::OtherOrigin),
                "http.redirect.other_origin",
            ),
            (FailureStage::Dns, Kind::NoSuchName, "dns.no_such_name"),
            (FailureStage::Dns, Kind::NoResolver, "dns.no_resolver"),
            (FailureStage::Load, Kind::NotSent, "load.not_sent"),
            (FailureStage::Connect, Kind::Os(111), "connect.os.111"),
            (
                FailureStage::Http,
                Kind::StreamReset(7),
                "http.stream_reset.refused_stream",
            ),
            (
                FailureStage::Http,
                Kind::GoAway(99),
                "http.go_away.error_99",
            ),
            (
                FailureStage::Http,
                Kind::Violation(HttpViolation::PingFlood),
                "http.violation.ping_flood",
            ),
            (
                FailureStage::Grpc,
                Kind::GrpcStatus(GrpcStatus::Unavailable),
                "grpc.unavailable",
            ),
            (
                FailureStage::Grpc,
                Kind::GrpcFault(GrpcFault::NoStatus),
                "grpc.no_status",
            ),
            (
                FailureStage::WebSocket,
                Kind::Close(1011),
                "websocket.close.1011",
            ),
            (
                FailureStage::WebSocket,
                Kind::WebSocketFault(WebSocketFault::NotUtf8),
                "websocket.not_utf8",
            ),
        ];
        for (stage, kind, name) in cases {
            assert_eq!(Failure { stage, kind }.to_string(), name);
        }
    }

    #[test]
    fn every_failure_is_found_again_by_its_name() {
        for (stage, _) in STAGES {
            for kind in all_kinds() {
                let failure = Failure { stage, kind };
                assert_eq!(failure.to_string().parse(), Ok(failure), "{failure}");
            }
        }
    }

    #[test]
    fn no_kind_is_missing_from_its_table() {
        // The compiler holds this match to the enum; the plain kinds in it are those of the table.
        let is_plain = |kind: Kind| match kind {
            Kind::AlertReceived(_)
            | Kind::AlertSent(_)
            | Kind::Certificate(_)
            | Kind::Status(_)
            | Kind::NotAsRecorded(_)
            | Kind::Redirect(_)
            | Kind::Os(_) => false,
            Kind::StreamReset(_) | Kind::GoAway(_) | Kind::Violation(_) | Kind::Check(_) => false,
            Kind::GrpcStatus(_) | Kind::GrpcFault(_) => false,
            Kind::WebSocketFault(_) | Kind::Close(_) => false,
            Kind::Refused
            | Kind::Reset
            | Kind::Unreachable
            | Kind::TimeOut
            | Kind::Eof
            | Kind::BadTls
            | Kind::BodyLength => true,
            Kind::ShortBody
            | Kind::BadFraming
            | Kind::NoSuchName
            | Kind::PortsExhausted
            | Kind::FilesExhausted => true,
            Kind::NotAllowed
            | Kind::NotSent
            | Kind::Cut
            | Kind::NoHttp2
            | Kind::NoResolver
            | Kind::HeadTooLarge
            | Kind::NoLease => true,
            Kind::ContentCoding | Kind::BodyTooLarge | Kind::NotJson | Kind::NoEndMarker => true,
        };
        assert_eq!(
            all_kinds()
                .into_iter()
                .filter(|&kind| is_plain(kind))
                .count(),
            23
        );
    }

    #[test]
    fn text_that_is_no_name_says_what_to_write() {
        for text in [
            "",
            "connect",
            "refused",
            "connect.",
            "connect.refused.x",
            "http.status.abc",
            "tls.alert_sent.40",
            "x.reset",
        ] {
            assert!(text.parse::<Failure>().is_err(), "{text}");
        }
        assert_eq!(
            "conect.refused".parse::<Failure>().unwrap_err().to_string(),
            "`conect.refused` is not the name of a failure; write a stage and a kind, such as \
             `connect.refused` or `http.status.503`"
        );
    }
}
