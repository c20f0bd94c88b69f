//! Until when an operation's connect, handshake and answer are waited for.

use crate::source::nanoseconds;
use crate::timers::Timers;
use plan::Plan;

/// One deadline per slot: that of what its operation waits for now.
pub(super) struct Deadlines {
    timers: Timers,
    connect_ns: u64,
    handshake_ns: u64,
    request_ns: u64,
}

impl Deadlines {
    pub(super) fn new(plan: &Plan) -> Deadlines {
        let timeouts = &plan.connection().timeouts;
        Deadlines {
            timers: Timers::default(),
            connect_ns: nanoseconds(timeouts.connect),
            handshake_ns: nanoseconds(timeouts.handshake),
            request_ns: nanoseconds(timeouts.request),
        }
    }

    /// The slot's lookup or connect began at `from`.
    pub(super) fn await_connect(&mut self, slot: u32, from: u64) {
        self.timers.set(slot, from + self.connect_ns);
    }

    /// The slot's handshake began at `from`.
    pub(super) fn await_handshake(&mut self, slot: u32, from: u64) {
        self.timers.set(slot, from + self.handshake_ns);
    }

    /// The slot's request was sent at `from`, or waits for a stream or for the peer's end since.
    pub(super) fn await_answer(&mut self, slot: u32, from: u64) {
        self.timers.set(slot, from + self.request_ns);
    }

    pub(super) fn clear(&mut self, slot: u32) {
        self.timers.clear(slot);
    }

    /// The operation of `slot` goes on in `other`, and its deadline with it.
    pub(super) fn hand_on(&mut self, slot: u32, other: u32) {
        self.timers.hand_on(slot, other);
    }

    /// No deadline passes before this one; it may be earlier than the first that does.
    pub(super) fn next(&self) -> Option<u64> {
        self.timers.next()
    }

    /// A slot whose time is up at `now`, if there is one; its deadline is cleared.
    pub(super) fn pop(&mut self, now: u64) -> Option<u32> {
        self.timers.pop(now)
    }
}
