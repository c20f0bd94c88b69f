//! Broken servers: each fault counts as one kind at its stage, and never causes a hang, a panic or
//! a busy loop.

use crate::support::{parse, run};
use measure::{Counters, Period};
use std::time::{Duration, Instant};
use target::{
    BadFraming, BodyFraming, CertificateDefect, Config, ConnectionEnd, FaultPlace, KeepAlive,
    LastRequest, OpeningFault, RunningTarget, ServerTls, TargetAnswer, TargetFault,
};

const TIMEOUTS: &str =
    "connection.timeouts = { connect = \"400ms\", handshake = \"400ms\", request = \"400ms\" }\n";
const LOAD: &str = "load = { connections = 2, requests = 6 }\n";

fn answering(answer: TargetAnswer) -> Config {
    Config {
        answer,
        ..Config::plain()
    }
}

fn with_tls(config: Config) -> Config {
    Config {
        tls: Some(ServerTls::default()),
        ..config
    }
}

fn measured(config: Config, sections: &str) -> Counters {
    let server = RunningTarget::new(config).unwrap();
    let text = format!(
        "name = \"t\"\ntarget.url = \"{}\"\n{sections}",
        server.url("/")
    );
    let text = if server.ca_pem().is_some() && !sections.contains("tls.") {
        format!("{text}tls.ca = \"ca.pem\"\n")
    } else {
        text
    };
    let outcome = run(parse(&text, server.ca_pem()));
    outcome.counters(Period::Measured)
}

/// Names of the failures, and how often each occurred.
fn failures(counters: &Counters) -> Vec<(String, u64)> {
    counters
        .failures
        .iter()
        .map(|(failure, number)| (failure.to_string(), *number))
        .collect()
}

#[test]
fn each_fault_has_one_name() {
    let stop = |at, then| TargetAnswer::faulty(TargetFault::Stop { at, then });
    let broken = |fault| Config {
        connection_fault: Some(fault),
        ..Config::plain()
    };
    let certificate = |fault| Config {
        tls: Some(ServerTls {
            certificate_fault: Some(fault),
            ..ServerTls::default()
        }),
        ..Config::default()
    };
    let cases: Vec<(&str, Config, &str)> = vec![
        (
            "closes before the head",
            answering(stop(FaultPlace::BeforeHead, ConnectionEnd::Orderly)),
            "http.eof",
        ),
        (
            "closes in the head",
            answering(stop(FaultPlace::InHead, ConnectionEnd::Orderly)),
            "http.eof",
        ),
        (
            "closes in the body",
            answering(stop(FaultPlace::InBody, ConnectionEnd::Orderly)),
            "http.short_body",
        ),
        (
            "resets in the body",
            answering(stop(FaultPlace::InBody, ConnectionEnd::Reset)),
            "http.reset",
        ),
        (
            "hangs in the body",
            answering(stop(FaultPlace::InBody, ConnectionEnd::Hang)),
            "http.time_out",
        ),
        (
            "never answers",
            answering(TargetAnswer::faulty(TargetFault::never_answers())),
            "http.time_out",
        ),
        (
            "answers 500",
            answering(TargetAnswer::status(500)),
            "http.status.500",
        ),
        (
            "answers 404 over TLS",
            with_tls(answering(TargetAnswer::status(404))),
            "http.status.404",
        ),
        (
            "closes TLS in the body",
            with_tls(answering(stop(FaultPlace::InBody, ConnectionEnd::Truncate))),
            "http.short_body",
        ),
        (
            "resets the handshake",
            with_tls(broken(OpeningFault::Reset)),
            "tls.reset",
        ),
        (
            "closes the handshake",
            with_tls(broken(OpeningFault::Close)),
            "tls.eof",
        ),
        (
            "speaks garbage",
            with_tls(broken(OpeningFault::Garbage)),
            "tls.bad_tls",
        ),
        (
            "is silent in the handshake",
            with_tls(broken(OpeningFault::Silence)),
            "tls.time_out",
        ),
        (
            "expired",
            certificate(CertificateDefect::Expired),
            "tls.certificate.expired",
        ),
        (
            "not yet valid",
            certificate(CertificateDefect::NotYetValid),
            "tls.certificate.not_yet_valid",
        ),
        (
            "wrong name",
            certificate(CertificateDefect::WrongName),
            "tls.certificate.wrong_name",
        ),
        (
            "self-signed",
            certificate(CertificateDefect::SelfSigned),
            "tls.certificate.self_signed",
        ),
    ];
    for (name, config, failure) in cases {
        let began = Instant::now();
        // Short only where a time-out is the fault: a busy machine is slow.
        let timeouts = match failure.ends_with("time_out") {
            true => TIMEOUTS,
            false => "",
        };
        let counters = measured(config, &format!("{timeouts}{LOAD}"));
        assert_eq!(failures(&counters), [(failure.to_owned(), 6)], "{name}");
        assert_eq!((counters.started, counters.ok), (6, 0), "{name}");
        assert!(
            began.elapsed() < Duration::from_secs(8),
            "{name} took {:?}",
            began.elapsed()
        );
    }
}

#[test]
fn check_of_an_answer_that_is_lost_does_not_count() {
    let stop = |at, then| TargetAnswer::faulty(TargetFault::Stop { at, then });
    let plan = format!("request.expect = {{ contains = \"no such text\" }}\n{LOAD}");
    let cases = [
        (TargetAnswer::default(), "http.check.1"),
        (
            stop(FaultPlace::InBody, ConnectionEnd::Orderly),
            "http.short_body",
        ),
        (stop(FaultPlace::InBody, ConnectionEnd::Reset), "http.reset"),
        (TargetAnswer::status(500), "http.status.500"),
    ];
    for (answer, name) in cases {
        let counters = measured(answering(answer), &plan);
        assert_eq!(failures(&counters), [(name.to_owned(), 6)]);
    }
}

#[test]
fn every_bad_framing_is_refused() {
    for framing in BadFraming::ALL
        .into_iter()
        .filter(|framing| *framing != BadFraming::SurplusBytes)
    {
        let counters = measured(
            answering(TargetAnswer::faulty(TargetFault::BadFraming(framing))),
            LOAD,
        );
        let name = if matches!(
            framing,
            BadFraming::HeaderTooLarge | BadFraming::TooManyHeaders
        ) {
            "http.head_too_large"
        } else {
            "http.bad_framing"
        };
        assert_eq!(failures(&counters), [(name.to_owned(), 6)], "{framing:?}");
    }
}

#[test]
fn surplus_bytes_spoil_the_connection_and_not_the_answer() {
    let counters = measured(
        answering(TargetAnswer::faulty(TargetFault::BadFraming(
            BadFraming::SurplusBytes,
        ))),
        LOAD,
    );
    assert_eq!(
        (counters.ok, counters.connections.opened),
        (6, 6),
        "{counters:?}"
    );
}

#[test]
fn surplus_bytes_are_judged_alike_with_and_without_tls() {
    for surplus in [1, 7, 17_000, 40_000, 300_000] {
        for then in [
            ConnectionEnd::Orderly,
            ConnectionEnd::Truncate,
            ConnectionEnd::Hang,
        ] {
            let bytes = [
                b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec(),
                vec![b'x'; surplus],
            ]
            .concat();
            let config = answering(TargetAnswer::faulty(TargetFault::Raw { bytes, then }));
            let judged = [config.clone(), with_tls(config)].map(|config| {
                let counters = measured(config, LOAD);
                (
                    counters.ok,
                    failures(&counters),
                    counters.connections.opened,
                )
            });
            assert_eq!(judged[0], judged[1], "{surplus} bytes, {then:?}");
            assert_eq!(judged[0], (6, vec![], 6), "{surplus} bytes, {then:?}");
        }
    }
}

#[test]
fn sound_answers_of_every_form_are_ok() {
    let answers = [
        TargetAnswer {
            framing: BodyFraming::Chunked,
            body_bytes: 200_000,
            ..TargetAnswer::default()
        },
        TargetAnswer {
            framing: BodyFraming::EofDelimited,
            ..TargetAnswer::default()
        },
        TargetAnswer {
            interim: vec![100, 103],
            ..TargetAnswer::default()
        },
        TargetAnswer::status(204),
        TargetAnswer::status(304),
        TargetAnswer {
            body_bytes: 0,
            ..TargetAnswer::default()
        },
        TargetAnswer {
            body_bytes: 3_000_000,
            ..TargetAnswer::default()
        },
    ];
    for answer in answers {
        let expected = if matches!(answer.status, 204 | 304) {
            0
        } else {
            6 * answer.body_bytes
        };
        for config in [
            answering(answer.clone()),
            with_tls(answering(answer.clone())),
        ] {
            let counters = measured(config, LOAD);
            assert_eq!(
                (counters.ok, counters.payload_bytes),
                (6, expected),
                "{answer:?}: {:?}",
                failures(&counters)
            );
        }
    }
}

#[test]
fn head_requests_have_no_body() {
    let counters = measured(
        Config::plain(),
        &format!("request = {{ method = \"HEAD\" }}\n{LOAD}"),
    );
    assert_eq!((counters.ok, counters.payload_bytes), (6, 0));
}

#[test]
fn unexpected_length_and_status_are_failures() {
    let counters = measured(
        Config::plain(),
        &format!("request = {{ expect = {{ bytes = 355 }} }}\n{LOAD}"),
    );
    assert_eq!(failures(&counters), [("http.body_length".to_owned(), 6)]);
    let counters = measured(
        answering(TargetAnswer::status(404)),
        &format!("request = {{ expect = {{ status = [404] }} }}\n{LOAD}"),
    );
    assert_eq!(counters.ok, 6);
}

#[test]
fn reused_connection_that_the_server_closed_is_no_failure() {
    // The server closes silently when the third request arrives: each reused connection is tried
    // once and replaced.
    let keep_alive = KeepAlive {
        requests: std::num::NonZeroU32::new(2),
        last: LastRequest::Silent,
        ..KeepAlive::default()
    };
    let config = Config {
        keep_alive,
        ..Config::plain()
    };
    let mut seen = Vec::new();
    // On a busy machine it can close so late that it could have worked on the request.
    for _ in 0..5 {
        let counters = measured(
            config.clone(),
            "load = { connections = 1, requests = 20 }\n",
        );
        if (counters.ok, failures(&counters).len()) == (20, 0) {
            assert_eq!(counters.connections.opened, 10);
            return;
        }
        seen.push(failures(&counters));
    }
    panic!("{seen:?}");
}

#[test]
fn refused_connections_are_retried_with_back_off() {
    let sharing = "request = [{ name = \"a\" }]\njourney = { steps = [\"a\"], connection = \
                   \"shared\" }\nload = { users = 4, max_connections = 2";
    for users in ["load = { connections = 4", sharing] {
        let text = format!(
            "name = \"t\"\ntarget.url = \"http://127.0.0.1:9/\"\n{users}, duration = \"4s\" }}"
        );
        let counters = run(parse(&text, None)).measured();
        let refused: u64 = counters.failures.values().sum();
        assert_eq!(
            failures(&counters),
            [("connect.refused".to_owned(), refused)]
        );
        // At most 10, 20, 40 … ms up to a second, jittered down to half: each user tries 10 to 15
        // times in 4 s, not thousands.
        assert!((20..=80).contains(&refused), "{users}: {refused}");
        assert_eq!(
            counters.connections.back_offs, refused,
            "{:?}",
            counters.connections
        );
    }
}

#[test]
fn target_that_may_not_be_fired_at_is_refused_before_the_run() {
    let plan = parse(
        "name = \"t\"\ntarget.url = \"http://192.0.2.1/\"\nload = { connections = 1, requests = 1 \
         }\n",
        None,
    );
    let placement = engine::Placement {
        agent: 0,
        agents: 1,
        cpus: vec![None],
    };
    let refused = engine::prepare(plan.into(), placement, engine::Policy::default())
        .err()
        .unwrap()
        .to_string();
    assert!(refused.contains("--allow 192.0.2.1"), "{refused}");
}

#[test]
fn more_requests_and_addresses_than_totals_hold_are_refused_before_the_run() {
    let refused = |requests: usize, addresses: u8| {
        let list: Vec<String> = (1..=addresses)
            .map(|last| format!("127.0.0.{last}"))
            .collect();
        let requests: String = (0..requests)
            .map(|nth| format!("[[request]]\npath = \"/{nth}\"\n"))
            .collect();
        let target = format!("target = {{ url = \"http://edge.test/\", addresses = {list:?} }}");
        let text = format!("{target}\nload = {{ connections = 1, requests = 1 }}\n{requests}");
        let placement = engine::Placement {
            agent: 0,
            agents: 1,
            cpus: vec![None],
        };
        let prepared = engine::prepare(
            parse(&text, None).into(),
            placement,
            engine::Policy::default(),
        );
        prepared.err().map(|error| error.to_string())
    };
    assert_eq!(refused(100, 16), None);
    let said = refused(1000, 5).unwrap();
    assert!(
        said.contains("1000 requests at 5 addresses") && said.contains("12000 cells"),
        "{said}"
    );
}
