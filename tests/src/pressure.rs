//! How long threads of any program on this machine waited for a CPU while something was measured.

use std::time::Instant;

/// On a quiet machine threads wait for a CPU for less than this share of the time.
const QUIET: f64 = 0.05;

/// The share of the time in which at least one thread waited for a CPU, from the kernel's pressure
/// stall information (Documentation/accounting/psi.rst), and in which the hypervisor had taken one
/// away (proc_stat(5), steal); `None` if the kernel has none.
#[derive(Debug)]
pub struct Pressure(Option<f64>);

/// A measurement of [`Pressure`] under way.
pub struct PressureWatch {
    begin: Instant,
    waited_us: Option<u64>,
}

impl Pressure {
    /// Begins to measure.
    #[must_use]
    pub fn watch() -> PressureWatch {
        PressureWatch {
            begin: Instant::now(),
            waited_us: waited_us(),
        }
    }

    /// Whether other programs left the CPUs alone, as far as that is known.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.0.is_none_or(|share| share < QUIET)
    }
}

impl PressureWatch {
    /// The pressure since it began.
    #[must_use]
    pub fn end(&self) -> Pressure {
        let waited_us = waited_us()
            .zip(self.waited_us)
            .map(|(end, begin)| end - begin);
        Pressure(waited_us.map(|us| us as f64 / self.begin.elapsed().as_micros() as f64))
    }
}

fn waited_us() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/pressure/cpu").ok()?;
    let waited: u64 = text.lines().next()?.rsplit_once("total=")?.1.parse().ok()?;
    Some(waited + stolen_us().unwrap_or(0))
}

/// CPU time that guests wanted and the hypervisor gave to others, in all.
fn stolen_us() -> Option<u64> {
    const TICK_US: u64 = 10_000;
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let ticks: u64 = text
        .lines()
        .next()?
        .split_whitespace()
        .nth(8)?
        .parse()
        .ok()?;
    Some(ticks * TICK_US)
}
