//! A coordinator that is killed in the middle of a run, and another one that continues the run.

use crate::partitions::each;
use crate::partitions::field::{Field, FieldRun, document, has_event};
use analysis::{AgentEndCause, RunState};
use interop::{CoordinatorCommand, Finished, LinkQuality, Signal, Tried, ensure, wait_until};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Arrivals of the plan: 40 a second for 15 s.
const ARRIVALS: u64 = 600;
const LOAD: &str = "rate = \"40/s\", max_connections = 8, duration = \"15s\"";

/// What the agents are doing when the new coordinator arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// They fire, since their lease has not run out.
    Firing,
    /// Their lease has run out, and they hold data that is not stored yet.
    Holding,
}

#[test]
fn every_second_is_counted_once_after_the_coordinator_was_killed_and_resumed() {
    if Field::new(LinkQuality::default()).is_none() {
        return;
    }
    each(
        &[Found::Firing, Found::Holding],
        |found| format!("{found:?}"),
        |&found| killed_and_resumed(found),
    );
}

fn killed_and_resumed(found: Found) -> Tried {
    let field = Field::new(LinkQuality::default()).unwrap();
    let lease = if found == Found::Firing { "30s" } else { "4s" };
    let more = format!("fleet = {{ lease = {lease:?}, max_skew = \"1s\" }}\n");
    let mut run = field.start(2, &field.plan(LOAD, &more));
    let folder = run.invited.coordinator.run_folder();
    field.wait_for_requests(120);
    let killed_at = Instant::now();
    run.invited.coordinator.signal(Signal::KILL);
    wait_until("its end", || {
        run.agents
            .iter()
            .all(|agent| agent.output().contains("not joined"))
            .then_some(())
    });
    if found == Found::Holding {
        let lasted = field.wait_for_quiet(killed_at);
        ensure(lasted < Duration::from_secs(5), || {
            format!("the load went on for {lasted:?}")
        })?;
    }
    let shown = shown_while_it_is_dead(&folder, field.requests());
    let resumed = field.resume(&folder, &[]).wait();
    let told: Vec<String> = run.agents.iter().map(|agent| agent.output()).collect();
    let all = format!("{resumed}\n{}", told.join("---\n"));
    shown?;
    ensure(run.agents.iter_mut().all(interop::Agent::is_alive), || {
        all.clone()
    })?;

    let (document, counted) = (document(&folder), field.requests());
    ensure(document.measured.operations.ok == counted, || {
        format!("the target counted {counted}; {all}")
    })?;
    let one_each = |agent: &analysis::AgentResult| agent.totals_match == Some(true);
    ensure(document.agents.iter().all(one_each), || all.clone())?;
    ensure(document.unattended.len() == 1, || {
        format!("{:?}; {all}", document.unattended)
    })?;
    ensure(has_event(&folder, "resumed"), || all.clone())?;
    let is_as_said = match found {
        Found::Firing => resumed.code == 0 && counted == ARRIVALS,
        Found::Holding => {
            let lost_it =
                |agent: &analysis::AgentResult| agent.ended == Some(AgentEndCause::LeaseExpired);
            resumed.code == 3 && document.agents.iter().all(lost_it)
        }
    };
    ensure(is_as_said, || all.clone())?;

    let again = field.resume(&folder, &[]).wait();
    refused(&again, &["this run is over", "coordinator report"])
}

/// Checks `coordinator report` on the folder of a dead coordinator.
fn shown_while_it_is_dead(folder: &Path, counted: u64) -> Tried {
    let arguments = ["report", "--format", "json", folder.to_str().unwrap()];
    let shown = CoordinatorCommand::new(&arguments).run();
    let document = report::read(shown.stdout.as_bytes()).unwrap();
    let operations = document.measured.operations.ok;
    // The load began three seconds before the coordinator was killed.
    ensure(
        shown.clean().code == 0
            && document.run.state == RunState::Incomplete
            && (40..=counted).contains(&operations),
        || format!("{operations} of {counted}; {shown}"),
    )
}

/// Checks that it ended at once, with one clear message.
fn refused(finished: &Finished, words: &[&str]) -> Tried {
    let is_told = |line: &str| words.iter().all(|word| line.contains(word));
    ensure(
        matches!(finished.code, 2 | 4)
            && finished.took < Duration::from_secs(15)
            && finished.clean().stderr.lines().any(is_told),
        || format!("no line has {words:?}; {finished}"),
    )
}

#[test]
fn resumption_that_cannot_be_says_why_and_disturbs_nothing() {
    let name = |(): &()| "refused, then resumed".to_owned();
    each(&[()], name, |()| refused_and_resumed());
}

fn refused_and_resumed() -> Tried {
    let Some(field) = Field::new(LinkQuality::default()) else {
        return Ok(());
    };
    let plan = field.plan(LOAD, "fleet = { lease = \"30s\", max_skew = \"1s\" }\n");
    let run = field.start(1, &plan);
    let folder = run.invited.coordinator.run_folder();
    field.wait_for_requests(40);
    let result = resumptions_beside_it(&field, &run, &folder);

    run.invited.coordinator.signal(Signal::KILL);
    wait_until("its end", || {
        run.agents[0].output().contains("not joined").then_some(())
    });
    let plan_file = run.invited.coordinator.folder().join("plan.toml");
    std::fs::write(&plan_file, plan.replace("40/s", "41/s")).unwrap();
    let result = result.and_then(|()| {
        let other = field.resume(&folder, &[]).wait();
        refused(&other, &["the plan", "has changed", "--resume"])
    });
    std::fs::write(&plan_file, &plan).unwrap();
    let result = result.and_then(|()| other_versions(&field, &folder));
    let result = result.and_then(|()| {
        let local = field.resume(&folder, &["--local"]).wait();
        refused(
            &local,
            &["agents joined from elsewhere", "leave --local out"],
        )
    });
    let resumed = field.resume(&folder, &[]).wait();
    result?;
    let counts = (document(&folder).measured.operations.ok, field.requests());
    ensure(resumed.code == 0 && counts == (ARRIVALS, ARRIVALS), || {
        format!("{counts:?}; {resumed}")
    })
}

/// While the first coordinator is still running: refused because of its folder, and of its port.
fn resumptions_beside_it(field: &Field, run: &FieldRun, folder: &Path) -> Tried {
    let beside = field.resume(folder, &[]).wait();
    refused(&beside, &["another coordinator is writing this run"])?;
    let listen = run.invited.address.to_string();
    let state = tempfile::tempdir().unwrap();
    let arguments = [
        "--listen",
        &listen,
        "--state",
        state.path().to_str().unwrap(),
    ];
    let second = CoordinatorCommand::start(&arguments, &field.plan(LOAD, "")).run();
    refused(&second, &[&listen, "another program does", "--listen"])
}

#[test]
fn run_whose_end_some_agents_did_not_see_is_gone_on_with_by_the_port_that_they_know() {
    if Field::new(LinkQuality::default()).is_none() {
        return;
    }
    each(
        &[1, 2],
        |interrupts| format!("{interrupts} times Ctrl-C"),
        |&interrupts| resumed_on_another_port(interrupts),
    );
}

/// No agent finds the second coordinator.
fn resumed_on_another_port(interrupts: usize) -> Tried {
    let field = Field::new(LinkQuality::default()).unwrap();
    let plan = field.plan(LOAD, "fleet = { lease = \"4s\", max_skew = \"1s\" }\n");
    let run = field.start(2, &plan);
    let folder = run.invited.coordinator.run_folder();
    field.wait_for_requests(120);
    let killed_at = Instant::now();
    run.invited.coordinator.signal(Signal::KILL);
    wait_until("its end", || {
        let is_alone = |agent: &interop::Agent| agent.output().contains("not joined");
        run.agents.iter().all(is_alone).then_some(())
    });
    let elsewhere = format!("{}:0", field.link.near_address());
    let mut wrong = field.resume(&folder, &["--listen", &elsewhere]);
    let _ = wrong.wait_for("leave --listen out");
    let _ = wrong.wait_for("have not ended");
    field.wait_for_quiet(killed_at);
    for number in 0..3 {
        wrong.signal(Signal::INT);
        if number == 0 {
            let _ = wrong.wait_for("stopping");
        }
        if number + 1 == interrupts {
            break;
        }
    }
    // After one Ctrl-C it waits until it has given the agents up.
    let wrong = wrong.wait_within(Duration::from_secs(100));
    let resumed = field.resume(&folder, &[]).wait();
    let told: Vec<String> = run.agents.iter().map(|agent| agent.output()).collect();
    let all = || format!("{wrong}\n{resumed}\n{}", told.join("---\n"));
    let (document, counted) = (document(&folder), field.requests());
    ensure(document.measured.operations.ok == counted, || {
        format!("the target counted {counted}; {}", all())
    })?;
    let is_whole = |agent: &analysis::AgentResult| agent.totals_match == Some(true);
    ensure(document.agents.iter().all(is_whole), all)?;
    // The agents' leases are over, so this is not the run that was asked for.
    ensure(wrong.code == 130 && resumed.code == 3, all)
}

/// With a folder of a later version, and with a folder that is not one.
fn other_versions(field: &Field, folder: &Path) -> Tried {
    let copy = tempfile::tempdir().unwrap();
    refused(
        &field.resume(copy.path(), &["plan.toml"]).wait(),
        &["plan.toml"],
    )?;
    std::fs::copy(folder.join("run.log"), copy.path().join("run.log")).unwrap();
    let log = std::fs::File::options()
        .write(true)
        .open(copy.path().join("run.log"))
        .unwrap();
    log.write_all_at(&VERSION_OF_LATER.to_le_bytes(), VERSION_AT)
        .unwrap();
    let plan = copy.path().join("plan.toml");
    std::fs::write(&plan, field.plan(LOAD, "")).unwrap();
    let later = field.resume(copy.path(), &[plan.to_str().unwrap()]);
    refused(&later.wait(), &["log version", "use the version"])
}

/// A future version of the log, and where it is in the head.
const VERSION_OF_LATER: u32 = 99;
const VERSION_AT: u64 = 8;
