//! Reads `auth.NAME.oauth2`: where a token is fetched, and with which credentials.

use crate::read::field::Field;
use crate::read::header::{fixed, is_token};
use crate::read::section::PlanSection;
use crate::read::target_url;
use crate::{ClientAuth, Scheme, Template, TokenRequest, Url};
use secret::Secret;

/// Parameters that the request has by itself (RFC 6749 §4.4.2 and §2.3.1).
const OWN: [&str; 4] = ["grant_type", "scope", "client_id", "client_secret"];
const MAX_PARAMETERS: usize = 20;

pub(crate) fn read(field: &Field<'_>) -> Option<TokenRequest> {
    let section = field.section()?;
    for (key, example) in [
        ("token_url", "\"https://id.shop.test/token\""),
        ("client", "\"load\""),
        ("secret", "\"{client_secret}\""),
    ] {
        if !section.has(key) {
            section.problem(format_args!("has no {key}; write {key} = {example}"));
        }
    }
    let token_url = section.read("token_url", url);
    let client = section.read("client", |field| {
        fixed(&field, "the client's name in quotes")
    });
    let secret = section.read("secret", |field| {
        fixed(&field, "the client's secret in quotes")
    });
    let client_auth = section.read("client_auth", |field| field.choice());
    let scope = section.read("scope", scope);
    let per = section.read("per", |field| field.choice());
    let parameters = section.section("parameters").and_then(parameters);
    section.finish();
    Some(TokenRequest {
        token_url: token_url?,
        client: client?,
        secret: Secret::new(secret?),
        client_auth: client_auth.unwrap_or(ClientAuth::Basic),
        scope,
        per: per.unwrap_or_default(),
        parameters: parameters.unwrap_or_default(),
    })
}

fn url(field: Field<'_>) -> Option<Url> {
    let url = target_url::url(field.clone())?;
    if url.scheme == Scheme::Http && !url.is_on_loopback() {
        let name = &field.path;
        field.context.note(format!(
            "{name}: the client's secret goes there unencrypted; write https:// (RFC 6749 §3.2)"
        ));
    }
    Some(url)
}

/// Reads what a token is to be good for: words with one space between (RFC 6749 §3.3).
fn scope(field: Field<'_>) -> Option<String> {
    let scope = field.text("one such as \"read write\"")?;
    let is_of_word = |byte: u8| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(is_of_word);
    if !scope.split(' ').all(is_word) {
        field.refuse("is not a scope; write words of ASCII with one space between (RFC 6749 §3.3)");
        return None;
    }
    Some(scope.to_owned())
}

fn parameters(section: PlanSection<'_>) -> Option<Vec<(String, Template)>> {
    let fields = section.all();
    if fields.len() > MAX_PARAMETERS {
        section.problem(format_args!(
            "has {} parameters; write at most {MAX_PARAMETERS}",
            fields.len()
        ));
    }
    let one = |(name, field): (&str, Field<'_>)| {
        if OWN.contains(&name) {
            field.problem("is sent by itself; remove it");
            return None;
        }
        if !is_token(name) {
            field.problem("is not the name of a parameter; write one such as audience");
            return None;
        }
        Some((name.to_owned(), fixed(&field, "the value in quotes")?))
    };
    let read: Vec<Option<(String, Template)>> = fields.into_iter().map(one).collect();
    read.into_iter().collect()
}
