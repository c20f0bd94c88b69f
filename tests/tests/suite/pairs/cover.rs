//! A small set of cases, found by a simple search, that covers each pair of values a plan may have.

use crate::pairs::case::{AXES, Case};
use plan::{Campaign, Files};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Two values of two axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pair {
    one: (usize, usize),
    other: (usize, usize),
}

/// Cases that cover every possible pair, and the pairs that a plan may not have, with the reason.
pub(crate) struct Cover {
    pub(crate) cases: Vec<Case>,
    pub(crate) refused: Vec<(Pair, String)>,
}

impl Pair {
    fn new(one: (usize, usize), other: (usize, usize)) -> Pair {
        Pair { one, other }
    }

    /// A case with this pair that is otherwise as plain as its plan allows, or why there is none.
    /// Some values need a third one: a search of a rate needs an open loop.
    fn case(self) -> Result<Case, String> {
        let case = Case::PLAIN
            .with(self.one.0, self.one.1)
            .with(self.other.0, self.other.1);
        let Some(why) = refusal(case) else {
            return Ok(case);
        };
        let near = self.changed(case);
        let far = near.iter().flat_map(|&case| self.changed(case));
        let mut all = near.iter().copied().chain(far);
        all.find(|&case| refusal(case).is_none()).ok_or(why)
    }

    /// Cases that differ from `case` in one axis, and contain the pair.
    fn changed(self, case: Case) -> Vec<Case> {
        let others = (0..AXES.len()).filter(|&axis| axis != self.one.0 && axis != self.other.0);
        others
            .flat_map(|axis| (0..AXES[axis].1.len()).map(move |value| case.with(axis, value)))
            .collect()
    }

    fn is_in(self, case: Case) -> bool {
        case.0[self.one.0] == self.one.1 && case.0[self.other.0] == self.other.1
    }

    /// Its values in words.
    pub(crate) fn words(self) -> [&'static str; 2] {
        [self.one, self.other].map(|(axis, value)| AXES[axis].1[value])
    }
}

/// Why the plan of a case is refused; `None` if it is not.
pub(crate) fn refusal(case: Case) -> Option<String> {
    if case.has_no_meaning() {
        return Some("local agents end with their coordinator".to_owned());
    }
    let parsed = Campaign::parse(&case.plan("http://127.0.0.1:1/"), &mut Unnamed);
    let problems = parsed.err()?.0;
    Some(problems.first()?.message.clone())
}

struct Unnamed;

impl Files for Unnamed {
    fn read(&mut self, name: &str) -> Result<Arc<[u8]>, String> {
        panic!("{name}: these plans name no files")
    }
}

impl Cover {
    pub(crate) fn new() -> Cover {
        let (mut open, mut refused) = (BTreeSet::new(), Vec::new());
        for pair in pairs() {
            match pair.case() {
                Err(why) => refused.push((pair, why)),
                Ok(_) => {
                    open.insert(pair);
                }
            }
        }
        let mut cases = Vec::new();
        while let Some(&first) = open.first() {
            let case = filled(first, &open);
            open.retain(|pair| !pair.is_in(case));
            cases.push(case);
        }
        Cover { cases, refused }
    }

    /// A few of the cases that together have each value of each axis.
    pub(crate) fn cases_with_each_value(&self) -> Vec<Case> {
        let mut seen = BTreeSet::new();
        let has_new_value = |case: &&Case| {
            let seen_before = seen.len();
            seen.extend(case.0.into_iter().enumerate());
            seen.len() > seen_before
        };
        self.cases.iter().filter(has_new_value).copied().collect()
    }
}

/// The case that contains `first` and, axis by axis, as many of the `open` pairs as possible.
fn filled(first: Pair, open: &BTreeSet<Pair>) -> Case {
    let mut case = first.case().expect("it was possible before");
    let fixed = [first.one.0, first.other.0];
    for axis in (0..AXES.len()).filter(|axis| !fixed.contains(axis)) {
        let gain = |value: usize| {
            let candidate = case.with(axis, value);
            open.iter().filter(|pair| pair.is_in(candidate)).count()
        };
        let possible = (0..AXES[axis].1.len()).filter(|&v| refusal(case.with(axis, v)).is_none());
        // `max_by_key` takes the last of equals: reversed, that is the plainest.
        if let Some(best) = possible.rev().max_by_key(|&value| gain(value)) {
            case = case.with(axis, best);
        }
    }
    case
}

fn pairs() -> impl Iterator<Item = Pair> {
    let values = |axis: usize| (0..AXES[axis].1.len()).map(move |value| (axis, value));
    (0..AXES.len()).flat_map(move |one| {
        (one + 1..AXES.len()).flat_map(move |other| {
            values(one).flat_map(move |left| values(other).map(move |right| Pair::new(left, right)))
        })
    })
}
