//! Reads `auth.NAME.aws`, and refuses requests that cannot be signed.

use crate::canonical_target::CanonicalTarget;
use crate::read::field::Field;
use crate::read::header::fixed;
use crate::read::section::PlanSection;
use crate::signature::OWN_FIELDS;
use crate::{AwsCredentials, Body, Request, Template, Url};
use secret::Secret;

pub(crate) fn read(field: &Field<'_>) -> Option<AwsCredentials> {
    let section = field.section()?;
    for (key, example) in [
        ("region", "\"eu-west-1\""),
        ("service", "\"s3\""),
        ("access_key", "\"{access_key}\""),
        ("secret_key", "\"{secret_key}\""),
    ] {
        if !section.has(key) {
            section.problem(format_args!("has no {key}; write {key} = {example}"));
        }
    }
    let region = section.read("region", |field| word(&field, "\"eu-west-1\""));
    let service = section.read("service", |field| word(&field, "\"s3\""));
    let key = |field: &Field<'_>| fixed(field, "the key in quotes").map(Secret::new);
    let access_key = section.read("access_key", |field| key(&field));
    let secret_key = section.read("secret_key", |field| key(&field));
    let session_token = section.read("session_token", |field| key(&field));
    section.finish();
    Some(AwsCredentials {
        region: region?,
        service: service?,
        access_key: access_key?,
        secret_key: secret_key?,
        session_token,
    })
}

fn word(field: &Field<'_>, example: &str) -> Option<String> {
    let word = field.text(example)?;
    let is_of_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if word.is_empty() || !word.chars().all(is_of_word) {
        field.refuse(format_args!(
            "is not such a name; write one such as {example}"
        ));
        return None;
    }
    Some(word.to_owned())
}

/// Refuses what is not signed in a request with such credentials.
pub(crate) fn check(section: &PlanSection<'_>, request: &Request, url: Option<&Url>) {
    let Some(aws) = request.auth.as_ref().and_then(|auth| auth.signing()) else {
        return;
    };
    if request.redirects > 0 {
        section.problem_at(
            "redirects",
            "a signature is for one path, so that what a redirect leads to has none; remove it",
        );
    }
    if let Some(Body::Multipart(_)) = &request.body {
        section.problem_at(
            "multipart",
            "parts are not signed for AWS; write body, body_file, form or json",
        );
    }
    for (name, _) in &request.headers {
        if OWN_FIELDS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
            section.problem_at(
                "headers",
                format_args!("{name} is part of the signature; remove it"),
            );
        }
    }
    let path = url.map(|url| Template::literal(&url.path));
    let Some(path) = request.path.as_ref().or(path.as_ref()) else {
        return;
    };
    if let Err(why) = CanonicalTarget::new(path, aws.is_encoded_once()) {
        let why = format!("{why} (it is signed for AWS)");
        section.problem_at("path", why);
    }
}

/// Refuses such credentials for the requests of a log.
pub(crate) fn check_replayed(section: &PlanSection<'_>, request: &Request) {
    if request
        .auth
        .as_ref()
        .is_some_and(|auth| auth.signing().is_some())
    {
        section.problem_at(
            "auth",
            "the requests of a log are not signed for AWS; remove it",
        );
    }
}
