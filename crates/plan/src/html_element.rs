//! Which element of an HTML page is meant: a small part of CSS selectors, for one element alone.

use std::fmt;

/// Most conditions of an element.
const MAX_CONDITIONS: usize = 8;

/// A name of a tag and conditions on attributes, such as `input[name=csrf]`: what CSS calls a
/// compound selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HtmlElement {
    text: String,
    /// In lower case; `None` if it may be any.
    tag: Option<String>,
    conditions: Vec<HtmlCondition>,
}

/// A condition on an attribute of an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HtmlCondition {
    /// The attribute's name, in lower case.
    pub attribute: String,
    /// What its value has to be.
    pub test: HtmlTest,
}

/// What the value of an attribute has to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HtmlTest {
    /// Anything: `[name]`.
    Any,
    /// This: `[name=value]` and `#id`.
    Is(String),
    /// A list with this word: `.class`.
    HasWord(String),
}

/// Why a text is no [`HtmlElement`]; continues a sentence that begins with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HtmlElementError(String);

const EXAMPLE: &str = "write one such as \"input[name=csrf]\", \"meta[name=token]\" or \"#token\"";

impl HtmlElement {
    /// Longest name of a tag or attribute, in bytes.
    pub const MAX_NAME: usize = 64;

    /// Reads `text`.
    ///
    /// # Errors
    /// Fails if it names no single element.
    pub fn new(text: &str) -> Result<HtmlElement, HtmlElementError> {
        let error = |why: &str| HtmlElementError(format!("{why}; {EXAMPLE}"));
        let (tag, mut rest) = split_name(text);
        let mut conditions = Vec::new();
        while let Some(first) = rest.chars().next() {
            let after = &rest[first.len_utf8()..];
            let condition = match first {
                '#' | '.' => {
                    let (name, after) = split_name(after);
                    rest = after;
                    let name = Some(name).filter(|name| !name.is_empty());
                    let name = name.ok_or_else(|| error("has no name behind # or ."))?;
                    if first == '#' {
                        condition("id", HtmlTest::Is(name.to_owned()))
                    } else {
                        condition("class", HtmlTest::HasWord(name.to_owned()))
                    }
                }
                '[' => {
                    let (condition, after) = in_brackets(after).ok_or_else(|| {
                        error("has no [attribute] or [attribute=value] behind its [")
                    })?;
                    rest = after;
                    condition
                }
                ':' => {
                    return Err(error(
                        "has a pseudo-class, and attributes are looked at alone",
                    ));
                }
                _ => {
                    return Err(error(
                        "names more than one element, or has a stray character",
                    ));
                }
            };
            conditions.push(condition);
        }
        if text.is_empty() {
            return Err(error("names no element"));
        }
        if conditions.len() > MAX_CONDITIONS {
            let most = format!("has more than {MAX_CONDITIONS} conditions; write fewer");
            return Err(HtmlElementError(most));
        }
        let names = conditions.iter().map(|condition| condition.attribute.len());
        if names
            .chain([tag.len()])
            .any(|length| length > HtmlElement::MAX_NAME)
        {
            let most = HtmlElement::MAX_NAME;
            let too_long = format!("has a name of more than {most} bytes; write another");
            return Err(HtmlElementError(too_long));
        }
        Ok(HtmlElement {
            text: text.to_owned(),
            tag: (!tag.is_empty()).then(|| tag.to_ascii_lowercase()),
            conditions,
        })
    }

    /// The name of its tag, in lower case; `None` if it may be any.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The conditions, all of which hold.
    #[must_use]
    pub fn conditions(&self) -> &[HtmlCondition] {
        &self.conditions
    }
}

/// Whether a text can be the name of an attribute, as far as pages have any.
pub(crate) fn is_attribute_name(text: &str) -> bool {
    let is_fit = |character: char| {
        !character.is_whitespace() && !character.is_control() && !"\"'>/=<[]".contains(character)
    };
    (1..=HtmlElement::MAX_NAME).contains(&text.len()) && text.chars().all(is_fit)
}

fn condition(attribute: &str, test: HtmlTest) -> HtmlCondition {
    HtmlCondition {
        attribute: attribute.to_ascii_lowercase(),
        test,
    }
}

/// The letters, digits, `-` and `_` that a text begins with, and characters beyond ASCII; and the
/// rest of it.
fn split_name(text: &str) -> (&str, &str) {
    let is_of_name = |character: char| {
        character.is_ascii_alphanumeric() || "-_".contains(character) || !character.is_ascii()
    };
    let end = text.find(|character| !is_of_name(character));
    text.split_at(end.unwrap_or(text.len()))
}

/// The condition that ends with the next `]`, and what follows.
fn in_brackets(text: &str) -> Option<(HtmlCondition, &str)> {
    let end = text.find(['=', ']'])?;
    let name = text[..end].trim();
    if !is_attribute_name(name) || name.ends_with(['~', '|', '^', '$', '*']) {
        return None;
    }
    if text[end..].starts_with(']') {
        return Some((condition(name, HtmlTest::Any), &text[end + 1..]));
    }
    let value = text[end + 1..].trim_start();
    let quote = value
        .chars()
        .next()
        .filter(|&first| first == '"' || first == '\'');
    let (value, rest) = match quote {
        Some(quote) => {
            let (value, rest) = value[1..].split_once(quote)?;
            (value, rest.trim_start().strip_prefix(']')?)
        }
        None => {
            let (value, rest) = value.split_once(']')?;
            let value = value.trim_end();
            let is_plain =
                |character: char| !character.is_whitespace() && !"\"'[=".contains(character);
            if value.is_empty() || !value.chars().all(is_plain) {
                return None;
            }
            (value, rest)
        }
    };
    Some((condition(name, HtmlTest::Is(value.to_owned())), rest))
}

impl fmt::Display for HtmlElement {
    /// The text that it was read from.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_read_by_tag_and_attributes() {
        let is = |value: &str| HtmlTest::Is(value.to_owned());
        for (text, tag, conditions) in [
            ("input", Some("input"), vec![]),
            (
                "INPUT[Name=Csrf]",
                Some("input"),
                vec![("name", is("Csrf"))],
            ),
            ("[data-x]", None, vec![("data-x", HtmlTest::Any)]),
            ("#a-1", None, vec![("id", is("a-1"))]),
            (
                "x-form.big[ name = \"a ]b\" ][id='']",
                Some("x-form"),
                vec![
                    ("class", HtmlTest::HasWord("big".to_owned())),
                    ("name", is("a ]b")),
                    ("id", is("")),
                ],
            ),
        ] {
            let element = HtmlElement::new(text).expect(text);
            assert_eq!((element.tag(), element.to_string()), (tag, text.to_owned()));
            let read = element.conditions().iter();
            let read: Vec<_> = read.map(|it| (&*it.attribute, it.test.clone())).collect();
            assert_eq!(read, conditions, "{text}");
        }
    }

    #[test]
    fn what_names_no_single_element_is_refused() {
        for (text, why) in [
            ("", "names no element"),
            ("form input", "more than one element"),
            ("form>input", "more than one element"),
            ("a,b", "more than one element"),
            ("*", "stray character"),
            ("input:first-child", "pseudo-class"),
            ("input[name", "behind its ["),
            ("input[]", "behind its ["),
            ("input[name^=a]", "behind its ["),
            ("input[name=]", "behind its ["),
            ("input[name='a]", "behind its ["),
            ("input[name=a b]", "behind its ["),
            ("input#", "has no name behind # or ."),
            ("a.b.c.d.e.f.g.h.i.j", "more than 8 conditions"),
        ] {
            let error = HtmlElement::new(text).expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!(HtmlElement::new(&"a".repeat(65)).is_err());
    }
}
