//! The messages for wrong plans. Each file contains plans, each followed by all of its messages.

use crate::support::{Folder, campaign, parse};
use plan::{Files, Plan};
use std::sync::Arc;

const FILES: [(&str, &str); 7] = [
    ("whole", include_str!("messages/whole.txt")),
    ("target", include_str!("messages/target.txt")),
    ("request", include_str!("messages/request.txt")),
    ("connection", include_str!("messages/connection.txt")),
    ("tls", include_str!("messages/tls.txt")),
    ("load", include_str!("messages/load.txt")),
    ("fleet", include_str!("messages/fleet.txt")),
];

/// These are read as campaigns.
const CAMPAIGNS: [(&str, &str); 2] = [
    ("campaign", include_str!("messages/campaign.txt")),
    ("search", include_str!("messages/search.txt")),
];

#[test]
fn problems_are_those_of_the_golden_files() {
    for (file, cases) in FILES {
        hold(file, cases, |text| {
            answer(parse(text).as_ref().map(plan::Plan::notes))
        });
    }
    for (file, cases) in CAMPAIGNS {
        hold(file, cases, |text| {
            answer(campaign(text).as_ref().map(plan::Campaign::notes))
        });
    }
}

#[test]
fn a_single_plan_read_as_a_campaign_says_the_same() {
    for (text, expected) in FILES.into_iter().flat_map(|(_, cases)| cases_of(cases)) {
        if !expected.contains("this is the plan of one; remove [") {
            assert_eq!(
                answer(campaign(text).as_ref().map(plan::Campaign::notes)),
                expected,
                "{text}"
            );
        }
    }
}

fn hold(file: &str, cases: &str, answer: impl Fn(&str) -> String) {
    for (number, (text, expected)) in cases_of(cases).into_iter().enumerate() {
        assert_eq!(
            answer(text),
            expected,
            "case {number} of {file}.txt:\n{text}"
        );
    }
}

/// Splits a file: plans start with `=== plan`, messages with `--- says`.
fn cases_of(file: &str) -> Vec<(&str, &str)> {
    let cases = file.split("=== plan\n").skip(1);
    cases
        .map(|case| {
            case.split_once("--- says\n")
                .expect("a plan and what it says")
        })
        .collect()
}

fn answer(notes: Result<&[String], &String>) -> String {
    match notes {
        Err(problems) => format!("{problems}\n"),
        Ok(notes) => notes
            .iter()
            .map(|note| format!("note: {note}\n"))
            .chain(["ok\n".to_owned()])
            .collect(),
    }
}

#[test]
fn bytes_that_are_no_text_are_told_where() {
    let message = Plan::parse_bytes(b"name = \"\xff\"", &mut Folder::new())
        .unwrap_err()
        .to_string();
    assert_eq!(message, "the plan is not UTF-8 at byte 8; save it as UTF-8");
    let utf16 = Plan::parse_bytes(b"\xff\xfen\0", &mut Folder::new());
    let message = utf16.unwrap_err().to_string();
    assert_eq!(message, "the plan is UTF-16; save it as UTF-8");
    assert!(
        Plan::parse_bytes(
            b"target.builtin = true\nload.connections = 1\nload.requests = 1",
            &mut Folder::new()
        )
        .is_ok()
    );
}

#[test]
fn a_huge_plan_is_refused_before_it_is_read() {
    let huge = "#".repeat(Plan::MAX_BYTES + 1);
    assert_eq!(
        parse(&huge),
        Err(
            "the plan has 1048577 bytes; write at most 1048576 (bodies can stand in files)"
                .to_owned()
        )
    );
    let body = format!(
        "target.builtin = true\nload.connections = 1\nload.requests = 1\nrequest.body = \"{}\"",
        "x".repeat(800_000)
    );
    let message = parse(&body).unwrap_err();
    assert!(
        message.starts_with("the plan has 801") && message.ends_with("put bodies into files"),
        "{message}"
    );
}

#[test]
fn a_million_problems_are_not_all_shown() {
    let keys: String = (0..100_000)
        .map(|number| format!("k{number}=1\n"))
        .collect();
    let problems = Plan::parse(&keys, &mut Folder::new()).unwrap_err().0;
    assert_eq!(problems.len(), 201);
    assert!(
        problems[200]
            .message
            .ends_with("more problems are not shown"),
        "{}",
        problems[200]
    );
}

#[test]
fn years_of_stages_are_too_long_and_no_overflow() {
    let stages = "[[load.stage]]\nover = \"720h\"\nto = 1\n".repeat(10_000);
    let message = parse(&format!(
        "target.builtin = true\nload.connections = 1\n{stages}"
    ))
    .unwrap_err();
    assert_eq!(
        message,
        "3:8: load.stage: takes longer than 720h; shorten it"
    );
}

#[test]
fn a_reader_without_folders_says_so() {
    struct OnlyNames;
    impl Files for OnlyNames {
        fn read(&mut self, _name: &str) -> Result<Arc<[u8]>, String> {
            Err("no such file".to_owned())
        }
    }
    let text = "target.url = \"https://a.test\"\nload.connections = 1\nload.requests = \
                1\ntls.client_certificates = \"clients\"";
    let message = Plan::parse(text, &mut OnlyNames).unwrap_err().to_string();
    assert!(
        message.contains("folders cannot be listed here"),
        "{message}"
    );
}
