//! Files of GoReplay (`gor --output-file`): records of raw HTTP/1.1, with a line of kind, number
//! and instant before each, and a line of three monkeys behind it
//! (<https://github.com/buger/goreplay/wiki/Middleware#communication-protocol>).

use crate::lines::{LINE_MAX_BYTES, LineEnd, LineReader};
use crate::recorded::{LineResult, RecordedBody, RecordedRequest};
use crate::skip::{LineError, SkipReason};
use crate::stamp::Stamp;
use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead};

/// The line behind a record.
const SEPARATOR: &[u8] = "🐵🙈🙉".as_bytes();

/// Requests that wait for their answers, whose records come later and may be missing; and how many
/// bytes of bodies wait with them.
const WAITING_MAX: usize = 65_536;
const WAITING_MAX_BYTES: usize = 64 << 20;

/// Header fields of a request, as in nginx's and Apache's limits.
const HEADERS_MAX: usize = 256;

/// A record: its first line's number, that line, and what is below it.
pub(crate) struct GoreplayRecord {
    number: u64,
    header: Vec<u8>,
    payload: Vec<u8>,
    is_too_long: bool,
}

/// Requests that wait for the status of their answers, the first that came first.
#[derive(Default)]
pub(crate) struct Unanswered {
    requests: HashMap<Vec<u8>, (u64, RecordedRequest)>,
    order: VecDeque<Vec<u8>>,
    bytes: usize,
}

/// Reads the next record; `None` at the end.
///
/// # Errors
/// The input cannot be read.
pub(crate) fn next_record<R: BufRead>(
    lines: &mut LineReader<R>,
) -> io::Result<Option<GoreplayRecord>> {
    let mut record = GoreplayRecord {
        number: lines.number + 1,
        header: Vec::new(),
        payload: Vec::new(),
        is_too_long: false,
    };
    let mut has_begun = false;
    while let Some(end) = lines.next()? {
        if lines.line == SEPARATOR {
            if has_begun {
                return Ok(Some(record));
            }
            record.number = lines.number + 1;
            continue;
        }
        record.is_too_long |= end == LineEnd::TooLong;
        if !has_begun {
            has_begun = true;
            record.header.clone_from(&lines.line);
            continue;
        }
        if record.payload.len() + lines.line.len() > LINE_MAX_BYTES {
            record.is_too_long = true;
            record.payload.clear();
        }
        if !record.is_too_long {
            record.payload.extend_from_slice(&lines.line);
            record.payload.extend_from_slice(lines.line_break());
        }
    }
    Ok(has_begun.then_some(record))
}

impl Unanswered {
    /// Takes a record, and returns what is complete by now: its line's number and the request.
    pub(crate) fn add(&mut self, record: GoreplayRecord) -> Vec<(u64, LineResult)> {
        let GoreplayRecord {
            number,
            header,
            payload,
            is_too_long,
        } = record;
        if is_too_long {
            return vec![(number, Ok(Err(SkipReason::TooLong)))];
        }
        let mut words = header.split(|&byte| byte == b' ');
        let (kind, id, at) = (words.next(), words.next(), words.next());
        let stamp = at.and_then(Stamp::parse);
        let (Some(kind), Some(id), Some(stamp)) = (kind, id, stamp) else {
            let why = "not the first line of a record, such as \"1 932079936fa4 1459427213…\"";
            return vec![(number, Err(fault(why)))];
        };
        match kind {
            b"1" => match request(&payload, stamp) {
                Ok(request) => self.wait(id.to_vec(), number, request),
                Err(why) => vec![(number, Err(fault(&why)))],
            },
            b"2" => self.answer(id, &payload).into_iter().collect(),
            // A replayed answer belongs to another server.
            _ => Vec::new(),
        }
    }

    /// Everything that still waits.
    pub(crate) fn finish(mut self) -> Vec<(u64, LineResult)> {
        let mut rest = Vec::new();
        while let Some(id) = self.order.pop_front() {
            rest.extend(self.take(&id));
        }
        rest
    }

    fn wait(
        &mut self,
        id: Vec<u8>,
        number: u64,
        request: RecordedRequest,
    ) -> Vec<(u64, LineResult)> {
        // A number that comes again is that of another request.
        let mut complete: Vec<_> = self.take(&id).into_iter().collect();
        self.bytes += body_bytes(&request);
        self.requests.insert(id.clone(), (number, request));
        self.order.push_back(id);
        while self.order.len() > WAITING_MAX || self.bytes > WAITING_MAX_BYTES {
            let Some(oldest) = self.order.pop_front() else {
                break;
            };
            complete.extend(self.take(&oldest));
        }
        complete
    }

    fn answer(&mut self, id: &[u8], payload: &[u8]) -> Option<(u64, LineResult)> {
        let (number, result) = self.take(id)?;
        let status = payload.split(|&byte| byte == b' ').nth(1);
        let status = status.and_then(|status| std::str::from_utf8(status).ok()?.parse().ok());
        let result =
            result.map(|request| request.map(|request| RecordedRequest { status, ..request }));
        Some((number, result))
    }

    fn take(&mut self, id: &[u8]) -> Option<(u64, LineResult)> {
        let (number, request) = self.requests.remove(id)?;
        self.bytes -= body_bytes(&request);
        Some((number, Ok(Ok(request))))
    }
}

fn body_bytes(request: &RecordedRequest) -> usize {
    match &request.body {
        RecordedBody::Whole(bytes) => bytes.len(),
        _ => 0,
    }
}

fn request(payload: &[u8], stamp: Stamp) -> Result<RecordedRequest, String> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Request::new(&mut headers);
    let length = match head.parse(payload) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Err("the request's head is cut short".to_owned()),
        Err(error) => return Err(format!("not a request of HTTP/1.1: {error}")),
    };
    let headers = head.headers.iter();
    let headers: Vec<_> = headers
        .map(|header| (header.name.to_ascii_lowercase(), header.value.to_vec()))
        .collect();
    Ok(RecordedRequest {
        stamp: Some(stamp),
        method: head.method.unwrap_or_default().to_owned(),
        target: head.path.unwrap_or_default().as_bytes().to_vec(),
        body: body(&headers, &payload[length..]),
        headers,
        ..RecordedRequest::default()
    })
}

/// The body by its framing (RFC 9112, section 6); lost if not all of it was captured.
fn body(headers: &[(String, Vec<u8>)], bytes: &[u8]) -> RecordedBody {
    let find = |name: &str| headers.iter().find(|(known, _)| known == name);
    let text = |name| find(name).and_then(|(_, value)| std::str::from_utf8(value).ok());
    if text("transfer-encoding")
        .is_some_and(|coding| coding.to_ascii_lowercase().contains("chunked"))
    {
        return join_chunks(bytes).map_or(RecordedBody::Lost, RecordedBody::Whole);
    }
    match text("content-length").and_then(|length| length.trim().parse::<usize>().ok()) {
        None | Some(0) => RecordedBody::Absent,
        Some(length) => bytes.get(..length).map_or(RecordedBody::Lost, |body| {
            RecordedBody::Whole(body.to_vec())
        }),
    }
}

/// The content of chunks (RFC 9112, section 7.1); `None` if the last one is missing.
fn join_chunks(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let httparse::Status::Complete((head, size)) = httparse::parse_chunk_size(bytes).ok()?
        else {
            return None;
        };
        let size = usize::try_from(size).ok()?;
        if size == 0 {
            return Some(whole);
        }
        let end = head.checked_add(size)?;
        whole.extend_from_slice(bytes.get(head..end)?);
        bytes = bytes.get(end..)?.strip_prefix(b"\r\n")?;
    }
}

fn fault(why: &str) -> LineError {
    LineError {
        column: 1,
        why: why.to_owned(),
    }
}
