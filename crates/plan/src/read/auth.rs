//! Reads `[auth.NAME]`, and which of these credentials a request has.

use crate::auth::{AUTHORIZATION, Auth, AuthScheme};
use crate::read::aws;
use crate::read::columns;
use crate::read::context::Context;
use crate::read::field::Field;
use crate::read::header;
use crate::read::oauth2;
use crate::read::section::PlanSection;
use crate::read::variables::is_fit;
use crate::{Request, Template};
use secret::Secret;
use std::sync::Arc;

/// The section of the credentials.
pub(crate) const SECTION: &str = "auth";
const MAX_CREDENTIALS: usize = 100;
/// The keys of which credentials have one.
const KINDS: [&str; 4] = ["basic", "bearer", "oauth2", "aws"];

/// Reads all credentials; `None` if any are wrong and were reported.
pub(crate) fn read(root: &PlanSection<'_>) -> Option<Vec<Arc<Auth>>> {
    let section = root.section(SECTION)?;
    let fields = section.all();
    if fields.len() > MAX_CREDENTIALS {
        section.problem(format_args!(
            "has {} credentials; write at most {MAX_CREDENTIALS}",
            fields.len()
        ));
        return None;
    }
    let read = fields
        .into_iter()
        .map(|(name, field)| one(name, &field).map(Arc::new));
    let read: Vec<Option<Arc<Auth>>> = read.collect();
    read.into_iter().collect()
}

fn one(name: &str, field: &Field<'_>) -> Option<Auth> {
    if !is_fit(name) {
        field.problem(
            "is not the name of credentials; write letters, digits, \"_\" and \"-\", beginning \
             with a letter, such as [auth.api]",
        );
        return None;
    }
    let section = field.section()?;
    let given = section.given(&KINDS);
    let [kind] = given.as_slice() else {
        let cure = "write basic = { user = \"…\", password = \"…\" }, bearer = \"…\", oauth2 = { \
                    token_url = \"…\", client = \"…\", secret = \"…\" } or aws = { region = \
                    \"…\", service = \"…\", access_key = \"…\", secret_key = \"…\" }";
        section.problem(match given.as_slice() {
            [] => format!("has no credentials; {cure}"),
            given => format!(
                "has {}; write each below a name of its own",
                given.join(" and ")
            ),
        });
        section.finish();
        return None;
    };
    let scheme = match *kind {
        "basic" => section.read("basic", |field| basic(&field)),
        "aws" => section.read("aws", |field| {
            aws::read(&field).map(|aws| AuthScheme::Aws(Box::new(aws)))
        }),
        "oauth2" => section.read("oauth2", |field| {
            oauth2::read(&field).map(|request| AuthScheme::OAuth2(Box::new(request)))
        }),
        _ => section.read("bearer", |field| {
            let token = header::text(&field, "a token such as \"{token}\"")?;
            Some(AuthScheme::Bearer(Secret::new(token)))
        }),
    };
    section.finish();
    Some(Auth::new(name, scheme?))
}

fn basic(field: &Field<'_>) -> Option<AuthScheme> {
    let section = field.section()?;
    for (key, example) in [
        ("user", "\"{users.login}\""),
        ("password", "\"{password}\""),
    ] {
        if !section.has(key) {
            section.problem(format_args!("has no {key}; write {key} = {example}"));
        }
    }
    let user = section.read("user", |field| user(&field));
    let password = section.read("password", |field| {
        header::text(&field, "the password in quotes")
    });
    section.finish();
    Some(AuthScheme::Basic {
        user: user?,
        password: Secret::new(password?),
    })
}

/// Reads a name, which ends at the first colon (RFC 7617 §2).
fn user(field: &Field<'_>) -> Option<Template> {
    let user = header::text(field, "the name in quotes")?;
    let whole = field.reveal(field.template_text("")?)?;
    if whole.reveal().contains(':') {
        field.problem("holds a colon, at which a server ends the name; remove it (RFC 7617 §2)");
        return None;
    }
    columns::without(
        field,
        &user,
        b':',
        "a colon, at which a server ends the name",
    );
    Some(user)
}

/// Reads which credentials a request has.
pub(crate) fn of_request(
    field: &Field<'_>,
    headers: &[(String, Secret<Template>)],
) -> Option<Arc<Auth>> {
    let name = field.text("the name of credentials, such as \"api\" for [auth.api]")?;
    let is_credential = |(name, _): &&(String, _)| name.eq_ignore_ascii_case(AUTHORIZATION);
    if headers.iter().any(|header| is_credential(&header)) {
        field.problem("given beside headers.authorization; remove one of the two");
        return None;
    }
    // What is wrong with the credentials has been said.
    let known = field.context.auth()?;
    let found = known.iter().find(|auth| auth.name == name);
    if found.is_none() {
        let names: Vec<&str> = known.iter().map(|auth| auth.name.as_str()).collect();
        let cure = match names.as_slice() {
            [] => format!("declare them below [auth.{name}]"),
            names => format!("write one of {}", names.join(", ")),
        };
        field.refuse(format_args!("names no credentials of the plan; {cure}"));
    }
    found.cloned()
}

/// Notes credentials that no request has.
pub(crate) fn note_unused(context: &Context<'_>, requests: &[Request]) {
    for auth in context.auth().unwrap_or_default() {
        let has_it = |request: &Request| request.auth.as_ref() == Some(auth);
        if !requests.iter().any(has_it) {
            let name = &auth.name;
            context.note(format!(
                "auth.{name}: no request has it; write auth = \"{name}\" in [request]"
            ));
        }
    }
}
