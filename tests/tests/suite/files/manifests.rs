//! Units, manifests and scripts that start our programs: every command line in them is understood.

use crate::files::{of_the_repository, read};
use clap::Parser as _;

/// What stands for settings that users write; docs/INSTALL.md shows these values.
const SETTINGS: [(&str, &str); 3] = [
    ("${COORDINATOR}", "coordinator.lan:7711"),
    ("${CREDENTIALS_DIRECTORY}", "/run/credentials/x"),
    ("%i", "nightly"),
];

/// `$OPTIONS` of each unit, as docs/INSTALL.md shows them.
const OPTIONS: [(&str, &str); 3] = [
    (
        "cannonade-agent.service",
        "--allow 203.0.113.0/24 --label city=berlin",
    ),
    ("cannonade-monitor.service", "--process nginx"),
    ("cannonade-run@.service", "--agents 4"),
];

/// Whether `words`, the program's path first, are a command line of that program.
fn parse(words: &[String]) -> Result<(), String> {
    let program = words[0].rsplit('/').next().unwrap();
    let parsed = match program {
        "agent" => agent::MachineCli::try_parse_from(words).map(drop),
        "coordinator" => coordinator::Cli::try_parse_from(words).map(drop),
        _ => return Err(format!("{program} is no program of ours")),
    };
    parsed.map_err(|error| format!("{words:?}: {error}"))
}

#[test]
fn units_start_what_the_programs_understand() {
    let guide = read(of_the_repository("docs/INSTALL.md"));
    for (unit, options) in OPTIONS {
        let shown = format!("OPTIONS=\"{options}\"");
        assert!(guide.contains(&shown), "docs/INSTALL.md: {shown}");
        let text = read(of_the_repository("packaging/systemd").join(unit));
        let mut line = text
            .lines()
            .find_map(|line| line.strip_prefix("ExecStart="))
            .unwrap_or_else(|| panic!("{unit}: no ExecStart"))
            .replace("$OPTIONS", options);
        for (setting, value) in SETTINGS {
            line = line.replace(setting, value);
        }
        assert!(!line.contains('$') && !line.contains('%'), "{unit}: {line}");
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        assert_eq!(parse(&words), Ok(()), "{unit}");
    }
}

/// The words of each list `args:` in a manifest that `.ci/kubernetes` wrote: one on each line.
fn argument_lists(manifest: &str) -> Vec<Vec<String>> {
    let mut lists = Vec::new();
    let mut lines = manifest.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim() == "args:" {
            let word = |line: &&str| line.trim().strip_prefix("- ").map(str::to_owned);
            let mut words = Vec::new();
            while let Some(word) = lines.peek().and_then(word) {
                words.push(word.trim_matches('"').to_owned());
                lines.next();
            }
            lists.push(words);
        }
    }
    lists
}

#[test]
fn pods_start_what_the_programs_understand() {
    for part in ["agents", "run", "monitors"] {
        let path = format!("packaging/kustomize/{part}/{part}.yaml");
        let lists = argument_lists(&read(of_the_repository(&path)));
        let [words] = lists.as_slice() else {
            panic!("{path}: {lists:?}");
        };
        assert!(words.len() > 5, "{path}: {words:?}");
        assert_eq!(parse(words), Ok(()), "{path}");
    }
}

#[test]
fn command_line_with_a_flag_that_is_gone_is_noticed() {
    let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
    for line in [
        "/usr/bin/agent join --gone a:1",
        "coordinator start --agents x p",
    ] {
        assert!(parse(&words(line)).is_err(), "{line}");
    }
}
