//! The first requests of a plan, made by what sends them, to be looked at.

use crate::journey_memory::JourneyMemory;
use crate::journeys::Journeys;
use crate::random::Random;
use crate::request::Http1Requests;
use crate::request_bytes::end_head;
use crate::request_tallies::RequestTallies;
use crate::script::Script;
use crate::template::ValueSources;
use crate::values::{JourneyView, Values};
use plan::{Close, End, Owner, Plan, RequestsPerConnection, Seats};
use std::sync::Arc;

/// What separates the head of a request from its body.
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// A request as HTTP/1.1 would carry it, with `***` in place of secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleRequest {
    /// The request's name in the plan.
    pub name: String,
    /// Up to the empty line, and with it.
    pub head: Vec<u8>,
    /// The beginning of the body.
    pub body: Vec<u8>,
    /// Bytes of the request as it is sent.
    pub bytes: usize,
    /// Bytes of its body as it is sent.
    pub body_bytes: usize,
}

/// A request as bytes, of which the last ones of a large body are missing.
struct Written {
    bytes: Vec<u8>,
    head: usize,
    left: usize,
}

/// The plan's first operations, at most `most`, as they would be sent now: by the first virtual
/// users, each on a new connection; or those of its first journey, with captured texts by name.
/// `{random}` is that of the first worker.
#[must_use]
pub fn sample_requests(plan: &Plan, most: u64) -> Vec<SampleRequest> {
    if plan.connection().requests == RequestsPerConnection::HandshakeOnly {
        return Vec::new();
    }
    // What is shown takes its rows as what is sent does: a request whose only column is hidden
    // takes one too.
    let sources = ValueSources::new(plan, &RequestTallies::default());
    let sent = Http1Requests::new(plan, &sources);
    let shown = Http1Requests::new(&plan.with_secrets_hidden(), &sources);
    let script = Script::new(plan);
    let users = u64::from(Seats::new(plan.load(), Owner::ALONE).number()).max(1);
    let mut random = Random::new(plan.load().seed, 0);
    let number = match plan.load().end {
        End::Requests(requests) => most.min(requests),
        End::Duration(_) => most,
    };
    let is_only_one = matches!(
        plan.connection().requests,
        RequestsPerConnection::Limited(requests) if requests.get() == 1
    );
    let closes = is_only_one && plan.connection().close == Close::Server;
    let sample = |(index, values): (u16, Values)| {
        let write = |requests: &Http1Requests| Written::new(requests, index, closes, &values);
        let name = plan.requests()[usize::from(index)].name.clone();
        write(&sent).show(write(&shown), name)
    };
    if let Some(journeys) = Journeys::new(plan) {
        let memory = Arc::new(JourneyMemory::of_names(&plan.capture_names()));
        let steps = journeys.first_steps(most as usize, &memory);
        let of_step = |(index, random)| {
            let values = Values {
                random,
                journey: Some(JourneyView {
                    memory: Arc::clone(&memory),
                    hop_target: None,
                }),
                ..Values::default()
            };
            sample((index, values))
        };
        return steps.into_iter().map(of_step).collect();
    }
    let of_operation = |seq| {
        let (index, random) = (script.first(seq), random.bits());
        let values = Values {
            user: seq % users,
            seq,
            random,
            ..Values::default()
        };
        sample((index, values))
    };
    (0..number).map(of_operation).collect()
}

impl Written {
    fn new(requests: &Http1Requests, index: u16, closes: bool, values: &Values) -> Written {
        let mut bytes = Vec::new();
        let mut upload = requests
            .request(index)
            .write(closes, || values.clone(), &mut bytes);
        let mut ends = bytes.windows(END_OF_HEAD.len());
        let head = ends.position(|bytes| bytes == END_OF_HEAD).unwrap_or(0) + END_OF_HEAD.len();
        // A body that waits for leave is shown as one that has it.
        if let Some(upload) = upload.as_mut().filter(|_| bytes.len() == head) {
            upload.put_window(&mut bytes);
        }
        Written {
            bytes,
            head,
            left: upload.map_or(0, |upload| upload.left()),
        }
    }

    /// This request, with the text of `shown`.
    fn show(self, shown: Written, name: String) -> SampleRequest {
        let bytes = self.bytes.len() + self.left;
        let body_bytes = bytes - self.head;
        let (head, body) = shown.bytes.split_at(shown.head);
        let mut head = head.to_vec();
        // The length of what is sent.
        let mut length = Vec::new();
        end_head(shown.body_bytes(), &mut length);
        if let Some(before) = head.strip_suffix(length.as_slice()) {
            head.truncate(before.len());
            end_head(body_bytes, &mut head);
        }
        SampleRequest {
            name,
            head,
            body: body.to_vec(),
            bytes,
            body_bytes,
        }
    }

    fn body_bytes(&self) -> usize {
        self.bytes.len() + self.left - self.head
    }
}
