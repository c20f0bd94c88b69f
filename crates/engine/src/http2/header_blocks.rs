//! Requests as header blocks, built before the run; only templates are filled in during it.

use super::hpack::{self, indexed, name};
use crate::body::{BodyUpload, RequestBody};
use crate::cookie_source::CookieSource;
use crate::fill::{Fill, literal};
use crate::hops::{Hop, HopForm};
use crate::replayed_request::ReplayedRequest;
use crate::request_bytes::{PlannedRequest, body_of, cookies_to_send, put_target};
use crate::request_rules::{at_destinations, authority};
use crate::template::ValueSources;
use crate::values::{self, Values};
use plan::{Plan, Scheme, WebSocket};
use std::sync::Arc;

const CONTENT_LENGTH: &str = "content-length";

/// The blocks and bodies of a plan's requests.
#[derive(Debug)]
pub(crate) struct HeaderBlocks(Vec<RequestBlocks>);

/// The blocks of a request.
#[derive(Debug)]
struct RequestBlocks {
    planned: PrebuiltBlock,
    /// What is sent after a redirect, if any are followed, by place among the target's
    /// destinations.
    hops: Vec<HopBlocks>,
}

/// Blocks whose path is known only when they are sent.
#[derive(Debug)]
struct HopBlocks {
    planned: PrebuiltBlock,
    get: PrebuiltBlock,
}

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

/// Where the path of a block comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockPath {
    Planned,
    /// A redirect leads there, which is known when the block is written.
    OfHop,
}

/// A part of a header block.
#[derive(Debug)]
enum Part {
    Bytes(Vec<u8>),
    /// A string, preceded by its length.
    Text(Vec<Fill>),
    /// A string whose length is known once it is written.
    UnsteadyText(Vec<Fill>),
    /// The body's length as a string.
    BodyLength,
    /// Path, authority and fields that a log has.
    Replayed(Arc<ReplayedRequest>),
    /// The field with the body's length, if there is a body.
    OptionalLength,
    /// The field with which a body waits for leave, if that has content (RFC 9110 §10.1.1).
    OptionalExpect,
    /// The field with the cookies of the operation's journey, if it has any.
    OptionalCookies(Arc<CookieSource>),
    /// The path that a redirect leads to, as a string.
    HopTarget,
}

impl HeaderBlocks {
    /// The blocks of `plan`, whose placeholders take their texts from `sources`.
    pub(crate) fn new(plan: &Plan, sources: &ValueSources) -> HeaderBlocks {
        HeaderBlocks(
            plan.requests()
                .iter()
                .map(|request| RequestBlocks::new((plan, request, sources)))
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
        self.0[usize::from(index)].planned.write(values, &[], block)
    }

    /// Appends the block of a request that was redirected to `hop`. Returns its body, if it has
    /// one.
    pub(crate) fn write_hop(
        &self,
        index: u16,
        hop: &Hop,
        values: &Values,
        block: &mut Vec<u8>,
    ) -> Option<BodyUpload> {
        let hops = self.0[usize::from(index)]
            .hops
            .get(usize::from(hop.origin))?;
        let prebuilt = match hop.form {
            HopForm::Planned => &hops.planned,
            HopForm::Get => &hops.get,
        };
        prebuilt.write(values, &hop.target, block)
    }
}

impl RequestBlocks {
    fn new(of: PlannedRequest<'_>) -> RequestBlocks {
        let (plan, request, sources) = of;
        let redirected = (request.redirects > 0).then(|| at_destinations(plan, request));
        let hops = redirected.into_iter().flatten().map(|(url, request)| {
            let get = request.without_content();
            let of = |request| (plan, request, sources);
            HopBlocks {
                planned: PrebuiltBlock::new(of(&request), url.scheme, BlockPath::OfHop),
                get: PrebuiltBlock::new(of(&get), url.scheme, BlockPath::OfHop),
            }
        });
        let scheme = plan.target().url.scheme;
        RequestBlocks {
            planned: PrebuiltBlock::new(of, scheme, BlockPath::Planned),
            hops: hops.collect(),
        }
    }
}

impl PrebuiltBlock {
    fn new(of: PlannedRequest<'_>, scheme: Scheme, path: BlockPath) -> PrebuiltBlock {
        let (plan, request, sources) = of;
        let mut block = Block::default();
        match &request.websocket {
            None => block.method(&request.method),
            Some(_) => block.connect(),
        }
        block.bytes(&[if scheme == Scheme::Https {
            indexed::SCHEME_HTTPS
        } else {
            indexed::SCHEME_HTTP
        }]);
        // Pseudo-fields come before all others (RFC 9113 §8.3).
        let replayed = ReplayedRequest::new(plan, request, sources);
        match &replayed {
            Some(replayed) => block.0.push(Part::Replayed(Arc::clone(replayed))),
            None => block.target(of, path),
        }
        // Names are lower case (RFC 9113 §8.2.1); `host` has become `:authority`.
        let signature = plan.signature(request);
        let signature = signature.iter().map(|(name, value)| (*name, value));
        let fields = request.fields();
        let fields = fields.filter(|(name, _)| !name.eq_ignore_ascii_case("host"));
        for (name, given) in fields.chain(signature) {
            let mut value = Vec::new();
            sources.template(given, &mut value);
            block.field(&name.to_ascii_lowercase(), value);
        }
        block
            .0
            .extend(cookies_to_send(of).map(Part::OptionalCookies));
        if let Some(socket) = &request.websocket {
            block.open(socket);
        }
        let body = body_of(request, sources).map(Arc::new);
        if replayed.is_some() {
            block.0.push(Part::OptionalLength);
        } else if let Some(body) = &body {
            if request.transfer.continue_within.is_some() {
                block.0.push(Part::OptionalExpect);
            }
            if !body.is_chunked() {
                block.put_name(CONTENT_LENGTH);
                block.0.push(Part::BodyLength);
            }
        }
        PrebuiltBlock {
            block: block.0,
            body,
            replayed,
            has_time: request.has_time(),
        }
    }

    /// Appends the block to `block`, with `target` where a redirect leads. Returns the body, if
    /// there is one.
    #[inline]
    fn write(&self, values: &Values, target: &[u8], block: &mut Vec<u8>) -> Option<BodyUpload> {
        let values = &values.clone().at_once(self.has_time);
        let body = match &self.replayed {
            Some(replayed) => replayed.body(values),
            None => self.body.as_ref(),
        };
        let upload = body.map(|body| BodyUpload::new(Arc::clone(body), values));
        let length = upload.as_ref().map(BodyUpload::left);
        for part in &self.block {
            part.put(values, target, length, block);
        }
        upload
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

    /// Path and authority. The authority is the plan's.
    fn target(&mut self, of: PlannedRequest<'_>, path: BlockPath) {
        match path {
            BlockPath::Planned => {
                let mut planned = Vec::new();
                put_target(of, &mut planned);
                self.path(planned);
            }
            BlockPath::OfHop => {
                let mut name = Vec::new();
                hpack::put_name_index(&mut name, name::PATH);
                self.bytes(&name);
                self.0.push(Part::HopTarget);
            }
        }
        let (plan, request, sources) = of;
        let mut value = Vec::new();
        match request.host() {
            Some(given) => sources.template(given, &mut value),
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

    /// The method of a request that opens a socket, and what it opens (RFC 8441 §4).
    fn connect(&mut self) {
        self.method("CONNECT");
        self.field(":protocol", vec![Fill::Bytes(b"websocket".to_vec())]);
    }

    /// The fields of an opening handshake (RFC 8441 §5), which has no key.
    fn open(&mut self, socket: &WebSocket) {
        self.field("sec-websocket-version", vec![Fill::Bytes(b"13".to_vec())]);
        if !socket.protocols.is_empty() {
            let offered = socket.protocols.join(", ").into_bytes();
            self.field("sec-websocket-protocol", vec![Fill::Bytes(offered)]);
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
            unsteady if unsteady.iter().any(Fill::is_unsteady) => {
                self.0.push(Part::UnsteadyText(value));
            }
            _ => self.0.push(Part::Text(value)),
        }
    }
}

impl Part {
    /// `hop_target` is where a redirect leads, `body_length` is `None` without a body.
    fn put(
        &self,
        values: &Values,
        hop_target: &[u8],
        body_length: Option<usize>,
        block: &mut Vec<u8>,
    ) {
        match self {
            Part::Bytes(bytes) => block.extend_from_slice(bytes),
            Part::HopTarget => {
                hpack::put_length(block, hop_target.len());
                block.extend_from_slice(hop_target);
            }
            Part::Text(pieces) => {
                hpack::put_length(block, pieces.iter().map(|piece| piece.length(values)).sum());
                pieces.iter().for_each(|piece| piece.fill(values, block));
            }
            Part::UnsteadyText(pieces) => put_string(block, |text| {
                pieces.iter().for_each(|piece| piece.fill(values, text));
            }),
            Part::BodyLength => put_number(body_length.unwrap_or(0), block),
            Part::Replayed(request) => put_recorded(request, values, block),
            Part::OptionalExpect => {
                if body_length.unwrap_or(0) > 0 {
                    let mut field = Block::default();
                    field.field("expect", vec![Fill::Bytes(b"100-continue".to_vec())]);
                    field
                        .0
                        .iter()
                        .for_each(|part| part.put(values, &[], None, block));
                }
            }
            Part::OptionalCookies(source) => {
                let before = block.len();
                let mut is_any = false;
                hpack::put_name(block, "cookie");
                put_string(block, |text| is_any = source.put(values, text));
                if !is_any {
                    block.truncate(before);
                }
            }
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
