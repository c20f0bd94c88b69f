//! The answer to a gRPC call: its messages are counted, and its status comes behind them.

use super::answer_captures::values_of;
use measure::{GrpcFault, GrpcStatus, Kind};
use plan::Request;

/// Bytes before a message: whether it is compressed, and its length (gRPC over HTTP/2,
/// "Length-Prefixed-Message").
const PREFIX: usize = 5;

/// The statuses that are right, by code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RightStatuses(u32);

/// What an answer with status 200 has come to so far.
#[derive(Debug)]
pub(super) struct GrpcAnswer {
    right: RightStatuses,
    is_grpc: bool,
    /// Whether the head names a coding, so that messages may be compressed.
    has_coding: bool,
    status: Option<Result<GrpcStatus, GrpcFault>>,
    /// Messages that have begun, saturating.
    messages: u32,
    prefix: [u8; PREFIX],
    /// Bytes of the prefix that have come, and those of the message that have not.
    of_prefix: usize,
    left: u32,
    is_broken: bool,
}

impl RightStatuses {
    /// Those that the request expects; `None` if it is no gRPC call.
    pub(super) fn of_request(request: &Request) -> Option<RightStatuses> {
        request.grpc.as_ref()?;
        let bit = |status: GrpcStatus| 1 << status.code();
        let expected = request.expect.grpc_status.iter();
        let expected = expected.fold(0, |bits, &status| bits | bit(status));
        Some(RightStatuses(match expected {
            0 => bit(GrpcStatus::Ok),
            expected => expected,
        }))
    }

    fn contain(self, status: GrpcStatus) -> bool {
        self.0 & (1 << status.code()) != 0
    }
}

impl GrpcAnswer {
    /// An answer whose head has these fields.
    pub(super) fn new<'f>(
        right: RightStatuses,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])> + Clone,
    ) -> GrpcAnswer {
        let content_type = values_of(fields.clone(), "content-type").next();
        let coding = values_of(fields, "grpc-encoding").next();
        GrpcAnswer {
            right,
            is_grpc: content_type.is_some_and(is_grpc),
            has_coding: coding.is_some_and(|coding| coding != b"identity"),
            status: None,
            messages: 0,
            prefix: [0; PREFIX],
            of_prefix: 0,
            left: 0,
            is_broken: false,
        }
    }

    /// Takes the next bytes of the body.
    pub(super) fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_broken {
            if self.left > 0 {
                let taken = bytes.len().min(self.left as usize);
                self.left -= taken as u32; // at most what was left
                bytes = &bytes[taken..];
                continue;
            }
            let taken = bytes.len().min(PREFIX - self.of_prefix);
            self.prefix[self.of_prefix..][..taken].copy_from_slice(&bytes[..taken]);
            self.of_prefix += taken;
            bytes = &bytes[taken..];
            if self.of_prefix == PREFIX {
                self.begin_message();
            }
        }
    }

    fn begin_message(&mut self) {
        let [flag, l0, l1, l2, l3] = self.prefix;
        self.of_prefix = 0;
        self.messages = self.messages.saturating_add(1);
        self.left = u32::from_be_bytes([l0, l1, l2, l3]);
        self.is_broken = flag > u8::from(self.has_coding);
    }

    /// Takes the fields that stand behind the body, or in a head without one.
    pub(super) fn take_trailers<'f>(
        &mut self,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])> + Clone,
    ) {
        let value = values_of(fields, "grpc-status").next();
        self.status = value.map(|value| {
            let code = std::str::from_utf8(value)
                .ok()
                .filter(|text| is_number(text));
            let code = code.ok_or(GrpcFault::BadStatus)?;
            // A number beyond 64 bits is as undefined as any other.
            Ok(GrpcStatus::of_code(code.parse().unwrap_or(u64::MAX)))
        });
    }

    /// The status that it ended with, if it has one.
    pub(super) fn status(&self) -> Option<GrpcStatus> {
        self.status.and_then(Result::ok)
    }

    /// The answer is whole: returns what it fails by, `None` if it passes.
    pub(super) fn end(&self) -> Option<Kind> {
        if !self.is_grpc {
            return Some(Kind::GrpcFault(GrpcFault::ContentType));
        }
        let status = match self.status {
            None => return Some(Kind::GrpcFault(GrpcFault::NoStatus)),
            Some(Err(fault)) => return Some(Kind::GrpcFault(fault)),
            Some(Ok(status)) => status,
        };
        if !self.right.contain(status) {
            return Some(Kind::GrpcStatus(status));
        }
        // An error has no message, or none that counts.
        if status != GrpcStatus::Ok {
            return None;
        }
        let is_cut = self.left > 0 || self.of_prefix > 0;
        let fault = match self.messages {
            _ if self.is_broken || is_cut => GrpcFault::BadMessage,
            0 => GrpcFault::NoMessage,
            1 => return None,
            _ => GrpcFault::ManyMessages,
        };
        Some(Kind::GrpcFault(fault))
    }
}

/// Whether a content type is `application/grpc`, alone or with a format such as `+proto`.
fn is_grpc(content_type: &[u8]) -> bool {
    let name = b"application/grpc";
    content_type
        .split_at_checked(name.len())
        .is_some_and(|(begin, rest)| {
            begin.eq_ignore_ascii_case(name) && matches!(rest.first(), None | Some(b'+' | b';'))
        })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: RightStatuses = RightStatuses(1);

    fn head(fields: &[(&'static str, &'static str)]) -> GrpcAnswer {
        let fields = fields
            .iter()
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        GrpcAnswer::new(OK, fields)
    }

    fn grpc() -> GrpcAnswer {
        head(&[("content-type", "application/grpc")])
    }

    fn end(mut answer: GrpcAnswer, body: &[u8], status: Option<&str>) -> Option<Kind> {
        let mut by_byte = grpc();
        (by_byte.is_grpc, by_byte.has_coding) = (answer.is_grpc, answer.has_coding);
        answer.take(body);
        body.chunks(1).for_each(|byte| by_byte.take(byte));
        for answer in [&mut answer, &mut by_byte] {
            let fields = status
                .iter()
                .map(|value| (&b"grpc-status"[..], value.as_bytes()));
            answer.take_trailers(fields);
        }
        assert_eq!(answer.end(), by_byte.end());
        answer.end()
    }

    fn fault(fault: GrpcFault) -> Option<Kind> {
        Some(Kind::GrpcFault(fault))
    }

    const MESSAGE: &[u8] = b"\0\0\0\0\x02ab";

    #[test]
    fn answer_with_one_message_and_status_0_passes() {
        for body in [MESSAGE, b"\0\0\0\0\0"] {
            assert_eq!(end(grpc(), body, Some("0")), None);
        }
        let compressed = b"\x01\0\0\0\x01a";
        let coded = |coding| head(&[("content-type", "application/grpc+proto"), coding]);
        assert_eq!(
            end(coded(("grpc-encoding", "gzip")), compressed, Some("0")),
            None
        );
        assert_eq!(
            end(coded(("grpc-encoding", "identity")), compressed, Some("0")),
            fault(GrpcFault::BadMessage)
        );
    }

    #[test]
    fn every_other_status_fails_under_its_name() {
        for status in GrpcStatus::all().skip(1) {
            let code = status.code().to_string();
            assert_eq!(
                end(grpc(), b"", Some(&code)),
                Some(Kind::GrpcStatus(status))
            );
        }
        for code in ["17", "99999999999999999999999"] {
            let unknown = Some(Kind::GrpcStatus(GrpcStatus::Unknown));
            assert_eq!(end(grpc(), MESSAGE, Some(code)), unknown);
        }
    }

    #[test]
    fn broken_answers_fail_by_what_is_broken() {
        for (body, status, broken) in [
            (MESSAGE, None, GrpcFault::NoStatus),
            (MESSAGE, Some("ok"), GrpcFault::BadStatus),
            (MESSAGE, Some(""), GrpcFault::BadStatus),
            (MESSAGE, Some("-1"), GrpcFault::BadStatus),
            (b"", Some("0"), GrpcFault::NoMessage),
            (b"\0\0\0", Some("0"), GrpcFault::BadMessage),
            (b"\0\0\0\0\x03ab", Some("0"), GrpcFault::BadMessage),
            (b"\0\xff\xff\xff\xffab", Some("0"), GrpcFault::BadMessage),
            (b"\x01\0\0\0\x02ab", Some("0"), GrpcFault::BadMessage),
            (b"\x02\0\0\0\x02ab", Some("0"), GrpcFault::BadMessage),
            (b"\0\0\0\0\0\0\0\0\0\0", Some("0"), GrpcFault::ManyMessages),
        ] {
            assert_eq!(
                end(grpc(), body, status),
                fault(broken),
                "{body:?} {status:?}"
            );
        }
        for content_type in ["text/html", "application/grpcx", "application/grp", ""] {
            let answer = head(&[("content-type", content_type)]);
            assert_eq!(
                end(answer, MESSAGE, Some("0")),
                fault(GrpcFault::ContentType)
            );
        }
    }
}
