//! A body as it comes, with its content coding (RFC 9110 §8.4) removed if it is read.

use super::body_reader::BodyReader;
use super::event_watch::EventWatch;
use flate2::write::MultiGzDecoder;
use measure::Kind;
use std::io::Write as _;

/// The body of an answer under watch.
#[derive(Debug)]
pub(super) enum WatchedBody {
    /// No check needs it.
    Ignored,
    Plain(BodyReader),
    Gzip(Box<GzipBody>),
    /// It has a coding that cannot be removed.
    Unreadable,
}

/// A body that is decoded for its reader.
#[derive(Debug)]
pub(super) struct GzipBody {
    decoder: MultiGzDecoder<BodyReader>,
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
            (Some(coding), None) if is_gzip(coding) => WatchedBody::Gzip(Box::new(GzipBody {
                decoder: MultiGzDecoder::new(reader),
                is_empty: true,
                is_broken: false,
            })),
            (Some(_), _) => WatchedBody::Unreadable,
        }
    }

    /// Takes the next bytes as they come.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        match self {
            WatchedBody::Ignored | WatchedBody::Unreadable => {}
            WatchedBody::Plain(reader) => reader.take(bytes),
            WatchedBody::Gzip(body) => body.take(bytes),
        }
    }

    /// Its events, if it is a stream of them that can be read.
    pub(super) fn events(&mut self) -> Option<&mut EventWatch> {
        match self {
            WatchedBody::Ignored | WatchedBody::Unreadable => None,
            WatchedBody::Plain(reader) => reader.events.as_mut(),
            WatchedBody::Gzip(body) => body.decoder.get_mut().events.as_mut(),
        }
    }

    /// The body is whole: returns what it fails by, `None` if it passes. That can be asked once.
    pub(super) fn end(&mut self) -> Option<Kind> {
        match self {
            WatchedBody::Ignored => None,
            WatchedBody::Unreadable => Some(Kind::ContentCoding),
            WatchedBody::Plain(reader) => reader.end(),
            WatchedBody::Gzip(body) => body.end(),
        }
    }
}

fn is_gzip(coding: &[u8]) -> bool {
    // The second name is the first one's, by RFC 9110 §8.4.1.3.
    coding.eq_ignore_ascii_case(b"gzip") || coding.eq_ignore_ascii_case(b"x-gzip")
}

impl GzipBody {
    fn take(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || self.is_broken || self.reader().is_over() {
            return;
        }
        self.is_empty = false;
        let mut written = self.decoder.write_all(bytes);
        // The decoder keeps what it has made until it is asked again, and events are timed.
        if written.is_ok() && self.reader().events.is_some() {
            written = self.decoder.flush();
        }
        // The reader refuses bytes once it is over, which is no fault of theirs.
        self.is_broken = written.is_err() && !self.reader().is_over();
    }

    fn reader(&self) -> &BodyReader {
        self.decoder.get_ref()
    }

    fn end(&mut self) -> Option<Kind> {
        let is_unfinished = !self.is_empty && !self.is_broken && !self.reader().is_over();
        if is_unfinished && self.decoder.try_finish().is_err() {
            self.is_broken = !self.reader().is_over();
        }
        if self.is_broken {
            return Some(Kind::ContentCoding);
        }
        self.decoder.get_mut().end()
    }
}
