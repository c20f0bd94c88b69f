//! Variables: where their values come from, where they go, and what stays hidden.

use crate::support::{Folder, again};
use plan::{Campaign, Plan, Settings, Shape};
use std::collections::BTreeMap;

const BASE: &str = "load = { connections = 1, requests = 1 }\n";

/// Reads a campaign with what `--set` gives, in an environment that has one key.
fn read(text: &str, set: &[(&str, &str)]) -> Result<Campaign, String> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let set: BTreeMap<String, String> = set.iter().map(own).collect();
    let environment = |name: &str| match name {
        "KEY" => Ok("p1anted".to_owned()),
        "BROKEN" => Ok("one\r\ntwo".to_owned()),
        _ => Err("it is not set".to_owned()),
    };
    let settings = Settings {
        set: &set,
        environment: &environment,
    };
    Campaign::parse_bytes(text.as_bytes(), &mut Folder::new(), settings)
        .map_err(|problems| problems.to_string())
}

fn plan(text: &str, set: &[(&str, &str)]) -> Result<Plan, String> {
    let text = format!("{BASE}{text}");
    read(&text, set).map(|campaign| campaign.variants()[0].plan.clone())
}

fn sent(plan: &Plan) -> String {
    let path = plan.requests()[0].path.as_ref();
    path.map(ToString::to_string).unwrap_or_default()
}

#[test]
fn values_go_wherever_a_plan_has_text() {
    let text = "
        vars = { host = \"a.test\", site = \"https://{host}\", time = \"5s\", limit = 300 }
        name = \"at-{limit}\"
        [target]
        url = \"{site}/x\"
        [connection]
        timeouts.request = \"{time}\"
        [thresholds]
        \"response_time.p99\" = \"<= {limit}ms\"";
    let plan = plan(text, &[("host", "b.test")]).unwrap();
    let canonical = plan.canonical_text();
    for part in [
        "\"https://b.test/x\"",
        "\"at-300\"",
        "request = \"5s\"",
        "<= 300ms",
    ] {
        assert!(canonical.contains(part), "{part}: {canonical}");
    }
    assert!(!canonical.contains("vars"), "{canonical}");
    assert_eq!(again(&plan).unwrap().digest(), plan.digest());
}

#[test]
fn single_variable_may_stand_where_a_number_belongs() {
    let text = "
        vars = { users = 10, cold = true }
        target.url = \"http://a.test/\"
        load = { connections = \"{users}\", requests = 100, warm_up = \"0s\" }
        connection.confirm = \"{cold}\"";
    let users = |set: &[(&str, &str)]| {
        let campaign = read(text, set)?;
        match campaign.variants()[0].plan.load().shape {
            Shape::Closed { connections, .. } => Ok(connections),
            Shape::Open { .. } => Err("an open loop".to_owned()),
        }
    };
    assert_eq!(
        users(&[]).map(|users| users.to_string()),
        Ok("10".to_owned())
    );
    let set = users(&[("users", "70")]).map(|users| users.to_string());
    assert_eq!(set, Ok("70".to_owned()));
    let problem = users(&[("users", "many")]).unwrap_err();
    assert!(problem.contains("load.connections: found"), "{problem}");
}

#[test]
fn secrets_are_sent_and_shown_nowhere() {
    let text = "
        vars = { key = \"env:KEY\", own = { secret = \"p1anted-too\" } }
        target.url = \"http://a.test/\"
        [request]
        method = \"POST\"
        path = \"/x/{key}?key={key}\"
        headers = { x-key = \"k {own}\" }
        body = '{\"key\": \"{key}\", \"n\": {seq}}'";
    let plan = plan(text, &[]).unwrap();
    let canonical = plan.canonical_text();
    assert!(
        canonical.contains("key = { secret = \"p1anted\" }"),
        "{canonical}"
    );
    assert_eq!(canonical.matches("p1anted").count(), 2, "{canonical}");
    for shown in [
        plan.masked_text(),
        format!("{plan:?}"),
        plan.requests()[0].name.clone(),
        plan::mask_secrets(text),
    ] {
        assert!(!shown.contains("p1anted"), "{shown}");
    }
    assert_eq!(sent(&plan), "/x/{key}?key={key}");
    let read_again = again(&plan).unwrap();
    assert_eq!(read_again.digest(), plan.digest());
    assert_eq!(read_again.requests(), plan.requests());
    let saved = Plan::parse_saved(&plan.masked_text()).unwrap();
    assert_eq!(sent(&saved), "/x/{key}?key={key}");
    let masked = read(&plan::mask_secrets(&format!("{BASE}{text}")), &[]).unwrap_err();
    assert!(masked.contains("vars.own: \"(not saved)\""), "{masked}");
}

#[test]
fn value_that_is_set_for_a_secret_is_a_secret() {
    let text =
        "vars.key = \"env:NONE\"\ntarget.url = \"http://a.test/\"\nrequest.path = \"/{key}\"";
    let plan = plan(text, &[("key", "p1anted")]).unwrap();
    assert_eq!(sent(&plan), "/{key}");
    assert!(!plan.masked_text().contains("p1anted"));
}

#[test]
fn variants_and_axes_have_values_of_their_own() {
    let text = format!(
        "{BASE}vars.host = \"a.test\"\ntarget.url = \"http://{{host}}/\"\n
        [matrix]\n\"vars.host\" = [\"b.test\", \"c.test\"]\n"
    );
    let campaign = read(&text, &[]).unwrap();
    let urls: Vec<String> = campaign
        .variants()
        .iter()
        .map(|variant| variant.plan.target().url.to_string())
        .collect();
    assert_eq!(urls, ["http://b.test/", "http://c.test/"]);
}

#[test]
fn value_of_a_variant_reaches_what_is_made_of_it() {
    let text = format!(
        "{BASE}vars = {{ host = \"a.test\", site = \"http://{{host}}\" }}\n\
         target.url = \"{{site}}/\"\n[matrix]\n\"vars.host\" = [\"b.test\", \"c.test\"]\n"
    );
    let campaign = read(&text, &[]).unwrap();
    let url = |nth: usize| campaign.variants()[nth].plan.target().url.to_string();
    assert_eq!([url(0), url(1)], ["http://b.test/", "http://c.test/"]);
    assert_eq!(campaign.unsaved_values(), ["{host}", "{site}"]);
}

#[test]
fn values_with_words_in_braces_are_sent_as_they_are() {
    let text = "vars = { key = \"env:KEY\", body = {} }\ntarget.url = \"http://a.test/\"\n\
                request = { method = \"POST\", path = \"/{key}\", body = \"{body}\" }";
    for body in ["{\"id\":\"{uuid}\"}", "{key} {body} {other}"] {
        let plan = plan(text, &[("body", body)]).unwrap();
        let again = again(&plan).unwrap();
        assert_eq!(again.requests(), plan.requests());
        assert_eq!(again.digest(), plan.digest());
        assert!(Plan::parse_saved(&plan.masked_text()).is_ok());
    }
}

#[test]
fn amounts_of_every_kind_take_a_variable() {
    let text = "vars.n = 2\ntarget.url = \"http://a.test/\"\nconnection.requests = \"{n}\"\n\
                fleet = { lost = \"continue\", tolerate = \"{n}\" }\n\
                request = { headers = { x = \"{n}\" }, expect = { status = [\"{n}xx\"] } }\n\
                load = { connections = \"{n}\", stage = [{ over = \"{n}s\", to = \"{n}\" }] }";
    let canonical = read(text, &[]).unwrap().variants()[0].plan.canonical_text();
    for part in [
        "requests = 2",
        "tolerate = 2",
        "\"x\" = \"2\"",
        "[\"200-299\"]",
        "connections = 2",
        "to = 2",
    ] {
        assert!(canonical.contains(part), "{part}: {canonical}");
    }
}

#[test]
fn searches_and_repeats_take_variables() {
    let text = "
        vars = { times = 3, most = \"200/s\" }
        target.url = \"http://a.test/\"
        load.max_connections = 10
        repeat.times = \"{times}\"
        [search]
        rate = { from = \"10/s\", to = \"{most}\" }
        hold = \"5s\"";
    let problem = read(text, &[("most", "x")]).unwrap_err();
    assert!(problem.contains("\"x\""), "{problem}");
}

#[test]
fn problems_say_where_and_what_to_write() {
    let url = "target.url = \"http://a.test/\"\n";
    for (text, set, problem) in [
        (
            "vars = { site = \"a\" }\ntarget.url = \"http://{sit}.test/\"",
            &[][..],
            "3:14: target.url: {sit} is none of the variables site, {user}, {seq}, {random}; \
             declare it below [vars], [data.NAME] or [let], or write a space behind its brace to \
             send it as it is",
        ),
        (
            "vars.site = \"{users.login}\"\ntarget.url = \"http://a.test/{site}\"",
            &[],
            "2:13: vars.site: {users.login} is none of the variables site, {user}, {seq}, \
             {random}; declare it below [vars] too, or write a column or a made value where it is \
             to be sent",
        ),
        (
            "vars.site = {}\ntarget.url = \"http://{site}/\"",
            &[],
            "2:13: vars.site: has no value; give it with --set site=VALUE",
        ),
        (
            "vars.key = \"env:NONE\"\ntarget.url = \"http://a.test/\"",
            &[],
            "2:12: vars.key: \"env:NONE\" cannot be had: it is not set; export NONE, or give it \
             with --set key=VALUE",
        ),
        (
            "vars.key = \"env:KEY\"\ntarget.url = \"http://{key}.test/\"",
            &[],
            "3:14: target.url: has the secret {key}, which can stand in request.path, headers and \
             body, since results show everything else; write a variable that is not secret, and \
             give it with --set",
        ),
        (
            "vars.key = \"env:BROKEN\"\ntarget.url = \"http://a.test/\"\n\
             request.headers.x = \"{key}\"",
            &[],
            "4:21: request.headers.x: \"{key}\" holds a character of a secret, \
             which would end or break the header; remove it",
        ),
        (
            "vars.site = \"a\"\ntarget.url = \"http://a.test/\"",
            &[("sites", "b")],
            "vars: --set sites is for a variable that the plan does not declare; declared are site",
        ),
        (
            url,
            &[("site", "b")],
            "vars: --set site is for a variable that the plan does not declare; write site = {} \
             below [vars] in the plan",
        ),
        (
            "vars.user = \"a\"\ntarget.url = \"http://a.test/\"",
            &[],
            "2:13: vars.user: is not the name of a variable; write letters, digits, \"_\" and \
             \"-\", beginning with a letter, and none of user, seq, random, secret",
        ),
        (
            "vars.token = \"a\"\ntarget.url = \"http://a.test/\"\n\
             request.headers.authorization = [\"Bearer {token}\"]",
            &[],
            "4:34: request.headers.authorization[0]: has the variable {token}, whose value is \
             saved, and this value must not be; write token = \"env:NAME\" or \
             { secret = \"…\" } below [vars]",
        ),
        (
            "vars.a = \"{b}\"\nvars.b = \"{a}\"\ntarget.url = \"http://a.test/\"",
            &[],
            "2:10: vars.a: is made of itself, by way of others or not; write a value\n\
             3:10: vars.b: is made of itself, by way of others or not; write a value",
        ),
        (
            "vars.key = \"env:KEY\"\ntarget.url = \"http://a.test/\"\n\
             request.body_file = \"{key}\"",
            &[],
            "4:21: request.body_file: has the secret {key}, which can stand in request.path, \
             headers and body, since results show everything else; write a variable that is not \
             secret, and give it with --set",
        ),
        (
            "vars.key = \"env:KEY\"\ntarget.url = \"http://a.test/\"\n\
             variants = { a = { \"vars.key\" = \"b\" } }",
            &[],
            "4:20: vars.key: is secret in the file, and would be plain here; write \"env:NAME\" \
             or { secret = \"…\" }",
        ),
        (
            "vars.site = \"a\"\ntarget.url = \"http://a.test/\"\n\
             matrix.\"vars.site\" = [\"b\", \"c\"]",
            &[("site", "d")],
            "4:22: vars.site: is set by a variant or an axis, and --set site would replace that in \
             each; leave out one of the two",
        ),
        (
            "vars.x = [1]\ntarget.url = \"http://a.test/\"",
            &[],
            "2:10: vars.x: found a list where a text, a number or a flag belongs; write one of \
             these",
        ),
        (
            "vars.x = { secrets = \"a\" }\ntarget.url = \"http://a.test/\"",
            &[],
            "2:12: vars.x.secrets: unknown key; write secret",
        ),
    ] {
        let found = plan(text, set).expect_err(text);
        assert_eq!(found, problem, "{text}");
    }
}

#[test]
fn plan_without_variables_is_read_as_before() {
    let text = "target.url = \"http://a.test/\"\nrequest.body = '{id} {\"a\":{seq}}'";
    let plan = plan(text, &[]).unwrap();
    assert_eq!(plan.notes().len(), 1, "{:?}", plan.notes());
    assert!(!plan.canonical_text().contains("vars"));
}

#[test]
fn short_plan_does_not_fill_the_memory() {
    let long = "x".repeat(10_000);
    let many = "{a}".repeat(50_000);
    let url = "target.url = \"http://a.test/\"";
    for (variables, problem) in [
        (format!("a = \"{long}\""), "texts with variables come to"),
        (
            format!("a = {{ secret = \"{long}\" }}"),
            "bytes with its secrets",
        ),
        (
            format!("a = \"{long}\"\nb = \"{many}\""),
            "with the variables in it",
        ),
    ] {
        let text = format!("{url}\nrequest.body = \"{many}\"\n[vars]\n{variables}\n");
        let found = plan(&text, &[]).unwrap_err();
        assert!(found.contains(problem), "{problem}: {found:.300}");
    }
    let each = (0..201).map(|nth| format!("v{nth} = 1\n"));
    let found = plan(&format!("{url}\n[vars]\n{}", each.collect::<String>()), &[]);
    assert!(found.unwrap_err().contains("write at most 200"));
}

#[test]
fn text_full_of_braces_is_read_in_time() {
    let text = format!(
        "vars.a = \"{0}\"\ntarget.url = \"http://a.test/\"\nrequest.body = \"{0}\"",
        "{".repeat(16_000)
    );
    assert!(plan(&text, &[]).is_ok());
}

#[test]
fn variable_may_be_a_tls_version() {
    let text = "
        vars.version = \"1.3\"
        target.url = \"https://a.test/\"
        tls.versions = [\"{version}\"]";
    for (set, wanted) in [(&[][..], "1.3"), (&[("version", "1.2")], "1.2")] {
        let canonical = plan(text, set).unwrap().canonical_text();
        let versions = format!("versions = [\"{wanted}\"]");
        assert!(canonical.contains(&versions), "{canonical}");
    }
}
