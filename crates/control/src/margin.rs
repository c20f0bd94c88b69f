//! How far ahead the start instant is.

use std::time::Duration;

/// At least so far; more on slow paths and for many agents, so that all of them learn of the start
/// and have a lease in time. The start is stored before the second step, which takes a disk some
/// hundredths of a second, and busy machines far more.
const MARGIN_MIN: Duration = Duration::from_secs(1);
const MARGIN_MAX: Duration = Duration::from_secs(10);

/// Handling and sending the four messages of one agent's start.
const PER_AGENT: Duration = Duration::from_micros(500);

/// The bound of a clock is half a round trip, and six of the worst are allowed. Start and its
/// answer take one. If the last answer comes when a quarter of the margin is left, one and a half
/// remain, which is what Go, the beat and its grant take.
const BOUNDS: u64 = 12;

/// From naming the start instant to the instant, for agents whose clocks have these bounds.
pub(crate) fn start_margin(bounds_ns: impl Iterator<Item = u64>) -> Duration {
    let (agents, worst_ns) = bounds_ns.fold((0_u32, 0), |(agents, worst), bound| {
        (agents.saturating_add(1), bound.max(worst))
    });
    MARGIN_MIN
        .saturating_add(Duration::from_nanos(worst_ns.saturating_mul(BOUNDS)))
        .saturating_add(PER_AGENT.saturating_mul(agents))
        .min(MARGIN_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margin_grows_with_the_slowest_path_and_the_number_of_agents() {
        const MS: u64 = 1_000_000;
        for (agents, bound_ns, expected_ms) in [
            (0, 0, 1_000),
            (2, 0, 1_001),
            (2, 50 * MS, 1_601),
            (1_000, 10 * MS, 1_620),
            (10_000, 50 * MS, 6_600),
            (3, u64::MAX, 10_000),
            (1_000_000, 0, 10_000),
        ] {
            let margin =
                start_margin((0..agents).map(|agent| if agent == 1 { bound_ns } else { 0 }));
            assert_eq!(
                margin.as_millis(),
                expected_ms,
                "{agents} agents, {bound_ns} ns"
            );
        }
    }
}
