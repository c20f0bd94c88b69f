//! Sockets over streams, and peers that open none.

use super::*;
use crate::checks::AnswerChecks;
use plan::{NoFiles, Plan};

/// `:status: 200` (RFC 7541 appendix A).
const OK: &[u8] = b"\x88";

fn checks() -> Arc<AnswerChecks> {
    let text = "target.url = \"http://127.0.0.1/\"\nload = { connections = 1, requests = 1 }\n\
                connection.http = \"2\"\nrequest.websocket = { message = \"x\", count = 1 }\n";
    let plan = Plan::parse(text, &mut NoFiles).expect("a plan");
    let checks = AnswerChecks::of_requests(&plan).remove(0);
    checks.expect("a socket is watched")
}

fn connection(entries: &[(u16, u32)]) -> Http2Connection {
    let mut session = Http2Connection::new(2);
    session.keep_texts();
    session.expect_sockets();
    assert!(
        !session.accepts(),
        "only settings say whether sockets are opened"
    );
    session.feed(&settings(entries)).expect("legal settings");
    session.out.clear();
    session.events.clear();
    session
}

/// A connection with an open socket on its first lane, and what else the settings say.
fn opened(more: &[(u16, u32)]) -> Http2Connection {
    let entries = [&[(setting::ENABLE_CONNECT_PROTOCOL, 1)], more].concat();
    let mut session = connection(&entries);
    assert!(session.accepts() && session.opens_sockets());
    session.open_watched(0, b"\x82", None, (false, &checks()));
    assert_eq!(
        heads(&session.out),
        [(kind::HEADERS, flag::END_HEADERS, 1, 1)]
    );
    session.out.clear();
    let head = frame(kind::HEADERS, flag::END_HEADERS, 1, OK);
    session.feed(&head).expect("an answer");
    let events = [
        LaneEvent::Events { lane: 0 },
        LaneEvent::FirstByte { lane: 0 },
    ];
    assert_eq!(session.events, events);
    session
}

#[test]
fn peer_without_the_setting_opens_none() {
    for entries in [&[][..], &[(setting::ENABLE_CONNECT_PROTOCOL, 0)]] {
        let session = connection(entries);
        assert!(session.accepts() && !session.opens_sockets());
    }
    for wrong in [&[2][..], &[1, 0]] {
        let entries = wrong
            .iter()
            .map(|value| (setting::ENABLE_CONNECT_PROTOCOL, *value));
        let entries: Vec<_> = entries.collect();
        let mut session = Http2Connection::new(1);
        assert!(session.feed(&settings(&entries)).is_err(), "{wrong:?}");
    }
}

#[test]
fn what_windows_do_not_allow_waits_for_them() {
    let mut session = opened(&[(setting::INITIAL_WINDOW_SIZE, 10)]);
    session.send_over_socket(0, &[7; 25], false);
    assert_eq!(heads(&session.out), [(kind::DATA, 0, 1, 10)]);
    session.out.clear();
    let more = frame(kind::WINDOW_UPDATE, 0, 1, &9_u32.to_be_bytes());
    session.feed(&more).expect("a larger window");
    assert_eq!(heads(&session.out), [(kind::DATA, 0, 1, 9)]);
    session.out.clear();
    session
        .feed(&settings(&[(setting::INITIAL_WINDOW_SIZE, 100)]))
        .expect("settings");
    let frames = heads(&session.out);
    assert!(frames.contains(&(kind::DATA, 0, 1, 6)), "{frames:?}");
}

#[test]
fn ended_socket_leaves_nothing_for_the_next_on_its_lane() {
    let cases = [
        (true, 1, &[(kind::DATA, flag::END_STREAM, 1, 1)][..]),
        (
            false,
            1,
            &[(kind::DATA, 0, 1, 1), (kind::RST_STREAM, 0, 1, 4)],
        ),
        // What waits for the window will not be sent.
        (
            true,
            9,
            &[(kind::DATA, 0, 1, 5), (kind::RST_STREAM, 0, 1, 4)],
        ),
    ];
    for (is_last, bytes, wanted) in cases {
        let mut session = opened(&[(setting::INITIAL_WINDOW_SIZE, 5)]);
        session
            .feed(&frame(kind::DATA, 0, 1, b"\x81\x01x"))
            .expect("a message");
        session.send_over_socket(0, &vec![0; bytes], is_last);
        session.end_socket(0);
        assert_eq!(heads(&session.out), wanted);
        assert_eq!((session.poll(), session.active()), (None, 0));
    }
}

#[test]
fn socket_that_the_peer_ends_is_ended_by_us() {
    let mut session = opened(&[]);
    session
        .feed(&frame(kind::DATA, flag::END_STREAM, 1, b""))
        .expect("its end");
    assert_eq!(heads(&session.out), [(kind::RST_STREAM, 0, 1, 4)]);
    assert_eq!(
        session.events.last(),
        Some(&LaneEvent::Answered { lane: 0 })
    );
    session.out.clear();
    // The worker may still answer what came before the end.
    session.send_over_socket(0, b"an answer", true);
    session.end_socket(0);
    assert_eq!((session.out.len(), session.poll()), (0, None));
}
