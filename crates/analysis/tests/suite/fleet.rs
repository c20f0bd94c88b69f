//! Lost agents: what the figures cover, what the verdict is, and that nothing counts twice.

use crate::scene::{MS, OPEN, QUIET, SECOND, Second, collector_of, cpu, end, snapshot};
use analysis::{
    AgentEnd, AgentEndCause, Contribution, Document, HoldOutcome, HoldResult, MachineRole,
    MachineRow, ResultCollector, RunState, Verdict, exit_code,
};
use measure::Snapshot;

const CONTINUE: &str = "[fleet]\nlost = \"continue\"\n";
const REDISTRIBUTE: &str = "[fleet]\nlost = \"redistribute\"\n";

/// Delivers these seconds of agent `agent`.
fn deliver(collector: &mut ResultCollector, agent: u32, seconds: std::ops::Range<u32>) {
    for second in seconds {
        collector.add(agent, second, &snapshot(second, QUIET));
    }
}

/// The end of an agent that recorded seconds 0 to 5.
fn whole_end() -> AgentEnd {
    let mut sum = Snapshot::default();
    (0..6).for_each(|second| sum.merge(&snapshot(second, QUIET)));
    end(sum, cpu(0.3, 0.3))
}

fn go_through(collector: &mut ResultCollector, agent: u32) {
    deliver(collector, agent, 0..6);
    collector.ended(agent, whole_end());
}

/// Agents 0 to `agents` - 2 complete the plan; the last one is lost after second 3, but fires for
/// 1.5 s longer.
fn one_lost(agents: usize, fleet: &str, thresholds: &str) -> ResultCollector {
    let mut collector = collector_of(agents, OPEN, thresholds, fleet);
    let last = agents as u32 - 1;
    (0..last).for_each(|agent| go_through(&mut collector, agent));
    deliver(&mut collector, last, 0..4);
    collector.lost(last, "not heard of", Some(5 * SECOND + 500 * MS));
    collector
}

fn verdict_of(document: &Document) -> (Verdict, String) {
    (
        document.verdict.verdict,
        document.verdict.evidence.join("; "),
    )
}

#[test]
fn live_figures_do_not_wait_for_an_agent_that_is_away() {
    let mut collector = collector_of(2, OPEN, "", CONTINUE);
    deliver(&mut collector, 0, 0..5);
    deliver(&mut collector, 1, 0..3);
    let row = MachineRow {
        cpu_busy: 0.5,
        ..MachineRow::default()
    };
    collector.observed(MachineRole::Agent, 1, row);
    let shown = |collector: &ResultCollector| {
        let live = collector.live().unwrap();
        let busy = live.by_agent.iter().map(|agent| agent.cpu_busy);
        assert_eq!(busy.collect::<Vec<_>>(), [None, Some(0.5)]);
        (live.second, live.ended_per_second)
    };
    let (second, of_both) = shown(&collector);
    assert_eq!((second, of_both % 2), (2, 0));
    collector.gone(1);
    assert_eq!(shown(&collector), (4, of_both / 2));
    collector.back(1);
    assert_eq!(shown(&collector), (2, of_both));
}

#[test]
fn tolerated_loss_degrades_the_run_and_says_what_may_have_been_sent() {
    let document = one_lost(3, CONTINUE, "").document(RunState::Complete);
    let (verdict, evidence) = verdict_of(&document);
    assert_eq!(verdict, Verdict::Degraded, "{evidence}");
    // 10/s over three agents, 1.5 s: 5 arrivals, and one of all agents' on the edge.
    let said = "agent three was lost: not heard of; between second 4.0 and 5.5 it may have sent up \
                to 6 arrivals that are not counted";
    assert!(evidence.contains(said), "{evidence}");
    assert!(
        evidence.contains("2.00 s of 4.00 s are whole seconds"),
        "{evidence}"
    );
    assert_eq!(
        (exit_code(&document, false), exit_code(&document, true)),
        (0, 3)
    );
}

#[test]
fn hold_that_lost_an_agent_proves_nothing() {
    let kept = "\"response_time.p99\" = \"<= 1s\"\n";
    let broken = "\"response_time.p99\" = \"<= 1ms\"\n";
    for fleet in ["", CONTINUE, REDISTRIBUTE] {
        for thresholds in ["", kept, broken] {
            let document = one_lost(3, fleet, thresholds).document(RunState::Complete);
            let result = HoldResult::new(&document, 20.0, String::new());
            let HoldOutcome::Invalid { reasons } = &result.outcome else {
                panic!("{fleet} {thresholds}: {:?}", result.outcome);
            };
            let reasons = reasons.join("; ");
            assert!(reasons.contains("was lost: not heard of"), "{reasons}");
        }
    }
}

#[test]
fn default_is_that_a_lost_agent_spoils_the_run() {
    let document = one_lost(3, "", "").document(RunState::Complete);
    let (verdict, evidence) = verdict_of(&document);
    assert_eq!(verdict, Verdict::Invalid, "{evidence}");
    assert_eq!(document.fleet.whole_ns, None);
}

#[test]
fn more_than_tolerated_is_invalid_with_both_numbers() {
    let fleet = "[fleet]\nlost = \"continue\"\ntolerate = 1\n";
    let mut collector = one_lost(4, fleet, "");
    assert_eq!(
        collector.document(RunState::Complete).verdict.verdict,
        Verdict::Degraded
    );
    collector = one_lost(4, fleet, "");
    // Two agents are lost before they deliver anything.
    let mut two = collector_of(4, OPEN, "", fleet);
    (0..2).for_each(|agent| go_through(&mut two, agent));
    (2..4).for_each(|agent| two.lost(agent, "not heard of", Some(SECOND)));
    let (verdict, evidence) = verdict_of(&two.document(RunState::Complete));
    assert_eq!(verdict, Verdict::Invalid);
    let both = "2 of 4 agents were lost, and the plan allows 1 (fleet.tolerate)";
    assert!(evidence.contains(both), "{evidence}");
    drop(collector);
}

#[test]
fn run_without_an_agent_that_went_through_is_invalid() {
    let mut collector = collector_of(2, OPEN, "", CONTINUE);
    for agent in 0..2 {
        deliver(&mut collector, agent, 0..5);
        collector.lost(agent, "gone", Some(6 * SECOND));
    }
    let (verdict, _) = verdict_of(&collector.document(RunState::Complete));
    assert_eq!(verdict, Verdict::Invalid);
}

#[test]
fn other_faults_stay_invalid_whatever_may_be_lost() {
    let failed = AgentEnd {
        cause: Some(AgentEndCause::Failed),
        text: "no".into(),
        ..whole_end()
    };
    let mut collector = collector_of(3, OPEN, "", CONTINUE);
    (0..3).for_each(|agent| go_through(&mut collector, agent));
    collector.ended(2, failed);
    let (verdict, evidence) = verdict_of(&collector.document(RunState::Complete));
    assert_eq!(
        (verdict, evidence.as_str()),
        (Verdict::Invalid, "agent three failed: no")
    );
    // A lost agent whose delivered seconds differ from the totals it reports.
    let mut collector = collector_of(3, OPEN, "", CONTINUE);
    (0..2).for_each(|agent| go_through(&mut collector, agent));
    deliver(&mut collector, 2, 0..6);
    let wrong = end(snapshot(3, QUIET), cpu(0.3, 0.3));
    collector.ended(
        2,
        AgentEnd {
            cause: Some(AgentEndCause::LeaseExpired),
            ..wrong
        },
    );
    let (verdict, evidence) = verdict_of(&collector.document(RunState::Complete));
    assert_eq!(verdict, Verdict::Invalid, "{evidence}");
}

#[test]
fn contributions_say_who_was_there_and_which_seconds_are_whole() {
    let part = |from_second, to_second, agents, whole| Contribution {
        from_second,
        to_second,
        agents,
        whole,
    };
    let of = |fleet| {
        one_lost(3, fleet, "")
            .document(RunState::Complete)
            .fleet
            .contributions
    };
    assert_eq!(of(CONTINUE), [part(0, 3, 3, true), part(4, 5, 2, false)]);
    assert_eq!(
        collector_through(3)
            .document(RunState::Complete)
            .fleet
            .contributions,
        []
    );
    // It stopped at 4.5 s at the latest: from second 5 on, the others are the whole fleet.
    let mut early = collector_of(3, OPEN, "", CONTINUE);
    (0..2).for_each(|agent| go_through(&mut early, agent));
    deliver(&mut early, 2, 0..4);
    early.lost(2, "gone", Some(4 * SECOND + 500 * MS));
    let document = early.document(RunState::Complete);
    let parts = [
        part(0, 3, 3, true),
        part(4, 4, 2, false),
        part(5, 5, 2, true),
    ];
    assert_eq!(document.fleet.contributions, parts);
    assert_eq!(document.fleet.whole_ns, Some(3 * SECOND));
    let agents: Vec<u32> = document.series.rows.iter().map(|row| row.agents).collect();
    assert_eq!(agents, [3, 3, 3, 3, 2, 2]);
}

fn collector_through(agents: usize) -> ResultCollector {
    let mut collector = collector_of(agents, OPEN, "", CONTINUE);
    (0..agents as u32).for_each(|agent| go_through(&mut collector, agent));
    collector
}

#[test]
fn redistributed_share_makes_seconds_whole_again_from_its_instant_on() {
    let mut collector = collector_of(3, OPEN, "", REDISTRIBUTE);
    (0..2).for_each(|agent| go_through(&mut collector, agent));
    deliver(&mut collector, 2, 0..3);
    collector.lost(2, "gone", Some(3 * SECOND + 500 * MS));
    let whole = |collector: &ResultCollector| {
        let document = collector.document(RunState::Complete);
        let parts = document.fleet.contributions.iter();
        let seconds = parts.filter(|part| part.whole);
        seconds
            .map(|part| (part.from_second, part.to_second))
            .collect::<Vec<_>>()
    };
    // No agent fires its share, so no second after it is whole.
    assert_eq!(whole(&collector), [(0, 2)]);
    collector.redistributed(2, &[0, 1], 4 * SECOND + MS);
    assert_eq!(whole(&collector), [(0, 2)], "nobody says yet that it does");
    collector.taken_over(2, 0, Some(4 * SECOND + MS));
    assert_eq!(whole(&collector), [(0, 2)], "half of it is open");
    collector.taken_over(2, 1, Some(4 * SECOND + MS));
    assert_eq!(whole(&collector), [(0, 2), (5, 5)]);
    let document = collector.document(RunState::Complete);
    assert_eq!(document.verdict.verdict, Verdict::Degraded);
    assert!(
        document
            .notes
            .contains(&"others fired the share of 1 lost agent, from second 4.0 on".into()),
        "{:?}",
        document.notes
    );
    // An agent that had taken over a third fires half as much again as before; it is lost, too.
    collector.lost(1, "gone too", Some(6 * SECOND));
    let mut second = collector_of(3, OPEN, "", REDISTRIBUTE);
    go_through(&mut second, 0);
    deliver(&mut second, 1, 0..4);
    deliver(&mut second, 2, 0..3);
    second.lost(2, "gone", Some(3 * SECOND));
    second.redistributed(2, &[0, 1], 3 * SECOND);
    second.lost(1, "gone", Some(6 * SECOND));
    let agents = second.document(RunState::Complete).agents;
    let unstored = agents[1].unstored.expect("two seconds are missing");
    assert_eq!(
        unstored.arrivals,
        Some(11),
        "(20 + 1) × 1.5 / 3, rounded up"
    );
    assert_eq!(
        agents[2].unstored, None,
        "it had stopped when its last second was over"
    );
}

#[test]
fn share_that_an_heir_refuses_or_begins_late_spoils_the_seconds_without_it() {
    let run = |answer: Option<u64>| {
        let mut collector = collector_of(3, OPEN, "", REDISTRIBUTE);
        (0..2).for_each(|agent| go_through(&mut collector, agent));
        deliver(&mut collector, 2, 0..1);
        collector.lost(2, "gone", Some(SECOND));
        collector.redistributed(2, &[0, 1], 2 * SECOND);
        collector.taken_over(2, 0, Some(2 * SECOND));
        collector.taken_over(2, 1, answer);
        collector.document(RunState::Complete)
    };
    for (answer, whole_seconds, takers) in [
        (Some(2 * SECOND), 5, vec![0, 1]),
        (Some(2 * SECOND + MS), 4, vec![0, 1]),
        (Some(4 * SECOND), 3, vec![0, 1]),
        (None, 1, vec![0]),
    ] {
        let document = run(answer);
        let parts = document.fleet.contributions.iter();
        let whole = parts.filter(|part| part.whole);
        let seconds = whole.map(|part| part.to_second - part.from_second + 1);
        assert_eq!(seconds.sum::<u32>(), whole_seconds, "{answer:?}");
        assert_eq!(document.fleet.takeovers[0].to, takers, "{answer:?}");
    }
    // The agent that took over is lost, too, and others fire everything it had.
    let mut collector = collector_of(3, OPEN, "", REDISTRIBUTE);
    go_through(&mut collector, 0);
    deliver(&mut collector, 1, 0..2);
    deliver(&mut collector, 2, 0..1);
    collector.lost(2, "gone", Some(SECOND));
    collector.redistributed(2, &[1], SECOND);
    collector.lost(1, "gone too", Some(2 * SECOND));
    collector.redistributed(1, &[0], 4 * SECOND);
    collector.taken_over(1, 0, Some(4 * SECOND));
    let document = collector.document(RunState::Complete);
    let parts = document.fleet.contributions.iter();
    let whole = parts.filter(|part| part.whole);
    let seconds: Vec<_> = whole
        .map(|part| (part.from_second, part.to_second))
        .collect();
    assert_eq!(seconds, [(0, 0), (4, 5)]);
}

#[test]
fn thresholds_on_times_and_rates_are_judged_on_whole_seconds() {
    let thresholds = "\"response_time.max\" = \"<= 50ms\"\nrate = \">= 40\"\n\
                      \"errors.count\" = \"<= 0\"\n\"timed_out.count\" = \"<= 0\"\n\
                      request.a.response_time.max = \"<= 50ms\"\n\
                      request.a.errors.count = \"<= 0\"\nrequest.a.rate = \">= 10\"\n";
    let slow = Second {
        response_ms: 900,
        timed_out: 1,
        ..QUIET
    };
    let run = |fleet: &str, fired_until: u64| {
        let mut collector = collector_of(3, OPEN, thresholds, fleet);
        for agent in 0..2 {
            let mut sum = Snapshot::default();
            for second in 0..6 {
                // The others are slower because of the loss.
                let recorded = snapshot(second, if second == 4 { slow } else { QUIET });
                sum.merge(&recorded);
                collector.add(agent, second, &recorded);
            }
            collector.ended(agent, end(sum, cpu(0.3, 0.3)));
        }
        deliver(&mut collector, 2, 0..4);
        collector.lost(2, "gone", Some(fired_until));
        let document = collector.document(RunState::Complete);
        let thresholds = document.thresholds.iter();
        let judged: Vec<(bool, f64)> = thresholds
            .map(|judgement| (judgement.passed, judgement.actual.unwrap()))
            .collect();
        judged
    };
    // Seconds 2, 3 and 5 of the measured part: 30 + 30 + 20 in 3 s.
    let degraded = run(CONTINUE, 5 * SECOND);
    assert_eq!(degraded[0], (true, 20e6));
    assert_eq!((degraded[1].0, degraded[1].1.round()), (false, 27.0));
    // Failures count, whether in a whole second or not.
    assert_eq!((degraded[2], degraded[3]), ((false, 4.0), (false, 4.0)));
    // The half of these that belongs to the first request.
    assert_eq!((degraded[4], degraded[5]), ((true, 20e6), (false, 2.0)));
    assert_eq!((degraded[6].0, degraded[6].1.round()), (true, 13.0));
    let failed = run("", 5 * SECOND);
    assert_eq!(failed[0], (false, 900e6), "by everything");
    assert_eq!(failed[4], (false, 900e6), "of the request too");
}

#[test]
fn whole_seconds_are_everything_where_nobody_is_lost() {
    let thresholds = "\"response_time.p99\" = \"<= 50ms\"\nrate = \">= 1\"\n";
    let judged = |fleet: &str| {
        let mut collector = collector_of(3, OPEN, thresholds, fleet);
        (0..3).for_each(|agent| go_through(&mut collector, agent));
        let document = collector.document(RunState::Complete);
        (
            document.thresholds,
            document.verdict.verdict,
            document.fleet.whole_ns,
        )
    };
    assert_eq!(judged(CONTINUE), judged(""));
}

#[test]
fn late_end_wins_and_nothing_counts_twice() {
    let intact = collector_through(3).document(RunState::Complete);
    let mut late = one_lost(3, CONTINUE, "");
    assert_eq!(
        late.document(RunState::Complete).verdict.verdict,
        Verdict::Degraded
    );
    // It returns with what it had, and with what was known already.
    deliver(&mut late, 2, 2..6);
    late.ended(2, whole_end());
    let document = late.document(RunState::Complete);
    assert_eq!(document.verdict, intact.verdict);
    assert_eq!(document.measured, intact.measured);
    assert_eq!(
        (document.fleet.whole_ns, &document.fleet.contributions[..]),
        (None, &[][..])
    );
    // Its end arrives, then it is given up, then the rest arrives.
    let mut given_up = collector_of(3, OPEN, "", CONTINUE);
    (0..2).for_each(|agent| go_through(&mut given_up, agent));
    given_up.ended(
        2,
        AgentEnd {
            totals: None,
            intervals: None,
            ..whole_end()
        },
    );
    given_up.lost(2, "brought nothing new", None);
    assert_eq!(
        given_up.document(RunState::Complete).agents[2].ended,
        Some(AgentEndCause::Lost)
    );
    deliver(&mut given_up, 2, 0..6);
    given_up.ended(
        2,
        AgentEnd {
            cause: Some(AgentEndCause::Lost),
            ..whole_end()
        },
    );
    let document = given_up.document(RunState::Complete);
    assert_eq!(document.agents[2].ended, Some(AgentEndCause::Plan));
    assert_eq!(document.verdict, intact.verdict);
    // Given up once more after everything has arrived.
    given_up.lost(2, "gone", None);
    assert_eq!(
        given_up.document(RunState::Complete).verdict,
        intact.verdict
    );
}

#[test]
fn random_arrivals_that_may_have_been_sent_are_bounded_and_not_averaged() {
    let arrivals = |load: &str| {
        let mut collector = collector_of(2, load, "", CONTINUE);
        go_through(&mut collector, 0);
        deliver(&mut collector, 1, 0..4);
        collector.lost(1, "not heard of", Some(5 * SECOND));
        let document = collector.document(RunState::Complete);
        document.agents[1].unstored.unwrap().arrivals.unwrap()
    };
    // Half of a second's ten arrivals, and of the one on the edge.
    assert_eq!(arrivals(OPEN), 6);
    // 5 + 4.6 + sqrt(4.6² + 2 · 13.8 · 5)
    assert_eq!(arrivals(&format!("{OPEN}arrivals = \"poisson\"\n")), 23);
}

#[test]
fn second_that_was_fired_in_part_is_not_whole_though_it_was_delivered() {
    let mut collector = collector_of(3, OPEN, "", CONTINUE);
    (0..2).for_each(|agent| go_through(&mut collector, agent));
    let mut sum = Snapshot::default();
    for second in 0..6 {
        let mut recorded = snapshot(second, QUIET);
        recorded.client.fired_until_ns = if second == 4 {
            4 * SECOND + 300 * MS
        } else {
            0
        };
        sum.merge(&recorded);
        collector.add(2, second, &recorded);
    }
    collector.ended(
        2,
        AgentEnd {
            cause: Some(AgentEndCause::LeaseExpired),
            ..end(sum, cpu(0.3, 0.3))
        },
    );
    let document = collector.document(RunState::Complete);
    let (verdict, evidence) = verdict_of(&document);
    assert_eq!(verdict, Verdict::Degraded, "{evidence}");
    assert_eq!(document.fleet.whole_ns, Some(3 * SECOND));
    let not_whole: Vec<(u32, u32)> = document
        .fleet
        .contributions
        .iter()
        .filter(|part| !part.whole)
        .map(|part| (part.from_second, part.to_second))
        .collect();
    assert_eq!(not_whole, [(4, 4)]);
}

#[test]
fn two_hundred_lost_agents_are_one_sentence() {
    let mut collector = collector_of(203, OPEN, "", CONTINUE);
    (0..3).for_each(|agent| go_through(&mut collector, agent));
    for agent in 3..203 {
        deliver(&mut collector, agent, 0..4);
        collector.lost(agent, "not heard of", Some(5 * SECOND));
    }
    let document = collector.document(RunState::Complete);
    let (verdict, evidence) = verdict_of(&document);
    assert_eq!(verdict, Verdict::Degraded);
    let said = "200 agents (agent-3, agent-4, agent-5, agent-6, agent-7 and 195 more) were lost: \
                not heard of; between second 4.0 and 5.0 they may have sent up to 200 arrivals";
    assert!(evidence.contains(said), "{evidence}");
    assert!(document.verdict.evidence.len() <= 6, "{evidence}");
    let mut collector = collector_of(3, OPEN, "", "");
    for agent in 0..2 {
        deliver(&mut collector, agent, 0..4);
        collector.lost(agent, "its stream is gone", Some(5 * SECOND));
    }
    let (_, evidence) = verdict_of(&collector.document(RunState::Complete));
    let said = "were lost, each because its stream is gone; between";
    assert!(evidence.contains(said), "{evidence}");
    // Each with its own reason and its own gap.
    let mut collector = collector_of(203, OPEN, "", "");
    (0..3).for_each(|agent| go_through(&mut collector, agent));
    for agent in 3..203 {
        deliver(&mut collector, agent, 0..1);
        deliver(&mut collector, agent, 2 + agent % 4..6);
        collector.lost(agent, &format!("reason {agent}"), None);
    }
    let (verdict, evidence) = verdict_of(&collector.document(RunState::Complete));
    assert_eq!(verdict, Verdict::Invalid);
    assert!(
        evidence.contains("were lost: 196 other reasons"),
        "{evidence}"
    );
    let lines = collector
        .document(RunState::Complete)
        .verdict
        .evidence
        .len();
    assert!(lines <= 10, "{lines}: {evidence}");
}

#[test]
fn skew_is_held_to_the_plan() {
    let began = |fleet: &str| {
        let mut collector = collector_of(2, OPEN, "", fleet);
        (0..2).for_each(|agent| go_through(&mut collector, agent));
        collector.began(1, 80_000_000, 1000);
        collector.document(RunState::Complete).verdict
    };
    let strict = began("");
    assert_eq!(strict.verdict, Verdict::Invalid);
    assert!(
        strict.evidence[0].ends_with("more than 50.0 ms is not one load (fleet.max_skew)"),
        "{strict:?}"
    );
    assert_eq!(
        began("[fleet]\nmax_skew = \"100ms\"\n").verdict,
        Verdict::LoadMet
    );
}

#[test]
fn time_without_a_coordinator_is_in_the_document_and_said() {
    let mut collector = collector_through(3);
    collector.unattended(2 * SECOND, 3 * SECOND + 500 * MS);
    collector.unattended(4 * SECOND, 4 * SECOND + 250 * MS);
    let document = collector.document(RunState::Complete);
    let times: Vec<(u64, u64, f64)> = document
        .unattended
        .iter()
        .map(|time| (time.from_ns, time.to_ns, time.seconds))
        .collect();
    let second = (4 * SECOND, 4 * SECOND + 250 * MS, 0.25);
    assert_eq!(times, [(2 * SECOND, 3 * SECOND + 500 * MS, 1.5), second]);
    let said =
        "no coordinator was there for 1.8 s, 2 times, the longest time from second 2.0 to 3.5";
    assert!(
        document.notes.iter().any(|note| note.starts_with(said)),
        "{:?}",
        document.notes
    );
}

#[test]
fn agent_that_stood_still_is_said_to_and_not_its_connections() {
    let mut collector = collector_of(2, OPEN, "", "");
    go_through(&mut collector, 0);
    let mut sum = Snapshot::default();
    for second in 0..6 {
        let mut recorded = snapshot(second, QUIET);
        if second == 5 {
            crate::scene::not_sent_unnoticed(&mut recorded, 1000);
        }
        sum.merge(&recorded);
        collector.add(1, second, &recorded);
    }
    collector.ended(
        1,
        AgentEnd {
            cause: Some(AgentEndCause::LeaseExpired),
            ..end(sum, cpu(0.3, 0.3))
        },
    );
    // The other agent's connections were busy, which has nothing to do with the lease.
    let busy = snapshot(
        6,
        crate::scene::Second {
            not_sent: 350,
            ..QUIET
        },
    );
    collector.add(0, 6, &busy);
    let document = collector.document(RunState::Complete);
    let errors = &document.measured.errors;
    let words: Vec<(&str, u64, &str)> = errors
        .iter()
        .map(|error| (error.name.as_str(), error.count, error.words.as_str()))
        .collect();
    assert_eq!(
        words,
        [
            (
                "load.no_lease",
                1000,
                "not sent: the agent's lease had ended"
            ),
            (
                "load.not_sent",
                700,
                "not sent: no connection or user became free before the end, or the queue was full"
            ),
        ]
    );
    let said = "agent two stood still until the lease had run out (stopped, or the machine was \
                asleep): 1000 arrivals";
    assert!(
        document.notes.iter().any(|note| note.starts_with(said)),
        "{:?}",
        document.notes
    );
}

#[test]
fn whole_seconds_do_not_depend_on_the_order_of_delivery() {
    let thresholds = "rate = \">= 1\"\n\"response_time.max\" = \"<= 1s\"\n";
    for fleet in [CONTINUE, REDISTRIBUTE] {
        let by_agent = one_lost(3, fleet, thresholds).document(RunState::Complete);
        // In the order of a real run: second by second, with the loss known late.
        let mut collector = collector_of(3, OPEN, thresholds, fleet);
        for second in 0..6 {
            let agents = if second < 4 { 0..3 } else { 0..2 };
            for agent in agents {
                deliver(&mut collector, agent, second..second + 1);
            }
        }
        collector.lost(2, "not heard of", Some(5 * SECOND + 500 * MS));
        (0..2).for_each(|agent| collector.ended(agent, whole_end()));
        let by_second = collector.document(RunState::Complete);
        assert_eq!(by_second.thresholds, by_agent.thresholds);
        assert_eq!(by_second.fleet, by_agent.fleet);
        assert_eq!(by_second.verdict, by_agent.verdict);
    }
}

#[test]
fn second_that_waits_for_an_agent_too_long_is_not_judged() {
    let load = "rate = \"10/s\"\nmax_connections = 10\nduration = \"400s\"\n";
    let whole_ns = |silent_from: u32| {
        let mut collector = collector_of(2, load, "rate = \">= 1\"\n", CONTINUE);
        deliver(&mut collector, 1, 0..silent_from);
        deliver(&mut collector, 0, 0..400);
        deliver(&mut collector, 1, silent_from..399);
        collector.lost(1, "gone", Some(399 * SECOND));
        collector.document(RunState::Complete).fleet.whole_ns
    };
    // All 400 would be whole. With 100 before the silence, 300 wait and none is given up.
    assert_eq!(whole_ns(100), Some(400 * SECOND));
    assert_eq!(whole_ns(90), Some(390 * SECOND));
}

#[test]
fn run_that_is_interrupted_before_its_first_request_has_no_first_seconds() {
    let note = |document: &analysis::Document| {
        let is_it = |note: &&String| note.contains("interrupted");
        document.notes.iter().find(is_it).cloned().unwrap()
    };
    let mut collector = collector_of(1, OPEN, "", "");
    let said = note(&collector.document(RunState::Interrupted));
    assert_eq!(said, "the run was interrupted before anything was measured");
    deliver(&mut collector, 0, 0..4);
    let said = note(&collector.document(RunState::Interrupted));
    assert!(said.contains("the figures are of its first"), "{said}");
}

#[test]
fn agent_that_stood_still_makes_no_seconds_whole_that_nobody_fired() {
    let mut collector = collector_of(3, OPEN, "", REDISTRIBUTE);
    (0..2).for_each(|agent| go_through(&mut collector, agent));
    deliver(&mut collector, 2, 0..2);
    let fired_until = 2 * SECOND + 500 * MS;
    collector.lost(2, "gone", Some(fired_until));
    collector.redistributed(2, &[0, 1], 4 * SECOND);
    (0..2).for_each(|by| collector.taken_over(2, by, Some(4 * SECOND)));
    let whole = |collector: &ResultCollector| -> Vec<(u32, u32)> {
        let document = collector.document(RunState::Complete);
        let parts = document.fleet.contributions.iter();
        let whole = parts.filter(|part| part.whole);
        whole
            .map(|part| (part.from_second, part.to_second))
            .collect()
    };
    assert_eq!(whole(&collector), [(0, 1), (4, 5)]);
    // It wakes in second 5, and delivers the seconds that it slept through.
    let mut sum = Snapshot::default();
    (0..2).for_each(|second| sum.merge(&snapshot(second, QUIET)));
    for second in 2..6 {
        let mut slept = Snapshot::default();
        slept.client.fired_until_ns = match second {
            5 => 5 * SECOND + 200 * MS,
            _ => 0,
        };
        sum.merge(&slept);
        collector.add(2, second, &slept);
    }
    assert_eq!(
        whole(&collector),
        [(0, 1), (4, 5)],
        "before its end is known"
    );
    collector.ended(
        2,
        AgentEnd {
            cause: Some(AgentEndCause::LeaseExpired),
            fired_until_ns: Some(fired_until),
            ..end(sum, cpu(0.3, 0.3))
        },
    );
    assert_eq!(whole(&collector), [(0, 1), (4, 5)]);
}
