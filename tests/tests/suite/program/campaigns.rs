//! Several runs of one file: variants, repeats and searches, what they leave, and how they are
//! resumed.

use crate::program::command::{Folder, PLAN, assert_code, told, wait_until};
use analysis::{Document, HoldOutcome, RunState, SearchAnswer};
use std::path::Path;
use std::process::Output;

/// Two variants, twice each, in about half a second per run.
const VARIANTS: &str = r#"
name = "pair"
target.builtin = { body_bytes = 100 }
load = { connections = 4, think_time = "20ms", requests = 60 }
variants = { plain = { target.builtin.tls = false }, slow = { target.builtin.delay = "5ms" } }
repeat = { times = 2, pause = "50ms" }
"#;

/// Throughput follows users, so whatever the machine does, some number of users is the answer.
const SEARCH: &str = r#"
name = "search"
target.builtin = { body_bytes = 100, delay = "20ms" }
thresholds = { "errors.count" = "<= 0", "rate" = "<= 150/s" }
search = { connections = { from = 1, to = 8 }, hold = "300ms", settle = "2s" }
"#;

const AGENTS: &str = r#"
name = "agents"
target.builtin = { body_bytes = 100 }
load = { connections = 2, think_time = "20ms", requests = 40 }
search.agents = [1, 2]
fleet.max_skew = "1s"
"#;

/// Tries for an answer that is not about the client.
const TRIES: usize = 3;

fn start(folder: &Folder) -> Output {
    folder.run(&["start", "--local", "plan.toml"])
}

/// Names of the folders in the only run folder, or in a folder within it.
fn parts(folder: &Folder, inner: &str) -> Vec<String> {
    parts_of(&folder.run_folder().join(inner))
}

/// Names of the folders in `path`, in order; none before it is there.
fn parts_of(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).into_iter().flatten();
    let entries = entries.map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    names
}

/// Whether the run whose folder this is has begun.
fn has_started(run: &Path) -> bool {
    std::fs::read_to_string(run.join("events.jsonl"))
        .is_ok_and(|events| events.contains("\"event\":\"started\""))
}

fn document(folder: &Folder, part: &str) -> Document {
    report::read(&std::fs::read(folder.run_folder().join(part).join("result.json")).unwrap())
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn variants_run_in_turns_and_are_compared_at_the_end() {
    let folder = Folder::with_plan(VARIANTS);
    let output = start(&folder);
    assert_code(&output, 0);
    let names = ["01-plain-1", "02-slow-1", "03-plain-2", "04-slow-2"];
    assert_eq!(parts(&folder, ""), names);
    for name in names {
        let document = document(&folder, name);
        assert_eq!(
            (document.run.state, document.measured.operations.ended),
            (RunState::Complete, 60),
            "{name}"
        );
        assert_eq!(
            (document.agents.len(), document.plan.text.as_str()),
            (1, VARIANTS),
            "{name}"
        );
    }
    let (table, progress) = (stdout(&output), stderr(&output));
    assert!(
        ["plain", "slow", "response_time.p50"]
            .iter()
            .all(|part| table.contains(part)),
        "{}",
        told(&output)
    );
    assert!(
        progress.contains("run 3 of 4: plain, repeat 2 of 2"),
        "{progress}"
    );
    assert_eq!(
        progress.matches("joined").count(),
        1,
        "the agent stays: {progress}"
    );
    let read = |file: &str| std::fs::read_to_string(folder.run_folder().join(file)).unwrap();
    assert_eq!(read("plan.toml"), VARIANTS);
    assert!(
        read("02-slow-1/plan.toml").contains("5ms"),
        "a run's own folder says what it ran"
    );
    assert!(read("campaign.json").contains("\"slow\""));
    folder.assert_nothing_is_left();
}

#[test]
fn threshold_of_one_run_decides_over_all() {
    let strict = VARIANTS.replace(
        "slow = {",
        "slow = { thresholds.\"response_time.p50\" = \"<= 1us\",",
    );
    let folder = Folder::with_plan(&strict.replace("times = 2", "times = 1"));
    let output = start(&folder);
    assert_code(&output, 1);
    assert!(
        stderr(&output).contains("failed: response_time.p50 <= 1"),
        "{}",
        told(&output)
    );
    assert_eq!(
        parts(&folder, "").len(),
        2,
        "the other run is made all the same"
    );
}

#[test]
fn first_signal_ends_the_current_run_and_begins_no_other_and_the_rest_can_be_resumed() {
    let folder = Folder::with_plan(&VARIANTS.replace("requests = 60", "requests = 800"));
    let running = folder.begin(&["start", "--local", "plan.toml"]);
    wait_until("the second run", || {
        let runs = folder.run_folder_so_far();
        runs.is_some_and(|runs| has_started(&runs.join("02-slow-1")))
    });
    running.signal("INT");
    let output = running.end();
    assert_code(&output, 130);
    assert_eq!(
        parts(&folder, ""),
        ["01-plain-1", "02-slow-1"],
        "{}",
        told(&output)
    );
    assert_eq!(
        document(&folder, "02-slow-1").run.state,
        RunState::Interrupted
    );
    assert!(
        stdout(&output).contains("plain"),
        "what is there is shown: {}",
        told(&output)
    );
    folder.assert_nothing_is_left();

    let first = document(&folder, "01-plain-1").run.id;
    let runs = folder.run_folder();
    let more = folder.run(&[
        "start",
        "--local",
        "--agents",
        "2",
        "--resume",
        runs.to_str().unwrap(),
        "plan.toml",
    ]);
    assert_code(&more, 2);
    assert!(
        stderr(&more).contains("was made with --agents 1"),
        "{}",
        told(&more)
    );
    let resume = [
        "start",
        "--local",
        "--resume",
        runs.to_str().unwrap(),
        "plan.toml",
    ];
    let output = folder.run(&resume);
    // A run that this machine held up is invalid, and is not made again in a folder that was there.
    assert!(
        matches!(output.status.code(), Some(0 | 3)),
        "{}",
        told(&output)
    );
    assert_eq!(
        parts(&folder, ""),
        [
            "01-plain-1",
            "02-slow-1",
            "02-slow-1-2",
            "03-plain-2",
            "04-slow-2"
        ],
        "{}",
        told(&output)
    );
    assert_eq!(
        document(&folder, "01-plain-1").run.id,
        first,
        "it was complete and is not repeated"
    );
    assert_eq!(
        document(&folder, "02-slow-1-2").run.state,
        RunState::Complete
    );

    std::fs::write(folder.path().join("plan.toml"), VARIANTS).unwrap();
    let output = folder.run(&resume);
    assert_code(&output, 2);
    assert!(
        stderr(&output).contains("differs from the plan that is given"),
        "{}",
        told(&output)
    );
}

/// Makes a search that finds the capacity. On a busy machine its client can be what ends it.
fn find_capacity() -> (Folder, Output) {
    let search = || {
        let folder = Folder::with_plan(SEARCH);
        let output = start(&folder);
        (folder, output)
    };
    let has_found = |(folder, output): &(Folder, Output)| {
        let saved = std::fs::read(folder.run_folder().join("campaign.json")).unwrap();
        let searches = report::read_campaign(&saved).unwrap().searches;
        let [found] = &searches[..] else {
            panic!("{}", told(output));
        };
        println!("{:?}", found.search.answer);
        // A hold in which the client stood still is made again under another number.
        let mut steps = found.search.steps.iter();
        matches!(found.search.answer, Some(SearchAnswer::Found { .. }))
            && !steps.any(|step| matches!(step.result.outcome, HoldOutcome::Invalid { .. }))
    };
    let mut tries = (0..TRIES).map(|_| search());
    tries
        .find(has_found)
        .expect("a machine that is not so busy")
}

#[test]
fn search_makes_holds_and_says_its_answer() {
    let (folder, output) = find_capacity();
    assert_code(&output, 0);
    assert_eq!(parts(&folder, ""), ["01-base-1"]);
    let holds = parts(&folder, "01-base-1");
    assert!(
        holds.starts_with(&["01-1".to_owned(), "02-4".to_owned()]),
        "{holds:?}"
    );
    assert!(
        stderr(&output).contains("hold 1: 1 user passed"),
        "{}",
        told(&output)
    );
    assert!(stdout(&output).contains(" users"), "{}", told(&output));
    let saved = std::fs::read_to_string(folder.run_folder().join("campaign.json")).unwrap();
    assert!(saved.contains("\"answer\""), "{saved}");

    let runs = folder.run_folder();
    let again = folder.run(&[
        "start",
        "--local",
        "--resume",
        runs.to_str().unwrap(),
        "plan.toml",
    ]);
    assert_code(&again, 0);
    assert_eq!(
        parts(&folder, "01-base-1"),
        holds,
        "every hold was made: {}",
        told(&again)
    );
    assert_eq!(stdout(&again), stdout(&output));

    let runs = runs.to_str().unwrap();
    let report = |format| folder.run(&["report", "--format", format, "--baseline", runs, runs]);
    let found = stdout(&report("markdown"));
    assert!(found.contains("- capacity: no difference"), "{found}");
    for (format, cure) in [
        ("junit", "needs --format markdown or html"),
        ("html", "`coordinator compare --format html`"),
    ] {
        let refused = report(format);
        assert_code(&refused, 2);
        assert!(stderr(&refused).contains(cure), "{}", told(&refused));
    }
    // With a few users, one more or less is more than 5 %.
    assert_code(&folder.run(&["compare", runs, runs]), 3);
    let same = folder.run(&["compare", "--threshold=capacity=60%", runs, runs]);
    assert_code(&same, 0);
    let found = stdout(&same);
    assert!(
        found.contains("Capacity, against A") && found.contains("no difference beyond the steps"),
        "{}",
        told(&same)
    );
    for (arguments, cure) in [
        (
            ["compare", "--threshold=rate=5%", runs, runs],
            "write capacity, such as capacity=5%",
        ),
        (
            [
                "compare",
                "--force",
                runs,
                &format!("{runs}/01-base-1/01-1"),
            ],
            "name two of a kind",
        ),
    ] {
        let refused = folder.run(&arguments);
        assert_code(&refused, 2);
        assert!(stderr(&refused).contains(cure), "{}", told(&refused));
    }
}

/// 160/s is too much whatever the machine does, and 80/s is not; exit code 3 if it is too busy to
/// tell.
const RATES: &str = r#"
name = "rates"
target.builtin = { body_bytes = 100 }
thresholds = { "rate" = "<= 120/s" }
search = { rate = { from = "20/s", to = "320/s" }, hold = "500ms", settle = "1s", precision = 1 }
"#;

#[test]
fn search_that_is_resumed_finds_what_it_finds_without_an_interruption() {
    for plan in [RATES, SEARCH] {
        let whole = Folder::with_plan(plan);
        let uninterrupted = start(&whole);
        let folder = Folder::with_plan(plan);
        let running = folder.begin(&["start", "--local", "plan.toml"]);
        wait_until("the second hold", || {
            let search = folder
                .run_folder_so_far()
                .map(|runs| runs.join("01-base-1"));
            search.is_some_and(|search| {
                let mut parts = parts_of(&search).into_iter();
                parts.any(|part| part.starts_with("02-") && has_started(&search.join(part)))
            })
        });
        running.signal("KILL");
        let _ = running.end();
        let first = parts(&folder, "01-base-1").remove(0);
        let first = format!("01-base-1/{first}");
        let before = document(&folder, &first).run.id;
        let runs = folder.run_folder();
        let resumed = folder.run(&["start", "--local", "--resume", runs.to_str().unwrap()]);
        let codes = [&uninterrupted, &resumed].map(|output| output.status.code().unwrap());
        assert!(
            codes.iter().all(|code| [0, 3].contains(code)),
            "{}",
            told(&resumed)
        );
        assert_eq!(
            document(&folder, &first).run.id,
            before,
            "{}",
            told(&resumed)
        );
        let answer = |folder: &Folder| {
            let saved = std::fs::read(folder.run_folder().join("campaign.json")).unwrap();
            let campaign = report::read_campaign(&saved).unwrap();
            campaign.searches[0].search.answer.clone()
        };
        if codes == [0, 0] && plan == RATES {
            assert_eq!(answer(&folder), answer(&whole), "{}", told(&resumed));
        }
        assert!(answer(&folder).is_some(), "{}", told(&resumed));
    }
}

#[test]
fn search_whose_first_hold_fails_is_exit_code_1() {
    let folder = Folder::with_plan(&SEARCH.replace("\"<= 150/s\"", "\"<= 1/s\""));
    let output = folder.run(&["start", "--local", "plan.toml"]);
    assert_code(&output, 1);
    assert!(
        stdout(&output).contains("below 1 user"),
        "{}",
        told(&output)
    );
}

#[test]
fn load_is_carried_by_one_agent_then_by_two() {
    let folder = Folder::with_plan(AGENTS);
    let output = folder.run(&["start", "--local", "--agents", "2", "plan.toml"]);
    assert_code(&output, 0);
    assert_eq!(parts(&folder, "01-base-1"), ["01-agents", "02-agents"]);
    let explained = folder.run(&["explain", folder.run_folder().to_str().unwrap()]);
    assert_code(&explained, 0);
    let headings = stdout(&explained);
    let headings = headings.lines().filter(|line| line.starts_with("Run: "));
    let headings: Vec<&str> = headings
        .map(|line| line.split(" · ").next().unwrap())
        .collect();
    assert_eq!(
        headings,
        ["Run: 01-base-1/01-agents", "Run: 01-base-1/02-agents"]
    );
    for (part, agents) in [("01-agents", 1), ("02-agents", 2)] {
        let document = document(&folder, &format!("01-base-1/{part}"));
        assert_eq!(
            (document.agents.len(), document.measured.operations.ended),
            (agents, 40 * agents as u64)
        );
    }
    let runs = folder.run_folder();
    let compared = folder.run(&["compare", runs.to_str().unwrap(), runs.to_str().unwrap()]);
    assert_code(&compared, 2);
    assert!(
        stderr(&compared).contains("different numbers of agents"),
        "{}",
        told(&compared)
    );
    let output = Folder::with_plan(AGENTS).run(&["start", "--local", "plan.toml"]);
    assert_code(&output, 2);
    assert!(
        stderr(&output).contains("search.agents: asks for 2 agents"),
        "{}",
        told(&output)
    );
}

#[test]
fn search_is_not_resumed_with_another_content_of_a_file_that_it_names() {
    for plan in [SEARCH, AGENTS] {
        let folder = Folder::with_plan(&format!(
            "{plan}request = {{ method = \"POST\", body_file = \"body\" }}\n"
        ));
        let body = folder.path().join("body");
        std::fs::write(&body, "before").unwrap();
        let output = folder.run(&["start", "--local", "--agents", "2", "plan.toml"]);
        // On a busy machine the search may end at the limit of the client.
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 3)), "{}", told(&output));
        let runs = folder.run_folder();
        let resume = [
            "start",
            "--local",
            "--agents",
            "2",
            "--resume",
            runs.to_str().unwrap(),
            "plan.toml",
        ];
        // A complete search is not made again, so it stands as it did.
        let again = folder.run(&resume);
        assert_eq!(again.status.code(), code, "{}", told(&again));
        std::fs::write(&body, "after").unwrap();
        let refused = folder.run(&resume);
        assert_code(&refused, 2);
        let said = stderr(&refused);
        assert!(
            said.contains("was made by another plan (request[0].body_file.sha256: "),
            "{said}"
        );
    }
}

#[test]
fn folder_without_a_run_has_nothing_to_resume() {
    let folder = Folder::with_plan(PLAN);
    std::fs::create_dir_all(folder.path().join("runs/none")).unwrap();
    let output = folder.run(&["start", "--local", "--resume", "runs/none", "plan.toml"]);
    assert_code(&output, 2);
    assert!(
        stderr(&output).contains("runs/none/run.log: no such file or folder"),
        "{}",
        told(&output)
    );
    std::fs::write(folder.path().join("plan.toml"), VARIANTS).unwrap();
    let output = folder.run(&["start", "--local", "--resume", "runs/none", "plan.toml"]);
    assert_code(&output, 2);
    assert!(
        stderr(&output).contains("runs/none/plan.toml: no such file"),
        "{}",
        told(&output)
    );
}

#[test]
fn check_shows_every_run() {
    let folder = Folder::with_plan(VARIANTS);
    let output = folder.run(&["check", "--agents", "2", "plan.toml"]);
    assert_code(&output, 0);
    let text = stdout(&output);
    for part in [
        "plan pair: 4 runs of 2 variants",
        "variant slow, digest ",
        "order       plain, slow",
        "a pause of 50ms",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    let folder = Folder::with_plan(SEARCH);
    let text = stdout(&folder.run(&["check", "plan.toml"]));
    assert!(
        text.contains("from 1 to 8 virtual users") && text.contains("holds of 300ms"),
        "{text}"
    );
}

/// Comparisons of several variants are one file of JUnit; other files have one document.
fn assert_variants_are_joined(folder: &Folder, whole: &str) {
    let compare = |format| {
        let limit = "--threshold=rate=99%";
        folder.run(&["compare", limit, "--format", format, whole, whole])
    };
    let junit = compare("junit");
    assert_code(&junit, 0);
    let text = stdout(&junit);
    let number = |word| text.matches(word).count();
    assert_eq!((number("<?xml"), number("<testsuites>")), (1, 1), "{text}");
    assert_eq!(number("<testsuite "), 3, "{text}");
    for format in ["json", "csv", "html"] {
        let refused = compare(format);
        assert_code(&refused, 2);
        assert!(stderr(&refused).contains("3 variants"), "{format}");
    }
}

#[test]
fn saved_runs_are_compared_unless_they_measured_different_things() {
    let folder = Folder::with_plan(&VARIANTS.replace(
        "plain = { target.builtin.tls = false }",
        "base = {}, same = { load.seed = 2 }",
    ));
    assert_code(&start(&folder), 0);
    let all = folder.run_folder();
    let part = |name: &str| all.join(name).to_str().unwrap().to_owned();
    let alike = folder.run(&[
        "compare",
        "--threshold",
        "rate=99%",
        &part("01-base-1"),
        &part("02-same-1"),
    ]);
    // Single runs of less than 16 s do not show their noise.
    assert_code(&alike, 3);
    for words in [
        "02-same-1 against 01-base-1",
        "Limits: 1 of 1 cannot be told",
    ] {
        assert!(stdout(&alike).contains(words), "{}", told(&alike));
    }
    let (earlier, run) = (part("01-base-1"), part("02-same-1"));
    let page = folder.run(&["report", "--format=html", "--baseline", &earlier, &run]);
    assert_code(&page, 0);
    for words in ["response time, baseline", "Against the baseline"] {
        assert!(stdout(&page).contains(words), "{words}");
    }
    let saved = std::fs::read_to_string(all.join("campaign.json")).unwrap();
    let curves = saved.matches("response_time_curve").count();
    assert_eq!(
        curves,
        saved.matches("\"ok_per_second\"").count(),
        "of each"
    );
    let different = ["compare", &part("01-base-1"), &part("03-slow-1")];
    let refused = folder.run(&different);
    assert_code(&refused, 2);
    let said = stderr(&refused);
    assert!(
        said.contains("target.builtin.delay: \"0s\" and \"5ms\"") && said.contains("--force"),
        "{said}"
    );
    let forced = folder.run(&[
        "compare",
        "--force",
        "--threshold",
        "response_time.p50=1%",
        &part("01-base-1"),
        &part("03-slow-1"),
    ]);
    assert_code(&forced, 3);
    let whole = all.to_str().unwrap();
    let campaigns = folder.run(&["compare", "--threshold=rate=99%", whole, whole]);
    assert_code(&campaigns, 0);
    assert!(
        stdout(&campaigns).contains("variant slow"),
        "{}",
        told(&campaigns)
    );
    assert_variants_are_joined(&folder, whole);
    let capacity = folder.run(&["compare", "--threshold", "capacity=5%", whole, whole]);
    assert_code(&capacity, 2);
    assert!(
        stderr(&capacity).contains("only searches have a capacity"),
        "{}",
        told(&capacity)
    );
    let file = folder.run(&[
        "compare",
        &format!("{}/result.json", part("01-base-1")),
        whole,
    ]);
    assert_code(&file, 2);
    assert!(
        stderr(&file).contains("no variant in common"),
        "{}",
        told(&file)
    );
    assert_code(&folder.run(&["report", "--format", "markdown", whole]), 0);
}
