//! `[repeat]`: how often each variant runs, and in which order.

use measure::SplitMix;
use std::time::Duration;

/// How often, in which order, and with which pause the variants of a campaign run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeat {
    /// Rounds, each of which runs every variant once; at least 1.
    pub times: u32,
    /// Pause between two runs.
    pub pause: Duration,
    /// Seed of the order within each round; `None` keeps the file's order.
    pub shuffle: Option<u64>,
}

/// One run of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Run {
    /// Index of its variant.
    pub variant: usize,
    /// Its round, from 0.
    pub repeat: u32,
}

impl Default for Repeat {
    /// Once, in the file's order, with a pause of one second between runs.
    fn default() -> Repeat {
        Repeat {
            times: 1,
            pause: Duration::from_secs(1),
            shuffle: None,
        }
    }
}

impl Repeat {
    /// All runs in order: A B C A B C, or with each round shuffled.
    pub(crate) fn runs(&self, variants: usize) -> Vec<Run> {
        let mut random = self.shuffle.map(SplitMix::new);
        let round = |repeat| {
            let mut round: Vec<Run> = (0..variants)
                .map(|variant| Run { variant, repeat })
                .collect();
            if let Some(random) = &mut random {
                random.shuffle(&mut round);
            }
            round
        };
        (0..self.times).flat_map(round).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Repeat;

    fn order(times: u32, shuffle: Option<u64>) -> Vec<usize> {
        Repeat {
            times,
            shuffle,
            ..Repeat::default()
        }
        .runs(4)
        .iter()
        .map(|run| run.variant)
        .collect()
    }

    #[test]
    fn rounds_follow_one_another_with_every_variant_once_in_each() {
        assert_eq!(order(2, None), [0, 1, 2, 3, 0, 1, 2, 3]);
        let runs = Repeat {
            times: 3,
            shuffle: Some(1),
            ..Repeat::default()
        }
        .runs(4);
        for (repeat, round) in runs.chunks(4).enumerate() {
            let mut variants: Vec<usize> = round.iter().map(|run| run.variant).collect();
            variants.sort_unstable();
            assert_eq!(variants, [0, 1, 2, 3]);
            assert!(round.iter().all(|run| run.repeat == repeat as u32));
        }
    }

    #[test]
    fn a_seed_gives_one_order_for_ever() {
        assert_eq!(order(3, Some(7)), order(3, Some(7)));
        assert_ne!(order(3, Some(7)), order(3, Some(8)));
        // A campaign that is resumed by another build must get the same order.
        assert_eq!(order(3, Some(7)), GOLDEN);
    }

    const GOLDEN: [usize; 12] = [2, 3, 0, 1, 3, 0, 1, 2, 3, 2, 0, 1];

    #[test]
    fn every_order_of_a_round_is_about_as_likely() {
        let mut firsts = [0; 4];
        let runs = Repeat {
            times: 4000,
            shuffle: Some(3),
            ..Repeat::default()
        }
        .runs(4);
        for round in runs.chunks(4) {
            firsts[round[0].variant] += 1;
        }
        assert!(
            firsts.iter().all(|count| (900..1100).contains(count)),
            "{firsts:?}"
        );
    }
}
