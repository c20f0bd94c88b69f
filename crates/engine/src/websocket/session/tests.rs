use super::*;
use std::time::Duration;

const MS: u64 = 1_000_000;
const TIMEOUT: u64 = 500 * MS;

fn plan(every: Option<u64>, answer: MessageAnswer, until: SocketEnd) -> Arc<WebSocket> {
    Arc::new(WebSocket {
        protocols: Vec::new(),
        messages: vec![plan::Template { pieces: Vec::new() }],
        is_binary: false,
        every: every.map(Duration::from_millis),
        answer,
        ping: None,
        until,
    })
}

/// A socket that was opened at `at`.
fn opened(plan: &Arc<WebSocket>, at: u64) -> SocketSession {
    let mut socket = SocketSession::new(plan, SocketOpening::Connect, std::iter::empty());
    socket.state = SocketState::Open { at, left_at: None };
    socket.answered_at = at;
    socket.own_pings.next_due = socket.ping_due_after(at, at);
    socket.take_news(at);
    socket.answered_at = at;
    socket
}

/// Sends what is due, which has to be due at `due`.
fn send(socket: &mut SocketSession, (due, now): (u64, u64), text: &str) {
    match socket.next(now, TIMEOUT, false) {
        SocketStep::Send { due: is_due, .. } => assert_eq!(is_due, due),
        step => panic!("{step:?}"),
    }
    let noted = socket.parts().1.note((due, now), text.as_bytes());
    noted.expect("it can be answered");
}

/// Texts come with a read at `at`; returns when the messages that they answer were due.
fn receive(socket: &mut SocketSession, at: u64, texts: &[&str]) -> Vec<u64> {
    for text in texts {
        let head = [0x81, text.len() as u8];
        socket.take(&[&head[..], text.as_bytes()].concat());
    }
    socket.take_news(at).answered
}

#[test]
fn next_message_is_due_when_the_one_before_is_answered() {
    let plan = plan(None, MessageAnswer::Next, SocketEnd::Messages(2));
    let mut socket = opened(&plan, 10);
    send(&mut socket, (10, 12), "a");
    let waits = SocketStep::WaitUntil(12 + TIMEOUT);
    assert_eq!(socket.next(13, TIMEOUT, false), waits);
    assert_eq!(receive(&mut socket, 20, &["x", "pushed"]), [10]);
    send(&mut socket, (20, 21), "b");
    assert_eq!(receive(&mut socket, 30, &["y"]), [20]);
    assert_eq!(socket.next(30, TIMEOUT, false), SocketStep::Close(NORMAL));
    socket.note_closed(30);
    socket.take(&[0x88, 2, 3, 232]);
    assert_eq!(socket.take_news(40).closed, Some(1000));
    assert_eq!((socket.is_closed(), socket.end()), (true, None));
}

#[test]
fn messages_of_a_schedule_are_due_whether_the_others_are_answered_or_not() {
    let answer = MessageAnswer::Json("/id".to_owned());
    let held = SocketEnd::Held(Duration::from_millis(25));
    let plan = plan(Some(10), answer, held);
    let mut socket = opened(&plan, 0);
    let late = 3 * MS;
    send(&mut socket, (0, late), "{\"id\": 0}");
    assert_eq!(
        socket.next(late, TIMEOUT, false),
        SocketStep::WaitUntil(10 * MS)
    );
    send(&mut socket, (10 * MS, 21 * MS), "{\"id\": 1}");
    send(&mut socket, (20 * MS, 21 * MS), "{\"id\": 2}");
    let texts = ["{\"id\": 2}", "not JSON", "{\"id\": 7}", "{\"id\": 0}"];
    assert_eq!(receive(&mut socket, 24 * MS, &texts), [20 * MS, 0]);
    // The last answer is waited for, and then the socket is closed.
    let waits = SocketStep::WaitUntil(21 * MS + TIMEOUT);
    assert_eq!(socket.next(26 * MS, TIMEOUT, false), waits);
    assert_eq!(receive(&mut socket, 27 * MS, &["{\"id\": 1}"]), [10 * MS]);
    assert_eq!(
        socket.next(27 * MS, TIMEOUT, false),
        SocketStep::Close(NORMAL)
    );
}

#[test]
fn silence_of_the_server_has_its_time() {
    let plan = plan(Some(1000), MessageAnswer::Echo, SocketEnd::Messages(5));
    let mut socket = opened(&plan, 0);
    send(&mut socket, (0, 0), "a");
    assert!(receive(&mut socket, 1, &["b"]).is_empty());
    let unanswered = SocketStep::Unanswered;
    assert_eq!(socket.next(TIMEOUT, TIMEOUT, false), unanswered);
    assert_eq!(socket.missed(TIMEOUT), [0]);
    socket.note_closed(2);
    // An answer after our close frame answers nothing.
    assert!(receive(&mut socket, 3, &["a"]).is_empty());
    let stalled = SocketStep::Stalled;
    assert_eq!(socket.next(2 + TIMEOUT, TIMEOUT, false), stalled);
}

#[test]
fn end_of_the_load_waits_for_answers_and_sends_no_more() {
    let plan = plan(Some(10), MessageAnswer::Echo, SocketEnd::Messages(5));
    let mut socket = opened(&plan, 0);
    send(&mut socket, (0, 0), "a");
    send(&mut socket, (10 * MS, 10 * MS), "b");
    socket.leave(15 * MS);
    assert_eq!(receive(&mut socket, 16 * MS, &["a"]), [0]);
    let waits = SocketStep::WaitUntil(10 * MS + TIMEOUT);
    assert_eq!(socket.next(30 * MS, TIMEOUT, false), waits);
    assert_eq!(socket.missed(30 * MS), [10 * MS]);
    assert_eq!(receive(&mut socket, 31 * MS, &["b"]), [10 * MS]);
    let close = SocketStep::Close(GOING_AWAY);
    assert_eq!(socket.next(31 * MS, TIMEOUT, false), close);
    assert!(socket.missed(31 * MS).is_empty());
}

#[test]
fn messages_that_were_due_and_not_sent_are_missed_with_those_that_wait() {
    let held = SocketEnd::Held(Duration::from_millis(25));
    for (answer, until, missed) in [
        (
            MessageAnswer::Next,
            SocketEnd::Messages(9),
            vec![0, 10, 20, 30],
        ),
        (MessageAnswer::Next, SocketEnd::Messages(3), vec![0, 10, 20]),
        (MessageAnswer::Next, held, vec![0, 10, 20]),
        (MessageAnswer::Nothing, held, vec![]),
    ] {
        let mut socket = opened(&plan(Some(10), answer, until), 0);
        send(&mut socket, (0, 0), "a");
        let missed: Vec<u64> = missed.into_iter().map(|ms| ms * MS).collect();
        assert_eq!(socket.missed(35 * MS), missed);
    }
    let mut socket = opened(&plan(None, MessageAnswer::Next, held), 5);
    assert_eq!(socket.missed(6), [5]);
    send(&mut socket, (5, 6), "a");
    assert_eq!(socket.missed(7), [5]);
}

#[test]
fn latest_ping_waits_until_it_is_answered() {
    let plan = plan(None, MessageAnswer::Next, SocketEnd::Messages(2));
    let mut socket = opened(&plan, 0);
    for text in [b'a', b'b'] {
        socket.take(&[0x89, 1, text]);
        socket.take_news(1);
    }
    assert!(socket.has_ping());
    assert_eq!(socket.take_ping(), Some(b"b".to_vec()));
    assert_eq!((socket.has_ping(), socket.take_ping()), (false, None));
}

#[test]
fn peer_that_reads_nothing_lets_messages_wait_and_then_fails() {
    let plan = plan(Some(1), MessageAnswer::Nothing, SocketEnd::Messages(5));
    let socket = opened(&plan, 0);
    let waits = SocketStep::WaitUntil(1 + STALL_NS);
    assert_eq!(socket.next(1, TIMEOUT, true), waits);
    assert_eq!(socket.next(TIMEOUT, TIMEOUT, true), SocketStep::Stalled);
}

/// A socket that is held for 5 s, with a ping each second, opened at 0.
fn pinged() -> SocketSession {
    let held = SocketEnd::Held(Duration::from_secs(5));
    let plan = plan(Some(300), MessageAnswer::Nothing, held);
    let plan = WebSocket {
        messages: Vec::new(),
        ping: Some(Duration::from_secs(1)),
        ..WebSocket::clone(&plan)
    };
    opened(&Arc::new(plan), 0)
}

fn pong(socket: &mut SocketSession, payload: &[u8], at: u64) -> bool {
    socket.take(&[&[0x8a, payload.len() as u8], payload].concat());
    socket.take_news(at).ponged.is_some()
}

#[test]
fn pings_follow_their_grid_one_after_the_other() {
    let mut socket = pinged();
    let waits = SocketStep::WaitUntil(1000 * MS);
    assert_eq!(socket.next(0, TIMEOUT, false), waits);
    assert_eq!(socket.next(1000 * MS, TIMEOUT, false), SocketStep::Ping);
    let first = socket.note_ping(1001 * MS);
    let waits = SocketStep::WaitUntil(1001 * MS + TIMEOUT);
    assert_eq!(socket.next(1001 * MS, TIMEOUT, false), waits);
    assert!(!pong(&mut socket, b"unsolicited", 1002 * MS));
    assert!(pong(&mut socket, &first, 1003 * MS));
    assert!(!pong(&mut socket, &first, 1004 * MS), "again");
    // Late by two: what was missed is not sent in a burst.
    assert_eq!(socket.next(3100 * MS, TIMEOUT, false), SocketStep::Ping);
    let second = socket.note_ping(3100 * MS);
    assert!(!pong(&mut socket, &first, 3101 * MS), "of the one before");
    assert!(pong(&mut socket, &second, 3102 * MS));
    let waits = SocketStep::WaitUntil(4000 * MS);
    assert_eq!(socket.next(3102 * MS, TIMEOUT, false), waits);
    let close = SocketStep::Close(NORMAL);
    assert_eq!(socket.next(5000 * MS, TIMEOUT, false), close);
}

#[test]
fn ping_without_a_pong_fails_and_one_that_cannot_leave_waits() {
    let mut socket = pinged();
    let waits = SocketStep::WaitUntil(1000 * MS + STALL_NS);
    assert_eq!(socket.next(1000 * MS, TIMEOUT, true), waits);
    let stalled = SocketStep::Stalled;
    assert_eq!(socket.next(1000 * MS + TIMEOUT, TIMEOUT, true), stalled);
    socket.note_ping(1000 * MS);
    let up_at = 1000 * MS + TIMEOUT;
    let waits = SocketStep::WaitUntil(up_at);
    assert_eq!(socket.next(up_at - 1, TIMEOUT, false), waits);
    assert_eq!(socket.next(up_at, TIMEOUT, false), SocketStep::NoPong);
    assert_eq!(socket.ping_sent_at(), Some(1000 * MS));
    // The end of the load does not wait for a pong.
    socket.leave(1200 * MS);
    let close = SocketStep::Close(GOING_AWAY);
    assert_eq!(socket.next(1200 * MS, TIMEOUT, false), close);
}
