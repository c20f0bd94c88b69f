//! What a run sent of the log that it replayed.

use crate::counts;
use measure::{Counters, Kind};
use plan::Plan;
use serde::{Deserialize, Serialize};

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
