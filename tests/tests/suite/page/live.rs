//! The page during a run: `start --dashboard`.

use crate::page::plots::{live_instant_at, on_plot};
use crate::page::stage::assert_quiet;
use interop::{
    Browser, Coordinator, CoordinatorCommand, RUN_MAX, Tried, ensure, must_hold_in, wait_until,
};
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// A run that goes on until it is stopped.
const ENDLESS: &str = "target.builtin = true\nload = { rate = \"200/s\", duration = \"10m\" }\n";

/// The number of seconds on the page; 0 before the first.
const SECONDS: &str = "document.querySelector('header progress')?.value ?? 0";

/// What the page says of its connection; empty while a page is still being loaded.
const CONNECTION: &str = "(document.getElementById('connection')?.textContent ?? '')";

struct ShownRun {
    coordinator: Coordinator,
    url: String,
}

impl ShownRun {
    fn start(plan: &str) -> ShownRun {
        ShownRun::at("0", plan)
    }

    fn at(address: &str, plan: &str) -> ShownRun {
        let arguments = ["--local", "--dashboard", address];
        let mut coordinator = CoordinatorCommand::start(&arguments, plan).spawn();
        let told = coordinator.wait_for("dashboard at http://");
        let (_, rest) = told.split_once("dashboard at ").unwrap();
        let url = rest.lines().next().unwrap().to_owned();
        ShownRun { coordinator, url }
    }
}

fn wait_for(browser: &mut Browser, what: &str, condition: &str) {
    let condition = format!("Boolean({condition})");
    wait_until(what, || (browser.value(&condition) == true).then_some(()));
}

fn wait_for_second(browser: &mut Browser, second: f64) {
    wait_for(
        browser,
        "a second of the run",
        &format!("({SECONDS}) >= {second}"),
    );
}

/// The run that the page shows; waits for it, since a page may be half loaded.
fn run_id(browser: &mut Browser) -> String {
    const LAST: &str = "document.querySelector('main > section:last-child')?.textContent ?? ''";
    wait_until("the id of the run", || {
        let text = browser.text(LAST);
        let (_, rest) = text.split_once("run ")?;
        rest.split_whitespace().next().map(str::to_owned)
    })
}

fn wait_for_other_run(browser: &mut Browser, before: &str) {
    let begun = Instant::now();
    while run_id(browser) == before {
        assert!(begun.elapsed() < RUN_MAX, "it is still run {before}");
        std::thread::sleep(Duration::from_millis(100));
    }
    wait_for_second(browser, 2.0);
}

/// Asserts that the page's plots begin with the run's first second.
fn assert_shows_the_beginning(browser: &mut Browser) {
    let seconds = browser.value("JSON.parse(document.getElementById('data').textContent).seconds");
    let seconds: Vec<f64> = serde_json::from_value(seconds).unwrap();
    assert!(seconds.len() >= 3 && seconds[0] == 0.0, "{seconds:?}");
}

#[test]
fn three_viewers_follow_a_run_and_see_its_end() {
    must_hold_in(3, || Browser::start().map_or(Ok(()), watch_to_the_end));
}

/// An error if the browser missed the end because another test made an interface, or was so slow to
/// take it that the coordinator did not wait for it.
fn watch_to_the_end(mut browser: Browser) -> Tried {
    let run = ShownRun::start(ENDLESS);
    browser.visit(&run.url, 1280);
    let early = [browser.add_page(), browser.add_page()];
    for page in &early {
        browser.turn_to(page);
        browser.visit(&run.url, 1280);
        wait_for_second(&mut browser, 3.0);
    }
    let late = browser.add_page();
    browser.visit(&run.url, 1280);
    assert_shows_the_beginning(&mut browser);

    run.coordinator.signal(Signal::INT);
    let finished = run.coordinator.wait();
    assert_eq!(finished.code, 130, "{finished}");
    let ended = finished.document().measured.operations.ended;
    for page in early.iter().chain([&late]) {
        browser.turn_to(page);
        wait_for(
            &mut browser,
            "the end",
            &format!("{CONNECTION}.includes('has ended')"),
        );
        let text = browser.text("document.body.innerText");
        for said in ["it was stopped", "This run is over", &format!("of {ended}")] {
            let is_there = text.contains(said);
            let why = || format!("{said:?} is not in {text}");
            assert!(is_there || browser.lost_its_network(), "{}", why());
            // The page gets the end of its run once, just before the coordinator ends.
            ensure(is_there, why)?;
        }
        let complaints = browser.complaints();
        let is_cut_off = |told: &String| told.contains("net::ERR_INCOMPLETE_CHUNKED_ENCODING");
        let is_slow = complaints.len() == 1 && complaints.iter().all(is_cut_off);
        ensure(!is_slow, || format!("{complaints:#?}"))?;
        assert!(complaints.is_empty(), "{complaints:#?}");
    }
    Ok(())
}

#[test]
fn what_somebody_did_stays_as_the_page_goes_on() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let run = ShownRun::start(ENDLESS);
    browser.visit(&run.url, 1280);
    wait_for_second(&mut browser, 4.0);
    let from = on_plot(&mut browser, 0, (0.3, 0.5));
    let to = (from.0 + 300.0, from.1);
    browser.pointer("mouseMoved", from, 0);
    browser.pointer("mousePressed", from, 1);
    browser.pointer("mouseMoved", to, 1);
    browser.pointer("mouseReleased", to, 1);
    let closer = [0.01, 0.99].map(|part| live_instant_at(&mut browser, 0, part));
    browser.value(
        "[...document.querySelectorAll('[data-timeline=times] .u-label')]
            .find((label) => label.textContent === 'p99').click()",
    );
    browser.value("document.querySelector('details').open = true");
    browser.value("getSelection().selectAllChildren(document.querySelector('h1'))");
    browser.value("scrollTo(0, 300)");

    let before = browser.number(SECONDS);
    wait_for_second(&mut browser, before + 3.0);
    assert_eq!(browser.number("scrollY"), 300.0);
    assert_eq!(
        browser.text("getSelection().toString().slice(0, 4)"),
        "plan"
    );
    assert_eq!(
        browser.value("document.querySelector('details').open"),
        true
    );
    let hidden = "document.querySelectorAll('.u-legend .u-off').length";
    assert_eq!(browser.number(hidden), 1.0);
    assert_eq!(
        [0.01, 0.99].map(|part| live_instant_at(&mut browser, 0, part)),
        closer
    );

    // A page that shows the whole run continues to do so.
    let place = on_plot(&mut browser, 0, (0.5, 0.5));
    for clicks in [1, 2] {
        browser.pointer("mousePressed", place, clicks);
        browser.pointer("mouseReleased", place, clicks);
    }
    let end = live_instant_at(&mut browser, 0, 0.99);
    let before = browser.number(SECONDS);
    wait_for_second(&mut browser, before + 2.0);
    assert_ne!(live_instant_at(&mut browser, 0, 0.99), end);
    assert_quiet(&mut browser);
}

#[test]
fn silence_of_a_coordinator_is_a_lost_connection() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    // If other machines can reach it, the page and its events have a path that cannot be guessed.
    let run = ShownRun::at(":0", ENDLESS);
    let (_, behind_host) = run.url.rsplit_once(':').unwrap();
    browser.visit(&format!("http://127.0.0.1:{behind_host}"), 1280);
    wait_for_second(&mut browser, 2.0);
    run.coordinator.signal(Signal::STOP);
    let is_lost = format!("{CONNECTION}.includes('No connection')");
    wait_for(&mut browser, "the news", &is_lost);
    run.coordinator.signal(Signal::CONT);
    wait_for(&mut browser, "the connection", &format!("!{is_lost}"));
    assert_quiet(&mut browser);
}

#[test]
fn page_goes_on_with_the_next_run_of_a_file() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let run = ShownRun::start(
        "target.builtin = true\nload = { rate = \"200/s\", duration = \"12s\" }\n\
         [repeat]\ntimes = 2\n",
    );
    browser.visit(&run.url, 1280);
    // On a busy machine seconds pass by before the page has drawn anything.
    let first = run_id(&mut browser);
    wait_for_other_run(&mut browser, &first);
    let finished = run.coordinator.wait();
    assert!(finished.code <= 3, "{finished}");
    wait_for(
        &mut browser,
        "the end",
        &format!("{CONNECTION}.includes('has ended')"),
    );
    assert_quiet(&mut browser);
}

#[test]
fn lost_coordinator_is_said_until_one_is_there_again() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let run = ShownRun::at(&interop::free_address().to_string(), ENDLESS);
    browser.visit(&run.url, 1280);
    wait_for_second(&mut browser, 2.0);
    let first = run_id(&mut browser);
    assert_eq!(browser.text(CONNECTION), "");
    let url = run.url.clone();
    run.coordinator.signal(Signal::KILL);
    let finished = run.coordinator.wait();
    assert_eq!(finished.code, 137, "{finished}");
    wait_for(
        &mut browser,
        "the news",
        &format!("{CONNECTION}.includes('No connection')"),
    );
    let told = browser.text(CONNECTION);
    let at = browser.text("document.querySelector('header time').textContent");
    assert!(told.contains(&at), "{told} is of {at}");
    assert!(browser.number(SECONDS) >= 2.0, "what there was stays");

    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let again = ShownRun::at(address, ENDLESS);
    wait_for(
        &mut browser,
        "the connection",
        &format!("{CONNECTION} === ''"),
    );
    wait_for_other_run(&mut browser, &first);
    let complaints = browser.complaints();
    let is_lost_connection = |complaint: &String| complaint.contains("net::ERR_");
    assert!(complaints.iter().all(is_lost_connection), "{complaints:#?}");
    drop(again);
}

#[test]
fn page_without_scripts_is_made_anew() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let run = ShownRun::start(ENDLESS);
    let off = serde_json::json!({ "value": true });
    browser.call("Emulation.setScriptExecutionDisabled", &off);
    browser.visit(&run.url, 1280);
    let before = browser.number(SECONDS);
    wait_for_second(&mut browser, before + 3.0);
}
