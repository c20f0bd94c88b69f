//! Once its cells and funnels exist, a recorder allocates nothing: not for an operation, a
//! handshake, a journey or a cut.
#![expect(
    unsafe_code,
    reason = "a global allocator that counts cannot be written without"
)]

mod scene;

use measure::{
    CellId, Chain, HandshakeKind, JourneyCell, JourneyEnd, JourneyTimes, Negotiated, Operation,
    Period, Recorder, Snapshot,
};
use scene::{MS, SECOND, chain, handshake, key, negotiated, operation, recorder};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    /// Bytes that are allocated and not freed; wraps where another thread frees them.
    static LIVE: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        LIVE.with(|live| live.set(live.get().wrapping_add(layout.size())));
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.with(|live| live.set(live.get().wrapping_sub(layout.size())));
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        LIVE.with(|live| live.set(live.get().wrapping_sub(layout.size()).wrapping_add(size)));
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations_of(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.with(Cell::get);
    work();
    ALLOCATIONS.with(Cell::get) - before
}

/// A journey of two steps, completed at `done_at`.
fn travel(recorder: &mut Recorder, done_at: u64, time_ns: u64) {
    let cell = JourneyCell {
        period: Period::Measured,
        journey: 2,
    };
    recorder.begin_journey(cell);
    for step in 0..2 {
        recorder.begin_step(cell, step, true);
        recorder.end_step(cell, step, true);
    }
    let times = JourneyTimes {
        done_at,
        time_ns,
        paused_ns: MS,
    };
    recorder.end_journey(cell, JourneyEnd::Completed, times);
}

/// One second of operations that open connections and operations that reuse them, each with a
/// journey.
fn one_second(recorder: &mut Recorder, negotiated: &Negotiated, chain: &Chain) {
    let start = u64::from(recorder.interval()) * SECOND;
    for index in 0..1000 {
        let intended_at = start.saturating_sub(20 * MS) + index * MS;
        let mut operation = operation(intended_at);
        operation.done_at += index % 7 * 1000;
        recorder.count_start(operation.key);
        if index % 3 == 0 {
            recorder.handshake(operation.key, handshake(negotiated, Some(chain), false));
            let (connect, kind) = (Some(MS), HandshakeKind::Full);
            operation = Operation {
                connect,
                handshake: Some((kind, 2 * MS)),
                ready_at: operation.sent_at,
                ..operation
            };
        }
        recorder.wire_bytes(key(0, 1), 0, 200, 700);
        recorder.end(&operation);
        travel(recorder, operation.done_at, (10 + index % 9) * MS);
    }
}

/// Bytes that `made` keeps.
fn bytes_of<T>(make: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.with(Cell::get);
    let made = make();
    (made, LIVE.with(Cell::get).wrapping_sub(before))
}

/// A second of a plan with a hundred requests at 16 addresses, at full speed: 25 operations of
/// each. Every worker has two such intervals.
#[test]
fn cell_of_few_values_takes_a_few_kilobytes() {
    let (requests, addresses, each) = (100_u16, 16_u16, 25_u64);
    let cells = usize::from(requests * addresses);
    let mut recorder = Recorder::new(requests);
    for last in 1..=addresses {
        recorder.address(([10, 0, 0, last as u8], 443).into());
    }
    let (interval, bytes) = bytes_of(|| {
        for nth in 0..u64::from(requests) * u64::from(addresses) * each {
            let key = CellId {
                period: Period::Measured,
                request: (nth % u64::from(requests)) as u16,
                address: (nth / u64::from(requests) % u64::from(addresses)) as u16 + 1,
            };
            let operation = operation(20 * MS);
            let done_at = operation.done_at + nth * nth % (7 * MS);
            recorder.count_start(key);
            recorder.end(&Operation {
                key,
                done_at,
                ..operation
            });
        }
        recorder.cut(SECOND, None)
    });
    assert!(bytes / cells < 5_000, "{} bytes a cell", bytes / cells);
    let (snapshot, bytes) = bytes_of(|| interval.into_snapshot().0);
    assert!(snapshot.cells.len() == cells, "{bytes}");
    let encoded = snapshot.encode();
    let (decoded, bytes) = bytes_of(|| Snapshot::decode(&encoded).unwrap());
    assert!(bytes / cells < 7_000, "{} bytes a cell", bytes / cells);
    // What the coordinator's bounds count is about what there is.
    let counted = decoded.heap_bytes();
    let off_by = counted.abs_diff(bytes);
    assert!(off_by < bytes / 3, "{counted} of {bytes}");
}

#[test]
fn warm_recorder_allocates_nothing() {
    let (negotiated, chain) = (negotiated(HandshakeKind::Full), chain());
    let one_second = |recorder: &mut Recorder| one_second(recorder, &negotiated, &chain);
    let mut recorder = recorder(1);
    let mut snapshot = Snapshot::default();
    // Two spares, as in a run: one interval fills while the other is turned into a snapshot.
    let mut spares = Vec::new();
    for second in 0..6 {
        one_second(&mut recorder);
        let spare = if second < 2 { None } else { spares.pop() };
        spares.insert(
            0,
            recorder
                .cut(recorder.boundary(), spare)
                .merge_into(&mut snapshot),
        );
    }
    let spare = spares.pop();
    let mut interval = None;
    let allocations = allocations_of(|| {
        one_second(&mut recorder);
        interval = Some(recorder.cut(recorder.boundary(), spare));
        one_second(&mut recorder);
    });
    assert_eq!(allocations, 0);

    let mut cold = scene::recorder(1);
    assert!(
        allocations_of(|| one_second(&mut cold)) > 10,
        "the counter counts"
    );
}
