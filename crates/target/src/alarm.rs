//! Wakes connections at given instants to the microsecond, where tokio's timer ticks once a
//! millisecond.

use rustix::fd::OwnedFd;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::poll_fn;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The monotonic clock, nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
    // Neither is negative on this clock.
    tv_sec as u64 * 1_000_000_000 + tv_nsec as u64
}

/// One timer of the kernel for all waits of a runtime. The kernel fires it without the slack that
/// other time-outs have (a timerfd is an hrtimer), and the runtime waits for it as it waits for
/// sockets.
pub(crate) struct Alarm {
    timer: AsyncFd<OwnedFd>,
    sleepers: Mutex<Sleepers>,
}

/// The waits, the earliest on top; those for the same instant in the order in which they came.
#[derive(Default)]
struct Sleepers {
    heap: BinaryHeap<Reverse<Sleeper>>,
    came: u64,
}

struct Sleeper {
    /// Instant, then order of coming.
    due: (u64, u64),
    waker: Waker,
}

impl Alarm {
    /// Inside a runtime, whose reactor takes the timer.
    pub fn new() -> io::Result<Alarm> {
        let timer = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        )?;
        Ok(Alarm {
            timer: watch(timer)?,
            sleepers: Mutex::default(),
        })
    }

    /// Waits until `at` of the monotonic clock, while [`Alarm::ring`] runs.
    pub async fn until(&self, at: u64) {
        poll_fn(|context| {
            if monotonic_ns() >= at {
                return Poll::Ready(());
            }
            self.wake_at(at, context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Wakes the waits that are due, forever.
    pub async fn ring(&self) {
        // The only error is that the reactor has gone, and with it every wait.
        while let Ok(mut ready) = self.timer.readable().await {
            // Edge-triggered, and set again below, so it need not be read.
            ready.clear_ready();
            self.wake_due();
        }
    }

    fn wake_at(&self, at: u64, waker: Waker) {
        let mut sleepers = self.sleepers();
        let is_first = sleepers.heap.peek().is_none_or(|first| at < first.0.due.0);
        sleepers.came += 1;
        let due = (at, sleepers.came);
        sleepers.heap.push(Reverse(Sleeper { due, waker }));
        if is_first {
            self.set(at);
        }
    }

    fn wake_due(&self) {
        let mut sleepers = self.sleepers();
        let now = monotonic_ns();
        while let Some(Reverse(first)) = sleepers.heap.peek() {
            if first.due.0 > now {
                self.set(first.due.0);
                return;
            }
            if let Some(Reverse(due)) = sleepers.heap.pop() {
                due.waker.wake();
            }
        }
    }

    /// Under the lock, so that the timer stands at the earliest instant.
    fn set(&self, at: u64) {
        let it_value = Timespec {
            tv_sec: (at / 1_000_000_000) as i64,
            tv_nsec: (at % 1_000_000_000) as i64,
        };
        let once = Itimerspec {
            it_interval: Timespec::default(),
            it_value,
        };
        let set = timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::ABSTIME, &once);
        set.expect("a timer of ours takes every instant after the machine's start");
    }

    fn sleepers(&self) -> MutexGuard<'_, Sleepers> {
        // A waker that panicked left the heap whole.
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[expect(
    deprecated,
    reason = "its successor is unsafe for the sake of types that do not own one file for good, as \
              OwnedFd does (tokio-rs/tokio#8587)"
)]
fn watch(timer: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(timer, Interest::READABLE)
}

impl Ord for Sleeper {
    fn cmp(&self, other: &Sleeper) -> std::cmp::Ordering {
        self.due.cmp(&other.due)
    }
}

impl PartialOrd for Sleeper {
    fn partial_cmp(&self, other: &Sleeper) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Sleeper {
    fn eq(&self, other: &Sleeper) -> bool {
        self.due == other.due
    }
}

impl Eq for Sleeper {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::sync::Arc;
    use tokio::task::{LocalSet, yield_now};

    fn block_on<T>(task: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap();
        LocalSet::new().block_on(&runtime, task)
    }

    #[test]
    fn sleepers_wake_in_the_order_of_their_instants_and_never_early() {
        block_on(async {
            let (alarm, woken) = (
                Arc::new(Alarm::new().unwrap()),
                std::rc::Rc::new(RefCell::new(Vec::new())),
            );
            let begin = monotonic_ns();
            let tasks: Vec<_> = [3_u64, 1, 2, 0, 1]
                .into_iter()
                .map(|ms| {
                    let (alarm, woken) = (alarm.clone(), woken.clone());
                    tokio::task::spawn_local(async move {
                        alarm.until(begin + ms * 1_000_000).await;
                        woken
                            .borrow_mut()
                            .push((ms, monotonic_ns() >= begin + ms * 1_000_000));
                    })
                })
                .collect();
            let ringing = tokio::task::spawn_local({
                let alarm = alarm.clone();
                async move { alarm.ring().await }
            });
            for task in tasks {
                task.await.unwrap();
            }
            ringing.abort();
            assert_eq!(
                *woken.borrow(),
                [(0, true), (1, true), (1, true), (2, true), (3, true)]
            );
        });
    }

    #[test]
    fn instant_that_has_passed_is_no_wait() {
        block_on(async {
            // `ring` does not run: a wait would last forever.
            Alarm::new().unwrap().until(monotonic_ns()).await;
        });
    }

    #[test]
    fn sleeper_that_has_gone_disturbs_nobody() {
        block_on(async {
            let alarm = Arc::new(Alarm::new().unwrap());
            let begin = monotonic_ns();
            let gone = tokio::task::spawn_local({
                let alarm = alarm.clone();
                async move { alarm.until(begin + 1_000_000).await }
            });
            yield_now().await;
            gone.abort();
            tokio::select! {
                () = alarm.ring() => panic!("rings for ever"),
                () = alarm.until(begin + 2_000_000) => {}
            }
        });
    }
}
