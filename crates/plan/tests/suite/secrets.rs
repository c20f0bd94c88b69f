//! Whether plans, their texts and their problems show secrets.

use crate::support::{again, campaign, parse};

const BASE: &str = "target.url = \"http://a.test/\"\nload = { connections = 1, requests = 1 }\n";

fn plan(more: &str) -> Result<plan::Plan, String> {
    parse(&format!("{BASE}{more}"))
}

#[test]
fn masked_text_is_the_canonical_one_without_values_of_secret_headers() {
    let plan = plan(
        "request.headers = { Authorization = \"Basic se\\\"cret\", cookie = [\"a=secret\", \
         \"b\"], x = \"kept\" }\ntarget.addresses = [\"10.0.0.1\"]",
    )
    .unwrap();
    let (whole, masked) = (plan.canonical_text(), plan.masked_text());
    let expected = whole
        .replace("\"Basic se\\\"cret\"", "\"(not saved)\"")
        .replace("[\"a=secret\", \"b\"]", "\"(not saved)\"");
    assert!(expected != whole, "{whole}");
    assert_eq!(masked, expected);
    assert_eq!(plan.secrets(), ["authorization", "cookie"]);
    assert_eq!(
        again(&plan).unwrap().digest(),
        plan.digest(),
        "agents get the whole text"
    );
}

#[test]
fn no_value_of_a_header_is_in_the_debug_text_of_a_plan() {
    let plan = plan("request.headers = { authorization = \"secret\", x = \"secret\" }").unwrap();
    let text = format!("{plan:#?}");
    assert!(
        text.contains("authorization") && !text.contains("secret\""),
        "{text}"
    );
}

#[test]
fn value_that_was_not_saved_is_asked_for() {
    let problem = plan("request.headers.Cookie = [\"a=b\", \"(not saved)\"]").unwrap_err();
    assert_eq!(
        problem,
        "3:34: request.headers.Cookie[1]: \"(not saved)\" stands for the value, which saved plans \
         leave out; give the original file, or write the value here"
    );
    assert!(plan("request.headers.x = \"(not saved)\"").is_ok());
}

#[test]
fn problems_show_no_secret() {
    for (text, problem) in [
        (
            "headers.cookie = \"secret \"",
            "cookie: *** has spaces around it",
        ),
        (
            "headers.cookie = [\"a\", \"secret\\n\"]",
            "cookie[1]: *** holds '\\n', which",
        ),
        (
            "headers.\"COOKIE\" = 12345",
            "COOKIE: found the integer *** where a string belongs",
        ),
        (
            "headers.x = 12345",
            "x: found the integer 12345 where a string belongs",
        ),
    ] {
        let found = plan(&format!("request.{text}")).unwrap_err();
        assert!(
            found.contains(problem) && !found.contains("secret"),
            "{found}"
        );
    }
    for url in [
        "http://me:secret@a.test/",
        "http://me:sec/ret@a.test/",
        "http://me:secret x@a.test/",
        "http://me:80/secret@a.test:x/#",
        "//me:secret@a.test/",
        "me:secret@a.test",
        "ftp://me:secret@a.test/",
    ] {
        let found = url.parse::<plan::Url>().map_err(|error| error.to_string());
        let shows = found.as_ref().is_err_and(|found| found.contains("sec"));
        assert!(!shows, "{url}: {found:?}");
    }
    let found = "http://a.test/@ü"
        .parse::<plan::Url>()
        .unwrap_err()
        .to_string();
    assert!(found.contains("percent-encoded"), "{found}");
}

#[test]
fn variants_are_not_named_after_secrets() {
    let text = "matrix.\"request.headers.cookie\" = [\"secret-a\", \"secret-b\"]\n\
                matrix.\"request\" = [{ headers = { authorization = \"secret-c\" } }]\n";
    let names = |text: &str| -> Vec<String> {
        let campaign = campaign(&format!("{BASE}{text}")).unwrap();
        campaign
            .variants()
            .iter()
            .map(|variant| variant.name.clone())
            .collect()
    };
    let (cookies, requests) = text.split_once('\n').unwrap();
    assert_eq!(
        names(cookies),
        [
            "request.headers.cookie=secret",
            "request.headers.cookie=secret~2"
        ]
    );
    assert_eq!(names(requests), ["request=headers-authorization-se"]);
}
