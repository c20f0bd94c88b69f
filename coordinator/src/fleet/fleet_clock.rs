//! The clock of all instants of a fleet.

use control::FleetTime;
use rustix::time::{ClockId, clock_gettime};

/// The clock's zero is this long (2.3 years) before the machine's boot, so that a run that is
/// resumed after a reboot has instants for what happened before it.
const BEFORE_BOOT_NS: u64 = 1 << 56;

/// This machine's CLOCK_MONOTONIC, counted from [`BEFORE_BOOT_NS`] before its zero.
pub(crate) fn now() -> FleetTime {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or(0);
    FleetTime(BEFORE_BOOT_NS + seconds * 1_000_000_000 + nanoseconds)
}

/// Identifies the clock, which goes on as long as the machine runs. `None` if the system does not
/// distinguish one boot from another.
pub(crate) fn clock_id() -> Option<[u8; 16]> {
    let boot = u128::from_be_bytes(host::boot_id().ok()?);
    // A program that counts from another zero has another clock.
    Some(boot.wrapping_add(BEFORE_BOOT_NS.into()).to_be_bytes())
}

/// The same in hexadecimal; empty if there is none.
pub(crate) fn clock_name() -> String {
    let id = clock_id().map(u128::from_be_bytes);
    id.map(|id| format!("{id:032x}")).unwrap_or_default()
}
