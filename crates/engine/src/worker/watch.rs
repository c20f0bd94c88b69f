//! How a worker waits: for its sockets, until the next instant that matters, asleep or on the CPU.

use crate::clock::RunClock;
use crate::poller::{Events, Poller, Ready};
use crate::spin::Spin;
use rustix::fd::AsFd;
use rustix::io::Errno;

/// Longest sleep, so that a stopped or forgotten worker sees its orders and its lease.
const LONGEST_WAIT_NS: u64 = 250_000_000;
/// A look at the sockets that takes longer has slept: they became ready while it did.
const SLEPT_NS: u64 = 10_000;

/// A worker's watch over its sockets; it tells the time it waited, and how long a ready socket did.
pub(super) struct SocketWatch {
    poller: Poller,
    events: Events,
    spin: Spin,
    clock: RunClock,
    idle_ns: u64,
    /// When the sockets were looked at last.
    looked_at: u64,
    /// Since when the sockets that it found were ready, at most.
    ready_since: u64,
    /// The same of the socket that is being handled, until it is.
    unhandled_since: Option<u64>,
}

/// How long a wait may be.
pub(super) enum Patience {
    /// Something is left to do at once.
    Look,
    /// Nothing is due before the first of these instants; `arrival` is that of the next arrival.
    Until { due: u64, arrival: Option<u64> },
}

impl SocketWatch {
    pub(super) fn new(poller: Poller, spin: Spin, clock: RunClock) -> SocketWatch {
        SocketWatch {
            poller,
            events: Events::new(),
            spin,
            clock,
            idle_ns: 0,
            looked_at: 0,
            ready_since: 0,
            unhandled_since: None,
        }
    }

    /// Watches a socket until it is closed.
    pub(super) fn add(&self, socket: impl AsFd, token: u64) -> Result<(), Errno> {
        self.poller.add(socket, token)
    }

    /// A watched socket is told of under another token; what there is to read is told again.
    pub(super) fn move_to(&self, socket: impl AsFd, token: u64) {
        // A socket that cannot be watched any more ends by its operations' time-outs.
        let _ = self.poller.modify(socket, token);
    }

    /// Sleeps before the run, when no socket is open.
    pub(super) fn sleep(&mut self, ns: u64) {
        let _ = self.poller.wait(&mut self.events, ns.min(LONGEST_WAIT_NS));
    }

    /// Waits for events; how many there are, and when it is then.
    pub(super) fn wait(&mut self, patience: Patience) -> (usize, u64) {
        let before = self.clock.now();
        let Patience::Until { due, arrival } = patience else {
            return self.look(before, 0);
        };
        let due = due.min(before + LONGEST_WAIT_NS);
        if due <= before {
            return self.look(before, 0);
        }
        // Shortly before an arrival the CPU stays awake: waking up would take it too long.
        let (events, now) = match self.spin.begins_at(arrival) {
            Some(begin) if begin <= before => self.spin(due, before),
            Some(begin) => self.look(before, begin.min(due) - before),
            None => self.look(before, due - before),
        };
        self.idle_ns += now.saturating_sub(before);
        (events, now)
    }

    /// The `index`th event of the last wait.
    pub(super) fn event(&self, index: usize) -> Ready {
        self.events.at(index)
    }

    /// An event is being handled from here on.
    pub(super) fn begin_handling(&mut self) {
        self.unhandled_since = Some(self.ready_since);
    }

    /// The event is handled at `at`: how long its socket has waited, where that was not told yet.
    #[inline]
    pub(super) fn take_lag(&mut self, at: u64) -> Option<u64> {
        let since = self.unhandled_since.take()?;
        Some(at.saturating_sub(since))
    }

    pub(super) fn idle_ns(&self) -> u64 {
        self.idle_ns
    }

    pub(super) fn spun_ns(&self) -> u64 {
        self.spin.spun_ns()
    }

    /// Looks for events on the CPU until something is due.
    fn spin(&mut self, due: u64, before: u64) -> (usize, u64) {
        self.spin.begin(before);
        loop {
            let (events, now) = self.look(before, 0);
            if events > 0 || now >= due {
                self.spin.looked(now);
                return (events, now);
            }
            if !self.spin.goes_on(now) {
                return (0, now);
            }
        }
    }

    /// Looks for events, asleep for at most `timeout` nanoseconds from `before` on.
    fn look(&mut self, before: u64, timeout: u64) -> (usize, u64) {
        // A failing epoll_wait (EBADF, EINVAL) would be a defect here; the loop goes on by its
        // timers.
        let events = self.poller.wait(&mut self.events, timeout).unwrap_or(0);
        let now = self.clock.now();
        let has_slept = timeout > 0 && now.saturating_sub(before) > SLEPT_NS;
        self.ready_since = if has_slept { now } else { self.looked_at };
        self.looked_at = now;
        (events, now)
    }
}
