//! The mix of requests: exact over the cluster, random in each worker.

use plan::{Deal, Mix};
use proptest::prelude::*;

/// Standard deviations that chance is allowed, which it will not exceed in the lifetime of these
/// tests.
const DEVIATIONS: f64 = 7.0;

fn weights() -> impl Strategy<Value = Vec<u32>> {
    prop_oneof![
        proptest::collection::vec(1u32..12, 2..8),
        proptest::collection::vec(1u32..1200, 2..8),
        // The largest even order alternates between these two all the way.
        (1u32..3000).prop_map(|half| vec![half + 1, half]),
        (10u32..9000).prop_map(|often| vec![often, 1]),
    ]
}

/// Numbers of workers in the whole cluster, including multiples of short cycles.
fn workers() -> impl Strategy<Value = u64> {
    prop_oneof![
        1u64..9,
        proptest::sample::select(&[10u64, 16, 20, 32, 48, 60, 64, 120, 128][..])
    ]
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Divides weights by their common divisor.
fn reduced(weights: &[u32]) -> Vec<u32> {
    let divisor = weights.iter().copied().fold(0, gcd);
    weights.iter().map(|weight| weight / divisor).collect()
}

fn counts(mix: &Mix, numbers: impl Iterator<Item = u64>, requests: usize) -> Vec<u32> {
    let mut counts = vec![0; requests];
    numbers.for_each(|seq| counts[usize::from(mix.at(seq))] += 1);
    counts
}

/// The longest stretch of numbers that send `request`, and of those that do not.
fn stretches(mix: &Mix, numbers: impl Iterator<Item = u64>, request: usize) -> (f64, f64) {
    let (mut with, mut without, mut longest) = (0, 0, (0, 0));
    for seq in numbers {
        let is_it = usize::from(mix.at(seq)) == request;
        (with, without) = if is_it {
            (with + 1, 0)
        } else {
            (0, without + 1)
        };
        longest = (longest.0.max(with), longest.1.max(without));
    }
    (f64::from(longest.0), f64::from(longest.1))
}

/// The longest stretch of draws, each with this probability, that is expected among some thousands
/// in the lifetime of these tests.
fn stretch_by_chance(probability: f64) -> f64 {
    1.0 + 1e13_f64.ln() / -probability.ln()
}

proptest! {
    #[test]
    fn every_cycle_of_the_cluster_has_each_request_by_its_weight(
        weights in weights(),
        seed in any::<u64>(),
        cycle in 0u64..1 << 40,
    ) {
        let (mix, weights) = (Mix::new(&weights, seed), reduced(&weights));
        let length = u64::from(weights.iter().sum::<u32>());
        let numbers = cycle * length..(cycle + 1) * length;
        prop_assert_eq!(counts(&mix, numbers, weights.len()), weights);
    }

    #[test]
    fn every_worker_has_its_share_of_each_request(
        weights in weights(),
        seed in any::<u64>(),
        workers in workers(),
        worker in any::<prop::sample::Index>(),
    ) {
        let mix = Mix::new(&weights, seed);
        let worker = worker.index(workers as usize) as u32;
        let whole = f64::from(weights.iter().sum::<u32>());
        let deal = Deal::new(None, workers as u32);
        let numbers = || (0..4000).filter_map(|nth| deal.item(worker, nth));
        for (request, &count) in counts(&mix, numbers(), weights.len()).iter().enumerate() {
            let share = f64::from(weights[request]) / whole;
            let off = (f64::from(count) - 4000.0 * share).abs();
            let chance = (4000.0 * share * (1.0 - share)).sqrt();
            let allowed = DEVIATIONS * chance + DEVIATIONS * DEVIATIONS;
            prop_assert!(off <= allowed, "{} of 4000, a share of {}", count, share);
            let (with, without) = stretches(&mix, numbers(), request);
            prop_assert!(
                with <= stretch_by_chance(share),
                "{} at a stretch, a share of {}", with, share
            );
            prop_assert!(
                without <= stretch_by_chance(1.0 - share),
                "{} at a stretch without, a share of {}", without, share
            );
        }
    }

    #[test]
    fn every_stretch_of_the_cluster_has_nearly_the_mix(
        weights in weights(),
        seed in any::<u64>(),
        from in 0u64..1 << 40,
    ) {
        let mix = Mix::new(&weights, seed);
        let whole = f64::from(weights.iter().sum::<u32>());
        for (request, &count) in counts(&mix, from..from + 1000, weights.len()).iter().enumerate() {
            let expected = 1000.0 * f64::from(weights[request]) / whole;
            // Two cycles are cut, each into parts of its order with three ends; an end cuts a group
            // of 16, and is off by at most 4.
            prop_assert!((f64::from(count) - expected).abs() <= 32.0, "{} for {}", count, expected);
        }
    }
}
