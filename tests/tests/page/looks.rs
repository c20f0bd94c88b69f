//! Screens, paper, and no script.

use crate::stage::{PageFile, assert_fits, assert_quiet, document, hour};
use interop::Browser;
use serde_json::json;

#[test]
fn page_fits_on_wide_and_narrow_screens() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    for document in [document(), hour()] {
        let page = PageFile::run(&document);
        for width in [1280, 400] {
            browser.open(&page.path(), width);
            assert_fits(&mut browser);
            assert_quiet(&mut browser);
        }
    }
}

#[test]
fn page_is_dark_where_the_reader_wants_it() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let page = PageFile::run(&document());
    browser.open(&page.path(), 1280);
    let lightness = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g)
        .reduce((sum, part) => sum + Number(part), 0) / 765";
    let mut paper = |scheme: &str| {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        browser.call(
            "Emulation.setEmulatedMedia",
            &json!({ "features": [feature] }),
        );
        browser.number(lightness)
    };
    assert!(paper("light") > 0.9);
    assert!(paper("dark") < 0.2);
    assert_quiet(&mut browser);
}

#[test]
fn page_can_be_printed() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let page = PageFile::run(&hour());
    browser.open(&page.path(), 1280);
    let pdf = browser.pdf();
    assert!(
        pdf.starts_with(b"%PDF") && pdf.len() > 30_000,
        "{}",
        pdf.len()
    );
    assert_quiet(&mut browser);
}

#[test]
fn page_says_everything_without_scripts() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let page = PageFile::run(&hour());
    browser.open(&page.path(), 1280);
    let live = browser.number("document.querySelectorAll('.timeline').length");
    let off = |browser: &mut Browser, is_off: bool| {
        let parameters = json!({ "value": is_off });
        browser.call("Emulation.setScriptExecutionDisabled", &parameters);
    };
    off(&mut browser, true);
    browser.open(&page.path(), 1280);
    // The protocol may look where the page's own script may not run.
    let count = |browser: &mut Browser, what: &str| {
        browser.number(&format!("document.querySelectorAll('{what}').length"))
    };
    assert_eq!(count(&mut browser, ".uplot"), 0.0, "the script ran");
    let verdict = browser.text("document.querySelector('.verdict .name').innerText");
    assert_eq!(verdict, "undetermined");
    assert_eq!(count(&mut browser, ".timeline .picture > svg"), live);
    assert_eq!(count(&mut browser, "#heat svg"), 1.0);
    assert!(count(&mut browser, "table tbody tr") > 10.0);
    let drawn = browser.number(
        "Math.min(...[...document.querySelectorAll('.timeline svg')]
            .map((svg) => svg.getBoundingClientRect().height))",
    );
    assert!(drawn > 100.0, "{drawn} px");
    assert_quiet(&mut browser);
}
