//! Faults: that each does what its name says, and that a client sees nothing else.

use crate::client::{Client, DEADLINE, GET, sound, trusting};
use rustls::version::TLS13;
use std::io::ErrorKind;
use std::time::{Duration, Instant};
use target::{
    BadFraming, BodyFraming, Config, ConnectionEnd, FaultPlace, OpeningFault, RunningTarget,
    TargetAnswer, TargetFault,
};

fn start(config: Config) -> RunningTarget {
    RunningTarget::new(config).unwrap()
}

fn stopping(at: FaultPlace, then: ConnectionEnd) -> TargetAnswer {
    TargetAnswer::faulty(TargetFault::Stop { at, then })
}

/// One request over TLS, with all that comes back.
fn over_tls(answer: TargetAnswer) -> (String, std::io::Result<()>) {
    let target = start(Config {
        answer,
        ..Config::default()
    });
    let mut client = Client::tls(&target, &trusting(&target, &[&TLS13])).unwrap();
    client.send(GET);
    let (bytes, end) = client.receive_all();
    assert_eq!(target.counts().faults, 1);
    (String::from_utf8(bytes).unwrap(), end)
}

#[test]
fn an_answer_stops_where_it_is_told_to() {
    let head = sound().len() - 356;
    for (at, bytes) in [
        (FaultPlace::BeforeHead, 0),
        (FaultPlace::InHead, head / 2),
        (FaultPlace::InBody, head + 178),
    ] {
        let (text, end) = over_tls(stopping(at, ConnectionEnd::Orderly));
        assert_eq!(text, sound()[..bytes], "{at:?}");
        assert!(end.is_ok());
    }
}

#[test]
fn a_chunked_answer_stops_inside_its_chunk() {
    let answer = TargetAnswer {
        framing: BodyFraming::Chunked,
        body_bytes: 10,
        ..stopping(FaultPlace::InBody, ConnectionEnd::Orderly)
    };
    assert!(over_tls(answer).0.ends_with("\r\n\r\na\r\nxxxxx"));
}

#[test]
fn the_connection_ends_as_told() {
    let cases = [
        (ConnectionEnd::Truncate, ErrorKind::UnexpectedEof),
        (ConnectionEnd::Reset, ErrorKind::ConnectionReset),
    ];
    for (then, kind) in cases {
        assert_eq!(
            over_tls(stopping(FaultPlace::InBody, then))
                .1
                .unwrap_err()
                .kind(),
            kind
        );
    }
}

#[test]
fn a_hanging_connection_stays_until_the_client_goes() {
    let never = TargetAnswer::faulty(TargetFault::never_answers());
    let silent = Config {
        connection_fault: Some(OpeningFault::Silence),
        ..Config::plain()
    };
    for config in [
        Config {
            answer: never,
            ..Config::plain()
        },
        silent,
    ] {
        let target = start(config);
        let mut client = Client::plain(&target);
        client.send(GET);
        let Client::Plain(stream) = &client else {
            panic!("is plain")
        };
        stream
            .set_read_timeout(Some(Duration::from_millis(30)))
            .unwrap();
        assert_eq!(
            client.receive_all().1.unwrap_err().kind(),
            ErrorKind::WouldBlock
        );
        wait_for_open(&target, 1);
        drop(client);
        wait_for_open(&target, 0);
    }
}

fn wait_for_open(target: &RunningTarget, connections: u64) {
    let deadline = Instant::now() + DEADLINE;
    while target.counts().connections_open != connections {
        assert!(
            Instant::now() < deadline,
            "{connections} connections are not open, but {:?}",
            target.counts()
        );
        std::thread::yield_now();
    }
}

#[test]
fn the_first_requests_may_be_sound() {
    let answer = TargetAnswer {
        sound_first: 1,
        ..stopping(FaultPlace::BeforeHead, ConnectionEnd::Orderly)
    };
    let target = start(Config {
        answer,
        ..Config::plain()
    });
    let mut client = Client::plain(&target);
    client.send(GET);
    assert_eq!(client.receive(sound().len()), sound());
    client.send(GET);
    assert!(client.receive_all().0.is_empty());
    let counts = target.stop();
    assert_eq!(
        (counts.requests, counts.responses, counts.faults),
        (2, 1, 1)
    );
}

#[test]
fn bad_framing_is_sent_as_it_is() {
    for kind in BadFraming::ALL {
        let target = start(Config {
            answer: TargetAnswer::faulty(TargetFault::BadFraming(kind)),
            ..Config::plain()
        });
        let mut client = Client::plain(&target);
        client.send(GET);
        let text = client.receive(20);
        assert_ne!(
            text,
            sound()[..20].to_owned() + "content-length: 356",
            "{kind:?}"
        );
        assert_eq!((target.counts().responses, target.counts().faults), (0, 1));
    }
}

#[test]
fn raw_bytes_are_sent_as_they_are() {
    let raw = TargetFault::Raw {
        bytes: b"anything".to_vec(),
        then: ConnectionEnd::Orderly,
    };
    assert_eq!(over_tls(TargetAnswer::faulty(raw)).0, "anything");
}

#[test]
fn connection_faults_show_in_the_handshake() {
    let cases = [
        (OpeningFault::Reset, ErrorKind::ConnectionReset),
        (OpeningFault::Close, ErrorKind::UnexpectedEof),
        (OpeningFault::Garbage, ErrorKind::InvalidData),
    ];
    for (fault, kind) in cases {
        let target = start(Config {
            connection_fault: Some(fault),
            ..Config::default()
        });
        let error = Client::tls(&target, &trusting(&target, &[&TLS13]))
            .err()
            .unwrap();
        assert_eq!(error.kind(), kind, "{fault:?}: {error}");
    }
}

#[test]
fn connection_faults_work_without_tls_too() {
    let target = start(Config {
        connection_fault: Some(OpeningFault::Reset),
        ..Config::plain()
    });
    let mut client = Client::plain(&target);
    client.send(GET);
    assert_eq!(
        client.receive_all().1.unwrap_err().kind(),
        ErrorKind::ConnectionReset
    );
    assert_eq!(target.stop().requests, 0);
}
