//! The answer to a gRPC call: its messages are counted, and its status comes behind them. They are
//! events where a method streams its answers.

use super::AnswerChecks;
use super::answer_captures::values_of;
use super::event_watch::EventWatch;
use super::grpc_text::grpc_text;
use super::kept_message::KeptMessage;
use super::message_scanner::MessageScanner;
use measure::{GrpcFault, GrpcStatus, Kind};
use plan::Request;
use serde_json::Value;
use std::sync::Arc;

/// The statuses that are right, by code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RightStatuses(u32);

/// What an answer with status 200 has come to so far.
#[derive(Debug)]
pub(super) struct GrpcAnswer {
    right: RightStatuses,
    is_grpc: bool,
    status: Option<Result<GrpcStatus, GrpcFault>>,
    /// What the server says of a status that is not right.
    text: Option<String>,
    messages: MessageScanner,
    /// The messages as events, if the answer may have any number of them.
    events: Option<EventWatch>,
    /// The message itself, if the plan looks at it.
    kept: Option<Box<KeptMessage>>,
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
    /// An answer whose head has these fields, and which is looked at as `checks` say.
    pub(super) fn new<'f>(
        right: RightStatuses,
        checks: &Arc<AnswerChecks>,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])> + Clone,
    ) -> GrpcAnswer {
        let content_type = values_of(fields.clone(), "content-type").next();
        let coding = values_of(fields, "grpc-encoding").next();
        GrpcAnswer {
            right,
            is_grpc: content_type.is_some_and(is_grpc),
            status: None,
            text: None,
            messages: MessageScanner::new(coding.is_some_and(|coding| coding != b"identity")),
            events: checks
                .stream
                .as_ref()
                .map(|stream| EventWatch::of_messages(stream.cut_after)),
            kept: checks
                .keeps_body()
                .then(|| Box::new(KeptMessage::new(checks))),
        }
    }

    /// Takes the next bytes of the body.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let wanted = self.events.as_ref().and_then(EventWatch::wanted);
        if let Some(kept) = &mut self.kept {
            kept.take(bytes);
        }
        self.messages.take(bytes, wanted.unwrap_or(u64::MAX));
        if let Some(events) = &mut self.events {
            events.count(self.messages.messages());
        }
    }

    /// The fields of its message that the plan names; null if there are none.
    pub(super) fn fields(&self) -> &Value {
        self.kept
            .as_ref()
            .map_or(&Value::Null, |kept| kept.fields())
    }

    /// Its messages as events; `None` if it is to have one only.
    pub(super) fn events(&mut self) -> Option<&mut EventWatch> {
        self.events.as_mut()
    }

    /// Takes the fields that stand behind the body, or in a head without one.
    pub(super) fn take_trailers<'f>(
        &mut self,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])> + Clone,
    ) {
        let value = values_of(fields.clone(), "grpc-status").next();
        self.status = value.map(|value| {
            let code = std::str::from_utf8(value)
                .ok()
                .filter(|text| is_number(text));
            let code = code.ok_or(GrpcFault::BadStatus)?;
            // A number beyond 64 bits is as undefined as any other.
            Ok(GrpcStatus::of_code(code.parse().unwrap_or(u64::MAX)))
        });
        if let Some(Ok(status)) = self.status
            && !self.right.contain(status)
        {
            let text = values_of(fields, "grpc-message").next();
            self.text = Some(grpc_text(text.unwrap_or_default()));
        }
    }

    /// The status that it ended with, if it has one and was not given up before.
    pub(super) fn status(&self) -> Option<GrpcStatus> {
        self.status.and_then(Result::ok).filter(|_| !self.is_full())
    }

    /// What the server says of its status, if that is not right.
    pub(super) fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Whether it has all the messages that the plan wants. What follows them is not looked at: it
    /// may have come with the last of them or not.
    fn is_full(&self) -> bool {
        self.events.as_ref().is_some_and(EventWatch::is_full)
    }

    /// The answer is whole, or given up: returns what it fails by, `None` if it passes.
    pub(super) fn end(&mut self) -> Option<Kind> {
        if !self.is_grpc {
            return Some(Kind::GrpcFault(GrpcFault::ContentType));
        }
        if self.is_full() {
            return None;
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
        let fault = match self.messages.messages() {
            _ if !self.messages.is_whole() => GrpcFault::BadMessage,
            _ if self.events.is_some() => return None,
            0 => GrpcFault::NoMessage,
            1 => return self.kept.as_mut().and_then(|kept| kept.end()),
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
    use measure::StreamEnd;
    use plan::EventStream;

    const OK: RightStatuses = RightStatuses(1);

    fn head(fields: &[(&'static str, &'static str)]) -> GrpcAnswer {
        let fields = fields
            .iter()
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        GrpcAnswer::new(OK, &Arc::default(), fields)
    }

    /// An answer with any number of messages, or at most `cut_after` of them.
    fn stream(cut_after: Option<u32>) -> GrpcAnswer {
        let stream = EventStream {
            events: None,
            end: None,
            cut_after,
        };
        let fields = [(&b"content-type"[..], &b"application/grpc"[..])];
        let checks = Arc::new(AnswerChecks {
            stream: Some(Arc::new(stream)),
            ..AnswerChecks::default()
        });
        GrpcAnswer::new(OK, &checks, fields.into_iter())
    }

    fn grpc() -> GrpcAnswer {
        head(&[("content-type", "application/grpc")])
    }

    fn end(mut answer: GrpcAnswer, body: &[u8], status: Option<&str>) -> Option<Kind> {
        answer.take(body);
        let fields = status
            .iter()
            .map(|value| (&b"grpc-status"[..], value.as_bytes()));
        answer.take_trailers(fields);
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
    fn stream_has_any_number_of_messages_and_its_status() {
        let messages = MESSAGE.repeat(3);
        for (body, events) in [(&b""[..], 0), (MESSAGE, 1), (&messages, 3)] {
            for status in ["0", "5"] {
                let mut answer = stream(None);
                answer.take(body);
                let batch = answer.events().and_then(|events| events.tell(7));
                assert_eq!(batch.map_or(0, |batch| batch.number), events);
                let failure = (status == "5").then_some(Kind::GrpcStatus(GrpcStatus::NotFound));
                assert_eq!(end(answer, b"", Some(status)), failure);
            }
        }
        assert_eq!(end(stream(None), MESSAGE, None), fault(GrpcFault::NoStatus));
        let cut = &messages[..messages.len() - 1];
        assert_eq!(
            end(stream(None), cut, Some("0")),
            fault(GrpcFault::BadMessage)
        );
    }

    #[test]
    fn stream_that_is_given_up_needs_no_status_but_has_what_came() {
        let messages = MESSAGE.repeat(3);
        assert_eq!(end(stream(Some(2)), &messages, None), None);
        assert_eq!(end(stream(Some(2)), &messages, Some("5")), None);
        assert_eq!(end(stream(Some(2)), &messages[..15], Some("5")), None);
        assert_eq!(
            end(stream(Some(4)), &messages, None),
            fault(GrpcFault::NoStatus)
        );
        let mut answer = stream(Some(2));
        answer.take(&messages);
        let events = answer.events().expect("a stream");
        assert!(events.is_full());
        assert_eq!(events.outcome(), (StreamEnd::Cut, 2));
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
