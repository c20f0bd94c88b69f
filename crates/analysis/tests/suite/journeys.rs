//! Funnels of journeys, from seconds written by hand.

use crate::scene::{MS, QUIET, collector_with, cpu, end, snapshot};
use analysis::{AgentEnd, AgentEndCause, Document, ResultCollector, RunState, Verdict};
use measure::{
    Distribution, Funnel, JourneyCell, JourneyCounts, Period, Snapshot, StepCounts, Totals,
};
use plan::{NoFiles, Plan};

const OPEN: &str = "rate = \"10/s\"\nmax_connections = 10\nduration = \"4s\"\nwarm_up = \"2s\"\n";

/// Buyers come to `a`, then to `b`, and to `a` again; there are no visits.
fn plan(thresholds: &str, fleet: &str) -> Plan {
    let text = format!(
        "target.url = \"http://example.test:8080/\"\n\
         request = [{{ name = \"a\" }}, {{ name = \"b\" }}]\n\
         [[journey]]\nname = \"buyer\"\nsteps = [\"a\", \"b\", \"a\"]\n\
         [[journey]]\nname = \"visitor\"\nsteps = [\"b\"]\n\
         [load]\n{OPEN}[thresholds]\n{thresholds}{fleet}"
    );
    Plan::parse(&text, &mut NoFiles).unwrap()
}

fn collector(thresholds: &str) -> ResultCollector {
    collector_with(2, &plan(thresholds, ""))
}

fn step(reached: u64, begun: u64, ok: u64, failed: u64) -> StepCounts {
    StepCounts {
        reached,
        begun,
        ok,
        failed,
    }
}

/// What an agent records in a second: of five journeys three are completed in 100 ms, of which
/// 40 ms are pauses; one fails at its third step and one is cut off after the first. A sixth could
/// not be begun. In second 2 a journey of the warm-up is completed, too.
fn second(number: u32) -> Snapshot {
    let mut snapshot = snapshot(number, QUIET);
    let (mut time, mut wait) = (Distribution::default(), Distribution::default());
    time.record_many(100 * MS, 3);
    wait.record_many(60 * MS, 3);
    let counts = JourneyCounts {
        begun: 5,
        not_sent: 1,
        completed: 3,
        failed: 1,
        abandoned: 1,
        completed_within: if number < 2 { 0 } else { 3 },
    };
    let funnel = Funnel {
        counts,
        steps: vec![step(5, 5, 5, 0), step(4, 4, 4, 0), step(4, 4, 3, 1)],
        time,
        wait,
        ..Funnel::default()
    };
    let period = if number < 2 {
        Period::WarmUp
    } else {
        Period::Measured
    };
    let journeys = &mut snapshot.journeys;
    journeys.insert(JourneyCell { period, journey: 0 }, funnel);
    if number == 2 {
        let mut late = Funnel::default();
        (late.counts.completed, late.counts.completed_within) = (1, 1);
        late.time.record(900 * MS);
        late.wait.record(900 * MS);
        let period = Period::WarmUp;
        journeys.insert(JourneyCell { period, journey: 0 }, late);
    }
    if number == 0 {
        let counts = &mut journeys.values_mut().next().unwrap().counts;
        counts.begun += 1; // the one that is completed in second 2
    }
    snapshot
}

/// Adds six seconds of an agent, after `change`, and its totals.
fn fire(collector: &mut ResultCollector, agent: u32, change: impl Fn(u32, &mut Snapshot)) {
    let mut sum = Snapshot::default();
    for number in 0..6 {
        let mut second = second(number);
        change(number, &mut second);
        sum.merge(&second);
        collector.add(agent, number, &second);
    }
    collector.ended(agent, end(sum, cpu(0.1, 0.1)));
}

fn document(thresholds: &str) -> Document {
    let mut collector = collector(thresholds);
    (0..2).for_each(|agent| fire(&mut collector, agent, |_, _| ()));
    collector.document(RunState::Complete)
}

#[test]
fn funnel_is_the_sum_of_all_agents_and_seconds() {
    let document = document("");
    let [buyer, visitor] = &document.journeys[..] else {
        panic!("{:?}", document.journeys)
    };
    // 2 agents, 4 measured seconds.
    let counts = (buyer.begun, buyer.completed, buyer.failed, buyer.abandoned);
    assert_eq!(counts, (40, 24, 8, 8));
    assert_eq!((buyer.not_sent, buyer.lost, buyer.under_way), (8, 0, 0));
    // 24 of the 40 that were completed, failed or not sent; 48 due in 4 s, and 2 of the warm-up
    // completed beside the 24.
    assert_eq!(buyer.completed_share, Some(0.6));
    let rates = (buyer.due_per_second, buyer.completed_per_second);
    assert_eq!(rates, (12.0, 6.5));
    let (time, wait) = (buyer.time.as_ref().unwrap(), buyer.wait.as_ref().unwrap());
    assert_eq!((time.count, time.max_ns), (24, 100 * MS));
    assert_eq!((wait.count, wait.mean_ns), (24, 60e6));
    let steps = buyer.steps.iter();
    let steps = steps.map(|step| (&*step.request, &*step.name, step.journeys, step.failed));
    let expected = [("a", "a", 40, 0), ("b", "b", 32, 0), ("a", "a (2)", 32, 8)];
    assert_eq!(steps.collect::<Vec<_>>(), expected);
    assert_eq!(buyer.share_reaching(&buyer.steps[1]), Some(0.8));
    let rows = &document.series.rows[2];
    let row = (
        rows.journeys_begun,
        rows.journeys_completed,
        rows.journeys_failed,
    );
    assert_eq!(row, (10, 8, 2));
    assert_eq!((visitor.begun, visitor.completed_share), (0, None));
    assert_eq!((visitor.steps.len(), &visitor.time), (1, &None));
}

#[test]
fn steps_that_were_skipped_are_summed_beside_those_begun() {
    let mut collector = collector("");
    for agent in 0..2 {
        fire(&mut collector, agent, |_, second| {
            for funnel in second.journeys.values_mut() {
                funnel.skipped = vec![3];
                if let Some(step) = funnel.steps.first_mut() {
                    step.reached += 3;
                } else {
                    funnel.steps = vec![step(3, 0, 0, 0)];
                }
            }
        });
    }
    let document = collector.document(RunState::Complete);
    let [login, search, _] = &document.journeys[0].steps[..] else {
        panic!("{:?}", document.journeys)
    };
    assert_eq!((login.journeys, login.begun, login.skipped), (64, 40, 24));
    assert_eq!(search.skipped, 0);
    assert!(
        document
            .agents
            .iter()
            .all(|it| it.totals_match == Some(true))
    );
}

#[test]
fn groups_are_summed_and_judged() {
    let text =
        "journey = [{ name = \"buyer\", steps = [\"a\", { group = \"g\", steps = [\"a\"] }] }]";
    let text = format!(
        "target.url = \"http://example.test:8080/\"\nrequest = [{{ name = \"a\" }}]\n{text}\n\
         [load]\n{OPEN}[thresholds]\njourney.buyer.group.g.wait.max = \"<= 7ms\"\n\
         journey.buyer.group.g.completed.count = \">= 16\"\n\
         journey.buyer.group.g.time.p50 = \"< 9ms\"\n"
    );
    let plan = Plan::parse(&text, &mut NoFiles).unwrap();
    let mut collector = collector_with(2, &plan);
    for agent in 0..2 {
        fire(&mut collector, agent, |_, second| {
            for funnel in second.journeys.values_mut() {
                let mut group = measure::GroupTally::default();
                (group.begun, group.completed) = (3, 2);
                group.time.record_many(9 * MS, 2);
                group.wait.record_many(7 * MS, 2);
                funnel.groups = vec![group];
            }
        });
    }
    let document = collector.document(RunState::Complete);
    let [group] = &document.journeys[0].groups[..] else {
        panic!("{:?}", document.journeys)
    };
    assert_eq!((&*group.name, group.begun, group.completed), ("g", 24, 16));
    assert_eq!(group.wait.as_ref().unwrap().max_ns, 7 * MS);
    assert!(
        document
            .agents
            .iter()
            .all(|it| it.totals_match == Some(true))
    );
    let passed = document.thresholds.iter().map(|it| it.passed);
    assert_eq!(passed.collect::<Vec<_>>(), [true, true, false]);
}

#[test]
fn document_of_requests_alone_has_no_journeys() {
    let collector = crate::scene::collector(OPEN, "");
    let document = collector.document(RunState::Incomplete);
    assert!(document.journeys.is_empty());
}

#[test]
fn thresholds_of_journeys_are_judged_by_their_figures() {
    let kept = "journey.buyer.completed.share = \">= 60%\"\njourney.buyer.rate = \">= 6.5/s\"\n\
                journey.buyer.time.p99 = \"<= 101ms\"\njourney.buyer.wait.max = \"<= 60ms\"\n\
                journey.buyer.failed.share = \"<= 20%\"\njourney.buyer.abandoned.count = \"<= 8\"\n\
                request.a.rate = \">= 10/s\"\n";
    for judgement in document(kept).thresholds {
        assert!(judgement.passed, "{judgement:?}");
    }
    let missed = "journey.buyer.completed.share = \"> 60%\"\n\
                  journey.buyer.wait.p50 = \"< 60ms\"\njourney.visitor.time.p50 = \"< 1h\"\n\
                  journey.visitor.completed.share = \">= 0\"\n";
    let missed = document(missed).thresholds;
    assert!(missed.iter().all(|it| !it.passed), "{missed:?}");
    assert_eq!(missed[0].actual, Some(0.6));
    assert_eq!(
        missed[2].reason.as_deref(),
        Some("no journey was completed")
    );
}

#[test]
fn plan_of_a_number_counts_journeys() {
    let text = "target.url = \"http://example.test:8080/\"\nrequest = [{ name = \"a\" }]\n\
                [[journey]]\nname = \"buyer\"\nsteps = [\"a\", \"a\", \"a\"]\n\
                [load]\nconnections = 2\njourneys = 50\n";
    let plan = Plan::parse(text, &mut NoFiles).unwrap();
    let mut collector = collector_with(1, &plan);
    (0..4).for_each(|number| _ = collector.add(0, number, &second(number)));
    let document = collector.document(RunState::Incomplete);
    let run = &document.run;
    assert_eq!(
        (run.planned_journeys, run.planned_operations),
        (Some(50), None)
    );
    // Two measured seconds, in each of which five ended and one was not sent; 20 operations did.
    let live = collector.live().unwrap();
    assert_eq!((live.total_units, live.total_ended), (12, 20));
}

fn begin_one_more(number: u32, second: &mut Snapshot) {
    if number == 3 {
        let measured = second.journeys.values_mut().last().unwrap();
        measured.counts.begun += 1;
    }
}

#[test]
fn journeys_of_an_agent_that_were_never_ended_are_lost_if_it_is_and_else_a_fault() {
    let mut collector = collector("");
    fire(&mut collector, 0, |_, _| ());
    for number in 0..6 {
        let mut second = second(number);
        begin_one_more(number, &mut second);
        collector.add(1, number, &second);
    }
    let under_way = collector.document(RunState::Incomplete);
    assert_eq!(
        (under_way.journeys[0].under_way, under_way.journeys[0].lost),
        (1, 0)
    );
    assert_eq!(under_way.agents[1].unmatched_journeys, 0);
    collector.lost(1, "it did not answer", Some(6_000_000_000));
    let lost = collector.document(RunState::Complete);
    assert_eq!((lost.journeys[0].under_way, lost.journeys[0].lost), (0, 1));
    assert_eq!(lost.journeys[0].completed_share, Some(0.6));
    assert!(!format!("{:?}", lost.verdict).contains("than began"));

    let mut collector = self::collector("");
    fire(&mut collector, 0, |_, _| ());
    fire(&mut collector, 1, begin_one_more);
    let wrong = collector.document(RunState::Complete);
    assert_eq!(wrong.agents[1].totals_match, Some(true));
    assert_eq!(wrong.verdict.verdict, Verdict::Invalid);
    let says = "agent two ended more or fewer journeys than began: a difference of 1 journey";
    assert!(
        wrong.verdict.evidence.iter().any(|line| line == says),
        "{:?}",
        wrong.verdict
    );
}

#[test]
fn totals_that_lack_a_journey_are_seen() {
    let mut collector = collector("");
    fire(&mut collector, 0, |_, _| ());
    let mut sum = Snapshot::default();
    for number in 0..6 {
        sum.merge(&second(number));
        collector.add(1, number, &second(number));
    }
    sum.journeys.values_mut().last().unwrap().steps[0].ok -= 1;
    let mut totals = Totals::default();
    totals.add(&sum);
    let end = AgentEnd {
        cause: Some(AgentEndCause::Plan),
        intervals: Some(6),
        totals: Some(totals),
        ..AgentEnd::default()
    };
    collector.ended(1, end);
    let document = collector.document(RunState::Complete);
    assert_eq!(document.agents[1].totals_match, Some(false));
}
