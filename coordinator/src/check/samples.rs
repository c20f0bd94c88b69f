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
    indent(&sample.body[..shown], &mut text);
    if shown < sample.body.len() {
        let whole = sample.body_bytes;
        text.push_str(&format!("    … (a body of {whole} bytes)\n"));
    }
    text
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
