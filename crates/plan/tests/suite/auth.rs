//! Credentials: what is read, written and hidden.

use crate::support::{again, parse};
use plan::{Piece, Plan, TokenHolder};

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
fn token_is_asked_for_with_what_the_plan_says() {
    let texts = |more: &str| {
        let plan = plan(&format!(
            "vars.key = {{ secret = \"p1anted +/\" }}\nvars.site = \"https://a.test\"\n\
             request.auth = \"api\"\n\
             auth.api.oauth2 = {{ token_url = \"{{site}}/token\", client = \"lo:ad\", secret = \
             \"{{key}}\"{more} }}\n"
        ));
        let masked = plan.masked_text();
        assert!(!masked.contains("p1anted"), "{masked}");
        assert!(!format!("{plan:?}").contains("p1anted"));
        assert_eq!(plan.secrets(), ["authorization", "{key}"]);
        assert!(plan.has_declared_texts());
        let (name, request) = plan.token_requests().next().expect("a token");
        assert_eq!(
            (name, request.token_url.to_string().as_str()),
            ("api", "https://a.test/token")
        );
        let basic = request.basic().map(|basic| basic.reveal().clone());
        (request.body().reveal().clone(), basic)
    };
    let basic = Some("lo%3Aad:p1anted%20%2B%2F".to_owned());
    let grant = "grant_type=client_credentials";
    assert_eq!(texts(""), (grant.to_owned(), basic.clone()));
    let more = ", scope = \"read write\", parameters = { audience = \"https://b.test/\" }";
    let body = format!("{grant}&scope=read%20write&audience=https%3A%2F%2Fb.test%2F");
    assert_eq!(texts(more), (body, basic));
    let body = format!("{grant}&client_id=lo%3Aad&client_secret=p1anted%20%2B%2F");
    assert_eq!(
        texts(", client_auth = \"body\", per = \"agent\""),
        (body, None)
    );
}

#[test]
fn keys_of_aws_are_neither_saved_nor_shown() {
    let plan = plan(
        "vars.key = { secret = \"p1anted\" }\n\
         auth.s.aws = { region = \"eu-west-1\", service = \"s3\", access_key = \"p1anted\", \
         secret_key = \"{key}\", session_token = \"p1anted\" }\n\
         request = { path = \"/a?b\", auth = \"s\" }",
    );
    let masked = plan.masked_text();
    assert!(!masked.contains("p1anted"), "{masked}");
    assert!(
        masked.contains("region = \"eu-west-1\", service = \"s3\""),
        "{masked}"
    );
    assert!(!format!("{plan:?}").contains("p1anted"));
    assert!(
        plan.secrets().contains(&"{key}".to_owned()),
        "{:?}",
        plan.secrets()
    );
    let names = |plan: &Plan| -> Vec<&str> {
        let signature = plan.signature(&plan.requests()[0]);
        signature.into_iter().map(|(name, _)| name).collect()
    };
    let own = [
        "x-amz-date",
        "x-amz-content-sha256",
        "x-amz-security-token",
        "authorization",
    ];
    assert_eq!(names(&plan), own);
    assert!(plan.requests()[0].has_time());
    let hidden = plan.with_secrets_hidden();
    assert!(names(&hidden).is_empty());
    let (name, value) = hidden.requests()[0].fields().last().unwrap();
    assert_eq!((name, value.to_string().as_str()), ("authorization", "***"));
}

#[test]
fn secret_that_goes_out_unencrypted_is_noted() {
    let oauth2 = |url: &str| {
        plan(&format!(
            "request.auth = \"a\"\n\
             auth.a.oauth2 = {{ token_url = \"{url}\", client = \"c\", secret = \"s\" }}"
        ))
    };
    let note = "auth.a.oauth2.token_url: the client's secret goes there unencrypted; write \
                https:// (RFC 6749 §3.2)";
    assert_eq!(oauth2("http://b.test/token").notes(), [note]);
    for url in [
        "https://b.test/token",
        "http://127.0.0.1:8080/",
        "http://localhost/",
    ] {
        assert!(oauth2(url).notes().is_empty(), "{url}");
    }
}

#[test]
fn tokens_that_no_request_sends_are_not_fetched() {
    let plan =
        plan("auth.a.oauth2 = { token_url = \"https://b.test/\", client = \"c\", secret = \"s\" }");
    assert_eq!(plan.token_requests().count(), 0);
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
    let oauth2 = |more: &str| {
        format!(
            "auth.a.oauth2 = {{ token_url = \"https://a.test/token\", client = \"c\", secret = \
             \"p1anted\"{more} }}"
        )
    };
    let aws = |more: &str| {
        format!(
            "auth.a.aws = {{ region = \"eu-west-1\", service = \"iam\", access_key = \"p1anted\", \
             secret_key = \"p1anted\" }}\n{more}"
        )
    };
    for (text, expected) in [
        (
            "request.auth = \"api\"",
            "\"api\" names no credentials of the plan; declare them below [auth.api]",
        ),
        (
            &aws("request = { auth = \"a\", redirects = 1 }"),
            "request.redirects: a signature is for one path",
        ),
        (
            &aws("request = { auth = \"a\", headers.X-Amz-Date = \"x\" }"),
            "request.headers: X-Amz-Date is part of the signature; remove it",
        ),
        (
            &aws("request = { auth = \"a\", path = \"/a//b\" }"),
            "request.path: has \"//\", \".\" or \"..\", which the service reads as a shorter path",
        ),
        (
            &aws("request = { auth = \"a\", path = \"/?{user}=1\" }"),
            "request.path: has a placeholder in the name of a parameter",
        ),
        (
            &aws("request = { auth = \"a\", path = \"/?a={user}&a=1\" }"),
            "request.path: has a parameter twice, once with a placeholder",
        ),
        (
            &aws("request = { auth = \"a\", path = \"/a+b?c={user}+1\" }"),
            "request.path: has a + in the query, which servers sign as a space or as a +",
        ),
        (
            &aws("request = { auth = \"a\", path = \"/%2\" }"),
            "request.path: has a % without two digits behind it; write %25",
        ),
        (
            &aws("request = { auth = \"a\", method = \"POST\", \
                 multipart = [{ name = \"a\", text = \"b\" }] }"),
            "request.multipart: parts are not signed for AWS",
        ),
        (
            "auth.a.aws = { region = \"EU West\", service = \"s3\", access_key = \"a\" }",
            "auth.a.aws.region: \"EU West\" is not such a name; write one such as \"eu-west-1\"",
        ),
        (
            "auth.a.aws = { region = \"eu\", service = \"s3\", access_key = \"a\" }",
            "auth.a.aws: has no secret_key; write secret_key = \"{secret_key}\"",
        ),
        (
            "auth.a.bearer = \"t\"\nrequest.auth = \"b\"",
            "\"b\" names no credentials of the plan; write one of a",
        ),
        (
            "auth.a = {}",
            "auth.a: has no credentials; write basic = { user = \"…\", password = \"…\" }, bearer",
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
            "auth.a.oauth2: has no client; write client = \"load\"",
        ),
        (
            &oauth2(", per = \"user\""),
            "\"user\" is not known here; write \"agent\" or \"fleet\"",
        ),
        (
            &oauth2(", client_auth = \"post\""),
            "\"post\" is not known here; write \"basic\" or \"body\"",
        ),
        (
            &oauth2(", scope = \"a  b\""),
            "\"a  b\" is not a scope; write words of ASCII with one space between",
        ),
        (
            &oauth2(", parameters.scope = \"a\""),
            "auth.a.oauth2.parameters.scope: is sent by itself; remove it",
        ),
        (
            &oauth2(", parameters.user = \"{user}\""),
            "has a placeholder that differs between operations, and is the same for all of them",
        ),
        (
            "vars.s = \"p1anted\"\nauth.a.oauth2 = { token_url = \"https://a.test/\", client = \
             \"c\", secret = \"{s}\" }",
            "has the variable {s}, whose value is saved, and this value must not be",
        ),
        (
            "auth.a.oauth2 = { token_url = \"a.test\", client = \"c\", secret = \"p1anted\" }",
            "\"a.test\" has no scheme; write \"https://a.test\"",
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

#[test]
fn nothing_secret_goes_along_to_another_origin() {
    let plan = plan(
        "vars.key = { secret = \"p1anted\" }\n\
         target.redirects_to = [\"https://b.test:444\"]\nauth.api.bearer = \"t\"\n\
         let.sum = { hmac = \"sha256\", key = \"{key}\", of = \"{seq}\", as = \"hex\" }\n\
         let.id = \"uuid\"\n\
         [request]\nauth = \"api\"\nredirects = 1\n\
         headers = { Cookie = [\"a=b\", \"c=d\"], Proxy-Authorization = \"x\", \
         HOST = \"shop.test\", \
         x-key = \"k {key}\", x-sum = \"{sum}\", x-id = \"{id}\", accept = \"*/*\" }",
    );
    let origin = &plan.target().redirects_to[0].url;
    let sent = plan.requests()[0].to_origin(origin);
    let fields: Vec<_> = sent
        .fields()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    assert_eq!(fields, ["Host: b.test:444", "x-id: {id}", "accept: */*"]);
}

#[test]
fn token_of_the_whole_fleet_is_in_the_canonical_text_and_that_of_each_agent_is_not() {
    let parse = |more: &str| {
        plan(&format!(
            "request.auth = \"a\"\nauth.a.oauth2 = {{ token_url = \"http://127.0.0.1/token\", \
             client = \"c\", secret = \"s\"{more} }}"
        ))
    };
    let holder = |plan: &Plan| plan.token_requests().next().map(|(_, request)| request.per);
    let (unsaid, agent, fleet) = (
        parse(""),
        parse(", per = \"agent\""),
        parse(", per = \"fleet\""),
    );
    assert_eq!(unsaid.canonical_text(), agent.canonical_text());
    assert!(!agent.canonical_text().contains("per ="));
    assert!(fleet.canonical_text().contains(", per = \"fleet\" }"));
    let holders = [&unsaid, &agent, &fleet].map(holder);
    let expected = [TokenHolder::Agent, TokenHolder::Agent, TokenHolder::Fleet];
    assert_eq!(holders, expected.map(Some));
}

#[test]
fn hash_of_the_body_stands_in_a_field_for_every_name_of_s3() {
    for (service, has_it) in [
        ("s3", true),
        ("s3express", true),
        ("s3-outposts", true),
        ("s3-object-lambda", true),
        ("s3tables", false),
        ("iam", false),
    ] {
        let plan = plan(&format!(
            "request.auth = \"a\"\nauth.a.aws = {{ region = \"eu-west-1\", service = \
             \"{service}\", access_key = \"a\", secret_key = \"b\" }}"
        ));
        let fields = plan.signature(&plan.requests()[0]);
        let found = fields
            .iter()
            .any(|(name, _)| *name == "x-amz-content-sha256");
        assert_eq!(found, has_it, "{service}");
    }
}
