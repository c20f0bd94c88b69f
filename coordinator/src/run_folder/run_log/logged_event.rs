//! Events of a run as the log writes them. The control plane knows no encoding but that of the
//! wire, so its types are mirrored here. Variants and fields are numbered by position: new variants
//! go to the end, and a changed variant becomes a new one.

use control::{
    AgentFacts, AgentId, ClockReading, EndCause, Finding, FleetTime, Observer, Role, RunEvent,
    RunOutcome, Skew, Stop,
};
use proto::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Mirrors [`RunEvent`], field by field.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum LoggedEvent {
    Joined(LoggedAgent),
    Left(LoggedAgent),
    Waiting(u32, u32),
    Assembled(Vec<LoggedAgent>),
    Ready(u32, Vec<String>, u32, LoggedClock),
    Problem(u32, String),
    Armed(u64, Duration),
    Began(u32, u64, u64),
    Started(u32, u64, u64),
    Interval(u32, u32, Blob),
    Totals(u32, u32, Blob),
    Gone(u32, String),
    Back(u32),
    Ended(u32, LoggedCause, Vec<u32>, Blob, Option<LoggedClock>),
    Lost(u32, u32, Option<u64>, String),
    Postponed(Vec<u32>),
    Redistributed(u32, Vec<u32>, u64),
    Superseded(u64),
    Note(Option<u32>, String, String),
    Done(LoggedOutcome),
    TakenOver(u32, u32, Option<u64>),
    Watching(LoggedAgent),
    Observed(LoggedObserver, u32, Blob),
    Preflight(u32, Vec<LoggedFinding>),
    ProfilePart(u32, u32, u32, Blob),
}

/// Mirrors [`Finding`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LoggedFinding(String, bool);

/// Mirrors [`AgentFacts`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LoggedAgent {
    id: [u8; 16],
    name: String,
    version: String,
    labels: BTreeMap<String, String>,
    workers: u32,
    host: Blob,
}

/// Mirrors [`Observer`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum LoggedObserver {
    Agent(u32),
    Monitor(u32),
}

/// Mirrors [`ClockReading`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LoggedClock(i64, u64);

/// Mirrors [`EndCause`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum LoggedCause {
    Plan,
    Stopped,
    LeaseExpired,
    Failed(String),
}

/// Mirrors [`RunOutcome`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum LoggedOutcome {
    Ran,
    StoppedBeforeStart(LoggedStop),
    NotStarted,
    TooFewAgents(u32, u32),
    Superseded,
}

/// Mirrors [`Stop`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum LoggedStop {
    Drain,
    Now,
}

/// Bytes that are copied in one go, not one by one.
#[derive(Debug)]
pub(super) struct Blob(Bytes);

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Blob, D::Error> {
        struct BlobVisitor;
        impl de::Visitor<'_> for BlobVisitor {
            type Value = Blob;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Blob, E> {
                Ok(Blob(Bytes::copy_from_slice(bytes)))
            }
        }
        deserializer.deserialize_bytes(BlobVisitor)
    }
}

impl From<&RunEvent> for LoggedEvent {
    fn from(event: &RunEvent) -> LoggedEvent {
        match event.clone() {
            RunEvent::Joined { agent } => LoggedEvent::Joined(agent.into()),
            RunEvent::Left { agent } => LoggedEvent::Left(agent.into()),
            RunEvent::Waiting { have, want } => LoggedEvent::Waiting(have, want),
            RunEvent::Assembled { agents } => {
                LoggedEvent::Assembled(agents.into_iter().map(LoggedAgent::from).collect())
            }
            RunEvent::Ready {
                agent,
                addresses,
                workers,
                clock,
            } => LoggedEvent::Ready(agent, addresses, workers, clock.into()),
            RunEvent::Problem { agent, problem } => LoggedEvent::Problem(agent, problem),
            RunEvent::Armed { start_at, start_in } => LoggedEvent::Armed(start_at.0, start_in),
            RunEvent::Began {
                agent,
                at,
                bound_ns,
            } => LoggedEvent::Began(agent, at.0, bound_ns),
            RunEvent::Started { skew } => {
                LoggedEvent::Started(skew.agents, skew.skew_ns, skew.bound_ns)
            }
            RunEvent::Interval {
                agent,
                interval,
                encoded,
            } => LoggedEvent::Interval(agent, interval, Blob(encoded)),
            RunEvent::Totals {
                agent,
                intervals,
                encoded,
            } => LoggedEvent::Totals(agent, intervals, Blob(encoded)),
            RunEvent::Gone { agent, why } => LoggedEvent::Gone(agent, why),
            RunEvent::Back { agent } => LoggedEvent::Back(agent),
            RunEvent::Ended {
                agent,
                cause,
                missing,
                figures,
                clock,
            } => {
                let clock = clock.map(LoggedClock::from);
                LoggedEvent::Ended(agent, cause.into(), missing, Blob(figures), clock)
            }
            RunEvent::Lost {
                agent,
                next_interval,
                fired_until,
                why,
            } => LoggedEvent::Lost(agent, next_interval, fired_until.map(|at| at.0), why),
            RunEvent::Postponed { agents } => LoggedEvent::Postponed(agents),
            RunEvent::Redistributed { agent, to, from } => {
                LoggedEvent::Redistributed(agent, to, from.0)
            }
            RunEvent::TakenOver { agent, by, from } => {
                LoggedEvent::TakenOver(agent, by, from.map(|from| from.0))
            }
            RunEvent::Superseded { epoch } => LoggedEvent::Superseded(epoch),
            RunEvent::Note { agent, event, text } => LoggedEvent::Note(agent, event, text),
            RunEvent::Done { outcome } => LoggedEvent::Done(outcome.into()),
            RunEvent::Watching { monitor } => LoggedEvent::Watching(monitor.into()),
            RunEvent::Observed {
                by,
                second,
                encoded,
            } => LoggedEvent::Observed(by.into(), second, Blob(encoded)),
            RunEvent::Preflight { agent, findings } => {
                let findings = findings.into_iter().map(LoggedFinding::from).collect();
                LoggedEvent::Preflight(agent, findings)
            }
            RunEvent::ProfilePart {
                monitor,
                part,
                parts,
                content,
            } => LoggedEvent::ProfilePart(monitor, part, parts, Blob(content)),
        }
    }
}

impl From<LoggedEvent> for RunEvent {
    fn from(logged: LoggedEvent) -> RunEvent {
        match logged {
            LoggedEvent::Joined(agent) => RunEvent::Joined {
                agent: agent.into(),
            },
            LoggedEvent::Left(agent) => RunEvent::Left {
                agent: agent.into(),
            },
            LoggedEvent::Waiting(have, want) => RunEvent::Waiting { have, want },
            LoggedEvent::Assembled(agents) => RunEvent::Assembled {
                agents: agents.into_iter().map(AgentFacts::from).collect(),
            },
            LoggedEvent::Ready(agent, addresses, workers, clock) => RunEvent::Ready {
                agent,
                addresses,
                workers,
                clock: clock.into(),
            },
            LoggedEvent::Problem(agent, problem) => RunEvent::Problem { agent, problem },
            LoggedEvent::Armed(start_at, start_in) => RunEvent::Armed {
                start_at: FleetTime(start_at),
                start_in,
            },
            LoggedEvent::Began(agent, at, bound_ns) => RunEvent::Began {
                agent,
                at: FleetTime(at),
                bound_ns,
            },
            LoggedEvent::Started(agents, skew_ns, bound_ns) => RunEvent::Started {
                skew: Skew {
                    agents,
                    skew_ns,
                    bound_ns,
                },
            },
            LoggedEvent::Interval(agent, interval, Blob(encoded)) => RunEvent::Interval {
                agent,
                interval,
                encoded,
            },
            LoggedEvent::Totals(agent, intervals, Blob(encoded)) => RunEvent::Totals {
                agent,
                intervals,
                encoded,
            },
            LoggedEvent::Gone(agent, why) => RunEvent::Gone { agent, why },
            LoggedEvent::Back(agent) => RunEvent::Back { agent },
            LoggedEvent::Ended(agent, cause, missing, Blob(figures), clock) => RunEvent::Ended {
                agent,
                cause: cause.into(),
                missing,
                figures,
                clock: clock.map(ClockReading::from),
            },
            LoggedEvent::Lost(agent, next_interval, fired_until, why) => RunEvent::Lost {
                agent,
                next_interval,
                fired_until: fired_until.map(FleetTime),
                why,
            },
            LoggedEvent::Postponed(agents) => RunEvent::Postponed { agents },
            LoggedEvent::Redistributed(agent, to, from) => RunEvent::Redistributed {
                agent,
                to,
                from: FleetTime(from),
            },
            LoggedEvent::TakenOver(agent, by, from) => RunEvent::TakenOver {
                agent,
                by,
                from: from.map(FleetTime),
            },
            LoggedEvent::Superseded(epoch) => RunEvent::Superseded { epoch },
            LoggedEvent::Note(agent, event, text) => RunEvent::Note { agent, event, text },
            LoggedEvent::Done(outcome) => RunEvent::Done {
                outcome: outcome.into(),
            },
            LoggedEvent::Watching(monitor) => RunEvent::Watching {
                monitor: AgentFacts {
                    role: Role::Monitor,
                    calibration: Bytes::new(),
                    ..monitor.into()
                },
            },
            LoggedEvent::Observed(by, second, Blob(encoded)) => RunEvent::Observed {
                by: by.into(),
                second,
                encoded,
            },
            LoggedEvent::Preflight(agent, findings) => RunEvent::Preflight {
                agent,
                findings: findings.into_iter().map(Finding::from).collect(),
            },
            LoggedEvent::ProfilePart(monitor, part, parts, Blob(content)) => {
                RunEvent::ProfilePart {
                    monitor,
                    part,
                    parts,
                    content,
                }
            }
        }
    }
}

impl From<AgentFacts> for LoggedAgent {
    fn from(facts: AgentFacts) -> LoggedAgent {
        LoggedAgent {
            id: facts.id.0,
            name: facts.name,
            version: facts.version,
            labels: facts.labels,
            workers: facts.workers,
            host: Blob(facts.host),
        }
    }
}

impl From<LoggedAgent> for AgentFacts {
    fn from(logged: LoggedAgent) -> AgentFacts {
        AgentFacts {
            id: AgentId(logged.id),
            name: logged.name,
            version: logged.version,
            labels: logged.labels,
            workers: logged.workers,
            host: logged.host.0,
            // Monitors get theirs where `Watching` is read.
            role: Role::Agent,
            // It is needed only before the run.
            calibration: Bytes::new(),
        }
    }
}

impl From<Finding> for LoggedFinding {
    fn from(finding: Finding) -> LoggedFinding {
        LoggedFinding(finding.text, finding.is_forced)
    }
}

impl From<LoggedFinding> for Finding {
    fn from(LoggedFinding(text, is_forced): LoggedFinding) -> Finding {
        Finding { text, is_forced }
    }
}

impl From<Observer> for LoggedObserver {
    fn from(observer: Observer) -> LoggedObserver {
        match observer {
            Observer::Agent(agent) => LoggedObserver::Agent(agent),
            Observer::Monitor(monitor) => LoggedObserver::Monitor(monitor),
        }
    }
}

impl From<LoggedObserver> for Observer {
    fn from(logged: LoggedObserver) -> Observer {
        match logged {
            LoggedObserver::Agent(agent) => Observer::Agent(agent),
            LoggedObserver::Monitor(monitor) => Observer::Monitor(monitor),
        }
    }
}

impl From<ClockReading> for LoggedClock {
    fn from(clock: ClockReading) -> LoggedClock {
        LoggedClock(clock.offset_ns, clock.bound_ns)
    }
}

impl From<LoggedClock> for ClockReading {
    fn from(LoggedClock(offset_ns, bound_ns): LoggedClock) -> ClockReading {
        ClockReading {
            offset_ns,
            bound_ns,
        }
    }
}

impl From<EndCause> for LoggedCause {
    fn from(cause: EndCause) -> LoggedCause {
        match cause {
            EndCause::Plan => LoggedCause::Plan,
            EndCause::Stopped => LoggedCause::Stopped,
            EndCause::LeaseExpired => LoggedCause::LeaseExpired,
            EndCause::Failed(why) => LoggedCause::Failed(why),
        }
    }
}

impl From<LoggedCause> for EndCause {
    fn from(logged: LoggedCause) -> EndCause {
        match logged {
            LoggedCause::Plan => EndCause::Plan,
            LoggedCause::Stopped => EndCause::Stopped,
            LoggedCause::LeaseExpired => EndCause::LeaseExpired,
            LoggedCause::Failed(why) => EndCause::Failed(why),
        }
    }
}

impl From<RunOutcome> for LoggedOutcome {
    fn from(outcome: RunOutcome) -> LoggedOutcome {
        match outcome {
            RunOutcome::Ran => LoggedOutcome::Ran,
            RunOutcome::StoppedBeforeStart(Stop::Drain) => {
                LoggedOutcome::StoppedBeforeStart(LoggedStop::Drain)
            }
            RunOutcome::StoppedBeforeStart(Stop::Now) => {
                LoggedOutcome::StoppedBeforeStart(LoggedStop::Now)
            }
            RunOutcome::NotStarted => LoggedOutcome::NotStarted,
            RunOutcome::TooFewAgents { have, want } => LoggedOutcome::TooFewAgents(have, want),
            RunOutcome::Superseded => LoggedOutcome::Superseded,
        }
    }
}

impl From<LoggedOutcome> for RunOutcome {
    fn from(logged: LoggedOutcome) -> RunOutcome {
        match logged {
            LoggedOutcome::Ran => RunOutcome::Ran,
            LoggedOutcome::StoppedBeforeStart(LoggedStop::Drain) => {
                RunOutcome::StoppedBeforeStart(Stop::Drain)
            }
            LoggedOutcome::StoppedBeforeStart(LoggedStop::Now) => {
                RunOutcome::StoppedBeforeStart(Stop::Now)
            }
            LoggedOutcome::NotStarted => RunOutcome::NotStarted,
            LoggedOutcome::TooFewAgents(have, want) => RunOutcome::TooFewAgents { have, want },
            LoggedOutcome::Superseded => RunOutcome::Superseded,
        }
    }
}
