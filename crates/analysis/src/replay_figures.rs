//! What a run sent of the log that it replayed.

use crate::counts;
use measure::{Counters, Kind, Negotiated};
use plan::{Plan, RecordedArrivals};
use serde::{Deserialize, Serialize};

/// Code points of versions (RFC 8446 §4.2.1).
const TLS12: u16 = 0x0303;
const TLS13: u16 = 0x0304;

/// What was sent of a log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayFigures {
    /// Name of the file.
    pub file: String,
    /// Requests of the part of the log that was replayed.
    pub requests: u64,
    /// Connections of the log that these requests had; 0 if the log does not have them.
    pub connections: u32,
    /// Connections that the run was to open, for each of the log one in each turn; absent if it
    /// does not repeat them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_connections: Option<u64>,
    /// Connections that the run opened. More than planned if the server closed some before their
    /// last request.
    #[serde(default)]
    pub opened_connections: u64,
    /// The handshakes of these connections; absent if the run does not repeat those of the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshakes: Option<ReplayedHandshakes>,
    /// Length of this part in the log's time.
    pub length_ns: u64,
    /// How much faster than in the log it was sent.
    pub speed: f64,
    /// How many times it was to be sent.
    pub turns: u32,
    /// Requests that were begun, some of which may have failed before they were sent.
    pub sent: u64,
    /// Requests that were due and never sent.
    pub not_sent: u64,
    /// Answers with another status than the log's.
    pub other_status: u64,
}

/// The handshakes of a log's connections over all turns, and those that the run made in their
/// place. Both are the same if each connection was opened once, and each session was there and
/// accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayedHandshakes {
    /// Full handshakes of the log.
    pub planned_full: u64,
    /// Full handshakes completed.
    pub full: u64,
    /// Resumed handshakes of the log.
    pub planned_resumed: u64,
    /// Resumed handshakes completed.
    pub resumed: u64,
    /// Handshakes that were to resume and were made in full, since there was no session yet.
    pub none_at_hand: u64,
    /// Handshakes that were to resume and were made in full by the server, which refused the
    /// session.
    pub refused: u64,
    /// Different server names of the log.
    pub names: u32,
    /// Connections of the log over TLS 1.2.
    pub planned_tls12: u64,
    /// Handshakes completed over TLS 1.2.
    pub tls12: u64,
    /// Connections of the log over TLS 1.3.
    pub planned_tls13: u64,
    /// Handshakes completed over TLS 1.3.
    pub tls13: u64,
}

impl ReplayedHandshakes {
    fn planned(arrivals: &RecordedArrivals) -> Option<ReplayedHandshakes> {
        let facts = arrivals.handshake_facts()?;
        let of_turns = |number: u32| u64::from(number) * u64::from(arrivals.turns());
        Some(ReplayedHandshakes {
            planned_full: of_turns(facts.full),
            planned_resumed: of_turns(facts.resumed),
            names: facts.names,
            planned_tls12: of_turns(facts.tls12),
            planned_tls13: of_turns(facts.tls13),
            ..ReplayedHandshakes::default()
        })
    }

    fn with(&self, counters: &Counters) -> ReplayedHandshakes {
        let made = |is_counted: fn(&Negotiated) -> bool| {
            let agreed = counters.negotiated.iter();
            counts::sum(agreed.filter(|(of, _)| is_counted(of)).map(|(_, n)| n))
        };
        ReplayedHandshakes {
            full: made(|of| !of.kind.is_resumed()),
            resumed: made(|of| of.kind.is_resumed()),
            none_at_hand: counters.resumption.none_at_hand,
            refused: counters.resumption.refused,
            tls12: made(|of| of.version == TLS12),
            tls13: made(|of| of.version == TLS13),
            ..self.clone()
        }
    }
}

impl ReplayFigures {
    /// What the plan says, before anything is sent; `None` if it replays nothing.
    pub(crate) fn planned(plan: &Plan) -> Option<ReplayFigures> {
        let replay = plan.replay()?;
        let arrivals = &replay.arrivals;
        Some(ReplayFigures {
            file: replay.file.name.clone(),
            requests: arrivals.requests(),
            connections: arrivals.connections(),
            planned_connections: arrivals
                .repeats_connections()
                .then(|| u64::from(arrivals.connections()) * u64::from(arrivals.turns())),
            opened_connections: 0,
            handshakes: ReplayedHandshakes::planned(arrivals),
            length_ns: arrivals.length_ns(),
            speed: arrivals.speed(),
            turns: arrivals.turns(),
            sent: 0,
            not_sent: 0,
            other_status: 0,
        })
    }

    /// The same with what these counters of the measured part say.
    pub(crate) fn with(&self, counters: &Counters) -> ReplayFigures {
        let failures = counters.failures.iter();
        let other_status =
            failures.filter(|(failure, _)| matches!(failure.kind, Kind::NotAsRecorded(_)));
        ReplayFigures {
            opened_connections: counters.connections.opened,
            handshakes: self.handshakes.as_ref().map(|of| of.with(counters)),
            sent: counts::begun_and_sent(counters),
            not_sent: counts::not_sent(counters),
            other_status: counts::sum(other_status.map(|(_, number)| number)),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{Failure, FailureStage};

    #[test]
    fn requests_are_told_by_what_became_of_them() {
        let failure = |kind| Failure {
            stage: FailureStage::Http,
            kind,
        };
        let mut counters = Counters {
            started: 10,
            ..Counters::default()
        };
        for (kind, number) in [
            (Kind::NotSent, 2),
            (Kind::NotAsRecorded(404), 3),
            (Kind::NotAsRecorded(500), 1),
            (Kind::Reset, 1),
        ] {
            counters.failures.insert(failure(kind), number);
        }
        let planned = ReplayFigures {
            file: "replay.jsonl".to_owned(),
            requests: 10,
            connections: 0,
            planned_connections: None,
            opened_connections: 0,
            handshakes: None,
            length_ns: 1,
            speed: 1.0,
            turns: 1,
            sent: 0,
            not_sent: 0,
            other_status: 0,
        };
        let figures = planned.with(&counters);
        assert_eq!(
            (figures.sent, figures.not_sent, figures.other_status),
            (8, 2, 4)
        );
    }
}
