//! The files in run folders: what can be read can be shown in every format.

use report::{Format, Style};

/// A terminal that can show everything, and a minimal one.
const STYLES: [Style; 2] = [
    Style::PLAIN,
    Style {
        colour: true,
        width: 0,
        unicode: true,
    },
];

/// A `result.json`.
pub fn result(data: &[u8]) {
    let Ok(document) = report::read(data) else {
        return;
    };
    let _ = [true, false].map(|strict| analysis::exit_code(&document, strict));
    for style in STYLES {
        Format::ALL
            .iter()
            .for_each(|format| drop(format.render(&document, style)));
    }
    let saved = Format::Json.render(&document, Style::PLAIN);
    let read = report::read(saved.as_bytes()).expect("our own document is read");
    assert_eq!(Format::Json.render(&read, Style::PLAIN), saved);
}

/// A `campaign.json`.
pub fn campaign(data: &[u8]) {
    let Ok(document) = report::read_campaign(data) else {
        return;
    };
    for style in STYLES {
        let formats = Format::ALL.iter();
        formats.for_each(|format| drop(format.render_campaign(&document, style)));
    }
    let saved = Format::Json.render_campaign(&document, Style::PLAIN);
    let read = report::read_campaign(saved.as_bytes()).expect("our own document is read");
    assert_eq!(Format::Json.render_campaign(&read, Style::PLAIN), saved);
}

/// A `run.log`, or the content of a batch in it.
pub fn run_log(data: &[u8]) {
    coordinator::fuzzing::run_log(data);
}
