//! What it costs a worker to make digests and signatures: some are timed, for all of them.

use measure::{Period, SigningTally};
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// One in 32 is timed, at random, so that no pattern of requests falls in step with it. Two
/// reads of a thread's clock cost a few hundred nanoseconds, which adds 1 % or so to a signature.
const ONE_OF: u64 = 32;

/// Pairs of reads that show what a read costs. The middle one counts, as a mean would follow
/// interrupts.
const READS: usize = 33;

/// What a worker has spent since that was taken. Only its own thread writes it: atomics serve
/// because the sources of texts are shared types.
#[derive(Debug, Default)]
pub(crate) struct SigningSum {
    made: AtomicU64,
    timed: AtomicU64,
    cpu_ns: AtomicU64,
    clock: CpuClock,
    /// What a timed piece of work seems to take that takes nothing.
    read_ns: OnceLock<u64>,
}

/// Reads a thread's CPU time, in nanoseconds.
#[derive(Debug)]
struct CpuClock(fn() -> u64);

/// Times the digests or signatures of one place of a request.
#[derive(Debug)]
pub(crate) struct SigningMeter {
    sum: Arc<SigningSum>,
    /// All that were timed here, in the warm-up too.
    timed: AtomicU64,
    timed_ns: AtomicU64,
    random: AtomicU64,
}

impl Default for CpuClock {
    fn default() -> CpuClock {
        CpuClock(thread_cpu_ns)
    }
}

impl SigningSum {
    /// Takes what was spent.
    pub(crate) fn take(&self) -> SigningTally {
        let take = |count: &AtomicU64| count.swap(0, Ordering::Relaxed);
        SigningTally {
            made: take(&self.made),
            timed: take(&self.timed),
            cpu_ns: take(&self.cpu_ns),
        }
    }

    fn read_ns(&self) -> u64 {
        *self.read_ns.get_or_init(|| {
            let mut reads: Vec<u64> = (0..READS)
                .map(|_| {
                    let before = self.now_ns();
                    self.now_ns().saturating_sub(before)
                })
                .collect();
            reads.sort_unstable();
            reads[READS / 2]
        })
    }

    fn now_ns(&self) -> u64 {
        (self.clock.0)()
    }
}

impl SigningMeter {
    /// A meter that adds to `sum`. Those of a request have different numbers.
    pub(crate) fn new(sum: &Arc<SigningSum>, number: u64) -> SigningMeter {
        SigningMeter {
            sum: Arc::clone(sum),
            timed: AtomicU64::new(0),
            timed_ns: AtomicU64::new(0),
            random: AtomicU64::new(number.wrapping_mul(2).wrapping_add(1)),
        }
    }

    /// Makes a digest or a signature of an operation in this part of the run.
    #[inline]
    pub(crate) fn count(&self, period: Period, make: impl FnOnce()) {
        let is_timed = self.is_due();
        let cpu_ns = if is_timed {
            self.time(make)
        } else {
            make();
            get(&self.timed_ns) / get(&self.timed).max(1)
        };
        if period == Period::Measured {
            add(&self.sum.made, 1);
            add(&self.sum.timed, u64::from(is_timed));
            add(&self.sum.cpu_ns, cpu_ns);
        }
    }

    #[cold]
    fn time(&self, make: impl FnOnce()) -> u64 {
        let read_ns = self.sum.read_ns();
        let before = self.sum.now_ns();
        make();
        let took = self.sum.now_ns().saturating_sub(before);
        let took = took.saturating_sub(read_ns);
        add(&self.timed, 1);
        add(&self.timed_ns, took);
        took
    }

    /// The first one is timed, so that a mean is known for all others.
    #[inline]
    fn is_due(&self) -> bool {
        // Xorshift (Marsaglia 2003): 64 bits, never 0.
        let mut bits = get(&self.random);
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        self.random.store(bits, Ordering::Relaxed);
        (bits >> 32).is_multiple_of(ONE_OF) || get(&self.timed) == 0
    }
}

#[inline]
fn get(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

#[inline]
fn add(count: &AtomicU64, number: u64) {
    count.store(get(count).saturating_add(number), Ordering::Relaxed);
}

/// CPU time of this thread: what others take of its CPU is not in it.
fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// What a read of the clock takes.
    const READ_NS: u64 = 250;

    thread_local! {
        static NOW_NS: Cell<u64> = const { Cell::new(0) };
    }

    /// Time passes only as the tests say.
    fn pass(ns: u64) -> u64 {
        NOW_NS.set(NOW_NS.get() + ns);
        NOW_NS.get()
    }

    fn sum_of_fake_time() -> Arc<SigningSum> {
        Arc::new(SigningSum {
            clock: CpuClock(|| pass(READ_NS)),
            ..SigningSum::default()
        })
    }

    /// Makes digests of two kinds in turn, whose costs differ twelvefold. Returns what was counted,
    /// and what they took without reads of the clock.
    fn spend(number: u64, nth: u64) -> (SigningTally, u64) {
        let sum = sum_of_fake_time();
        let meter = SigningMeter::new(&sum, nth);
        let mut took = 0;
        for number in 0..number {
            let cost = if number % 2 == 0 { 500 } else { 6_000 };
            meter.count(Period::Measured, || {
                pass(cost);
            });
            took += cost;
        }
        let tally = sum.take();
        assert_eq!(sum.take(), SigningTally::default());
        (tally, took)
    }

    #[test]
    fn estimate_is_what_all_of_them_took() {
        const NUMBER: u64 = 20_000;
        for nth in 0..20 {
            let (tally, took) = spend(NUMBER, nth);
            assert_eq!(tally.made, NUMBER);
            let expected = NUMBER / ONE_OF;
            let timed = tally.timed;
            assert!(timed.abs_diff(expected) < expected / 4, "{timed} timed");
            // Some 625 samples whose spread is 85 % of their mean have a standard error of 3.4 %.
            let ratio = tally.cpu_ns as f64 / took as f64;
            assert!((0.9..1.1).contains(&ratio), "{ratio:.3}");
        }
    }

    #[test]
    fn reads_of_the_clock_are_not_counted() {
        let sum = sum_of_fake_time();
        let meter = SigningMeter::new(&sum, 1);
        meter.count(Period::Measured, || {
            pass(1_000);
        });
        assert_eq!(sum.take().cpu_ns, 1_000);
    }

    #[test]
    fn clock_of_a_thread_advances() {
        let clock = CpuClock::default().0;
        let begun = clock();
        assert!((0..1_000_000).any(|_| clock() > begun));
    }

    #[test]
    fn warm_up_is_timed_and_not_counted() {
        let sum = Arc::<SigningSum>::default();
        let meter = SigningMeter::new(&sum, 7);
        meter.count(Period::WarmUp, || {});
        assert_eq!(sum.take(), SigningTally::default());
        assert_eq!(get(&meter.timed), 1);
    }
}
