//! What a server says when it is asked for a token. Pure.

use measure::is_unprintable;
use secret::Secret;
use serde_json::{Map, Value};
use std::time::Duration;

/// Most characters of a server's text that a message has.
const SHOWN_MAX: usize = 200;

/// The longest life of a token that counts: longer than any run.
const LIFE_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// A token, and how long it lasts from when it was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TokenAnswer {
    pub(super) token: Secret<String>,
    /// `None` if the server does not say.
    pub(super) life: Option<Duration>,
}

impl TokenAnswer {
    /// Reads the answer of a server with `status` (RFC 6749 §5). Its message continues a sentence
    /// that names the server.
    pub(super) fn read(status: u16, body: &[u8]) -> Result<TokenAnswer, String> {
        let json = serde_json::from_slice(body);
        match (status, json) {
            (200, Ok(Value::Object(answer))) => granted(answer),
            (200, _) => Err(format!(
                "answered 200 with something else than an object of JSON{}; is it the address of \
                 tokens?",
                page(body)
            )),
            (status, Ok(Value::Object(answer))) if answer.contains_key("error") => {
                Err(format!("answered {status}: {}", refusal(&answer)))
            }
            (status, _) => Err(format!("answered {status}, without the reason")),
        }
    }
}

/// What a page says that came in place of a token, in parentheses. Anything but a page can be a
/// token.
fn page(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    match text.trim_start().starts_with('<') {
        true => format!(" ({})", show(&text)),
        false => String::new(),
    }
}

/// Reads a successful answer (RFC 6749 §5.1).
fn granted(mut answer: Map<String, Value>) -> Result<TokenAnswer, String> {
    let token = match answer.remove("access_token") {
        Some(Value::String(token)) => Secret::new(token),
        Some(_) => return Err("sent an access_token that is not a string".to_owned()),
        None => return Err("sent no access_token (RFC 6749 §5.1)".to_owned()),
    };
    let bytes = token.reveal().as_bytes();
    // RFC 6749 §A.12 without the space, at which a server ends a token (RFC 6750 §2.1).
    if bytes.is_empty() || !bytes.iter().all(u8::is_ascii_graphic) {
        return Err("sent an access_token that no header field can carry".to_owned());
    }
    match answer.get("token_type") {
        Some(Value::String(kind)) if kind.eq_ignore_ascii_case("bearer") => {}
        Some(Value::String(kind)) => {
            return Err(format!(
                "sent a token of the type {:?}; only \"Bearer\" can be sent (RFC 6750)",
                show(kind)
            ));
        }
        _ => return Err("sent no token_type (RFC 6749 §5.1)".to_owned()),
    }
    let life = answer.get("expires_in").map(life).transpose()?;
    Ok(TokenAnswer { token, life })
}

/// Reads a number of seconds; some servers write it as a string.
fn life(value: &Value) -> Result<Duration, String> {
    let seconds = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().ok()
        }
        _ => None,
    };
    let life = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    match life {
        Some(life) if life.is_zero() => {
            Err("sent a token that has expired already (\"expires_in\": 0)".to_owned())
        }
        Some(life) => Ok(life.min(LIFE_MAX)),
        None => Err(format!(
            "sent expires_in = {}, which is not a number of seconds",
            show(&value.to_string())
        )),
    }
}

/// The reason in an answer that refuses (RFC 6749 §5.2).
fn refusal(answer: &Map<String, Value>) -> String {
    let text = |key| answer.get(key).and_then(Value::as_str);
    let error = show(text("error").unwrap_or("an error without a name"));
    match text("error_description") {
        Some(description) => format!("{error} ({})", show(description)),
        None => error,
    }
}

/// A server's text, as far as it can be shown.
pub(super) fn show(text: &str) -> String {
    let shown = text.chars().take(SHOWN_MAX);
    let shown = shown.map(|c| if is_unprintable(c) { '\u{fffd}' } else { c });
    let more = if text.chars().nth(SHOWN_MAX).is_some() {
        "…"
    } else {
        ""
    };
    shown.collect::<String>() + more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_and_its_life_are_read() {
        for (more, life) in [
            (r#", "expires_in": 3600"#, Some(3_600.0)),
            (r#", "expires_in": "3599""#, Some(3_599.0)),
            (r#", "expires_in": 1.5, "scope": "a""#, Some(1.5)),
            ("", None),
        ] {
            let body = format!(r#"{{"access_token": "a.b-c/+=", "token_type": "bearer"{more}}}"#);
            let answer = TokenAnswer::read(200, body.as_bytes()).expect(&body);
            assert_eq!(answer.token.reveal(), "a.b-c/+=");
            assert_eq!(answer.life, life.map(Duration::from_secs_f64), "{body}");
        }
    }

    #[test]
    fn other_answers_say_what_is_wrong_with_them() {
        let token = |more: &str| format!(r#"{{"access_token": "t"{more}}}"#);
        let bearer = |more: &str| token(&format!(r#", "token_type": "Bearer"{more}"#));
        let refused = r#"{"error": "invalid_client", "error_description": "no\u001bwho"}"#;
        for (status, body, why) in [
            (
                401,
                refused.to_owned(),
                "answered 401: invalid_client (no\u{fffd}who)",
            ),
            (
                400,
                r#"{"error": 5}"#.to_owned(),
                "400: an error without a name",
            ),
            (
                503,
                "<html>busy</html>".to_owned(),
                "answered 503, without the reason",
            ),
            (
                200,
                "<html>hello</html>".to_owned(),
                "(<html>hello</html>); is it the address",
            ),
            (
                200,
                "access_token=abc&token_type=bearer".to_owned(),
                "something else than an object of JSON; is it the address",
            ),
            (200, "{}".to_owned(), "sent no access_token"),
            (
                200,
                r#"{"access_token": 5}"#.to_owned(),
                "that is not a string",
            ),
            (
                200,
                r#"{"access_token": "a\r\nb: c"}"#.to_owned(),
                "no header field can carry",
            ),
            (
                200,
                r#"{"access_token": ""}"#.to_owned(),
                "no header field can carry",
            ),
            (200, token(""), "sent no token_type"),
            (
                200,
                token(r#", "token_type": "mac""#),
                "of the type \"mac\"",
            ),
            (200, bearer(r#", "expires_in": 0"#), "has expired already"),
            (
                200,
                bearer(r#", "expires_in": -1"#),
                "not a number of seconds",
            ),
            (
                200,
                bearer(r#", "expires_in": "soon""#),
                "not a number of seconds",
            ),
            (
                200,
                bearer(r#", "expires_in": null"#),
                "not a number of seconds",
            ),
        ] {
            let error = TokenAnswer::read(status, body.as_bytes()).expect_err(&body);
            assert!(error.contains(why), "{body}: {error}");
        }
    }
}
