//! Why an operation failed: stage × kind.

use crate::{GrpcFault, GrpcStatus, HttpViolation, WebSocketFault};
use serde::{Deserialize, Serialize};

/// What a failure is counted under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Failure {
    /// Where in the operation.
    pub stage: FailureStage,
    /// What broke there.
    pub kind: Kind,
}

/// Where in the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FailureStage {
    /// Before anything was sent: the arrival itself.
    Load,
    /// While the name was resolved.
    Dns,
    /// While the TCP connection was made.
    Connect,
    /// TLS handshake, or the confirmation of a handshake-only operation.
    Tls,
    /// Request and response.
    Http,
    /// Before anything was sent: the wait for a stream of HTTP/2, on a connection that is open or
    /// that another operation opens.
    Stream,
    /// The answer to a gRPC call, which is valid HTTP with status 200.
    Grpc,
    /// A WebSocket, from the answer to its opening handshake on.
    WebSocket,
}

/// What broke, whichever the stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// The connection was refused (`ECONNREFUSED`).
    Refused,
    /// The connection was reset (`ECONNRESET`).
    Reset,
    /// No route to host or network.
    Unreachable,
    /// A time-out of the plan fired.
    TimeOut,
    /// The peer ended the connection before it should.
    Eof,
    /// The peer sent a fatal TLS alert, by its code (RFC 8446 §6.2).
    AlertReceived(u8),
    /// We sent a fatal TLS alert, by its code.
    AlertSent(u8),
    /// The server's certificate is not acceptable.
    Certificate(CertificateFault),
    /// What came is not TLS, or breaks its rules.
    BadTls,
    /// A status the plan does not expect.
    Status(u16),
    /// The body's length is not the one the plan expects.
    BodyLength,
    /// The connection ended inside the body.
    ShortBody,
    /// Head or framing breaks RFC 9112, or what came is not HTTP at all.
    BadFraming,
    /// The name does not exist or has no address.
    NoSuchName,
    /// No local port left (`EADDRNOTAVAIL`).
    PortsExhausted,
    /// No file descriptor left (`EMFILE`, `ENFILE`).
    FilesExhausted,
    /// The resolved address is outside what this agent may fire at.
    NotAllowed,
    /// Connections and queue were full: the arrival was never sent.
    NotSent,
    /// Cut at the end of the drain, or by a stop.
    Cut,
    /// Any other error of the operating system, by its number.
    Os(i32),
    /// The server does not speak HTTP/2: in the handshake it chose another protocol, or none.
    NoHttp2,
    /// The peer reset the HTTP/2 stream, by its error code (RFC 9113 §7).
    StreamReset(u32),
    /// The peer closed the HTTP/2 connection under the operation and said why, by its error code.
    GoAway(u32),
    /// Whether the name exists is not known: the resolver has no answer now, or cannot be asked
    /// (`EAI_AGAIN` and the like).
    NoResolver,
    /// The response's head, or a line of its chunked coding, is beyond a limit of the client's; it
    /// may be valid.
    HeadTooLarge,
    /// The arrival was never sent: when it was looked at, the agent's lease had ended.
    NoLease,
    /// The server broke this rule of HTTP/2, or flooded the client.
    Violation(HttpViolation),
    /// The check of the plan with this number, from 1, failed. Of several that did, it is the one
    /// with the lowest number.
    Check(u16),
    /// The body has a content coding that checks cannot read, or breaks its rules.
    ContentCoding,
    /// The body is longer than checks can read.
    BodyTooLarge,
    /// The body is not JSON, in which a check looks for a value.
    NotJson,
    /// The status is not the one that the replayed log has.
    NotAsRecorded(u16),
    /// The answer is a redirect that was not followed.
    Redirect(RedirectFault),
    /// A streamed answer ended without the end marker that the plan names.
    NoEndMarker,
    /// A gRPC call ended with a status that the plan does not expect.
    GrpcStatus(GrpcStatus),
    /// The answer to a gRPC call breaks the rules of gRPC.
    GrpcFault(GrpcFault),
    /// A WebSocket breaks its rules, or is not as the plan expects.
    WebSocketFault(WebSocketFault),
    /// The server closed a WebSocket with this code before the plan did; 1005 if it gave none.
    Close(u16),
}

impl Kind {
    /// Whether the answer to a gRPC call is what failed, which is valid HTTP.
    #[must_use]
    pub fn is_of_grpc(self) -> bool {
        matches!(self, Kind::GrpcStatus(_) | Kind::GrpcFault(_))
    }

    /// Whether a WebSocket is what failed.
    #[must_use]
    pub fn is_of_websocket(self) -> bool {
        matches!(self, Kind::WebSocketFault(_) | Kind::Close(_))
    }
}

/// Why a redirect was not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RedirectFault {
    /// The operation had followed as many as the plan allows.
    TooMany,
    /// It leads to another host, port or scheme.
    OtherOrigin,
    /// Its `Location` is no URL of HTTP, or longer than the client reads.
    BadLocation,
}

/// Why a certificate was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CertificateFault {
    /// Past its notAfter.
    Expired,
    /// Before its notBefore.
    NotYetValid,
    /// Not for this name.
    WrongName,
    /// No path to a root of the plan.
    UnknownIssuer,
    /// Its signature, or the handshake's, does not verify.
    BadSignature,
    /// Revoked by its issuer.
    Revoked,
    /// Not made for a server, by its extended key usage.
    WrongPurpose,
    /// Cannot be parsed.
    Malformed,
    /// Not acceptable for any other reason.
    Other,
    /// Signed by its own key, and not trusted for that.
    SelfSigned,
    /// It has no subjectAltName, where names have to stand (RFC 9525 §2).
    NoSubjectAltName,
    /// A certificate of the chain is signed with SHA-1 or MD5.
    WeakSignature,
    /// An RSA key of the chain, or of the root above it, has less than 2048 bits.
    WeakKey,
    /// It is marked as a CA's, which a server's must not be.
    CaAsServer,
}
