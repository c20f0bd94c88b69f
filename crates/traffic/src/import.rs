//! Reads a log from its first byte to its last, by the format that it has.

use crate::format::TrafficFormat;
use crate::goreplay::{self, Unanswered};
use crate::import_error::ImportError;
use crate::import_rules::ImportRules;
use crate::importer::Importer;
use crate::input::Input;
use crate::lines::{LineEnd, LineReader};
use crate::recorded::LineResult;
use crate::skip::SkipReason;
use crate::stamp::Stamp;
use crate::summary::ImportSummary;
use crate::text_log::TextLog;
use crate::{har, json_log, vegeta};
use std::io::{self, BufRead, Read, Write};

/// Reads recorded traffic, and writes it as lines of [`ReplayEntry`](crate::ReplayEntry) in order
/// of arrival. Gzip is unpacked. Takes `rules.sort_bytes` of memory and some 100 MiB.
///
/// # Errors
/// The input cannot be read or understood, the rules do not allow for what it has, or the output
/// cannot be written. By then a part may be written.
pub fn import(
    input: impl Read,
    rules: &ImportRules,
    output: &mut dyn Write,
) -> Result<ImportSummary, ImportError> {
    let unreadable = |error| ImportError::Read {
        place: "line",
        number: 1,
        error,
    };
    let input = Input::open(input).map_err(unreadable)?;
    if input.sample.trim_ascii().is_empty() {
        return Err(ImportError::Empty);
    }
    let format = match (rules.format, &rules.log_format) {
        (Some(format), _) => format,
        (None, Some(_)) => TrafficFormat::Combined,
        (None, None) => {
            TrafficFormat::recognise(&input.sample).map_err(ImportError::UnknownFormat)?
        }
    };
    let mut importer = Importer::new(rules, format, output);
    match format {
        TrafficFormat::Combined => {
            let mut log = rules
                .log_format
                .clone()
                .map_or_else(TextLog::usual, TextLog::new);
            read_lines(input.reader, &mut importer, |_, line| log.read(line))?;
        }
        TrafficFormat::Json => {
            read_lines(input.reader, &mut importer, |_, line| json_log::read(line))?;
        }
        TrafficFormat::VegetaTargets => {
            let interval_ns = rules.interval_ns.ok_or(ImportError::NoRate)?;
            read_lines(input.reader, &mut importer, |nth, line| {
                let at_ns = i64::try_from(nth.saturating_mul(interval_ns)).unwrap_or(i64::MAX);
                vegeta::read_target(line, Stamp::from_ns(at_ns, false))
            })?;
        }
        TrafficFormat::VegetaResults => {
            read_lines(input.reader, &mut importer, |_, line| {
                vegeta::read_result(line)
            })?;
        }
        TrafficFormat::Goreplay => read_records(input.reader, &mut importer)?,
        TrafficFormat::Har => read_archive(input.reader, &mut importer)?,
    }
    importer.finish()
}

/// Reads line after line; `read` is also told how many came before, without empty ones.
fn read_lines(
    input: impl BufRead,
    importer: &mut Importer<'_>,
    mut read: impl FnMut(u64, &[u8]) -> LineResult,
) -> Result<(), ImportError> {
    let mut lines = LineReader::new(input);
    let mut nth = 0;
    loop {
        let end = lines.next().map_err(|error| cut(lines.number + 1, error))?;
        let line = match end {
            None => return Ok(()),
            Some(LineEnd::TooLong) => Ok(Err(SkipReason::TooLong)),
            Some(LineEnd::Whole) if lines.line.trim_ascii().is_empty() => continue,
            Some(LineEnd::Whole) => read(nth, &lines.line),
        };
        nth += 1;
        importer.take(lines.number, line)?;
    }
}

fn read_records(input: impl BufRead, importer: &mut Importer<'_>) -> Result<(), ImportError> {
    let mut lines = LineReader::new(input);
    let mut unanswered = Unanswered::default();
    while let Some(record) =
        goreplay::next_record(&mut lines).map_err(|error| cut(lines.number + 1, error))?
    {
        for (number, request) in unanswered.add(record) {
            importer.take(number, request)?;
        }
    }
    let mut rest = unanswered.finish().into_iter();
    rest.try_for_each(|(number, request)| importer.take(number, request))
}

fn read_archive(input: impl BufRead, importer: &mut Importer<'_>) -> Result<(), ImportError> {
    let mut last = 0;
    let read = har::read(input, &mut |number, entry| {
        last = number;
        importer.take(number, entry)
    });
    match read {
        Ok(taken) => taken,
        Err(error) if error.is_io() => Err(ImportError::Read {
            place: "entry",
            number: last + 1,
            error: error.into(),
        }),
        Err(error) => {
            let (line, error) = har::place(&error);
            Err(ImportError::BrokenArchive { line, error })
        }
    }
}

fn cut(number: u64, error: io::Error) -> ImportError {
    ImportError::Read {
        place: "line",
        number,
        error,
    }
}
