//! How far ahead the start instant is set.

use std::time::Duration;

/// Bounds of the margin. It grows with slow paths and with the number of agents, so that all of
/// them learn of the start and have a lease in time. The start is stored before the second step,
/// which takes a disk some tens of milliseconds, and a busy machine far more.
const MARGIN_MIN: Duration = Duration::from_secs(1);
const MARGIN_MAX: Duration = Duration::from_secs(10);

/// The least margin of the first instant of a single agent. No other agent begins with it, so a
/// missed instant costs only the time until the next one, which gets the full margin.
const MARGIN_ALONE: Duration = Duration::from_millis(300);

/// Time to handle and send the four messages of one agent's start.
const PER_AGENT: Duration = Duration::from_micros(500);

/// Bounds of the worst clock that fit into the margin. A bound is half a round trip, so these are
/// six of the worst round trips. Start and its answer take one. If the last answer arrives when a
/// quarter of the margin is left, one and a half round trips remain, which is what Go, the beat and
/// its grant take.
const BOUNDS: u64 = 12;

/// Each attempt doubles the margin of the one before, up to here. Attempts beyond those that agents
/// are given wait for a slow or full disk.
const DOUBLINGS_MAX: u32 = 4;

/// Time from announcing the start instant to the instant, for agents whose clocks have these
/// bounds, after `attempts` missed instants. Each attempt doubles the time of the one before.
pub(crate) fn attempt_margin(bounds_ns: impl Iterator<Item = u64>, attempts: u32) -> Duration {
    let bounds_ns: Vec<u64> = bounds_ns.collect();
    match (attempts, &bounds_ns[..]) {
        (0, &[bound_ns]) => margin_above(MARGIN_ALONE, [bound_ns]),
        _ => start_margin(bounds_ns) * (1 << attempts.min(DOUBLINGS_MAX)),
    }
}

/// How long an order may be under way to agents whose clocks have these bounds.
pub(crate) fn start_margin(bounds_ns: impl IntoIterator<Item = u64>) -> Duration {
    margin_above(MARGIN_MIN, bounds_ns)
}

fn margin_above(min: Duration, bounds_ns: impl IntoIterator<Item = u64>) -> Duration {
    let bounds_ns = bounds_ns.into_iter();
    let (agents, worst_ns) = bounds_ns.fold((0_u32, 0), |(agents, worst), bound| {
        (agents.saturating_add(1), bound.max(worst))
    });
    min.saturating_add(Duration::from_nanos(worst_ns.saturating_mul(BOUNDS)))
        .saturating_add(PER_AGENT.saturating_mul(agents))
        .min(MARGIN_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_agent_begins_soon_unless_it_has_missed_an_instant() {
        const MS: u64 = 1_000_000;
        let margin = |bounds: &[u64], attempts| {
            let bounds = bounds.iter().copied();
            attempt_margin(bounds, attempts).as_millis()
        };
        assert_eq!(margin(&[0], 0), 300);
        assert_eq!(margin(&[50 * MS], 0), 900);
        assert_eq!(
            [1, 2, 9].map(|attempts| margin(&[0], attempts)),
            [2_001, 4_002, 16_008]
        );
        assert_eq!(margin(&[0, 0], 0), 1_001);
    }

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
