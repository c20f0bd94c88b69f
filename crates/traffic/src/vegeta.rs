//! vegeta's targets and results in JSON, one object a line
//! (<https://github.com/tsenart/vegeta#json-format>).

use crate::json_log;
use crate::recorded::{LineResult, RecordedBody, RecordedRequest};
use crate::skip::{LineError, SkipReason};
use crate::stamp::Stamp;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

/// Reads a target, which is due at `stamp`.
pub(crate) fn read_target(line: &[u8], stamp: Stamp) -> LineResult {
    let target = json_log::object(line)?;
    let mut headers = Vec::new();
    for (name, values) in target
        .get("header")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        for value in values
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            headers.push((name.clone(), value.as_bytes().to_vec()));
        }
    }
    let body = match target.get("body").and_then(Value::as_str) {
        None | Some("") => RecordedBody::Absent,
        Some(body) => RecordedBody::Whole(
            STANDARD
                .decode(body)
                .map_err(|error| fault(&format!("body: {error}; vegeta writes it in Base64")))?,
        ),
    };
    Ok(Ok(RecordedRequest {
        stamp: Some(stamp),
        method: text(&target, "method")?,
        target: text(&target, "url")?.into_bytes(),
        headers,
        body,
        ..RecordedRequest::default()
    }))
}

/// Reads a result: its instant is that of the request, and it has neither header fields nor body.
pub(crate) fn read_result(line: &[u8]) -> LineResult {
    let result = json_log::object(line)?;
    let stamp = text(&result, "timestamp")?;
    let stamp = Stamp::parse(stamp.as_bytes());
    let number = |key: &str| result.get(key).and_then(Value::as_u64);
    // vegeta before 12.9 leaves them out.
    let (Ok(method), Ok(url)) = (text(&result, "method"), text(&result, "url")) else {
        return Ok(Err(SkipReason::NoRequest));
    };
    let status = number("code").and_then(|code| u16::try_from(code).ok());
    Ok(Ok(RecordedRequest {
        stamp: Some(stamp.ok_or_else(|| fault("timestamp: not a time"))?),
        method,
        target: url.into_bytes(),
        body: match number("bytes_out") {
            None => RecordedBody::Untold,
            Some(0) => RecordedBody::Absent,
            Some(_) => RecordedBody::Lost,
        },
        // 0 means that there was no answer.
        status: status.filter(|&code| code > 0),
        ..RecordedRequest::default()
    }))
}

fn text(object: &Map<String, Value>, key: &str) -> Result<String, LineError> {
    let value = object.get(key).and_then(Value::as_str);
    let missing = || fault(&format!("{key} is missing, or no text"));
    value.map(str::to_owned).ok_or_else(missing)
}

fn fault(why: &str) -> LineError {
    LineError {
        column: 1,
        why: why.to_owned(),
    }
}
