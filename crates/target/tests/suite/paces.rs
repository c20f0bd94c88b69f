//! Stalls and servers from outside: never early, in order, and counted as any answer.

use crate::client::{Client, DEADLINE, GET, sound, trusting};
use rustls::version::TLS13;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};
use target::{Config, Pace, RunningTarget, TargetAnswer};

const MS: Duration = Duration::from_millis(1);

fn paced(pace: Pace) -> TargetAnswer {
    TargetAnswer {
        pace,
        ..TargetAnswer::default()
    }
}

fn servers(count: u32, service_time: Duration) -> Pace {
    Pace::Servers {
        count: NonZeroU32::new(count).unwrap(),
        service_time,
    }
}

/// Sends a request on a new connection for each instant, all at once; gives how long each took.
fn burst(target: &RunningTarget, requests: usize) -> Vec<Duration> {
    let mut clients: Vec<_> = std::iter::repeat_with(|| Client::plain(target))
        .take(requests)
        .collect();
    let sent_at = Instant::now();
    clients.iter_mut().for_each(|client| client.send(GET));
    let receive = |client: &mut Client| {
        assert_eq!(client.receive(sound().len()), sound());
        sent_at.elapsed()
    };
    clients.iter_mut().map(receive).collect()
}

#[test]
fn servers_take_one_request_each_at_a_time_over_all_connections() {
    let target = RunningTarget::new(Config {
        answer: paced(servers(2, 20 * MS)),
        ..Config::plain()
    })
    .unwrap();
    let mut took = burst(&target, 6);
    took.sort_unstable();
    for (nth, took) in (0..).zip(took) {
        let served = 20 * MS * (nth / 2 + 1);
        assert!(
            (served..DEADLINE).contains(&took),
            "request {nth} after {took:?}"
        );
    }
    let counts = target.stop();
    assert_eq!(
        (counts.requests, counts.responses, counts.statuses[&200]),
        (6, 6, 6)
    );
}

#[test]
fn connections_on_several_threads_stand_in_one_line() {
    let threads = std::num::NonZeroUsize::new(3).unwrap();
    let target = RunningTarget::new(Config {
        threads,
        answer: paced(servers(1, 5 * MS)),
        ..Config::plain()
    })
    .unwrap();
    assert!(burst(&target, 12).into_iter().max().unwrap() >= 60 * MS);
}

#[test]
fn what_comes_in_a_stall_is_answered_at_its_end_over_tls_too() {
    let stall = Pace::Stall {
        every: 1000 * MS,
        lasts: 30 * MS,
        first: Duration::ZERO,
    };
    let target = RunningTarget::new(Config {
        answer: paced(stall),
        ..Config::default()
    })
    .unwrap();
    let mut client = Client::tls(&target, &trusting(&target, &[&TLS13])).unwrap();
    let took = [30 * MS, Duration::ZERO].map(|at_least| {
        let sent_at = Instant::now();
        client.send(GET);
        assert_eq!(client.receive(sound().len()), sound());
        (sent_at.elapsed(), at_least)
    });
    // The first request begins the first stall; the second comes after it.
    for (took, at_least) in took {
        assert!(took >= at_least, "{took:?}, and not before {at_least:?}");
    }
    assert_eq!(target.stop().responses, 2);
}

#[test]
fn stalls_can_be_counted_from_a_given_instant() {
    let stall = Pace::Stall {
        every: 1000 * MS,
        lasts: 40 * MS,
        first: 20 * MS,
    };
    let paced_from = Instant::now();
    let target = RunningTarget::new(Config {
        answer: paced(stall),
        paced_from: Some(paced_from),
        ..Config::plain()
    })
    .unwrap();
    let mut client = Client::plain(&target);
    while paced_from.elapsed() < 20 * MS {
        std::thread::yield_now();
    }
    client.send(GET);
    client.receive(1);
    assert!((60 * MS..DEADLINE).contains(&paced_from.elapsed()));
}

#[test]
fn each_path_has_a_line_of_its_own() {
    let paths = vec![("/free".to_owned(), TargetAnswer::default())];
    let target = RunningTarget::new(Config {
        answer: paced(servers(1, DEADLINE)),
        paths,
        ..Config::plain()
    })
    .unwrap();
    let (mut waiting, mut free) = (Client::plain(&target), Client::plain(&target));
    waiting.send(GET);
    free.send(b"GET /free HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(free.receive(sound().len()), sound());
}

#[test]
fn interim_answers_come_before_the_wait() {
    let answer = TargetAnswer {
        interim: vec![103],
        ..paced(servers(1, DEADLINE))
    };
    let target = RunningTarget::new(Config {
        answer,
        ..Config::plain()
    })
    .unwrap();
    let mut client = Client::plain(&target);
    client.send(GET);
    assert_eq!(client.receive(12), "HTTP/1.1 103");
}

#[test]
fn stall_without_an_end_is_refused() {
    let stall = Pace::Stall {
        every: MS,
        lasts: MS,
        first: Duration::ZERO,
    };
    let refused = RunningTarget::new(Config {
        answer: paced(stall),
        ..Config::plain()
    });
    assert!(
        refused
            .err()
            .unwrap()
            .to_string()
            .starts_with("a stall of 1ms every 1ms would never end")
    );
}
