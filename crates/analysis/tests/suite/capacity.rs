//! The results of searches side by side, with ratios worked out by hand.

use analysis::{
    Bounds, CapacityRow, ChangeFinding, HoldFigures, HoldOutcome, HoldResult, LimitOutcome,
    LoadSearch, LoadUnit, RegressionLimit, SearchAction, SearchRecord,
};

fn searched(mut outcome: impl FnMut(f64, usize) -> HoldOutcome) -> SearchRecord {
    let mut search = LoadSearch::new(Bounds::new(LoadUnit::Rate, 100.0, 1600.0, 0.03).unwrap());
    while let SearchAction::Hold(hold) = search.next() {
        let outcome = outcome(hold.amount, hold.step as usize);
        search.take(HoldResult {
            outcome,
            limits: Vec::new(),
            figures: HoldFigures {
                agents: 1,
                ..HoldFigures::default()
            },
            run: String::new(),
        });
    }
    search.record().clone()
}

fn failed() -> HoldOutcome {
    HoldOutcome::Failed {
        reasons: vec!["p99".into()],
    }
}

fn keeps(capacity: f64) -> SearchRecord {
    searched(|amount, _| {
        if amount <= capacity {
            HoldOutcome::Passed
        } else {
            failed()
        }
    })
}

/// A search whose client can make no more than `most`.
fn client_bound(most: f64) -> SearchRecord {
    let bound = || HoldOutcome::ClientBound {
        reasons: vec!["busy".into()],
        more_agents: 1,
    };
    searched(|amount, _| {
        if amount <= most {
            HoldOutcome::Passed
        } else {
            bound()
        }
    })
}

fn rows(first: &[SearchRecord], other: &[SearchRecord]) -> [CapacityRow; 2] {
    let of = |name: &str, searches: &[SearchRecord]| {
        CapacityRow::from_searches(&[(name.to_owned(), searches.iter().collect())]).remove(0)
    };
    let alone = [of("a", first), of("b", other)];
    let mut both = CapacityRow::from_searches(&[
        ("a".into(), first.iter().collect()),
        ("b".into(), other.iter().collect()),
    ]);
    assert_eq!((&both[0], both[0].change.is_none()), (&alone[0], true));
    [both.remove(0), both.remove(0)]
}

#[test]
fn limits_are_told_apart_only_where_their_ends_are() {
    // The ends are 3 % apart: 600 passes and 606.3 fails (both on the way to 600), 800 and 806.3,
    // …; all of them are amounts that were held.
    for (first, other, finding, words) in [
        (
            keeps(600.0),
            keeps(600.0),
            ChangeFinding::NoDifference,
            "no difference beyond the steps of the searches (-",
        ),
        (
            keeps(600.0),
            keeps(608.0),
            ChangeFinding::NoDifference,
            "no difference beyond the steps of the searches (-",
        ),
        (
            keeps(600.0),
            keeps(900.0),
            ChangeFinding::HigherIsBetter,
            "higher by ",
        ),
        (
            keeps(900.0),
            keeps(600.0),
            ChangeFinding::LowerIsWorse,
            "lower by ",
        ),
        (
            keeps(300.0),
            keeps(900.0),
            ChangeFinding::HigherIsBetter,
            " times",
        ),
        (
            keeps(300.0),
            keeps(1e9),
            ChangeFinding::HigherIsBetter,
            "at least ",
        ),
        (
            keeps(600.0),
            client_bound(1600.0),
            ChangeFinding::HigherIsBetter,
            "at least ",
        ),
        (
            keeps(600.0),
            client_bound(400.0),
            ChangeFinding::Unknown,
            "cannot be told: at least ",
        ),
        (
            keeps(1e9),
            keeps(50.0),
            ChangeFinding::LowerIsWorse,
            "lower by at least 93.8 %",
        ),
        (
            keeps(50.0),
            keeps(50.0),
            ChangeFinding::Unknown,
            "cannot be told: nothing bounds it",
        ),
        (
            client_bound(400.0),
            keeps(800.0),
            ChangeFinding::Unknown,
            "cannot be told: at most ",
        ),
    ] {
        let [a, b] = rows(&[first], &[other]);
        let change = b.change.clone().unwrap();
        assert!(
            change.finding == finding && change.text.contains(words),
            "{finding:?} {words}: {a:?} {b:?}"
        );
    }
}

#[test]
fn ratio_lies_between_those_of_the_ends() {
    let [a, b] = rows(&[keeps(600.0)], &[keeps(900.0)]);
    let change = b.change.unwrap();
    let (a_passed, a_failed) = (a.passed.unwrap(), a.failed.unwrap());
    assert!(
        a_passed <= 600.0 && a_failed > 600.0 && a_failed <= a_passed * 1.031,
        "{a_passed} {a_failed}"
    );
    assert_eq!(
        (change.low, change.high),
        (
            b.passed.unwrap() / a_failed,
            Some(b.failed.unwrap() / a_passed)
        )
    );
    assert!(change.low <= 1.5 && change.high.unwrap() >= 1.5);
}

#[test]
fn holds_that_contradict_each_other_and_further_searches_widen_the_ends() {
    // 400 passes once and fails when it is to be confirmed.
    let mut held = 0;
    let wavering = searched(|amount, _| {
        held += usize::from((395.0..=400.0).contains(&amount));
        if amount < 395.0 || (amount <= 400.0 && held < 2) {
            HoldOutcome::Passed
        } else {
            failed()
        }
    });
    let [a, b] = rows(&[wavering], &[keeps(600.0), keeps(620.0)]);
    assert!(
        a.passed.unwrap() < 395.0 && a.failed.unwrap() > 400.0,
        "{a:?}"
    );
    assert!(
        b.searches == 2 && b.passed.unwrap() <= 600.0 && b.failed.unwrap() > 620.0,
        "{b:?}"
    );
}

#[test]
fn limit_is_a_regression_only_beyond_the_ends() {
    let limit: RegressionLimit = "capacity=5%".parse().unwrap();
    assert!(limit.is_of_searches() && RegressionLimit::usual_of_searches() == [limit.clone()]);
    for (first, other, outcome) in [
        (keeps(600.0), keeps(600.0), LimitOutcome::Kept),
        (keeps(600.0), keeps(900.0), LimitOutcome::Kept),
        (keeps(900.0), keeps(600.0), LimitOutcome::Regressed),
        (keeps(1e9), keeps(50.0), LimitOutcome::Regressed),
        (keeps(600.0), client_bound(400.0), LimitOutcome::Unknown),
        (keeps(300.0), client_bound(400.0), LimitOutcome::Kept),
    ] {
        let judged = RegressionLimit::judge_searches(
            std::slice::from_ref(&limit),
            &rows(&[first], &[other]),
        );
        assert_eq!(
            judged
                .iter()
                .map(|result| result.outcome)
                .collect::<Vec<_>>(),
            [outcome],
            "{judged:?}"
        );
    }
}

#[test]
fn rates_and_users_are_not_compared() {
    let users = LoadSearch::new(Bounds::new(LoadUnit::Users, 1.0, 8.0, 0.03).unwrap());
    let rates = keeps(600.0);
    let rows = CapacityRow::from_searches(&[
        ("a".into(), vec![&rates]),
        ("b".into(), vec![users.record()]),
        ("c".into(), vec![]),
    ]);
    assert_eq!(
        rows.iter()
            .map(|row| row.variant.as_str())
            .collect::<Vec<_>>(),
        ["a"]
    );
}
