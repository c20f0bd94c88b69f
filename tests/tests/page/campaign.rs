//! The page of many runs.

use crate::stage::{HOSTILE, PageFile, assert_fits, assert_quiet, campaign};
use interop::Browser;

#[test]
fn campaign_of_twenty_variants_is_readable() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let mut campaign = campaign(20);
    campaign.name = HOSTILE.to_owned();
    campaign.comparison.as_mut().unwrap().variants[7] = HOSTILE.to_owned();
    let page = PageFile::campaign(&campaign);
    for width in [1280, 400] {
        browser.open(&page.path(), width);
        assert_fits(&mut browser);
        let beyond = browser.number(
            "Math.max(...[...document.querySelectorAll('.picture')]
                .map((picture) => picture.scrollWidth - picture.clientWidth))",
        );
        assert!(
            beyond < 1.0,
            "a picture is {beyond} px wider than its place"
        );
        assert_quiet(&mut browser);
    }
    assert_eq!(browser.text("typeof window.broken"), "undefined");
    let text = browser.text("document.querySelector('main').textContent");
    for number in (0..20).filter(|&number| number != 7) {
        let name = format!("variant-{number}");
        assert!(text.contains(&name), "{name} is not there");
    }
    let bars = browser.number("document.querySelectorAll('.margin svg').length");
    assert_eq!(bars, 20.0, "response times of each");
    // One for each variant but the first, and three for all of them.
    let forests = "document.querySelectorAll('.wide[aria-label$=\"against variant-0\"]').length";
    assert_eq!(browser.number(forests), 22.0);
}
