//! Searches driven by hand, and against a simulated server whose capacity is known.

use crate::scene::{CLOSED, OPEN, QUIET, Second, collector, cpu, fire};
use analysis::{Amount, Answer, Bounds, HoldFigures, HoldOutcome, HoldResult, Next, Purpose, Search, State};

fn rates(from: f64, to: f64) -> Search {
    Search::new(Bounds::new(Amount::Rate, from, to, 0.03).unwrap())
}

fn users(from: f64, to: f64) -> Search {
    Search::new(Bounds::new(Amount::Users, from, to, 0.03).unwrap())
}

fn result(outcome: HoldOutcome, ok_per_second: f64) -> HoldResult {
    HoldResult { outcome, figures: HoldFigures { ok_per_second, agents: 2, ..HoldFigures::default() }, run: String::new() }
}

fn passed(amount: f64) -> HoldResult {
    result(HoldOutcome::Passed, amount)
}

fn failed(why: &str) -> HoldResult {
    result(HoldOutcome::Failed { reasons: vec![why.to_owned()] }, 0.0)
}

/// Makes every hold by `hold`; gives their amounts.
fn run(search: &mut Search, mut hold: impl FnMut(f64, Purpose) -> HoldResult) -> Vec<f64> {
    let mut amounts = Vec::new();
    while let Next::Hold(next) = search.next() {
        assert_eq!(next.step as usize, amounts.len() + 1);
        assert!(amounts.len() < 40, "it does not end: {amounts:?}");
        amounts.push(next.amount);
        search.take(hold(next.amount, next.purpose));
    }
    amounts
}

fn keeps_up_to(capacity: f64) -> impl FnMut(f64, Purpose) -> HoldResult {
    move |amount, _| if amount <= capacity { passed(amount) } else { failed("p99") }
}

#[test]
fn holds_climb_by_four_then_take_the_geometric_middle_then_confirm() {
    let mut search = rates(100.0, 50_000.0);
    let amounts = run(&mut search, keeps_up_to(1000.0));
    assert_eq!(amounts, [100.0, 400.0, 1600.0, 800.0, 1131.4, 951.38, 1037.5, 993.51, 1015.3, 993.51]);
    let record = search.record();
    assert_eq!(record.answer, Some(Answer::Found { amount: 993.51, fails_at: 1015.3, confirmed: true, lowered_from: None }));
    assert_eq!(record.statement, "994/s, held twice; 1015/s failed (p99)");
    let purposes: Vec<Purpose> = record.steps.iter().map(|step| step.purpose).collect();
    assert_eq!(purposes.iter().filter(|purpose| **purpose == Purpose::Bisect).count(), 6);
    assert_eq!((purposes[2], purposes[9]), (Purpose::Climb, Purpose::Confirm));
}

#[test]
fn no_capacity_from_one_hundred_to_fifty_thousand_takes_more_than_twelve_holds() {
    let mut most = 0;
    for step in 0..400 {
        let capacity = 100.0 * 500_f64.powf(f64::from(step) / 400.0);
        let mut search = rates(100.0, 50_000.0);
        most = most.max(run(&mut search, keeps_up_to(capacity)).len());
        let found = search.record().answer.as_ref().and_then(Answer::passed).unwrap();
        assert!(found <= capacity && found * 1.03 >= capacity * 0.9999, "{found} of {capacity}");
    }
    assert_eq!(most, 12);
}

#[test]
fn search_whose_ends_are_beyond_the_server_says_so() {
    let mut search = rates(100.0, 1000.0);
    assert_eq!(run(&mut search, keeps_up_to(50.0)), [100.0]);
    assert_eq!(
        search.record().statement,
        "below 100/s: this was the first of the search and failed (p99); search from a lower one"
    );
    let mut search = rates(100.0, 1000.0);
    assert_eq!(run(&mut search, keeps_up_to(1e6)), [100.0, 400.0, 1000.0]);
    assert_eq!(search.record().answer, Some(Answer::AtLeast { amount: 1000.0 }));
    assert!(search.record().statement.starts_with("at least 1000/s"), "{}", search.record().statement);
}

#[test]
fn answer_that_does_not_hold_twice_is_lowered_and_that_is_said() {
    let mut confirmations = 0;
    let mut search = rates(100.0, 1000.0);
    let amounts = run(&mut search, |amount, purpose| {
        confirmations += usize::from(purpose == Purpose::Confirm);
        if confirmations == 1 { failed("second time") } else { keeps_up_to(500.0)(amount, purpose) }
    });
    let Some(Answer::Found { amount, fails_at, confirmed: true, lowered_from: Some(from) }) = search.record().answer else {
        panic!("{:?}", search.record().answer)
    };
    assert_eq!((fails_at, Some(&amount)), (from, amounts.last()));
    assert!(amount < from && amount * 1.0301 >= from, "{amount} {from}");
    let statement = &search.record().statement;
    assert!(statement.contains("had passed once, but not twice") && statement.contains("failed (second time)"), "{statement}");
}

#[test]
fn second_failed_confirmation_ends_at_what_had_passed_below() {
    let mut search = rates(100.0, 1000.0);
    let amounts = run(&mut search, |amount, purpose| match purpose {
        Purpose::Confirm => failed("again"),
        _ => keeps_up_to(500.0)(amount, purpose),
    });
    let Some(Answer::Found { amount, confirmed: false, .. }) = search.record().answer else {
        panic!("{:?}", search.record().answer)
    };
    assert!(amounts.contains(&amount) && amount < 500.0);
    assert!(search.record().statement.contains("held once, and was not held again"), "{}", search.record().statement);
}

#[test]
fn first_amount_that_does_not_hold_twice_is_not_searched_below() {
    let mut search = rates(100.0, 102.0);
    let amounts =
        run(&mut search, |_, purpose| if purpose == Purpose::Climb { keeps_up_to(100.0)(100.0, purpose) } else { failed("no") });
    assert_eq!(amounts, [100.0, 102.0]);
    let mut search = rates(100.0, 102.0);
    let mut holds = 0;
    run(&mut search, |_, _| {
        holds += 1;
        if holds == 1 { passed(100.0) } else { failed("no") }
    });
    assert!(matches!(search.record().answer, Some(Answer::BelowFrom { .. })), "{:?}", search.record().answer);
}

#[test]
fn client_that_cannot_make_the_load_ends_the_search_with_what_it_would_take() {
    let mut search = rates(100.0, 50_000.0);
    let amounts = run(&mut search, |amount, purpose| match amount {
        a if a > 5000.0 => result(
            HoldOutcome::ClientBound { reasons: vec!["agent one: its busiest worker was 97.0 % busy".into()], more_agents: 3 },
            0.0,
        ),
        _ => keeps_up_to(1e9)(amount, purpose),
    });
    assert_eq!(amounts, [100.0, 400.0, 1600.0, 6400.0]);
    assert_eq!(
        search.record().statement,
        "1600/s passed, and the 2 agents could not make 6400/s (agent one: its busiest worker was 97.0 % busy): about 3 more, on machines of their own, would; this is not the server's limit"
    );
    assert_eq!(search.record().answer.as_ref().and_then(Answer::passed), Some(1600.0));
}

#[test]
fn client_that_cannot_make_the_answer_again_is_said_to_have_made_it_once() {
    let mut search = rates(100.0, 50_000.0);
    run(&mut search, |amount, purpose| match purpose {
        Purpose::Confirm => result(HoldOutcome::ClientBound { reasons: vec!["agent one: late".into()], more_agents: 1 }, 0.0),
        _ => keeps_up_to(1000.0)(amount, purpose),
    });
    assert_eq!(
        search.record().statement,
        "994/s passed once, and when it was held again the 2 agents could not make it (agent one: late): about 1 more, on machines of their own, would; this is not the server's limit"
    );
}

#[test]
fn hold_that_cannot_be_trusted_is_made_once_more() {
    let mut holds = 0;
    let mut search = rates(100.0, 1000.0);
    let untrusted = || result(HoldOutcome::Invalid { reasons: vec!["agent two was lost".into()] }, 0.0);
    let amounts = run(&mut search, |amount, purpose| {
        holds += 1;
        if holds == 2 { untrusted() } else { keeps_up_to(500.0)(amount, purpose) }
    });
    assert_eq!(amounts[..4], [100.0, 400.0, 400.0, 1000.0]);
    assert!(matches!(search.record().answer, Some(Answer::Found { .. })));
    let mut search = rates(100.0, 1000.0);
    assert_eq!(run(&mut search, |_, _| untrusted()), [100.0, 100.0]);
    assert_eq!(
        search.record().statement,
        "not even the first hold counts, and 100/s could not be measured, twice (agent two was lost)"
    );
}

#[test]
fn users_are_whole_and_the_knee_gets_holds_of_its_own() {
    // Each user brings 10/s up to 55 users; from 400 users on the threshold breaks.
    let mut search = users(1.0, 500.0);
    let amounts = run(&mut search, |amount, _| {
        let outcome = if amount <= 400.0 { HoldOutcome::Passed } else { HoldOutcome::Failed { reasons: vec!["p99".into()] } };
        result(outcome, 10.0 * amount.min(55.0))
    });
    assert!(amounts.iter().all(|amount| amount.fract() == 0.0), "{amounts:?}");
    let record = search.record();
    let Some(Answer::Found { amount, fails_at, confirmed: true, .. }) = record.answer else { panic!("{:?}", record.answer) };
    assert!(amount <= 400.0 && fails_at > 400.0 && fails_at <= amount * 1.03, "{amount} {fails_at}");
    let knee = record.knee.as_ref().unwrap();
    // 97 % of 550/s are the work of 53.35 users.
    assert_eq!((knee.users, knee.below), (54.0, Some(52.0)));
    assert_eq!(knee.plateau_ok_per_second, 549.0, "one hold of ten was at 540/s: {knee:?}");
    assert!(record.statement.contains("throughput stops rising at 54 users, with 540/s"), "{}", record.statement);
    let for_knee = record.steps.iter().filter(|step| step.purpose == Purpose::Knee).count();
    assert!((1..=6).contains(&for_knee) && amounts.len() - for_knee <= 12, "{amounts:?}");
}

#[test]
fn throughput_that_follows_load_to_the_end_has_no_knee() {
    let mut search = users(1.0, 100.0);
    run(&mut search, |amount, _| passed(amount));
    assert_eq!(search.record().knee, None);
    assert_eq!(search.record().answer, Some(Answer::AtLeast { amount: 100.0 }));
}

#[test]
fn search_for_no_failure_at_all_ends_below_the_first_one() {
    // A queue of 320 takes more users than it has room for, and refuses the rest.
    let mut search = users(10.0, 10_000.0);
    run(&mut search, |amount, _| {
        let refused = (amount - 320.0).max(0.0);
        let reasons = vec![format!("errors.count <= 0: {refused}")];
        result(if refused > 0.0 { HoldOutcome::Failed { reasons } } else { HoldOutcome::Passed }, 1000.0)
    });
    let Some(Answer::Found { amount, fails_at, .. }) = search.record().answer else { panic!("{:?}", search.record().answer) };
    assert!(amount <= 320.0 && fails_at > 320.0 && fails_at / amount <= 1.03, "{amount} {fails_at}");
}

#[test]
fn hold_is_judged_by_thresholds_verdict_and_room() {
    let thresholds = "\"response_time.p99\" = \"<= 15ms\"\n";
    let late = Second { response_ms: 60, lateness_ms: 40, ..QUIET };
    let full = Second { response_ms: 3000, service_ms: 3000, not_sent: 1, ..QUIET };
    for (what, load, thresholds, content, worker, expected) in [
        ("keeps", OPEN, "\"response_time.p99\" = \"<= 25ms\"\n", QUIET, 0.99, "passed"),
        ("breaks", OPEN, thresholds, QUIET, 0.3, "failed: response_time.p99 <= 15 ms: 20.0 ms, 33.3 % above"),
        ("breaks, no room", OPEN, thresholds, QUIET, 0.95, "client: 1"),
        ("schedule missed, no room", OPEN, thresholds, late, 0.95, "client: 1"),
        ("schedule missed, room", OPEN, thresholds, late, 0.3, "invalid"),
        (
            "not all sent",
            OPEN,
            "\"response_time.p99\" = \"<= 5s\"\n",
            full,
            0.3,
            "failed: 16.7 % of the arrivals (16) were not sent",
        ),
        ("closed, no room", CLOSED, "", QUIET, 0.95, "client: 1"),
    ] {
        let mut collector = collector(load, thresholds);
        fire(&mut collector, content, cpu(worker, 0.3));
        let document = collector.document(State::Complete);
        let result = HoldResult::of(&document, 20.0, "run-1".to_owned());
        let said = match &result.outcome {
            HoldOutcome::Passed => "passed".to_owned(),
            HoldOutcome::Failed { reasons } => format!("failed: {}", reasons.join("; ")),
            HoldOutcome::ClientBound { more_agents, .. } => format!("client: {more_agents}"),
            HoldOutcome::Invalid { .. } => "invalid".to_owned(),
        };
        assert!(said.starts_with(expected), "{what}: {said}");
        assert_eq!((result.figures.agents, result.figures.ok_per_second, result.run.as_str()), (2, 20.0, "run-1"), "{what}");
    }
}

#[test]
fn agents_that_made_half_of_the_load_need_as_many_again_and_room() {
    let mut collector = collector(OPEN, "");
    fire(&mut collector, Second { lateness_ms: 40, ..QUIET }, cpu(1.0, 0.3));
    let document = collector.document(State::Complete);
    // 20/s of 40/s begun, all busy: 2 agents × 2 × 1/0.8 = 5.
    let result = HoldResult::of(&document, 40.0, String::new());
    assert!(matches!(result.outcome, HoldOutcome::ClientBound { more_agents: 3, .. }), "{result:?}");
}

#[test]
fn target_is_settled_when_its_median_is_near_the_usual() {
    let mut search = rates(100.0, 1000.0);
    assert!(search.record().is_settled(u64::MAX), "nothing is usual yet");
    let mut usual = passed(100.0);
    usual.figures.response_time_p50_ns = Some(10_000_000);
    search.take(usual);
    for (p50_ns, settled) in [(9_000_000, true), (16_000_000, true), (16_000_001, false), (u64::MAX, false)] {
        assert_eq!(search.record().is_settled(p50_ns), settled, "{p50_ns}");
    }
}

mod simulated {
    use super::{Answer, HoldOutcome, rates, result, run};
    use crate::random::Random;

    const LIMIT_S: f64 = 0.25;
    const HOLD_S: f64 = 20.0;
    const WARM_UP_S: f64 = 2.0;

    /// Servers that each take `service_s` for an operation; they carry servers/service_s per second, and not one more.
    struct Server {
        servers: usize,
        service_s: f64,
    }

    impl Server {
        fn capacity(&self) -> f64 {
            self.servers as f64 / self.service_s
        }

        /// 99th percentile of the response times of a hold with Poisson arrivals (M/D/c, first come first served).
        fn p99_s(&self, rate: f64, random: &mut Random) -> f64 {
            let mut free_at = vec![0.0_f64; self.servers];
            let (mut now, mut number, mut times) = (0.0, 0, Vec::new());
            loop {
                now += random.exponential() / rate;
                if now > WARM_UP_S + HOLD_S {
                    break;
                }
                // Equal service times end in the order they began, so the servers take turns.
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

    #[test]
    fn answer_is_within_three_per_cent_of_a_known_capacity_in_nine_of_ten_runs() {
        for server in [
            Server { servers: 1, service_s: 0.0005 },
            Server { servers: 8, service_s: 0.004 },
            Server { servers: 64, service_s: 0.02 },
            Server { servers: 4, service_s: 0.0005 },
        ] {
            let mut near = 0;
            for seed in 1..=10 {
                let mut random = Random(seed);
                let mut search = rates(100.0, 50_000.0);
                let holds = run(&mut search, |amount, _| {
                    // What is measured is 2 % off, up or down.
                    let p99_s = server.p99_s(amount, &mut random) * (1.0 + 0.02 * random.normal());
                    let reasons = vec![format!("response_time.p99 <= 250 ms: {p99_s} s")];
                    result(if p99_s <= LIMIT_S { HoldOutcome::Passed } else { HoldOutcome::Failed { reasons } }, amount)
                });
                let found = search.record().answer.as_ref().and_then(Answer::passed).unwrap();
                near += usize::from((found / server.capacity() - 1.0).abs() <= 0.03);
                assert!(holds.len() <= 12, "{} holds", holds.len());
            }
            assert!(near >= 9, "{near} of 10 within 3 % of {}/s", server.capacity());
        }
    }
}
