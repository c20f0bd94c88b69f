//! Words that a native speaker would not use in a comment, and their replacements.

use super::sources;

/// A phrase, how often it may occur in all comments of the workspace, and the cure.
const RARE: [(&str, usize, &str); 7] = [
    (
        "whoever",
        1,
        "name who it is: the runner, the caller, the agent",
    ),
    ("nobody", 2, "no agent, no caller, nothing"),
    ("somebody", 2, "the user, another process"),
    (
        "so many",
        3,
        "name the parameter in backticks, or write `n`",
    ),
    ("// Of ", 3, "say what it is: `The folder's path.`"),
    ("nothing where", 1, "`None` if"),
    ("none where", 1, "`None` if"),
];

/// The comment of a line, with the same slashes for each kind of comment.
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
        for (path, text) in sources() {
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
