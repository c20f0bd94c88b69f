//! Chooses which rounds of a kind of work count.

use super::load_round::LoadRound;
use plan::Calibration;

/// Quiet rounds of each kind, of which the cheapest counts: hosts change their speed, and anything
/// else that wants a CPU can only make work more expensive.
pub(super) const ROUNDS: u32 = 3;

/// Most rounds, if something else takes CPU time in some of them.
pub(super) const ROUNDS_MAX: u32 = 9;

/// The rounds so far, each with the part of the CPU time that something else took.
#[derive(Debug, Default)]
pub(super) struct QuietRounds(Vec<(LoadRound, f64)>);

impl QuietRounds {
    pub(super) fn add(&mut self, round: LoadRound, disturbed: f64) {
        self.0.push((round, disturbed));
    }

    /// Whether another round is to be made.
    pub(super) fn are_wanted(&self) -> bool {
        self.quiet().count() < ROUNDS as usize && self.0.len() < ROUNDS_MAX as usize
    }

    /// The rounds that count, and how disturbed they were: the quiet rounds with the worst share
    /// among them, or all rounds with the best share.
    pub(super) fn choose(&self) -> (Vec<LoadRound>, f64) {
        let shares = |rounds: &[(LoadRound, f64)]| -> Vec<f64> {
            rounds.iter().map(|(_, share)| *share).collect()
        };
        let quiet: Vec<(LoadRound, f64)> = self.quiet().copied().collect();
        let (rounds, share) = if quiet.is_empty() {
            (&self.0, shares(&self.0).into_iter().fold(1.0, f64::min))
        } else {
            (&quiet, shares(&quiet).into_iter().fold(0.0, f64::max))
        };
        (rounds.iter().map(|(round, _)| *round).collect(), share)
    }

    fn quiet(&self) -> impl Iterator<Item = &(LoadRound, f64)> {
        let is_quiet = |share: f64| share <= Calibration::DISTURBED_MAX;
        self.0.iter().filter(move |(_, share)| is_quiet(*share))
    }
}

#[cfg(test)]
mod tests {
    use super::{LoadRound, QuietRounds, ROUNDS_MAX};

    /// How many rounds are made with these shares, how many of them count, and how disturbed they
    /// were.
    fn made(shares: impl IntoIterator<Item = f64>) -> (usize, usize, f64) {
        let mut rounds = QuietRounds::default();
        for share in shares {
            if rounds.are_wanted() {
                rounds.add(LoadRound::default(), share);
            }
        }
        let (chosen, share) = rounds.choose();
        (rounds.0.len(), chosen.len(), share)
    }

    #[test]
    fn disturbed_rounds_are_made_again_and_do_not_count() {
        assert_eq!(made([0.01, 0.03, 0.02, 0.0]), (3, 3, 0.03));
        assert_eq!(made([0.5, 0.01, 0.9, 0.02, 0.03, 0.0]), (5, 3, 0.03));
        let busy = (0..20).map(|number| 0.9 - f64::from(number) / 100.0);
        assert_eq!(made(busy.clone()).0, ROUNDS_MAX as usize);
        let (_, count, share) = made(busy);
        assert_eq!(count, ROUNDS_MAX as usize);
        assert!((share - 0.82).abs() < 1e-9, "{share}");
        // One quiet round is enough.
        assert_eq!(made([0.05].into_iter().chain([0.5; 20])), (9, 1, 0.05));
    }
}
