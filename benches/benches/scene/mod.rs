//! The operations of one second of one worker, for the benches of recorder, encoding and merging.

use measure::{CellId, HandshakeKind, Interval, Operation, OperationEnd, Period, Recorder};

pub const SECOND: u64 = 1_000_000_000;

/// Number of operations in a second. They are in the order in which they are done.
pub const OPERATIONS: usize = 20_000;

const ADDRESSES: u16 = 2;

/// A recorder that knows the addresses.
pub fn recorder() -> Recorder {
    let mut recorder = Recorder::new(1);
    for last in 1..=ADDRESSES {
        recorder.address(([10, 0, 0, last as u8], 443).into());
    }
    recorder
}

/// Operations of a closed loop on open connections, with six times each.
pub fn reusing() -> Vec<Operation> {
    let mut random = Random(42);
    (0..OPERATIONS)
        .map(|index| operation(index as u64 * (SECOND / OPERATIONS as u64), &mut random))
        .collect()
}

/// The same operations, each on a connection of its own, with nine times each.
pub fn opening() -> Vec<Operation> {
    let mut random = Random(43);
    let open = |operation: Operation, random: &mut Random| {
        let (connect, handshake) = (random.around(80_000), random.around(600_000));
        let begun_at = operation.begun_at.saturating_sub(connect + handshake);
        Operation {
            intended_at: begun_at,
            noticed_at: None,
            begun_at,
            tried_at: begun_at,
            ready_at: Some(operation.begun_at),
            connect: Some(connect),
            handshake: Some((HandshakeKind::Full, handshake)),
            ..operation
        }
    };
    reusing()
        .into_iter()
        .map(|operation| open(operation, &mut random))
        .collect()
}

/// The interval that a worker hands over after one second.
pub fn interval(operations: &[Operation]) -> Interval {
    let mut recorder = recorder();
    for operation in operations {
        recorder.count_start(operation.key);
        recorder.end(operation);
    }
    recorder.cut(SECOND, None)
}

fn operation(begun_at: u64, random: &mut Random) -> Operation {
    let written_at = begun_at + random.around(5_000);
    let first_byte_at = written_at + random.around(700_000);
    Operation {
        key: CellId {
            period: Period::Measured,
            request: 0,
            address: 1 + (random.next() % u64::from(ADDRESSES)) as u16,
        },
        intended_at: begun_at,
        noticed_at: None,
        begun_at,
        tried_at: begun_at,
        ready_at: None,
        sent_at: Some(begun_at),
        written_at: Some(written_at),
        first_byte_at: Some(first_byte_at),
        done_at: first_byte_at + random.around(30_000),
        dns: None,
        connect: None,
        handshake: None,
        end: OperationEnd::Ok,
        status: Some(200),
        payload_bytes: 356,
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// `ns / 2` plus an exponential tail whose mean is the other half.
    fn around(&mut self, ns: u64) -> u64 {
        let uniform = ((self.next() >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
        ns / 2 + (-uniform.ln() * ns as f64 / 2.0) as u64
    }
}
