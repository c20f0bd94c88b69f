//! A page of text: titles, wrapped sentences, tables, never wider than the terminal.

use crate::Style;
use crate::style::Paint;
use crate::table::TextTable;

/// Columns a sentence needs beside its lead; with fewer it stands below it.
const ROOM_MIN: usize = 15;

/// Before a sentence that stands below its lead.
const NARROW_LEAD: &str = "  ";

/// A page under construction.
#[derive(Debug)]
pub(crate) struct Page {
    style: Style,
    text: String,
}

impl Page {
    pub(crate) fn new(style: Style) -> Page {
        Page {
            style,
            text: String::new(),
        }
    }

    pub(crate) fn style(&self) -> Style {
        self.style
    }

    /// An empty line and a title.
    pub(crate) fn title(&mut self, title: &str) {
        self.blank();
        self.paragraph(Paint::Title, "", title);
    }

    pub(crate) fn blank(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    /// A sentence after `lead`; further lines stand under its first word.
    pub(crate) fn paragraph(&mut self, paint: Paint, lead: &str, sentence: &str) {
        let lead = self.style.text(lead);
        let indent = lead.chars().count();
        if self.style.columns() < indent + ROOM_MIN {
            wrap(&lead, self.style.columns())
                .iter()
                .for_each(|line| self.line(line));
            return self.paragraph(paint, NARROW_LEAD, sentence);
        }
        let room = self.style.columns() - indent;
        for (number, line) in wrap(&self.style.text(sentence), room)
            .into_iter()
            .enumerate()
        {
            let lead = if number == 0 {
                lead.clone()
            } else {
                " ".repeat(indent)
            };
            self.line(&format!("{lead}{}", self.style.paint(paint, &line)));
        }
    }

    /// A label in a column of its own and what it labels; labels are in the tool's own words, so
    /// they are short.
    pub(crate) fn fact(&mut self, label: &str, sentence: &str) {
        self.paragraph(Paint::Plain, &format!("{label:<13}"), sentence);
    }

    pub(crate) fn table(&mut self, table: &TextTable) {
        table
            .lines(self.style)
            .iter()
            .for_each(|line| self.line(line));
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// Breaks at spaces; a word longer than a line (a URL) is broken where it must.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let mut word: Vec<char> = word.chars().collect();
        let line = lines.last().map_or(0, |line| line.chars().count());
        // Widths are in characters: what we write has one column each.
        if line > 0 && line + 1 + word.len() <= width {
            lines.last_mut().expect("there is always a line").push(' ');
        } else if line > 0 {
            lines.push(String::new());
        }
        while word.len() > width {
            let rest = word.split_off(width);
            lines
                .last_mut()
                .expect("there is always a line")
                .extend(word);
            lines.push(String::new());
            word = rest;
        }
        lines
            .last_mut()
            .expect("there is always a line")
            .extend(word);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn lines_break_at_spaces_and_long_words_where_they_must() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(
            wrap("see https://host/a now", 8),
            ["see", "https://", "host/a", "now"]
        );
        assert_eq!(wrap("", 8), [""]);
        assert_eq!(wrap("  ab   c ", 8), ["ab c"]);
    }
}
