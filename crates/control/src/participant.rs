//! One agent's part in a run, as the coordinator knows it.

use crate::headway::Headway;
use crate::interval_inbox::{IntervalInbox, OutOfPlace, Taken};
use crate::upload_id::UploadId;
use crate::{AgentFacts, AgentId, ClockReading, ConnectionId, FleetTime, NOTES_MAX, RunId};
use proto::{IntervalPart, Resume};

/// An agent of a run.
#[derive(Debug)]
pub(crate) struct Participant {
    facts: AgentFacts,
    /// Where it is attached, or since when it is gone.
    attachment: Attachment,
    stage: ParticipantStage,
    clock: Option<ClockReading>,
    began: Option<(FleetTime, u64)>,
    inbox: IntervalInbox,
    headway: Headway,
    notes: u32,
    heard_at: FleetTime,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attachment {
    To(ConnectionId),
    GoneSince(FleetTime),
}

/// How far an agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParticipantStage {
    /// It has the plan, and has not answered.
    Preparing,
    /// It can run it.
    Ready,
    /// It has the start instant.
    Going,
    /// It ended, or is given up.
    Over,
}

impl Participant {
    pub(crate) fn new(facts: AgentFacts, connection: ConnectionId, now: FleetTime) -> Participant {
        Participant {
            facts,
            attachment: Attachment::To(connection),
            stage: ParticipantStage::Preparing,
            clock: None,
            began: None,
            inbox: IntervalInbox::default(),
            headway: Headway::default(),
            notes: 0,
            heard_at: now,
        }
    }

    pub(crate) fn id(&self) -> AgentId {
        self.facts.id
    }

    pub(crate) fn facts(&self) -> &AgentFacts {
        &self.facts
    }

    pub(crate) fn stage(&self) -> ParticipantStage {
        self.stage
    }

    pub(crate) fn set_stage(&mut self, stage: ParticipantStage) {
        self.stage = stage;
    }

    pub(crate) fn is_over(&self) -> bool {
        self.stage == ParticipantStage::Over
    }

    pub(crate) fn connection(&self) -> Option<ConnectionId> {
        match self.attachment {
            Attachment::To(connection) => Some(connection),
            Attachment::GoneSince(_) => None,
        }
    }

    pub(crate) fn gone_since(&self) -> Option<FleetTime> {
        match self.attachment {
            Attachment::To(_) => None,
            Attachment::GoneSince(since) => Some(since),
        }
    }

    pub(crate) fn attach(&mut self, connection: ConnectionId) {
        self.attachment = Attachment::To(connection);
    }

    pub(crate) fn detach(&mut self, now: FleetTime) {
        self.attachment = Attachment::GoneSince(now);
        self.inbox.cut();
        self.headway.stream_ended(now);
    }

    /// Whether its streams brought nothing new for too long.
    pub(crate) fn is_getting_nowhere(&self, now: FleetTime) -> bool {
        self.headway.is_missing(now)
    }

    /// Where its upload goes on after a cut.
    pub(crate) fn resume(&self, run: RunId) -> Resume {
        let (upload, parts) = self.inbox.in_part().unwrap_or((UploadId::Interval(0), 0));
        let (interval, totals) = upload.to_wire();
        Resume {
            run_id: run.to_wire(),
            stored_below: self.inbox.stored_below(),
            interval,
            totals,
            parts,
        }
    }

    /// When it last said something about its run.
    pub(crate) fn heard_at(&self) -> FleetTime {
        self.heard_at
    }

    pub(crate) fn hear(&mut self, now: FleetTime) {
        self.heard_at = now;
    }

    pub(crate) fn clock(&self) -> Option<ClockReading> {
        self.clock
    }

    pub(crate) fn set_clock(&mut self, clock: Option<ClockReading>) {
        self.clock = clock.or(self.clock);
    }

    pub(crate) fn began(&self) -> Option<(FleetTime, u64)> {
        self.began
    }

    /// Whether this is the first that is heard of it.
    pub(crate) fn begin(&mut self, at: FleetTime, bound_ns: u64) -> bool {
        let first = self.began.is_none();
        self.began.get_or_insert((at, bound_ns));
        first
    }

    /// Takes the next part of its stream of intervals.
    pub(crate) fn upload(&mut self, part: IntervalPart) -> Result<Taken, OutOfPlace> {
        let is_first = part.part == 0;
        let taken = self.inbox.take(part)?;
        match taken {
            // The first part may come on every stream, and nothing after it.
            Taken::InPart if is_first => {}
            Taken::InPart | Taken::New(_) => self.headway.made(),
            Taken::Pending | Taken::Delivered => {}
        }
        Ok(taken)
    }

    /// The caller has it.
    pub(crate) fn delivered(&mut self, upload: UploadId) {
        self.inbox.delivered(upload);
    }

    pub(crate) fn inbox(&self) -> &IntervalInbox {
        &self.inbox
    }

    /// Whether one more note is passed on.
    pub(crate) fn may_note(&mut self) -> bool {
        self.notes = self.notes.saturating_add(1);
        self.notes <= NOTES_MAX
    }
}
