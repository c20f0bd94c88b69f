//! A value with its place, read as one type or reported as having the wrong one.

use crate::read::context::Context;
use crate::read::node::{Node, NodeValue};
use crate::{Plan, Rate, Words, duration, mask};
use secret::Secret;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

/// A value of a plan with its path and place. Its readers return `None` if they have reported a
/// problem.
#[derive(Clone)]
pub(crate) struct Field<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) path: String,
    pub(crate) node: &'a Node,
}

impl<'a> Field<'a> {
    /// Reports `message` at this field's path and place.
    pub(crate) fn problem(&self, message: impl Display) {
        self.context
            .problem(&self.path, Some(self.node.at), message.to_string());
    }

    /// Reports the value, followed by why it is refused and what to write instead.
    pub(crate) fn refuse(&self, why: impl Display) {
        self.problem(format_args!("{} {why}", self.render()));
    }

    pub(crate) fn wrong_type(&self, wanted: &str, example: &str) {
        self.problem(format_args!(
            "found {} where {wanted} belongs; write {example}",
            self.render_with_type()
        ));
    }

    /// Whether the value must not appear in messages.
    pub(crate) fn is_secret(&self) -> bool {
        let is_text = matches!(self.node.value, NodeValue::Text(_));
        mask::is_secret_place(&self.path, is_text)
    }

    pub(crate) fn text(&self, example: &str) -> Option<&'a str> {
        let text = self.template_text(example)?;
        if let Some(name) = self.context.names().data_in(text) {
            self.problem(format_args!(
                "has the column {{{name}}}, which can stand in request.path, headers and body, and \
                 in tls.server_name"
            ));
            return None;
        }
        if let Some(name) = self.context.names().made_in(text) {
            self.problem(format_args!(
                "has the made value {{{name}}}, which can stand in request.path, headers and body"
            ));
            return None;
        }
        if let Some(name) = self.context.names().capture_in(text) {
            self.problem(format_args!(
                "has the captured text {{{name}}}, which can stand in request.path, headers and \
                 body"
            ));
            return None;
        }
        let Some(name) = self.context.variables().secret_in(text) else {
            return Some(text);
        };
        self.problem(format_args!(
            "has the secret {{{name}}}, which can stand in request.path, headers and body, since \
             results show everything else; write a variable that is not secret, and give it with \
             --set"
        ));
        None
    }

    /// Like [`Field::text`], for a text that may name secrets.
    pub(crate) fn template_text(&self, example: &str) -> Option<&'a str> {
        match (&self.node.variable, &self.node.value) {
            (Some(text), _) | (None, NodeValue::Text(text)) => Some(text),
            (None, _) => {
                self.wrong_type("a string", example);
                None
            }
        }
    }

    /// Puts the values of secrets into the field's `text`, to be examined.
    pub(crate) fn reveal(&self, text: &str) -> Option<Secret<String>> {
        let revealed = self.context.variables().reveal(text);
        if revealed.is_none() {
            let most = Plan::MAX_BYTES;
            self.problem(format_args!(
                "has more than {most} bytes with its secrets; put what is long into a file"
            ));
        }
        revealed
    }

    /// Shows a character that cannot stand in the field, unless only a secret in its `text` has it.
    pub(crate) fn show_character(&self, text: &str, character: char) -> String {
        if text.contains(character) {
            format!("{character:?}")
        } else {
            "a character of a secret".to_owned()
        }
    }

    /// Reads `true` or `false` if other types are valid too.
    pub(crate) fn silent_flag(&self) -> Option<bool> {
        if let NodeValue::Flag(flag) = self.node.value {
            Some(flag)
        } else {
            None
        }
    }

    pub(crate) fn flag(&self) -> Option<bool> {
        if let NodeValue::Flag(flag) = self.node.value {
            return Some(flag);
        }
        self.wrong_type("true or false", "one of these words, without quotes");
        None
    }

    /// Reads a whole number within `range`.
    pub(crate) fn whole(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let NodeValue::Whole(number) = self.node.value else {
            self.wrong_type(
                "a whole number",
                &format!(
                    "a number from {} to {}, without quotes",
                    range.start(),
                    range.end()
                ),
            );
            return None;
        };
        let inside = u64::try_from(number)
            .ok()
            .filter(|number| range.contains(number));
        if inside.is_none() {
            self.refuse(format_args!(
                "is out of range; write a number from {} to {}",
                range.start(),
                range.end()
            ));
        }
        inside
    }

    /// Like [`Field::whole`], for ranges within 32 bits.
    pub(crate) fn whole32(&self, range: RangeInclusive<u32>) -> Option<u32> {
        let wide = u64::from(*range.start())..=u64::from(*range.end());
        let number = self.whole(wide)?;
        // It is within the range, so it always fits.
        u32::try_from(number).ok()
    }

    /// Reads a number, whole or not.
    pub(crate) fn number(&self, example: &str) -> Option<f64> {
        match self.node.value {
            NodeValue::Whole(number) => Some(number as f64),
            NodeValue::Decimal(number) => Some(number),
            _ => {
                self.wrong_type("a number", example);
                None
            }
        }
    }

    /// Reads a duration within `range`.
    pub(crate) fn duration(&self, range: RangeInclusive<Duration>) -> Option<Duration> {
        if let NodeValue::Whole(number) = self.node.value {
            self.refuse(format_args!(
                "has no unit; write \"{number}s\" for seconds, or another unit: ns, us, ms, m, h"
            ));
            return None;
        }
        let duration = duration::parse(self.text("a duration such as \"10s\"")?)
            .map_err(|why| self.refuse(why))
            .ok()?;
        if range.contains(&duration) {
            return Some(duration);
        }
        let least = duration::write(*range.start());
        let most = duration::write(*range.end());
        self.refuse(format_args!(
            "is out of range; write a duration from \"{least}\" to \"{most}\""
        ));
        None
    }

    pub(crate) fn rate(&self) -> Option<Rate> {
        if let NodeValue::Whole(_) | NodeValue::Decimal(_) = self.node.value {
            let number = self.render();
            self.refuse(format_args!(
                "has no unit; write \"{number}/s\", or /m for a minute, /h for an hour"
            ));
            return None;
        }
        self.parse("a rate such as \"2000/s\"")
    }

    /// Reads a string that `T` can parse; the parser's message must continue a sentence that starts
    /// with the value.
    pub(crate) fn parse<T: FromStr<Err: Display>>(&self, example: &str) -> Option<T> {
        self.text(example)?
            .parse()
            .map_err(|why| self.refuse(why))
            .ok()
    }

    /// Reads one of a few words.
    pub(crate) fn choice<T: Words>(&self) -> Option<T> {
        let words = T::ALL.iter().map(|value| format!("{:?}", value.word()));
        let words = either(&words.collect::<Vec<String>>());
        let choice = T::from_word(self.text(&words)?);
        if choice.is_none() {
            self.refuse(format_args!("is not known here; write {words}"));
        }
        choice
    }

    /// Reads the elements of a list.
    pub(crate) fn list(&self, example: &str) -> Option<Vec<Field<'a>>> {
        let NodeValue::List(nodes) = &self.node.value else {
            self.wrong_type("a list", example);
            return None;
        };
        let element = |(index, node)| Field {
            context: self.context,
            path: format!("{}[{index}]", self.path),
            node,
        };
        Some(nodes.iter().enumerate().map(element).collect())
    }

    /// Reads the elements of a list, each with `read`; `None` if one is wrong.
    pub(crate) fn list_of<T>(
        &self,
        example: &str,
        mut read: impl FnMut(&Field<'a>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let read: Vec<Option<T>> = self.list(example)?.iter().map(&mut read).collect();
        read.into_iter().collect()
    }
}

/// `a, b or c`.
fn either(words: &[String]) -> String {
    match words {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        words => words.concat(),
    }
}

/// Renders a value for messages.
fn render(value: &NodeValue) -> String {
    match value {
        NodeValue::Text(text) if text.chars().count() > 60 => {
            format!("{:?}…", text.chars().take(60).collect::<String>())
        }
        NodeValue::Text(text) => format!("{text:?}"),
        NodeValue::Whole(number) => number.to_string(),
        NodeValue::Decimal(number) => format!("{number:?}"),
        NodeValue::Flag(flag) => flag.to_string(),
        NodeValue::Date(date) => date.clone(),
        NodeValue::List(list) if list.is_empty() => "[]".to_owned(),
        NodeValue::List(_) => "this list".to_owned(),
        NodeValue::Table(_) => "this table".to_owned(),
    }
}

impl Field<'_> {
    /// Renders the value for messages, with secrets hidden.
    fn render(&self) -> String {
        match &self.node.value {
            NodeValue::List(_) | NodeValue::Table(_) => render(&self.node.value),
            _ if self.is_secret() => "***".to_owned(),
            value => render(value),
        }
    }

    /// Renders the value with its type, for messages about the type.
    fn render_with_type(&self) -> String {
        let kind = match &self.node.value {
            NodeValue::Text(_) => "the string",
            NodeValue::Whole(_) => "the integer",
            NodeValue::Decimal(_) => "the float",
            NodeValue::Flag(_) => "the boolean",
            NodeValue::Date(_) => "the date",
            NodeValue::List(_) => return "a list".to_owned(),
            NodeValue::Table(_) => return "a table".to_owned(),
        };
        format!("{kind} {}", self.render())
    }
}
