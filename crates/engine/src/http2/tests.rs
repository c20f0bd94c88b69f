//! One connection, fed what servers may send and what none should.

use super::connection::MAX_WAITING;
use super::dynamic_table::DynamicTable;
use super::frame::{self, FrameHead, code, flag, kind, setting};
use super::*;
use crate::body::{BodyUpload, RequestBody};
use crate::fill::Fill;
use crate::lane_event::LaneEvent;
use crate::response::ReceivedResponse;
use crate::values::Values;
use measure::{HttpViolation, Kind};
use std::sync::Arc;

mod sockets;
mod violations;

/// A frame as bytes.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::put(&mut out, kind, flags, stream, payload);
    out
}

fn settings(entries: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> = entries
        .iter()
        .flat_map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat())
        .collect();
    frame(kind::SETTINGS, 0, 0, &payload)
}

fn go_away(last: u32, code: u32) -> Vec<u8> {
    frame(
        kind::GOAWAY,
        0,
        0,
        &[last.to_be_bytes(), code.to_be_bytes()].concat(),
    )
}

/// A connection whose peer has sent its settings, with nothing waiting to be sent.
fn settled(lanes: u32, entries: &[(u16, u32)]) -> Http2Connection {
    let mut session = Http2Connection::new(lanes);
    session.feed(&settings(entries)).expect("legal settings");
    session.out.clear();
    session.events.clear();
    session
}

fn body(bytes: &[u8]) -> Option<BodyUpload> {
    Some(BodyUpload::new(
        Arc::new(RequestBody::new(vec![Fill::Shared(bytes.into())])),
        &Values::default(),
    ))
}

fn get(session: &mut Http2Connection, lane: u32) {
    session.open(lane, b"\x82\x87\x84", None, false);
}

fn malformed(lane: u32, rule: HttpViolation) -> LaneEvent {
    let kind = Kind::Violation(rule);
    LaneEvent::Failed { lane, kind }
}

fn violation(rule: HttpViolation) -> Result<(), Violation> {
    Err(Violation(Kind::Violation(rule)))
}

fn heads(mut bytes: &[u8]) -> Vec<(u8, u8, u32, usize)> {
    let mut found = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<9>() {
        let head = FrameHead::parse(*head);
        found.push((head.kind, head.flags, head.stream, head.length));
        bytes = &rest[head.length..];
    }
    found
}

#[test]
fn preface_is_what_a_client_says_first() {
    let session = Http2Connection::new(1);
    let (preface, frames) = session.out.split_at(frame::PREFACE.len());
    assert_eq!(preface, frame::PREFACE);
    assert_eq!(
        heads(frames),
        [(kind::SETTINGS, 0, 0, 12), (kind::WINDOW_UPDATE, 0, 0, 4)]
    );
}

#[test]
fn smaller_table_of_the_peer_is_answered_with_a_size_update_once() {
    for (size, is_told) in [
        (0, true),
        (1024, true),
        (4095, true),
        (4096, false),
        (65_536, false),
    ] {
        let mut session = Http2Connection::new(3);
        get(&mut session, 0);
        session.out.clear();
        session
            .feed(&settings(&[(setting::HEADER_TABLE_SIZE, size)]))
            .expect("legal settings");
        session.out.clear();
        get(&mut session, 1);
        let (first, told) = (std::mem::take(&mut session.out), usize::from(is_told));
        assert_eq!(
            heads(&first),
            [(
                kind::HEADERS,
                flag::END_HEADERS | flag::END_STREAM,
                3,
                3 + told
            )],
            "{size}"
        );
        assert_eq!(first[frame::HEAD..][..told], [0x20][..told], "{size}");
        get(&mut session, 2);
        assert_eq!(
            session.out[frame::HEAD..],
            *b"\x82\x87\x84",
            "{size}: once is enough"
        );
    }
}

#[test]
fn dynamic_table_of_the_peer_is_followed() {
    let mut session = settled(3, &[]);
    (0..3).for_each(|lane| get(&mut session, lane));
    let flags = flag::END_HEADERS | flag::END_STREAM;
    // ":status: 404" and "content-length: 0" are stored, then used by their index.
    session
        .feed(&frame(kind::HEADERS, flags, 1, b"\x48\x03404\x5c\x010"))
        .expect("legal");
    session
        .feed(&frame(kind::HEADERS, flags, 3, b"\xbf\xbe"))
        .expect("legal");
    assert_eq!(session.answer(1).status, Some(404));
    session.cancel(2);
    session
        .feed(&frame(kind::HEADERS, flags, 5, b"\x88\x40\x01a\x01b"))
        .expect("of a stream that is over");
    get(&mut session, 0);
    session
        .feed(&frame(kind::HEADERS, flags, 7, b"\xc0\xbe"))
        .expect("what went before moves on");
    assert_eq!(session.answer(0).status, Some(404));
}

#[test]
fn responses_are_read_in_pieces_of_any_size() {
    let stream: Vec<u8> = [
        frame(kind::HEADERS, flag::END_HEADERS, 1, b"\x08\x03103"),
        frame(kind::HEADERS, flag::END_HEADERS, 3, b"\x88\x5c\x015"),
        frame(kind::DATA, 0, 3, b"he"),
        frame(kind::HEADERS, 0, 1, b"\x8d"),
        frame(kind::CONTINUATION, flag::END_HEADERS, 1, b"\x00\x01a\x01b"),
        frame(
            kind::DATA,
            flag::PADDED | flag::END_STREAM,
            3,
            b"\x02llo\0\0",
        ),
        frame(42, 0xff, 7, b"nobody knows this"),
        frame(kind::DATA, 0, 1, b"x"),
        frame(
            kind::HEADERS,
            flag::END_HEADERS | flag::END_STREAM,
            1,
            b"\x00\x01t\x01u",
        ),
    ]
    .concat();
    for step in [1, 2, 3, 7, 10, stream.len()] {
        let mut session = settled(2, &[]);
        get(&mut session, 0);
        get(&mut session, 1);
        stream
            .chunks(step)
            .for_each(|piece| session.feed(piece).expect("a legal stream"));
        let happened = [
            LaneEvent::FirstByte { lane: 0 },
            LaneEvent::FirstByte { lane: 1 },
            LaneEvent::Answered { lane: 1 },
            LaneEvent::Answered { lane: 0 },
        ];
        assert_eq!(session.events, happened, "by {step}");
        assert_eq!(
            session.answer(0),
            ReceivedResponse {
                status: Some(404),
                body_bytes: 1
            },
            "by {step}"
        );
        assert_eq!(
            session.answer(1),
            ReceivedResponse {
                status: Some(200),
                body_bytes: 5
            },
            "by {step}"
        );
        assert_eq!(session.active(), 0);
    }
}

#[test]
fn streams_wait_for_the_settings_and_end_with_what_those_allow() {
    let mut session = Http2Connection::new(4);
    assert!(
        session.accepts(),
        "the first request goes out with the preface"
    );
    get(&mut session, 3);
    assert!(!session.accepts());
    session
        .feed(&settings(&[(setting::MAX_CONCURRENT_STREAMS, 2)]))
        .expect("legal settings");
    let limited = |lanes, is_first| LaneEvent::Limited { lanes, is_first };
    assert_eq!(session.events, [limited(2, true), LaneEvent::Ready]);
    assert!(session.accepts(), "one of two is under way");
    get(&mut session, 0);
    assert!(!session.accepts());
    session
        .feed(&settings(&[(setting::MAX_CONCURRENT_STREAMS, 1)]))
        .expect("legal settings");
    session
        .feed(&settings(&[(setting::MAX_CONCURRENT_STREAMS, 3)]))
        .expect("legal settings");
    // Raising the limit above a former one is not reported as a limit.
    assert_eq!(session.events[2..], [limited(1, false), LaneEvent::Ready]);
    assert!(session.accepts());
}

#[test]
fn length_that_does_not_hold_spoils_the_stream_and_not_the_connection() {
    let mut session = settled(1, &[]);
    get(&mut session, 0);
    session
        .feed(&frame(
            kind::HEADERS,
            flag::END_HEADERS,
            1,
            b"\x88\x5c\x015",
        ))
        .expect("legal");
    session
        .feed(&frame(kind::DATA, flag::END_STREAM, 1, b"four"))
        .expect("legal");
    assert_eq!(
        session.events[1..],
        [malformed(0, HttpViolation::ContentLength)]
    );
    assert!(session.accepts());
    session.open(0, b"\x83", None, true);
    session
        .feed(&frame(
            kind::HEADERS,
            flag::END_HEADERS | flag::END_STREAM,
            3,
            b"\x88\x5c\x015",
        ))
        .expect("legal");
    assert_eq!(
        session.events[3..],
        [LaneEvent::Answered { lane: 0 }],
        "a HEAD has no body"
    );
}

#[test]
fn streams_beyond_the_last_of_a_go_away_were_not_processed() {
    let mut session = settled(3, &[]);
    (0..3).for_each(|lane| get(&mut session, lane));
    session.feed(&go_away(3, 0)).expect("legal");
    let kind = Kind::GoAway(0);
    let unprocessed = LaneEvent::Refused { lane: 2, kind };
    assert_eq!(session.events, [LaneEvent::GoingAway, unprocessed]);
    assert!(!session.accepts() && session.draining);
    assert_eq!(session.active(), 2);
}

#[test]
fn bodies_keep_to_the_windows() {
    let mut session = settled(2, &[(setting::INITIAL_WINDOW_SIZE, 10)]);
    session.open(0, b"\x83", body(b"0123456789abcde"), false);
    assert_eq!(
        heads(&session.out),
        [
            (kind::HEADERS, flag::END_HEADERS, 1, 1),
            (kind::DATA, 0, 1, 10)
        ]
    );
    session.out.clear();
    session
        .feed(&settings(&[(setting::INITIAL_WINDOW_SIZE, 12)]))
        .expect("legal");
    assert_eq!(
        heads(&session.out),
        [(kind::SETTINGS, flag::ACK, 0, 0), (kind::DATA, 0, 1, 2)]
    );
    session.out.clear();
    session
        .feed(&frame(kind::WINDOW_UPDATE, 0, 1, &100_u32.to_be_bytes()))
        .expect("legal");
    assert_eq!(heads(&session.out), [(kind::DATA, flag::END_STREAM, 1, 3)]);
    session.out.clear();
    session.open(1, b"\x83", body(&[0; 70_000]), false);
    session
        .feed(&frame(
            kind::WINDOW_UPDATE,
            0,
            3,
            &1_000_000_u32.to_be_bytes(),
        ))
        .expect("legal");
    let sent: usize = heads(&session.out)
        .iter()
        .filter(|(kind, ..)| *kind == kind::DATA)
        .map(|(.., length)| length)
        .sum();
    assert_eq!(sent, 65_535 - 15, "the connection has a window of its own");
}

#[test]
fn early_answer_stops_the_body() {
    let mut session = settled(1, &[(setting::INITIAL_WINDOW_SIZE, 1)]);
    session.open(0, b"\x83", body(b"body"), false);
    session.out.clear();
    session
        .feed(&frame(
            kind::HEADERS,
            flag::END_HEADERS | flag::END_STREAM,
            1,
            b"\x88",
        ))
        .expect("legal");
    assert_eq!(session.events[1..], [LaneEvent::Answered { lane: 0 }]);
    assert_eq!(heads(&session.out), [(kind::RST_STREAM, 0, 1, 4)]);
    session
        .feed(&frame(kind::WINDOW_UPDATE, 0, 1, &9_u32.to_be_bytes()))
        .expect("for a stream that is over");
}

#[test]
fn cancelled_stream_is_passed_over() {
    let mut session = settled(1, &[]);
    get(&mut session, 0);
    session.out.clear();
    session.cancel(0);
    session.cancel(0);
    assert_eq!(heads(&session.out), [(kind::RST_STREAM, 0, 1, 4)]);
    session
        .feed(&frame(kind::HEADERS, flag::END_HEADERS, 1, b"\x88"))
        .expect("it was under way");
    session
        .feed(&frame(kind::DATA, flag::END_STREAM, 1, b"late"))
        .expect("it was under way");
    assert!(session.events.is_empty());
    assert_eq!(session.answer(0), ReceivedResponse::default());
}

#[test]
fn server_that_speaks_before_its_settings_is_refused() {
    let mut session = Http2Connection::new(1);
    get(&mut session, 0);
    assert_eq!(
        session.feed(&frame(kind::HEADERS, flag::END_HEADERS, 1, b"\x88")),
        Err(Violation(Kind::BadFraming)),
        "it may be no HTTP/2 at all"
    );
}

#[test]
fn requests_of_any_size_are_no_answers() {
    let mut session = settled(1000, &[]);
    (0..1000).for_each(|lane| session.open(lane, &[0x82; 2000], None, false));
    assert!(session.out.len() > MAX_WAITING);
    assert_eq!(session.feed(&frame(kind::PING, 0, 0, &[0; 8])), Ok(()));
}

#[test]
fn pings_are_answered() {
    let mut session = settled(1, &[]);
    session
        .feed(&frame(kind::PING, 0, 0, b"12345678"))
        .expect("legal");
    assert_eq!(session.out, frame(kind::PING, flag::ACK, 0, b"12345678"));
}

#[test]
fn violations_are_answered_with_a_go_away() {
    let cases: [(&str, Vec<u8>, u32); 13] = [
        (
            "a stream nobody opened",
            frame(kind::HEADERS, flag::END_HEADERS, 5, b"\x88"),
            code::PROTOCOL_ERROR,
        ),
        (
            "a stream of the server",
            frame(kind::DATA, 0, 2, b"x"),
            code::PROTOCOL_ERROR,
        ),
        (
            "a promise",
            frame(kind::PUSH_PROMISE, flag::END_HEADERS, 1, b"\0\0\0\x02\x88"),
            code::PROTOCOL_ERROR,
        ),
        (
            "a frame that is too large",
            frame(kind::DATA, 0, 1, &[0; 20_000]),
            code::FRAME_SIZE_ERROR,
        ),
        (
            "a field that nobody has kept",
            frame(kind::HEADERS, flag::END_HEADERS, 1, b"\xbf"),
            code::COMPRESSION_ERROR,
        ),
        (
            "something amid a block",
            [
                frame(kind::HEADERS, 0, 1, b"\x88"),
                frame(kind::PING, 0, 0, &[0; 8]),
            ]
            .concat(),
            code::PROTOCOL_ERROR,
        ),
        (
            "a block without beginning",
            frame(kind::CONTINUATION, flag::END_HEADERS, 1, b"\x88"),
            code::PROTOCOL_ERROR,
        ),
        (
            "padding longer than its frame",
            frame(
                kind::HEADERS,
                flag::PADDED | flag::END_HEADERS,
                1,
                b"\x09\x88",
            ),
            code::PROTOCOL_ERROR,
        ),
        (
            "a window of nothing",
            frame(kind::WINDOW_UPDATE, 0, 0, &[0; 4]),
            code::PROTOCOL_ERROR,
        ),
        (
            "a window beyond its end",
            frame(kind::WINDOW_UPDATE, 0, 0, &0x7fff_ffff_u32.to_be_bytes()),
            code::FLOW_CONTROL_ERROR,
        ),
        (
            "settings that widen a window beyond its end",
            [
                frame(kind::WINDOW_UPDATE, 0, 1, &0x7fff_0000_u32.to_be_bytes()),
                settings(&[(setting::INITIAL_WINDOW_SIZE, 0x7fff_ffff)]),
            ]
            .concat(),
            code::FLOW_CONTROL_ERROR,
        ),
        (
            "a filling of eight bits",
            frame(kind::HEADERS, flag::END_HEADERS, 1, b"\x88\x61\x81\xff"),
            code::COMPRESSION_ERROR,
        ),
        (
            "settings of a wrong length",
            frame(kind::SETTINGS, 0, 0, b"12345"),
            code::FRAME_SIZE_ERROR,
        ),
    ];
    for (what, bytes, code) in cases {
        let mut session = settled(1, &[]);
        get(&mut session, 0);
        session.out.clear();
        let rule = match code {
            code::COMPRESSION_ERROR => HttpViolation::HeaderCompression,
            code::FRAME_SIZE_ERROR => HttpViolation::FrameSize,
            code::FLOW_CONTROL_ERROR => HttpViolation::FlowControl,
            _ => HttpViolation::FrameOrder,
        };
        assert_eq!(session.feed(&bytes), violation(rule), "{what}");
        let said = &session.out[session.out.len() - 4..];
        assert_eq!(said, code.to_be_bytes(), "{what}");
        assert!(session.draining, "{what}");
    }
}

#[test]
fn endless_header_block_is_refused() {
    let mut session = settled(1, &[]);
    get(&mut session, 0);
    session
        .feed(&frame(kind::HEADERS, 0, 1, b"\x88"))
        .expect("a beginning");
    let refused = (0..20).find_map(|_| {
        session
            .feed(&frame(kind::CONTINUATION, 0, 1, &[0; 16_000]))
            .err()
    });
    assert_eq!(refused, Some(Violation(Kind::HeadTooLarge)));
}

#[test]
fn peer_that_asks_and_never_reads_is_refused() {
    let mut session = settled(1, &[]);
    let ping = frame(kind::PING, 0, 0, &[0; 8]);
    assert!((0..100_000).any(|_| session.feed(&ping).is_err()));
}

/// Numbers that look random, but are the same in every run (Marsaglia's xorshift).
fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(seed), |&last| {
        let next = last ^ last << 13;
        let next = next ^ next >> 7;
        Some(next ^ next << 17)
    })
}

#[test]
fn frames_at_random_are_taken_or_refused() {
    for seed in 1..3000_u64 {
        let mut numbers = numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut next = |below: u64| numbers.next().expect("they do not end") % below;
        let mut session = settled(4, &[]);
        for lane in 0..4 {
            session.open(
                lane,
                b"\x83",
                if lane == 3 { body(&[7; 100_000]) } else { None },
                false,
            );
        }
        for _ in 0..20 {
            let payload: Vec<u8> = (0..next(40)).map(|_| next(256) as u8).collect();
            // Mostly kinds and streams that exist.
            let bytes = frame(next(11) as u8, next(256) as u8, next(10) as u32, &payload);
            let bytes = if next(8) == 0 { payload } else { bytes };
            if session.feed(&bytes).is_err() {
                break;
            }
        }
        assert!(session.active() <= 4, "seed {seed}");
    }
}

#[test]
fn header_blocks_at_random_are_read_or_refused() {
    for seed in 1..30_000_u64 {
        let mut numbers = numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let length = numbers.next().expect("they do not end") % 24;
        let block: Vec<u8> = numbers
            .take(length as usize)
            .map(|number| (number >> 32) as u8)
            .collect();
        if let Ok(fields) = hpack::read(&block, &mut DynamicTable::default(), &mut None) {
            assert!(
                fields
                    .status
                    .is_none_or(|status| (100..1000).contains(&status)),
                "{block:02x?}"
            );
        }
    }
}

#[test]
fn padding_without_room_for_its_length_is_refused_alike_in_pieces() {
    let stream = [
        frame(kind::HEADERS, flag::END_HEADERS, 1, b"\x88"),
        frame(kind::DATA, flag::PADDED, 1, b""),
        frame(kind::PING, 0, 0, &[0; 8]),
    ]
    .concat();
    for step in [1, 9, 10, stream.len()] {
        let mut session = settled(1, &[]);
        get(&mut session, 0);
        session.out.clear();
        let fed = stream
            .chunks(step)
            .try_for_each(|piece| session.feed(piece));
        assert_eq!(fed, violation(HttpViolation::FrameSize), "by {step}");
        let code = session.out.last().copied().map(u32::from);
        assert_eq!(code, Some(code::FRAME_SIZE_ERROR), "by {step}");
    }
}
