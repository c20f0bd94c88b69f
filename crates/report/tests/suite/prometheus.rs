//! What Prometheus scrapes. The package `interop` tests that Prometheus itself accepts it.

use crate::golden::{assert_golden, document};
use report::PrometheusFormat;
use std::collections::BTreeSet;

fn prometheus(document: &analysis::Document) -> String {
    String::from_utf8(PrometheusFormat::Text.render(document)).unwrap()
}

#[test]
fn metrics_are_as_agreed() {
    let text = prometheus(&document());
    assert_golden("metrics.txt", &text);
}

#[test]
fn journeys_have_metrics_if_there_are_any() {
    let mut document = document();
    assert!(!prometheus(&document).contains("journey"));
    let times = document.measured.times["response_time"].clone();
    document.journeys = vec![analysis::JourneyFigures {
        name: "buyer".to_owned(),
        completed: 32,
        failed: 7,
        time: Some(times),
        steps: vec![analysis::StepFigures {
            name: "search (2)".to_owned(),
            ok: 31,
            failed: 7,
            ..analysis::StepFigures::default()
        }],
        ..analysis::JourneyFigures::default()
    }];
    let text = prometheus(&document);
    for line in [
        "cannonade_journeys_total{run=",
        "journey=\"buyer\",outcome=\"completed\"} 32",
        "journey=\"buyer\",step=\"search (2)\",outcome=\"failed\"} 7",
        "journey=\"buyer\",le=\"+Inf\"} ",
        "cannonade_journey_time_seconds_sum{run=",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("cannonade_journey_wait_seconds_count{"));
    let mut other = document.journeys[0].clone();
    other.name = "visitor".to_owned();
    document.journeys.push(other);
    let text = prometheus(&document);
    let of_journeys = text.lines().filter(|line| line.contains("journey"));
    let samples = of_journeys.filter(|line| !line.starts_with('#'));
    let samples: Vec<&str> = samples
        .map(|line| line.rsplit_once(' ').unwrap().0)
        .collect();
    let distinct: BTreeSet<&&str> = samples.iter().collect();
    assert_eq!(
        distinct.len(),
        samples.len(),
        "no sample stands twice: {text}"
    );
}

#[test]
fn redirects_tokens_and_signatures_have_metrics_if_there_are_any() {
    let mut document = document();
    for name in ["redirects", "token", "signing"] {
        assert!(!prometheus(&document).contains(name), "{name}");
    }
    document.redirects = vec![analysis::RedirectFigures {
        request: "home".to_owned(),
        followed: 12,
        statuses: [(301, 5), (307, 7)].into(),
    }];
    document.tokens = vec![analysis::TokenFigures {
        auth: "api".to_owned(),
        fetched: 3,
        not_fetched: 1,
        ran_out: 2,
        requests: 100,
        expired_requests: 4,
        ..analysis::TokenFigures::default()
    }];
    document.client.signing = Some(analysis::SigningFigures {
        made: 100,
        timed: 2,
        cpu_ns: 1_500_000,
        cpus: 0.1,
    });
    let text = prometheus(&document);
    for line in [
        "request=\"home\",status=\"307\"} 7",
        "auth=\"api\",outcome=\"ok\"} 3",
        "auth=\"api\",outcome=\"failed\"} 1",
        "auth=\"api\"} 2",
        "auth=\"api\",token=\"valid\"} 96",
        "auth=\"api\",token=\"expired\"} 4",
        "cannonade_signing_cpu_seconds_total{run=",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(text.contains("} 0.0015\n"), "{text}");
}

#[test]
fn run_that_goes_on_has_no_verdict_yet() {
    let mut document = document();
    assert_eq!(
        prometheus(&document).matches("cannonade_verdict{").count(),
        analysis::Verdict::ALL.len()
    );
    document.run.state = analysis::RunState::Incomplete;
    assert!(!prometheus(&document).contains("cannonade_verdict{"));
}

#[test]
fn no_sample_stands_twice_and_hostile_names_end_no_line() {
    let mut document = document();
    document.run.name = "a\"} 1\nup{x=\"\\".to_owned();
    document.agents[1].name = document.agents[0].name.clone();
    document.by_agent[1].name = document.by_agent[0].name.clone();
    document.machines[1].name = document.machines[0].name.clone();
    let text = prometheus(&document);
    let mut seen = BTreeSet::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (sample, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
        assert!(sample.starts_with("cannonade_"), "{line}");
        assert!(seen.insert(sample.to_owned()), "twice: {sample}");
    }
    assert!(text.contains(r#"plan="a\"} 1\nup{x=\"\\""#), "{text}");
}

#[test]
fn calls_of_grpc_have_a_metric_if_there_are_any() {
    let mut document = document();
    assert!(!prometheus(&document).contains("grpc"));
    document.grpc = vec![analysis::GrpcFigures {
        messages: Vec::new(),
        request: "greet".to_owned(),
        answered: 12,
        statuses: [("ok".to_owned(), 5), ("unavailable".to_owned(), 7)].into(),
    }];
    let text = prometheus(&document);
    assert!(text.contains("# TYPE cannonade_grpc_calls"), "{text}");
    let line = "request=\"greet\",status=\"unavailable\"} 7";
    assert!(text.contains(line), "{text}");
}

#[test]
fn websockets_have_metrics_if_there_are_any() {
    let mut document = document();
    assert!(!prometheus(&document).contains("message"));
    document.websockets = vec![analysis::WebSocketFigures {
        request: "room".to_owned(),
        opened: 3,
        sent: 17,
        closed: [(1000, 2)].into(),
        ..analysis::WebSocketFigures::default()
    }];
    let text = prometheus(&document);
    for line in [
        "cannonade_websockets_opened_total{run=",
        "request=\"room\",code=\"1000\"} 2",
        "request=\"room\",message=\"sent\"} 17",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}
