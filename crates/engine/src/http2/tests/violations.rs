//! Responses that break a rule, and floods.

use super::*;
use crate::response::MAX_INTERIM;

#[test]
fn malformed_response_spoils_its_stream_and_no_other() {
    use HttpViolation::{ContentLength, MessageOrder, PseudoField, Status, UnexpectedBody};
    let whole = flag::END_HEADERS | flag::END_STREAM;
    let head = |block: &[u8]| frame(kind::HEADERS, flag::END_HEADERS, 1, block);
    let data = |flags, bytes: &[u8]| frame(kind::DATA, flags, 1, bytes);
    let cases: [(&str, bool, Vec<u8>, HttpViolation); 14] = [
        ("two statuses", false, head(b"\x88\x88"), Status),
        ("no status", false, head(b"\x61\x01a"), Status),
        (
            "two lengths",
            false,
            head(b"\x88\x5c\x011\x5c\x012"),
            ContentLength,
        ),
        (
            "a body beyond its length",
            false,
            [head(b"\x88\x5c\x011"), data(0, b"ab")].concat(),
            ContentLength,
        ),
        (
            "a body below its length",
            false,
            [head(b"\x88\x5c\x013"), data(flag::END_STREAM, b"ab")].concat(),
            ContentLength,
        ),
        (
            "no body where there is a length",
            false,
            frame(kind::HEADERS, whole, 1, b"\x88\x5c\x013"),
            ContentLength,
        ),
        ("a body before its head", false, data(0, b"x"), MessageOrder),
        (
            "the end before a head",
            false,
            data(flag::END_STREAM, b""),
            MessageOrder,
        ),
        (
            "an interim head that ends the stream",
            false,
            frame(kind::HEADERS, whole, 1, b"\x08\x03103"),
            MessageOrder,
        ),
        (
            "trailers that do not end it",
            false,
            [head(b"\x88"), head(b"\x61\x01a")].concat(),
            MessageOrder,
        ),
        (
            "a second head",
            false,
            [head(b"\x88"), head(b"\x88")].concat(),
            PseudoField,
        ),
        (
            "a body of a 204",
            false,
            [head(b"\x89"), data(0, b"x")].concat(),
            UnexpectedBody,
        ),
        (
            "a body of a 304",
            false,
            [head(b"\x8b\x5c\x011"), data(flag::END_STREAM, b"x")].concat(),
            UnexpectedBody,
        ),
        (
            "a body of the answer to a HEAD",
            true,
            [head(b"\x88\x5c\x011"), data(flag::END_STREAM, b"x")].concat(),
            UnexpectedBody,
        ),
    ];
    for (what, head_only, bytes, rule) in cases {
        for step in [1, 10, bytes.len()] {
            let mut session = settled(2, &[]);
            session.open(0, b"\x83", None, head_only);
            get(&mut session, 1);
            session.out.clear();
            let fed = bytes.chunks(step).try_for_each(|piece| session.feed(piece));
            assert_eq!(fed, Ok(()), "{what}");
            // Bytes beyond the length do not count, in however many pieces they came.
            let came = session.answer(0).body_bytes;
            let most = match what {
                "a body beyond its length" => 1,
                "a body below its length" => 2,
                _ => 0,
            };
            assert_eq!(came, most, "{what} by {step}");
            session
                .feed(&[data(0, b"more"), head(b"\x88"), data(flag::END_STREAM, b"")].concat())
                .expect("what comes of a stream that is over is passed over");
            session
                .feed(&frame(kind::HEADERS, whole, 3, b"\x88\x5c\x010"))
                .expect("a legal response on another stream");
            let last = session.events.len() - 3;
            assert_eq!(
                session.events[last..],
                [
                    malformed(0, rule),
                    LaneEvent::FirstByte { lane: 1 },
                    LaneEvent::Answered { lane: 1 }
                ],
                "{what}"
            );
            assert_eq!(
                session.out,
                frame(kind::RST_STREAM, 0, 1, &code::PROTOCOL_ERROR.to_be_bytes()),
                "{what}"
            );
            assert!(!session.draining && session.active() == 0, "{what}");
        }
    }
}

#[test]
fn table_is_followed_through_a_malformed_response() {
    let mut session = settled(2, &[]);
    get(&mut session, 0);
    get(&mut session, 1);
    let whole = flag::END_HEADERS | flag::END_STREAM;
    // Two statuses, and a field that is stored, so that its index can be used afterwards.
    let bad = frame(kind::HEADERS, whole, 1, b"\x88\x89\x48\x03404");
    session.feed(&bad).expect("a stream error");
    let good = frame(kind::HEADERS, whole, 3, b"\xbe");
    session.feed(&good).expect("legal");
    assert_eq!(session.answer(1).status, Some(404));
}

#[test]
fn floods_are_ended_with_a_name_and_moderate_traffic_is_not() {
    use HttpViolation::{EmptyFrames, FrameFlood, PingFlood, SettingsFlood};
    let ping = frame(kind::PING, 0, 0, &[0; 8]);
    let cases = [
        ("pings", ping.clone(), PingFlood),
        (
            "answers to pings",
            frame(kind::PING, flag::ACK, 0, &[0; 8]),
            PingFlood,
        ),
        ("settings", settings(&[]), SettingsFlood),
        ("resets", frame(kind::RST_STREAM, 0, 1, &[0; 4]), FrameFlood),
        (
            "windows",
            frame(kind::WINDOW_UPDATE, 0, 0, &1_u32.to_be_bytes()),
            FrameFlood,
        ),
        ("priorities", frame(2, 0, 1, &[0; 5]), FrameFlood),
        ("unknown frames", frame(99, 0, 1, b""), FrameFlood),
        ("goodbyes", go_away(99, 0), FrameFlood),
        ("empty data", frame(kind::DATA, 0, 3, b""), EmptyFrames),
        (
            "padding",
            frame(kind::DATA, flag::PADDED, 3, &[255; 256]),
            EmptyFrames,
        ),
        (
            "heads of a stream that is over",
            frame(kind::HEADERS, flag::END_HEADERS, 1, b"\x88"),
            FrameFlood,
        ),
    ];
    let begun = || {
        let mut session = settled(2, &[]);
        get(&mut session, 0);
        get(&mut session, 1);
        session.cancel(0);
        let head = frame(kind::HEADERS, flag::END_HEADERS, 3, b"\x88");
        session.feed(&head).expect("a head");
        session.out.clear();
        session
    };
    for (what, one, rule) in cases {
        let mut session = begun();
        let fed = (0..20_000).try_for_each(|_| {
            session.out.clear();
            session.feed(&one)
        });
        assert_eq!(fed, violation(rule), "{what}");
        let said = &session.out[session.out.len() - 4..];
        assert_eq!(said, code::ENHANCE_YOUR_CALM.to_be_bytes(), "{what}");
        // A few with each frame of a body, or 900 a second, are not a flood.
        let mut session = begun();
        let data = frame(kind::DATA, 0, 3, b"body");
        for _ in 0..5_000 {
            let few = [
                data.clone(),
                one.repeat(if what == "settings" { 0 } else { 4 }),
            ];
            session.feed(&few.concat()).expect(what);
            session.take_out();
        }
        let mut session = begun();
        for second in 0..100 {
            session.note_time(second * 1_000_000_000);
            session.feed(&one.repeat(900)).expect(what);
            session.take_out();
        }
    }
    let mut session = begun();
    session.cancel(1);
    let begin = frame(kind::HEADERS, 0, 3, b"\x88");
    session.feed(&begin).expect("the beginning of a block");
    let empty = frame(kind::CONTINUATION, 0, 3, b"");
    let fed = (0..20_000).try_for_each(|_| session.feed(&empty));
    assert_eq!(fed, violation(EmptyFrames));
}

#[test]
fn interim_answers_without_end_spoil_their_stream() {
    let mut session = settled(2, &[]);
    get(&mut session, 0);
    get(&mut session, 1);
    let interim = |stream| frame(kind::HEADERS, flag::END_HEADERS, stream, b"\x08\x03103");
    let whole = flag::END_HEADERS | flag::END_STREAM;
    (0..MAX_INTERIM).for_each(|_| session.feed(&interim(3)).expect("legal"));
    let last = frame(kind::HEADERS, whole, 3, b"\x88");
    session.feed(&last).expect("the answer");
    let first = LaneEvent::FirstByte { lane: 1 };
    assert_eq!(session.events, [first, LaneEvent::Answered { lane: 1 }]);
    (0..=MAX_INTERIM).for_each(|_| session.feed(&interim(1)).expect("a stream error"));
    assert_eq!(
        session.events[3..],
        [malformed(0, HttpViolation::InterimFlood)]
    );
    assert!(!session.draining);
}

#[test]
fn list_of_fields_beyond_the_limit_spoils_its_stream() {
    let mut session = settled(2, &[]);
    get(&mut session, 0);
    get(&mut session, 1);
    let large = [&b"\x88\x40\x01a\x7f\xa1\x1e"[..], &[b'x'; 4000]].concat();
    let whole = flag::END_HEADERS | flag::END_STREAM;
    let named = [&[0x88][..], &[0xbe; 16_000]].concat();
    let first = frame(kind::HEADERS, whole, 1, &large);
    let second = frame(kind::HEADERS, whole, 3, &named);
    session.feed(&first).expect("legal");
    session.feed(&second).expect("a stream error");
    let kind = Kind::HeadTooLarge;
    assert_eq!(session.events[2..], [LaneEvent::Failed { lane: 1, kind }]);
}
