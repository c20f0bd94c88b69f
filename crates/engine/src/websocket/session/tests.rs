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
        until,
    })
}

/// A socket that was opened at `at`.
fn opened(plan: &Arc<WebSocket>, at: u64) -> SocketSession {
    let mut socket = SocketSession::new(plan, std::iter::empty());
    socket.state = SocketState::Open {
        at,
        is_leaving: false,
    };
    socket.answered_at = at;
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
    let missed = SocketStep::Unanswered { due: Some(0) };
    assert_eq!(socket.next(TIMEOUT, TIMEOUT, false), missed);
    socket.leave();
    assert_eq!(
        socket.next(2, TIMEOUT, false),
        SocketStep::Close(GOING_AWAY)
    );
    socket.note_closed(2);
    // An answer after our close frame answers nothing.
    assert!(receive(&mut socket, 3, &["a"]).is_empty());
    let missed = SocketStep::Unanswered { due: None };
    assert_eq!(socket.next(2 + TIMEOUT, TIMEOUT, false), missed);
}

#[test]
fn peer_that_reads_nothing_lets_messages_wait_and_then_fails() {
    let plan = plan(Some(1), MessageAnswer::Nothing, SocketEnd::Messages(5));
    let socket = opened(&plan, 0);
    let waits = SocketStep::WaitUntil(1 + STALL_NS);
    assert_eq!(socket.next(1, TIMEOUT, true), waits);
    assert_eq!(socket.next(TIMEOUT, TIMEOUT, true), SocketStep::Stalled);
}
