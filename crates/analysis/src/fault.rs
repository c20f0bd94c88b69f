//! Failures by name (`tls.alert_received.handshake_failure`) and in plain words.

use crate::figures::share;
use measure::{CertificateFault, Counters, Failure, Kind, Stage};
use serde::{Deserialize, Serialize};

/// Failures of one stage and kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorFigure {
    /// Stage and kind, with dots; a threshold may name it, or any prefix of it that ends at a dot.
    pub name: String,
    /// The same in plain words.
    pub words: String,
    /// Operations that ended so.
    pub count: u64,
    /// Of all ended operations.
    pub share: f64,
}

impl ErrorFigure {
    /// Most frequent first.
    pub(crate) fn of(counters: &Counters) -> Vec<ErrorFigure> {
        let ended = counters.ok + counters.timed_out + counters.failed;
        let figure = |(failure, &count): (&Failure, &u64)| ErrorFigure {
            name: name(*failure),
            words: words(*failure),
            count,
            share: share(count, ended).unwrap_or(0.0),
        };
        let mut errors: Vec<ErrorFigure> = counters.failures.iter().map(figure).collect();
        errors.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
        errors
    }
}

/// Arrivals that could not be sent.
pub(crate) fn not_sent(counters: &Counters) -> u64 {
    counters.failures.iter().filter(|(failure, _)| failure.kind == Kind::NotSent).map(|(_, count)| count).sum()
}

/// Failures whose name is `prefix`, or begins with it and a dot.
pub(crate) fn count_under(counters: &Counters, prefix: &str) -> u64 {
    let is_under = |name: String| name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    counters.failures.iter().filter(|(failure, _)| is_under(name(**failure))).map(|(_, count)| count).sum()
}

/// Stage and kind, with dots: stable, in results and thresholds.
#[must_use]
pub fn name(failure: Failure) -> String {
    let stage = match failure.stage {
        Stage::Load => "load",
        Stage::Dns => "dns",
        Stage::Connect => "connect",
        Stage::Tls => "tls",
        Stage::Http => "http",
    };
    format!("{stage}.{}", kind(failure.kind))
}

fn kind(kind: Kind) -> String {
    let noun = match kind {
        Kind::Refused => "refused",
        Kind::Reset => "reset",
        Kind::Unreachable => "unreachable",
        Kind::TimeOut => "time_out",
        Kind::Eof => "eof",
        Kind::BadTls => "bad_tls",
        Kind::BodyLength => "body_length",
        Kind::ShortBody => "short_body",
        Kind::BadFraming => "bad_framing",
        Kind::NoSuchName => "no_such_name",
        Kind::PortsExhausted => "ports_exhausted",
        Kind::FilesExhausted => "files_exhausted",
        Kind::NotAllowed => "not_allowed",
        Kind::NotSent => "not_sent",
        Kind::Cut => "cut",
        Kind::AlertReceived(code) => return format!("alert_received.{}", alert(code)),
        Kind::AlertSent(code) => return format!("alert_sent.{}", alert(code)),
        Kind::Certificate(fault) => return format!("certificate.{}", certificate(fault)),
        Kind::Status(status) => return format!("status.{status}"),
        Kind::Os(number) => return format!("os.{number}"),
    };
    noun.to_owned()
}

fn certificate(fault: CertificateFault) -> &'static str {
    match fault {
        CertificateFault::Expired => "expired",
        CertificateFault::NotYetValid => "not_yet_valid",
        CertificateFault::WrongName => "wrong_name",
        CertificateFault::UnknownIssuer => "unknown_issuer",
        CertificateFault::BadSignature => "bad_signature",
        CertificateFault::Revoked => "revoked",
        CertificateFault::WrongPurpose => "wrong_purpose",
        CertificateFault::Malformed => "malformed",
        CertificateFault::Other => "other",
    }
}

/// Names of alerts: RFC 8446 §6, and those older versions and extensions add (IANA "TLS Alerts").
fn alert(code: u8) -> String {
    let known = match code {
        0 => "close_notify",
        10 => "unexpected_message",
        20 => "bad_record_mac",
        22 => "record_overflow",
        40 => "handshake_failure",
        42 => "bad_certificate",
        43 => "unsupported_certificate",
        44 => "certificate_revoked",
        45 => "certificate_expired",
        46 => "certificate_unknown",
        47 => "illegal_parameter",
        48 => "unknown_ca",
        49 => "access_denied",
        50 => "decode_error",
        51 => "decrypt_error",
        70 => "protocol_version",
        71 => "insufficient_security",
        80 => "internal_error",
        86 => "inappropriate_fallback",
        90 => "user_canceled",
        100 => "no_renegotiation",
        109 => "missing_extension",
        110 => "unsupported_extension",
        112 => "unrecognized_name",
        113 => "bad_certificate_status_response",
        115 => "unknown_psk_identity",
        116 => "certificate_required",
        120 => "no_application_protocol",
        _ => return format!("alert_{code}"),
    };
    known.to_owned()
}

/// Plain words for people.
#[must_use]
pub fn words(failure: Failure) -> String {
    let fixed = match (failure.stage, failure.kind) {
        (_, Kind::Refused) => "connection refused: nothing listens there, or its queue is full",
        (Stage::Connect, Kind::Reset) => "connection reset while connecting",
        (Stage::Tls, Kind::Reset) => "connection reset during the TLS handshake",
        (_, Kind::Reset) => "connection reset by the server",
        (_, Kind::Unreachable) => "no route to the server",
        (Stage::Dns, Kind::TimeOut) => "name was not resolved in time",
        (Stage::Connect, Kind::TimeOut) => "connection was not accepted in time",
        (Stage::Tls, Kind::TimeOut) => "TLS handshake was not finished in time",
        (_, Kind::TimeOut) => "response did not come in time",
        (Stage::Tls, Kind::Eof) => "server closed the connection during the TLS handshake",
        (_, Kind::Eof) => "server closed the connection before it answered",
        (_, Kind::Certificate(fault)) => in_words(fault),
        (_, Kind::BadTls) => "what came is not TLS, or breaks its rules",
        (_, Kind::BodyLength) => "body has not the length the plan expects",
        (_, Kind::ShortBody) => "connection ended inside the body",
        (_, Kind::BadFraming) => "response is not valid HTTP/1.1",
        (_, Kind::NoSuchName) => "name does not exist or has no address",
        (_, Kind::PortsExhausted) => "this machine ran out of local ports",
        (_, Kind::FilesExhausted) => "this machine ran out of file descriptors",
        (_, Kind::NotAllowed) => "address is not allowed by the agent's policy",
        (_, Kind::NotSent) => "not sent: all connections were in use and the queue was full",
        (_, Kind::Cut) => "cut at the end of the run",
        (_, Kind::AlertReceived(code)) => return format!("server ended TLS with alert {}", alert(code)),
        (_, Kind::AlertSent(code)) => return format!("client ended TLS with alert {}", alert(code)),
        (_, Kind::Status(status)) => return format!("status {status} is not what the plan expects"),
        (_, Kind::Os(number)) => return format!("error {number} of the operating system"),
    };
    fixed.to_owned()
}

fn in_words(fault: CertificateFault) -> &'static str {
    match fault {
        CertificateFault::Expired => "server's certificate has expired",
        CertificateFault::NotYetValid => "server's certificate is not valid yet",
        CertificateFault::WrongName => "server's certificate is not for this name",
        CertificateFault::UnknownIssuer => "server's certificate is from an unknown issuer",
        CertificateFault::BadSignature => "a signature of the server does not verify",
        CertificateFault::Revoked => "server's certificate is revoked",
        CertificateFault::WrongPurpose => "server's certificate is for another purpose",
        CertificateFault::Malformed => "server's certificate cannot be parsed",
        CertificateFault::Other => "server's certificate is not acceptable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(stage: Stage, kind: Kind) -> Failure {
        Failure { stage, kind }
    }

    #[test]
    fn names_are_stage_and_kind() {
        for (stage, kind, expected) in [
            (Stage::Connect, Kind::Refused, "connect.refused"),
            (Stage::Tls, Kind::AlertReceived(40), "tls.alert_received.handshake_failure"),
            (Stage::Tls, Kind::AlertSent(200), "tls.alert_sent.alert_200"),
            (Stage::Tls, Kind::Certificate(CertificateFault::WrongName), "tls.certificate.wrong_name"),
            (Stage::Http, Kind::Status(503), "http.status.503"),
            (Stage::Load, Kind::NotSent, "load.not_sent"),
            (Stage::Connect, Kind::Os(22), "connect.os.22"),
        ] {
            assert_eq!(name(failure(stage, kind)), expected);
        }
    }

    #[test]
    fn prefix_counts_whole_words_only() {
        let mut counters = Counters { failed: 6, ..Counters::default() };
        counters.failures.insert(failure(Stage::Http, Kind::Status(503)), 1);
        counters.failures.insert(failure(Stage::Http, Kind::Status(50)), 2);
        counters.failures.insert(failure(Stage::Tls, Kind::BadTls), 3);
        for (prefix, count) in [("http", 3), ("http.status", 3), ("http.status.50", 2), ("http.stat", 0), ("tls", 3), ("dns", 0)]
        {
            assert_eq!(count_under(&counters, prefix), count, "{prefix}");
        }
    }

    #[test]
    fn errors_stand_most_frequent_first_with_their_share() {
        let mut counters = Counters { ok: 92, timed_out: 1, failed: 7, ..Counters::default() };
        counters.failures.insert(failure(Stage::Connect, Kind::Refused), 7);
        counters.failures.insert(failure(Stage::Http, Kind::TimeOut), 1);
        let errors: Vec<_> = ErrorFigure::of(&counters).into_iter().map(|error| (error.name, error.share)).collect();
        assert_eq!(errors, [("connect.refused".to_owned(), 0.07), ("http.time_out".to_owned(), 0.01)]);
    }
}
