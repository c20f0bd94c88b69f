//! Values in TOML 1.0 syntax, each on a single line.

/// Returns a basic string: `text` in quotes, with control characters escaped.
#[must_use]
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            control if control.is_ascii_control() => {
                quoted.push_str(&format!("\\u{:04X}", u32::from(control)));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Returns an array of the items as `write` renders them.
pub(crate) fn array<T>(items: &[T], write: impl FnMut(&T) -> String) -> String {
    let items: Vec<String> = items.iter().map(write).collect();
    format!("[{}]", items.join(", "))
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn a_quoted_text_is_read_back_as_it_was() {
        let every_ascii: String = (0_u8..128).map(char::from).collect();
        for text in ["", "plain", "\"\\", "a\nb\tc\u{7f}", "ü – 🚀", &every_ascii] {
            let document = format!("x = {}", quote(text));
            let read: toml_edit::DocumentMut = document.parse().unwrap();
            assert_eq!(read["x"].as_str(), Some(text), "{document}");
        }
    }
}
