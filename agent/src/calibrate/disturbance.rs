//! What else wanted this machine's CPUs while a round was measured.

use super::load_round::LoadRound;
use host::{CpuTimes, HostError, MachineTimes, ProcessTimes, Sampler};

/// Nanoseconds in a tick of `/proc/stat`.
const TICK_NS: u64 = 10_000_000;

/// Watches the CPUs of one round.
pub(super) struct Disturbance<'c> {
    sampler: Sampler,
    cpus: &'c [u32],
    machine: MachineTimes,
    process: ProcessTimes,
    begun_at: u64,
}

/// Whether a load thread that waits for its CPU can only be waiting for other programs, or also for
/// the target or a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadCpus {
    Own,
    Shared,
}

impl<'c> Disturbance<'c> {
    /// # Errors
    /// The kernel's files cannot be read.
    pub(super) fn begin(cpus: &'c [u32]) -> Result<Disturbance<'c>, HostError> {
        let sampler = Sampler::new();
        Ok(Disturbance {
            machine: sampler.machine_times()?,
            process: sampler.process_times()?,
            begun_at: engine::monotonic_ns(),
            sampler,
            cpus,
        })
    }

    /// Part of the CPU time that something else took, from 0 to 1.
    ///
    /// # Errors
    /// See [`Disturbance::begin`].
    pub(super) fn share(&self, round: &LoadRound, of_load: LoadCpus) -> Result<f64, HostError> {
        let elapsed_ns = engine::monotonic_ns().saturating_sub(self.begun_at);
        let machine = self.sampler.machine_times()?.since(&self.machine);
        let process = self.sampler.process_times()?.since(&self.process);
        let spent = self.cpus.iter().filter_map(|cpu| machine.cpus.get(cpu));
        let busy = spent.map(busy_ns).sum();
        let own = process.user_ns.saturating_add(process.system_ns);
        let all = elapsed_ns.saturating_mul(self.cpus.len() as u64);
        let others = others_share(busy, own, all);
        Ok(match of_load {
            LoadCpus::Own => others.max(round.taken_share()),
            LoadCpus::Shared => others,
        })
    }
}

/// Soft interrupts are left out: most of them are the round's own packets.
fn busy_ns(times: &CpuTimes) -> u64 {
    let ticks = times
        .user
        .saturating_add(times.system)
        .saturating_add(times.steal);
    ticks.saturating_mul(TICK_NS)
}

/// Each end of the time is known only to a tick, so two ticks are subtracted.
fn others_share(busy_ns: u64, own_ns: u64, all_ns: u64) -> f64 {
    let others = busy_ns.saturating_sub(own_ns).saturating_sub(2 * TICK_NS);
    (others as f64 / all_ns.max(1) as f64).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::{TICK_NS, others_share};

    #[test]
    fn share_of_others_is_what_is_not_our_own() {
        let second = 100 * TICK_NS;
        for (busy, own, share) in [
            (2 * second, 2 * second, 0.0),
            // Two ticks are the error of the clock.
            (second + 2 * TICK_NS, second, 0.0),
            (second + 42 * TICK_NS, second, 0.2),
            (2 * second + 2 * TICK_NS, 0, 1.0),
            (second, 2 * second, 0.0),
        ] {
            assert_eq!(others_share(busy, own, 2 * second), share);
        }
        assert_eq!(others_share(second, 0, 0), 1.0);
    }
}
