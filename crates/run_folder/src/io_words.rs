//! What the system says of files, in words for messages.

use std::io;

/// What the system says, without its number.
#[must_use]
pub fn in_words(error: &io::Error) -> String {
    // The kernel's text for these two does not say what to look at.
    let text = match error.kind() {
        io::ErrorKind::NotFound => "no such file or folder".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        _ => error.to_string(),
    };
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase()
}
