//! The search for the highest load that keeps every threshold, as a state machine: it takes a
//! hold's result and returns the next hold. It neither sends load nor knows the time; the caller
//! makes the holds and the pauses between them.

mod bounds;
mod hold;
mod knee;
mod record;
mod standing;

pub use bounds::{Bounds, BoundsError, LoadUnit};
pub use hold::{Hold, HoldFigures, HoldOutcome, HoldRecord, HoldResult, Purpose};
pub use knee::Knee;
pub use record::{SearchAnswer, SearchRecord};

pub(crate) use standing::Standing;

/// Most holds for the knee alone, after the answer is known: six halvings narrow a factor of 4 down
/// to 2 %.
const KNEE_HOLDS_MAX: usize = 6;

/// A search for the highest load.
///
/// It climbs by a factor of 4 until an amount fails, then takes geometric middles until the lowest
/// amount that failed is close enough to the highest that passed. Then it holds both once more. If
/// two holds of an amount contradict each other, a third one decides, and the search continues from
/// the result: it moves up again if an amount failed by accident, and down if one passed by luck. A
/// hold that cannot be trusted, or that lost an agent, is repeated. A hold that the client limited,
/// or two untrusted holds in a row, end the search, since nothing after them could be distinguished
/// from a limit of the server. For a closed loop there is a second question, where throughput stops
/// following the load; it gets holds of its own once the first is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadSearch {
    record: SearchRecord,
    next: Option<(f64, Purpose)>,
}

/// The next thing to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SearchAction {
    /// Make this hold and pass its result to [`LoadSearch::take`].
    Hold(Hold),
    /// Stop: the record has its answer.
    End,
}

impl LoadSearch {
    /// Creates a search before its first hold.
    #[must_use]
    pub fn new(bounds: Bounds) -> LoadSearch {
        let record = SearchRecord {
            bounds,
            steps: Vec::new(),
            answer: None,
            knee: None,
            statement: String::new(),
            rested_p50_ns: None,
        };
        LoadSearch {
            record,
            next: Some((bounds.first(), Purpose::Climb)),
        }
    }

    /// Returns what to do now; the same until [`LoadSearch::take`] is called.
    #[must_use]
    pub fn next(&self) -> SearchAction {
        let step = u32::try_from(self.record.steps.len())
            .unwrap_or(u32::MAX)
            .saturating_add(1);
        self.next.map_or(SearchAction::End, |(amount, purpose)| {
            SearchAction::Hold(Hold {
                step,
                amount,
                purpose,
            })
        })
    }

    /// Sets the median response time at the first amount before any hold, which shows the target at
    /// rest.
    pub fn look_at_rest(&mut self, response_time_p50_ns: Option<u64>) {
        self.record.rested_p50_ns = response_time_p50_ns;
    }

    /// Returns the holds, the answer and the statement so far.
    #[must_use]
    pub fn record(&self) -> &SearchRecord {
        &self.record
    }

    /// Takes the result of the hold that [`LoadSearch::next`] asked for. A search that has ended
    /// ignores it.
    pub fn take(&mut self, result: HoldResult) {
        let Some((amount, purpose)) = self.next else {
            return; // the answer is final: a late result changes nothing
        };
        let outcome = result.outcome.clone();
        let again = self.is_second_of(amount);
        let agents = result.figures.agents;
        let step = self.record.steps.len() as u32 + 1;
        self.record.steps.push(HoldRecord {
            step,
            amount,
            purpose,
            result,
        });
        match outcome {
            _ if purpose == Purpose::Knee => self.narrow_knee(),
            HoldOutcome::Passed | HoldOutcome::Failed { .. } => self.go_on(),
            // Nothing is known of the lowest amount yet, and whether it passes is worth a hold.
            HoldOutcome::ClientBound { .. }
                if self.record.highest_passed().is_none() && amount > self.record.bounds.from() =>
            {
                self.next = Some((self.record.bounds.from(), Purpose::Climb));
            }
            HoldOutcome::ClientBound {
                reasons,
                more_agents,
            } => {
                self.end(SearchAnswer::ClientBound {
                    passed: self.record.highest_passed(),
                    at: amount,
                    agents,
                    more_agents,
                    reasons,
                });
            }
            HoldOutcome::Invalid { reasons } if again => self.end(SearchAnswer::Invalid {
                passed: self.record.highest_passed(),
                at: amount,
                reasons,
            }),
            HoldOutcome::Invalid { .. } => {} // repeat the same hold
        }
    }

    /// Returns whether the previous hold was of the same amount and could not be trusted.
    fn is_second_of(&self, amount: f64) -> bool {
        let last = self.record.steps.last();
        last.is_some_and(|step| {
            step.amount == amount && matches!(step.result.outcome, HoldOutcome::Invalid { .. })
        })
    }

    /// Decides on the next hold from all holds so far.
    fn go_on(&mut self) {
        let held = Standing::all(&self.record.steps);
        let made: u32 = held.iter().map(|held| held.passed + held.failed).sum();
        let has_holds_left = made < self.record.bounds.holds_to_narrow();
        if let Some(open) = held.iter().find(|held| held.is_open() && has_holds_left) {
            self.next = Some((open.amount, Purpose::Confirm));
            return;
        }
        let high = held.iter().find(|held| !held.passes()).copied();
        let is_below = |held: &&Standing| high.is_none_or(|high| held.amount < high.amount);
        let low = held
            .iter()
            .rev()
            .filter(is_below)
            .find(|held| held.passes())
            .copied();
        match (low, high) {
            (Some(low), Some(high)) => self.narrow(low, high, has_holds_left),
            (Some(low), None) if low.amount >= self.record.bounds.to() || !has_holds_left => {
                self.settle(SearchAnswer::AtLeast { amount: low.amount });
            }
            (Some(low), None) => {
                self.next = Some((self.record.bounds.above(low.amount), Purpose::Climb))
            }
            (None, Some(high)) => self.descend(high),
            (None, None) => {} // no hold counts yet: the pending one stays
        }
    }

    /// Nothing passes: holds the first amount if it was not held, and once more if it fails.
    fn descend(&mut self, high: Standing) {
        let from = self.record.bounds.from();
        if high.amount > from {
            self.next = Some((from, Purpose::Climb));
        } else if high.is_confirmed() {
            let reasons = self.record.reasons(from);
            self.end(SearchAnswer::BelowFrom {
                amount: from,
                reasons,
            });
        } else {
            self.next = Some((from, Purpose::Confirm));
        }
    }

    /// Narrows the gap between the highest amount that passes and the lowest that fails, then holds
    /// both once more.
    fn narrow(&mut self, low: Standing, high: Standing, has_holds_left: bool) {
        let bounds = self.record.bounds;
        // An amount that passed once is near the limit, so look just below it rather than halfway
        // down.
        let near = Some(bounds.just_below(high.amount))
            .filter(|&near| high.passed > 0 && near > low.amount);
        let between = bounds
            .between(low.amount, high.amount)
            .map(|middle| near.unwrap_or(middle));
        self.next = match between {
            _ if !has_holds_left => None,
            Some(amount) => Some((amount, Purpose::Bisect)),
            None if !low.is_confirmed() => Some((low.amount, Purpose::Confirm)),
            None if !high.is_confirmed() => Some((high.amount, Purpose::Confirm)),
            None => None,
        };
        if self.next.is_none() {
            self.settle(SearchAnswer::Found {
                amount: low.amount,
                fails_at: high.amount,
                confirmed: low.is_confirmed(),
                failed_twice: high.is_confirmed(),
                lowered_from: (high.passed > 0).then_some(high.amount),
            });
        }
    }

    /// Records the answer to the first question; a closed loop goes on to the second.
    fn settle(&mut self, answer: SearchAnswer) {
        self.record.answer = Some(answer);
        self.narrow_knee();
    }

    /// Narrows the gap between the fewest users at the plateau and the most below it.
    fn narrow_knee(&mut self) {
        // In an open loop throughput cannot exceed the arrival rate: only users have a knee.
        self.record.knee = match self.record.bounds.amount() {
            LoadUnit::Users => Knee::from_holds(&self.record.throughputs()),
            LoadUnit::Rate => None,
        };
        let made = self
            .record
            .steps
            .iter()
            .filter(|step| step.purpose == Purpose::Knee)
            .count();
        let bracket = self
            .record
            .knee
            .as_ref()
            .and_then(|knee| Some((knee.below?, knee.users)));
        let middle = bracket
            .filter(|_| made < KNEE_HOLDS_MAX)
            .and_then(|(low, high)| self.record.bounds.between(low, high));
        match (middle, self.record.answer.clone()) {
            (Some(middle), _) if !self.has_held_for_knee(middle) => {
                self.next = Some((middle, Purpose::Knee))
            }
            (_, Some(answer)) => self.end(answer),
            _ => {} // holds for the knee come only after the answer
        }
    }

    /// Returns whether an amount needs no more holds for the knee: a hold that the client limited
    /// is not repeated, one that cannot be trusted is repeated once.
    fn has_held_for_knee(&self, amount: f64) -> bool {
        let is_of_it = |step: &&HoldRecord| step.purpose == Purpose::Knee && step.amount == amount;
        let held = || self.record.steps.iter().filter(is_of_it);
        let untrusted = held()
            .filter(|step| matches!(step.result.outcome, HoldOutcome::Invalid { .. }))
            .count();
        untrusted >= 2 || untrusted < held().count()
    }

    fn end(&mut self, answer: SearchAnswer) {
        self.next = None;
        let answer_in_words = answer.statement(&self.record);
        let knee_in_words = self
            .record
            .knee
            .as_ref()
            .map(|knee| format!("; {}", knee.statement()));
        let limit = answer.limit_at(self.record.knee.as_ref());
        let limit_in_words = limit.map(|amount| self.record.limit_in_words(amount));
        self.record.statement = [Some(answer_in_words), knee_in_words, limit_in_words]
            .into_iter()
            .flatten()
            .collect();
        self.record.answer = Some(answer);
    }
}
