//! Reads how a request's body is sent.

use crate::read::body;
use crate::read::section::PlanSection;
use crate::{BodyTransfer, Template};
use secret::Secret;
use std::time::Duration;

/// The keys that say how a body is sent.
pub(crate) const KEYS: [&str; 2] = ["chunk_bytes", "expect_continue"];
const MAX_CHUNK_BYTES: u32 = 64 << 20;
const MAX_WAIT: Duration = Duration::from_secs(60 * 60);

/// Reads how the body is sent, if the request `has_body`.
pub(crate) fn read(
    section: &PlanSection<'_>,
    headers: &[(String, Secret<Template>)],
    has_body: bool,
) -> BodyTransfer {
    if !has_body {
        // A body that is wrong was reported.
        if !body::KINDS.iter().any(|body| section.has(body)) {
            section.refuse(
                &KEYS,
                "says how a body is sent, and the request has none; write a body, or remove it",
            );
        }
    }
    let chunk_bytes = section.read("chunk_bytes", |field| field.whole32(1..=MAX_CHUNK_BYTES));
    let continue_within = section.read("expect_continue", |field| {
        let shortest = Duration::from_millis(1);
        let wait = field.duration(shortest..=MAX_WAIT)?;
        let is_expect = |(name, _): &&(String, _)| name.eq_ignore_ascii_case("expect");
        if headers.iter().any(|header| is_expect(&header)) {
            field.problem("sends the field expect itself; remove it from headers");
        }
        Some(wait)
    });
    BodyTransfer {
        chunk_bytes,
        continue_within,
    }
}
