//! Processes that are killed or stopped at every stage of a run.

use crate::partitions::field::{Field, FieldRun, has_event};
use crate::partitions::play_up_to;
use interop::{Agent, DEADLINE, Finished, LinkQuality, Signal, Tried, ensure, kill};
use std::time::{Duration, Instant};
use target::{Config, TargetAnswer};

/// Cases at once, since they mostly wait.
const AT_ONCE: usize = 9;

/// Virtual users of the plans here, how long they fire, and how long if they must still be firing
/// when their lease runs out.
const USERS: u64 = 4;
const FIRING: Duration = Duration::from_secs(4);
const FIRING_ON: Duration = Duration::from_secs(12);

/// Time of each answer if draining is to last.
const SLOW: Duration = Duration::from_millis(2500);

/// Firing lease and one second.
const LOAD_MAX: Duration = Duration::from_secs(6);

/// By then a run is over, including the time for its agents to come back.
const HANG: Duration = Duration::from_secs(65);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Joining,
    Preparing,
    Armed,
    Firing,
    Draining,
    Uploading,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Agent,
    Coordinator,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blow {
    Kill,
    /// Stopped for this many seconds.
    Stop(u64),
}

#[derive(Debug, Clone, Copy)]
struct Case {
    stage: Stage,
    side: Side,
    blow: Blow,
}

const STAGES: [Stage; 6] = [
    Stage::Joining,
    Stage::Preparing,
    Stage::Armed,
    Stage::Firing,
    Stage::Draining,
    Stage::Uploading,
];
const BLOWS: [Blow; 3] = [Blow::Kill, Blow::Stop(3), Blow::Stop(10)];

impl Case {
    /// Possible exit codes. A stage lasts milliseconds, so the blow may hit the next one.
    fn codes(self) -> &'static [i32] {
        match (self.side, self.stage, self.blow) {
            (Side::Coordinator, _, Blow::Kill) => &[137],
            // A process that comes later takes the place of the one that has gone.
            (_, Stage::Joining, _) => &[0],
            // Before the start only the run is lost; a moment later an agent is.
            (Side::Agent, Stage::Preparing | Stage::Armed, Blow::Kill) => &[3, 4],
            // The start is repeated until all agents have asked for their lease: then an agent that
            // was stopped begins too late or not at all.
            (_, Stage::Preparing | Stage::Armed, _) => &[0, 3, 4],
            (Side::Agent, _, Blow::Kill) => &[3],
            // It stands still in the measured part.
            (Side::Agent, Stage::Firing, Blow::Stop(3)) => &[3],
            (_, _, Blow::Stop(3)) => &[0],
            // It has fired everything, or finds that its lease has run out.
            (_, Stage::Draining | Stage::Uploading, _) => &[0, 3],
            (_, Stage::Firing, _) => &[3],
        }
    }

    /// Words of the message to the user.
    fn words(self, code: i32) -> &'static [&'static str] {
        match (code, self.side, self.blow) {
            (4, ..) => &[
                "before the start",
                "did not learn of the start",
                "did not ask for its lease",
            ],
            (3, Side::Agent, Blow::Kill) => &["is lost"],
            (3, ..) => &[
                "longer than a lease",
                "is lost",
                "agents began",
                "stood still",
            ],
            _ => &[""],
        }
    }

    fn firing(self) -> Duration {
        match (self.stage, self.blow) {
            (Stage::Firing, Blow::Kill | Blow::Stop(10)) => FIRING_ON,
            _ => FIRING,
        }
    }

    fn target(self) -> Config {
        let delay = match self.stage {
            Stage::Draining => SLOW,
            _ => Duration::from_millis(20),
        };
        Config {
            answer: TargetAnswer {
                delay,
                ..TargetAnswer::default()
            },
            ..Config::plain()
        }
    }
}

#[test]
fn nobody_hangs_and_each_end_is_as_documented_whoever_is_struck_and_when() {
    if Field::new(LinkQuality::default()).is_none() {
        return;
    }
    let cases: Vec<Case> = STAGES
        .into_iter()
        .flat_map(|stage| [Side::Agent, Side::Coordinator].map(|side| (stage, side)))
        .flat_map(|(stage, side)| BLOWS.map(|blow| Case { stage, side, blow }))
        .collect();
    play_up_to(
        AT_ONCE,
        &cases,
        |case| format!("{case:?}"),
        |case| struck(*case),
    );
}

/// One run, one blow, and what must be true afterwards.
fn struck(case: Case) -> Tried {
    let field = Field::with_target(LinkQuality::default(), case.target()).unwrap();
    let load = format!(
        "connections = {USERS}, duration = \"{}s\"",
        case.firing().as_secs()
    );
    let plan = field.plan(&load, "fleet.max_skew = \"1s\"\n");
    let invited = field.invite(2, &plan);
    let agents = vec![field.agent(&invited, "struck")];
    let mut run = FieldRun { invited, agents };
    if case.stage == Stage::Joining {
        let _ = run.invited.coordinator.wait_for("joined");
    } else {
        run.agents.push(field.agent(&run.invited, "other"));
        wait_for_stage(&field, &run, case.stage)?;
    }
    let struck = match case.side {
        Side::Agent => run.agents[0].id(),
        Side::Coordinator => run.invited.coordinator.id(),
    };
    let struck_at = Instant::now();
    strike(struck, case.blow);
    field.set_link(true);
    if case.stage == Stage::Joining {
        run.agents.push(field.agent(&run.invited, "other"));
        if case.blow == Blow::Kill && case.side == Side::Agent {
            run.agents.push(field.agent(&run.invited, "struck"));
        }
    }
    outcome(case, &field, run, struck_at)
}

fn strike(process: u32, blow: Blow) {
    match blow {
        Blow::Kill => kill(process, Signal::KILL),
        Blow::Stop(seconds) => {
            kill(process, Signal::STOP);
            std::thread::sleep(Duration::from_secs(seconds));
            kill(process, Signal::CONT);
        }
    }
}

/// Waits until the run is at that stage; returns what it does instead.
fn wait_for_stage(field: &Field, run: &FieldRun, stage: Stage) -> Tried {
    let folder = run.invited.coordinator.run_folder();
    let event = |word: &str| -> Tried {
        let from = Instant::now();
        while !has_event(&folder, word) {
            std::thread::sleep(Duration::from_millis(2));
            ensure(from.elapsed() < DEADLINE, || {
                format!("no {word:?}; {}", run.told())
            })?;
        }
        Ok(())
    };
    match stage {
        Stage::Joining => {}
        Stage::Preparing => event("assembled")?,
        Stage::Armed => event("armed")?,
        Stage::Firing => {
            event("armed")?;
            field.wait_for_requests(40);
        }
        Stage::Draining => {
            event("began")?;
            field.wait_for_requests(1);
            // According to the plan nothing begins any more, but what has begun takes longer.
            std::thread::sleep(FIRING + Duration::from_millis(300));
        }
        Stage::Uploading => {
            event("began")?;
            field.wait_for_requests(1);
            std::thread::sleep(FIRING - Duration::from_millis(1500));
            field.set_link(false);
            for agent in &run.agents {
                agent.wait_for("ended (", 1);
            }
        }
    }
    Ok(())
}

fn outcome(case: Case, field: &Field, run: FieldRun, struck_at: Instant) -> Tried {
    let FieldRun { invited, agents } = run;
    let kept_firing = (case.side == Side::Coordinator && case.blow == Blow::Kill)
        .then(|| field.wait_for_quiet(struck_at));
    let finished = invited.coordinator.wait();
    let told: Vec<String> = agents.iter().map(Agent::output).collect();
    let all = || format!("{case:?}: {finished}\n{}", told.join("---\n"));
    ensure(finished.took < HANG, all)?;
    ensure(case.codes().contains(&finished.code), all)?;
    ensure(kept_firing.is_none_or(|lasted| lasted < LOAD_MAX), || {
        format!("fired for {kept_firing:?}; {}", all())
    })?;
    let said = format!("{}{}", finished.clean().stderr, finished.stdout);
    let words = case.words(finished.code);
    ensure(words.iter().any(|word| said.contains(word)), || {
        format!("none of {words:?}; {}", all())
    })?;
    ensure(told.iter().all(|told| !told.contains("panicked")), all)?;
    all_counted(case, field, &finished, &all)
}

/// If no process was killed, the result has what the target counted.
fn all_counted(case: Case, field: &Field, finished: &Finished, all: &impl Fn() -> String) -> Tried {
    let has_run = finished.code == 0 || (finished.code == 3 && case.blow != Blow::Kill);
    if !has_run {
        return Ok(());
    }
    let (counted, operations) = (field.requests(), finished.document().measured.operations);
    // If a process was stopped, requests may be cut off that the target has answered.
    let ended = operations.ok + operations.errors;
    ensure(ended == counted, || {
        format!("{counted} at the target, {operations:?}; {}", all())
    })
}
