//! The content of a result: sections with facts, tables and sentences, made once for all formats
//! that people read. A format draws them; it may add pictures, but no figures and no sentences.

mod agents;
mod data;
mod errors;
mod groups;
mod journeys;
mod load;
mod machines;
mod replay;
mod section;
mod thresholds;
mod times;
mod tls;
mod tls_words;
mod tokens;
mod totals;

pub(crate) use journeys::{JourneyRates, rates as journey_rates, totals as journeys};
pub(crate) use load::{what_ran, what_runs, what_was_asked};
pub(crate) use section::{
    Bar, ContentBlock, ErrorLine, Remark, Section, Table, ThresholdLine, Topic,
};
pub(crate) use thresholds::{limit_in_words, value_in_words};
pub(crate) use times::percentile_cell;
pub(crate) use tls_words::handshake_kinds;
pub(crate) use totals::{connections, errors as errors_in_words, operations, rate};

use crate::style::Paint;
use analysis::Document;

/// The sections that have content, in the order of reports.
pub(crate) fn content(document: &Document) -> Vec<Section> {
    let all = [
        totals::section(document),
        thresholds::section(document),
        journeys::section(document),
        times::stages(document),
        times::phases(&document.measured),
        times::percentiles(&document.measured),
        times::histogram(&document.measured),
        errors::statuses(&document.measured),
        errors::grpc(document),
        errors::section(document),
        errors::grpc_messages(document),
        replay::section(document),
        data::section(document),
        tokens::section(document),
        groups::section(Topic::Requests, "Requests", &document.by_request),
        groups::section(Topic::Addresses, "Addresses", &document.by_address),
        groups::section(Topic::Labels, "Labels", &document.by_label),
        tls::section(document),
        agents::section(document),
        machines::section(document),
        notes(document),
    ];
    all.into_iter()
        .filter(|section| !section.blocks.is_empty())
        .collect()
}

fn notes(document: &Document) -> Section {
    let notes = document.notes.iter().cloned();
    let notes = notes.map(|text| Remark::new(Paint::Plain, text)).collect();
    Section::new(Topic::Notes, "Notes", [ContentBlock::Items(notes)])
}
