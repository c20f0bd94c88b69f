//! The machines that were watched, and those of agents that were not as they should be.

use crate::machines;
use crate::page::Page;
use crate::style::Paint;
use crate::table::TextTable;
use analysis::Document;

pub(crate) fn write(page: &mut Page, document: &Document) {
    let rows = machines::rows(document);
    if rows.is_empty() {
        return; // no machine was watched, or there is nothing to say of any
    }
    page.title("Machines");
    let mut table = TextTable::new(&machines::HEADINGS);
    rows.into_iter().for_each(|row| table.row(row));
    page.table(&table);
    for sentence in machines::sentences(document) {
        page.paragraph(Paint::Plain, "  ", &sentence);
    }
}
