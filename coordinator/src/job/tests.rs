//! Timelines by hand: what a job asks for, given what becomes of it.

use super::*;
use analysis::{CollectorSetup, Document, ResultCollector, RunState, Verdict};
use std::path::PathBuf;

/// How long each run takes.
const RUN: Duration = Duration::from_secs(10);

const ONE: &str = "name = 'one'\ntarget.builtin = true\nload = { connections = 1, requests = 1 }";

/// Two variants, twice each.
const FOUR: &str = "name = 'four'\ntarget.builtin = true\nload = { connections = 1, requests = 1 }
variants = { a = { target.builtin.tls = false }, b = { target.builtin.delay = '5ms' } }
repeat = { times = 2, pause = '5s' }";

const USERS: &str =
    "name = 'users'\ntarget.builtin = true\nthresholds = { 'errors.count' = '<= 0' }
search = { connections = { from = 1, to = 2 }, hold = '1s', settle = '25s' }";

const AGENTS: &str = "name = 'agents'\ntarget.builtin = true
load = { connections = 2, requests = 40 }\nrepeat.pause = '5s'\nsearch.agents = [1, 2]";

/// What becomes of an action that does not go well.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    /// A complete run is found.
    Kept,
    /// A complete run is found whose result is not valid.
    KeptInvalid,
    /// An interruption left this: nothing of use, another plan, or a run that now ends well.
    Empty,
    OtherPlan,
    Resumed,
    /// The run ends without a valid result.
    Invalid,
    /// The run ends, and a threshold fails.
    Missed,
    /// The run is interrupted while it goes on.
    Interrupted,
    /// The run ends, and an agent of this machine is gone.
    LostAgent,
    /// The run ends with a problem apart from the measurement.
    Broken,
    /// The same, and without a valid result.
    InvalidAndBroken,
    /// The end was wanted before the action was complete.
    Stopped,
    Failed,
}

fn document(campaign: &Campaign, fate: Option<Fate>) -> Document {
    let state = match fate {
        Some(Fate::Interrupted) => RunState::Interrupted,
        _ => RunState::Complete,
    };
    let plan = &campaign.variants()[0].plan;
    let mut document = ResultCollector::new(CollectorSetup::default(), plan).document(state);
    document.verdict.verdict = match fate {
        Some(Fate::Invalid | Fate::KeptInvalid | Fate::InvalidAndBroken) => Verdict::Invalid,
        _ => Verdict::LoadMet,
    };
    for judgement in &mut document.thresholds {
        judgement.passed = fate != Some(Fate::Missed);
    }
    document
}

/// The awaited event; without a fate everything goes well.
fn event(campaign: &Campaign, action: &JobAction, fate: Option<Fate>) -> Option<JobEvent> {
    let is_broken = matches!(fate, Some(Fate::Broken | Fate::InvalidAndBroken));
    let facts = || RunFacts {
        document: document(campaign, fate),
        folder: "made".to_owned(),
        has_begun: true,
        is_interrupted: fate == Some(Fate::Interrupted),
        has_failed: is_broken,
        problems: Vec::from_iter(is_broken.then(|| "broken".to_owned())),
        lacks_agents: fate == Some(Fate::LostAgent),
    };
    Some(match (action, fate) {
        (_, Some(Fate::Stopped)) => JobEvent::Stopped,
        (_, Some(Fate::Failed)) => JobEvent::Failed,
        (JobAction::Find(_), Some(_)) => JobEvent::Found(Some(Box::new(KeptRun {
            folder: "kept".to_owned(),
            document: document(campaign, fate),
        }))),
        (JobAction::Find(_), None) => JobEvent::Found(None),
        (JobAction::Resume(..), None) => JobEvent::NoPart,
        (JobAction::Resume(..), Some(Fate::Empty)) => JobEvent::EmptyPart,
        (JobAction::Resume(..), Some(Fate::OtherPlan)) => JobEvent::OtherPlan {
            lease: Duration::from_secs(3),
        },
        (JobAction::Resume(..) | JobAction::Begin(_), _) => JobEvent::Ended(Box::new(facts())),
        (JobAction::Wait(_), _) => JobEvent::Waited,
        _ => return None,
    })
}

fn in_words(action: &JobAction) -> Option<String> {
    let of_order = |order: &RunOrder| match order.name.as_str() {
        "" => order.title.clone(),
        name => name.to_owned(),
    };
    Some(match action {
        JobAction::Find(RunName::Prefix(name) | RunName::Exact(name)) => format!("find {name}"),
        JobAction::Resume(order, part) => format!("resume {} {part}", of_order(order)),
        JobAction::Begin(order) => format!("begin {}", of_order(order)),
        JobAction::Wait(duration) => format!("wait {duration:?}"),
        JobAction::Report(JobResult::Run { folder, .. } | JobResult::Agents { folder, .. }) => {
            format!("report {folder}")
        }
        JobAction::Report(JobResult::Search { .. }) => "report search".to_owned(),
        JobAction::Warn(line) => format!("warn {line}"),
        JobAction::Discard(name) => format!("discard {name}"),
        JobAction::Say(line) if line.ends_with("is made anew") => line.clone(),
        JobAction::Say(line) if line.contains("not recovered") => line.clone(),
        _ => return None,
    })
}

/// Plays a job to its end. The fates apply to the actions that are worded so, once each. Returns
/// the actions in words and the outcome.
fn play(plan: &str, resumes: bool, fates: &[(&str, Fate)]) -> (Vec<String>, JobOutcome) {
    let campaign = Campaign::parse(plan, &mut crate::plan_file::Folder(PathBuf::new())).unwrap();
    let mut job = Job::new(JobSetup {
        campaign: &campaign,
        agents: 2,
        resumes,
        rules: ResultRules::default(),
    });
    let mut fates = fates.to_vec();
    let mut words = Vec::new();
    let mut now = Duration::ZERO;
    while let Some(action) = job.next() {
        let word = in_words(&action).unwrap_or_default();
        let place = fates.iter().position(|(action, _)| *action == word);
        let fate = place.map(|place| fates.remove(place).1);
        now += match &action {
            JobAction::Wait(duration) => *duration,
            JobAction::Begin(_) | JobAction::Resume(..) => RUN,
            _ => Duration::ZERO,
        };
        if let Some(event) = event(&campaign, &action, fate) {
            job.take(event, now);
        }
        words.extend(Some(word).filter(|word| !word.is_empty()));
    }
    assert!(fates.is_empty(), "did not come: {fates:?} in {words:?}");
    (words, job.outcome().clone())
}

fn outcome(standing: JobStanding) -> JobOutcome {
    JobOutcome {
        standing,
        obstacle: None,
    }
}

#[test]
fn single_run_is_a_job_of_one_run() {
    for (fates, standing) in [
        (&[][..], JobStanding::Held),
        (&[("begin one", Fate::Invalid)], JobStanding::Invalid),
        (&[("begin one", Fate::Interrupted)], JobStanding::Stopped),
        (&[("begin one", Fate::Stopped)], JobStanding::Stopped),
        (&[("begin one", Fate::Broken)], JobStanding::Failed),
        // Its result counts, since no run was to follow.
        (&[("begin one", Fate::LostAgent)], JobStanding::Held),
    ] {
        let played = play(ONE, false, fates);
        assert_eq!(played, (vec!["begin one".to_owned()], outcome(standing)));
    }
}

#[test]
fn variants_take_turns_with_a_pause_between_two_runs() {
    let (words, ended) = play(FOUR, false, &[]);
    let runs =
        ["01-a-1", "02-b-1", "03-a-2", "04-b-2"].map(|run| format!("begin {run}, report made"));
    assert_eq!(words.join(", "), runs.join(", wait 5s, "));
    assert_eq!(ended, outcome(JobStanding::Held));
}

#[test]
fn run_that_cannot_be_trusted_does_not_end_the_others() {
    let (words, ended) = play(FOUR, false, &[("begin 01-a-1", Fate::Invalid)]);
    assert!(words.contains(&"begin 04-b-2".to_owned()), "{words:?}");
    assert_eq!(ended, outcome(JobStanding::Invalid));
}

#[test]
fn stop_at_any_point_of_a_campaign_ends_it() {
    for (at, fate) in [
        ("begin 01-a-1", Fate::Stopped),
        ("begin 02-b-1", Fate::Interrupted),
        ("wait 5s", Fate::Stopped),
        ("resume 01-a-1 0", Fate::Stopped),
        ("resume 01-a-1 0", Fate::Interrupted),
    ] {
        let (words, ended) = play(FOUR, at.starts_with("resume"), &[(at, fate)]);
        let after = words.iter().skip_while(|word| *word != at).skip(1);
        let reports = after.filter(|word| *word != "report made").count();
        assert_eq!((reports, ended), (0, outcome(JobStanding::Stopped)), "{at}");
    }
}

#[test]
fn lost_agent_of_this_machine_ends_a_campaign_after_the_run_is_reported() {
    let (words, ended) = play(FOUR, false, &[("begin 01-a-1", Fate::LostAgent)]);
    assert_eq!(words[..2], ["begin 01-a-1", "report made"]);
    assert!(words[2].starts_with("warn an agent of this machine ended"));
    assert_eq!(words.len(), 3);
    assert_eq!(ended.obstacle, Some(JobObstacle::LostAgent));
    let (_, ended) = play(FOUR, false, &[("begin 04-b-2", Fate::LostAgent)]);
    assert_eq!(ended, outcome(JobStanding::Held), "no run was to follow");
}

#[test]
fn agent_of_this_machine_that_is_lost_in_the_last_run_of_a_search_is_no_failure() {
    for plan in [USERS, AGENTS] {
        let (words, _) = play(plan, false, &[]);
        let last = words.iter().rfind(|word| word.starts_with("begin"));
        let (again, ended) = play(plan, false, &[(last.unwrap(), Fate::LostAgent)]);
        assert_eq!(again, words);
        assert_eq!(ended, outcome(JobStanding::Held));
    }
}

#[test]
fn numbers_of_agents_are_compared_whatever_the_thresholds() {
    let plan = format!("{AGENTS}\nthresholds = {{ 'errors.count' = '<= 0' }}");
    let (_, ended) = play(&plan, false, &[("begin 02-agents", Fate::Missed)]);
    assert_eq!(ended, outcome(JobStanding::Held));
}

#[test]
fn run_counts_whatever_failed_beside_it_and_none_follows() {
    for (plan, run, report) in [
        (FOUR, "begin 01-a-1", "report made"),
        (USERS, "begin 01-1", "report search"),
        (AGENTS, "begin 01-agents", "report made"),
    ] {
        let (words, ended) = play(plan, false, &[(run, Fate::Broken)]);
        let after = words.iter().skip_while(|word| *word != run).skip(1);
        assert_eq!(after.collect::<Vec<_>>(), ["warn broken", report], "{run}");
        assert_eq!(ended, outcome(JobStanding::Failed), "{run}");
    }
}

#[test]
fn failure_beside_a_run_that_was_taken_up_is_told_and_ends_the_campaign() {
    let fates = [("resume 01-a-1 0", Fate::InvalidAndBroken)];
    let (words, ended) = play(FOUR, true, &fates);
    let all = ["find 01-", "resume 01-a-1 0", "warn broken", "report made"];
    assert_eq!(words, all);
    assert_eq!(ended, outcome(JobStanding::Failed));
}

#[test]
fn failed_action_such_as_the_command_before_a_run_ends_the_job() {
    let (words, ended) = play(FOUR, false, &[("begin 02-b-1", Fate::Failed)]);
    assert_eq!(words.last().unwrap(), "begin 02-b-1");
    assert_eq!(ended.obstacle, Some(JobObstacle::Error));
}

#[test]
fn resumed_campaign_repeats_no_complete_run_and_goes_on_with_a_cut_one() {
    let fates = [("find 01-", Fate::Kept), ("resume 02-b-1 0", Fate::Resumed)];
    let (words, ended) = play(FOUR, true, &fates);
    let before = "find 01-, report kept, find 02-, resume 02-b-1 0, report made, find 03-, \
                  wait 5s, resume 03-a-2 0, begin 03-a-2";
    assert!(words.join(", ").starts_with(before), "{words:?}");
    assert_eq!(ended, outcome(JobStanding::Held));
}

#[test]
fn parts_that_do_not_count_are_passed_over_before_a_run_is_made_anew() {
    let fates = [
        ("resume 01-a-1 0", Fate::Empty),
        ("resume 01-a-1 1", Fate::OtherPlan),
        ("resume 01-a-1 2", Fate::Invalid),
    ];
    let (words, _) = play(FOUR, true, &fates);
    let first = "find 01-, resume 01-a-1 0, resume 01-a-1 1, wait 3s, resume 01-a-1 2, run 1 of 4: \
                 a, repeat 1 of 2: is made anew, resume 01-a-1 3, begin 01-a-1, report made";
    assert!(words.join(", ").starts_with(first), "{words:?}");
}

#[test]
fn search_looks_at_the_target_at_rest_before_its_first_hold() {
    let (words, ended) = play(USERS, false, &[]);
    let first = "find 01-1, begin look, discard look, begin 01-1, report search, find 02-2, begin \
                 02-2";
    assert!(words.join(", ").starts_with(first), "{words:?}");
    assert_eq!(ended, outcome(JobStanding::Held));
}

#[test]
fn search_waits_for_the_target_no_longer_than_the_plan_allows() {
    let (words, _) = play(USERS, false, &[("begin 01-1", Fate::Invalid)]);
    let words = words.join(", ");
    let looks = "begin look, discard look, begin look, discard look, begin look, discard look, the \
                 target has not recovered after 25s; continuing, begin 02-1";
    assert!(words.contains(looks), "{words}");
}

#[test]
fn search_is_given_its_saved_holds_and_takes_up_a_cut_one_before_it_looks() {
    let fates = [("find 01-1", Fate::Kept), ("resume 02-2 0", Fate::Resumed)];
    let (words, _) = play(USERS, true, &fates);
    let first = ["find 01-1", "report search", "find 02-2", "resume 02-2 0"];
    assert_eq!(words[..4], first, "{words:?}");
    let (words, _) = play(USERS, true, &[]);
    let first = "find 01-1, resume 01-1 0, resume look 0, begin look, discard look, begin 01-1";
    assert!(words.join(", ").starts_with(first), "{words:?}");
}

#[test]
fn search_that_goes_on_after_failed_holds_looks_at_the_target_before_it_waits_for_it() {
    let fates = [("find 01-1", Fate::KeptInvalid)];
    let (words, _) = play(USERS, true, &fates);
    let first = "find 01-1, report search, find 02-1, resume 02-1 0, resume look 0, begin look, \
                 discard look, begin 02-1";
    assert!(words.join(", ").starts_with(first), "{words:?}");
}

#[test]
fn search_ends_at_a_stop_a_failure_or_a_lost_agent() {
    for (at, fate, standing) in [
        ("begin look", Fate::Stopped, JobStanding::Stopped),
        ("begin look", Fate::Broken, JobStanding::Failed),
        ("begin look", Fate::LostAgent, JobStanding::Held),
        ("begin 01-1", Fate::Interrupted, JobStanding::Stopped),
        ("begin 02-2", Fate::Stopped, JobStanding::Stopped),
    ] {
        let (words, ended) = play(USERS, false, &[(at, fate)]);
        let after = words.iter().skip_while(|word| *word != at).skip(1);
        let runs = after.filter(|word| word.starts_with("begin")).count();
        assert_eq!((runs, ended.standing), (0, standing), "{at} {words:?}");
    }
}

#[test]
fn numbers_of_agents_are_compared_in_order_and_saved_ones_are_not_made_again() {
    let made = "find 01-agents, begin 01-agents, report made, find 02-agents, wait 5s, begin \
                02-agents, report made";
    assert_eq!(play(AGENTS, false, &[]).0.join(", "), made);
    let (words, ended) = play(AGENTS, true, &[("find 01-agents", Fate::Kept)]);
    let resumed = "find 01-agents, report kept, find 02-agents, resume 02-agents 0, begin \
                   02-agents, report made";
    assert_eq!(words.join(", "), resumed);
    assert_eq!(ended, outcome(JobStanding::Held));
    let (words, ended) = play(AGENTS, false, &[("wait 5s", Fate::Stopped)]);
    assert_eq!(words.last().unwrap(), "wait 5s");
    assert_eq!(ended, outcome(JobStanding::Stopped));
}
