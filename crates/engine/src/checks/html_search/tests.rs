//! Pages and what is taken from them, in one piece and in many.

use super::*;
use plan::MissingCapture;
use proptest::prelude::*;

fn wishes(element: &str, attribute: &str, pick: CapturePick) -> HtmlWishes {
    let capture = Capture {
        numbers: Vec::new(),
        name: "x".into(),
        index: 0,
        from: CapturePlace::Html {
            element: HtmlElement::new(element).expect(element),
            attribute: attribute.to_owned(),
        },
        pick,
        missing: MissingCapture::Skip,
    };
    HtmlWishes::new([&capture].into_iter())
}

fn texts<'p>(wishes: &HtmlWishes, pieces: impl Iterator<Item = &'p [u8]>) -> Vec<String> {
    let mut search = HtmlSearch::default();
    pieces.for_each(|piece| search.take(wishes, piece));
    let found = search.take_found().into_iter().flatten();
    let text = |text: Vec<u8>| String::from_utf8_lossy(&text).into_owned();
    found.map(text).collect()
}

/// All values of `input[name=csrf]` in a page.
fn values(page: &[u8]) -> Vec<String> {
    let wishes = wishes("input[name=csrf]", "value", CapturePick::Random);
    texts(&wishes, [page].into_iter())
}

#[test]
fn values_are_those_of_the_tags_that_a_browser_sees() {
    for (page, found) in [
        ("<input name=csrf value=a>", "a"),
        ("<INPUT\n\tNAME = 'csrf'\r\nVALUE\n=\n\"a b\" >", "a b"),
        (
            "<form><input type=hidden value='a' name=\"csrf\"/></form>",
            "a",
        ),
        ("<input name=csrf value=a/>", "a/"),
        ("<input name=csrf value=a/b?c=d&amp;e=1>", "a/b?c=d&e=1"),
        ("<input/name=csrf/value=a>", ""),
        ("<input/name=csrf value=a>", "a"),
        ("<input name='csrf'value='a'>", "a"),
        ("<input name=csrf value=a value=b>", "a"),
        ("<input name=csrf value>", ""),
        ("<input name=csrf value=>", ""),
        ("<input name=CSRF value=a>", ""),
        ("<input name=csrf2 value=a>", ""),
        ("<input name=csrf data-value=a>", ""),
        ("<inputs name=csrf value=a>", ""),
        ("</input name=csrf value=a>", ""),
        ("<input name=\"a>b\" x><input name=csrf value='<>'>", "<>"),
        ("<input name=&#99;srf value=&quot;&#x61;>", "\"a"),
        (
            "<!-- <input name=csrf value=a> -- > --><input name=csrf value=b>",
            "b",
        ),
        ("<!--><input name=csrf value=a>", "a"),
        ("<!---><input name=csrf value=a>", "a"),
        ("<!-- --!><input name=csrf value=a>", "a"),
        ("<!-- -- -><input name=csrf value=a>", ""),
        ("<!- <input name=csrf value=a>", ""),
        ("<!DOCTYPE html \"x\"><input name=csrf value=a>", "a"),
        ("<?php <b> ?><input name=csrf value=a>", "a"),
        ("a < b <3 </> </ ><input name=csrf value=a>", "a"),
        (
            "<script>'<input name=csrf value=a>'</script><input name=csrf value=b>",
            "b",
        ),
        (
            "<SCRIPT src=x/></scripts </SCRIPT\n><input name=csrf value=b>",
            "b",
        ),
        ("<style></sty</style/><input name=csrf value=b>", "b"),
        (
            "<title><input name=csrf value=a></title><input name=csrf value=b>",
            "b",
        ),
        ("<textarea><</textarea x='>'><input name=csrf value=b>", "b"),
        ("<plaintext><input name=csrf value=a>", ""),
        ("<noscript><input name=csrf value=a></noscript>", "a"),
        ("<input name=csrf value=a", ""),
        ("<input name=csrf value='a>", ""),
        ("<input name=csrf value='a\nb'>", ""),
        ("<input name=csrf value='a\0b'>", ""),
        ("<svg><input name=csrf value=é></svg>", "é"),
    ] {
        assert_eq!(values(page.as_bytes()).concat(), found, "{page}");
        let wishes = wishes("input[name=csrf]", "value", CapturePick::First);
        let bytes = texts(&wishes, page.as_bytes().chunks(1));
        assert_eq!(bytes.concat(), found, "{page}, byte by byte");
    }
    // Bytes that are no UTF-8 are as they are.
    let wishes = wishes("input", "value", CapturePick::First);
    let mut search = HtmlSearch::default();
    search.take(&wishes, b"<input value='\xff\xfe'>");
    assert_eq!(search.take_found(), [[b"\xff\xfe".to_vec()]]);
}

#[test]
fn elements_are_those_whose_attributes_are_as_wanted() {
    let page = b"<p id=a><p id=b class=' x y '><q id=c class=y lang><p id=d class=xy>";
    for (element, ids) in [
        ("p", "abd"),
        ("P.y", "b"),
        (".y", "bc"),
        ("q[lang]", "c"),
        ("#d", "d"),
        ("p.x.y#b", "b"),
        ("[lang=\"\"]", "c"),
        ("b", ""),
    ] {
        let wishes = wishes(element, "id", CapturePick::Random);
        assert_eq!(
            texts(&wishes, [&page[..]].into_iter()).concat(),
            ids,
            "{element}"
        );
    }
}

#[test]
fn search_is_over_with_the_first_text_and_memory_is_bounded() {
    let first = wishes("input", "value", CapturePick::First);
    let mut search = HtmlSearch::default();
    search.take(&first, b"<input value=>");
    assert!(!search.is_over(&first), "an empty one counts as missing");
    search.take(&first, b"<input value=a>");
    assert!(search.is_over(&first));
    let last = wishes("input", "value", CapturePick::Last);
    let page = "<input value=a><input value=b>".repeat(10);
    assert_eq!(texts(&last, [page.as_bytes()].into_iter()), ["b"]);
    let random = wishes("input", "value", CapturePick::Random);
    let found = texts(&random, std::iter::repeat_n(page.as_bytes(), 100));
    assert_eq!(found.len(), MAX_CANDIDATES);
    // A value, a name and a tag of a MiB each, and one as long as may be.
    let long = "x".repeat(1 << 20);
    let most = "y".repeat(Capture::MAX_BYTES);
    let page = format!(
        "<input value='{long}'><input {long}=a><{long} value=b><input {long} value={most}><input \
         value={most}z>"
    );
    assert_eq!(texts(&random, page.as_bytes().chunks(1000)), [most]);
}

proptest! {
    #[test]
    fn pieces_give_what_the_whole_page_gives(
        page in proptest::collection::vec(
            prop_oneof![
                Just("<input name=csrf value="), Just("a"), Just("'"), Just("\""), Just(">"),
                Just("<"), Just("/"), Just("!--"), Just("-"), Just("script"), Just("</script"),
                Just(" "), Just("="), Just("name=csrf"), Just("&amp;"), Just("\n"), Just("\0"),
            ],
            0..40,
        ),
        sizes in proptest::collection::vec(1_usize..9, 1..40),
    ) {
        let page = page.concat();
        let whole = values(page.as_bytes());
        let (mut rest, mut pieces) = (page.as_bytes(), Vec::new());
        for size in sizes {
            let (piece, after) = rest.split_at(size.min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        pieces.push(rest);
        let wishes = wishes("input[name=csrf]", "value", CapturePick::Random);
        prop_assert_eq!(texts(&wishes, pieces.into_iter()), whole);
    }

    #[test]
    fn any_bytes_are_a_page(page in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = values(&page);
    }
}
