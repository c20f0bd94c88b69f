//! Merging and encoding of snapshots, with what a run could have recorded in them.

use crate::scene::{MS, SECOND, chain, handshake, negotiated, operation, recorder};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use measure::{
    Cell, CellId, CellKey, CertificateFault, Counters, DecodeError, EventsRead, FailedRows,
    Failure, FailureStage, FollowedRedirects, GrpcMessages, GrpcStatus, GrpcTally, HandshakeKind,
    HistogramError, HttpViolation, JourneyCell, JourneyEnd, JourneyTimes, Kind, Metric, Negotiated,
    NotSent, Operation, OperationEnd, Outcome, PathSample, PathSums, Period, Recorder,
    RequestsByPart, RowId, SigningTally, Snapshot, SnapshotDecoder, Spare, Staple, StreamEnd,
    TokenTallies, TokenTally, WebSocketFact, Window, WithheldBodies,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};

const REQUESTS: u16 = 2;

/// Something a worker records.
#[derive(Debug, Clone)]
enum Event {
    Ended(Operation),
    Handshake(CellId, bool),
    WireBytes(CellId, u32),
    NotSent(CellId),
    PathSampled(u8),
    Streamed(CellId, u8),
    Tokens(u8),
    Signed(u8),
    Journey(JourneyCell, u8),
}

fn keys() -> impl Strategy<Value = CellId> {
    let period = prop_oneof![Just(Period::WarmUp), Just(Period::Measured)];
    (period, 0..REQUESTS, 0u16..=3).prop_map(|(period, request, address)| CellId {
        period,
        request,
        address,
    })
}

fn ends() -> impl Strategy<Value = OperationEnd> {
    let failures = [
        (FailureStage::Http, Kind::TimeOut),
        (FailureStage::Connect, Kind::Refused),
        (
            FailureStage::Tls,
            Kind::Certificate(CertificateFault::Expired),
        ),
        (FailureStage::Http, Kind::Status(500)),
    ];
    let failure = proptest::sample::select(failures.to_vec())
        .prop_map(|(stage, kind)| OperationEnd::Failed(Failure { stage, kind }));
    prop_oneof![3 => Just(OperationEnd::Ok), 1 => Just(OperationEnd::OkUnconfirmed), 2 => failure]
}

/// Operations of the first minute, of very different lengths; a few run for hours.
fn operations() -> impl Strategy<Value = Operation> {
    let length = prop_oneof![
        8 => (0u32..32).prop_flat_map(|bits| 0..=1u64 << bits),
        1 => 0u64..10_000 * SECOND,
    ];
    (keys(), 0..60 * SECOND, length, ends(), any::<bool>()).prop_map(
        |(key, intended_at, length, end, opens)| {
            let mut operation = Operation {
                key,
                end,
                ..operation(intended_at)
            };
            operation.done_at += length;
            if opens {
                (operation.dns, operation.connect) = (Some(length % MS), Some(length % (3 * MS)));
                operation.handshake = Some((HandshakeKind::Full, length / 2));
                operation.ready_at = Some(operation.begun_at);
            }
            operation
        },
    )
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => operations().prop_map(Event::Ended),
        1 => (keys(), any::<bool>()).prop_map(|(key, resumed)| Event::Handshake(key, resumed)),
        1 => (keys(), any::<u32>()).prop_map(|(key, bytes)| Event::WireBytes(key, bytes)),
        1 => keys().prop_map(Event::NotSent),
        1 => any::<u8>().prop_map(Event::PathSampled),
        1 => (keys(), any::<u8>()).prop_map(|(key, number)| Event::Streamed(key, number)),
        1 => any::<u8>().prop_map(Event::Tokens),
        1 => any::<u8>().prop_map(Event::Signed),
        1 => (keys(), any::<u8>()).prop_map(|(key, number)| {
            let CellId { period, request, .. } = key;
            Event::Journey(JourneyCell { period, journey: request }, number)
        }),
    ];
    proptest::collection::vec(event, 0..60)
}

fn record(recorder: &mut Recorder, event: &Event) {
    match event {
        Event::Ended(operation) => {
            recorder.count_start(operation.key);
            recorder.end(operation);
        }
        &Event::Handshake(key, true) => recorder.handshake(
            key,
            handshake(&negotiated(HandshakeKind::Resumed), None, true),
        ),
        &Event::Handshake(key, false) => {
            recorder.handshake(
                key,
                handshake(&negotiated(HandshakeKind::Full), Some(&chain()), true),
            );
        }
        &Event::WireBytes(key, bytes) => recorder.wire_bytes(key, 0, bytes.into(), 1),
        &Event::NotSent(key) => recorder.not_sent(&not_sent(key)),
        &Event::PathSampled(number) => {
            recorder.record_path(MS, &path_sample(number.into()));
        }
        &Event::Streamed(key, number) => {
            recorder.events(&EventsRead {
                key,
                intended_at: 0,
                begun_at: MS,
                at: 3 * MS,
                previous_at: (number % 2 == 0).then_some(2 * MS),
                number: u64::from(number) + 1,
            });
            recorder.stream_ended(key, StreamEnd::Whole, number.into());
        }
        &Event::Journey(cell, number) => travel(recorder, cell, number),
        &Event::Tokens(number) => recorder.add_tokens(u16::from(number % 3), &tokens(number)),
        &Event::Signed(number) => recorder.add_signing(&signing(number)),
    }
}

/// Every figure differs from the others, and from 0 unless `number` is 0.
fn tokens(number: u8) -> TokenTally {
    let number = u64::from(number);
    TokenTally {
        fetched: number,
        not_fetched: 2 * number,
        ran_out: 3 * number,
        first_ran_out_ns: (number % 2 == 1).then_some(4 * number),
        requests: RequestsByPart {
            warm_up: 5 * number,
            measured: 6 * number,
        },
        expired: RequestsByPart {
            warm_up: 7 * number,
            measured: 8 * number,
        },
    }
}

fn signing(number: u8) -> SigningTally {
    let number = u64::from(number);
    SigningTally {
        made: number,
        timed: 2 * number,
        cpu_ns: 3 * number,
    }
}

/// A journey of up to four steps, the last one of which is repeated and may fail.
fn travel(recorder: &mut Recorder, cell: JourneyCell, number: u8) {
    let (last, time_ns) = (u16::from(number % 4), u64::from(number) * MS);
    if number == 0 {
        return recorder.count_journey_not_sent(cell);
    }
    recorder.begin_journey(cell);
    for (step, is_first) in (0..=last).map(|step| (step, true)).chain([(last, false)]) {
        recorder.begin_step(cell, step, is_first);
        recorder.end_step(cell, step, is_first || !number.is_multiple_of(3));
    }
    let end = match number % 3 {
        0 => JourneyEnd::Failed,
        1 => JourneyEnd::Abandoned,
        _ => JourneyEnd::Completed,
    };
    let times = JourneyTimes {
        done_at: 5 * time_ns,
        time_ns,
        paused_ns: time_ns / 2,
    };
    recorder.end_journey(cell, end, times);
}

/// Every figure differs from the others, and from 0 unless `number` is 0.
fn path_sample(number: u64) -> PathSample {
    PathSample {
        round_trip_ns: 5 * number * MS,
        sums: PathSums {
            least_ns: number * MS,
            watched_ns: 100 * number,
            busy_ns: 90 * number,
            peer_limited_ns: 80 * number,
            segments_sent: 70 * number,
            segments_resent: 60 * number,
            segments_received: 50 * number,
            segments_out_of_order: 40 * number,
        },
    }
}

/// Due at 2 s, noticed 3 ms later, given up 1 s after that.
fn not_sent(key: CellId) -> NotSent {
    let intended_at = 2 * SECOND;
    let noticed_at = intended_at + 3 * MS;
    let failure = Failure {
        stage: FailureStage::Load,
        kind: Kind::NotSent,
    };
    NotSent {
        key,
        intended_at,
        noticed_at,
        given_up_at: noticed_at + SECOND,
        failure,
        is_streamed: false,
    }
}

fn snapshot(events: &[Event]) -> Snapshot {
    let mut recorder = recorder(REQUESTS);
    events.iter().for_each(|event| record(&mut recorder, event));
    recorder.cut(SECOND, None).into_snapshot().0
}

fn sum<'a>(snapshots: impl IntoIterator<Item = &'a Snapshot>) -> Snapshot {
    let mut sum = Snapshot::default();
    snapshots
        .into_iter()
        .for_each(|snapshot| sum.merge(snapshot));
    sum
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn merge_is_commutative_and_the_empty_snapshot_neutral(left in events(), right in events()) {
        let (left, right) = (snapshot(&left), snapshot(&right));
        prop_assert_eq!(sum([&left, &right]), sum([&right, &left]));
        prop_assert_eq!(&sum([&left, &Snapshot::default()]), &left);
        prop_assert_eq!(&sum([&Snapshot::default(), &left]), &left);
    }

    #[test]
    fn merge_is_associative(first in events(), second in events(), third in events()) {
        let [first, second, third] = [first, second, third].map(|events| snapshot(&events));
        let left_first = sum([&sum([&first, &second]), &third]);
        prop_assert_eq!(left_first, sum([&first, &sum([&second, &third])]));
    }

    #[test]
    fn merge_of_parts_is_the_whole(left in events(), right in events()) {
        let merged = sum([&snapshot(&left), &snapshot(&right)]);
        prop_assert_eq!(merged, snapshot(&[left, right].concat()));
    }

    #[test]
    fn sum_of_intervals_is_what_one_long_interval_holds(
        events in events(),
        cuts in proptest::collection::vec(0usize..60, 0..6),
    ) {
        let mut recorder = recorder(REQUESTS);
        let (mut total, mut spare): (Snapshot, Option<Spare>) = Default::default();
        for (index, event) in events.iter().enumerate() {
            if cuts.contains(&index) {
                let cut = recorder.cut(recorder.boundary(), spare.take());
                spare = Some(cut.merge_into(&mut total));
            }
            record(&mut recorder, event);
        }
        recorder.cut(recorder.boundary(), spare).merge_into(&mut total);
        prop_assert_eq!(total, snapshot(&events));
    }

    #[test]
    fn every_started_operation_has_ended_in_one_outcome(events in events()) {
        let mut counters = Counters::default();
        snapshot(&events).cells.values().for_each(|cell| counters.merge(&cell.counters));
        prop_assert_eq!(counters.started, counters.operations_ended());
        let failures: u64 = counters.failures.values().sum();
        prop_assert_eq!(failures, counters.timed_out + counters.failed);
    }

    #[test]
    fn decode_gives_back_what_was_encoded(events in events()) {
        let snapshot = snapshot(&events);
        prop_assert_eq!(Snapshot::decode(&snapshot.encode()), Ok(snapshot));
    }

    #[test]
    fn random_bytes_are_an_error_or_a_snapshot(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let _ = Snapshot::decode(&[&[1], bytes.as_slice()].concat());
    }

    #[test]
    fn a_changed_snapshot_is_refused_or_still_adds_up(
        events in events(),
        at in any::<prop::sample::Index>(),
        flip in 1u8..,
    ) {
        let mut bytes = snapshot(&events).encode();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        if let Ok(decoded) = Snapshot::decode(&bytes) {
            let mut twice = sum([&decoded, &decoded]);
            twice.merge(&decoded);
            let _ = twice.encode();
        }
    }
}

/// What the encodings before the last one could hold.
fn before_streams() -> Snapshot {
    let (mut recorder, _) = filled();
    recorder.cut(SECOND, None).into_snapshot().0
}

/// Something of everything, the same for ever: what the encoding is pinned with.
fn everything() -> Snapshot {
    with_pings(|recorder, key| {
        recorder.ping_answered(key, MS, 3 * MS);
        recorder.ping_missed(key, MS, 700 * MS);
    })
}

/// With pings whose times, or facts, `pongs` records.
fn with_pings(pongs: impl Fn(&mut Recorder, CellId)) -> Snapshot {
    with_sockets(&[WebSocketFact::Pinged, WebSocketFact::AnsweredLate], pongs)
}

/// With these facts of WebSockets beside those that the encoding before the last one could hold.
fn with_sockets(more: &[WebSocketFact], pongs: impl Fn(&mut Recorder, CellId)) -> Snapshot {
    let (mut recorder, key) = filled();
    let facts = [
        WebSocketFact::Opened,
        WebSocketFact::Sent,
        WebSocketFact::Answered,
        WebSocketFact::Closed(1000),
        WebSocketFact::Closed(4999),
    ];
    for fact in facts.iter().chain(more) {
        recorder.count_websocket(key, *fact, 1, MS);
    }
    pongs(&mut recorder, key);
    recorder.message_answered(key, MS, 5 * MS);
    for text in ["busy", "", "busy", "no room"] {
        recorder.count_grpc_message(key, GrpcStatus::Unavailable, text);
    }
    everything_else(recorder, key)
}

/// What the encoding before the last one could hold.
fn before_websockets() -> Snapshot {
    let (recorder, key) = filled();
    everything_else(recorder, key)
}

fn everything_else(mut recorder: Recorder, key: CellId) -> Snapshot {
    recorder.add_tokens(0, &tokens(9));
    recorder.add_tokens(300, &tokens(100));
    recorder.add_signing(&signing(7));
    recorder.count_withheld_body(key);
    for status in [GrpcStatus::Ok, GrpcStatus::Unavailable, GrpcStatus::Ok] {
        recorder.count_grpc(key, status);
    }
    recorder.events(&EventsRead {
        key,
        intended_at: MS,
        begun_at: 2 * MS,
        at: 9 * MS,
        previous_at: None,
        number: 3,
    });
    recorder.event_missed(key, (MS, 2 * MS), 700 * MS);
    for end in [StreamEnd::Whole, StreamEnd::Cut, StreamEnd::Unmarked] {
        recorder.stream_ended(key, end, 0);
    }
    for (period, journey) in [(Period::WarmUp, 0), (Period::Measured, 2)] {
        let cell = JourneyCell { period, journey };
        (0..=8).for_each(|number| travel(&mut recorder, cell, number));
        recorder.skip_step(cell, 1, true);
        recorder.skip_step(cell, 2, true);
        recorder.begin_group(cell, 1);
        recorder.complete_group((cell, 1), 9 * MS, 2 * MS);
        recorder.begin_group(cell, 1);
    }
    recorder.cut(SECOND, None).into_snapshot().0
}

/// The same without groups and steps that were skipped.
fn before_groups() -> Snapshot {
    let mut snapshot = before_websockets();
    for funnel in snapshot.journeys.values_mut() {
        let skipped = std::mem::take(&mut funnel.skipped);
        for (step, skipped) in funnel.steps.iter_mut().zip(skipped) {
            step.reached -= skipped;
        }
        funnel.groups.clear();
    }
    snapshot
}

/// A recorder with everything but streamed answers, and the cell that has most of it.
fn filled() -> (Recorder, CellId) {
    let mut recorder = recorder(REQUESTS).measuring(Window::new(0, 3 * SECOND));
    let v6 = recorder.address("[2001:db8::1]:8443".parse().unwrap());
    let at = CellId {
        period: Period::Measured,
        request: 1,
        address: v6,
    };
    recorder.count_start(at);
    recorder.count_move(CellId { address: 0, ..at }, at);
    recorder.connect_attempted(at);
    recorder.connect_opened(at);
    let ocsp_staple = Some(Staple {
        this_update: 1_795_187_760,
        next_update: 1_795_792_560,
        produced_at: 1_795_187_761,
    });
    let stapled = Negotiated {
        ocsp_staple,
        ..negotiated(HandshakeKind::Full)
    };
    recorder.handshake(at, handshake(&stapled, Some(&chain()), true));
    recorder.handshake(
        at,
        handshake(&negotiated(HandshakeKind::ResumedRetried), None, true),
    );
    recorder.sessions_received(at, 2);
    recorder.count_reuse(at);
    recorder.count_closed_under_reuse(at);
    recorder.count_back_off(at, 10 * MS);
    recorder.too_early(at);
    recorder.go_away(at);
    recorder.count_refused_stream(at);
    recorder.count_resend(at);
    recorder.count_stream_limit(at, 100, true);
    recorder.draining(at);
    recorder.end_awaited(at, 20 * MS, false);
    recorder.wire_bytes(at, 5, 1000, 5000);
    recorder.begin(MS);
    recorder.begin(2 * MS);
    recorder.record_lag(3 * MS, 40_000);
    recorder.record_path(4 * MS, &path_sample(9));
    let kinds = [
        (FailureStage::Http, Kind::TimeOut),
        (FailureStage::Http, Kind::Status(503)),
        (FailureStage::Tls, Kind::AlertReceived(40)),
        (
            FailureStage::Tls,
            Kind::Certificate(CertificateFault::WrongName),
        ),
        (FailureStage::Connect, Kind::Os(-71)),
        (FailureStage::Http, Kind::StreamReset(7)),
        (
            FailureStage::Http,
            Kind::Violation(HttpViolation::InterimFlood),
        ),
    ];
    for (index, (stage, kind)) in kinds.into_iter().enumerate() {
        let end = OperationEnd::Failed(Failure { stage, kind });
        recorder.end(&Operation {
            key: at,
            end,
            ..operation(index as u64 * SECOND)
        });
    }
    for length in [0, 1, 2048, 5 * MS, 9000 * SECOND] {
        let done_at = operation(0).done_at + length;
        let handshake = Some((HandshakeKind::Full, 3 * length));
        recorder.end(&Operation {
            done_at,
            connect: Some(length),
            handshake,
            ..operation(0)
        });
    }
    recorder.not_sent(&not_sent(CellId {
        period: Period::WarmUp,
        request: 0,
        address: 0,
    }));
    recorder.close_window(2 * SECOND);
    for (file, row) in [(0, 3), (0, 70_000), (1, 0)] {
        let failure = Failure {
            stage: FailureStage::Http,
            kind: Kind::Status(500),
        };
        recorder.row_failed(RowId { file, row }, row + 2, failure);
    }
    let unopened = Operation {
        dns: None,
        connect: None,
        handshake: None,
        ready_at: None,
        ..operation(0)
    };
    recorder.count_redirect(&unopened, 302);
    (recorder, at)
}

/// Where the encoding changes, its version does, and the golden file is what
/// `everything().encode()` gives, written once by UPDATE_GOLDEN=1.
#[test]
fn versions_are_read_as_they_were_written() {
    let golden = include_bytes!("../golden/snapshot-v18.bin");
    assert_eq!(Snapshot::decode(golden), Ok(everything()));
    let without_times = with_pings(|recorder, key| {
        recorder.count_websocket(key, WebSocketFact::Ponged, 1, MS);
    });
    let golden = include_bytes!("../golden/snapshot-v17.bin");
    assert_eq!(Snapshot::decode(golden), Ok(without_times));
    let golden = include_bytes!("../golden/snapshot-v16.bin");
    assert_eq!(Snapshot::decode(golden), Ok(with_sockets(&[], |_, _| ())));
    let without_messages = Snapshot {
        grpc_messages: GrpcMessages::default(),
        ..with_sockets(&[], |_, _| ())
    };
    let golden = include_bytes!("../golden/snapshot-v15.bin");
    assert_eq!(Snapshot::decode(golden), Ok(without_messages));
    let golden = include_bytes!("../golden/snapshot-v14.bin");
    assert_eq!(Snapshot::decode(golden), Ok(before_websockets()));
    let without_grpc = Snapshot {
        grpc: GrpcTally::default(),
        ..before_groups()
    };
    let golden = include_bytes!("../golden/snapshot-v13.bin");
    assert_eq!(Snapshot::decode(golden).as_ref(), Ok(&without_grpc));
    let without_journeys = Snapshot {
        journeys: BTreeMap::new(),
        ..without_grpc
    };
    let golden = include_bytes!("../golden/snapshot-v12.bin");
    assert_eq!(Snapshot::decode(golden).as_ref(), Ok(&without_journeys));
    let without_tokens = Snapshot {
        tokens: TokenTallies::default(),
        signing: SigningTally::default(),
        ..without_journeys
    };
    let golden = include_bytes!("../golden/snapshot-v11.bin");
    assert_eq!(Snapshot::decode(golden).as_ref(), Ok(&without_tokens));
    let without_withheld = Snapshot {
        withheld: WithheldBodies::default(),
        ..without_tokens
    };
    let golden = include_bytes!("../golden/snapshot-v10.bin");
    assert_eq!(Snapshot::decode(golden), Ok(without_withheld));
    let golden = include_bytes!("../golden/snapshot-v9.bin");
    assert_eq!(Snapshot::decode(golden), Ok(before_streams()));
    let without_redirects = Snapshot {
        redirects: FollowedRedirects::default(),
        ..before_streams()
    };
    let golden = include_bytes!("../golden/snapshot-v8.bin");
    assert_eq!(Snapshot::decode(golden).as_ref(), Ok(&without_redirects));
    let without_rows = Snapshot {
        failed_rows: FailedRows::default(),
        ..without_redirects
    };
    let golden = include_bytes!("../golden/snapshot-v7.bin");
    assert_eq!(Snapshot::decode(golden), Ok(without_rows));
}

#[test]
fn latest_version_is_written_as_it_was() {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/snapshot-v18.bin");
        std::fs::write(path, everything().encode()).unwrap();
    }
    // The deflate stream's own bytes belong to the compressor.
    let written = everything().encode();
    let golden = include_bytes!("../golden/snapshot-v18.bin");
    assert_eq!(inflated(&written[1..]), inflated(&golden[1..]));
    assert_eq!([written[0], golden[0]], [18, 18]);
}

#[test]
fn bytes_that_are_no_snapshot_are_refused_with_the_reason() {
    assert_eq!(Snapshot::decode(&[]), Err(DecodeError::Empty));
    assert_eq!(
        Snapshot::decode(&[19, 0]).unwrap_err().to_string(),
        "snapshot of version 19, only versions 7 to 18 are understood; agents and coordinator \
         must be of one version"
    );
    let too_long = vec![7; Snapshot::MAX_ENCODED_BYTES + 1];
    assert!(matches!(
        Snapshot::decode(&too_long),
        Err(DecodeError::TooLarge { .. })
    ));
    let good = everything().encode();
    for cut in 1..good.len() {
        assert!(
            Snapshot::decode(&good[..cut]).is_err(),
            "cut after {cut} bytes"
        );
    }
    assert!(matches!(
        Snapshot::decode(&[good, vec![0]].concat()),
        Err(DecodeError::Malformed { .. })
    ));
}

#[test]
fn decoder_gives_the_same_for_each_snapshot_whatever_came_before() {
    let (all, mut decoder) = (everything(), SnapshotDecoder::new());
    let (good, empty) = (all.encode(), Snapshot::default().encode());
    let mut broken = good.clone();
    broken.truncate(good.len() / 2);
    for _ in 0..2 {
        assert_eq!(decoder.decode(&good).as_ref(), Ok(&all));
        assert!(decoder.decode(&broken).is_err());
        assert_eq!(decoder.decode(&empty), Ok(Snapshot::default()));
    }
}

/// 48,000 histograms: ten metrics in three outcomes of each cell, with a dozen values far apart.
#[test]
fn second_of_a_hundred_requests_at_sixteen_addresses_fits() {
    let mut distribution = measure::Distribution::default();
    (0..12).for_each(|power| distribution.record(MS << power));
    let of = |outcome| {
        Metric::ALL[1..11]
            .iter()
            .map(move |&metric| (outcome, metric))
    };
    let times = Outcome::ALL
        .into_iter()
        .flat_map(of)
        .map(|of| (of, distribution.clone()))
        .collect();
    let cell = Cell {
        times,
        ..Cell::default()
    };
    let mut snapshot = Snapshot::default();
    for (request, address) in
        (0..100).flat_map(|request| (0..16).map(move |address| (request, address)))
    {
        let address = Some(([10, 0, 0, address], 443).into());
        snapshot.cells.insert(
            CellKey {
                period: Period::Measured,
                request,
                address,
            },
            cell.clone(),
        );
    }
    let encoded = snapshot.encode();
    let decoded = Snapshot::decode(&encoded)
        .unwrap_or_else(|error| panic!("{} bytes: {error}", encoded.len()));
    assert!(decoded == snapshot);
}

#[test]
fn figures_that_contradict_their_histogram_are_refused() {
    type Edit = fn(&mut measure::Distribution);
    let edits: [Edit; 7] = [
        |it| it.count += 1,
        |it| it.overflow += 1,
        |it| it.min += 1 << 20,
        |it| it.max = 0,
        |it| it.sum *= 1000,
        |it| it.sum_of_squares = 0,
        |it| it.histogram.clear(),
    ];
    for (index, edit) in edits.into_iter().enumerate() {
        let mut snapshot = everything();
        let cell = snapshot.cells.values_mut().last().unwrap();
        edit(cell.times.values_mut().last().unwrap());
        let decoded = Snapshot::decode(&snapshot.encode());
        assert!(
            matches!(decoded, Err(DecodeError::Malformed { .. })),
            "edit {index} gave {decoded:?}"
        );
    }
}

#[test]
fn funnel_that_contradicts_itself_is_refused() {
    type Edit = fn(&mut measure::Funnel);
    let edits: [Edit; 7] = [
        |it| it.counts.completed += 1,
        |it| it.counts.completed_within = it.counts.completed + 1,
        |it| it.wait = measure::Distribution::default(),
        |it| it.steps[0].reached = it.steps[0].begun + 1,
        |it| it.steps[1].reached = it.steps[1].begun + 2,
        |it| it.skipped.resize(99, 1),
        |it| it.groups[1].completed += 1,
    ];
    for (index, edit) in edits.into_iter().enumerate() {
        let mut snapshot = everything();
        edit(snapshot.journeys.values_mut().last().unwrap());
        let decoded = Snapshot::decode(&snapshot.encode());
        assert!(
            matches!(decoded, Err(DecodeError::Malformed { .. })),
            "edit {index} gave {decoded:?}"
        );
    }
}

#[test]
fn limit_of_streams_that_no_connection_had_is_refused() {
    let mut snapshot = everything();
    let http2 = &mut snapshot.cells.values_mut().next().unwrap().counters.http2;
    (http2.limited_connections, http2.fewest_streams) = (0, 100);
    let decoded = Snapshot::decode(&snapshot.encode());
    assert!(
        matches!(decoded, Err(DecodeError::Malformed { .. })),
        "{decoded:?}"
    );
}

#[test]
fn a_broken_histogram_in_a_snapshot_is_named() {
    let mut distribution = measure::Distribution::default();
    (0..3).for_each(|_| distribution.record(MS));
    let mut snapshot = Snapshot::default();
    snapshot.client.loop_lag = distribution;
    let mut plain = inflated(&snapshot.encode()[1..]);
    assert!(Snapshot::decode(&encoded(&plain)).is_ok());
    // The last bytes are the histogram, and nothing of the rest: the client, rows, redirects,
    // streamed answers, bodies, tokens, what was signed, journeys, groups, sockets, texts. Three
    // times a value is the counter 6; 0x80 is the first byte of a longer one.
    let at = plain.len() - EMPTY_CLIENT;
    assert_eq!(plain[at], 6);
    plain[at] = 0x80;
    let error = Snapshot::decode(&encoded(&plain)).unwrap_err();
    assert!(
        matches!(error, DecodeError::Histogram(HistogramError { .. })),
        "{error}"
    );
}

#[test]
fn deflated_bomb_costs_bounded_memory() {
    let plain = vec![0; Snapshot::MAX_ENCODED_BYTES + 1];
    let bomb = encoded(&plain);
    assert!(bomb.len() < Snapshot::MAX_ENCODED_BYTES / 10);
    let error = Snapshot::decode(&bomb).unwrap_err();
    assert!(matches!(error, DecodeError::TooLarge { .. }), "{error}");
}

/// A snapshot with one cell and a distribution of these figures for each of `number` seconds.
fn many_seconds(number: u32, figures: &[u8]) -> Vec<u8> {
    let mut one = Snapshot::default();
    let cell = one.cells.entry(KEY).or_default();
    let second = cell.response_times.entry((Outcome::Ok, 0)).or_default();
    second.record(0);
    let plain = inflated(&one.encode()[1..]);
    // The number of seconds, and behind it the only one: its outcome, its number, its figures. Then
    // nothing of the client, and nothing of what stands beside the cells.
    let end = [&[1, 0, 0][..], &ONE_ZERO, &[0; EMPTY_CLIENT]].concat();
    let mut plain = plain.strip_suffix(&end[..]).unwrap().to_vec();
    write_varint(number, &mut plain);
    for second in 0..number {
        plain.push(0);
        write_varint(second, &mut plain);
        plain.extend(figures);
    }
    plain.extend([0; EMPTY_CLIENT]);
    encoded(&plain)
}

/// Bytes of a client that says nothing, of no failed row, no redirect, no streamed answer, no
/// withheld body, no token, nothing signed, no journey, no group, no gRPC call and no text: absent
/// distributions, and numbers that are 0.
const EMPTY_CLIENT: usize = 26;

/// Figures of a distribution that holds 0 once, and of one that holds nothing.
const ONE_ZERO: [u8; 8] = [1, 0, 0, 0, 0, 0, 1, 2];
const NOTHING: [u8; 8] = [0, 0, 0, 0, 0, 0, 1, 0];

const KEY: CellKey = CellKey {
    period: Period::Measured,
    request: 0,
    address: None,
};

fn write_varint(mut number: u32, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[test]
fn snapshot_of_millions_of_tiny_distributions_is_refused() {
    let some = Snapshot::decode(&many_seconds(50_000, &ONE_ZERO)).unwrap();
    assert_eq!(some.cells[&KEY].response_times.len(), 50_000);
    assert!(some.heap_bytes() > 50_000 * size_of::<measure::Distribution>());
    let hostile = many_seconds(2_500_000, &ONE_ZERO);
    let error = Snapshot::decode(&hostile).unwrap_err();
    let DecodeError::TooLarge { most, .. } = error else {
        panic!("{} bytes: {error}", hostile.len());
    };
    assert!(most <= 256 << 20, "{most}");
    let nothing = many_seconds(1, &NOTHING);
    assert!(matches!(
        Snapshot::decode(&nothing),
        Err(DecodeError::Malformed { .. })
    ));
}

#[test]
fn empty_distributions_are_not_written() {
    let mut snapshot = Snapshot::default();
    let cell = snapshot.cells.entry(KEY).or_default();
    cell.times.entry((Outcome::Ok, Metric::Dns)).or_default();
    let read = Snapshot::decode(&snapshot.encode()).unwrap();
    assert_eq!(read.cells[&KEY], Cell::default());
}

#[test]
fn empty_snapshot_is_read_as_one() {
    let bytes = Snapshot::default().encode();
    assert_eq!(inflated(&bytes[1..]), [0; 1 + EMPTY_CLIENT]);
    assert!(bytes.len() <= 8, "{bytes:?}");
    assert!(Snapshot::decode(&bytes).unwrap().is_empty());
    assert!(!everything().is_empty());
}

/// A snapshot of the current version, of what stands in its deflate stream.
fn encoded(plain: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(vec![16], Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn inflated(deflated: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    DeflateDecoder::new(deflated)
        .read_to_end(&mut plain)
        .unwrap();
    plain
}
