//! Requests as header blocks, built before the run; only templates are filled in during it.

use super::hpack::{self, indexed, name};
use crate::body::{BodyUpload, RequestBody};
use crate::fill::{Fill, literal};
use crate::replayed_request::ReplayedRequest;
use crate::request::body_of;
use crate::request_rules::authority;
use crate::template::ValueSources;
use crate::values::{self, Values};
use plan::{Plan, Scheme};
use std::sync::Arc;

const CONTENT_LENGTH: &str = "content-length";

/// The blocks and bodies of a plan's requests.
#[derive(Debug)]
pub(crate) struct HeaderBlocks(Vec<PrebuiltBlock>);

#[derive(Debug)]
struct PrebuiltBlock {
    block: Vec<Part>,
    body: Option<Arc<RequestBody>>,
    /// What a log has of the request, if the plan replays one. It says by itself whether there is a
    /// body.
    replayed: Option<Arc<ReplayedRequest>>,
    /// A timestamp is part of the request.
    has_time: bool,
}

/// A part of a header block.
#[derive(Debug)]
enum Part {
    Bytes(Vec<u8>),
    /// A string, preceded by its length.
    Text(Vec<Fill>),
    /// The body's length as a string.
    BodyLength,
    /// Path, authority and fields that a log has.
    Replayed(Arc<ReplayedRequest>),
    /// The field with the body's length, if there is a body.
    OptionalLength,
}

impl HeaderBlocks {
    pub(crate) fn new(plan: &Plan) -> HeaderBlocks {
        let sources = ValueSources::new(plan);
        HeaderBlocks(
            plan.requests()
                .iter()
                .map(|request| PrebuiltBlock::new(plan, request, &sources))
                .collect(),
        )
    }

    /// Appends the request's block to `block`. Returns its body, if it has one.
    pub(crate) fn write(
        &self,
        index: u16,
        values: &Values,
        block: &mut Vec<u8>,
    ) -> Option<BodyUpload> {
        let request = &self.0[usize::from(index)];
        let values = &values.at_once(request.has_time);
        let body = match &request.replayed {
            Some(replayed) => replayed.body(values),
            None => request.body.as_ref(),
        };
        let upload = body.map(|body| BodyUpload::new(Arc::clone(body), values));
        let length = upload.as_ref().map(BodyUpload::left);
        request
            .block
            .iter()
            .for_each(|part| part.put(values, length, block));
        upload
    }
}

impl PrebuiltBlock {
    fn new(plan: &Plan, request: &plan::Request, sources: &ValueSources) -> PrebuiltBlock {
        let mut block = Block::default();
        block.method(&request.method);
        block.bytes(&[if plan.target().url.scheme == Scheme::Https {
            indexed::SCHEME_HTTPS
        } else {
            indexed::SCHEME_HTTP
        }]);
        // Pseudo-fields come before all others (RFC 9113 §8.3).
        let replayed = ReplayedRequest::new(plan, request, sources);
        match &replayed {
            Some(replayed) => block.0.push(Part::Replayed(Arc::clone(replayed))),
            None => block.target(plan, request, sources),
        }
        // Names are lower case (RFC 9113 §8.2.1); `host` has become `:authority`.
        for (name, given) in request
            .fields()
            .filter(|(name, _)| !name.eq_ignore_ascii_case("host"))
        {
            let mut value = Vec::new();
            sources.template(given, &mut value);
            block.field(&name.to_ascii_lowercase(), value);
        }
        let body = body_of(request, sources).map(Arc::new);
        if replayed.is_some() {
            block.0.push(Part::OptionalLength);
        } else if body.is_some() {
            block.put_name(CONTENT_LENGTH);
            block.0.push(Part::BodyLength);
        }
        PrebuiltBlock {
            block: block.0,
            body,
            replayed,
            has_time: request.has_time(),
        }
    }
}

/// A header block under construction.
#[derive(Default)]
struct Block(Vec<Part>);

impl Block {
    fn bytes(&mut self, bytes: &[u8]) {
        match self.0.last_mut() {
            Some(Part::Bytes(before)) => before.extend_from_slice(bytes),
            _ => self.0.push(Part::Bytes(bytes.to_vec())),
        }
    }

    /// Path and authority, as the plan has them.
    fn target(&mut self, plan: &Plan, request: &plan::Request, sources: &ValueSources) {
        let mut path = Vec::new();
        match &request.path {
            Some(given) => sources.template(given, &mut path),
            None => literal(&mut path, plan.target().url.path.as_bytes()),
        }
        self.path(path);
        let mut headers = request.headers.iter();
        let host = headers.find(|(name, _)| name.eq_ignore_ascii_case("host"));
        let mut value = Vec::new();
        match host {
            Some((_, given)) => sources.template(given.reveal(), &mut value),
            None => literal(&mut value, authority(plan).as_bytes()),
        }
        self.index(name::AUTHORITY, value);
    }

    fn method(&mut self, method: &str) {
        match method {
            "GET" => self.bytes(&[indexed::METHOD_GET]),
            "POST" => self.bytes(&[indexed::METHOD_POST]),
            other => self.index(name::METHOD, vec![Fill::Bytes(other.as_bytes().to_vec())]),
        }
    }

    fn path(&mut self, path: Vec<Fill>) {
        match path.as_slice() {
            [Fill::Bytes(bytes)] if bytes == b"/" => self.bytes(&[indexed::PATH_ROOT]),
            _ => self.index(name::PATH, path),
        }
    }

    /// A field whose name is known by its index.
    fn index(&mut self, index: u8, value: Vec<Fill>) {
        let mut name = Vec::new();
        hpack::put_name_index(&mut name, index);
        self.bytes(&name);
        self.text(value);
    }

    fn field(&mut self, name: &str, value: Vec<Fill>) {
        self.put_name(name);
        self.text(value);
    }

    fn put_name(&mut self, name: &str) {
        let mut bytes = Vec::new();
        hpack::put_name(&mut bytes, name);
        self.bytes(&bytes);
    }

    fn text(&mut self, value: Vec<Fill>) {
        match value.as_slice() {
            [] => self.bytes(&[0]),
            [Fill::Bytes(fixed)] => {
                let mut bytes = Vec::new();
                hpack::put_length(&mut bytes, fixed.len());
                bytes.extend_from_slice(fixed);
                self.bytes(&bytes);
            }
            _ => self.0.push(Part::Text(value)),
        }
    }
}

impl Part {
    /// `body_length` is `None` without a body.
    fn put(&self, values: &Values, body_length: Option<usize>, block: &mut Vec<u8>) {
        match self {
            Part::Bytes(bytes) => block.extend_from_slice(bytes),
            Part::Text(pieces) => {
                hpack::put_length(block, pieces.iter().map(|piece| piece.length(values)).sum());
                pieces.iter().for_each(|piece| piece.fill(values, block));
            }
            Part::BodyLength => put_number(body_length.unwrap_or(0), block),
            Part::Replayed(request) => put_recorded(request, values, block),
            Part::OptionalLength => {
                if let Some(length) = body_length {
                    hpack::put_name(block, CONTENT_LENGTH);
                    put_number(length, block);
                }
            }
        }
    }
}

/// Appends a number as a string.
fn put_number(number: usize, block: &mut Vec<u8>) {
    use std::io::Write as _;
    hpack::put_length(block, values::digits(number as u64));
    // Writing to a Vec cannot fail.
    let _ = write!(block, "{number}");
}

/// Appends the path, authority and header fields of a recorded request.
fn put_recorded(request: &ReplayedRequest, values: &Values, block: &mut Vec<u8>) {
    hpack::put_name_index(block, name::PATH);
    put_string(block, |text| request.put_path(values, text));
    hpack::put_name_index(block, name::AUTHORITY);
    put_string(block, |text| request.put_host(values, text));
    for (name, value) in request.fields(values) {
        // A name is a token, which is ASCII.
        hpack::put_name(block, std::str::from_utf8(name).unwrap_or_default());
        put_string(block, |text| text.extend_from_slice(value));
    }
}

/// Appends a string whose length is known once it is there.
fn put_string(block: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    let begin = block.len();
    put(block);
    let end = block.len();
    hpack::put_length(block, end - begin);
    block[begin..].rotate_left(end - begin);
}
