//! The page of a campaign.

use crate::page::stage::{HOSTILE, PageFile, assert_fits, assert_quiet, campaign};
use interop::Browser;

/// Failed with: at 400 px two of four variants were behind the edge, and nothing showed it.
#[test]
fn table_that_goes_on_behind_the_edge_shows_it() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let page = PageFile::campaign(&campaign(12));
    for width in [1280, 400] {
        browser.open(&page.path(), width);
        let cut = browser.value(
            "[...document.querySelectorAll('.scroll')]
                .filter((part) => part.scrollWidth > part.clientWidth)
                .map((part) => {
                    const style = getComputedStyle(part);
                    return [part.tabIndex, style.backgroundAttachment,
                        style.backgroundImage.split('linear-gradient').length - 1];
                })",
        );
        let cut: Vec<(i64, String, u32)> = serde_json::from_value(cut).unwrap();
        assert!(!cut.is_empty(), "twelve variants are wider than {width} px");
        for (focus, attachment, shadows) in cut {
            assert_eq!((focus, shadows), (0, 4), "it is reached by keys too");
            assert_eq!(attachment, "local, local, scroll, scroll");
        }
    }
    assert_quiet(&mut browser);
}

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
    // One for each variant but the first, and three for all of them together.
    let forests = "document.querySelectorAll('.wide[aria-label$=\"against variant-0\"]').length";
    assert_eq!(browser.number(forests), 22.0);
}
