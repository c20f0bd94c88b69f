//! Intervals go in, a document comes out: nothing counts twice, nothing is lost, sums are exact.

use crate::scene::{
    CLOSED, MS, OPEN, QUIET, SECOND, Second, collector, cpu, end, fire, plan, snapshot,
};
use analysis::{Added, AgentEnd, AgentEndCause, RunState, TimeFigure, Verdict};
use measure::{
    Chain, Distribution, HandshakeKind, Metric, Negotiated, Outcome, Period, Snapshot, Staple,
};
use std::collections::BTreeMap;

#[test]
fn figures_are_those_worked_out_by_hand() {
    let mut collector = collector(CLOSED, "");
    fire(&mut collector, QUIET, cpu(0.3, 0.2));
    let document = collector.document(RunState::Complete);
    // 2 agents × 2 requests × 4 measured seconds × 5 operations.
    let measured = &document.measured;
    assert_eq!(
        (
            measured.operations.started,
            measured.operations.ok,
            measured.operations.ended
        ),
        (80, 80, 80)
    );
    assert_eq!(
        (
            measured.rates.ok_per_second,
            measured.rates.started_per_second
        ),
        (20.0, 20.0)
    );
    assert_eq!(
        (
            measured.bytes.payload_bytes,
            measured.rates.payload_bytes_per_second
        ),
        (8000, 2000.0)
    );
    assert_eq!(measured.operations.error_share, Some(0.0));
    let response_time = &measured.times["response_time"];
    assert_eq!(
        (
            response_time.count,
            response_time.mean_ns,
            response_time.sd_ns
        ),
        (80, 20e6, 0.0)
    );
    assert_eq!(
        (response_time.min_ns, response_time.max_ns),
        (20 * MS, 20 * MS)
    );
    assert_eq!(document.warm_up.unwrap().operations.ok, 40);
    assert_eq!(document.run.duration_ns, 4 * SECOND);
    let skew = document.skew.unwrap();
    assert_eq!((skew.skew_ns, skew.bound_ns), (2_000_000, 1_500_000));
}

/// A second with a handshake stapled with a response of this age at the start, to be renewed within
/// an hour.
fn stapled(age_s: i64) -> Snapshot {
    // 2026-01-02T03:04:05Z, when the run of the scene starts.
    let this_update = 1_767_323_045 - age_s;
    let ocsp_staple = Some(Staple {
        this_update,
        next_update: this_update + 3600,
        produced_at: this_update,
    });
    let kind = HandshakeKind::Full;
    let (alpn, signature_scheme) = (String::new(), 0x0403);
    let agreed = Negotiated {
        version: 0x0304,
        suite: 0x1302,
        group: 0x001d,
        signature_scheme,
        alpn,
        kind,
        ocsp_staple,
    };
    let mut snapshot = snapshot(2, QUIET);
    let cell = snapshot.cells.values_mut().next().unwrap();
    cell.counters.negotiated.insert(agreed, 1);
    cell.counters.chains.insert(
        Chain {
            sha256: [1; 32],
            key: "RSA 2048".to_owned(),
            certificates: 1,
            bytes: 800,
        },
        1,
    );
    let mut ratio = Distribution::default();
    ratio.record(2500);
    cell.times
        .insert((Outcome::Ok, Metric::HandshakeFullInConnects), ratio);
    snapshot
}

#[test]
fn staples_are_as_old_as_when_the_run_began_and_an_expired_one_is_remarked_on() {
    for (age_s, expired) in [(60, false), (-60, false), (7200, true)] {
        let mut collector = collector(CLOSED, "");
        collector.add(0, 2, &stapled(age_s));
        let document = collector.document(RunState::Complete);
        let parts = [
            &document.measured,
            &document.by_address[0].figures,
            &document.by_agent[0].figures,
        ];
        for figures in parts {
            let [staple] = &figures.ocsp_staples[..] else {
                panic!("{:?}", figures.ocsp_staples)
            };
            assert_eq!(
                (staple.age_at_start_s, staple.expired, staple.share),
                (Some(age_s), expired, 1.0)
            );
        }
        let remarks = document
            .notes
            .iter()
            .filter(|note| note.contains("OCSP response that was to be renewed by"))
            .count();
        assert_eq!(remarks, usize::from(expired), "{:?}", document.notes);
    }
}

#[test]
fn handshakes_in_connects_are_no_times() {
    let mut collector = collector(CLOSED, "");
    collector.add(0, 2, &stapled(0));
    let measured = collector.document(RunState::Complete).measured;
    let ratio = measured.handshake_in_connects["full"];
    assert_eq!(
        (
            ratio.count,
            ratio.p50,
            ratio.max,
            measured.handshake_in_connects.len()
        ),
        (1, 2.5, 2.5, 1)
    );
    let named = |times: &BTreeMap<String, TimeFigure>| {
        times.keys().any(|name| name.contains("in_connects"))
    };
    assert!(!named(&measured.times) && !measured.times_by_outcome.values().any(named));
}

#[test]
fn parts_add_up_to_the_whole() {
    let mut collector = collector(CLOSED, "");
    fire(
        &mut collector,
        Second {
            timed_out: 1,
            ..QUIET
        },
        cpu(0.3, 0.2),
    );
    let document = collector.document(RunState::Complete);
    for groups in [
        &document.by_request,
        &document.by_address,
        &document.by_agent,
        &document.by_label,
    ] {
        assert_eq!(groups.len(), 2);
        assert_eq!(
            groups
                .iter()
                .map(|group| group.figures.operations.ended)
                .sum::<u64>(),
            document.measured.operations.ended
        );
        let counts = groups
            .iter()
            .map(|group| group.figures.times["response_time"].count);
        assert_eq!(
            counts.sum::<u64>(),
            document.measured.times["response_time"].count
        );
    }
    let names = |groups: &[analysis::FigureGroup]| {
        groups
            .iter()
            .map(|group| group.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&document.by_request), ["a", "b"]);
    assert_eq!(names(&document.by_address), ["10.0.0.1:80", "10.0.0.2:80"]);
    assert_eq!(names(&document.by_label), ["city=Berlin", "city=Oslo"]);
}

#[test]
fn sum_over_agents_is_the_merged_whole_bucket_by_bucket() {
    let mut collector = collector(CLOSED, "");
    let mut everything = Snapshot::default();
    for (agent, second) in
        (0..2_u32).flat_map(|agent| (2..6_u32).map(move |second| (agent, second)))
    {
        let response_ms = u64::from(3 + 7 * second + 50 * agent);
        let recorded = snapshot(
            second,
            Second {
                response_ms,
                ..QUIET
            },
        );
        everything.merge(&recorded);
        collector.add(agent, second, &recorded);
    }
    let measured = || {
        everything
            .cells
            .iter()
            .filter(|(key, _)| key.period == Period::Measured)
            .map(|(_, cell)| cell)
    };
    for outcome in Outcome::ALL {
        for metric in Metric::ALL {
            let mut whole = Distribution::default();
            for cell in measured() {
                cell.times
                    .get(&(outcome, metric))
                    .into_iter()
                    .for_each(|times| whole.merge(times));
                let by_second = cell
                    .response_times
                    .range((outcome, 0)..=(outcome, u32::MAX));
                by_second
                    .filter(|_| metric == Metric::ResponseTime)
                    .for_each(|(_, times)| whole.merge(times));
            }
            assert_eq!(
                collector.merge_times(Period::Measured, outcome, metric),
                whole,
                "{outcome:?} {metric:?}"
            );
        }
    }
}

#[test]
fn interval_counts_once_and_of_known_agents_only() {
    let mut collector = collector(CLOSED, "");
    let recorded = snapshot(3, QUIET);
    assert_eq!(collector.add(0, 3, &recorded), Added::Counted);
    assert_eq!(collector.add(0, 3, &recorded), Added::Duplicate);
    assert_eq!(collector.add(1, 3, &recorded), Added::Counted);
    assert_eq!(collector.add(2, 3, &recorded), Added::UnknownAgent);
    assert_eq!(
        collector
            .document(RunState::Incomplete)
            .measured
            .operations
            .ended,
        20
    );
}

#[test]
fn totals_that_differ_by_one_value_make_the_run_invalid_and_name_the_agent() {
    let mut collector = collector(CLOSED, "");
    fire(&mut collector, QUIET, cpu(0.3, 0.2));
    let mut totals = Snapshot::default();
    (0..6).for_each(|second| {
        totals.merge(&snapshot(
            second,
            if second == 5 {
                Second {
                    response_ms: 21,
                    ..QUIET
                }
            } else {
                QUIET
            },
        ))
    });
    collector.ended(1, end(totals, cpu(0.3, 0.2)));
    let document = collector.document(RunState::Complete);
    assert_eq!(
        (
            document.agents[0].totals_match,
            document.agents[1].totals_match
        ),
        (Some(true), Some(false))
    );
    assert_eq!(document.verdict.verdict, Verdict::Invalid);
    assert!(
        document.verdict.evidence[0].contains("agent two"),
        "{:?}",
        document.verdict
    );
}

#[test]
fn series_ends_with_the_load_or_the_last_operation_once_every_agent_is_over() {
    let mut collector = collector(CLOSED, "");
    assert_eq!(collector.document(RunState::Incomplete).series.end_ns, None);
    assert_eq!(
        collector.document(RunState::Incomplete).run.duration_ns,
        0,
        "nothing is measured before it begins"
    );
    for second in 0..6 {
        collector.add(0, second, &snapshot(second, QUIET));
    }
    let under_way = collector.document(RunState::Incomplete);
    assert_eq!(under_way.series.end_ns, None, "it goes on");
    fire(&mut collector, QUIET, cpu(0.3, 0.3));
    let series = collector.document(RunState::Complete).series;
    assert_eq!(series.end_ns, Some(6 * SECOND));
}

#[test]
fn lost_agent_leaves_a_visible_gap() {
    let mut collector = collector(CLOSED, "");
    fire(&mut collector, QUIET, cpu(0.3, 0.2));
    let mut other = crate::scene::collector(CLOSED, "");
    [0, 1, 3].into_iter().for_each(|second| {
        assert_eq!(
            other.add(1, second, &snapshot(second, QUIET)),
            Added::Counted
        )
    });
    other.ended(
        1,
        AgentEnd {
            cause: Some(AgentEndCause::Lost),
            intervals: Some(6),
            ..AgentEnd::default()
        },
    );
    let document = other.document(RunState::Complete);
    assert_eq!(document.agents[1].missing_intervals, [(2, 2), (4, 5)]);
    assert_eq!(document.verdict.verdict, Verdict::Invalid);
    let evidence = document.verdict.evidence.join("\n");
    assert!(
        evidence.contains("2 agents (one, two) were lost")
            && evidence.contains("seconds 2, 4 to 5 are missing"),
        "{evidence}"
    );
}

#[test]
fn work_of_the_drain_counts_as_operations_but_not_as_rate() {
    let mut collector = collector(OPEN, "");
    for agent in 0..2 {
        (0..6).for_each(|second| {
            assert_eq!(
                collector.add(agent, second, &snapshot(second, QUIET)),
                Added::Counted
            )
        });
        collector.add(agent, 9, &snapshot(9, QUIET));
        collector.ended(
            agent,
            AgentEnd {
                cause: Some(AgentEndCause::Plan),
                ..AgentEnd::default()
            },
        );
    }
    let measured = collector.document(RunState::Complete).measured;
    assert_eq!(
        (
            measured.operations.ended,
            measured.rates.operations_per_second
        ),
        (100, 20.0)
    );
}

/// The last of one agent's operations ends 100 ms after the other's.
#[test]
fn run_with_a_number_of_requests_lasts_until_the_last_one_ends_wherever() {
    let mut collector = collector("connections = 10\nrequests = 40\nwarm_up = \"2s\"\n", "");
    for (agent, last_ms) in [(0, 3_500), (1, 3_600)] {
        let mut last = snapshot(3, QUIET);
        last.cells
            .values_mut()
            .for_each(|cell| cell.counters.last_done_at_ns = last_ms * MS);
        last.client.fired_until_ns = (last_ms - 1000) * MS;
        assert_eq!(collector.add(agent, 2, &snapshot(2, QUIET)), Added::Counted);
        assert_eq!(collector.add(agent, 3, &last), Added::Counted);
        collector.ended(
            agent,
            AgentEnd {
                cause: Some(AgentEndCause::Plan),
                ..AgentEnd::default()
            },
        );
    }
    let document = collector.document(RunState::Complete);
    assert_eq!(document.run.duration_ns, 1600 * MS);
    let rates = &document.measured.rates;
    assert_eq!(rates.ok_per_second, 40.0 / 1.6, "40 in 1.6 s");
    assert_eq!(
        (rates.started_per_second, rates.due_per_second),
        (40.0 / 1.6, 40.0 / 1.6)
    );
    assert_eq!(
        (
            document.run.planned_operations,
            document.run.planned_duration_ns
        ),
        (Some(40), None)
    );
}

#[test]
fn stopped_run_is_as_long_as_it_was() {
    let mut collector = collector(CLOSED, "");
    for agent in 0..2 {
        (0..3).for_each(|second| {
            assert_eq!(
                collector.add(agent, second, &snapshot(second, QUIET)),
                Added::Counted
            )
        });
        let mut last = snapshot(3, QUIET);
        last.client.fired_until_ns = 3_800 * MS;
        assert_eq!(collector.add(agent, 3, &last), Added::Counted);
        collector.ended(
            agent,
            AgentEnd {
                cause: Some(AgentEndCause::Stopped),
                ..AgentEnd::default()
            },
        );
    }
    let document = collector.document(RunState::Interrupted);
    assert_eq!(
        (document.run.duration_ns, document.run.planned_duration_ns),
        (1800 * MS, Some(4 * SECOND))
    );
    assert!(
        document
            .notes
            .iter()
            .any(|note| note.contains("interrupted") && note.contains("1.80 s")),
        "{:?}",
        document.notes
    );
}

#[test]
fn second_that_only_some_have_delivered_yet_lowers_no_rate() {
    let rate_of = |last_of_other: u32| {
        let mut collector = collector(CLOSED, "");
        for (agent, last) in [(0, 5), (1, last_of_other)] {
            for second in 0..last {
                let added = collector.add(agent, second, &snapshot(second, QUIET));
                assert_eq!(added, Added::Counted);
            }
        }
        let document = collector.document(RunState::Incomplete);
        (
            document.run.duration_ns,
            document.measured.rates.operations_per_second,
        )
    };
    let (whole, rate) = rate_of(5);
    assert_eq!((whole, rate > 0.0), (3 * SECOND, true));
    assert_eq!(rate_of(4), (2500 * MS, rate));
}

#[test]
fn live_figures_are_those_of_the_last_second_all_delivered() {
    let mut collector = collector(CLOSED, "");
    assert_eq!(collector.live(), None);
    for second in 0..4 {
        (0..2).for_each(|agent| {
            assert_eq!(
                collector.add(agent, second, &snapshot(second, QUIET)),
                Added::Counted
            )
        });
    }
    collector.add(0, 4, &snapshot(4, QUIET));
    let live = collector.live().unwrap();
    assert_eq!(
        (
            live.second,
            live.ended_per_second,
            live.agents,
            live.is_warm_up
        ),
        (3, 20, 2, false)
    );
    assert_eq!((live.p50_ns, live.total_ended), (Some(20 * MS), 50));
}

#[test]
fn thresholds_are_judged_on_the_merged_whole() {
    let mut collector = collector(
        CLOSED,
        "\"response_time.p99\" = \"<= 25ms\"\n\"rate\" = \">= 21\"\n\"dns.max\" = \"<= 1s\"\n",
    );
    fire(&mut collector, QUIET, cpu(0.3, 0.2));
    let judged = collector.document(RunState::Complete).thresholds;
    assert_eq!(
        judged.iter().map(|one| one.passed).collect::<Vec<_>>(),
        [true, false, false]
    );
    assert_eq!(
        (
            judged[1].actual,
            judged[1].metric.as_str(),
            judged[1].comparison.as_str()
        ),
        (Some(20.0), "rate", ">=")
    );
    assert_eq!(judged[2].reason.as_deref(), Some("no dns was measured"));
}

/// Both requests have the same load; one of them fails, and is slower.
#[test]
fn thresholds_of_a_request_are_judged_on_what_all_agents_did_of_it() {
    let thresholds = "request.a.response_time.p99 = \"<= 25ms\"\n\
                      request.b.response_time.p99 = \"<= 25ms\"\n\
                      request.a.errors.count = \"<= 0\"\n\
                      request.b.errors.count = \"<= 0\"\n\
                      request.a.rate = \">= 10\"\n\
                      response_time.p99 = \"<= 25ms\"\n";
    let mut collector = collector(CLOSED, thresholds);
    for agent in 0..2 {
        for second in 0..6 {
            let slow = Second {
                ok: 4,
                timed_out: 1,
                response_ms: 40,
                ..QUIET
            };
            let mut both = snapshot(second, QUIET);
            let of_b = snapshot(second, slow).cells;
            let of_b = of_b.into_iter().filter(|(key, _)| key.request == 1);
            both.cells.extend(of_b);
            collector.add(agent, second, &both);
        }
    }
    let document = collector.document(RunState::Interrupted);
    let judged: Vec<_> = document
        .thresholds
        .iter()
        .map(|one| (one.metric.as_str(), one.passed, one.actual))
        .collect();
    let ms = |ms: u64| Some((ms * MS) as f64);
    assert_eq!(
        judged,
        [
            ("request.a.response_time.p99", true, ms(20)),
            ("request.b.response_time.p99", false, ms(40)),
            ("request.a.errors.count", true, Some(0.0)),
            // 2 agents × 4 seconds.
            ("request.b.errors.count", false, Some(8.0)),
            ("request.a.rate", true, Some(10.0)),
            ("response_time.p99", false, ms(40)),
        ]
    );
}

#[test]
fn request_that_was_never_sent_keeps_no_threshold_on_its_times() {
    let thresholds = "request.b.response_time.p99 = \"<= 25ms\"\n\
                      request.b.operations.count = \">= 1\"\n";
    let mut collector = collector(CLOSED, thresholds);
    for second in 0..6 {
        let mut only_a = snapshot(second, QUIET);
        only_a.cells.retain(|key, _| key.request == 0);
        collector.add(0, second, &only_a);
    }
    let judged = collector.document(RunState::Interrupted).thresholds;
    assert_eq!(
        judged[0].reason.as_deref(),
        Some("no response_time was measured")
    );
    assert!(judged.iter().all(|one| !one.passed), "{judged:?}");
}

#[test]
fn every_number_a_plan_may_name_has_a_value_here() {
    for name in plan::ThresholdMetric::NUMBERS {
        assert!(
            analysis::NUMBERS.contains(&name),
            "{name}: in plan, not in analysis"
        );
    }
    for name in analysis::NUMBERS
        .iter()
        .copied()
        .chain(["errors.connect.refused.count", "errors.tls.share"])
    {
        assert!(
            name.parse::<plan::ThresholdMetric>().is_ok(),
            "{name}: in analysis, not in plan"
        );
    }
}

#[test]
fn plan_is_recorded_as_given_with_its_digest() {
    let document = collector(OPEN, "").document(RunState::Incomplete);
    assert_eq!(
        document.plan.digest,
        plan(OPEN, "", "").digest().to_string()
    );
    assert_eq!(document.plan.url, "http://example.test:8080/");
    let open = matches!(
        document.plan.load,
        analysis::LoadRecord::Open {
            max_connections: 10,
            ..
        }
    );
    assert!(open, "{:?}", document.plan.load);
}

#[test]
fn figures_that_are_no_numbers_do_not_reach_the_document() {
    let mut collector = collector(CLOSED, "");
    fire(&mut collector, QUIET, cpu(f64::NAN, f64::INFINITY));
    let cpu = collector.document(RunState::Complete).agents[0]
        .cpu
        .unwrap();
    assert_eq!(
        (cpu.busiest_worker_share_mean, cpu.machine_busy_share_mean),
        (0.0, 0.0)
    );
}

#[test]
fn counts_at_the_end_of_their_type_do_not_wrap() {
    let mut collector = collector(CLOSED, "");
    let mut huge = snapshot(
        3,
        Second {
            timed_out: 1,
            not_sent: 1,
            ..QUIET
        },
    );
    for cell in huge.cells.values_mut() {
        (
            cell.counters.ok,
            cell.counters.failed,
            cell.counters.started,
        ) = (u64::MAX, u64::MAX, u64::MAX);
        cell.counters
            .failures
            .values_mut()
            .for_each(|count| *count = u64::MAX);
    }
    // The live view believes a second this far ahead only once its successor arrives.
    for second in [u32::MAX - 1, u32::MAX] {
        (0..2).for_each(|agent| assert_eq!(collector.add(agent, second, &huge), Added::Counted));
    }
    assert_eq!(
        collector
            .document(RunState::Complete)
            .measured
            .operations
            .ended,
        u64::MAX
    );
    assert_eq!(collector.live().unwrap().errors, u64::MAX);
}

/// Handshakes of one cell, and the sessions they offered: the issuer, whether they were accepted,
/// and how many.
fn handshakes(number: u64, offers: &[(&str, bool, u64)]) -> measure::Cell {
    let mut cell = measure::Cell::default();
    let agreed = measure::Negotiated {
        version: 0x0304,
        suite: 0x1302,
        group: 0x001d,
        signature_scheme: 0,
        alpn: String::new(),
        kind: measure::HandshakeKind::Full,
        ocsp_staple: None,
    };
    cell.counters.negotiated.insert(agreed, number);
    let offer = |&(issuer, accepted, number): &(&str, bool, u64)| {
        (
            measure::SessionOffer {
                issuer: issuer.parse().ok(),
                accepted,
            },
            number,
        )
    };
    cell.counters.session_offers = offers.iter().map(offer).collect();
    cell
}

#[test]
fn sessions_make_a_matrix_of_who_issued_and_who_took_them() {
    let (one, two) = ("10.0.0.1:443", "10.0.0.2:443");
    let offers = |cells: &[(u16, &str, measure::Cell)], period| {
        let mut collector = collector(CLOSED, "");
        for agent in 0..2 {
            let cells = cells.iter().map(|(request, address, cell)| {
                (crate::scene::key(period, *request, address), cell.clone())
            });
            assert_eq!(
                collector.add(
                    agent,
                    3,
                    &Snapshot {
                        cells: cells.collect(),
                        ..Snapshot::default()
                    }
                ),
                Added::Counted
            );
        }
        let document = collector.document(RunState::Complete);
        let found = document.session_offers.iter();
        let rows = found.map(|offers| {
            (
                offers.issued_by.clone(),
                offers.offered_to.clone(),
                offers.offered,
                offers.accepted,
            )
        });
        (
            rows.collect::<Vec<_>>(),
            document
                .notes
                .iter()
                .filter(|note| note.contains("ticket keys"))
                .count(),
        )
    };
    let cells = [
        (
            0,
            one,
            handshakes(9, &[(one, true, 4), (two, false, 2), ("", false, 1)]),
        ),
        (
            1,
            one,
            handshakes(3, &[(one, true, 1), (one, false, 1), (two, true, 1)]),
        ),
        (0, two, handshakes(2, &[(two, true, 2)])),
    ];
    let row =
        |by: &str, to: &str, offered, accepted| (by.to_owned(), to.to_owned(), offered, accepted);
    let expected = vec![
        row(one, one, 12, 10),
        row(two, one, 6, 2),
        row(two, two, 4, 4),
        row("others", one, 2, 0),
    ];
    for period in [Period::Measured, Period::WarmUp] {
        assert_eq!(
            offers(&cells, period),
            (expected.clone(), 1),
            "of whichever part has the handshakes"
        );
    }
    let single = [(0, one, handshakes(9, &[(one, true, 4), (one, false, 2)]))];
    assert_eq!(
        offers(&single, Period::Measured),
        (Vec::new(), 0),
        "a single address needs no matrix"
    );
}
