//! The search for the highest load that keeps every threshold, as a state machine: a hold's result in, the next hold out.
//! It fires nothing and knows no time; who asks it makes the holds and the pauses between them.

mod bounds;
mod hold;
mod knee;
mod record;

pub use bounds::{Amount, Bounds, BoundsError};
pub use hold::{Hold, HoldFigures, HoldOutcome, HoldResult, Purpose};
pub use knee::Knee;
pub use record::{Answer, HoldRecord, SearchRecord};

/// A search that has made so many holds tries no second confirmation.
const HOLDS_MAX: usize = 12;

/// Holds for the knee alone, after the answer is known: six halve a range of four down to 2 %.
const KNEE_HOLDS_MAX: usize = 6;

/// A search.
///
/// It climbs by a factor of 4 until an amount fails, takes geometric middles until the lowest amount that failed is near
/// enough to the highest that passed, and holds that one again. Where it fails the second time, a lower one is tried once.
/// A hold that the client limited, or two in a row that cannot be trusted, end the search, since nothing that follows could
/// be told from a limit of the server. A closed loop has a second question, where throughput stops following load; it gets
/// holds of its own once the first is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    record: SearchRecord,
    next: Option<(f64, Purpose)>,
    /// Highest amount that passed and has not failed since.
    low: Option<f64>,
    /// Lowest amount that failed.
    high: Option<f64>,
    lowered_from: Option<f64>,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    /// Make this hold and give its result to [`Search::take`].
    Hold(Hold),
    /// The record has its answer.
    End,
}

impl Search {
    /// Before its first hold.
    #[must_use]
    pub fn new(bounds: Bounds) -> Search {
        let record = SearchRecord { bounds, steps: Vec::new(), answer: None, knee: None, statement: String::new() };
        let next = Some((bounds.from(), Purpose::Climb));
        Search { record, next, low: None, high: None, lowered_from: None }
    }

    /// What to do now; the same until [`Search::take`] is called.
    #[must_use]
    pub fn next(&self) -> Next {
        let step = u32::try_from(self.record.steps.len()).unwrap_or(u32::MAX).saturating_add(1);
        self.next.map_or(Next::End, |(amount, purpose)| Next::Hold(Hold { step, amount, purpose }))
    }

    /// Holds, answer and statement so far.
    #[must_use]
    pub fn record(&self) -> &SearchRecord {
        &self.record
    }

    /// Takes the result of the hold that [`Search::next`] asked for; of a search at its end nothing is taken.
    pub fn take(&mut self, result: HoldResult) {
        let Some((amount, purpose)) = self.next else { return };
        let outcome = result.outcome.clone();
        let again = self.is_second_of(amount);
        let agents = result.figures.agents;
        let step = self.record.steps.len() as u32 + 1;
        self.record.steps.push(HoldRecord { step, amount, purpose, result });
        match outcome {
            _ if purpose == Purpose::Knee => self.narrow_knee(),
            HoldOutcome::Passed => self.passed(amount, purpose),
            HoldOutcome::Failed { reasons } => self.failed(amount, purpose, reasons),
            HoldOutcome::ClientBound { reasons, more_agents } => {
                self.end(Answer::ClientBound { passed: self.low, at: amount, agents, more_agents, reasons });
            }
            HoldOutcome::Invalid { reasons } if again => self.end(Answer::Invalid { passed: self.low, at: amount, reasons }),
            HoldOutcome::Invalid { .. } => {}
        }
    }

    /// The hold before was of the same amount and could not be trusted.
    fn is_second_of(&self, amount: f64) -> bool {
        let last = self.record.steps.last();
        last.is_some_and(|step| step.amount == amount && matches!(step.result.outcome, HoldOutcome::Invalid { .. }))
    }

    fn passed(&mut self, amount: f64, purpose: Purpose) {
        self.low = Some(amount);
        match purpose {
            Purpose::Climb if amount >= self.record.bounds.to() => self.settle(Answer::AtLeast { amount }),
            Purpose::Climb => self.next = Some((self.record.bounds.above(amount), Purpose::Climb)),
            Purpose::Bisect => self.narrow(),
            Purpose::Confirm | Purpose::Knee => self.settle(self.found(amount, true)),
        }
    }

    fn failed(&mut self, amount: f64, purpose: Purpose, reasons: Vec<String>) {
        self.high = Some(amount);
        match (purpose, self.low) {
            (Purpose::Climb, None) => self.end(Answer::BelowFrom { amount, reasons }),
            (Purpose::Confirm, _) => self.lower(amount, reasons),
            _ => self.narrow(),
        }
    }

    /// The amount that had passed did not pass again.
    fn lower(&mut self, amount: f64, reasons: Vec<String>) {
        let bounds = self.record.bounds;
        if amount <= bounds.from() {
            return self.end(Answer::BelowFrom { amount, reasons });
        }
        let passed_below = self.passed_below(amount);
        let is_last_try = self.lowered_from.is_some() || self.record.steps.len() >= HOLDS_MAX;
        self.lowered_from = self.lowered_from.or(Some(amount));
        if is_last_try {
            self.low = passed_below;
            return self.settle(self.found(passed_below.unwrap_or(bounds.from()), false));
        }
        let lower = bounds.just_below(amount).max(passed_below.unwrap_or(0.0));
        self.low = Some(lower);
        self.next = Some((lower, Purpose::Confirm));
    }

    /// Between the highest that passed and the lowest that failed.
    fn narrow(&mut self) {
        let (Some(low), Some(high)) = (self.low, self.high) else { return };
        self.next = Some(match self.record.bounds.between(low, high) {
            Some(middle) => (middle, Purpose::Bisect),
            None => (low, Purpose::Confirm),
        });
    }

    fn found(&self, amount: f64, confirmed: bool) -> Answer {
        let fails_at = self.high.unwrap_or(self.record.bounds.to());
        Answer::Found { amount, fails_at, confirmed, lowered_from: self.lowered_from }
    }

    fn passed_below(&self, amount: f64) -> Option<f64> {
        let passed = self.record.steps.iter().filter(|step| step.result.outcome == HoldOutcome::Passed);
        passed.map(|step| step.amount).filter(|&passed| passed < amount).reduce(f64::max)
    }

    /// The first question is answered; a closed loop goes on to the second.
    fn settle(&mut self, answer: Answer) {
        self.record.answer = Some(answer);
        self.narrow_knee();
    }

    /// Between the least users at the plateau and the most below it.
    fn narrow_knee(&mut self) {
        let knee = Some(self.record.throughputs()).filter(|_| self.record.bounds.amount() == Amount::Users);
        self.record.knee = knee.and_then(|holds| Knee::of(&holds));
        let made = self.record.steps.iter().filter(|step| step.purpose == Purpose::Knee).count();
        let bracket = self.record.knee.as_ref().and_then(|knee| Some((knee.below?, knee.users)));
        let middle = bracket.filter(|_| made < KNEE_HOLDS_MAX).and_then(|(low, high)| self.record.bounds.between(low, high));
        match (middle, self.record.answer.clone()) {
            (Some(middle), _) if !self.has_held_for_knee(middle) => self.next = Some((middle, Purpose::Knee)),
            (_, Some(answer)) => self.end(answer),
            _ => {}
        }
    }

    /// A hold that does not count (the client limited it, say) is not made a second time.
    fn has_held_for_knee(&self, amount: f64) -> bool {
        self.record.steps.iter().any(|step| step.purpose == Purpose::Knee && step.amount == amount)
    }

    fn end(&mut self, answer: Answer) {
        self.next = None;
        let answer_in_words = answer.statement(&self.record);
        let knee_in_words = self.record.knee.as_ref().map(|knee| format!("; {}", knee.statement()));
        self.record.statement = answer_in_words + &knee_in_words.unwrap_or_default();
        self.record.answer = Some(answer);
    }
}
