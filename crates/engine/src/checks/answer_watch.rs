//! One answer under watch: its fields and body go past, and a verdict remains.

use super::AnswerChecks;
use super::answer_captures::{FieldCaptures, take_texts, values_of};
use super::body_leave::BodyLeave;
use super::body_reader::BodyReader;
use super::event_watch::EventWatch;
use super::grpc_answer::GrpcAnswer;
use super::value_tests::passes_as_field;
use super::watched_body::WatchedBody;
use crate::journey_memory::NewText;
use crate::location::MAX_LOCATION;
use crate::websocket::SocketSession;
use measure::{GrpcStatus, Kind};
use plan::ValueTest;
use std::sync::Arc;

/// The status of HTTP that answers to gRPC calls have, whatever became of the call.
const GRPC_STATUS: u16 = 200;

/// What the checks of one answer have come to so far.
#[derive(Debug)]
pub(crate) struct AnswerWatch {
    checks: Arc<AnswerChecks>,
    failed_header: Option<u16>,
    /// The first field `Location`, cut where it is longer than any that is followed.
    location: Option<Vec<u8>>,
    /// Values of the fields `set-cookie`.
    cookies: Vec<Vec<u8>>,
    /// Texts of header fields that may be taken.
    of_fields: FieldCaptures,
    body: WatchedBody,
    /// Whether the request's body may be sent.
    leave: BodyLeave,
    /// The socket that the answer has opened.
    socket: Option<Box<SocketSession>>,
}

impl AnswerWatch {
    /// Watches an answer from its beginning.
    pub(crate) fn new(checks: &Arc<AnswerChecks>) -> AnswerWatch {
        AnswerWatch {
            checks: Arc::clone(checks),
            failed_header: None,
            location: None,
            cookies: Vec::new(),
            of_fields: FieldCaptures::default(),
            body: WatchedBody::Ignored,
            leave: BodyLeave::NotNeeded,
            socket: None,
        }
    }

    /// Takes the status of an interim head.
    pub(crate) fn take_interim(&mut self, status: u16) {
        self.leave.take_interim(status);
    }

    /// Whether the request's body may be sent.
    pub(crate) fn body_leave(&mut self) -> &mut BodyLeave {
        &mut self.leave
    }

    /// Takes the final head: its status, and its fields as names and values. Only an answer with
    /// a status of 2xx is a stream.
    pub(crate) fn take_head<'f>(
        &mut self,
        status: u16,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])> + Clone,
    ) {
        self.leave.take_answer();
        let fails = |(_, name, test): &&(u16, String, ValueTest)| match test {
            ValueTest::Absent => values_of(fields.clone(), name).next().is_some(),
            test => !values_of(fields.clone(), name).any(|value| passes_as_field(test, value)),
        };
        let failed = self.checks.headers.iter().find(fails);
        self.failed_header = failed.map(|&(number, ..)| number);
        if self.checks.keeps_location {
            let location = values_of(fields.clone(), "location").next();
            let kept = location.map(|value| &value[..value.len().min(MAX_LOCATION + 1)]);
            self.location = kept.map(<[u8]>::to_vec);
        }
        if self.checks.keeps_cookies {
            self.cookies = values_of(fields.clone(), "set-cookie")
                .map(<[u8]>::to_vec)
                .collect();
        }
        if !self.checks.captures.is_empty() {
            self.of_fields = FieldCaptures::new(&self.checks.captures, fields.clone());
        }
        let socket = self.checks.socket.as_ref();
        if let Some((plan, opening)) = socket.filter(|(_, it)| status == it.status()) {
            self.socket = Some(Box::new(SocketSession::new(plan, *opening, fields)));
            return;
        }
        if let Some(right) = self.checks.grpc {
            if status == GRPC_STATUS {
                self.body = WatchedBody::Grpc(GrpcAnswer::new(right, &self.checks, fields));
            }
            return;
        }
        let is_streamed = self.checks.stream.is_some() && (200..300).contains(&status);
        // After a failed header, checks of the body can change nothing.
        let is_checked = self.failed_header.is_none() && self.checks.has_body_checks();
        if is_streamed || is_checked {
            let reader = BodyReader::new(&self.checks, is_streamed);
            self.body = WatchedBody::new(reader, values_of(fields.clone(), "content-encoding"));
        }
    }

    /// Takes the next bytes of the body, as they are before any content coding is removed.
    #[inline]
    pub(crate) fn take_body(&mut self, bytes: &[u8]) {
        match &mut self.socket {
            None => self.body.take(bytes),
            Some(socket) => socket.take(bytes),
        }
    }

    /// Takes the fields behind the body, or those of a head without one.
    pub(crate) fn take_trailers<'f>(
        &mut self,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])> + Clone,
    ) {
        self.body.take_trailers(fields);
    }

    /// The status of gRPC that the answer ended with, if it has one; if it is not right, with what
    /// the server says of it.
    pub(crate) fn grpc_status(&self) -> Option<(GrpcStatus, Option<&str>)> {
        self.body.grpc_status()
    }

    /// Takes the value of the field `Location`, if redirects are followed.
    pub(crate) fn take_location(&mut self) -> Option<Vec<u8>> {
        self.location.take()
    }

    /// Takes the texts from an answer that is whole and passes, with `random` bits for those that
    /// are picked so. The error is what it fails by if one is missing.
    pub(crate) fn capture(&mut self, random: u64) -> Result<Vec<NewText>, Kind> {
        let captures = &self.checks.captures;
        let fields = std::mem::take(&mut self.of_fields);
        let html = self.body.take_html();
        take_texts(captures, (fields, html), self.body.kept_body(), random)
    }

    /// Takes the values of the fields `set-cookie`, if cookies are kept.
    pub(crate) fn take_cookies(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.cookies)
    }

    /// Whether texts are taken from the answer.
    pub(crate) fn has_captures(&self) -> bool {
        !self.checks.captures.is_empty()
    }

    /// Whether the answer may open a socket.
    pub(crate) fn wants_socket(&self) -> bool {
        self.checks.socket.is_some()
    }

    /// Whether it has opened one.
    pub(crate) fn has_socket(&self) -> bool {
        self.socket.is_some()
    }

    /// The socket that it has opened.
    pub(crate) fn socket(&mut self) -> Option<&mut SocketSession> {
        self.socket.as_deref_mut()
    }

    /// Its events; `None` if it is no stream.
    pub(crate) fn events(&mut self) -> Option<&mut EventWatch> {
        self.body.events()
    }

    /// Whether events have come that were not told.
    #[inline]
    pub(crate) fn has_news(&mut self) -> bool {
        let of_socket = self.socket.as_ref().is_some_and(|it| it.has_news());
        of_socket || self.events().is_some_and(|events| events.has_news())
    }

    /// The answer is whole, or given up: returns what it fails by, `None` if it passes. That can be
    /// asked once.
    pub(crate) fn end(&mut self) -> Option<Kind> {
        let of_body = match &self.socket {
            None => self.body.end(),
            Some(socket) => socket.end(),
        };
        match self.failed_header {
            // A call that failed need not have the fields of one that did not.
            Some(number) if !of_body.is_some_and(Kind::is_of_grpc) => Some(Kind::Check(number)),
            _ => of_body,
        }
    }
}

#[cfg(test)]
mod tests;
