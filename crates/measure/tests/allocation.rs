//! Once its cells exist, a recorder allocates nothing: not for an operation, a handshake or a cut.
#![expect(
    unsafe_code,
    reason = "a global allocator that counts cannot be written without"
)]

mod scene;

use measure::{Chain, HandshakeKind, Negotiated, Operation, Recorder, Snapshot};
use scene::{MS, SECOND, chain, handshake, key, negotiated, operation, recorder};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps GlobalAlloc's contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
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

/// One second of operations that open connections and operations that reuse them.
fn one_second(recorder: &mut Recorder, negotiated: &Negotiated, chain: &Chain) {
    let start = u64::from(recorder.interval()) * SECOND;
    for index in 0..1000 {
        let intended_at = start.saturating_sub(20 * MS) + index * MS;
        let mut operation = operation(intended_at);
        operation.done_at += index % 7 * 1000;
        recorder.started(operation.key);
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
        recorder.ended(&operation);
    }
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
