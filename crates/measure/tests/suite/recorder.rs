//! What the recorder makes of operations, worked out by hand.

use crate::scene::{MS, SECOND, chain, handshake, key, negotiated, operation, recorder};
use measure::{
    Cell, CellId, CellKey, Counters, EventsRead, Failure, FailureStage, HandshakeKind, Kind,
    Metric, NotSent, Operation, OperationEnd, Outcome, Period, Recorder, Snapshot, StreamCounts,
    StreamEnd, Window, Within,
};
use std::collections::BTreeMap;

/// The only cell of what `record` records in the first interval.
fn cell(record: impl FnOnce(&mut Recorder)) -> Cell {
    let mut recorder = recorder(1);
    record(&mut recorder);
    let (mut snapshot, _) = recorder.cut(SECOND, None).into_snapshot();
    assert_eq!(snapshot.cells.len(), 1);
    snapshot.cells.pop_first().unwrap().1
}

/// Adds up all cells.
fn counters(snapshot: &Snapshot) -> Counters {
    let mut sum = Counters::default();
    snapshot
        .cells
        .values()
        .for_each(|cell| sum.merge(&cell.counters));
    sum
}

/// Every time of one recorded operation, in milliseconds.
fn times(operation: Operation) -> BTreeMap<(Outcome, Metric), u64> {
    let cell = cell(|recorder| recorder.end(&operation));
    let single = |distribution: &measure::Distribution| {
        assert_eq!(
            (distribution.count, distribution.min),
            (1, distribution.max)
        );
        assert_eq!(distribution.max % MS, 0);
        distribution.max / MS
    };
    let mut times: BTreeMap<_, _> = cell
        .times
        .iter()
        .map(|(&key, distribution)| (key, single(distribution)))
        .collect();
    for (&(outcome, second), distribution) in &cell.response_times {
        assert_eq!(u64::from(second), operation.intended_at / SECOND);
        times.insert((outcome, Metric::ResponseTime), single(distribution));
    }
    times
}

fn under(outcome: Outcome, times: &[(Metric, u64)]) -> BTreeMap<(Outcome, Metric), u64> {
    times
        .iter()
        .map(|&(metric, ms)| ((outcome, metric), ms))
        .collect()
}

fn failed(stage: FailureStage, kind: Kind) -> OperationEnd {
    OperationEnd::Failed(Failure { stage, kind })
}

#[test]
fn handshake_is_measured_in_units_of_its_own_connect() {
    // 2.5 times as long; not of a retry, nor of an operation that made no connection of its own.
    let opened = |kind| Operation {
        connect: Some(4 * MS),
        handshake: Some((kind, 10 * MS)),
        ..operation(0)
    };
    let cases = [
        (HandshakeKind::Full, Some(Metric::HandshakeFullInConnects)),
        (
            HandshakeKind::Resumed,
            Some(Metric::HandshakeResumedInConnects),
        ),
        (HandshakeKind::FullRetried, None),
        (HandshakeKind::ResumedRetried, None),
    ];
    for (kind, metric) in cases {
        let times = cell(|recorder| recorder.end(&opened(kind))).times;
        let ratios: Vec<_> = times
            .iter()
            .filter(|((_, metric), _)| !metric.is_time())
            .collect();
        let expected: Vec<_> = metric
            .map(|metric| ((Outcome::Ok, metric), 2500))
            .into_iter()
            .collect();
        assert_eq!(
            ratios
                .into_iter()
                .map(|(&key, ratio)| (key, ratio.min))
                .collect::<Vec<_>>(),
            expected,
            "{kind:?}"
        );
    }
    let unknown = Operation {
        connect: None,
        ..opened(HandshakeKind::Full)
    };
    assert!(
        cell(|recorder| recorder.end(&unknown))
            .times
            .keys()
            .all(|(_, metric)| metric.is_time())
    );
}

/// Opens its connection: 1 ms for DNS, 2 ms for TCP, 4 ms for TLS.
fn opening() -> Operation {
    let begun_at = 5 * MS;
    Operation {
        ready_at: Some(begun_at + 7 * MS),
        sent_at: Some(begun_at + 7 * MS),
        written_at: Some(begun_at + 8 * MS),
        first_byte_at: Some(begun_at + 20 * MS),
        done_at: begun_at + 30 * MS,
        dns: Some(MS),
        connect: Some(2 * MS),
        handshake: Some((HandshakeKind::FullRetried, 4 * MS)),
        ..operation(0)
    }
}

#[test]
fn opening_and_processing_begin_with_the_attempt_that_its_phases_belong_to() {
    let first = times(Operation {
        tried_at: opening().begun_at,
        ..opening()
    });
    let again = times(Operation {
        tried_at: opening().begun_at + 3 * MS,
        ..opening()
    });
    let differing: Vec<_> = first
        .iter()
        .filter(|&(key, ms)| again[key] != *ms)
        .map(|(key, ms)| (key.1, *ms, again[key]))
        .collect();
    assert_eq!(differing, [(Metric::Opening, 7, 4)]);
    let open = times(Operation {
        tried_at: operation(0).begun_at + 3 * MS,
        ..operation(0)
    });
    assert_eq!(open[&(Outcome::Ok, Metric::Processing)], 9);
}

#[test]
fn operation_on_an_open_connection_has_its_own_phases_only() {
    use Metric::{
        ConnectionWait, FirstByte, Lateness, Processing, Receive, ResponseTime, ScheduleDelay,
        Send, ServiceTime,
    };
    let wanted = [
        (ResponseTime, 17),
        (ServiceTime, 12),
        (Lateness, 5),
        (ScheduleDelay, 2),
        (ConnectionWait, 3),
        (Send, 1),
        (FirstByte, 10),
        (Receive, 2),
        (Processing, 12),
    ];
    assert_eq!(times(operation(0)), under(Outcome::Ok, &wanted));
    assert_eq!(
        times(operation(7 * SECOND + 3)),
        under(Outcome::Ok, &wanted)
    );
    let noticed_late = Operation {
        noticed_at: Some(5 * MS),
        ..operation(0)
    };
    assert!(
        !times(noticed_late).contains_key(&(Outcome::Ok, ConnectionWait)),
        "a connection was free"
    );
    let closed_loop = Operation {
        noticed_at: None,
        intended_at: 5 * MS,
        ..operation(0)
    };
    let late = [Lateness, ScheduleDelay, ConnectionWait].map(|metric| (Outcome::Ok, metric));
    assert!(times(closed_loop).keys().all(|key| !late.contains(key)));
}

#[test]
fn operation_that_opens_its_connection_has_every_phase() {
    use Metric::{
        Connect, ConnectionWait, Dns, FirstByte, HandshakeFullRetried, Lateness, Opening,
        Processing, Receive, ResponseTime, ScheduleDelay, Send, ServiceTime,
    };
    let wanted = [
        (ResponseTime, 35),
        (ServiceTime, 30),
        (Lateness, 5),
        (ScheduleDelay, 2),
        (ConnectionWait, 3),
        (Dns, 1),
        (Connect, 2),
        (HandshakeFullRetried, 4),
        (Opening, 7),
        (Send, 1),
        (FirstByte, 13),
        (Receive, 10),
        (Processing, 23),
    ];
    assert_eq!(times(opening()), under(Outcome::Ok, &wanted));
}

#[test]
fn phases_that_were_not_reached_are_not_recorded() {
    use Metric::{
        Connect, ConnectionWait, Dns, Lateness, Opening, Processing, ResponseTime, ScheduleDelay,
        Send, ServiceTime,
    };
    let late = [(Lateness, 5), (ScheduleDelay, 2), (ConnectionWait, 3)];
    let refused = Operation {
        ready_at: None,
        sent_at: None,
        written_at: None,
        first_byte_at: None,
        connect: None,
        handshake: None,
        status: None,
        done_at: 8 * MS,
        end: failed(FailureStage::Connect, Kind::Refused),
        ..opening()
    };
    let wanted = [&late[..], &[(ResponseTime, 8), (ServiceTime, 3), (Dns, 1)]].concat();
    assert_eq!(times(refused), under(Outcome::Failed, &wanted));

    let handshake_only = Operation {
        sent_at: None,
        written_at: None,
        first_byte_at: None,
        handshake: None,
        status: None,
        ..opening()
    };
    let phases = [
        (ResponseTime, 35),
        (ServiceTime, 30),
        (Dns, 1),
        (Connect, 2),
        (Opening, 7),
        (Processing, 23),
    ];
    let wanted = [&late[..], &phases].concat();
    assert_eq!(times(handshake_only), under(Outcome::Ok, &wanted));

    let silent = Operation {
        first_byte_at: None,
        status: None,
        end: failed(FailureStage::Http, Kind::TimeOut),
        ..operation(0)
    };
    let wanted = [
        &late[..],
        &[
            (ResponseTime, 17),
            (ServiceTime, 12),
            (Send, 1),
            (Processing, 12),
        ],
    ]
    .concat();
    assert_eq!(times(silent), under(Outcome::TimedOut, &wanted));
}

#[test]
fn every_ended_operation_has_one_outcome_and_every_failure_one_kind() {
    let cell = cell(|recorder| {
        recorder.count_start(key(0, 1));
        for end in [
            OperationEnd::Ok,
            OperationEnd::OkUnconfirmed,
            failed(FailureStage::Http, Kind::TimeOut),
            failed(FailureStage::Connect, Kind::TimeOut),
            failed(FailureStage::Http, Kind::Status(503)),
            failed(FailureStage::Http, Kind::Status(503)),
            failed(FailureStage::Tls, Kind::AlertReceived(40)),
        ] {
            recorder.end(&Operation {
                end,
                ..operation(0)
            });
        }
        recorder.not_sent(&not_sent(key(0, 1)));
    });
    let counters = &cell.counters;
    assert_eq!(
        (
            counters.started,
            counters.ok,
            counters.timed_out,
            counters.failed
        ),
        (2, 2, 2, 4)
    );
    assert_eq!((counters.unconfirmed, counters.payload_bytes), (1, 7 * 356));
    let failures: Vec<_> = counters
        .failures
        .iter()
        .map(|(failure, count)| (failure.to_string(), *count))
        .collect();
    let wanted = [
        ("load.not_sent", 1),
        ("connect.time_out", 1),
        ("tls.alert_received.handshake_failure", 1),
        ("http.time_out", 1),
        ("http.status.503", 2),
    ];
    assert_eq!(
        failures,
        wanted.map(|(name, count)| (name.to_owned(), count))
    );
    assert_eq!(counters.statuses, BTreeMap::from([(200, 7)]));
    assert_eq!(counters.operations_ended(), 8);
    let of = |outcome| {
        cell.response_times
            .range((outcome, 0)..=(outcome, u32::MAX))
    };
    let response_times = |outcome| {
        of(outcome)
            .map(|(_, distribution)| distribution.count)
            .sum::<u64>()
    };
    assert_eq!(Outcome::ALL.map(response_times), [2, 2, 3, 1]);
}

/// Due at 1 s, noticed 4 ms later, given up at 3 s.
fn not_sent(key: CellId) -> NotSent {
    let failure = Failure {
        stage: FailureStage::Load,
        kind: Kind::NotSent,
    };
    NotSent {
        key,
        intended_at: SECOND,
        noticed_at: SECOND + 4 * MS,
        given_up_at: 3 * SECOND,
        failure,
        is_streamed: false,
    }
}

#[test]
fn what_is_never_sent_has_waited_until_it_was_given_up() {
    let cell = cell(|recorder| recorder.not_sent(&not_sent(key(0, 1))));
    let waits: Vec<_> = cell
        .times
        .iter()
        .map(|(&key, distribution)| (key, distribution.max / MS))
        .collect();
    let under = |metric| (Outcome::NotSent, metric);
    let wanted = [
        (under(Metric::Lateness), 2000),
        (under(Metric::ScheduleDelay), 4),
        (under(Metric::ConnectionWait), 1996),
    ];
    assert_eq!(waits, wanted);
    assert_eq!(
        cell.response_times[&(Outcome::NotSent, 1)].max,
        2 * SECOND,
        "by the second it was due in"
    );
}

/// Due at 100 ms, begun at 110: two events at 150 ms, one at 190, three at 250; the measured part
/// ends at 200.
#[test]
fn events_are_timed_from_the_due_instant_and_from_each_other() {
    let mut recorder = recorder(1).measuring(Window::new(0, 200 * MS));
    let mut previous_at = None;
    for (at, number) in [(150, 2), (190, 1), (250, 3)] {
        let at = at * MS;
        recorder.events(&EventsRead {
            key: key(0, 1),
            intended_at: 100 * MS,
            begun_at: 110 * MS,
            at,
            previous_at: previous_at.replace(at),
            number,
        });
    }
    recorder.stream_ended(key(0, 1), StreamEnd::Cut, 6);
    recorder.stream_ended(key(0, 1), StreamEnd::Unmarked, 0);
    recorder.event_missed(key(0, 1), (100 * MS, 110 * MS), 400 * MS);
    recorder.not_sent(&NotSent {
        is_streamed: true,
        ..not_sent(key(0, 1))
    });
    let (mut snapshot, _) = recorder.cut(SECOND, None).into_snapshot();
    let (_, cell) = snapshot.cells.pop_first().unwrap();
    let wanted = StreamCounts {
        events: 6,
        events_within: 3,
        whole: 0,
        cut: 1,
        unmarked: 1,
        empty: 1,
    };
    assert_eq!(cell.streams, wanted);
    let times = |outcome, metric| {
        let times = &cell.times[&(outcome, metric)];
        (
            times.count,
            times.min / MS,
            times.max / MS,
            times.sum / u128::from(MS),
        )
    };
    assert_eq!(times(Outcome::Ok, Metric::FirstEvent), (1, 50, 50, 50));
    assert_eq!(
        times(Outcome::Ok, Metric::FirstEventService),
        (1, 40, 40, 40)
    );
    assert_eq!(times(Outcome::Ok, Metric::EventGap), (5, 0, 60, 100));
    assert_eq!(
        times(Outcome::TimedOut, Metric::FirstEvent),
        (1, 300, 300, 300)
    );
    assert_eq!(
        times(Outcome::NotSent, Metric::FirstEvent),
        (1, 2000, 2000, 2000)
    );
}

/// The measured part is 100 to 300 ms; what counts in it is what happened between these two
/// instants.
#[test]
fn work_counts_where_it_happened_and_operations_where_they_were_due() {
    let mut recorder = recorder(1).measuring(Window::new(100 * MS, 300 * MS));
    let warm_up = CellId {
        period: Period::WarmUp,
        ..key(0, 1)
    };
    let mut ended = |key, intended_ms: u64, done_ms: u64, end| {
        let operation = Operation {
            key,
            end,
            done_at: done_ms * MS,
            ..operation(intended_ms * MS)
        };
        recorder.end(&operation);
    };
    ended(warm_up, 0, 99, OperationEnd::Ok);
    ended(warm_up, 50, 100, OperationEnd::Ok);
    ended(warm_up, 50, 350, OperationEnd::Ok);
    ended(warm_up, 99, 120, OperationEnd::Ok);
    ended(key(0, 1), 100, 150, OperationEnd::Ok);
    ended(
        key(0, 1),
        210,
        250,
        failed(FailureStage::Http, Kind::Status(500)),
    );
    ended(key(0, 1), 250, 300, OperationEnd::Ok);
    ended(key(0, 1), 280, 301, OperationEnd::Ok);
    for (at, sent) in [(99, 1), (100, 2), (300, 4), (301, 8)] {
        recorder.wire_bytes(key(0, 1), at * MS, sent, 10 * sent);
    }
    let (snapshot, _) = recorder.cut(SECOND, None).into_snapshot();
    let within: Vec<Within> = snapshot
        .cells
        .values()
        .map(|cell| cell.counters.within)
        .collect();
    // One began at 55 ms and ended at 350: 200 of 295 ms lie in it. One waited until 104 ms.
    let of_warm_up = Within {
        ended: 2,
        ok: 2,
        payload_bytes: 2 * 356,
        ended_parts: 677_966_101 + Window::WHOLE,
        ok_parts: 677_966_101 + Window::WHOLE,
        ..Within::default()
    };
    let of_measured = Within {
        ended: 3,
        ok: 2,
        payload_bytes: 3 * 356,
        wire_bytes_sent: 6,
        wire_bytes_received: 60,
        due_late: 3,
        ended_late: 2,
        // Begun at 285 ms and ended at 301.
        ended_parts: 937_500_000,
        ok_parts: 937_500_000,
    };
    assert_eq!(within, [of_warm_up, of_measured]);
}

#[test]
fn operation_that_is_under_way_at_an_end_of_the_measured_part_lies_in_it_by_its_part() {
    const BEGUN_AFTER_MS: u64 = 5;
    let parts = |begin: u64, done: u64, end: OperationEnd| {
        let mut recorder = recorder(1).measuring(Window::new(100 * MS, 300 * MS));
        recorder.end(&Operation {
            done_at: done * MS,
            end,
            ..operation((begin - BEGUN_AFTER_MS) * MS)
        });
        let (snapshot, _) = recorder.cut(SECOND, None).into_snapshot();
        let within = snapshot.cells.values().next().unwrap().counters.within;
        (within.ended_parts, within.ok_parts)
    };
    let failed = failed(FailureStage::Http, Kind::TimeOut);
    // In one, whole or not at all, there is nothing to part.
    assert_eq!(parts(100, 300, OperationEnd::Ok), (0, 0));
    assert_eq!(parts(20, 90, OperationEnd::Ok), (0, 0));
    assert_eq!(
        parts(60, 140, OperationEnd::Ok),
        (Window::WHOLE / 2, Window::WHOLE / 2)
    );
    assert_eq!(
        parts(280, 380, OperationEnd::Ok),
        (Window::WHOLE / 5, Window::WHOLE / 5)
    );
    assert_eq!(
        parts(20, 420, OperationEnd::Ok),
        (Window::WHOLE / 2, Window::WHOLE / 2)
    );
    assert_eq!(parts(290, 30_290, failed), (Window::WHOLE / 3000, 0));
}

#[test]
fn measured_part_that_is_closed_early_counts_nothing_after() {
    let mut recorder = recorder(1).measuring(Window::new(0, u64::MAX));
    recorder.end(&Operation {
        done_at: 30 * MS,
        ..operation(0)
    });
    assert!(recorder.close_window(40 * MS));
    assert!(!recorder.close_window(50 * MS), "it has ended");
    recorder.end(&Operation {
        done_at: 41 * MS,
        ..operation(0)
    });
    let (snapshot, _) = recorder.cut(SECOND, None).into_snapshot();
    let counters = &snapshot.cells.values().next().unwrap().counters;
    assert_eq!((counters.ok, counters.within.ok), (2, 1));
    assert_eq!(snapshot.client.fired_until_ns, 40 * MS);
}

#[test]
fn measured_part_of_a_number_of_operations_goes_on_until_the_last_has_ended() {
    let mut recorder = recorder(1).measuring(Window::new(0, u64::MAX));
    recorder.end_firing(0);
    assert_eq!(
        recorder
            .cut(SECOND, None)
            .into_snapshot()
            .0
            .client
            .fired_until_ns,
        1
    );
    recorder.end_firing(SECOND + 40 * MS);
    recorder.end(&Operation {
        done_at: SECOND + 41 * MS,
        ..operation(0)
    });
    let (snapshot, _) = recorder.cut(2 * SECOND, None).into_snapshot();
    let counters = &snapshot.cells.values().next().unwrap().counters;
    assert_eq!(counters.within.ok, 1);
    assert_eq!(snapshot.client.fired_until_ns, SECOND + 40 * MS);
}

#[test]
fn operations_under_way_give_every_second_its_part_of_the_integral() {
    let mut recorder = recorder(1);
    recorder.begin(200 * MS);
    recorder.begin(800 * MS);
    let mut open = Vec::new();
    let now = 2500 * MS;
    while now >= recorder.boundary() {
        let interval = recorder.cut(now, None);
        open.push((interval.number(), interval.into_snapshot().0.client.open_ns));
    }
    recorder.end(&Operation {
        done_at: now,
        ..operation(0)
    });
    open.push((
        recorder.interval(),
        recorder.cut(now, None).into_snapshot().0.client.open_ns,
    ));
    assert_eq!(open, [(0, 1000 * MS), (1, 2000 * MS), (2, 1000 * MS)]);
}

#[test]
fn lag_of_the_loop_counts_in_the_measured_part() {
    let mut recorder = recorder(1).measuring(Window::new(10, 20));
    // The last but one lagged from 17 on.
    [(9, 1), (10, 2), (20, 3), (21, 4), (25, 4)]
        .into_iter()
        .for_each(|(at, lag)| recorder.record_lag(at, lag));
    let (snapshot, spare) = recorder.cut(SECOND, None).into_snapshot();
    let lag = &snapshot.client.loop_lag;
    assert_eq!((lag.count, lag.min, lag.max), (3, 2, 4));
    assert!(
        recorder.cut(2 * SECOND, Some(spare)).is_empty(),
        "a spare is cleared"
    );
}

#[test]
fn handshakes_are_tallied_and_resumption_adds_up() {
    let (full, resumed) = (
        negotiated(HandshakeKind::Full),
        negotiated(HandshakeKind::Resumed),
    );
    let cell = cell(|recorder| {
        let at = key(0, 1);
        recorder.connect_attempted(at);
        recorder.connect_attempted(at);
        recorder.connect_opened(at);
        recorder.handshake(at, handshake(&full, Some(&chain()), false));
        recorder.handshake(at, handshake(&full, Some(&chain()), true));
        recorder.handshake(at, handshake(&resumed, None, true));
        recorder.handshake(
            at,
            measure::Handshake {
                none_at_hand: true,
                ..handshake(&full, Some(&chain()), false)
            },
        );
        recorder.sessions_received(at, 2);
        recorder.count_reuse(at);
        recorder.count_closed_under_reuse(at);
        recorder.count_back_off(at, 10 * MS);
        recorder.count_back_off(at, 20 * MS);
        recorder.end_awaited(at, 2 * MS, true);
        recorder.end_awaited(at, 3 * MS, false);
        recorder.wire_bytes(at, 0, 5, 70);
        recorder.wire_bytes(at, 0, 1, 1);
    });
    let wanted = Counters {
        wire_bytes_sent: 6,
        wire_bytes_received: 71,
        within: Within {
            wire_bytes_sent: 6,
            wire_bytes_received: 71,
            ..Within::default()
        },
        handshake_bytes_sent: 1200,
        handshake_bytes_received: 8000,
        connections: measure::ConnectionCounts {
            attempted: 2,
            opened: 1,
            reused: 1,
            reused_closed: 1,
            back_offs: 2,
            back_off_ns: 30 * MS,
            left_open: 1,
            end_wait_ns: 5 * MS,
        },
        resumption: measure::ResumptionCounts {
            offered: 2,
            accepted: 1,
            refused: 1,
            none_at_hand: 1,
            received: 2,
        },
        session_offers: BTreeMap::from([(offer(1, false), 1), (offer(1, true), 1)]),
        negotiated: BTreeMap::from([(full, 3), (resumed, 1)]),
        chains: BTreeMap::from([(chain(), 3)]),
        ..Counters::default()
    };
    assert_eq!(cell.counters, wanted);
    assert_eq!(wanted.handshakes(), 4);
}

/// A session that the recorder's address with this index has issued.
fn offer(issuer: u8, accepted: bool) -> measure::SessionOffer {
    measure::SessionOffer {
        issuer: Some(([10, 0, 0, issuer], 443).into()),
        accepted,
    }
}

#[test]
fn sessions_are_counted_by_who_issued_them_and_early_data_by_what_became_of_it() {
    let (full, resumed) = (
        negotiated(HandshakeKind::Full),
        negotiated(HandshakeKind::Resumed),
    );
    let cell = cell(|recorder| {
        let at = key(0, 2);
        let of = |issuer, accepted, early_data| {
            let agreed = if accepted { &resumed } else { &full };
            measure::Handshake {
                offered: Some(issuer),
                early_data,
                ..handshake(agreed, None, true)
            }
        };
        recorder.handshake(at, of(1, false, Some(false)));
        recorder.handshake(at, of(1, false, None));
        recorder.handshake(at, of(2, true, Some(true)));
        recorder.handshake(at, of(2, true, Some(true)));
        recorder.handshake(at, of(1, true, Some(false)));
        recorder.too_early(at);
        // Beyond the addresses that are kept apart.
        for last in 4..100 {
            recorder.address(([10, 0, 0, last], 443).into());
        }
        recorder.handshake(at, of(64, true, None));
        recorder.handshake(at, of(65, true, None));
        recorder.handshake(at, of(90, true, None));
    });
    let beyond = measure::SessionOffer {
        issuer: None,
        accepted: true,
    };
    let wanted = [
        (beyond, 2),
        (offer(1, false), 2),
        (offer(1, true), 1),
        (offer(2, true), 2),
        (offer(64, true), 1),
    ];
    assert_eq!(cell.counters.session_offers, BTreeMap::from(wanted));
    assert_eq!(cell.counters.resumption.offered, 8);
    assert_eq!(
        cell.counters.early_data,
        measure::EarlyDataCounts {
            accepted: 2,
            rejected: 2,
            too_early: 1
        }
    );
}

#[test]
fn operation_that_moves_has_begun_where_it_ends_whatever_the_second() {
    let mut recorder = recorder(1);
    recorder.count_start(key(0, 1));
    let first = recorder.cut(SECOND, None).into_snapshot().0;
    recorder.count_move(key(0, 1), key(0, 2));
    recorder.end(&Operation {
        key: key(0, 2),
        ..operation(SECOND)
    });
    let second = recorder.cut(2 * SECOND, None).into_snapshot().0;
    let in_flight = |snapshot: &Snapshot| {
        let counters = counters(snapshot);
        (
            counters.started,
            counters.operations_begun(),
            counters.operations_ended(),
        )
    };
    assert_eq!(
        (in_flight(&first), in_flight(&second)),
        ((1, 1, 0), (0, 0, 1))
    );
    let mut totals = first;
    totals.merge(&second);
    let begun: Vec<_> = totals
        .cells
        .values()
        .map(|cell| {
            (
                cell.counters.operations_begun(),
                cell.counters.operations_ended(),
            )
        })
        .collect();
    assert_eq!(begun, [(0, 0), (1, 1)]);
}

#[test]
fn intervals_are_cut_at_the_boundaries_of_seconds() {
    let mut recorder = recorder(1);
    let mut seen = Vec::new();
    let instants = [
        0,
        SECOND - 1,
        SECOND,
        SECOND + 1,
        2 * SECOND - 1,
        5 * SECOND,
        5 * SECOND,
    ];
    for now in instants {
        while now >= recorder.boundary() {
            let interval = recorder.cut(now, None);
            seen.push((
                interval.number(),
                interval.is_empty(),
                interval.into_snapshot().0,
            ));
        }
        assert_eq!(u64::from(recorder.interval()), now / SECOND);
        recorder.count_start(key(0, 1));
    }
    let last = recorder.cut(5 * SECOND + 1, None);
    seen.push((last.number(), last.is_empty(), last.into_snapshot().0));
    let started: Vec<_> = seen
        .iter()
        .map(|(number, empty, snapshot)| (*number, *empty, counters(snapshot).started))
        .collect();
    assert_eq!(started, [(0, false, 2), (1, false, 3), (5, false, 2)]);
    assert_eq!(
        recorder.interval(),
        6,
        "no number is given twice, even where the last cut comes early"
    );
}

#[test]
fn untouched_interval_is_an_empty_snapshot() {
    let mut recorder = recorder(1);
    recorder.end(&operation(0));
    let (_, spare) = recorder.cut(SECOND, None).into_snapshot();
    assert!(recorder.cut(2 * SECOND, Some(spare)).is_empty());
    let interval = recorder.cut(3 * SECOND, None);
    assert!(interval.is_empty());
    assert_eq!(interval.into_snapshot().0, Snapshot::default());
}

#[test]
fn response_times_stay_with_the_second_they_were_intended_in() {
    let cell = cell(|recorder| {
        for (intended, times) in [(3, 2), (4, 1), (3, 1), (1, 4), (4, 1)] {
            (0..times).for_each(|_| recorder.end(&operation(intended * SECOND)));
        }
    });
    let counts: Vec<_> = cell
        .response_times
        .iter()
        .map(|(&(_, second), distribution)| (second, distribution.count))
        .collect();
    assert_eq!(counts, [(1, 4), (3, 3), (4, 2)]);
}

#[test]
fn cells_are_kept_by_period_request_and_address() {
    let mut recorder = recorder(3);
    let mut wanted = Vec::new();
    for period in [Period::WarmUp, Period::Measured] {
        for request in 0..3 {
            for address in 0..=3 {
                let times = wanted.len() + 1;
                (0..times).for_each(|_| {
                    recorder.count_start(CellId {
                        period,
                        request,
                        address,
                    })
                });
                let address = (address != 0).then(|| ([10, 0, 0, address as u8], 443).into());
                wanted.push((
                    CellKey {
                        period,
                        request,
                        address,
                    },
                    times as u64,
                ));
            }
        }
    }
    let (snapshot, _) = recorder.cut(SECOND, None).into_snapshot();
    let started: Vec<_> = snapshot
        .cells
        .iter()
        .map(|(&key, cell)| (key, cell.counters.started))
        .collect();
    assert_eq!(started, wanted);
}

#[test]
fn addresses_beyond_those_kept_apart_are_the_others() {
    let mut recorder = Recorder::new(1);
    let address =
        |number: u32| std::net::SocketAddr::new(std::net::Ipv4Addr::from(number).into(), 443);
    let began = std::time::Instant::now();
    let indices: std::collections::BTreeSet<u16> = (0..70_000)
        .map(|number| recorder.address(address(number)))
        .collect();
    assert_eq!(
        indices.len(),
        usize::from(CellKey::ADDRESSES) + 1,
        "{:?}",
        began.elapsed()
    );
    assert_eq!(
        recorder.address(address(0)),
        1,
        "those that came first are still known"
    );
    let other = recorder.address(address(69_999));
    recorder.count_start(CellId {
        period: Period::Measured,
        request: 0,
        address: other,
    });
    let (snapshot, _) = recorder.cut(SECOND, None).into_snapshot();
    assert_eq!(
        snapshot
            .cells
            .keys()
            .map(|key| CellKey::name_of(key.address))
            .collect::<Vec<_>>(),
        ["others"]
    );
}

#[test]
fn same_address_has_the_same_index_and_intervals_under_way_keep_theirs() {
    let mut recorder = recorder(1);
    let known = recorder.address(([10, 0, 0, 2], 443).into());
    assert_eq!(known, 2);
    recorder.count_start(key(0, known));
    let under_way = recorder.cut(SECOND, None);
    assert_eq!(recorder.address("[::1]:443".parse().unwrap()), 4);
    let (snapshot, _) = under_way.into_snapshot();
    assert_eq!(
        snapshot.cells.keys().next().unwrap().address,
        Some(([10, 0, 0, 2], 443).into())
    );
}
