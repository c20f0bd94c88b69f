//! How long an operation's connect, handshake and answer may take.

use crate::source::nanoseconds;
use crate::timers::Timers;
use plan::Plan;

/// One deadline per slot, for whatever its operation waits for now.
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

    /// Sets the deadline of the slot's lookup or connect, which began at `from`; `latest` if that
    /// comes first.
    pub(super) fn await_connect(&mut self, slot: u32, from: u64, latest: u64) {
        self.timers.set(slot, latest.min(from + self.connect_ns));
    }

    /// Sets the deadline of the slot's handshake, which began at `from`; `latest` if that comes
    /// first.
    pub(super) fn await_handshake(&mut self, slot: u32, from: u64, latest: u64) {
        self.timers.set(slot, latest.min(from + self.handshake_ns));
    }

    /// Sets the deadline of the slot's answer: its request was sent at `from`, or since then it has
    /// waited for a lane or for the server to confirm a close.
    #[inline]
    pub(super) fn await_answer(&mut self, slot: u32, from: u64) {
        self.timers.set(slot, self.answer_due(from));
    }

    /// Looks at the slot at `until`, unless its answer is due before: its body waits for leave.
    pub(super) fn await_leave(&mut self, slot: u32, until: u64) {
        self.timers.set_sooner(slot, until);
    }

    /// Looks at the slot at `at`, and not before: its operation has a socket.
    pub(super) fn look_at(&mut self, slot: u32, at: u64) {
        self.timers.set(slot, at);
    }

    /// How long an answer may take.
    pub(super) fn request_ns(&self) -> u64 {
        self.request_ns
    }

    /// When the server should at the latest have done what it was asked for at `from`.
    #[inline]
    pub(super) fn answer_due(&self, from: u64) -> u64 {
        from + self.request_ns
    }

    pub(super) fn clear(&mut self, slot: u32) {
        self.timers.clear(slot);
    }

    /// Moves the deadline of `slot` to `other`, where its operation continues.
    pub(super) fn hand_on(&mut self, slot: u32, other: u32) {
        self.timers.hand_on(slot, other);
    }

    /// A lower bound on the first deadline; it can be earlier than the first that passes.
    pub(super) fn next(&self) -> Option<u64> {
        self.timers.next()
    }

    /// Takes a slot whose time is up at `now`, if there is one, and clears its deadline.
    pub(super) fn pop(&mut self, now: u64) -> Option<u32> {
        self.timers.pop(now)
    }
}
