//! One agent's part in a run, as the run's events tell it.

use crate::interval_inbox::IntervalInbox;
use crate::seen_seconds::SeenSeconds;
use crate::upload_id::UploadId;
use crate::{AgentFacts, AgentId, ClockReading, EndCause, FleetTime, RunEvent};
use std::sync::Arc;
use std::time::Duration;

/// How far off an instant can be that is found again by the calendar. NTP steps a clock that is off
/// by more than 128 ms, and may do so late after a boot.
pub(crate) const CALENDAR_ERROR: Duration = Duration::from_secs(1);

/// An agent of a run, as the run's events tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunAgent {
    /// Shared, because a model is copied for each look at it.
    facts: Arc<AgentFacts>,
    name: String,
    stage: AgentStage,
    away_since: Option<FleetTime>,
    workers: u32,
    clock: Option<ClockReading>,
    began: Option<(FleetTime, u64)>,
    inbox: IntervalInbox,
    observed: SeenSeconds,
    end: Option<EndCause>,
    loss: Option<AgentLoss>,
    left_share: bool,
}

/// How far an agent has come. Whether its stream is gone is told apart from this, by
/// [`RunAgent::away_since`], because an agent can be away at any stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentStage {
    /// It has the plan, or waits for it.
    Preparing,
    /// It can run the plan.
    Ready,
    /// It has begun to send.
    Firing,
    /// It sends nothing more, and its last data is on its way.
    Uploading,
    /// It has reported its end.
    Ended,
    /// It cannot run the plan, so the run does not start.
    Refused,
    /// It was given up.
    Lost,
    /// It was given up, and has come back with what it holds.
    Returned,
}

/// Why and when an agent was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentLoss {
    /// The reason.
    pub why: String,
    /// By then its last lease has expired; `None` if it never had one.
    pub fired_until: Option<FleetTime>,
}

impl RunAgent {
    pub(crate) fn new(facts: Arc<AgentFacts>, name: String) -> RunAgent {
        RunAgent {
            workers: facts.workers,
            facts,
            name,
            stage: AgentStage::Preparing,
            away_since: None,
            clock: None,
            began: None,
            inbox: IntervalInbox::default(),
            observed: SeenSeconds::default(),
            end: None,
            loss: None,
            left_share: false,
        }
    }

    /// What it says of itself.
    #[must_use]
    pub fn facts(&self) -> &AgentFacts {
        &self.facts
    }

    /// The name that it states; the second agent of that name is called `name (2)`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How far it has come.
    #[must_use]
    pub fn stage(&self) -> AgentStage {
        self.stage
    }

    /// Since when its stream is gone; `None` if it is there, or is not awaited.
    #[must_use]
    pub fn away_since(&self) -> Option<FleetTime> {
        self.away_since
    }

    /// Load threads that it uses; until it is ready, those that it would use.
    #[must_use]
    pub fn workers(&self) -> u32 {
        self.workers
    }

    /// The offset of its clock, as last reported.
    #[must_use]
    pub fn clock(&self) -> Option<ClockReading> {
        self.clock
    }

    /// The first instant of its run, and the error bound in nanoseconds.
    #[must_use]
    pub fn began(&self) -> Option<(FleetTime, u64)> {
        self.began
    }

    /// Number of its intervals that were delivered.
    #[must_use]
    pub fn intervals(&self) -> usize {
        self.inbox.len()
    }

    /// Number of the first interval that was not delivered.
    #[must_use]
    pub fn next_interval(&self) -> u32 {
        self.inbox.next()
    }

    /// How many intervals its totals count; `None` before they are delivered.
    #[must_use]
    pub fn totals(&self) -> Option<u32> {
        self.inbox.totals()
    }

    /// The end that it reported, even if it was given up before.
    #[must_use]
    pub fn end(&self) -> Option<&EndCause> {
        self.end.as_ref()
    }

    /// Why it was given up, even if it has come back since.
    #[must_use]
    pub fn loss(&self) -> Option<&AgentLoss> {
        self.loss.as_ref()
    }

    /// Whether something is still expected of it. An agent that was given up is not waited for,
    /// unless it has come back.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        !matches!(self.stage, AgentStage::Ended | AgentStage::Lost)
    }

    pub(crate) fn id(&self) -> AgentId {
        self.facts.id
    }

    /// Whether it left a share to others, because it was lost or ended before its plan did.
    pub(crate) fn has_left_share(&self) -> bool {
        self.left_share
    }

    /// Its facts, and which of its intervals and observed seconds are in the record.
    pub(crate) fn into_record(self) -> (AgentFacts, IntervalInbox, SeenSeconds) {
        let facts = Arc::unwrap_or_clone(self.facts);
        (facts, self.inbox, self.observed)
    }

    /// Takes an event that names this agent. Returns whether it leaves its share by it.
    pub(crate) fn take(&mut self, event: &RunEvent, now: FleetTime) -> bool {
        match event {
            RunEvent::Ready { workers, clock, .. } => {
                self.workers = *workers;
                self.clock = Some(*clock);
                self.advance(AgentStage::Ready);
            }
            RunEvent::Began { at, bound_ns, .. } => {
                self.began = Some((*at, *bound_ns));
                self.advance(AgentStage::Firing);
            }
            RunEvent::Totals { intervals, .. } => {
                self.store(UploadId::Totals(*intervals));
                self.advance(AgentStage::Uploading);
            }
            RunEvent::Gone { .. } => self.away_since = Some(now),
            RunEvent::Back { .. } => {
                self.away_since = None;
                if self.stage == AgentStage::Lost {
                    self.stage = AgentStage::Returned;
                }
            }
            RunEvent::Ended { cause, clock, .. } => {
                self.clock = clock.or(self.clock);
                return self.finish(cause);
            }
            RunEvent::Problem { problem, .. } => {
                return self.lose(AgentStage::Refused, problem, None);
            }
            RunEvent::Lost {
                why, fired_until, ..
            } => return self.lose(AgentStage::Lost, why, *fired_until),
            // These name no agent, or say nothing of its stage.
            _ => {}
        }
        false
    }

    /// Notes an upload that is in the record.
    pub(crate) fn store(&mut self, upload: UploadId) {
        self.inbox.restore(upload);
    }

    /// Notes an observed second that is in the record.
    pub(crate) fn observe(&mut self, second: u32) {
        self.observed.note_stored(second);
    }

    /// Converts its instants to another clock, to within [`CALENDAR_ERROR`].
    pub(crate) fn shift(&mut self, to_now: impl Fn(FleetTime) -> FleetTime) {
        let moved = |(at, bound_ns): (FleetTime, u64)| {
            let error_ns = crate::clock::nanoseconds(CALENDAR_ERROR);
            (to_now(at), bound_ns.saturating_add(error_ns))
        };
        self.began = self.began.map(moved);
        self.away_since = self.away_since.map(&to_now);
        if let Some(loss) = &mut self.loss {
            loss.fired_until = loss.fired_until.map(&to_now);
        }
    }

    /// Goes on to a stage, unless its part is over.
    fn advance(&mut self, stage: AgentStage) {
        if !self.is_over() {
            self.stage = stage;
        }
    }

    /// Notes the end that it reports. An agent that was lost left its share by then.
    fn finish(&mut self, cause: &EndCause) -> bool {
        let leaves_share = cause.is_early() && !self.is_over();
        self.left_share |= leaves_share;
        self.stage = AgentStage::Ended;
        self.away_since = None;
        self.end = Some(cause.clone());
        leaves_share
    }

    fn lose(&mut self, stage: AgentStage, why: &str, fired_until: Option<FleetTime>) -> bool {
        self.stage = stage;
        self.left_share = true;
        self.away_since = None;
        let why = why.to_owned();
        self.loss = Some(AgentLoss { why, fired_until });
        true
    }

    /// Whether it reported its end, or was given up.
    fn is_over(&self) -> bool {
        match self.stage {
            AgentStage::Preparing
            | AgentStage::Ready
            | AgentStage::Firing
            | AgentStage::Uploading => false,
            AgentStage::Ended | AgentStage::Refused | AgentStage::Lost | AgentStage::Returned => {
                true
            }
        }
    }
}
