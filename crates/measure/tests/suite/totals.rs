//! Totals: equal where everything was counted alike, and no larger after a day than after a minute.

use crate::scene::{MS, SECOND, key, operation, recorder};
use measure::{
    Cell, CellKey, Distribution, EventsRead, JourneyCell, JourneyEnd, JourneyTimes, Metric,
    Outcome, Period, Recorder, SigningTally, Snapshot, StreamEnd, TokenTallies, TokenTally, Totals,
    TotalsError,
};

const KEY: CellKey = CellKey {
    period: Period::Measured,
    request: 0,
    address: None,
};

fn totals<'a>(snapshots: impl IntoIterator<Item = &'a Snapshot>) -> Totals {
    let mut totals = Totals::default();
    snapshots
        .into_iter()
        .for_each(|snapshot| totals.add(snapshot));
    totals
}

/// Second `number` of a worker: ten operations, no two of a minute alike.
fn second(recorder: &mut Recorder, number: u64) -> Snapshot {
    for nth in 0..10 {
        let mut operation = operation(number * SECOND + nth);
        operation.done_at += (number % 60 * 10 + nth) * 7919;
        recorder.count_start(operation.key);
        recorder.end(&operation);
    }
    recorder.cut((number + 1) * SECOND, None).into_snapshot().0
}

fn seconds(number: u64) -> Vec<Snapshot> {
    let mut recorder = recorder(1);
    (0..number)
        .map(|number_of_second| second(&mut recorder, number_of_second))
        .collect()
}

/// The same seconds with streamed answers.
fn streamed(number: u64) -> Vec<Snapshot> {
    let mut recorder = recorder(1);
    let mut with_events = |number: u64| {
        let at = number * SECOND + MS;
        recorder.events(&EventsRead {
            key: key(0, 1),
            intended_at: at,
            begun_at: at,
            at: at + 5 * MS,
            previous_at: None,
            number: 4,
        });
        recorder.stream_ended(key(0, 1), StreamEnd::Whole, 4);
        second(&mut recorder, number)
    };
    (0..number).map(&mut with_events).collect()
}

/// The same with tokens, and with signatures.
fn signed(number: u64) -> Vec<Snapshot> {
    let mut seconds = streamed(number);
    for second in &mut seconds {
        let tally = TokenTally {
            fetched: 1,
            first_ran_out_ns: Some(7),
            ..TokenTally::default()
        };
        second.tokens.add(2, &tally);
        second.signing.merge(&SigningTally {
            made: 10,
            timed: 2,
            cpu_ns: 30,
        });
    }
    seconds
}

#[test]
fn lost_tokens_and_signatures_show_in_the_totals() {
    let whole = totals(&signed(3));
    assert_eq!(Totals::decode(&whole.encode()), Ok(whole.clone()));
    let mut lacking = signed(3);
    lacking[1].tokens = TokenTallies::default();
    assert_ne!(totals(&lacking), whole);
    let mut lacking = signed(3);
    lacking[2].signing = SigningTally::default();
    assert_ne!(totals(&lacking), whole);
}

#[test]
fn lost_event_shows_in_the_totals() {
    let whole = streamed(3);
    let mut lacking = streamed(3);
    assert_eq!(totals(&whole), totals(&lacking));
    let cell = lacking[1].cells.values_mut().next().unwrap();
    cell.streams.events -= 1;
    assert_ne!(totals(&whole), totals(&lacking));
}

/// The same seconds, in each of which a journey of one step is completed.
fn with_journeys(number: u64) -> Vec<Snapshot> {
    let mut recorder = recorder(1);
    let cell = JourneyCell {
        period: Period::Measured,
        journey: 1,
    };
    let mut travel = |number: u64| {
        recorder.begin_journey(cell);
        recorder.begin_step(cell, 0, true);
        recorder.end_step(cell, 0, true);
        let times = JourneyTimes {
            done_at: number * SECOND,
            time_ns: (number + 9) * MS,
            paused_ns: 2 * MS,
        };
        recorder.end_journey(cell, JourneyEnd::Completed, times);
        second(&mut recorder, number)
    };
    (0..number).map(&mut travel).collect()
}

#[test]
fn lost_journey_shows_in_the_totals() {
    let whole = with_journeys(3);
    type Edit = fn(&mut measure::Funnel);
    let edits: [Edit; 4] = [
        |it| it.counts.begun -= 1,
        |it| it.steps[0].ok -= 1,
        |it| it.time.clear(),
        |it| it.wait.record(1),
    ];
    for edit in edits {
        let mut lacking = with_journeys(3);
        assert_eq!(totals(&whole), totals(&lacking));
        edit(lacking[1].journeys.values_mut().next().unwrap());
        assert_ne!(totals(&whole), totals(&lacking));
    }
    let mut sum = Snapshot::default();
    whole.iter().for_each(|second| sum.merge(second));
    assert_eq!(totals(&whole), totals([&sum]));
}

/// The same, in each of which a step is skipped and a group completed.
fn with_groups(number: u64) -> Vec<Snapshot> {
    let mut seconds = with_journeys(number);
    for second in &mut seconds {
        let mut recorder = recorder(1);
        let &cell = second.journeys.keys().next().expect("it has journeys");
        recorder.skip_step(cell, 1, true);
        recorder.begin_group(cell, 2);
        recorder.complete_group((cell, 2), 5 * MS, MS);
        second.merge(&recorder.cut(SECOND, None).into_snapshot().0);
    }
    seconds
}

#[test]
fn lost_group_shows_in_the_totals() {
    let whole = totals(&with_groups(3));
    assert_eq!(Totals::decode(&whole.encode()), Ok(whole.clone()));
    type Edit = fn(&mut measure::Funnel);
    let edits: [Edit; 5] = [
        |it| it.skipped[1] -= 1,
        |it| it.groups[2].begun -= 1,
        |it| it.groups[2].completed -= 1,
        |it| it.groups[2].time.clear(),
        |it| it.groups[2].wait.record(1),
    ];
    for edit in edits {
        let mut lacking = with_groups(3);
        edit(lacking[1].journeys.values_mut().next().unwrap());
        assert_ne!(totals(&lacking), whole);
    }
}

/// One distribution of some metric.
fn of_values(values: &[u64]) -> Snapshot {
    let mut distribution = Distribution::default();
    values.iter().for_each(|&value| distribution.record(value));
    let cell = Cell {
        times: [((Outcome::Ok, Metric::Connect), distribution)].into(),
        ..Cell::default()
    };
    Snapshot {
        cells: [(KEY, cell)].into(),
        ..Snapshot::default()
    }
}

#[test]
fn totals_of_parts_are_those_of_the_merged_whole_in_any_order() {
    let seconds = seconds(20);
    let mut whole = Snapshot::default();
    seconds.iter().for_each(|second| whole.merge(second));
    assert_eq!(totals(&seconds), totals([&whole]));
    assert_eq!(totals(seconds.iter().rev()), totals([&whole]));
    assert_ne!(totals(&seconds[1..]), totals([&whole]));
    assert_ne!(
        totals(seconds.iter().chain(&seconds[..1])),
        totals([&whole])
    );
}

#[test]
fn totals_do_not_grow_with_the_length_of_the_run() {
    let (minute, hour) = (
        totals(&seconds(60)).encode().len(),
        totals(&seconds(3600)).encode().len(),
    );
    assert!(
        hour < minute + 50,
        "{minute} bytes after a minute, {hour} after an hour"
    );
}

#[test]
fn one_value_in_another_bucket_shows_where_all_sums_are_the_same() {
    // Count, smallest and largest agree too.
    let (left, right) = ([0, 1, 5, 6, 30], [0, 2, 3, 7, 30]);
    let squares = |values: &[u64]| values.iter().map(|value| value * value).sum::<u64>();
    assert_eq!(
        (left.iter().sum::<u64>(), squares(&left)),
        (right.iter().sum(), squares(&right))
    );
    assert_ne!(totals([&of_values(&left)]), totals([&of_values(&right)]));
}

#[test]
fn what_holds_nothing_is_as_good_as_nothing() {
    let empty = Cell {
        times: [((Outcome::Ok, Metric::Dns), Distribution::default())].into(),
        ..Cell::default()
    };
    let mut moved = [Snapshot::default(), Snapshot::default()];
    for (snapshot, by) in moved.iter_mut().zip([1, -1]) {
        snapshot.cells.entry(KEY).or_default().counters.moved = by;
    }
    assert_eq!(
        totals([&Snapshot {
            cells: [(KEY, empty)].into(),
            ..Snapshot::default()
        }]),
        Totals::default()
    );
    assert_eq!(totals(&moved), Totals::default());
    assert_ne!(totals(&moved[..1]), Totals::default());
}

/// Every metric in every outcome of a cell, with figures as large as figures get.
fn full_cell(number: u64) -> Cell {
    let mut cell = Cell::default();
    for (nth, (outcome, metric)) in Outcome::ALL
        .into_iter()
        .flat_map(|outcome| Metric::ALL.map(|metric| (outcome, metric)))
        .enumerate()
    {
        let mut distribution = Distribution::default();
        (1..20)
            .for_each(|value| distribution.record(value * value * MS * 1000 + number + nth as u64));
        cell.times.insert((outcome, metric), distribution);
    }
    cell.counters.ok = u64::MAX / 2;
    cell
}

#[test]
fn totals_of_a_hundred_requests_at_sixteen_addresses_fit() {
    let mut snapshot = Snapshot::default();
    for (request, address) in
        (0..100).flat_map(|request| (0..16).map(move |address| (request, address)))
    {
        let address = Some(([10, 0, 0, address], 443).into());
        snapshot.cells.insert(
            CellKey {
                request,
                address,
                ..KEY
            },
            full_cell(request.into()),
        );
    }
    let (totals, cells) = (totals([&snapshot]), Totals::cells_of(100, 16));
    let encoded = totals.encode();
    assert!(cells <= Totals::CELLS_MAX, "{cells} cells");
    assert!(
        encoded.len() / snapshot.cells.len() <= 5 << 10,
        "{} bytes for {} cells",
        encoded.len(),
        snapshot.cells.len()
    );
    assert_eq!(Totals::decode(&encoded), Ok(totals));
}

/// Where the encoding changes, its version does, and the golden file is what this gives, written
/// once by UPDATE_GOLDEN=1.
#[test]
fn versions_are_read_as_they_were_written() {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/totals-v7.bin");
        std::fs::write(path, totals(&with_groups(3)).encode()).unwrap();
    }
    let golden = include_bytes!("../golden/totals-v7.bin");
    assert_eq!(totals(&with_groups(3)).encode(), golden);
    assert_eq!(Totals::decode(golden), Ok(totals(&with_groups(3))));
    let golden = include_bytes!("../golden/totals-v6.bin");
    assert_eq!(Totals::decode(golden), Ok(totals(&with_journeys(3))));
    let golden = include_bytes!("../golden/totals-v5.bin");
    assert_eq!(Totals::decode(golden), Ok(totals(&signed(3))));
    let golden = include_bytes!("../golden/totals-v4.bin");
    assert_eq!(Totals::decode(golden), Ok(totals(&streamed(3))));
    let golden = include_bytes!("../golden/totals-v3.bin");
    assert_eq!(Totals::decode(golden), Ok(totals(&seconds(3))));
}

#[test]
fn bytes_that_are_no_totals_are_refused_with_the_reason() {
    assert_eq!(
        Totals::decode(&[]),
        Err(TotalsError::Malformed {
            reason: "no bytes".to_owned()
        })
    );
    assert_eq!(
        Totals::decode(&[9, 0]),
        Err(TotalsError::Version { found: 9 })
    );
    let good = totals(&seconds(1)).encode();
    for cut in 1..good.len() {
        assert!(
            Totals::decode(&good[..cut]).is_err(),
            "cut after {cut} bytes"
        );
    }
    assert!(Totals::decode(&[good, vec![0]].concat()).is_err());
}

#[test]
fn encoding_covers_both_versions() {
    // Each golden file stands for one version: a new version is added here too.
    let snapshot = include_bytes!("../golden/snapshot-v18.bin")[0];
    let totals = include_bytes!("../golden/totals-v7.bin")[0];
    assert_eq!(
        measure::ENCODING,
        u32::from(snapshot) * 256 + u32::from(totals)
    );
}
