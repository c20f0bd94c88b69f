//! Screens, paper, and no script.

use crate::page::stage::{PageFile, assert_fits, assert_quiet, document, hour};
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
fn percentiles_are_legible_on_a_telephone() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let page = PageFile::run(&hour());
    for width in [1280, 400] {
        browser.open(&page.path(), width);
        // As displayed: a hidden element has no size.
        let shown = browser.value(
            "(() => {
                const curves = [...document.querySelectorAll('[aria-label*=\"by percentile\"]')]
                    .filter((svg) => svg.getBoundingClientRect().width > 0);
                const room = curves[0].parentElement.clientWidth;
                const size = (element) => element.getBoundingClientRect();
                const names = [...curves[0].querySelectorAll('[text-anchor=middle]')].map(size);
                const apart = names.slice(1).map((name, at) => name.left - names[at].right);
                return [curves.length, size(curves[0]).width - room,
                    names[0].height, Math.min(...apart)];
            })()",
        );
        let [curves, beyond, height, apart]: [f64; 4] = serde_json::from_value(shown).unwrap();
        assert_eq!(curves, 1.0, "one for each width");
        assert!(
            beyond < 1.0 && height > 9.0 && apart > 0.0,
            "{beyond} {height} {apart}"
        );
    }
}

#[test]
fn no_picture_is_wider_than_a_telephone() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let page = PageFile::run(&hour());
    for is_without_scripts in [false, true] {
        let parameters = json!({ "value": is_without_scripts });
        browser.call("Emulation.setScriptExecutionDisabled", &parameters);
        browser.open(&page.path(), 400);
        let beyond = browser.number(
            "Math.max(...[...document.querySelectorAll('.picture')]
                .map((picture) => picture.scrollWidth - picture.clientWidth))",
        );
        assert!(beyond < 1.0, "{beyond} px, without: {is_without_scripts}");
        // The compressed content is displayed too.
        let drawn = browser.number(
            "Math.min(...[...document.querySelectorAll('.picture > .narrow use')]
                .map((inside) => inside.getBoundingClientRect().width))",
        );
        assert!((250.0..400.0).contains(&drawn), "{drawn} px");
        assert_quiet(&mut browser);
    }
}

#[test]
fn thousand_agents_leave_the_rest_to_be_found() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let mut document = hour();
    document.agents = vec![document.agents[0].clone(); 1_000];
    document.by_agent = vec![document.by_agent[0].clone(); 1_000];
    document.by_agent[700].name = "load-700".to_owned();
    let times = &mut document.by_agent[700].figures.times;
    let figure = times.get_mut("response_time").unwrap();
    figure
        .percentiles
        .iter_mut()
        .for_each(|at| at.value_ns *= 9);
    let page = PageFile::run(&document);
    browser.open(&page.path(), 1280);
    assert_quiet(&mut browser);
    let height = browser.number("document.documentElement.scrollHeight");
    assert!(height < 12_000.0, "{height} px");
    let text = browser.text("document.querySelector('main').innerText");
    assert!(text.contains("load-700 stands out"), "{text}");
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
    // Paper cannot be expanded.
    let unfolded = "new Promise((done) => requestAnimationFrame(() =>
        done(document.querySelector('details pre').checkVisibility())))";
    assert_eq!(browser.value(unfolded), json!(false));
    browser.call("Emulation.setEmulatedMedia", &json!({ "media": "print" }));
    assert_eq!(browser.value(unfolded), json!(true));
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
    // The protocol can look at the page even if its own scripts may not run.
    let count = |browser: &mut Browser, what: &str| {
        browser.number(&format!("document.querySelectorAll('{what}').length"))
    };
    assert_eq!(count(&mut browser, ".uplot"), 0.0, "the script ran");
    let verdict = browser.text("document.querySelector('.verdict .name').innerText");
    assert!(verdict.contains("undetermined"), "{verdict}");
    assert_eq!(count(&mut browser, ".timeline .picture > .wide"), live);
    assert_eq!(count(&mut browser, "#heat .wide"), 1.0);
    assert!(count(&mut browser, "table tbody tr") > 10.0);
    let drawn = browser.number(
        "Math.min(...[...document.querySelectorAll('.timeline .wide')]
            .map((svg) => svg.getBoundingClientRect().height))",
    );
    assert!(drawn > 100.0, "{drawn} px");
    assert_quiet(&mut browser);
}
