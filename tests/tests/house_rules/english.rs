//! Words that a native speaker would not write in a comment, and what to write instead.

use super::sources;

/// Where every comment has been gone through.
const FOLDERS: [&str; 10] = [
    "agent/",
    "coordinator/",
    "crates/analysis/",
    "crates/control/",
    "crates/engine/",
    "crates/host/",
    "crates/measure/",
    "crates/plan/",
    "crates/secret/",
    "crates/target/",
];

/// A phrase, how often it may occur in all comments of these folders, and the cure.
const RARE: [(&str, usize, &str); 5] = [
    (
        "whoever",
        3,
        "name who it is: the runner, the caller, the agent",
    ),
    ("nobody", 10, "no agent, no caller, nothing"),
    ("somebody", 10, "the user, another process"),
    (
        "so many",
        5,
        "name the parameter in backticks, or write `n`",
    ),
    ("// Of ", 5, "say what it is: `The folder's path.`"),
];

/// The comment of a line in lower case, its slashes included and the same for each kind.
fn comment(line: &str) -> Option<String> {
    let line = line.trim_start();
    let text = ["///", "//!", "//"]
        .iter()
        .find_map(|slashes| line.strip_prefix(slashes))?;
    Some(format!("//{text}"))
}

#[test]
fn comments_are_in_plain_english() {
    let mut wrong = String::new();
    for (phrase, most, cure) in RARE {
        let mut places = Vec::new();
        let is_looked_at = |path: &str| FOLDERS.iter().any(|folder| path.starts_with(folder));
        for (path, text) in sources().into_iter().filter(|(path, _)| is_looked_at(path)) {
            let lines = (1..).zip(text.lines());
            let comments = lines.filter_map(|(number, line)| Some((number, comment(line)?)));
            let is_found = |text: &str| match phrase.starts_with("//") {
                true => text.starts_with(phrase),
                false => text.to_lowercase().contains(phrase),
            };
            let found = comments.filter(|(_, text)| is_found(text));
            places.extend(found.map(|(number, _)| format!("{path}:{number}")));
        }
        if places.len() > most {
            let count = places.len();
            wrong += &format!("{phrase:?} stands in {count} comments; {cure}: {places:?}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
