//! From requests as a log has them to lines of a replay: what is left out, what is written when.

use crate::distinct_connections::DistinctConnections;
use crate::entry::{ReplayEntry, ReplayRequest};
use crate::format::TrafficFormat;
use crate::import_error::ImportError;
use crate::import_rules::{ImportRules, MissingBody};
use crate::recorded::{LineResult, RecordedBody, RecordedRequest};
use crate::replay_log::MAX_LINE_BYTES;
use crate::second_spread::SecondSpread;
use crate::skip::SkipReason;
use crate::sorter::Sorter;
use crate::summary::{ImportSummary, place_word};
use crate::waiting::WaitingRequest;
use std::io::Write;

/// Room for the instant, which is added to a request's line.
const INSTANT_BYTES: usize = 64;

/// An import under way.
pub(crate) struct Importer<'i> {
    rules: &'i ImportRules,
    output: &'i mut dyn Write,
    connections: DistinctConnections,
    spread: SecondSpread,
    sorter: Sorter,
    /// The instant of the first request that was written.
    first_ns: Option<i64>,
    summary: ImportSummary,
}

impl<'i> Importer<'i> {
    pub(crate) fn new(
        rules: &'i ImportRules,
        format: TrafficFormat,
        output: &'i mut dyn Write,
    ) -> Importer<'i> {
        Importer {
            rules,
            output,
            connections: DistinctConnections::default(),
            spread: SecondSpread::default(),
            sorter: Sorter::new(rules.sort_bytes),
            first_ns: None,
            summary: ImportSummary::new(format),
        }
    }

    /// Takes what a line says, or why it says nothing.
    pub(crate) fn take(&mut self, number: u64, line: LineResult) -> Result<(), ImportError> {
        self.summary.read += 1;
        match line {
            Ok(Ok(recorded)) => self.accept(number, recorded),
            Ok(Err(reason)) => {
                self.summary.skip(number, reason, None);
                Ok(())
            }
            Err(error) if self.rules.is_strict => Err(ImportError::Unreadable {
                place: self.place(),
                number,
                error,
            }),
            Err(error) => {
                self.summary
                    .skip(number, SkipReason::Unreadable, Some(error));
                Ok(())
            }
        }
    }

    /// What a place in the log is called.
    pub(crate) fn place(&self) -> &'static str {
        place_word(self.summary.format)
    }

    fn accept(&mut self, number: u64, mut recorded: RecordedRequest) -> Result<(), ImportError> {
        let Some(stamp) = recorded.stamp else {
            self.summary.skip(number, SkipReason::NoInstant, None);
            return Ok(());
        };
        let elapsed_ns = recorded.elapsed_ns;
        let stamp_ns = stamp.since_1970_ns;
        // One that is left out may begin a connection, too.
        let name = recorded.connection.take();
        let begins = recorded.begins_connection;
        recorded.connection = name.map(|it| self.connections.name(it, begins));
        let lacks_body = recorded.lacks_body();
        if lacks_body {
            recorded.body = RecordedBody::Absent;
        }
        let refusal = self.refusal(&recorded, stamp_ns.saturating_sub(elapsed_ns));
        let (request, dropped_headers) = match refusal.map_or_else(|| recorded.into_request(), Err)
        {
            Ok(request) => request,
            Err(reason) => {
                self.summary.skip(number, reason, None);
                return Ok(());
            }
        };
        if !self.rules.wants_host(request.host.as_deref()) {
            self.summary.skip(number, SkipReason::OtherHost, None);
            return Ok(());
        }
        if lacks_body && !self.accepts_without_body(number, &request)? {
            self.summary.skip(number, SkipReason::NoBody, None);
            return Ok(());
        }
        let json = serde_json::to_vec(&request).expect("a request has texts and numbers only");
        if json.len() > MAX_LINE_BYTES - INSTANT_BYTES {
            self.summary.skip(number, SkipReason::TooLong, None);
            return Ok(());
        }
        self.summary.dropped_headers += dropped_headers;
        let is_secret = |name: &String| self.rules.secret_headers.contains(&name.as_str());
        self.summary.with_secrets += u64::from(request.headers.keys().any(is_secret));
        let request = WaitingRequest {
            place: number,
            elapsed_ns,
            json: json.into_boxed_slice(),
        };
        if !stamp.is_whole_second {
            return self.sort(stamp_ns, request);
        }
        self.summary.spread += 1;
        let placed = self.spread.add(stamp_ns, request);
        placed
            .into_iter()
            .try_for_each(|(at_ns, request)| self.sort(at_ns, request))
    }

    /// Why a request that arrived at `at_ns` is not wanted. A stamp of a whole second counts as its
    /// beginning.
    fn refusal(&self, recorded: &RecordedRequest, at_ns: i64) -> Option<SkipReason> {
        let methods = &self.rules.methods;
        let is_wanted = |method: &String| method.eq_ignore_ascii_case(&recorded.method);
        if !methods.is_empty() && !methods.iter().any(is_wanted) {
            return Some(SkipReason::OtherMethod);
        }
        let is_early = self.rules.from_ns.is_some_and(|from_ns| at_ns < from_ns);
        let is_late = self.rules.to_ns.is_some_and(|to_ns| at_ns >= to_ns);
        (is_early || is_late).then_some(SkipReason::OtherTime)
    }

    fn accepts_without_body(
        &mut self,
        number: u64,
        request: &ReplayRequest,
    ) -> Result<bool, ImportError> {
        match self.rules.bodies {
            MissingBody::Refuse => Err(ImportError::NoBody {
                place: self.place(),
                number,
                method: request.method.clone(),
            }),
            MissingBody::Skip => Ok(false),
            MissingBody::Empty => {
                self.summary.emptied += 1;
                Ok(true)
            }
        }
    }

    fn sort(&mut self, stamp_ns: i64, request: WaitingRequest) -> Result<(), ImportError> {
        let at_ns = stamp_ns.saturating_sub(request.elapsed_ns);
        if let Err(late) = self.sorter.add(at_ns, request) {
            self.summary.skip(late.place, SkipReason::OutOfOrder, None);
        }
        while let Some((at_ns, request)) = self.sorter.overflow() {
            self.write(at_ns, &request)?;
        }
        Ok(())
    }

    fn write(&mut self, at_ns: i64, request: &WaitingRequest) -> Result<(), ImportError> {
        let first_ns = *self.first_ns.get_or_insert(at_ns);
        self.summary.length_ns = at_ns.abs_diff(first_ns);
        self.summary.written += 1;
        let line = ReplayEntry::line(self.summary.length_ns, &request.json);
        self.output.write_all(&line).map_err(ImportError::Write)
    }

    /// Writes what still waits.
    pub(crate) fn finish(mut self) -> Result<ImportSummary, ImportError> {
        let spread = std::mem::take(&mut self.spread);
        for (at_ns, request) in spread.finish() {
            self.sort(at_ns, request)?;
        }
        while let Some((at_ns, request)) = self.sorter.pop() {
            self.write(at_ns, &request)?;
        }
        self.output.flush().map_err(ImportError::Write)?;
        Ok(self.summary)
    }
}
