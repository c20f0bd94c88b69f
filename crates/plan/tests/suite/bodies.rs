//! Bodies that plans write as what they mean: forms, JSON and several parts.

use crate::support::{again, campaign, parse};
use plan::{Body, Piece, Plan};

const BASE: &str = "target.url = \"http://a.test/\"\n\
                    load = { connections = 1, requests = 1 }\n\
                    data.users.file = \"users.csv\"\n\
                    vars.key = { secret = \"a&b\\\"c\" }\n\
                    vars.pair = { secret = '1, \"x\": 2' }\n";

fn plan(request: &str) -> Plan {
    parse(&format!("{BASE}[request]\nmethod = \"POST\"\n{request}\n")).expect("a plan")
}

fn problem(request: &str) -> String {
    parse(&format!("{BASE}[request]\nmethod = \"POST\"\n{request}\n")).expect_err("problems")
}

fn content_type(plan: &Plan) -> String {
    let headers = &plan.requests()[0].headers;
    let found = headers.iter().find(|(name, _)| name == "content-type");
    found
        .map(|(_, value)| value.reveal().to_string())
        .expect("a content type")
}

/// The body's text, with the first row's cells and with secrets.
fn body(plan: &Plan) -> String {
    let Some(Body::Text(text)) = &plan.requests()[0].body else {
        panic!("{:?}", plan.requests()[0].body);
    };
    let mut out = Vec::new();
    for piece in &text.pieces {
        match piece {
            Piece::Literal(text) => out.extend_from_slice(text.as_bytes()),
            Piece::Column(column) => {
                let cell = column.file.table.cell(0, column.index);
                cell.put(column.escape, &mut out);
            }
            Piece::Secret { value, escape, .. } => escape.put(value.reveal().as_bytes(), &mut out),
            other => out.extend_from_slice(format!("<{other:?}>").as_bytes()),
        }
    }
    let again = again(plan).expect("the canonical text is a plan");
    assert_eq!(
        (again.digest(), again.requests()),
        (plan.digest(), plan.requests())
    );
    String::from_utf8(out).expect("text")
}

#[test]
fn form_is_encoded_and_its_placeholders_stay() {
    let plan = plan(
        "form = { \"a b\" = \"x&y={user}\", n = 3, many = [\"1\", true], \
         p = \"{users.password}\", k = \"{key}\" }",
    );
    assert_eq!(content_type(&plan), "application/x-www-form-urlencoded");
    assert_eq!(
        body(&plan),
        "a%20b=x%26y%3D<User>&n=3&many=1&many=true&p=a%2C1&k=a%26b%22c"
    );
    assert!(!plan.masked_text().contains("a&b"));
}

#[test]
fn json_is_a_table_or_a_text() {
    let table = plan(
        "json = { b = \"q\\\"{users.login}\", a = [1, 2.5, { \"x.y\" = false }], k = \"{key}\" }",
    );
    assert_eq!(content_type(&table), "application/json");
    assert_eq!(
        body(&table),
        "{\"b\":\"q\\\"ann\",\"a\":[1,2.5,{\"x.y\":false}],\"k\":\"a&b\\\"c\"}"
    );
    let text = plan("json = '{\"n\": {seq}, \"s\": \"{seq}\"}'");
    assert_eq!(body(&text), "{\"n\": <Seq>, \"s\": \"<Seq>\"}");
    let own = plan("headers.content-type = \"application/vnd.api+json\"\njson = [1]");
    assert_eq!(
        (content_type(&own), body(&own)),
        ("application/vnd.api+json".into(), "[1]".into())
    );
}

#[test]
fn parts_have_heads_and_a_boundary_that_follows_from_them() {
    let parts = "multipart = [{ name = \"t\", text = \"{users.login}\" }, \
                 { name = \"f\", file = \"clients/README\", type = \"text/plain\" }]";
    let plan = plan(parts);
    let Some(Body::Multipart(body)) = &plan.requests()[0].body else {
        panic!("{:?}", plan.requests()[0].body);
    };
    let boundary = body.boundary();
    assert_eq!(
        content_type(&plan),
        format!("multipart/form-data; boundary={boundary}")
    );
    assert_eq!(
        body.head(1),
        format!(
            "\r\n--{boundary}\r\nContent-Disposition: form-data; name=\"f\"; \
             filename=\"README\"\r\nContent-Type: text/plain\r\n\r\n"
        )
    );
    assert_eq!(plan.files().len(), 2, "the data and the part");
    let again = again(&plan).expect("the canonical text is a plan");
    assert_eq!(
        (again.digest(), again.requests()),
        (plan.digest(), plan.requests())
    );
}

#[test]
fn wrong_bodies_say_what_to_write() {
    for (request, expected) in [
        (
            "form = { a = 1 }\nbody = \"x\"",
            "given beside body; keep one of them",
        ),
        (
            "form = { a = [{ b = 1 }] }",
            "found a table where a text, a number or a flag belongs",
        ),
        (
            "headers.content-type = \"text/plain\"\nform = { a = 1 }",
            "has a content-type that is no form's; remove it from headers",
        ),
        (
            "json = '{\"a\": {users.login}}'",
            "{users.login} has a cell that is no JSON value, and stands outside of a string",
        ),
        (
            "json = '{\"a\": {pair}}'",
            "is no JSON with values in place of its placeholders",
        ),
        (
            "json = '[{random}]'",
            "is no JSON with values in place of its placeholders",
        ),
        (
            "json = '[{seq}{user}]'",
            "is no JSON with values in place of its placeholders",
        ),
        (
            "json = '[{key}]'",
            "is no JSON with values in place of its placeholders",
        ),
        (
            "json = '{\"a\": 1'",
            "is no JSON with values in place of its placeholders: EOF while parsing an object; \
             write body = '…'",
        ),
        (
            "json = { a = inf }",
            "has a number that JSON has not; write one that is finite",
        ),
        ("multipart = []", "has 0 parts; write between 1 and 100"),
        (
            "multipart = [{ name = \"a\" }]",
            "holds a text or a file; write text = \"…\" or file = \"…\"",
        ),
        (
            "multipart = [{ name = \"a\\\"\", text = \"x\" }]",
            "does not fit the head of a part",
        ),
        (
            "multipart = [{ name = \"a\", file = 'a\"b.json' }]",
            "has a file whose name does not fit the head of a part; write filename = ",
        ),
        (
            "headers.content-type = \"text/plain\"\nmultipart = [{ name = \"a\", text = \"x\" }]",
            "has a content-type of its own, with the boundary of its parts",
        ),
    ] {
        let said = problem(request);
        assert!(said.contains(expected), "{request}\n{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn variables_within_quotes_are_texts_whatever_they_look_like() {
    let vars = "vars.zip = \"01234\"\nvars.big = \"1e3\"\nvars.flag = \"true\"\nvars.number = 5\n";
    let body_of = |more: &str| {
        let text = format!("{BASE}{vars}[request]\nmethod = \"POST\"\n{more}\n");
        body(&parse(&text).expect("a plan"))
    };
    assert_eq!(
        body_of("json = { zip = \"{zip}\", big = \"{big}\", flag = \"{flag}\", n = \"{number}\" }"),
        "{\"zip\":\"01234\",\"big\":\"1e3\",\"flag\":\"true\",\"n\":\"5\"}"
    );
    assert_eq!(
        body_of("form = { zip = \"{zip}\", big = \"{big}\", flag = \"{flag}\" }"),
        "zip=01234&big=1e3&flag=true"
    );
    assert_eq!(body_of("json = '[{number}, {flag}]'"), "[5, true]");
}

#[test]
fn keys_of_bodies_are_not_secret_by_their_names() {
    let plan = plan("json = { cookie = \"abc\", vars = { secret = 1 } }");
    let expected = "{\"cookie\":\"abc\",\"vars\":{\"secret\":1}}";
    assert_eq!(body(&plan), expected);
    let text = "[request]\njson = { cookie = \"abc\", vars = { secret = 1 } }\n";
    assert_eq!(plan::mask_secrets(text), text);
}

#[test]
fn axis_reaches_into_json() {
    let text = format!(
        "{BASE}request = {{ method = \"POST\", json = {{ a = {{ b = 1 }}, \"x.y\" = 0 }} }}\n\
         matrix.\"request.json.a.b\" = [2, 3]\n"
    );
    let campaign = campaign(&text).expect("a campaign");
    let bodies: Vec<String> = campaign
        .variants()
        .iter()
        .map(|one| body(&one.plan))
        .collect();
    assert_eq!(
        bodies,
        ["{\"a\":{\"b\":2},\"x.y\":0}", "{\"a\":{\"b\":3},\"x.y\":0}"]
    );
}

#[test]
fn names_of_forms_and_json_may_have_dots_in_variants_too() {
    let text = format!(
        "{BASE}request.method = \"POST\"\nvariants.a.request.form = {{ \"x.y\" = 1 }}\n\
         variants.b.request.json = {{ \"x.y\" = {{ \"z.w\" = 1 }} }}\n"
    );
    let campaign = campaign(&text).expect("a campaign");
    let bodies: Vec<String> = campaign
        .variants()
        .iter()
        .map(|one| body(&one.plan))
        .collect();
    assert_eq!(bodies, ["x.y=1", "{\"x.y\":{\"z.w\":1}}"]);
}
