//! The page shows the figures of `result.json`.

use crate::page::stage::{HOSTILE, PageFile, assert_quiet, document};
use interop::{Browser, CoordinatorCommand};
use serde_json::Value;

const PLAN: &str = r#"
    name = "page"
    target.builtin = { delay = "2ms" }
    load = { rate = "80/s", max_connections = 20, warm_up = "1s", duration = "2s" }
    tls.resumption = "always"
    connection.requests = 5
    [[request]]
    name = "page"
    path = "/"
    [[request]]
    name = "missing"
    path = "/missing"
    expect.status = [404]
"#;

/// The text of a tile's line: line 1 is its value, line 2 what it refers to.
fn tile(browser: &mut Browser, name: &str, line: u32) -> String {
    browser.text(&format!(
        "[...document.querySelectorAll('.tiles div')]
            .find((tile) => tile.children[0].textContent === '{name}')
            .children[{line}].textContent"
    ))
}

/// `2.34 ms`, `≥ 1.5 s` or `1.2k/s`, in nanoseconds or per second.
fn amount(text: &str) -> f64 {
    let text = text.trim_start_matches("≥ ").trim_end_matches("/s");
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let scale = match unit.trim() {
        "" | "ns" => 1.0,
        "µs" | "k" => 1e3,
        "ms" | "M" => 1e6,
        "s" => 1e9,
        other => panic!("{other:?} is no unit, in {text:?}"),
    };
    number.parse::<f64>().unwrap() * scale
}

fn response_time(result: &Value, wanted: f64) -> f64 {
    let all = result["measured"]["times"]["response_time"]["percentiles"].as_array();
    let found = all.unwrap().iter().find(|one| one["percentile"] == wanted);
    found.unwrap()["value_ns"].as_f64().unwrap()
}

#[test]
fn run_leaves_a_page_that_says_what_its_result_says() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let finished = CoordinatorCommand::local(2, PLAN).run();
    let result = finished.result();
    let page = finished.run_folder().unwrap().join("report.html");
    browser.open(&page, 1280);
    assert_quiet(&mut browser);

    let verdict = browser.text("document.querySelector('.verdict .name').textContent");
    let expected = result["verdict"]["verdict"].as_str().unwrap();
    assert_eq!(
        verdict,
        expected.replace('_', " ").replace(" bound", "-bound")
    );
    let rates = &result["measured"]["rates"];
    let near = |shown: String, expected: f64| {
        let shown = amount(&shown);
        // Three digits are shown.
        assert!((shown / expected - 1.0).abs() < 0.006, "{shown} {expected}");
    };
    let carried = tile(&mut browser, "carried", 1);
    near(carried, rates["ok_per_second"].as_f64().unwrap());
    near(
        tile(&mut browser, "median", 1),
        response_time(&result, 50.0),
    );
    near(tile(&mut browser, "p99", 1), response_time(&result, 99.0));
    near(tile(&mut browser, "p99.9", 1), response_time(&result, 99.9));
    let operations = &result["measured"]["operations"];
    let errors = tile(&mut browser, "errors", 2);
    assert_eq!(
        errors,
        format!("{} of {}", operations["errors"], operations["ended"])
    );
    assert!(
        operations["errors"].as_u64().unwrap() > 0,
        "some answers are no 404"
    );

    let rows = browser.text("document.querySelector('main').innerText");
    for request in result["by_request"].as_array().unwrap() {
        assert!(rows.contains(request["name"].as_str().unwrap()), "{rows}");
    }
    // Static pictures have become plots: there are as many plots as figures for one.
    let plots = browser.number("document.querySelectorAll('.timeline .uplot').length");
    let figures = browser.number("document.querySelectorAll('.timeline').length");
    assert_eq!((plots, figures >= 6.0), (figures, true));
}

#[test]
fn hostile_names_run_nothing_and_are_shown() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let mut document = document();
    document.run.name = HOSTILE.to_owned();
    document.plan.url = HOSTILE.to_owned();
    document.plan.text = HOSTILE.to_owned();
    document.notes.push(HOSTILE.to_owned());
    document.verdict.evidence.push(HOSTILE.to_owned());
    document.agents[0].name = HOSTILE.to_owned();
    document.by_agent[0].name = HOSTILE.to_owned();
    document.machines[0].name = HOSTILE.to_owned();
    document.measured.errors[0].name = HOSTILE.to_owned();
    document.measured.errors[0].words = HOSTILE.to_owned();
    for groups in [&mut document.by_request, &mut document.by_address] {
        let again = groups[0].clone();
        groups.push(again);
        groups[0].name = HOSTILE.to_owned();
    }
    for row in &mut document.series.rows {
        row.errors_by_kind.insert(HOSTILE.to_owned(), 1);
    }
    for judgement in &mut document.thresholds {
        judgement.metric = HOSTILE.to_owned();
    }
    let page = PageFile::run(&document);
    browser.open(&page.path(), 1280);
    assert_quiet(&mut browser);
    assert_eq!(browser.text("typeof window.broken"), "undefined");
    assert_eq!(
        browser.number("document.querySelectorAll('img').length"),
        0.0
    );
    // Also in the names of the plots, which the script writes.
    let named = "[...document.querySelectorAll('h1, .u-label')]
        .filter((name) => name.textContent.includes('onerror')).length";
    assert!(browser.number(named) >= 3.0);
}
