//! Credentials: what is read, written and hidden.

use crate::support::{again, parse};
use plan::{Piece, Plan};

const BASE: &str = "target.url = \"http://a.test/\"\nload = { connections = 1, requests = 1 }\n";

fn plan(more: &str) -> Plan {
    let plan = parse(&format!("{BASE}{more}")).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(
        again(&plan).as_ref(),
        Ok(&plan),
        "{}",
        plan.canonical_text()
    );
    let saved = Plan::parse_saved(&plan.masked_text());
    assert!(saved.is_ok(), "{}\n{saved:?}", plan.masked_text());
    plan
}

#[test]
fn secrets_of_credentials_are_neither_saved_nor_shown() {
    let plan = plan(
        "vars.token = { secret = \"p1anted\" }\n\
         auth.api.bearer = \"{token}\"\n\
         auth.own.bearer = \"p1anted\"\n\
         auth.shop.basic = { user = \"ann\", password = \"p1anted\" }\n\
         request = [{ name = \"a\", auth = \"api\" }, { name = \"b\", auth = \"shop\" },\n\
         { name = \"c\", auth = \"own\" }]",
    );
    let masked = plan.masked_text();
    assert!(!masked.contains("p1anted"), "{masked}");
    assert!(
        masked.contains("basic = { user = \"ann\", password = \"(not saved)\" }"),
        "{masked}"
    );
    assert!(!format!("{plan:?}").contains("p1anted"));
    assert_eq!(plan.secrets(), ["authorization", "{token}"]);
    let hidden = plan.with_secrets_hidden();
    for request in hidden.requests() {
        let (name, value) = request.fields().last().unwrap();
        assert_eq!((name, value.to_string().as_str()), ("authorization", "***"));
    }
}

#[test]
fn bearer_is_its_scheme_and_the_token() {
    let plan = plan("auth.api.bearer = \"t-{seq}\"\nrequest.auth = \"api\"");
    let (name, value) = plan.requests()[0].fields().last().unwrap();
    assert_eq!(name, "authorization");
    let expected = [Piece::Literal("Bearer t-".into()), Piece::Seq];
    assert_eq!(value.pieces, expected);
}

#[test]
fn plan_without_credentials_has_none_in_its_text() {
    let plan = plan("");
    assert!(!plan.canonical_text().contains("auth"));
}

#[test]
fn rows_of_credentials_are_taken() {
    let plan = plan(
        "data.users = { file = \"users.csv\", order = \"user\", secret = [\"password\"] }\n\
         auth.shop.basic = { user = \"{users.login}\", password = \"{users.password}\" }\n\
         request.auth = \"shop\"",
    );
    assert!(plan.notes().is_empty(), "{:?}", plan.notes());
    assert!(plan.has_declared_texts());
    let text = plan.masked_text();
    assert!(text.contains("user = \"{users.login}\""), "{text}");
}

#[test]
fn variable_of_credentials_no_request_has_stays_in_the_text() {
    let plan = plan("vars.t = { secret = \"x\" }\nauth.api.bearer = \"{t}\"");
    let note = "auth.api: no request has it; write auth = \"api\" in [request]";
    assert_eq!(plan.notes(), [note]);
}

#[test]
fn what_cannot_be_is_refused_with_its_cure() {
    for (text, expected) in [
        (
            "request.auth = \"api\"",
            "\"api\" names no credentials of the plan; declare them below [auth.api]",
        ),
        (
            "auth.a.bearer = \"t\"\nrequest.auth = \"b\"",
            "\"b\" names no credentials of the plan; write one of a",
        ),
        (
            "auth.a = {}",
            "auth.a: has no credentials; write basic = { user = \"…\", password = \"…\" } or",
        ),
        (
            "auth.a = { basic = { user = \"u\", password = \"p\" }, bearer = \"t\" }",
            "has basic and bearer; write each below a name of its own",
        ),
        (
            "auth.bearer = \"p1anted\"",
            "auth.bearer: found the string *** where a table belongs",
        ),
        (
            "auth.a.oauth2 = { token_url = \"https://a.test/token\", secret = \"p1anted\" }",
            "auth.a.oauth2: tokens are not fetched; fetch one before the start, and write bearer",
        ),
        ("auth.a.bearr = \"p1anted\"", "unknown key; write bearer"),
        ("auth.a.bearer = \"\"", "auth.a.bearer: is empty"),
        (
            "vars.t = { secret = \"\" }\nauth.a.bearer = \"{t}\"",
            "auth.a.bearer: is empty; write a text, or a variable that has one",
        ),
        (
            "auth.a.bearer = \"p1anted \"",
            "*** has spaces around it, which no server sees",
        ),
        (
            "auth.a.bearer = \"p1anted\\n\"",
            "*** holds '\\n', which would end or break the header",
        ),
        (
            "auth.a.bearer = \"(not saved)\"",
            "stands for the value, which saved plans leave out",
        ),
        (
            "vars.t = \"p1anted\"\nauth.a.bearer = \"{t}\"",
            "has the variable {t}, whose value is saved, and this value must not be",
        ),
        (
            "auth.a.basic = { user = \"u:v\", password = \"p\" }",
            "auth.a.basic.user: holds a colon",
        ),
        (
            "auth.a.basic = { user = \"u\" }",
            "auth.a.basic: has no password; write password = \"{password}\"",
        ),
        (
            "auth.a.basic = { password = \"p\" }",
            "auth.a.basic: has no user; write user = \"{users.login}\"",
        ),
        (
            "let.now = { timestamp = \"http\" }\n\
             auth.a.basic = { user = \"{now}\", password = \"p\" }",
            "{now} has a colon, at which a server ends the name; remove it from let.now",
        ),
        (
            "data.c = \"coupons.jsonl\"\nauth.a.basic = { user = \"u\" }",
            "data.c: found the string",
        ),
        (
            "auth.a.bearer = \"t\"\n\
             request = { auth = \"a\", headers = { Authorization = \"x\" } }",
            "request.auth: given beside headers.authorization; remove one of the two",
        ),
        (
            "auth.a.bearer = \"t\"\nrequest.auth = \"a\"\nconnection.requests = 0",
            "request.auth: has no meaning with connection.requests = 0",
        ),
        (
            "auth.\"a b\".bearer = \"t\"",
            "is not the name of credentials",
        ),
    ] {
        let problems = parse(&format!("{BASE}{text}")).expect_err(text);
        assert!(problems.contains(expected), "{text}:\n{problems}");
        assert!(!problems.contains("p1anted"), "{problems}");
    }
}

#[test]
fn requests_of_a_log_have_credentials_too() {
    let text = "target.url = \"http://a.test/\"\nreplay.file = \"replay.jsonl\"\n\
                load.max_connections = 5\nauth.api.bearer = \"t\"\nrequest.auth = \"api\"\n";
    let plan = parse(text).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(
        again(&plan).as_ref(),
        Ok(&plan),
        "{}",
        plan.canonical_text()
    );
    for request in plan.requests() {
        let (name, _) = request.fields().last().expect("a field");
        assert_eq!(name, "authorization");
    }
}
