//! Failures counted by name and described in plain words.

use crate::counts::share;
use measure::http2::error_name;
use measure::tls::alert_name;
use measure::{
    CertificateFault, Counters, Failure, FailureStage, GrpcFault, GrpcStatus, HttpViolation, Kind,
    RedirectFault, WebSocketFault,
};
use serde::{Deserialize, Serialize};

/// TLS alert `certificate_required` (RFC 8446 §6.2).
const CERTIFICATE_REQUIRED: u8 = 116;
/// TLS alert `no_application_protocol` (RFC 7301 §3.2).
const NO_APPLICATION_PROTOCOL: u8 = 120;

/// Failures of one stage and kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorFigure {
    /// Stage and kind, separated by dots; a threshold can name it, or any prefix of it that ends at
    /// a dot.
    pub name: String,
    /// Description in plain words.
    pub words: String,
    /// Number of operations that ended with it.
    pub count: u64,
    /// Share of all ended operations.
    pub share: f64,
}

impl ErrorFigure {
    /// Lists the failures, most frequent first.
    pub(crate) fn from_counters(counters: &Counters) -> Vec<ErrorFigure> {
        let ended = counters.operations_ended();
        let mut errors: Vec<ErrorFigure> = counters
            .failures
            .iter()
            .map(|(&failure, &count)| ErrorFigure::one(failure, count, ended))
            .collect();
        errors.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
        errors
    }

    /// Says which check failed, if that is what it counts; `checks` has the words of each.
    pub(crate) fn describe_check(&mut self, checks: &[String]) {
        if let Ok(Failure {
            kind: Kind::Check(number),
            ..
        }) = self.name.parse()
            && let Some(words) = checks.get(usize::from(number).wrapping_sub(1))
        {
            self.words.clone_from(words);
        }
    }

    fn one(failure: Failure, count: u64, ended: u64) -> ErrorFigure {
        ErrorFigure {
            name: failure.to_string(),
            words: words(failure),
            count,
            share: share(count, ended).unwrap_or(0.0),
        }
    }
}

const NOT_AS_RECORDED_CURE: &str = "does the server have the data that the log's one had? where \
    statuses may differ, write replay.status = \"any\", or \"expected\" with request.expect.status";

/// Describes a failure in plain words.
#[must_use]
pub fn words(failure: Failure) -> String {
    let fixed = match (failure.stage, failure.kind) {
        (_, Kind::Refused) => "connection refused: nothing listens there, or its queue is full",
        (FailureStage::Connect, Kind::Reset) => "connection reset while connecting",
        (FailureStage::Tls, Kind::Reset) => "connection reset during the TLS handshake",
        (_, Kind::Reset) => "connection reset by the server",
        (_, Kind::Unreachable) => "no route to the server",
        (FailureStage::Dns, Kind::TimeOut) => "name was not resolved in time",
        (FailureStage::Connect, Kind::TimeOut) => "connection was not accepted in time",
        (FailureStage::Tls, Kind::TimeOut) => "TLS handshake was not finished in time",
        (FailureStage::Stream, Kind::TimeOut) => "no HTTP/2 stream was free in time",
        (_, Kind::TimeOut) => "response did not come in time",
        (FailureStage::Tls, Kind::Eof) => "server closed the connection during the TLS handshake",
        (_, Kind::Eof) => "server closed the connection before it answered",
        (_, Kind::Certificate(fault)) => in_words(fault),
        (_, Kind::BadTls) => "what came is not TLS, or breaks its rules",
        (_, Kind::BodyLength) => "body has not the expected length",
        (_, Kind::Check(number)) => return format!("answer failed check {number} of the plan"),
        (_, Kind::ContentCoding) => {
            "body's content coding is broken, or none that can be read there: gzip, br, and zstd \
             outside streams"
        }
        (_, Kind::BodyTooLarge) => "body is longer than its checks can read",
        (_, Kind::NotJson) => "body is not JSON, in which a check looks for a value",
        (_, Kind::Redirect(fault)) => redirect_in_words(fault),
        (_, Kind::NoEndMarker) => "stream ended without the end marker of the plan",
        (_, Kind::ShortBody) => "connection ended inside the body",
        (_, Kind::BadFraming) => "response is not valid HTTP",
        (_, Kind::HeadTooLarge) => {
            "response's head is beyond the client's limits (256 KiB, 4096 fields)"
        }
        (_, Kind::NoSuchName) => "name does not exist or has no address",
        (_, Kind::NoResolver) => {
            "resolver had no answer, so it is not known whether the name exists"
        }
        (_, Kind::PortsExhausted) => "this machine ran out of local ports",
        (_, Kind::FilesExhausted) => "this machine ran out of file descriptors",
        (_, Kind::NotAllowed) => "address is not allowed by the agent's policy",
        (_, Kind::NotSent) => {
            "not sent: no connection or user became free before the end, or the queue was full"
        }
        (_, Kind::NoLease) => "not sent: the agent's lease had ended",
        (_, Kind::Cut) => "cut at the end of the run",
        (_, Kind::AlertReceived(code)) => {
            return format!("server ended TLS with alert {}", alert_name(code));
        }
        (_, Kind::AlertSent(code)) => {
            return format!("client ended TLS with alert {}", alert_name(code));
        }
        (_, Kind::Status(status)) => {
            return format!("server answered with status {status}, which was not expected");
        }
        (_, Kind::NotAsRecorded(status)) => {
            return format!("server answered with status {status}; the log has another status");
        }
        (_, Kind::NoHttp2) => "server does not speak HTTP/2: it did not choose h2 in the handshake",
        (_, Kind::StreamReset(code)) => {
            return format!("server reset the HTTP/2 stream: {}", error_name(code));
        }
        (_, Kind::GoAway(code)) => {
            return format!("server closed the HTTP/2 connection: {}", error_name(code));
        }
        (_, Kind::Violation(rule)) => return violation_in_words(rule),
        (_, Kind::GrpcStatus(status)) => return grpc_status_in_words(status),
        (_, Kind::GrpcFault(fault)) => grpc_in_words(fault),
        (_, kind @ (Kind::WebSocketFault(_) | Kind::Close(_))) => return socket_in_words(kind),
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
        CertificateFault::SelfSigned => "server's certificate is signed by itself",
        CertificateFault::NoSubjectAltName => {
            "server's certificate has no subjectAltName, and its common name does not count"
        }
        CertificateFault::WeakSignature => {
            "a certificate of the server is signed with SHA-1 or MD5, which can be forged"
        }
        CertificateFault::WeakKey => "an RSA key of the server or its CA has less than 2048 bits",
        CertificateFault::CaAsServer => "server's certificate is marked as a CA's",
        CertificateFault::Other => "server's certificate is not acceptable",
    }
}

fn redirect_in_words(fault: RedirectFault) -> &'static str {
    match fault {
        RedirectFault::TooMany => "server redirects more often than the plan follows",
        RedirectFault::OtherOrigin => {
            "redirect leads to a host, port or scheme that the plan does not name"
        }
        RedirectFault::BadLocation => {
            "redirect leads to something that is not an HTTP URL, or to one longer than 8 KiB"
        }
    }
}

fn violation_in_words(rule: HttpViolation) -> String {
    let (what, answer) = what_broke(rule);
    format!("{what}; client {answer}")
}

fn grpc_status_in_words(status: GrpcStatus) -> String {
    let (name, code) = (status.name(), status.code());
    format!("call ended with gRPC status {code} ({name}), which was not expected")
}

fn grpc_in_words(fault: GrpcFault) -> &'static str {
    match fault {
        GrpcFault::NoStatus => "answer has no grpc-status: the call's outcome is not known",
        GrpcFault::BadStatus => "answer's grpc-status is not a number",
        GrpcFault::NoMessage => "answer is ok and has no message, where one belongs",
        GrpcFault::ManyMessages => "answer has several messages, where one belongs",
        GrpcFault::BadMessage => {
            "answer's message is cut, or its prefix is wrong: a flag above 1, or compressed \
             without grpc-encoding"
        }
        GrpcFault::ContentType => "answer's content type is not application/grpc",
    }
}

fn socket_in_words(kind: Kind) -> String {
    match kind {
        Kind::WebSocketFault(fault) => websocket_in_words(fault).to_owned(),
        Kind::Close(code) => close_in_words(code),
        other => other.to_string(),
    }
}

fn websocket_in_words(fault: WebSocketFault) -> &'static str {
    match fault {
        WebSocketFault::BadHandshake => {
            "answer with status 101 opens no WebSocket: upgrade, connection or \
             sec-websocket-accept is wrong (RFC 6455 §4.1)"
        }
        WebSocketFault::Protocol => {
            "server chose a subprotocol or an extension that was not offered, or none of the \
             subprotocols"
        }
        WebSocketFault::BadFrame => {
            "a frame is masked, or has a reserved bit, an unknown opcode or a length in a longer \
             form (RFC 6455 §5.2)"
        }
        WebSocketFault::BadControl => {
            "a control frame is fragmented, longer than 125 bytes, or closes with no valid code \
             (RFC 6455 §5.5)"
        }
        WebSocketFault::BadFragment => {
            "a fragment continues no message, or another message begins before its last one"
        }
        WebSocketFault::NotUtf8 => "a text message is not UTF-8",
        WebSocketFault::MessageTooLarge => {
            "a message is longer than 16 MiB, which the client reads"
        }
        WebSocketFault::NoAnswerKey => {
            "a message of ours has no JSON value at the pointer of websocket.answer"
        }
        WebSocketFault::Unanswered => "a message had no answer within timeouts.request",
        WebSocketFault::NotOffered => {
            "the server's settings offer no WebSockets over HTTP/2 (RFC 8441)"
        }
        WebSocketFault::NoPong => "a ping of ours had no pong within timeouts.request",
        WebSocketFault::Lost => "connection ended without a close frame",
    }
}

fn close_in_words(code: u16) -> String {
    // RFC 6455 §7.4.1, and the registry that it sets up.
    let meaning = match code {
        1000 => "normal",
        1001 => "going away",
        1002 => "protocol error",
        1003 => "data that it does not accept",
        1005 => "no code",
        1007 => "inconsistent data",
        1008 => "policy",
        1009 => "message too big",
        1011 => "unexpected condition",
        1012 => "service restart",
        1013 => "try again later",
        1014 => "bad gateway",
        _ => return format!("server closed the WebSocket before the plan did, with code {code}"),
    };
    format!("server closed the WebSocket before the plan did, with code {code} ({meaning})")
}

/// Returns which rule was broken, and what the client did in response (RFC 9113 §5.4).
fn what_broke(rule: HttpViolation) -> (&'static str, &'static str) {
    let stream = |broken| (broken, "reset the stream (PROTOCOL_ERROR)");
    let calm = |broken| (broken, "closed the connection (ENHANCE_YOUR_CALM)");
    match rule {
        HttpViolation::FieldName => {
            stream("malformed response: a field name is not lower case (RFC 9113 §8.2.1)")
        }
        HttpViolation::FieldValue => stream(
            "malformed response: a field value has NUL, CR, LF, or white space around it (RFC \
             9113 §8.2.1)",
        ),
        HttpViolation::ConnectionField => stream(
            "malformed response: it has a field of HTTP/1.1 connections, such as Connection (RFC \
             9113 §8.2.2)",
        ),
        HttpViolation::PseudoField => stream(
            "malformed response: a pseudo-field is unknown, late, or in trailers (RFC 9113 §8.3)",
        ),
        HttpViolation::Status => stream(
            "malformed response: :status is missing, twice there, 101, or not three digits (RFC \
             9113 §8.3.2)",
        ),
        HttpViolation::ContentLength => stream(
            "malformed response: content-length is no number, or not the body's length (RFC 9113 \
             §8.1.1)",
        ),
        HttpViolation::UnexpectedBody => stream(
            "malformed response: it has a body, which 204, 304 and answers to HEAD do not have \
             (RFC 9113 §8.1.1)",
        ),
        HttpViolation::MessageOrder => stream(
            "malformed response: its frames are not a head, a body and trailers (RFC 9113 §8.1)",
        ),
        HttpViolation::HeaderCompression => (
            "a header block cannot be decoded (RFC 7541)",
            "closed the connection (COMPRESSION_ERROR)",
        ),
        HttpViolation::FrameSize => (
            "a frame has a wrong length (RFC 9113 §4.2)",
            "closed the connection (FRAME_SIZE_ERROR)",
        ),
        HttpViolation::FlowControl => (
            "a window is too large (RFC 9113 §6.9.1)",
            "closed the connection (FLOW_CONTROL_ERROR)",
        ),
        HttpViolation::FrameOrder => (
            "a frame breaks the protocol (RFC 9113 §5.1, §6)",
            "closed the connection (PROTOCOL_ERROR)",
        ),
        HttpViolation::PingFlood => calm("server sent PING frames without end"),
        HttpViolation::SettingsFlood => calm("server sent SETTINGS frames without end"),
        HttpViolation::EmptyFrames => {
            calm("server sent empty DATA or CONTINUATION frames without end")
        }
        HttpViolation::FrameFlood => calm("server sent frames without end that carry no answer on"),
        HttpViolation::InterimFlood => (
            "server sent interim answers (1xx) without end",
            "gave the response up",
        ),
    }
}

/// Returns what to change if this is the only kind of failure; `None` if the cause is for the
/// server's owner to find.
#[must_use]
pub fn cure(failure: Failure) -> Option<&'static str> {
    Some(match failure.kind {
        Kind::Refused => "is the server running, and is the port of target.url the right one?",
        Kind::NoSuchName => {
            "check the host of target.url, or say where it is with target.addresses"
        }
        Kind::NoResolver => {
            "the agents' resolver is overloaded or not reachable: run one on their machines, \
             resolve less often with target.dns, or give target.addresses"
        }
        Kind::Unreachable => "check the address, and the route from the agents to it",
        Kind::Certificate(fault) => return certificate_cure(fault),
        Kind::AlertReceived(CERTIFICATE_REQUIRED) => {
            "the server wants a client certificate: tls.client_certificates"
        }
        Kind::BadTls => {
            "does this port speak TLS? for one that does not, write http:// in target.url"
        }
        Kind::AlertReceived(NO_APPLICATION_PROTOCOL) => {
            "the server does not speak what it was offered (ALPN); write connection.http = \"1.1\""
        }
        Kind::BadFraming => {
            "does this port speak HTTP? one that speaks TLS needs https:// in target.url"
        }
        Kind::PortsExhausted => {
            "keep connections open (connection.requests), write connection.close = \"server\" or \
             \"rst\", name more connection.source_addresses, or add agents on other machines"
        }
        Kind::FilesExhausted => "raise the agents' limit of open files (ulimit -n)",
        Kind::NotAllowed => "allow it on the agents: --allow with the address, or its network",
        Kind::NoHttp2 => "switch HTTP/2 on in the server, or write connection.http = \"1.1\"",
        Kind::Redirect(RedirectFault::TooMany) => {
            "does the server redirect in a circle? if not, allow more with request.redirects"
        }
        Kind::Redirect(RedirectFault::OtherOrigin) => {
            "name where it leads to, such as target.redirects_to = [\"https://login.shop.test\"]"
        }
        Kind::Redirect(RedirectFault::BadLocation) => {
            "correct the Location field that the server sends, or do not follow it: \
             request.redirects = 0"
        }
        Kind::NoEndMarker => {
            "is request.stream.end the data of the last event, byte by byte? without it any end is \
             right"
        }
        Kind::Status(400) => {
            "is the server asked what it understands? a TLS port answers 400 to plain HTTP (write \
             https:// in target.url), and one that wants a client certificate to a connection \
             without (tls.client_certificates)"
        }
        Kind::Status(500..=599) => {
            "the server's log may say why; where this is the right answer, say so with \
             request.expect.status"
        }
        Kind::NotAsRecorded(_) => NOT_AS_RECORDED_CURE,
        Kind::GrpcStatus(status) => return Some(grpc_status_cure(status)),
        Kind::GrpcFault(fault) => return grpc_cure(fault),
        Kind::Status(_) => "where this is the right answer, say so with request.expect.status",
        _ => return None,
    })
}

fn grpc_status_cure(status: GrpcStatus) -> &'static str {
    match status {
        GrpcStatus::Unimplemented => {
            "does the server serve request.grpc.method under this very name?"
        }
        GrpcStatus::DeadlineExceeded => {
            "the server gave up after request.grpc.timeout, or after one of its own"
        }
        _ => {
            "the server's log may say why; where this is the right answer, say so with \
             request.expect.grpc_status"
        }
    }
}

fn grpc_cure(fault: GrpcFault) -> Option<&'static str> {
    match fault {
        GrpcFault::NoStatus => {
            Some("does something between drop the trailers, such as a proxy that speaks no gRPC?")
        }
        GrpcFault::ContentType => Some("does this port serve gRPC?"),
        _ => None,
    }
}

fn certificate_cure(fault: CertificateFault) -> Option<&'static str> {
    use CertificateFault::{
        CaAsServer, Expired, NoSubjectAltName, SelfSigned, UnknownIssuer, WeakKey, WeakSignature,
        WrongName,
    };
    Some(match fault {
        UnknownIssuer => {
            "name the file of its issuer with tls.ca, or check nothing with tls.verify = \"none\""
        }
        WrongName => "write the name it is for in tls.server_name",
        Expired => "renew it, or check nothing with tls.verify = \"none\"",
        SelfSigned => {
            "have a CA issue it, or name it with tls.ca where it is not marked as a CA's \
             (CA:FALSE), or check nothing with tls.verify = \"none\""
        }
        NoSubjectAltName => {
            "issue it with a subjectAltName, or check nothing with tls.verify = \"none\""
        }
        WeakSignature => "issue it anew with SHA-256, or check nothing with tls.verify = \"none\"",
        WeakKey => {
            "make a key of 2048 bits or more, or one on P-256, or check nothing with tls.verify = \
             \"none\""
        }
        CaAsServer => "issue it without CA:TRUE, or check nothing with tls.verify = \"none\"",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(stage: FailureStage, kind: Kind) -> Failure {
        Failure { stage, kind }
    }

    #[test]
    fn alerts_are_told_apart_by_direction() {
        let received = words(failure(FailureStage::Tls, Kind::AlertReceived(40)));
        assert_eq!(received, "server ended TLS with alert handshake_failure");
        assert_eq!(
            words(failure(FailureStage::Tls, Kind::AlertSent(48))),
            "client ended TLS with alert unknown_ca"
        );
    }

    #[test]
    fn failed_check_is_described_by_the_plan() {
        let checks = [
            "body lacks \"a\"".to_owned(),
            "header b is missing".to_owned(),
        ];
        for (kind, expected) in [
            (Kind::Check(1), "body lacks \"a\""),
            (Kind::Check(2), "header b is missing"),
            (Kind::Check(3), "answer failed check 3 of the plan"),
            (Kind::Check(0), "answer failed check 0 of the plan"),
            (Kind::Eof, "server closed the connection before it answered"),
        ] {
            let mut error = ErrorFigure::one(failure(FailureStage::Http, kind), 1, 1);
            error.describe_check(&checks);
            assert_eq!(error.words, expected);
        }
    }

    #[test]
    fn errors_stand_most_frequent_first_with_their_share() {
        let mut counters = Counters {
            ok: 92,
            timed_out: 1,
            failed: 7,
            ..Counters::default()
        };
        counters
            .failures
            .insert(failure(FailureStage::Connect, Kind::Refused), 7);
        counters
            .failures
            .insert(failure(FailureStage::Http, Kind::TimeOut), 1);
        let errors: Vec<_> = ErrorFigure::from_counters(&counters)
            .into_iter()
            .map(|error| (error.name, error.share))
            .collect();
        assert_eq!(
            errors,
            [
                ("connect.refused".to_owned(), 0.07),
                ("http.time_out".to_owned(), 0.01)
            ]
        );
    }
}
