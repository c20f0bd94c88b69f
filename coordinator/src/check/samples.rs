//! Shows the first requests of a plan that fills them with texts of its own, as they would be sent.

use agent::SampleRequest;
use measure::is_unprintable;
use plan::{HttpVersion, Plan};

/// Requests that are shown.
const SHOWN: u64 = 3;

/// Bytes of a body that are shown.
const BODY_BYTES: usize = 1000;

/// The first requests; empty if they have no text that the plan declares elsewhere.
pub(super) fn describe(plan: &Plan) -> String {
    if !plan.has_declared_texts() {
        return String::new();
    }
    let form = match plan.connection().http {
        HttpVersion::Http11 => "",
        HttpVersion::Http2 { .. } => "; shown as HTTP/1.1, sent as HTTP/2",
    };
    let samples = agent::sample_requests(plan, SHOWN);
    let secrets = if samples.iter().any(has_secret) {
        "; *** is a secret"
    } else {
        ""
    };
    let mut text = format!("\nthe first requests, if sent now{form}{secrets}\n");
    for (number, sample) in samples.iter().enumerate() {
        text.push_str(&one(number, sample));
    }
    text
}

fn has_secret(sample: &SampleRequest) -> bool {
    [&sample.head, &sample.body]
        .into_iter()
        .any(|part| part.windows(3).any(|bytes| bytes == b"***"))
}

fn one(number: usize, sample: &SampleRequest) -> String {
    let SampleRequest { name, bytes, .. } = sample;
    let mut text = format!("\n{number}: {name:?}, {bytes} bytes\n");
    indent(&sample.head, &mut text);
    let shown = sample.body.len().min(BODY_BYTES);
    let body = &sample.body[..shown];
    if is_text(body) {
        indent(body, &mut text);
    } else {
        indent(body.escape_ascii().to_string().as_bytes(), &mut text);
    }
    if shown < sample.body.len() {
        let whole = sample.body_bytes;
        text.push_str(&format!("    … (a body of {whole} bytes)\n"));
    }
    text
}

/// Whether `bytes`, perhaps cut within a character, are text: a message of gRPC is none.
fn is_text(bytes: &[u8]) -> bool {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(cut) if cut.error_len().is_none() => {
            std::str::from_utf8(&bytes[..cut.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    let mut characters = text.chars();
    characters.all(|it| matches!(it, '\n' | '\r' | '\t') || !is_unprintable(it))
}

/// Appends the lines of `bytes`.
fn indent(bytes: &[u8], text: &mut String) {
    for line in String::from_utf8_lossy(bytes).lines() {
        let line: String = line.chars().map(printable).collect();
        text.push_str(format!("    {line}").trim_end());
        text.push('\n');
    }
}

fn printable(character: char) -> char {
    if is_unprintable(character) {
        char::REPLACEMENT_CHARACTER
    } else {
        character
    }
}

#[cfg(test)]
mod tests {
    use super::{SampleRequest, one};

    #[test]
    fn bodies_that_are_no_text_are_escaped() {
        let shown = |body: &[u8]| {
            let sample = SampleRequest {
                name: "a".to_owned(),
                bytes: 5,
                head: b"GET / HTTP/1.1\r\n".to_vec(),
                body: body.to_vec(),
                body_bytes: body.len(),
            };
            one(0, &sample)
        };
        let head = "\n0: \"a\", 5 bytes\n    GET / HTTP/1.1\n";
        let whole = |body: &str| format!("{head}    {body}");
        assert_eq!(shown("ü\r\n\tb".as_bytes()), whole("ü\n    \u{fffd}b\n"));
        let message = b"\0\0\0\0\x06\n\x04shop";
        let escaped = r"\x00\x00\x00\x00\x06\n\x04shop";
        assert_eq!(shown(message), whole(&format!("{escaped}\n")));
        assert_eq!(shown(b"a\xff"), whole("a\\xff\n"));
        // The cut is within a character.
        let long = format!("a{}", "ü".repeat(501));
        let cut = format!(
            "a{}\u{fffd}\n    … (a body of 1003 bytes)\n",
            "ü".repeat(499)
        );
        assert_eq!(shown(long.as_bytes()), whole(&cut));
    }
}
