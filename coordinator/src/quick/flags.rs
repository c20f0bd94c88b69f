//! Rewords sentences about the plan that `quick` wrote, in terms of its flags.

use plan::{Problem, Problems};
use run_folder::RunOrigin;

/// Phrases about a plan, with the same for a user of flags.
const SENTENCES: [(&str, &str); 9] = [
    ("tls.verify = \"none\"", "--insecure"),
    ("write connection.http = \"1.1\"", "leave out --http2"),
    (
        "(connection.requests), write connection.close = \"server\" or \"rst\", name more \
         connection.source_addresses, or add agents on other machines",
        "(leave out --no-keepalive)",
    ),
    (
        "connection.source_addresses",
        "source addresses, which a plan file can name",
    ),
    ("resolve less often with target.dns, ", ""),
    (
        "in tls.server_name",
        "into the URL, and its address after --connect-to",
    ),
    ("start it with --allow", "write --allow"),
    ("target.url", "the URL"),
    ("tls.client_certificates", "--cert and --key"),
];

/// Flags by the path in the plan that they set; the first that matches counts.
const FLAGS: [(&str, &str); 24] = [
    ("target.url", "URL"),
    ("target.addresses", "--connect-to"),
    ("request.method", "-m"),
    ("request.headers.host", "--host"),
    ("request.headers.accept", "-A"),
    ("request.headers.content-type", "-T"),
    ("request.headers.authorization", "-a"),
    ("request.headers", "-H"),
    ("request.body_file", "-D"),
    ("request.body", "-d"),
    ("request.expect.status", "--expect"),
    ("request", "URL"),
    ("connection.timeouts", "-t"),
    ("connection.streams", "--streams"),
    ("tls.ca", "--ca"),
    ("tls.client_certificates[0].cert", "--cert"),
    ("tls.client_certificates[0].key", "--key"),
    ("tls.versions", "--tls-version"),
    ("tls.resumption", "--resumption"),
    ("load.rate", "-q"),
    ("load.duration", "-z"),
    ("load.requests", "-n"),
    ("load.connections", "-c"),
    ("load.max_connections", "-c"),
];

/// Advice about a plan file, which `quick` does not have.
const ABOUT_A_FILE: &str = "; paths are relative to the plan file";

/// Returns a line for each problem, in the order of the plan. If one flag sets several fields, its
/// problem is reported once.
pub(super) fn problems(problems: &Problems) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in problems.0.iter().map(line_of) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

fn line_of(problem: &Problem) -> String {
    line(&problem.path, &problem.message)
}

/// Rewords a sentence about the plan for the user who asked for a run there.
pub(crate) fn in_words_of(origin: &RunOrigin, sentence: &str) -> String {
    match origin.plan {
        Some(_) => sentence.to_owned(),
        None => in_flags(sentence),
    }
}

/// Rewords a sentence about a plan for a user who gave flags.
fn in_flags(sentence: &str) -> String {
    let mut text = sentence.to_owned();
    for (of_plan, of_flags) in SENTENCES {
        text = text.replace(of_plan, of_flags);
    }
    // A path without a dot, such as `request`, is also an ordinary word.
    for (path, flag) in FLAGS.iter().filter(|(path, _)| path.contains('.')) {
        text = with_flag(&text, path, flag);
    }
    text
}

/// Replaces each `path` that stands by itself with `flag`.
fn with_flag(text: &str, path: &str, flag: &str) -> String {
    let mut replaced = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(path) {
        let (before, after) = (&rest[..at], &rest[at + path.len()..]);
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_-/".contains(c);
        let is_whole =
            !before.ends_with(|c| is_of_name(c) || c == '.') && !after.starts_with(is_of_name);
        replaced.push_str(before);
        replaced.push_str(if is_whole { flag } else { path });
        rest = after;
    }
    replaced + rest
}

/// Rewords a note about a request; `None` for other notes, which are about what `quick` itself
/// chose.
pub(super) fn note_of_request(note: &str) -> Option<String> {
    let (path, message) = note.split_once(": ")?;
    path.starts_with("request").then(|| line(path, message))
}

fn line(path: &str, message: &str) -> String {
    let message = in_flags(&message.replace(ABOUT_A_FILE, ""));
    let whole = without_index(path);
    match FLAGS
        .iter()
        .find(|(path, _)| whole.strip_prefix(path).is_some_and(is_end))
    {
        Some((_, "-H")) => format!("-H {}: {message}", header(&whole)),
        Some((_, flag)) => format!("{flag}: {message}"),
        None => whole + ": " + &message,
    }
}

/// Removes a request's index from a path: with several URLs, all requests have the same fields.
fn without_index(path: &str) -> String {
    let indexed = path
        .strip_prefix("request[")
        .and_then(|rest| rest.split_once(']'));
    indexed.map_or_else(|| path.to_owned(), |(_, rest)| format!("request{rest}"))
}

fn is_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['.', '['])
}

fn header(path: &str) -> &str {
    path.trim_start_matches("request.headers")
        .trim_start_matches('.')
        .trim_matches('"')
}

#[cfg(test)]
mod tests {
    use super::in_flags;
    use measure::{CertificateFault, Failure, FailureStage, Kind};

    /// Words that name a field of a plan.
    fn fields(text: &str) -> Vec<&str> {
        let sections = [
            "target.",
            "request.",
            "connection.",
            "tls.",
            "load.",
            "fleet.",
        ];
        let is_field = |word: &&str| sections.iter().any(|section| word.contains(section));
        text.split_whitespace().filter(is_field).collect()
    }

    #[test]
    fn cures_of_failures_are_flags() {
        use CertificateFault::{
            CaAsServer, Expired, NoSubjectAltName, SelfSigned, UnknownIssuer, WeakKey,
            WeakSignature, WrongName,
        };
        let certificates = [
            CaAsServer,
            Expired,
            NoSubjectAltName,
            SelfSigned,
            UnknownIssuer,
            WeakKey,
            WeakSignature,
            WrongName,
        ];
        let others = [
            Kind::Refused,
            Kind::NoSuchName,
            Kind::NoResolver,
            Kind::Unreachable,
            Kind::AlertReceived(116),
            Kind::AlertReceived(120),
            Kind::BadTls,
            Kind::BadFraming,
            Kind::PortsExhausted,
            Kind::FilesExhausted,
            Kind::NotAllowed,
            Kind::NoHttp2,
            Kind::Status(503),
            Kind::Status(400),
        ];
        let kinds = certificates
            .map(Kind::Certificate)
            .into_iter()
            .chain(others);
        for kind in kinds {
            let stage = FailureStage::Http;
            let cure =
                analysis::failure_cure(Failure { stage, kind }).expect("each of these has one");
            let said = in_flags(cure);
            assert!(fields(&said).is_empty(), "{kind:?}: {said}");
        }
    }

    #[test]
    fn fields_are_flags_where_they_stand_for_themselves() {
        for (of_plan, of_flags) in [
            (
                "load.connections: 5; write load.max_connections",
                "-c: 5; write -c",
            ),
            (
                "is the port of target.url right?",
                "is the port of the URL right?",
            ),
            ("https://tls.ca/tls.ca", "https://tls.ca/tls.ca"),
            ("tls.ca_key and tls.ca.", "tls.ca_key and --ca."),
        ] {
            assert_eq!(in_flags(of_plan), of_flags);
        }
    }
}
