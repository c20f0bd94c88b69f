//! Searches whose coordinator is killed, and searches that lose agents.

use crate::program::command::{Folder, Running, assert_code, send, told, wait_until};
use analysis::{CampaignDocument, Document, HoldOutcome, SearchAnswer, SearchRecord};
use std::path::{Path, PathBuf};
use std::process::Output;

/// One hold of 4 s, at a rate that any machine can make.
const RATE: &str = r#"
name = "search"
target.url = "URL"
search = { rate = { from = "4/s", to = "8/s" }, hold = "4s" }
load.max_connections = 10
"#;

/// Several holds. Throughput follows users, and 3 of them are too many.
const USERS: &str = r#"
name = "search"
target.url = "URL"
load.think_time = "100ms"
thresholds = { "rate" = "<= 25/s" }
search = { connections = { from = 2, to = 3 }, hold = "4s", settle = "1s" }
fleet = { lost = "continue", tolerate = 1, lease = "2s" }
"#;

struct Bench {
    server: target::RunningTarget,
    folder: Folder,
    address: String,
}

impl Bench {
    fn new(plan: &str) -> Bench {
        let server = target::RunningTarget::new(target::Config::plain()).unwrap();
        let folder = Folder::with_plan(&plan.replace("URL", &server.url("/")));
        let address = interop::free_address().to_string();
        Bench {
            server,
            folder,
            address,
        }
    }

    /// Starts the search with `agents` agents, which are to join.
    fn start(&self, agents: &str) -> Running {
        let arguments = [
            "start",
            "--agents",
            agents,
            "--listen",
            &self.address,
            "--token-file",
            "token",
            "plan.toml",
        ];
        let running = self.folder.begin(&arguments);
        wait_until("the token", || {
            std::fs::read_to_string(self.folder.path().join("token"))
                .is_ok_and(|token| token.ends_with('\n'))
        });
        running
    }

    fn join(&self, name: &str) -> Running {
        let arguments = ["agent", "join", "--token-file", "token", &self.address];
        let named = [&arguments[..2], &["--name", name], &arguments[2..]].concat();
        self.folder.begin(&named)
    }

    /// Resumes the search without any other argument.
    fn resume(&self) -> Running {
        let runs = self.folder.run_folder();
        self.folder
            .begin(&["start", "--resume", runs.to_str().unwrap()])
    }

    fn search_folder(&self) -> PathBuf {
        self.folder.run_folder().join("01-base-1")
    }

    /// Waits until a run has begun whose folder, in that of the search, has a name with this
    /// prefix.
    fn wait_for(&self, prefix: &str) {
        wait_until(&format!("the run {prefix}"), || {
            let runs = self.folder.run_folder_so_far();
            runs.is_some_and(|runs| {
                let mut parts = parts(&runs.join("01-base-1"), prefix).into_iter();
                parts.any(|part| {
                    let events = std::fs::read_to_string(part.join("events.jsonl"));
                    events.is_ok_and(|events| events.contains("\"event\":\"started\""))
                })
            })
        });
    }

    fn search(&self) -> SearchRecord {
        let saved = std::fs::read(self.folder.run_folder().join("campaign.json")).unwrap();
        let campaign: CampaignDocument = report::read_campaign(&saved).unwrap();
        campaign.searches.into_iter().next().unwrap().search
    }
}

/// Folders in `folder` whose names begin with `prefix`, in order.
fn parts(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_part = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with(prefix)
    };
    let mut parts: Vec<PathBuf> = paths.filter(is_part).collect();
    parts.sort_unstable();
    parts
}

fn id(folder: &Path) -> String {
    let result = std::fs::read(folder.join("result.json")).unwrap();
    let document: Document = report::read(&result).unwrap();
    document.run.id
}

fn outcomes(search: &SearchRecord) -> Vec<&HoldOutcome> {
    let steps = search.steps.iter();
    steps.map(|step| &step.result.outcome).collect()
}

/// The exit code is 3 if this machine was too busy to be trusted; what matters is what was asked of
/// the agents.
fn assert_answered(output: &Output) {
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 3)), "{}", told(output));
}

#[test]
fn search_of_a_rate_that_was_killed_within_a_lease_goes_on_by_its_folder_alone() {
    let bench = Bench::new(RATE);
    let first = bench.start("1");
    let _agent = bench.join("one");
    bench.wait_for("look");
    first.signal("KILL");
    let _ = first.end();
    let second = bench.resume();
    bench.wait_for("01-");
    assert!(parts(&bench.search_folder(), "look").is_empty());
    let hold = parts(&bench.search_folder(), "01-").remove(0);
    let begun = id(&hold);
    second.signal("KILL");
    let _ = second.end();
    let output = bench.resume().end();
    assert_answered(&output);
    let said = told(&output);
    assert!(!said.contains("of another coordinator"), "{said}");
    assert_eq!(
        id(&hold),
        begun,
        "what the agent fired is delivered: {said}"
    );
    let search = bench.search();
    // A busy machine may carry no more, or miss its schedule. What counts is that the search ended.
    let answers = matches!(
        search.answer,
        Some(
            SearchAnswer::AtLeast { .. }
                | SearchAnswer::ClientBound { .. }
                | SearchAnswer::Invalid { .. }
        )
    );
    assert!(answers, "{search:?}");
    let again = bench.folder.run(&[
        "start",
        "--resume",
        bench.folder.run_folder().to_str().unwrap(),
    ]);
    assert_eq!(
        again.status.code(),
        output.status.code(),
        "{}",
        told(&again)
    );
    println!("the server counted {}", bench.server.counts().requests);
}

#[test]
fn hold_that_lost_an_agent_is_made_again_when_another_has_come() {
    let bench = Bench::new(USERS);
    let running = bench.start("2");
    let (_one, two) = (bench.join("one"), bench.join("two"));
    bench.wait_for("01-");
    two.signal("KILL");
    let _ = two.end();
    let _three = bench.join("three");
    let output = running.end();
    assert_answered(&output);
    let search = bench.search();
    let amounts: Vec<f64> = search.steps.iter().map(|step| step.amount).collect();
    assert_eq!(amounts[..2], [2.0, 2.0], "{}", told(&output));
    let HoldOutcome::Invalid { reasons } = outcomes(&search)[0] else {
        panic!("{:?}", search.steps[0]);
    };
    let is_lost = |reason: &String| reason.contains("agent two was lost");
    assert!(reasons.iter().any(is_lost), "{reasons:?}");
    assert!(search.answer.is_some(), "{search:?}");
}

#[test]
fn search_without_one_of_its_local_agents_ends_and_its_hold_does_not_count() {
    let bench = Bench::new(USERS);
    let arguments = ["start", "--local", "--agents", "2", "plan.toml"];
    let running = bench.folder.begin(&arguments);
    bench.wait_for("01-");
    let agents = bench.folder.processes("--name=local-2");
    send("KILL", *agents.last().unwrap());
    let output = running.end();
    assert_code(&output, 4);
    let said = told(&output);
    assert!(
        said.contains("hold 1: 2 users not to be trusted: "),
        "{said}"
    );
    let search = bench.search();
    assert!(matches!(
        outcomes(&search)[..],
        [HoldOutcome::Invalid { .. }]
    ));
    assert_eq!(search.answer, None);
    let runs = bench.folder.run_folder();
    let runs = runs.to_str().unwrap();
    let resume = ["start", "--local", "--agents", "2", "--resume", runs];
    let output = bench.folder.run(&resume);
    assert_answered(&output);
    let search = bench.search();
    assert!(
        search.answer.is_some() && search.steps[1].amount == 2.0,
        "{search:?}"
    );
}

#[test]
fn search_whose_first_hold_was_cut_goes_on_with_as_many_agents() {
    let bench = Bench::new(RATE);
    let first = bench.start("1");
    let _agent = bench.join("one");
    bench.wait_for("01-");
    first.signal("KILL");
    let _ = first.end();
    let runs = bench.folder.run_folder();
    let resume = ["start", "--agents", "2", "--resume", runs.to_str().unwrap()];
    let output = bench.folder.run(&resume);
    assert_code(&output, 4);
    let said = told(&output);
    assert!(said.contains("was made with --agents 1"), "{said}");
}
