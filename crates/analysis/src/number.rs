//! Figures that are one number, by the dotted names that thresholds use.

use crate::cell_tally::CellTally;
use crate::counts::{count_under, share};
use crate::figures::Figures;
use crate::span::Span;
use crate::{HistogramColumns, Unit};

/// Names this crate has a number for, beside `errors.<failure or prefix>.count` and `.share`, such
/// as `errors.connect.refused.count` or `errors.tls.share`.
pub const NUMBERS: &[&str] = &[
    "rate",
    "operations.count",
    "errors.count",
    "errors.share",
    "timed_out.count",
    "timed_out.share",
    "not_sent.count",
    "not_sent.share",
    "payload.rate",
    "connections.count",
    "connections.reused.share",
    "tls.handshakes.count",
    "tls.resumed.share",
    "tls.offered.share",
    "tls.accepted.share",
    "tls.retried.share",
];

/// A number and how it is written, or why there is none.
pub(crate) fn number(
    name: &str,
    tally: &CellTally,
    span: Span,
) -> (Unit, Result<f64, &'static str>) {
    const NO_OPERATION: &str = "no operation ended";
    const NO_HANDSHAKE: &str = "no handshake was completed";
    const UNKNOWN: &str = "this version measures nothing of that name";
    let figures = Figures::new(tally, span, HistogramColumns::Omitted);
    let (operations, tls) = (&figures.operations, &figures.resumption);
    let count = |count: u64| (Unit::Count, Ok(count as f64));
    let part = |part, whole, reason| (Unit::Share, share(part, whole).ok_or(reason));
    match name {
        "rate" => (Unit::PerSecond, measured(span, figures.rates.ok_per_second)),
        "payload.rate" => (
            Unit::BytesPerSecond,
            measured(span, figures.rates.payload_bytes_per_second),
        ),
        "operations.count" => count(operations.ended),
        "timed_out.count" => count(operations.timed_out),
        "timed_out.share" => part(operations.timed_out, operations.ended, NO_OPERATION),
        "errors.count" => count(operations.errors),
        "errors.share" => part(operations.errors, operations.ended, NO_OPERATION),
        "not_sent.count" => count(operations.not_sent),
        "not_sent.share" => part(operations.not_sent, operations.ended, NO_OPERATION),
        "connections.count" => count(figures.connections.opened),
        "connections.reused.share" => {
            part(figures.connections.reused, operations.started, NO_OPERATION)
        }
        "tls.handshakes.count" => count(tls.handshakes),
        "tls.resumed.share" => part(tls.resumed, tls.handshakes, NO_HANDSHAKE),
        "tls.offered.share" => part(tls.offered, tls.handshakes, NO_HANDSHAKE),
        "tls.accepted.share" => part(tls.accepted, tls.offered, "no session was offered"),
        "tls.retried.share" => part(tls.retried, tls.handshakes, NO_HANDSHAKE),
        _ => match name
            .strip_prefix("errors.")
            .and_then(|rest| rest.rsplit_once('.'))
        {
            Some((failure, "count")) => count(count_under(&tally.counters, failure)),
            Some((failure, "share")) => part(
                count_under(&tally.counters, failure),
                operations.ended,
                NO_OPERATION,
            ),
            _ => (Unit::Count, Err(UNKNOWN)),
        },
    }
}

fn measured(span: Span, rate: f64) -> Result<f64, &'static str> {
    if span.length_ns == 0 {
        Err("nothing was measured")
    } else {
        Ok(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        tally
    }

    #[test]
    fn numbers_are_those_worked_out_by_hand() {
        for (name, expected) in [
            ("rate", 445.0),
            ("payload.rate", 20_000.0),
            ("operations.count", 1000.0),
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
                number(name, &tally(), Span::measured(2_000_000_000)).1,
                Ok(expected),
                "{name}: of 2 s"
            );
        }
    }

    #[test]
    fn every_listed_name_is_understood_and_no_other() {
        for name in NUMBERS {
            assert!(
                number(name, &tally(), Span::measured(1)).1.is_ok(),
                "{name}"
            );
        }
        for name in ["", "latency", "errors", "errors.tls", "tls.resumed"] {
            assert!(
                number(name, &tally(), Span::measured(1)).1.is_err(),
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
                number(name, &CellTally::default(), Span::measured(0))
                    .1
                    .is_err(),
                "{name}"
            );
        }
    }
}
