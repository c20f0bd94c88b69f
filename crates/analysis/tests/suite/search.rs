//! Searches driven by hand, and against a simulated server whose capacity is known.

use crate::random::Random;
use crate::scene::{CLOSED, OPEN, QUIET, Second, collector, cpu, fire};
use analysis::{
    Bounds, HoldFigures, HoldOutcome, HoldResult, LimitOf, LimitShown, LoadSearch, LoadUnit,
    Purpose, RuleId, RunState, SearchAction, SearchAnswer,
};

fn rates(from: f64, to: f64) -> LoadSearch {
    LoadSearch::new(Bounds::new(LoadUnit::Rate, from, to, 0.03).unwrap())
}

fn users(from: f64, to: f64) -> LoadSearch {
    LoadSearch::new(Bounds::new(LoadUnit::Users, from, to, 0.03).unwrap())
}

fn result(outcome: HoldOutcome, ok_per_second: f64) -> HoldResult {
    HoldResult {
        outcome,
        limits: Vec::new(),
        figures: HoldFigures {
            ok_per_second,
            agents: 2,
            ..HoldFigures::default()
        },
        run: String::new(),
    }
}

fn passed(amount: f64) -> HoldResult {
    result(HoldOutcome::Passed, amount)
}

fn failed(why: &str) -> HoldResult {
    result(
        HoldOutcome::Failed {
            reasons: vec![why.to_owned()],
        },
        0.0,
    )
}

/// Makes every hold with `hold`, and returns their amounts.
fn run(search: &mut LoadSearch, mut hold: impl FnMut(f64, Purpose) -> HoldResult) -> Vec<f64> {
    let mut amounts = Vec::new();
    while let SearchAction::Hold(next) = search.next() {
        assert_eq!(next.step as usize, amounts.len() + 1);
        assert!(amounts.len() < 60, "it does not end: {amounts:?}");
        amounts.push(next.amount);
        search.take(hold(next.amount, next.purpose));
    }
    amounts
}

fn found(amount: f64, fails_at: f64) -> SearchAnswer {
    SearchAnswer::Found {
        amount,
        fails_at,
        confirmed: true,
        failed_twice: true,
        lowered_from: None,
    }
}

fn keeps_up_to(capacity: f64) -> impl FnMut(f64, Purpose) -> HoldResult {
    move |amount, _| {
        if amount <= capacity {
            passed(amount)
        } else {
            failed("p99")
        }
    }
}

#[test]
fn holds_climb_by_four_then_take_the_geometric_middle_then_confirm() {
    let mut search = rates(100.0, 50_000.0);
    let amounts = run(&mut search, keeps_up_to(1000.0));
    assert_eq!(
        amounts,
        [
            400.0, 1600.0, 800.0, 1131.4, 951.38, 1037.5, 993.51, 1015.3, 993.51, 1015.3
        ]
    );
    let record = search.record();
    assert_eq!(record.answer, Some(found(993.51, 1015.3)));
    assert_eq!(
        record.statement,
        "994/s, held twice; 1015/s failed twice (p99); no rule shows whose limit this is"
    );
    let purposes: Vec<Purpose> = record.steps.iter().map(|step| step.purpose).collect();
    assert_eq!(
        purposes
            .iter()
            .filter(|purpose| **purpose == Purpose::Bisect)
            .count(),
        6
    );
    assert_eq!(
        (purposes[1], &purposes[8..]),
        (Purpose::Climb, &[Purpose::Confirm; 2][..])
    );
}

#[test]
fn no_capacity_from_one_hundred_to_fifty_thousand_takes_more_than_twelve_holds() {
    let mut most = 0;
    for step in 0..400 {
        let capacity = 100.0 * 500_f64.powf(f64::from(step) / 400.0);
        let mut search = rates(100.0, 50_000.0);
        most = most.max(run(&mut search, keeps_up_to(capacity)).len());
        let found = search
            .record()
            .answer
            .as_ref()
            .and_then(SearchAnswer::passed)
            .unwrap();
        assert!(
            found <= capacity && found * 1.03 >= capacity * 0.9999,
            "{found} of {capacity}"
        );
    }
    assert_eq!(most, 12);
}

#[test]
fn search_whose_ends_are_beyond_the_server_says_so() {
    let mut search = rates(100.0, 1000.0);
    assert_eq!(run(&mut search, keeps_up_to(50.0)), [400.0, 100.0, 100.0]);
    assert_eq!(
        search.record().statement,
        "below 100/s: this was the lowest of the search and failed (p99); search from a lower \
         one; no rule shows whose limit this is"
    );
    let mut search = rates(100.0, 1000.0);
    assert_eq!(run(&mut search, keeps_up_to(1e6)), [400.0, 1000.0]);
    assert_eq!(
        search.record().answer,
        Some(SearchAnswer::AtLeast { amount: 1000.0 })
    );
    assert!(
        search.record().statement.starts_with("at least 1000/s"),
        "{}",
        search.record().statement
    );
}

/// Like `keeps_up_to`, except that these holds (counted from 1) fail by accident.
fn hiccups_at(capacity: f64, nth: &'static [usize]) -> impl FnMut(f64, Purpose) -> HoldResult {
    let mut made = 0;
    move |amount, purpose| {
        made += 1;
        if nth.contains(&made) {
            failed("hiccup")
        } else {
            keeps_up_to(capacity)(amount, purpose)
        }
    }
}

#[test]
fn failure_that_does_not_repeat_moves_the_search_up_again() {
    let mut search = rates(100.0, 50_000.0);
    // 1600/s fails by accident while climbing. All amounts below it pass, and so does 1600/s when
    // it is held again, twice.
    let amounts = run(&mut search, hiccups_at(5000.0, &[2]));
    assert_eq!(
        amounts[..9],
        [
            400.0, 1600.0, 800.0, 1131.4, 1345.5, 1467.2, 1532.2, 1565.7, 1565.7
        ]
    );
    assert_eq!(amounts[9..13], [1600.0, 1600.0, 6400.0, 3200.0]);
    let Some(SearchAnswer::Found {
        amount,
        fails_at,
        confirmed: true,
        failed_twice: true,
        lowered_from: None,
    }) = search.record().answer
    else {
        panic!("{:?}", search.record().answer)
    };
    assert!(
        amount <= 5000.0 && fails_at > 5000.0 && fails_at <= amount * 1.03,
        "{amount} {fails_at}"
    );
    assert!(
        search
            .record()
            .statement
            .contains("; at 1600/s 1 of 3 holds failed; "),
        "{}",
        search.record().statement
    );
    assert!(
        amounts.len() as u32 <= search.record().bounds.holds_max(),
        "{amounts:?}"
    );
}

#[test]
fn answer_that_fails_by_accident_when_it_is_held_again_stays_the_answer() {
    let mut search = rates(100.0, 50_000.0);
    let amounts = run(&mut search, hiccups_at(1000.0, &[9]));
    assert_eq!(amounts[8..], [993.51, 993.51, 1015.3]);
    assert_eq!(search.record().answer, Some(found(993.51, 1015.3)));
    let statement = &search.record().statement;
    assert_eq!(
        statement,
        "994/s, held twice; 1015/s failed twice (p99); at 994/s 1 of 3 holds failed; no rule \
         shows whose limit this is"
    );
}

#[test]
fn answer_that_passes_by_luck_only_is_lowered_and_that_is_said() {
    let mut search = rates(100.0, 1000.0);
    let mut times = 0;
    let amounts = run(&mut search, |amount, purpose| {
        // The limit is at 480/s, and 488.78/s passes only the first time.
        times += usize::from(amount == 488.78);
        match amount {
            488.78 if times > 1 => failed("second time"),
            488.78 => passed(amount),
            _ => keeps_up_to(480.0)(amount, purpose),
        }
    });
    let Some(SearchAnswer::Found {
        amount,
        fails_at,
        confirmed: true,
        failed_twice: true,
        lowered_from: Some(from),
    }) = search.record().answer
    else {
        panic!("{:?} {amounts:?}", search.record().answer)
    };
    assert!(
        fails_at == from && amount < from && amount * 1.0301 >= from,
        "{amount} {from}"
    );
    let statement = &search.record().statement;
    assert!(
        statement.contains("2 of 3 holds failed")
            && statement.contains("failed twice (second time)"),
        "{statement}"
    );
}

#[test]
fn saved_holds_bring_a_search_to_where_it_was() {
    let mut search = rates(100.0, 50_000.0);
    run(&mut search, hiccups_at(5000.0, &[2, 13]));
    for kept in 0..search.record().steps.len() {
        let mut resumed = rates(100.0, 50_000.0);
        for step in &search.record().steps[..kept] {
            let SearchAction::Hold(hold) = resumed.next() else {
                panic!("it has ended at {}", step.step)
            };
            assert_eq!(
                (hold.step, hold.amount, hold.purpose),
                (step.step, step.amount, step.purpose)
            );
            resumed.take(step.result.clone());
        }
        assert_eq!(resumed.record().steps, search.record().steps[..kept]);
        search.record().steps[kept..]
            .iter()
            .for_each(|step| resumed.take(step.result.clone()));
        assert_eq!(resumed, search);
    }
}

#[test]
fn first_amount_that_fails_twice_is_not_searched_below() {
    let mut search = rates(100.0, 102.0);
    let amounts = run(&mut search, keeps_up_to(50.0));
    assert_eq!(amounts, [102.0, 100.0, 100.0]);
    assert!(
        matches!(search.record().answer, Some(SearchAnswer::BelowFrom { .. })),
        "{:?}",
        search.record().answer
    );
}

#[test]
fn no_search_makes_more_holds_than_its_bounds_say_whatever_comes() {
    let mut most = 0;
    for seed in 0..2000 {
        let mut random = Random(seed);
        let share = random.uniform();
        let mut search = if seed % 2 == 0 {
            rates(100.0, 50_000.0)
        } else {
            users(1.0, 250.0)
        };
        let bounds = search.record().bounds;
        let bound = (bounds.holds_max() + bounds.holds_for_knee()) as usize;
        let amounts = run(&mut search, |amount, _| {
            if random.uniform() < share {
                failed("chance")
            } else {
                passed(amount)
            }
        });
        assert!(
            amounts.len() <= bound,
            "seed {seed}: {} holds, and {bound} are the most",
            amounts.len()
        );
        assert!(
            amounts
                .iter()
                .all(|amount| (bounds.from()..=bounds.to()).contains(amount)),
            "seed {seed}: {amounts:?}"
        );
        assert!(!search.record().statement.is_empty());
        most = most.max(amounts.len());
    }
    println!("at most {most} holds");
}

#[test]
fn client_that_cannot_make_the_load_ends_the_search_with_what_it_would_take() {
    let mut search = rates(100.0, 50_000.0);
    let amounts = run(&mut search, |amount, purpose| match amount {
        a if a > 5000.0 => result(
            HoldOutcome::ClientBound {
                reasons: vec!["agent one: its busiest worker was 97.0 % busy".into()],
                more_agents: 3,
            },
            0.0,
        ),
        _ => keeps_up_to(1e9)(amount, purpose),
    });
    assert_eq!(amounts, [400.0, 1600.0, 6400.0]);
    assert_eq!(
        search.record().statement,
        "1600/s passed, and the 2 agents could not make 6400/s (agent one: its busiest worker was \
         97.0 % busy): about 3 more, on machines of their own, would; this is not the server's \
         limit"
    );
    assert_eq!(
        search
            .record()
            .answer
            .as_ref()
            .and_then(SearchAnswer::passed),
        Some(1600.0)
    );
}

#[test]
fn client_that_cannot_make_the_first_amount_makes_the_lowest() {
    let mut search = rates(100.0, 50_000.0);
    let bound = || {
        result(
            HoldOutcome::ClientBound {
                reasons: vec!["agent one: late".into()],
                more_agents: 1,
            },
            0.0,
        )
    };
    let amounts = run(&mut search, |amount, _| {
        if amount > 300.0 {
            bound()
        } else {
            passed(amount)
        }
    });
    assert_eq!(amounts, [400.0, 100.0, 400.0]);
    let statement = &search.record().statement;
    assert!(
        statement
            .starts_with("100/s passed, and the 2 agents could not make 400/s (agent one: late)"),
        "{statement}"
    );
    let mut search = rates(100.0, 50_000.0);
    assert_eq!(run(&mut search, |_, _| bound()), [400.0, 100.0]);
    assert!(
        search
            .record()
            .statement
            .starts_with("not even the first hold counts"),
        "{}",
        search.record().statement
    );
}

#[test]
fn client_that_cannot_make_the_answer_again_is_said_to_have_made_it_once() {
    let mut search = rates(100.0, 50_000.0);
    run(&mut search, |amount, purpose| match purpose {
        Purpose::Confirm => result(
            HoldOutcome::ClientBound {
                reasons: vec!["agent one: late".into()],
                more_agents: 1,
            },
            0.0,
        ),
        _ => keeps_up_to(1000.0)(amount, purpose),
    });
    assert_eq!(
        search.record().statement,
        "994/s passed once, and when it was held again the 2 agents could not make it (agent one: \
         late): about 1 more, on machines of their own, would; this is not the server's limit"
    );
}

#[test]
fn hold_that_cannot_be_trusted_is_made_once_more() {
    let mut holds = 0;
    let mut search = rates(100.0, 1000.0);
    let untrusted = || {
        result(
            HoldOutcome::Invalid {
                reasons: vec!["agent two was lost".into()],
            },
            0.0,
        )
    };
    let amounts = run(&mut search, |amount, purpose| {
        holds += 1;
        if holds == 1 {
            untrusted()
        } else {
            keeps_up_to(500.0)(amount, purpose)
        }
    });
    assert_eq!(amounts[..3], [400.0, 400.0, 1000.0]);
    assert!(matches!(
        search.record().answer,
        Some(SearchAnswer::Found { .. })
    ));
    let mut search = rates(100.0, 1000.0);
    assert_eq!(run(&mut search, |_, _| untrusted()), [400.0, 400.0]);
    assert_eq!(
        search.record().statement,
        "not even the first hold counts, and 400/s could not be measured, twice (agent two was \
         lost)"
    );
}

#[test]
fn users_are_whole_and_the_knee_gets_holds_of_its_own() {
    // Each user brings 10/s up to 55 users; beyond 400 users the threshold breaks.
    let mut search = users(1.0, 500.0);
    let amounts = run(&mut search, |amount, _| {
        let outcome = if amount <= 400.0 {
            HoldOutcome::Passed
        } else {
            HoldOutcome::Failed {
                reasons: vec!["p99".into()],
            }
        };
        result(outcome, 10.0 * amount.min(55.0))
    });
    assert!(
        amounts.iter().all(|amount| amount.fract() == 0.0),
        "{amounts:?}"
    );
    let record = search.record();
    let Some(SearchAnswer::Found {
        amount,
        fails_at,
        confirmed: true,
        ..
    }) = record.answer
    else {
        panic!("{:?}", record.answer)
    };
    assert!(
        amount <= 400.0 && fails_at > 400.0 && fails_at <= amount * 1.03,
        "{amount} {fails_at}"
    );
    let knee = record.knee.as_ref().unwrap();
    // 97 % of 550/s is the work of 53.35 users.
    assert_eq!((knee.users, knee.below), (54.0, Some(52.0)));
    assert!(
        (knee.plateau_ok_per_second - 6040.0 / 11.0).abs() < 1e-9,
        "one hold of eleven was at 540/s: {knee:?}"
    );
    assert!(
        record
            .statement
            .contains("throughput stops rising at 54 users, with 540/s"),
        "{}",
        record.statement
    );
    let for_knee = record
        .steps
        .iter()
        .filter(|step| step.purpose == Purpose::Knee)
        .count();
    assert!(
        (1..=6).contains(&for_knee) && amounts.len() - for_knee <= 13,
        "{amounts:?}"
    );
}

/// Adds a monitor that saw the quota used up in this hold.
fn at_quota(result: HoldResult) -> HoldResult {
    let limits = vec![LimitShown {
        limit_of: LimitOf::Server,
        rule: RuleId::ServerQuota.name().to_owned(),
        figure: "monitor db: stopped".to_owned(),
        bound: "10 %".to_owned(),
    }];
    HoldResult { limits, ..result }
}

#[test]
fn answer_ends_with_the_resource_that_the_failed_hold_names() {
    let why = "; ended by the server: its CPU quota (monitor db: stopped)";
    let mut search = rates(100.0, 1000.0);
    run(&mut search, |amount, _| {
        if amount <= 500.0 {
            return passed(amount);
        }
        at_quota(failed("p99"))
    });
    let statement = &search.record().statement;
    assert!(statement.ends_with(why), "{statement}");
    assert_eq!(statement.matches("ended by").count(), 1, "{statement}");
    let failed_hold = search.record().steps.iter().map(|step| &step.result);
    let mut reasons = failed_hold.map(HoldResult::reasons);
    let told = ["p99", "monitor db: stopped (bound: 10 %)"];
    assert!(reasons.any(|reasons| reasons == told), "{statement}");
    let mut search = rates(100.0, 1000.0);
    run(&mut search, |_, _| at_quota(failed("p99")));
    let statement = &search.record().statement;
    assert!(statement.ends_with(why), "{statement}");
}

#[test]
fn knee_ends_with_the_resource_that_the_hold_beyond_it_names() {
    let mut search = users(1.0, 256.0);
    run(&mut search, |amount, _| {
        let held = passed(amount.min(40.0));
        if amount < 256.0 { held } else { at_quota(held) }
    });
    let statement = &search.record().statement;
    let why = " %); ended by the server: its CPU quota (monitor db: stopped)";
    assert!(statement.ends_with(why), "{statement}");
    // If everything passed and nothing stopped rising, nothing was ended.
    let mut search = rates(100.0, 1000.0);
    run(&mut search, |amount, _| at_quota(passed(amount)));
    let statement = &search.record().statement;
    assert!(!statement.contains("ended by"), "{statement}");
}

#[test]
fn users_who_wait_for_the_plans_own_connections_have_no_knee() {
    for (ran_out, has_knee) in [(false, true), (true, false)] {
        let mut search = users(1.0, 500.0);
        run(&mut search, |amount, _| {
            let mut result = result(HoldOutcome::Passed, 10.0 * amount.min(55.0));
            result.figures.connections_ran_out = ran_out && amount > 55.0;
            result
        });
        let knee = &search.record().knee;
        assert_eq!(knee.is_some(), has_knee, "{knee:?}");
    }
}

#[test]
fn throughput_that_follows_load_to_the_end_has_no_knee() {
    let mut search = users(1.0, 100.0);
    run(&mut search, |amount, _| passed(amount));
    assert_eq!(search.record().knee, None);
    assert_eq!(
        search.record().answer,
        Some(SearchAnswer::AtLeast { amount: 100.0 })
    );
}

#[test]
fn search_for_no_failure_at_all_ends_below_the_first_one() {
    // A queue of 320 gets more users than it has room for, and refuses the rest.
    let mut search = users(10.0, 10_000.0);
    run(&mut search, |amount, _| {
        let refused = (amount - 320.0).max(0.0);
        let reasons = vec![format!("errors.count <= 0: {refused}")];
        result(
            if refused > 0.0 {
                HoldOutcome::Failed { reasons }
            } else {
                HoldOutcome::Passed
            },
            1000.0,
        )
    });
    let Some(SearchAnswer::Found {
        amount, fails_at, ..
    }) = search.record().answer
    else {
        panic!("{:?}", search.record().answer)
    };
    assert!(
        amount <= 320.0 && fails_at > 320.0 && fails_at / amount <= 1.03,
        "{amount} {fails_at}"
    );
}

#[test]
fn hold_is_judged_by_thresholds_verdict_and_room() {
    let thresholds = "\"response_time.p99\" = \"<= 15ms\"\n";
    let late = Second {
        response_ms: 60,
        delay_ms: 40,
        ..QUIET
    };
    let full = Second {
        response_ms: 3000,
        service_ms: 3000,
        not_sent: 1,
        ..QUIET
    };
    for (what, load, thresholds, content, worker, expected) in [
        (
            "keeps",
            OPEN,
            "\"response_time.p99\" = \"<= 25ms\"\n",
            QUIET,
            0.99,
            "passed",
        ),
        (
            "breaks",
            OPEN,
            thresholds,
            QUIET,
            0.3,
            "failed: response_time.p99 <= 15 ms: 20.0 ms, 33.3 % above",
        ),
        (
            "breaks, no room",
            OPEN,
            thresholds,
            QUIET,
            0.95,
            "client: 1",
        ),
        (
            "schedule missed, no room",
            OPEN,
            thresholds,
            late,
            0.95,
            "client: 1",
        ),
        (
            "schedule missed, room",
            OPEN,
            thresholds,
            late,
            0.3,
            "invalid",
        ),
        (
            "not all sent",
            OPEN,
            "",
            full,
            0.3,
            "failed: 16.7 % of the arrivals (16) were not sent",
        ),
        ("closed, no room", CLOSED, "", QUIET, 0.95, "client: 1"),
    ] {
        let mut collector = collector(load, thresholds);
        fire(&mut collector, content, cpu(worker, 0.3));
        let document = collector.document(RunState::Complete);
        let result = HoldResult::new(&document, 20.0, "run-1".to_owned());
        let said = match &result.outcome {
            HoldOutcome::Passed => "passed".to_owned(),
            HoldOutcome::Failed { reasons } => format!("failed: {}", reasons.join("; ")),
            HoldOutcome::ClientBound { more_agents, .. } => format!("client: {more_agents}"),
            HoldOutcome::Invalid { .. } => "invalid".to_owned(),
        };
        assert!(said.starts_with(expected), "{what}: {said}");
        assert_eq!(
            (
                result.figures.agents,
                result.figures.ok_per_second,
                result.run.as_str()
            ),
            (2, 20.0, "run-1"),
            "{what}"
        );
    }
}

#[test]
fn agents_that_made_half_of_the_load_need_as_many_again_and_room() {
    let mut collector = collector(OPEN, "");
    fire(
        &mut collector,
        Second {
            delay_ms: 40,
            ..QUIET
        },
        cpu(1.0, 0.3),
    );
    let document = collector.document(RunState::Complete);
    // 20/s of 40/s begun, all busy: 2 agents × 2 × 1/0.8 = 5.
    let result = HoldResult::new(&document, 40.0, String::new());
    assert!(
        matches!(
            result.outcome,
            HoldOutcome::ClientBound { more_agents: 3, .. }
        ),
        "{result:?}"
    );
}

#[test]
fn target_is_settled_when_its_median_is_near_the_usual() {
    let mut search = rates(100.0, 1000.0);
    assert!(search.record().is_settled(u64::MAX), "nothing is usual yet");
    // Before anything has passed, the response time at rest is the usual one.
    search.look_at_rest(Some(2_000_000));
    assert!(search.record().is_settled(4_000_000) && !search.record().is_settled(4_000_001));
    let mut usual = passed(400.0);
    usual.figures.response_time_p50_ns = Some(10_000_000);
    search.take(usual);
    for (p50_ns, settled) in [
        (9_000_000, true),
        (16_000_000, true),
        (16_000_001, false),
        (u64::MAX, false),
    ] {
        assert_eq!(search.record().is_settled(p50_ns), settled, "{p50_ns}");
    }
    // A look at journeys has first steps alone, which take longer.
    let mut search = rates(100.0, 1000.0);
    search.look_at_rest(Some(60_000_000));
    let mut usual = passed(400.0);
    usual.figures.response_time_p50_ns = Some(20_000_000);
    search.take(usual);
    assert!(search.record().is_settled(60_000_000));
}

mod simulated {
    use super::{HoldOutcome, SearchAnswer, rates, result, run};
    use crate::random::Random;

    const LIMIT_S: f64 = 0.25;
    const HOLD_S: f64 = 20.0;
    const WARM_UP_S: f64 = 2.0;

    /// Servers that each take `service_s` for an operation, so that together they carry exactly
    /// servers/service_s per second.
    struct Server {
        servers: usize,
        service_s: f64,
    }

    impl Server {
        fn capacity(&self) -> f64 {
            self.servers as f64 / self.service_s
        }

        /// The 99th percentile of the response times of a hold with Poisson arrivals (M/D/c, first
        /// come, first served).
        fn p99_s(&self, rate: f64, random: &mut Random) -> f64 {
            let mut free_at = vec![0.0_f64; self.servers];
            let (mut now, mut number, mut times) = (0.0, 0, Vec::new());
            loop {
                now += random.exponential() / rate;
                if now > WARM_UP_S + HOLD_S {
                    break;
                }
                // Equal service times end in the order in which they began, so the servers take
                // turns.
                let done = free_at[number % self.servers].max(now) + self.service_s;
                free_at[number % self.servers] = done;
                number += 1;
                if now >= WARM_UP_S {
                    times.push(done - now);
                }
            }
            let rank = (times.len() as f64 * 0.99).ceil() as usize - 1;
            *times.select_nth_unstable_by(rank, f64::total_cmp).1
        }
    }

    /// Searches `server`, and returns the result over the truth, and the number of holds. A hold
    /// fails by accident with this probability.
    fn searched(server: &Server, accidents: f64, random: &mut Random) -> (f64, usize) {
        let mut search = rates(100.0, 50_000.0);
        let holds = run(&mut search, |amount, _| {
            // Measurements scatter with a standard deviation of 2 %.
            let p99_s = server.p99_s(amount, random) * (1.0 + 0.02 * random.normal());
            let has_passed = p99_s <= LIMIT_S && random.uniform() >= accidents;
            let reasons = vec![format!("response_time.p99 <= 250 ms: {p99_s} s")];
            result(
                if has_passed {
                    HoldOutcome::Passed
                } else {
                    HoldOutcome::Failed { reasons }
                },
                amount,
            )
        });
        let found = search
            .record()
            .answer
            .as_ref()
            .and_then(SearchAnswer::passed)
            .unwrap_or(0.0);
        (found / server.capacity(), holds.len())
    }

    #[test]
    fn answer_is_within_three_per_cent_of_a_known_capacity_in_nine_of_ten_runs() {
        let (mut all, mut most) = (0, 0);
        for server in [
            Server {
                servers: 1,
                service_s: 0.0005,
            },
            Server {
                servers: 8,
                service_s: 0.004,
            },
            Server {
                servers: 64,
                service_s: 0.02,
            },
            Server {
                servers: 4,
                service_s: 0.0005,
            },
        ] {
            let runs: Vec<(f64, usize)> = (1..=runs(10))
                .map(|seed| searched(&server, 0.0, &mut Random(seed)))
                .collect();
            let near = runs
                .iter()
                .filter(|run| (run.0 - 1.0).abs() <= 0.03)
                .count();
            assert!(
                near * 10 >= runs.len() * 9,
                "{near} of {} within 3 % of {}/s",
                runs.len(),
                server.capacity()
            );
            (all, most) = (
                all + near,
                most.max(runs.iter().map(|run| run.1).max().unwrap()),
            );
        }
        println!("{all} of {} within 3 %, at most {most} holds", runs(10) * 4);
        // Two holds of an amount at the very limit can contradict each other.
        assert!(most <= 12 + 4, "{most} holds");
    }

    #[test]
    fn accidents_in_one_hold_of_twenty_leave_the_answer_within_three_per_cent_in_95_of_100_runs() {
        let server = Server {
            servers: 2,
            service_s: 0.002,
        };
        let runs: Vec<(f64, usize)> = (1..=runs(100))
            .map(|seed| searched(&server, 0.05, &mut Random(seed)))
            .collect();
        let near = runs
            .iter()
            .filter(|run| (run.0 - 1.0).abs() <= 0.03)
            .count();
        let holds: Vec<usize> = runs.iter().map(|run| run.1).collect();
        let (mean, most) = (
            holds.iter().sum::<usize>() as f64 / holds.len() as f64,
            holds.iter().max().unwrap(),
        );
        println!(
            "{near} of {} within 3 %, {mean:.1} holds on average, {most} at most",
            runs.len()
        );
        assert!(
            near * 100 >= runs.len() * 95,
            "{near} of {}: {runs:?}",
            runs.len()
        );
        assert!(mean <= 15.0, "{mean} holds on average");
    }

    /// Each run takes some tenths of a second; the environment variable `SIMULATED` asks for more.
    fn runs(usual: u64) -> u64 {
        std::env::var("SIMULATED")
            .ok()
            .and_then(|number| number.parse().ok())
            .unwrap_or(usual)
    }
}
