//! Apache's `LogFormat` (<https://httpd.apache.org/docs/2.4/mod/mod_log_config.html#formats>).

use super::{FormatPart, LogFormatError};
use crate::stamp::TimeUnit;
use crate::variable::{Moment, Variable};

/// Formats of strftime(3) that are read, each also with a zone behind it.
const STRFTIME: [&str; 6] = [
    "%d/%b/%Y:%T",
    "%d/%b/%Y:%H:%M:%S",
    "%FT%T",
    "%F %T",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d %H:%M:%S",
];

pub(super) fn parse(text: &str) -> Result<Vec<FormatPart>, LogFormatError> {
    let text = directive(text);
    let mut parts = Vec::new();
    let mut literal = Vec::new();
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '%' if rest.starts_with('%') => {
                literal.push(b'%');
                rest = &rest[1..];
            }
            '%' => {
                let (field, after) = field(rest)?;
                if !literal.is_empty() {
                    parts.push(FormatPart::Literal(std::mem::take(&mut literal)));
                }
                push_field(&mut parts, field);
                rest = after;
            }
            _ => literal.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    if !literal.is_empty() {
        parts.push(FormatPart::Literal(literal));
    }
    Ok(parts)
}

/// `%U%q` stand side by side in many formats: together they are a path with query.
fn push_field(parts: &mut Vec<FormatPart>, field: Variable) {
    let before = parts.last_mut().filter(|_| field == Variable::Query);
    match before {
        Some(FormatPart::Field(path @ Variable::Path)) => *path = Variable::Target,
        _ => parts.push(FormatPart::Field(field)),
    }
}

/// The format in a directive `LogFormat "…" name`, or as it stands. `\"` is a quotation mark in
/// both, since formats are copied from a configuration.
fn directive(text: &str) -> String {
    let quoted = text.strip_prefix("LogFormat").map(str::trim_start);
    let inner = quoted.and_then(|it| it.strip_prefix('"')).map(|it| {
        let end = it.match_indices('"').map(|(at, _)| at);
        let end = end.into_iter().find(|&at| !it[..at].ends_with('\\'));
        &it[..end.unwrap_or(it.len())]
    });
    let text = inner.unwrap_or(text);
    text.replace("\\\"", "\"")
        .replace("\\t", "\t")
        .replace("\\\\", "\\")
}

/// The field of a directive, without its percent sign, and the text behind it.
fn field(text: &str) -> Result<(Variable, &str), LogFormatError> {
    // `!200,304`, `<` and `>` choose statuses and requests.
    let text = text.trim_start_matches(|c: char| "!<>,".contains(c) || c.is_ascii_digit());
    let (argument, text) = match text.strip_prefix('{') {
        Some(braced) => braced
            .split_once('}')
            .ok_or_else(|| LogFormatError(format!("%{{{braced}: the brace is not closed")))?,
        None => ("", text),
    };
    let letter = text.chars().next();
    let letter =
        letter.ok_or_else(|| LogFormatError("a percent sign stands at its end".to_owned()))?;
    let field = match letter {
        't' => time(argument)?,
        'D' => Variable::Duration(TimeUnit::Microseconds),
        'T' => Variable::Duration(match argument {
            "ms" => TimeUnit::Milliseconds,
            "us" => TimeUnit::Microseconds,
            _ => TimeUnit::Seconds,
        }),
        'r' => Variable::RequestLine,
        'm' => Variable::Method,
        'U' => Variable::Path,
        'q' => Variable::Query,
        's' => Variable::Status,
        'i' => Variable::Header(argument.to_ascii_lowercase()),
        'v' | 'V' => Variable::Host,
        'L' if argument == "c" => Variable::Connection,
        'a' | 'h' if argument != "c" => Variable::ClientAddress,
        'p' if argument == "remote" => Variable::ClientPort,
        'k' => Variable::ConnectionRequests(0),
        'x' | 'c' | 'e' => match argument {
            "SSL_PROTOCOL" | "version" => Variable::TlsVersion,
            "SSL_SESSION_RESUMED" => Variable::SessionReused,
            "SSL_TLS_SNI" => Variable::ServerName,
            _ => Variable::Ignored,
        },
        'a' | 'A' | 'b' | 'B' | 'h' | 'H' | 'I' | 'l' | 'L' | 'O' | 'p' | 'P' | 'S' | 'X' => {
            Variable::IgnoredWord
        }
        _ => Variable::Ignored,
    };
    Ok((field, &text[letter.len_utf8()..]))
}

/// `%t` and its variants: without an argument in brackets, which belong to the value.
fn time(argument: &str) -> Result<Variable, LogFormatError> {
    let (moment, unit) = match argument.split_once(':') {
        Some(("begin", unit)) => (Moment::Arrival, unit),
        Some(("end", unit)) => (Moment::End, unit),
        _ => match argument {
            "begin" => (Moment::Arrival, ""),
            "end" => (Moment::End, ""),
            unit => (Moment::Arrival, unit),
        },
    };
    Ok(match unit {
        "" => Variable::Time(moment),
        "sec" => Variable::Clock(moment, TimeUnit::Seconds),
        "msec" => Variable::Clock(moment, TimeUnit::Milliseconds),
        "usec" => Variable::Clock(moment, TimeUnit::Microseconds),
        "msec_frac" => Variable::Fraction(TimeUnit::Milliseconds),
        "usec_frac" => Variable::Fraction(TimeUnit::Microseconds),
        "%z" => Variable::IgnoredWord,
        _ if STRFTIME.contains(&unit.trim_end_matches("%z").trim_end()) => Variable::Time(moment),
        _ => {
            let why = format!(
                "%{{{argument}}}t is not a time that is read; log %t and, for parts of a second, \
                 %{{usec_frac}}t"
            );
            return Err(LogFormatError(why));
        }
    })
}
