//! A run is told once: few files look at most of its events, so that a new event touches few files.

use super::{packages_folders, root, shipped};
use std::collections::BTreeSet;
use std::fs;

/// Files that may name more than half of the events: the run's model and `events.jsonl`.
const TELLERS_MAX: usize = 2;

/// The variants of the events' enum.
fn variants(source: &str) -> BTreeSet<&str> {
    let (_, after) = source.split_once("pub enum RunEvent {\n").unwrap();
    let (body, _) = after.split_once("\n}\n").unwrap();
    let lines = body.lines().filter_map(|line| line.strip_prefix("    "));
    lines
        .filter(|line| line.starts_with(char::is_uppercase))
        .map(first_word)
        .collect()
}

/// What stands after `RunEvent::` in a source, each once.
fn named(source: &str) -> BTreeSet<&str> {
    source.split("RunEvent::").skip(1).map(first_word).collect()
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric()).next().unwrap()
}

#[test]
fn few_files_look_at_most_events_of_a_run() {
    let events = fs::read_to_string(root().join("crates/control/src/run_event.rs")).unwrap();
    let variants = variants(&events);
    assert!(variants.len() > 20, "{variants:?}");
    let mut tellers = Vec::new();
    for (package, folder) in packages_folders() {
        for (path, text) in shipped(&folder) {
            let named = named(&text);
            let wild = named.iter().any(|name| name.is_empty());
            assert!(!wild, "{package}/{path}: write `RunEvent::` before each");
            let count = named.intersection(&variants).count();
            if count * 2 > variants.len() {
                tellers.push(format!("{package}/{path}: {count}"));
            }
        }
    }
    assert!(
        tellers.len() <= TELLERS_MAX,
        "{tellers:?} look at more than half of {} events; ask `control::RunModel` instead",
        variants.len()
    );
}

#[test]
fn events_are_counted_once_each_and_by_their_names() {
    let source = "
pub enum RunEvent {
    /// One.
    Gone {
        /// Its index.
        Agent: u32,
    },
    Back,
}
";
    assert_eq!(variants(source), BTreeSet::from(["Back", "Gone"]));
    let source = "RunEvent::Gone { .. } | RunEvent::Back => RunEvent::Gone, use RunEvent::{Back}";
    assert_eq!(named(source), BTreeSet::from(["", "Back", "Gone"]));
}
