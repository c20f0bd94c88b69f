//! The length of functions: one that does not fit on a screen should be several.

use super::{packages_folders, shipped};

/// Lines of a function, including its signature and its last bracket.
const LINES_MAX: usize = 70;

/// The functions of `source`: name and number of lines. With rustfmt, a function's last bracket is
/// below its first word.
pub(super) fn functions(source: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = source.lines().collect();
    let mut functions = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let bare = line.trim_start();
        let Some(name) = defined_function(bare) else {
            continue;
        };
        let indent = &line[..line.len() - bare.len()];
        let closing = format!("{indent}}}");
        let is_whole = line.ends_with('}') || line.ends_with(';');
        let end = lines[at..].iter().position(|line| *line == closing);
        let length = if is_whole { 1 } else { end.unwrap_or(0) + 1 };
        functions.push((name.to_owned(), length));
    }
    functions
}

/// The function that a line defines: `pub(crate) async fn judge(`.
fn defined_function(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let mut words = before.split_whitespace();
    let is_qualifier = |word: &str| {
        word.starts_with("pub") || ["const", "async", "unsafe", "extern"].contains(&word)
    };
    if !words.all(is_qualifier) {
        return None;
    }
    after
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .next()
}

#[test]
fn no_function_is_longer_than_a_screen() {
    let mut long = Vec::new();
    let mut count = 0;
    for (_, folder) in packages_folders() {
        for (path, text) in shipped(&folder) {
            for (name, lines) in functions(&text) {
                count += 1;
                if lines > LINES_MAX {
                    long.push(format!("{name} of {path}: {lines}"));
                }
            }
        }
    }
    assert!(count > 2_000, "{count} functions");
    assert!(long.is_empty(), "above {LINES_MAX} lines: {long:#?}");
}

#[test]
fn functions_are_counted_from_their_signature_to_their_last_bracket() {
    let source = "\
pub(crate) fn one(
    a: u8,
) {
    a
}

impl B {
    const fn two() {}

    fn three() {
        let fn_four = 1;
    }
}
";
    let expected = [("one", 5), ("two", 1), ("three", 3)];
    let expected = expected.map(|(name, lines)| (name.to_owned(), lines));
    assert_eq!(functions(source), expected);
}
