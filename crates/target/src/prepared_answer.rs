//! Answers as bytes, made once before the first request.

use crate::alarm::monotonic_ns;
use crate::{
    BindError, BodyFraming, ConnectionEnd, FaultPlace, TargetAnswer, TargetFault, Timetable,
};
use std::sync::{Mutex, PoisonError};

/// Bodies above this are sent as repetitions of one block: four TLS records, one system call.
const BLOCK_BYTES: u64 = 64 * 1024;

/// An answer as bytes.
pub(crate) struct PreparedAnswer {
    pub status: u16,
    pub payload_bytes: u64,
    /// Sent before the wait; empty where there is none, the interim heads then stand before the
    /// final one.
    pub early: Vec<u8>,
    /// When to answer; absent where it is always at once.
    timetable: Option<Mutex<Timetable>>,
    /// Whether this answer ends its connection.
    pub last: bool,
    pub sound_first: u32,
    pub fault: Option<PreparedFault>,
    kept: AnswerBytes,
    closing: AnswerBytes,
    kept_head: AnswerBytes,
    closing_head: AnswerBytes,
}

/// A fault as bytes.
pub(crate) struct PreparedFault {
    pub response: AnswerBytes,
    pub then: ConnectionEnd,
}

/// Bytes to write: `first`, then `block` as often as its count says, then `last`.
#[derive(Default)]
pub(crate) struct AnswerBytes {
    pub first: Vec<u8>,
    pub block: Vec<u8>,
    pub blocks: u64,
    pub last: Vec<u8>,
}

impl PreparedAnswer {
    /// `paced_from` of the monotonic clock, nanoseconds.
    pub fn new(
        answer: &TargetAnswer,
        paced_from: Option<u64>,
    ) -> Result<PreparedAnswer, BindError> {
        check_statuses(answer)?;
        let interim: Vec<u8> = answer
            .interim
            .iter()
            .flat_map(|&status| interim_head(status))
            .collect();
        // What is sent before the wait stands alone; without one it leaves in the same write.
        let (early, before) = if answer.waits() {
            (interim, Vec::new())
        } else {
            (Vec::new(), interim)
        };
        let head = |close| [before.clone(), head(answer, close)].concat();
        Ok(PreparedAnswer {
            status: answer.status,
            payload_bytes: if answer.has_body() {
                answer.body_bytes
            } else {
                0
            },
            early,
            timetable: timetable(answer, paced_from)?,
            last: answer.has_body() && answer.framing == BodyFraming::EofDelimited,
            sound_first: answer.sound_first,
            fault: answer
                .fault
                .as_ref()
                .map(|fault| PreparedFault::new(fault, answer, head(false))),
            kept: AnswerBytes::whole(answer, head(false)),
            closing: AnswerBytes::whole(answer, head(true)),
            kept_head: AnswerBytes::bytes(head(false)),
            closing_head: AnswerBytes::bytes(head(true)),
        })
    }

    /// When a request that is here now is to be answered; `None` where that is at once. Arrivals
    /// are ordered by the lock.
    pub fn answer_at(&self) -> Option<u64> {
        // A timetable is whole between any two arrivals.
        let timetable = self
            .timetable
            .as_ref()
            .map(|timetable| timetable.lock().unwrap_or_else(PoisonError::into_inner));
        timetable.map(|mut timetable| timetable.answer_at(monotonic_ns()))
    }

    /// The bytes for a request.
    pub fn response(&self, is_head: bool, close: bool) -> &AnswerBytes {
        match (is_head, close) {
            (false, false) => &self.kept,
            (false, true) => &self.closing,
            (true, false) => &self.kept_head,
            (true, true) => &self.closing_head,
        }
    }
}

impl PreparedFault {
    fn new(fault: &TargetFault, answer: &TargetAnswer, head: Vec<u8>) -> PreparedFault {
        match fault {
            TargetFault::Stop { at, then } => PreparedFault {
                response: AnswerBytes::stop(answer, head, *at),
                then: *then,
            },
            TargetFault::BadFraming(kind) => PreparedFault {
                response: AnswerBytes::bytes(kind.bytes()),
                then: ConnectionEnd::Hang,
            },
            TargetFault::Raw { bytes, then } => PreparedFault {
                response: AnswerBytes::bytes(bytes.clone()),
                then: *then,
            },
        }
    }
}

impl AnswerBytes {
    fn bytes(first: Vec<u8>) -> AnswerBytes {
        AnswerBytes {
            first,
            ..AnswerBytes::default()
        }
    }

    fn whole(answer: &TargetAnswer, head: Vec<u8>) -> AnswerBytes {
        match answer.framing {
            _ if !answer.has_body() => AnswerBytes::bytes(head),
            BodyFraming::Chunked => AnswerBytes::in_chunks(head, answer.body_bytes),
            BodyFraming::ContentLength | BodyFraming::EofDelimited => {
                AnswerBytes::plain(head, answer.body_bytes)
            }
        }
    }

    fn stop(answer: &TargetAnswer, mut head: Vec<u8>, at: FaultPlace) -> AnswerBytes {
        match at {
            FaultPlace::BeforeHead => AnswerBytes::default(),
            FaultPlace::InHead => {
                head.truncate(head.len() / 2);
                AnswerBytes::bytes(head)
            }
            FaultPlace::InBody => {
                if answer.framing == BodyFraming::Chunked {
                    head.extend_from_slice(format!("{:x}\r\n", answer.body_bytes).as_bytes());
                }
                AnswerBytes::plain(head, answer.body_bytes / 2)
            }
        }
    }

    fn plain(mut first: Vec<u8>, payload_bytes: u64) -> AnswerBytes {
        let blocks = payload_bytes / BLOCK_BYTES;
        let rest = payload_bytes % BLOCK_BYTES;
        first.extend(payload(rest));
        let block = if blocks > 0 {
            payload(BLOCK_BYTES).collect()
        } else {
            Vec::new()
        };
        AnswerBytes {
            first,
            block,
            blocks,
            last: Vec::new(),
        }
    }

    fn in_chunks(mut first: Vec<u8>, payload_bytes: u64) -> AnswerBytes {
        let blocks = payload_bytes / BLOCK_BYTES;
        let rest = payload_bytes % BLOCK_BYTES;
        if rest > 0 {
            first.extend(chunk(rest));
        }
        let mut last = b"0\r\n\r\n".to_vec();
        if blocks == 0 {
            first.append(&mut last);
        }
        let block = if blocks > 0 {
            chunk(BLOCK_BYTES)
        } else {
            Vec::new()
        };
        AnswerBytes {
            first,
            block,
            blocks,
            last,
        }
    }
}

fn timetable(
    answer: &TargetAnswer,
    paced_from: Option<u64>,
) -> Result<Option<Mutex<Timetable>>, BindError> {
    let mut timetable = Timetable::new(answer.pace, answer.delay)?;
    if let Some(from) = paced_from {
        timetable = timetable.with_stalls_from(from);
    }
    Ok(answer.waits().then(|| Mutex::new(timetable)))
}

fn check_statuses(answer: &TargetAnswer) -> Result<(), BindError> {
    let final_fits = (200..=999).contains(&answer.status);
    // 101 would hand the connection to another protocol.
    let unfit = answer
        .interim
        .iter()
        .find(|&&status| !(100..=199).contains(&status) || status == 101);
    match unfit {
        Some(&status) => Err(BindError::Status(status)),
        None if !final_fits => Err(BindError::Status(answer.status)),
        None => Ok(()),
    }
}

fn payload(bytes: u64) -> impl Iterator<Item = u8> {
    // Never above BLOCK_BYTES.
    std::iter::repeat_n(b'x', bytes as usize)
}

fn chunk(bytes: u64) -> Vec<u8> {
    format!("{bytes:x}\r\n")
        .into_bytes()
        .into_iter()
        .chain(payload(bytes))
        .chain(*b"\r\n")
        .collect()
}

fn head(answer: &TargetAnswer, close: bool) -> Vec<u8> {
    let framing = match answer.framing {
        _ if !answer.has_body() => String::new(),
        BodyFraming::ContentLength => format!("content-length: {}\r\n", answer.body_bytes),
        BodyFraming::Chunked => "transfer-encoding: chunked\r\n".to_owned(),
        BodyFraming::EofDelimited => String::new(),
    };
    let connection = if close { "connection: close\r\n" } else { "" };
    let status = answer.status;
    let reason = reason(status);
    format!(
        "HTTP/1.1 {status} {reason}\r\nserver: cannonade-target\r\ncontent-type: \
         text/plain\r\n{framing}{connection}\r\n"
    )
    .into_bytes()
}

fn interim_head(status: u16) -> Vec<u8> {
    let hints = if status == 103 {
        "link: </style.css>; rel=preload; as=style\r\n"
    } else {
        ""
    };
    format!("HTTP/1.1 {status} {}\r\n{hints}\r\n", reason(status)).into_bytes()
}

/// RFC 9110 §15; empty, which RFC 9112 §4 allows, for the rest.
fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        103 => "Early Hints",
        200 => "OK",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        400 => "Bad Request",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_of_any_size_add_up_to_what_was_asked() {
        for framing in [BodyFraming::ContentLength, BodyFraming::Chunked] {
            for body_bytes in [
                0,
                1,
                356,
                BLOCK_BYTES - 1,
                BLOCK_BYTES,
                BLOCK_BYTES + 1,
                1_900_000,
            ] {
                let answer = TargetAnswer {
                    body_bytes,
                    framing,
                    ..TargetAnswer::default()
                };
                let response = AnswerBytes::whole(&answer, Vec::new());
                let payload =
                    |bytes: &[u8]| bytes.iter().filter(|&&byte| byte == b'x').count() as u64;
                let sum = payload(&response.first)
                    + response.blocks * payload(&response.block)
                    + payload(&response.last);
                assert_eq!(sum, body_bytes, "{framing:?}");
            }
        }
    }

    #[test]
    fn small_answers_are_one_write() {
        let prepared = PreparedAnswer::new(
            &TargetAnswer {
                framing: BodyFraming::Chunked,
                interim: vec![100],
                ..TargetAnswer::default()
            },
            None,
        )
        .unwrap();
        let response = prepared.response(false, false);
        assert!(
            response
                .first
                .starts_with(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
        );
        assert!(response.first.ends_with(b"x\r\n0\r\n\r\n"));
        assert_eq!(
            (response.blocks, response.last.len(), prepared.early.len()),
            (0, 0, 0)
        );
    }

    #[test]
    fn statuses_that_cannot_be_sent_are_refused() {
        for (status, interim) in [
            (100, vec![]),
            (1000, vec![]),
            (200, vec![200]),
            (200, vec![101]),
        ] {
            assert!(
                PreparedAnswer::new(
                    &TargetAnswer {
                        status,
                        interim,
                        ..TargetAnswer::default()
                    },
                    None
                )
                .is_err()
            );
        }
    }
}
