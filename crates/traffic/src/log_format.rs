//! A text log's format as a row of literals and fields, made from what the server's configuration
//! says, and the reading of a line by it.

mod apache;
mod nginx;

use crate::escape::{find_unescaped, unescape};
use crate::recorded::LineResult;
use crate::request_facts::RequestFacts;
use crate::skip::LineError;
use crate::variable::Variable;
use std::borrow::Cow;

/// Places that are tried for the ends of a line's fields: a field without quotation marks may
/// contain what separates it from the next.
const TRIES_MAX: u32 = 1_000;

/// The formats that every server has, from the one that says most to the one that says least. The
/// first also fits lines of the third, and so on, which is why the order matters.
const USUAL: [&str; 4] = [
    "$host:$server_port $remote_addr $ident $remote_user [$time_local] \"$request\" $status \
     $bytes_sent \"$http_referer\" \"$http_user_agent\"",
    "$remote_addr $ident $remote_user [$time_local] \"$request\" $status $bytes_sent \
     \"$http_referer\" \"$http_user_agent\"",
    "$host:$server_port $remote_addr $ident $remote_user [$time_local] \"$request\" $status \
     $bytes_sent",
    "$remote_addr $ident $remote_user [$time_local] \"$request\" $status $bytes_sent",
];

/// A part of a log's format.
#[derive(Debug, Clone, PartialEq, Eq)]
enum FormatPart {
    Literal(Vec<u8>),
    Field(Variable),
}

/// Why a format cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LogFormatError(String);

/// The format of a text log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFormat {
    parts: Vec<FormatPart>,
    /// Whether values have escapes.
    has_escapes: bool,
    /// Whether more may follow at the end of a line.
    is_open: bool,
}

impl LogFormat {
    /// Reads nginx's `log_format` or Apache's `LogFormat`: only its text, or the whole directive.
    ///
    /// # Errors
    /// It is neither, or does not have what a replay needs.
    pub fn parse(text: &str) -> Result<LogFormat, LogFormatError> {
        let text = text.trim();
        let is_nginx = text.match_indices('$').any(|(at, _)| {
            let next = text[at + 1..].chars().next();
            next.is_some_and(|c| c.is_ascii_lowercase() || c == '{')
        });
        let (parts, has_escapes) = if is_nginx {
            nginx::parse(text)?
        } else if text.contains('%') {
            (apache::parse(text)?, true)
        } else {
            let why = "it has no fields; write nginx's log_format, such as '$msec $request_time \
                       \"$request\" $status', or Apache's LogFormat";
            return Err(LogFormatError(why.to_owned()));
        };
        let format = LogFormat {
            parts,
            has_escapes,
            is_open: false,
        };
        format.check()?;
        Ok(format)
    }

    /// The usual formats.
    pub(crate) fn usual() -> Vec<LogFormat> {
        let formats = USUAL.iter().map(|text| {
            let format = LogFormat::parse(text).expect("the usual formats have all that is needed");
            LogFormat {
                is_open: true,
                ..format
            }
        });
        formats.collect()
    }

    fn check(&self) -> Result<(), LogFormatError> {
        let has = |wanted: fn(&Variable) -> bool| {
            let is_wanted =
                |part: &FormatPart| matches!(part, FormatPart::Field(field) if wanted(field));
            self.parts.iter().any(is_wanted)
        };
        let fault = |why: &str| Err(LogFormatError(why.to_owned()));
        if !has(|it| matches!(it, Variable::Clock(..) | Variable::Time(_))) {
            return fault(
                "it has no time; log nginx's $msec, $time_iso8601 or $time_local, or Apache's %t",
            );
        }
        let has_target = has(|it| matches!(it, Variable::Target | Variable::Path));
        let has_parts = has_target && has(|it| *it == Variable::Method);
        if !has_parts && !has(|it| *it == Variable::RequestLine) {
            return fault(
                "it has no request; log nginx's $request, or $request_method and $request_uri, or \
                 Apache's %r",
            );
        }
        let stuck = self.parts.windows(2).find_map(|pair| match pair {
            [FormatPart::Field(first), FormatPart::Field(second)] => {
                (!begins_with_slash(second)).then_some((first, second))
            }
            _ => None,
        });
        if stuck.is_some() {
            return fault(
                "two of its fields stand side by side, so that the end of the first cannot be \
                 found; put a space between them in the server's configuration",
            );
        }
        Ok(())
    }

    /// Reads a line.
    pub(crate) fn read(&self, line: &[u8]) -> LineResult {
        let mut found = Found::new(line, self);
        if !found.find(&self.parts, 0) {
            return Err(found.error(&self.parts));
        }
        let mut facts = RequestFacts::default();
        let fields = self.parts.iter().filter_map(|part| match part {
            FormatPart::Field(variable) => Some(variable),
            FormatPart::Literal(_) => None,
        });
        for (variable, (from, to)) in fields.zip(found.fields) {
            let value = &line[from..to];
            let value = if self.has_escapes {
                unescape(value)
            } else {
                Cow::Borrowed(value)
            };
            facts.set(variable, value).map_err(|why| LineError {
                column: from + 1,
                why: format!("{why}: {}", excerpt(&line[from..to])),
            })?;
        }
        Ok(facts.finish())
    }
}

/// Whether values of a field begin with a slash, which ends the field before.
fn begins_with_slash(variable: &Variable) -> bool {
    matches!(variable, Variable::Target | Variable::Path)
}

/// The beginning of a part of a line, for a message.
fn excerpt(bytes: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]).into_owned();
    let more = if bytes.len() > SHOWN { "…" } else { "" };
    format!("{text:?}{more}")
}

/// The places of a line's fields, as they are found.
struct Found<'l> {
    line: &'l [u8],
    has_escapes: bool,
    /// Whether more may follow at the end of the line.
    is_open: bool,
    fields: Vec<(usize, usize)>,
    tries: u32,
    /// The furthest part that did not fit, and its place.
    furthest: (usize, usize),
}

impl<'l> Found<'l> {
    fn new(line: &'l [u8], format: &LogFormat) -> Found<'l> {
        Found {
            line,
            has_escapes: format.has_escapes,
            is_open: format.is_open,
            fields: Vec::with_capacity(16),
            tries: 0,
            furthest: (0, 0),
        }
    }

    /// Finds the fields of `parts` from `at` on. If a field's first possible end leads nowhere, the
    /// next one is tried.
    fn find(&mut self, parts: &[FormatPart], at: usize) -> bool {
        match parts {
            [] => self.is_open || at == self.line.len() || self.miss(at),
            [FormatPart::Literal(literal), rest @ ..] => {
                if !self.line[at..].starts_with(literal) {
                    return self.miss(at);
                }
                self.find(rest, at + literal.len())
            }
            [FormatPart::Field(variable), rest @ ..] => {
                let depth = self.fields.len();
                let mut from = at;
                while let Some(end) = self.end(rest, from) {
                    self.tries += 1;
                    let is_accepted = variable.accepts(&self.line[at..end]);
                    if !is_accepted || self.tries > TRIES_MAX {
                        break;
                    }
                    self.fields.push((at, end));
                    if self.find(rest, end) {
                        return true;
                    }
                    self.fields.truncate(depth);
                    from = end + 1;
                    if rest.is_empty() {
                        break;
                    }
                }
                self.miss(at)
            }
        }
    }

    /// The first place from `from` on where a field can end, if `rest` comes behind it.
    fn end(&self, rest: &[FormatPart], from: usize) -> Option<usize> {
        let text = self.line.get(from..)?;
        match rest.first() {
            Some(FormatPart::Literal(literal)) => Some(from + self.search(text, literal)?),
            Some(FormatPart::Field(_)) => Some(from + self.search(text, b"/")?),
            // The last field of an open format is a word.
            None if self.is_open => {
                let space = text.iter().position(|&byte| byte == b' ');
                Some(from + space.unwrap_or(text.len()))
            }
            None => Some(self.line.len()),
        }
    }

    fn search(&self, text: &[u8], sought: &[u8]) -> Option<usize> {
        if self.has_escapes {
            return find_unescaped(text, sought);
        }
        text.windows(sought.len())
            .position(|window| window == sought)
    }

    fn miss(&mut self, at: usize) -> bool {
        let field = self.fields.len();
        if (field, at) > self.furthest {
            self.furthest = (field, at);
        }
        false
    }

    fn error(&self, parts: &[FormatPart]) -> LineError {
        let (field, at) = self.furthest;
        LineError {
            column: at + 1,
            why: format!(
                "field {} of {} of the format does not fit {}",
                field + 1,
                parts
                    .iter()
                    .filter(|part| matches!(part, FormatPart::Field(_)))
                    .count(),
                excerpt(&self.line[at.min(self.line.len())..])
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LogFormat;
    use crate::recorded::RecordedRequest;

    fn read(format: &str, line: &str) -> RecordedRequest {
        let read = LogFormat::parse(format).unwrap().read(line.as_bytes());
        read.unwrap_or_else(|error| panic!("{line}: {error:?}"))
            .unwrap()
    }

    fn target(format: &str, line: &str) -> String {
        String::from_utf8(read(format, line).target).unwrap()
    }

    #[test]
    fn directive_of_nginx_is_read_as_its_configuration_has_it() {
        let whole = "log_format  main escape=json '$msec [$request_time] '\n   '\"$request\" '\n\
                     \"$status\";";
        let bare = "$msec [$request_time] \"$request\" $status";
        let pieces = "'$msec [${request_time}] ' '\"$request\" $status'";
        let formats = [whole, bare, pieces].map(|text| LogFormat::parse(text).unwrap());
        assert_eq!(formats[0], formats[1]);
        assert_eq!(formats[0], formats[2]);
        let request = read(bare, "1795592127.568 [1.502] \"GET /slow?a HTTP/1.1\" 499");
        assert_eq!(
            request.stamp.unwrap().since_1970_ns,
            1_795_592_127_568_000_000
        );
        assert_eq!(request.elapsed_ns, 1_502_000_000);
        assert_eq!(
            (request.method.as_str(), request.status),
            ("GET", Some(499))
        );
    }

    #[test]
    fn directive_of_apache_is_read_as_its_configuration_has_it() {
        let whole =
            r#"LogFormat "%{%d/%b/%Y:%T}t.%{usec_frac}t %{%z}t %D \"%m\" \"%U%q\" %>s" exact"#;
        let line = "25/Nov/2026:07:36:15.459703 +0000 336 \"GET\" \"/a?b\" 200";
        let request = read(whole, line);
        let stamp = request.stamp.unwrap();
        assert_eq!(stamp.since_1970_ns, 1_795_592_175_459_703_000);
        assert!(!stamp.is_whole_second);
        // The stamp is that of the arrival.
        assert_eq!((request.elapsed_ns, request.target), (0, b"/a?b".to_vec()));
    }

    #[test]
    fn fields_without_quotation_marks_may_have_what_separates_them() {
        let format = "$msec $upstream_response_time $request_uri $request_method";
        let line = "1.5 0.001, 0.002 /a GET";
        assert_eq!(target(format, line), "/a");
        let format = "$time_local|$http_referer|$request|";
        let line = "25/Nov/2026:07:36:15 +0000|http://a.test/|x|GET /b HTTP/1.1|";
        assert_eq!(target(format, line), "/b");
    }

    #[test]
    fn fields_side_by_side_are_told_apart_where_they_can_be() {
        let format = "$msec $scheme://$host$request_uri $request_method";
        let request = read(format, "1.5 https://a.test/b?c GET");
        assert_eq!(
            (request.host.as_deref(), request.target),
            (Some("a.test"), b"/b?c".to_vec())
        );
        assert_eq!(
            target("$msec $uri$is_args$args $request_method", "1.5 /a?b=c GET"),
            "/a?b=c"
        );
    }

    #[test]
    fn format_without_what_a_replay_needs_is_refused_with_a_cure() {
        for (format, what) in [
            ("", "it has no fields"),
            ("plain", "it has no fields"),
            ("$request $status", "it has no time"),
            ("$msec $status", "it has no request"),
            ("$msec $uri $status", "it has no request"),
            ("$msec $status$request", "side by side"),
            ("$msec $", "does not begin with a variable's name"),
            (
                "log_format a '$msec $request",
                "a quotation mark is not closed",
            ),
            (
                "log_format a '$msec' b '$request';",
                "'b' stands between its quoted pieces",
            ),
            ("%h \"%r\"", "it has no time"),
            ("%{%s}t %r", "log %t"),
            ("%t %{Host", "the brace is not closed"),
            ("%t %r %", "a percent sign stands at its end"),
        ] {
            let error = LogFormat::parse(format).unwrap_err().to_string();
            assert!(error.contains(what), "{format}: {error}");
        }
    }

    #[test]
    fn error_names_the_field_and_its_place() {
        let format = LogFormat::parse("$msec \"$request\" $status").unwrap();
        for (line, column, why) in [
            (
                "1.5 GET",
                1,
                "field 1 of 3 of the format does not fit \"1.5 GET\"",
            ),
            (
                "1.5 \"GET / HTTP/1.1\" ok",
                22,
                "field 3 of 3 of the format does not fit \"ok\"",
            ),
            (
                "1.5 \"GET / HTTP/1.1\" 99999",
                22,
                "not a status: \"99999\"",
            ),
        ] {
            let error = format.read(line.as_bytes()).unwrap_err();
            assert_eq!((error.column, error.why.as_str()), (column, why), "{line}");
        }
    }

    #[test]
    fn line_with_many_separators_is_given_up_soon() {
        let format = LogFormat::parse("$msec $a $b $c $d $e $f \"$request\"").unwrap();
        let line = format!("1.5 {}", "x ".repeat(100_000));
        assert!(format.read(line.as_bytes()).is_err());
    }
}
