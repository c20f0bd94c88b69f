//! Figures that are a single number, by the dotted names that thresholds use.

use crate::cell_tally::CellTally;
use crate::counts::{count_under, share};
use crate::figures::Figures;
use crate::span::Span;
use crate::{HistogramColumns, Unit};
use measure::{Counters, Metric, Outcome};
use plan::{NumberName, Words as _};

const NO_OPERATION: &str = "no operation ended";
const NO_HANDSHAKE: &str = "no handshake was completed";
const UNKNOWN: &str = "this version measures nothing of that name";

/// Names this crate has a number for, in addition to `errors.<failure or prefix>.count` and
/// `.share`, such as `errors.connect.refused.count` or `errors.tls.share`.
pub const NUMBERS: &[&str] = &NumberName::WORDS;

/// The unit, and the number or the reason why there is none.
type Number = (Unit, Result<f64, &'static str>);

/// Returns the number that a threshold calls `name`.
pub(crate) fn number(name: &str, tally: &CellTally, span: Span) -> Number {
    let figures = Figures::new(tally, span, HistogramColumns::Omitted);
    match NumberName::from_word(name) {
        Some(known) => of_figures(known, (&figures, Messages::new(tally)), span),
        None => of_failures(name, &tally.counters, figures.operations.ended),
    }
}

/// Messages of WebSockets.
#[derive(Clone, Copy)]
struct Messages {
    /// Due in the part, and answered.
    answered: u64,
    /// Answered within the part.
    within: u64,
}

impl Messages {
    fn new(tally: &CellTally) -> Messages {
        let times = tally.times.get(&(Outcome::Ok, Metric::MessageTime));
        Messages {
            answered: times.map_or(0, |times| times.count),
            within: tally.messages_within,
        }
    }
}

fn of_figures(name: NumberName, (figures, messages): (&Figures, Messages), span: Span) -> Number {
    let operations = &figures.operations;
    let tls = &figures.resumption;
    match name {
        NumberName::Rate => (
            Unit::PerSecond,
            rate_over(span, figures.rates.ok_per_second),
        ),
        NumberName::PayloadRate => (
            Unit::BytesPerSecond,
            rate_over(span, figures.rates.payload_bytes_per_second),
        ),
        NumberName::OperationsCount => count(operations.ended),
        NumberName::TimedOutCount => count(operations.timed_out),
        NumberName::TimedOutShare => part(operations.timed_out, operations.ended, NO_OPERATION),
        NumberName::ErrorsCount => count(operations.errors),
        NumberName::ErrorsShare => part(operations.errors, operations.ended, NO_OPERATION),
        NumberName::NotSentCount => count(operations.not_sent),
        NumberName::NotSentShare => part(operations.not_sent, operations.ended, NO_OPERATION),
        NumberName::ConnectionsCount => count(figures.connections.opened),
        NumberName::ConnectionsReusedShare => {
            part(figures.connections.reused, operations.started, NO_OPERATION)
        }
        NumberName::TlsHandshakesCount => count(tls.handshakes),
        NumberName::TlsResumedShare => part(tls.resumed, tls.handshakes, NO_HANDSHAKE),
        NumberName::TlsOfferedShare => part(tls.offered, tls.handshakes, NO_HANDSHAKE),
        NumberName::TlsAcceptedShare => part(tls.accepted, tls.offered, "no session was offered"),
        NumberName::TlsRetriedShare => part(tls.retried, tls.handshakes, NO_HANDSHAKE),
        NumberName::EventsCount => count(figures.streams.events),
        NumberName::EventsRate => (
            Unit::PerSecond,
            rate_over(span, figures.streams.events_per_second),
        ),
        NumberName::MessagesCount => count(messages.answered),
        NumberName::MessagesRate => (
            Unit::PerSecond,
            rate_over(span, span.per_second(messages.within as f64)),
        ),
    }
}

/// Looks up `errors.<failure or prefix>.count` and `.share`.
fn of_failures(name: &str, counters: &Counters, ended: u64) -> Number {
    let under = |failure| count_under(counters, failure);
    let failure = name.strip_prefix("errors.");
    match failure.and_then(|rest| rest.rsplit_once('.')) {
        Some((failure, "count")) => count(under(failure)),
        Some((failure, "share")) => part(under(failure), ended, NO_OPERATION),
        _ => (Unit::Count, Err(UNKNOWN)),
    }
}

fn count(count: u64) -> Number {
    (Unit::Count, Ok(count as f64))
}

fn part(part: u64, whole: u64, why_none: &'static str) -> Number {
    (Unit::Share, share(part, whole).ok_or(why_none))
}

fn rate_over(span: Span, rate: f64) -> Result<f64, &'static str> {
    if span.length_ns == 0 {
        Err("nothing was measured")
    } else {
        Ok(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::EdgeCounting;
    use measure::{Failure, FailureStage, HandshakeKind, Kind, Negotiated};

    fn tally() -> CellTally {
        let mut tally = CellTally::default();
        let counters = &mut tally.counters;
        (
            counters.started,
            counters.ok,
            counters.timed_out,
            counters.failed,
        ) = (1000, 980, 5, 15);
        counters.failures.insert(
            Failure {
                stage: FailureStage::Http,
                kind: Kind::TimeOut,
            },
            5,
        );
        counters.failures.insert(
            Failure {
                stage: FailureStage::Load,
                kind: Kind::NotSent,
            },
            10,
        );
        counters.failures.insert(
            Failure {
                stage: FailureStage::Tls,
                kind: Kind::BadTls,
            },
            5,
        );
        counters.payload_bytes = 50_000;
        counters.connections.opened = 100;
        counters.connections.reused = 890;
        let agreed = |kind| Negotiated {
            version: 0x304,
            suite: 0x1301,
            group: 29,
            signature_scheme: 0,
            alpn: String::new(),
            kind,
            ocsp_staple: None,
        };
        counters.negotiated.insert(agreed(HandshakeKind::Full), 20);
        counters
            .negotiated
            .insert(agreed(HandshakeKind::Resumed), 75);
        counters
            .negotiated
            .insert(agreed(HandshakeKind::ResumedRetried), 5);
        (counters.resumption.offered, counters.resumption.accepted) = (90, 81);
        (
            tally.counters.within.ok,
            tally.counters.within.payload_bytes,
        ) = (880, 39_000);
        (tally.carried.ok, tally.carried.payload_bytes) = (10, 1000);
        (tally.streams.events, tally.streams.events_within) = (5000, 4000);
        tally.carried_events = 500;
        tally
    }

    #[test]
    fn numbers_are_those_worked_out_by_hand() {
        for (name, expected) in [
            ("rate", 445.0),
            ("payload.rate", 20_000.0),
            ("operations.count", 1000.0),
            ("events.count", 5000.0),
            ("events.rate", 2250.0),
            ("timed_out.count", 5.0),
            ("timed_out.share", 0.005),
            ("errors.count", 20.0),
            ("errors.share", 0.02),
            ("not_sent.count", 10.0),
            ("not_sent.share", 0.01),
            ("connections.count", 100.0),
            ("connections.reused.share", 890.0 / 990.0),
            ("tls.handshakes.count", 100.0),
            ("tls.resumed.share", 0.8),
            ("tls.offered.share", 0.9),
            ("tls.accepted.share", 0.9),
            ("tls.retried.share", 0.05),
            ("errors.http.time_out.count", 5.0),
            ("errors.tls.share", 0.005),
            ("errors.dns.count", 0.0),
        ] {
            assert_eq!(
                number(
                    name,
                    &tally(),
                    Span::measured(2_000_000_000, EdgeCounting::WhereEnded)
                )
                .1,
                Ok(expected),
                "{name}: of 2 s"
            );
        }
    }

    #[test]
    fn every_listed_name_is_understood_and_no_other() {
        for name in NUMBERS {
            assert!(
                number(name, &tally(), Span::measured(1, EdgeCounting::WhereEnded))
                    .1
                    .is_ok(),
                "{name}"
            );
        }
        for name in ["", "latency", "errors", "errors.tls", "tls.resumed"] {
            assert!(
                number(name, &tally(), Span::measured(1, EdgeCounting::WhereEnded))
                    .1
                    .is_err(),
                "{name}"
            );
        }
    }

    #[test]
    fn share_of_nothing_is_no_number() {
        for name in [
            "errors.share",
            "not_sent.share",
            "tls.resumed.share",
            "tls.accepted.share",
            "rate",
            "errors.tls.share",
        ] {
            assert!(
                number(
                    name,
                    &CellTally::default(),
                    Span::measured(0, EdgeCounting::WhereEnded)
                )
                .1
                .is_err(),
                "{name}"
            );
        }
    }
}
