//! A body as it comes, with its content coding (RFC 9110 §8.4) removed if it is read.

use super::answer_captures::KeptBody;
use super::body_reader::BodyReader;
use super::content_decoder::ContentDecoder;
use super::event_watch::EventWatch;
use super::grpc_answer::GrpcAnswer;
use measure::{GrpcStatus, Kind};

/// The body of an answer under watch.
#[derive(Debug)]
pub(super) enum WatchedBody {
    /// No check needs it.
    Ignored,
    Plain(BodyReader),
    Coded(CodedBody),
    /// It has a coding that cannot be removed.
    Unreadable,
    /// The messages of a gRPC answer.
    Grpc(GrpcAnswer),
}

/// A body that is decoded for its reader.
#[derive(Debug)]
pub(super) struct CodedBody {
    decoder: ContentDecoder,
    /// Nothing has come. An answer without a body has no coding that could be broken.
    is_empty: bool,
    is_broken: bool,
}

impl WatchedBody {
    /// A body whose head has these fields `content-encoding`.
    pub(super) fn new<'f>(
        reader: BodyReader,
        codings: impl Iterator<Item = &'f [u8]>,
    ) -> WatchedBody {
        let codings = codings.flat_map(|value| value.split(|&byte| byte == b','));
        let mut codings = codings
            .map(<[u8]>::trim_ascii)
            .filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity"));
        match (codings.next(), codings.next()) {
            (None, _) => WatchedBody::Plain(reader),
            (Some(coding), None) => match ContentDecoder::new(coding, reader) {
                None => WatchedBody::Unreadable,
                Some(decoder) => WatchedBody::Coded(CodedBody {
                    decoder,
                    is_empty: true,
                    is_broken: false,
                }),
            },
            (Some(_), Some(_)) => WatchedBody::Unreadable,
        }
    }

    /// Takes the next bytes as they come.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        match self {
            WatchedBody::Ignored | WatchedBody::Unreadable => {}
            WatchedBody::Plain(reader) => reader.take(bytes),
            WatchedBody::Coded(body) => body.take(bytes),
            WatchedBody::Grpc(answer) => answer.take(bytes),
        }
    }

    /// Its events, if it is a stream of them that can be read.
    pub(super) fn events(&mut self) -> Option<&mut EventWatch> {
        match self {
            WatchedBody::Ignored | WatchedBody::Unreadable => None,
            WatchedBody::Grpc(answer) => answer.events(),
            WatchedBody::Plain(reader) => reader.events.as_mut(),
            WatchedBody::Coded(body) => body.decoder.reader_mut().events.as_mut(),
        }
    }

    /// The body without its coding, if it was kept.
    pub(super) fn kept_body(&self) -> KeptBody<'_> {
        match self {
            WatchedBody::Ignored | WatchedBody::Unreadable => KeptBody::Text(&[]),
            WatchedBody::Plain(reader) => KeptBody::Text(reader.whole_body()),
            WatchedBody::Coded(body) => KeptBody::Text(body.reader().whole_body()),
            WatchedBody::Grpc(answer) => KeptBody::Message(answer.fields()),
        }
    }

    /// The texts found in a page, by the captures that take attributes of its elements.
    pub(super) fn take_html(&mut self) -> Vec<Vec<Vec<u8>>> {
        match self {
            WatchedBody::Ignored | WatchedBody::Unreadable | WatchedBody::Grpc(_) => Vec::new(),
            WatchedBody::Plain(reader) => reader.take_html(),
            WatchedBody::Coded(body) => body.decoder.reader_mut().take_html(),
        }
    }

    /// The body is whole: returns what it fails by, `None` if it passes. That can be asked once.
    pub(super) fn end(&mut self) -> Option<Kind> {
        match self {
            WatchedBody::Ignored => None,
            WatchedBody::Unreadable => Some(Kind::ContentCoding),
            WatchedBody::Plain(reader) => reader.end(),
            WatchedBody::Coded(body) => body.end(),
            WatchedBody::Grpc(answer) => answer.end(),
        }
    }

    /// Takes the fields behind the body.
    pub(super) fn take_trailers<'f>(
        &mut self,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])> + Clone,
    ) {
        if let WatchedBody::Grpc(answer) = self {
            answer.take_trailers(fields);
        }
    }

    /// The status of gRPC that the answer ended with, if it has one; if it is not right, with what
    /// the server says of it.
    pub(super) fn grpc_status(&self) -> Option<(GrpcStatus, Option<&str>)> {
        match self {
            WatchedBody::Grpc(answer) => answer.status().map(|status| (status, answer.text())),
            _ => None,
        }
    }
}

impl CodedBody {
    fn take(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || self.is_broken || self.reader().is_over() {
            return;
        }
        self.is_empty = false;
        let written = self.decoder.take(bytes);
        // The reader refuses bytes once it is over, which is no fault of theirs.
        self.is_broken = written.is_err() && !self.reader().is_over();
    }

    fn reader(&self) -> &BodyReader {
        self.decoder.reader()
    }

    fn end(&mut self) -> Option<Kind> {
        let is_unfinished = !self.is_empty && !self.is_broken && !self.reader().is_over();
        if is_unfinished && self.decoder.finish().is_err() {
            self.is_broken = !self.reader().is_over();
        }
        if self.is_broken {
            return Some(Kind::ContentCoding);
        }
        self.decoder.reader_mut().end()
    }
}
