//! How a worker waits for its sockets until the next instant that matters, asleep or on the CPU.

use crate::clock::RunClock;
use crate::connection_key::ConnectionKey;
use crate::poller::{Events, Poller, Ready};
use crate::spin::Spin;
use rustix::fd::AsFd;
use rustix::io::Errno;

/// The longest sleep, so that a stopped or forgotten worker notices its orders and its lease.
const LONGEST_WAIT_NS: u64 = 250_000_000;
/// The longest sleep while answers are awaited. A stall of the thread during its sleep shows only
/// if it wakes after the sleep should have ended, so a stall of up to this length can go unnoticed.
const LONGEST_WATCHFUL_WAIT_NS: u64 = 10_000_000;
/// A wait that ends, or a turn that lasts, this much too long counts as held up. Waking up takes 20
/// to 100 µs.
const HELD_UP_NS: u64 = 1_000_000;
/// A poll that takes longer than this has slept, and the sockets became ready during it.
const SLEPT_NS: u64 = 10_000;

/// A worker's watch over its sockets. It measures the time it waited, and how long ready sockets
/// did.
pub(super) struct SocketWatch {
    poller: Poller,
    events: Events,
    spin: Spin,
    clock: RunClock,
    idle_ns: u64,
    /// When the sockets were last polled.
    looked_at: u64,
    /// The earliest instant at which the sockets of the last poll can have become ready.
    ready_since: u64,
    /// The same for the socket that is being handled; taken once it has been handled.
    unhandled_since: Option<u64>,
    /// How much too late the last wait began or ended; `None` if it was in time.
    held_up_ns: Option<u64>,
}

/// How long a wait may last.
pub(super) enum Patience {
    /// Something is left to do at once.
    Look,
    /// Nothing is due before `due`; `arrival` is when the next arrival is.
    Until {
        due: u64,
        arrival: Option<u64>,
        awaits_answers: bool,
    },
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
            held_up_ns: None,
        }
    }

    /// Starts the clock of the first turn.
    pub(super) fn begin(&mut self) {
        self.looked_at = self.clock.now();
    }

    /// Watches the socket of a connection until it is closed.
    pub(super) fn add(&self, socket: impl AsFd, key: ConnectionKey) -> Result<(), Errno> {
        self.poller.add(socket, key.token())
    }

    /// Reports a watched socket under another key from now on; what there is to read is reported
    /// again.
    pub(super) fn move_to(&self, socket: impl AsFd, key: ConnectionKey) {
        // If this fails, the operations of the socket end by their time-outs.
        let _ = self.poller.modify(socket, key.token());
    }

    /// Sleeps before the run, when no socket is open.
    pub(super) fn sleep(&mut self, ns: u64) {
        let _ = self.poller.wait(&mut self.events, ns.min(LONGEST_WAIT_NS));
    }

    /// Waits for events. Returns their number and the time.
    pub(super) fn wait(&mut self, patience: Patience) -> (usize, u64) {
        let before = self.clock.now();
        let turn_ns = before.saturating_sub(self.looked_at);
        let (events, now, due) = self.wait_from(before, patience);
        let held_up_ns = turn_ns.max(now.saturating_sub(due));
        self.held_up_ns = (held_up_ns > HELD_UP_NS).then_some(held_up_ns);
        (events, now)
    }

    /// Waits likewise; also returns when the wait was to end at the latest.
    fn wait_from(&mut self, before: u64, patience: Patience) -> (usize, u64, u64) {
        let Patience::Until {
            due,
            arrival,
            awaits_answers,
        } = patience
        else {
            let (events, now) = self.look(before, 0);
            return (events, now, before);
        };
        let longest = if awaits_answers {
            LONGEST_WATCHFUL_WAIT_NS
        } else {
            LONGEST_WAIT_NS
        };
        let due = due.min(before + longest);
        if due <= before {
            let (events, now) = self.look(before, 0);
            return (events, now, before);
        }
        // Shortly before an arrival the CPU stays awake, since waking up would take too long.
        let (events, now, due) = match self.spin.begins_at(arrival) {
            Some(begin) if begin <= before => {
                let (events, now) = self.spin(due, before);
                (events, now, due)
            }
            begin => {
                let due = begin.map_or(due, |begin| begin.min(due));
                let (events, now) = self.look(before, due - before);
                (events, now, due)
            }
        };
        self.idle_ns += now.saturating_sub(before);
        (events, now, due)
    }

    /// The `index`th event of the last wait.
    pub(super) fn event(&self, index: usize) -> Ready {
        self.events.at(index)
    }

    /// Marks the start of handling an event.
    pub(super) fn begin_handling(&mut self) {
        self.unhandled_since = Some(self.ready_since);
    }

    /// Returns how long the socket had waited when it was handled at `at`; `None` if that was
    /// returned already.
    #[inline]
    pub(super) fn take_lag(&mut self, at: u64) -> Option<u64> {
        let since = self.unhandled_since.take()?;
        Some(at.saturating_sub(since))
    }

    /// Returns by how much the last wait began or ended too late, if something held the loop up (a
    /// long turn, or a stalled thread) and it was not returned already.
    #[inline]
    pub(super) fn take_held_up(&mut self) -> Option<u64> {
        self.held_up_ns.take()
    }

    pub(super) fn idle_ns(&self) -> u64 {
        self.idle_ns
    }

    pub(super) fn spun_ns(&self) -> u64 {
        self.spin.spun_ns()
    }

    /// Polls for events on the CPU until something is due.
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

    /// Polls for events, sleeping for at most `timeout` nanoseconds from `before` on.
    fn look(&mut self, before: u64, timeout: u64) -> (usize, u64) {
        // A failing epoll_wait (EBADF, EINVAL) would be a defect here; the loop continues by its
        // timers.
        let events = self.poller.wait(&mut self.events, timeout).unwrap_or(0);
        let now = self.clock.now();
        let has_slept = timeout > 0 && now.saturating_sub(before) > SLEPT_NS;
        // A thread that woke late may have slept on after the socket became ready.
        self.ready_since = if has_slept {
            now.min(before.saturating_add(timeout))
        } else {
            self.looked_at
        };
        self.looked_at = now;
        (events, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::monotonic_ns;
    use crate::spin::SpunTime;
    use std::time::Duration;

    const MS: u64 = 1_000_000;

    fn watch() -> SocketWatch {
        let spin = Spin::new(false, SpunTime::of_workers(1), 0);
        // One second into the run.
        let clock = RunClock::starting_at(monotonic_ns() - 1000 * MS);
        let mut watch = SocketWatch::new(Poller::new().unwrap(), spin, clock);
        watch.begin();
        watch
    }

    fn patience(due: u64, awaits_answers: bool) -> Patience {
        Patience::Until {
            due,
            arrival: None,
            awaits_answers,
        }
    }

    #[test]
    fn turn_that_lasts_long_holds_the_loop_up_for_as_long_at_least() {
        let mut watch = watch();
        std::thread::sleep(Duration::from_millis(20)); // the turn
        watch.wait(Patience::Look);
        assert!(watch.take_held_up() >= Some(20 * MS));
        assert_eq!(watch.take_held_up(), None, "it is told once");
    }

    #[test]
    fn wait_for_answers_is_short_so_that_standing_still_in_it_shows() {
        // On a busy machine a single wait can be long; the shortest of several is as long as it
        // should be.
        let mut watch = watch();
        let mut shortest = |awaits_answers| {
            let waits = (0..5).map(|_| {
                let before = watch.clock.now();
                let (_, now) = watch.wait(patience(before + 100 * MS, awaits_answers));
                now - before
            });
            waits.min().unwrap()
        };
        assert!((10 * MS..90 * MS).contains(&shortest(true)));
        assert!(shortest(false) >= 100 * MS);
    }

    #[test]
    fn socket_of_a_wait_that_ended_late_is_ready_since_the_wait_should_have_ended() {
        let mut watch = watch();
        // Pretend that the thread went to sleep 30 ms ago, for 10 ms.
        let before = watch.clock.now() - 30 * MS;
        watch.look(before, 10 * MS);
        assert_eq!(watch.ready_since, before + 10 * MS);
    }
}
