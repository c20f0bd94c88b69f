//! The summary a person reads at the end of a run: the verdict first, then what users of ab, hey
//! and oha know, then what only a cluster has.

mod agents;
mod brief;
mod head;
mod judgements;
mod machines;
mod outcomes;
mod times;
mod tls;

pub(crate) use agents::contributors;
pub(crate) use brief::render as render_brief;
pub(crate) use head::{what_ran, what_runs};
pub(crate) use outcomes::{GROUP_HEADINGS, group_row};

use crate::Style;
use crate::page::Page;
use analysis::Document;

pub(crate) fn render(document: &Document, style: Style) -> String {
    let mut page = Page::new(style);
    head::write(&mut page, document);
    judgements::write(&mut page, document);
    times::write(&mut page, document);
    outcomes::write(&mut page, document);
    tls::write(&mut page, document);
    agents::write(&mut page, document);
    machines::write(&mut page, document);
    head::write_notes(&mut page, document);
    page.finish()
}
