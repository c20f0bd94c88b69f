//! Clocks of a machine, relative to the one true time of a case.

use control::{Boot, FleetTime, Mono, Now};

/// Later than anything.
pub const NEVER: u64 = u64::MAX / 4;

/// The two clocks of one machine. Both drift alike, but the first stands still while it sleeps.
#[derive(Debug, Clone)]
pub struct MachineClock {
    mono_offset: u64,
    boot_offset: u64,
    /// How much faster than true time, in parts per million.
    drift_ppm: i64,
    slept_ns: u64,
}

impl MachineClock {
    pub fn new(mono_offset: u64, boot_offset: u64, drift_ppm: i64) -> MachineClock {
        MachineClock {
            mono_offset,
            boot_offset,
            drift_ppm,
            slept_ns: 0,
        }
    }

    /// Lets the machine sleep from now on; its clocks are not read until that is over.
    pub fn sleep(&mut self, for_ns: u64) {
        self.slept_ns += for_ns;
    }

    /// Identifies this boot of this machine.
    pub fn id(&self) -> u64 {
        self.mono_offset
    }

    pub fn mono(&self, now: u64) -> u64 {
        self.mono_offset + self.drifted(now.saturating_sub(self.slept_ns))
    }

    pub fn boot(&self, now: u64) -> u64 {
        self.boot_offset + self.drifted(now)
    }

    pub fn now(&self, now: u64) -> Now {
        Now {
            mono: Mono(self.mono(now)),
            boot: Boot(self.boot(now)),
        }
    }

    pub fn fleet_time(&self, now: u64) -> FleetTime {
        FleetTime(self.mono(now))
    }

    /// The first true time at which [`MachineClock::mono`] has reached `mono`.
    pub fn true_time(&self, mono: u64) -> u64 {
        if mono > NEVER {
            return NEVER;
        }
        let drifted = mono.saturating_sub(self.mono_offset);
        let back = i128::from(drifted) * 1_000_000 / i128::from(1_000_000 + self.drift_ppm);
        let mut at = (back as u64)
            .saturating_add(self.slept_ns)
            .saturating_sub(2);
        while self.mono(at) < mono {
            at += 1;
        }
        at
    }

    fn drifted(&self, elapsed: u64) -> u64 {
        let moved = i128::from(elapsed) * i128::from(1_000_000 + self.drift_ppm) / 1_000_000;
        u64::try_from(moved).unwrap_or(NEVER)
    }
}
