//! Problems of the plan that `quick` wrote, told by the flag that caused them.

use plan::{Problem, Problems};

/// Flags by the path of the plan they set; the first that fits counts.
const FLAGS: [(&str, &str); 22] = [
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
    ("connection.timeouts", "-t"),
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

/// A line for each problem, in the order of the plan. If one flag sets several fields, its problem
/// is told once.
pub(super) fn problems(problems: &Problems) -> Vec<String> {
    let mut lines: Vec<String> = problems.0.iter().map(line).collect();
    lines.dedup();
    lines
}

fn line(problem: &Problem) -> String {
    let message = problem.message.replace(ABOUT_A_FILE, "");
    match FLAGS
        .iter()
        .find(|(path, _)| problem.path.strip_prefix(path).is_some_and(is_end))
    {
        Some((_, "-H")) => format!("-H {}: {message}", header(&problem.path)),
        Some((_, flag)) => format!("{flag}: {message}"),
        None => problem.path.clone() + ": " + &message,
    }
}

fn is_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['.', '['])
}

fn header(path: &str) -> &str {
    path.trim_start_matches("request.headers")
        .trim_start_matches('.')
        .trim_matches('"')
}
