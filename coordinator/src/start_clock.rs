//! A run's clock: one instant that is known both by the fleet's clock and by the calendar.

use control::FleetTime;
use run_folder::Utc;

/// The start of a run by two clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StartClock {
    /// By the fleet's clock.
    pub(crate) start_at: FleetTime,
    /// By the calendar.
    pub(crate) started_at: Utc,
}

impl StartClock {
    /// Converts an instant of the calendar to the fleet's clock.
    pub(crate) fn fleet_time(self, at: Utc) -> FleetTime {
        let after_ns = i64::try_from(at.ns_after(self.started_at)).unwrap_or(0);
        FleetTime(self.start_at.0.saturating_add_signed(after_ns))
    }

    /// Converts it to a clock of the fleet that is ahead by `by_ns`.
    pub(crate) fn shift(&mut self, by_ns: i64) {
        self.start_at = FleetTime(self.start_at.0.saturating_add_signed(by_ns));
    }
}
