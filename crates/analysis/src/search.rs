//! The search for the highest load that keeps every threshold, as a state machine: a hold's result
//! in, the next hold out. It fires nothing and knows no time; who asks it makes the holds and the
//! pauses between them.

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

/// Holds for the knee alone, after the answer is known: six halve a range of four down to 2 %.
const KNEE_HOLDS_MAX: usize = 6;

/// A search.
///
/// It climbs by a factor of 4 until an amount fails, and takes geometric middles until the lowest
/// amount that failed is near enough to the highest that passed. Then it holds both once more.
/// Where two holds of an amount contradict each other, a third one decides, and the search goes on
/// from what that says: an amount that failed by accident moves it up again, one that passed by
/// luck down. A hold that cannot be trusted, or that lost an agent, is made again. One that the
/// client limited, or two in a row that cannot be trusted, end the search, since nothing that
/// follows could be told from a limit of the server. A closed loop has a second question, where
/// throughput stops following load; it gets holds of its own once the first is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadSearch {
    record: SearchRecord,
    next: Option<(f64, Purpose)>,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SearchAction {
    /// Make this hold and give its result to [`LoadSearch::take`].
    Hold(Hold),
    /// The record has its answer.
    End,
}

impl LoadSearch {
    /// Before its first hold.
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

    /// What to do now; the same until [`LoadSearch::take`] is called.
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

    /// Tells the median response time at the first amount before any hold: what the target is like
    /// at rest.
    pub fn look_at_rest(&mut self, response_time_p50_ns: Option<u64>) {
        self.record.rested_p50_ns = response_time_p50_ns;
    }

    /// Holds, answer and statement so far.
    #[must_use]
    pub fn record(&self) -> &SearchRecord {
        &self.record
    }

    /// Takes the result of the hold that [`LoadSearch::next`] asked for; of a search at its end
    /// nothing is taken.
    pub fn take(&mut self, result: HoldResult) {
        let Some((amount, purpose)) = self.next else {
            return; // its answer stands: what comes late changes nothing
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
            // Of the first amount nothing is known yet: whether the one below it passes is worth a
            // hold.
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
            HoldOutcome::Invalid { .. } => {} // the same hold once more
        }
    }

    /// The hold before was of the same amount and could not be trusted.
    fn is_second_of(&self, amount: f64) -> bool {
        let last = self.record.steps.last();
        last.is_some_and(|step| {
            step.amount == amount && matches!(step.result.outcome, HoldOutcome::Invalid { .. })
        })
    }

    /// What follows from all holds so far.
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
            (None, None) => {} // no hold counts yet: the one that is due stays
        }
    }

    /// Nothing passes: the first amount is held, if it was not, and once more where it fails.
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

    /// Between the highest that passes and the lowest that fails, then both once more.
    fn narrow(&mut self, low: Standing, high: Standing, has_holds_left: bool) {
        let bounds = self.record.bounds;
        // What had passed once is near the limit: the limit is looked for just below it, not
        // halfway down.
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

    /// The first question is answered; a closed loop goes on to the second.
    fn settle(&mut self, answer: SearchAnswer) {
        self.record.answer = Some(answer);
        self.narrow_knee();
    }

    /// Between the least users at the plateau and the most below it.
    fn narrow_knee(&mut self) {
        // Of arrivals throughput cannot exceed the rate: only users have a knee.
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
            _ => {} // a hold for the knee is made after the answer only
        }
    }

    /// A hold that the client limited is not made a second time; one that cannot be trusted is.
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
