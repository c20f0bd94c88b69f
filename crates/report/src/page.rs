//! A page of text with titles, wrapped sentences and tables, never wider than the terminal.

use crate::Style;
use crate::style::Paint;
use crate::table::TextTable;

/// A sentence needs this many columns beside its lead; with fewer it starts below the lead.
const ROOM_MIN: usize = 15;

/// Before a sentence below its lead.
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

    /// Adds an empty line and a title.
    pub(crate) fn title(&mut self, title: &str) {
        self.blank();
        self.paragraph(Paint::Title, "", title);
    }

    pub(crate) fn blank(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    /// Adds a sentence after `lead`; further lines are indented to its first word.
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

    /// Adds a label in a column of its own, and its text. Labels are our own words and therefore
    /// short.
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

/// Breaks text at spaces; a word longer than a line, such as a URL, is broken anywhere.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let mut word: Vec<char> = word.chars().collect();
        let line = lines.last().map_or(0, |line| line.chars().count());
        // Widths are in characters: our texts only use characters of one column.
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
