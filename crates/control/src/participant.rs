//! One agent's part in a run, as the coordinator knows it.

use crate::headway::Headway;
use crate::interval_inbox::{IntervalInbox, OutOfPlace, Taken};
use crate::outbox::window_bytes;
use crate::run_agent::{AgentStage, RunAgent};
use crate::seen_seconds::SeenSeconds;
use crate::upload_id::UploadId;
use crate::{AgentFacts, AgentId, ClockReading, ConnectionId, FleetTime, NOTES_MAX, RunId};
use proto::{IntervalPart, Resume};
use std::collections::BTreeMap;

/// Intervals that an agent may have sent and that are not stored yet: twice what an agent of this
/// version sends without an acknowledgement, and the same goes for their bytes. This side learns
/// first what is stored, so an agent that keeps to its window never comes near.
const UNSTORED_MAX: usize = 64;

/// An agent of a run.
#[derive(Debug)]
pub(crate) struct Participant {
    facts: AgentFacts,
    /// The stream it is attached to, or since when it has none.
    attachment: Attachment,
    stage: ParticipantStage,
    clock: Option<ClockReading>,
    began: Option<(FleetTime, u64)>,
    inbox: IntervalInbox,
    unstored: BTreeMap<UploadId, usize>,
    unstored_bytes: usize,
    unstored_max_bytes: usize,
    headway: Headway,
    /// The upload that most recently came in part, and the most parts of it that ever came.
    furthest: Option<(UploadId, u32)>,
    notes: u32,
    observed: SeenSeconds,
    progress_at: FleetTime,
    attached_at: FleetTime,
    /// Until then it may come back and fire; `None` if it never had a lease.
    leased_until: Option<FleetTime>,
    /// By then its last lease has expired.
    fired_until: Option<FleetTime>,
    /// When it was first told to stop at once since it last fell silent.
    told_to_stop_at: Option<FleetTime>,
    /// Whether it has said that it will answer the plan later.
    was_busy: bool,
    /// Whether it may still say which files it lacks.
    may_want: bool,
    /// The beat by which it last asked for its first lease.
    asked: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attachment {
    To(ConnectionId),
    GoneSince(FleetTime, Departure),
}

/// How an agent went away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Departure {
    /// Its stream ended, so the agent knows too, and dials again if it is there.
    Ended,
    /// It fell silent, and may notice that much later.
    Silent,
}

/// How far an agent has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParticipantStage {
    /// It has the plan, and has not answered yet.
    Preparing,
    /// It can run the plan.
    Ready,
    /// It knows the start instant.
    Armed,
    /// It has asked for its first lease.
    Asking,
    /// It may fire.
    Going,
    /// It has reported its end.
    Ended,
    /// It was given up, and may still deliver what it holds.
    Lost,
    /// It was given up, and nothing more is taken from it.
    Barred,
}

/// How an upload breaks the protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadUpload {
    #[error(transparent)]
    OutOfPlace(#[from] OutOfPlace),
    #[error(
        "it sends on though more than {UNSTORED_MAX} of its intervals, or {most_bytes} bytes of \
         them, wait to be stored"
    )]
    NoWindow { most_bytes: usize },
}

impl Participant {
    /// Creates an attached agent, one of `agents` that share the room for what is not stored yet.
    pub(crate) fn new(
        facts: AgentFacts,
        connection: ConnectionId,
        now: FleetTime,
        agents: u32,
    ) -> Participant {
        let gone = Participant::new_away(facts, now, agents);
        Participant {
            attachment: Attachment::To(connection),
            ..gone
        }
    }

    fn new_away(facts: AgentFacts, now: FleetTime, agents: u32) -> Participant {
        Participant {
            facts,
            attachment: Attachment::GoneSince(now, Departure::Silent),
            stage: ParticipantStage::Preparing,
            clock: None,
            began: None,
            inbox: IntervalInbox::default(),
            unstored: BTreeMap::new(),
            unstored_bytes: 0,
            unstored_max_bytes: 2 * window_bytes(agents),
            headway: Headway::default(),
            furthest: None,
            notes: 0,
            observed: SeenSeconds::default(),
            progress_at: now,
            attached_at: now,
            leased_until: None,
            fired_until: None,
            told_to_stop_at: None,
            was_busy: false,
            may_want: false,
            asked: 0,
        }
    }

    /// Restores an agent from the record, as one that is away. If it comes back, it may fire until
    /// the first of `leases`; if it stays away, it fires no more after the second.
    pub(crate) fn from_past(
        past: RunAgent,
        now: FleetTime,
        (leased_until, fired_until): (FleetTime, FleetTime),
        agents: u32,
    ) -> Participant {
        let stage = match past.stage() {
            AgentStage::Preparing
            | AgentStage::Ready
            | AgentStage::Firing
            | AgentStage::Uploading => ParticipantStage::Going,
            AgentStage::Ended => ParticipantStage::Ended,
            AgentStage::Refused | AgentStage::Lost | AgentStage::Returned => ParticipantStage::Lost,
        };
        let (clock, began) = (past.clock(), past.began());
        let (facts, inbox, observed) = past.into_record();
        Participant {
            stage,
            clock,
            began,
            inbox,
            observed,
            leased_until: Some(leased_until),
            fired_until: Some(fired_until),
            ..Participant::new_away(facts, now, agents)
        }
    }

    /// Which seconds of its machine were taken.
    pub(crate) fn seconds(&mut self) -> &mut SeenSeconds {
        &mut self.observed
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

    /// Whether nothing more is expected from it.
    pub(crate) fn is_over(&self) -> bool {
        matches!(
            self.stage,
            ParticipantStage::Ended | ParticipantStage::Lost | ParticipantStage::Barred
        )
    }

    /// Whether its uploads are taken.
    pub(crate) fn may_upload(&self) -> bool {
        matches!(self.stage, ParticipantStage::Going | ParticipantStage::Lost)
    }

    pub(crate) fn connection(&self) -> Option<ConnectionId> {
        match self.attachment {
            Attachment::To(connection) => Some(connection),
            Attachment::GoneSince(..) => None,
        }
    }

    pub(crate) fn gone_since(&self) -> Option<(FleetTime, Departure)> {
        match self.attachment {
            Attachment::To(_) => None,
            Attachment::GoneSince(since, how) => Some((since, how)),
        }
    }

    pub(crate) fn attach(&mut self, now: FleetTime, connection: ConnectionId) {
        self.attachment = Attachment::To(connection);
        self.attached_at = now;
    }

    /// When its current stream, or its last one, was attached.
    pub(crate) fn attached_at(&self) -> FleetTime {
        self.attached_at
    }

    pub(crate) fn detach(&mut self, now: FleetTime, how: Departure) {
        self.attachment = Attachment::GoneSince(now, how);
        if how == Departure::Silent {
            // It may not have heard it.
            self.told_to_stop_at = None;
        }
        self.may_want = false;
        self.inbox.cut();
        self.headway.stream_ended(now);
    }

    /// Whether its streams have brought nothing new for too long. They cannot before what they
    /// brought is stored here.
    pub(crate) fn is_getting_nowhere(&self, now: FleetTime) -> bool {
        !self.awaits_storage() && self.headway.is_missing(now)
    }

    /// Notes that it was told to stop at once.
    pub(crate) fn note_told_to_stop(&mut self, now: FleetTime) {
        self.told_to_stop_at.get_or_insert(now);
    }

    /// When it was first told to stop at once since it last fell silent.
    pub(crate) fn told_to_stop_at(&self) -> Option<FleetTime> {
        self.told_to_stop_at
    }

    /// Notes that it was asked which files it lacks.
    pub(crate) fn ask_for_wants(&mut self) {
        self.may_want = true;
    }

    /// Whether this is its first answer on this stream.
    pub(crate) fn wants(&mut self) -> bool {
        std::mem::take(&mut self.may_want)
    }

    /// Notes the beat by which it asked for its first lease.
    pub(crate) fn ask(&mut self, sequence: u64) {
        self.asked = sequence;
    }

    /// The beat by which it asked for its first lease.
    pub(crate) fn first_lease_beat(&self) -> u64 {
        self.asked
    }

    /// Notes a granted lease, which expires by `until`.
    pub(crate) fn lease(&mut self, until: FleetTime) {
        self.leased_until = self.leased_until.max(Some(until));
        self.fired_until = self.fired_until.max(Some(until));
    }

    /// By then it has fired its last operation, if it does not come back; `None` if it never had a
    /// lease.
    pub(crate) fn fired_until(&self) -> Option<FleetTime> {
        self.fired_until
    }

    /// Whether it says for the first time that it will answer later.
    pub(crate) fn may_be_busy(&mut self) -> bool {
        !std::mem::replace(&mut self.was_busy, true)
    }

    /// By then it fires no more, even if it was about to come back; `None` if it never had a lease.
    pub(crate) fn leased_until(&self) -> Option<FleetTime> {
        self.leased_until
    }

    /// Where its upload continues after a cut.
    pub(crate) fn resume(&self, run: RunId, epoch: u64) -> Resume {
        let (upload, parts) = self.inbox.in_part().unwrap_or((UploadId::Interval(0), 0));
        let (interval, totals) = upload.to_wire();
        Resume {
            run_id: run.to_wire(),
            stored_below: self.inbox.stored_below(),
            interval,
            totals,
            parts,
            epoch,
        }
    }

    /// Whether something that it brought is not stored here yet.
    pub(crate) fn awaits_storage(&self) -> bool {
        !self.unstored.is_empty()
    }

    /// When it last brought something new of its run, or some of that was stored.
    pub(crate) fn progress_at(&self) -> FleetTime {
        self.progress_at
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

    /// Notes when it began. Returns whether this is the first report; a later one counts if its
    /// error bound is smaller.
    pub(crate) fn begin(&mut self, at: FleetTime, bound_ns: u64) -> bool {
        let is_first = self.began.is_none();
        if self.began.is_none_or(|(_, known_ns)| bound_ns < known_ns) {
            self.began = Some((at, bound_ns));
        }
        is_first
    }

    /// Takes the next part of what it uploads.
    pub(crate) fn upload(
        &mut self,
        now: FleetTime,
        part: IntervalPart,
    ) -> Result<Taken, BadUpload> {
        let upload = UploadId::from_wire(part.interval, part.totals);
        let parts = part.part.saturating_add(1);
        let taken = self.inbox.take(part)?;
        match &taken {
            Taken::InPart if !self.goes_beyond(upload, parts) => {}
            Taken::InPart => self.make_headway(now),
            Taken::New(encoded) => {
                self.make_headway(now);
                self.keep(upload, encoded.len())?;
            }
            Taken::Pending | Taken::Delivered => {}
        }
        Ok(taken)
    }

    /// Whether more parts came than ever before: a stream that only repeats the last one makes no
    /// progress. The first part alone does not count, because it can come on every stream with
    /// nothing after it.
    fn goes_beyond(&mut self, upload: UploadId, parts: u32) -> bool {
        let before = self.furthest.filter(|(furthest, _)| *furthest == upload);
        let is_new = before.is_none_or(|(_, before)| parts > before);
        if is_new {
            self.furthest = Some((upload, parts));
        }
        is_new && parts > 1
    }

    fn make_headway(&mut self, now: FleetTime) {
        self.headway.note_news();
        self.progress_at = now;
    }

    /// Counts an upload as handed over. Only what was there before it is limited, because a single
    /// interval can be large.
    fn keep(&mut self, upload: UploadId, bytes: usize) -> Result<(), BadUpload> {
        let most_bytes = self.unstored_max_bytes;
        if self.unstored.len() >= UNSTORED_MAX || self.unstored_bytes > most_bytes {
            return Err(BadUpload::NoWindow { most_bytes });
        }
        self.unstored_bytes += bytes;
        self.unstored.insert(upload, bytes);
        Ok(())
    }

    /// Notes that the caller has taken an upload.
    pub(crate) fn note_delivery(&mut self, now: FleetTime, upload: UploadId) {
        self.make_headway(now);
        self.unstored_bytes -= self.unstored.remove(&upload).unwrap_or(0);
        self.inbox.note_delivery(upload);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::INTERVAL_PART_BYTES;
    use proto::Bytes;

    /// How many intervals of 100 kB one of `agents` agents can hand over before it is refused.
    fn taken_of(agents: u32) -> u32 {
        let facts = AgentFacts {
            version: "1".into(),
            ..AgentFacts::new(AgentId([1; 16]), "agent")
        };
        let now = FleetTime(1);
        let mut agent = Participant::new(facts, ConnectionId(1), now, agents);
        let parts = 100_000_u32.div_ceil(INTERVAL_PART_BYTES as u32);
        let mut upload = |interval| {
            let mut parts = (0..parts).map(|part| IntervalPart {
                interval,
                part,
                parts,
                content: Bytes::from(vec![0; 100_000 / parts as usize]),
                ..IntervalPart::default()
            });
            parts.try_for_each(|part| agent.upload(now, part).map(|_| ()))
        };
        (0..)
            .find(|interval| upload(*interval).is_err())
            .unwrap_or(0)
    }

    #[test]
    fn agents_of_a_large_run_share_the_bytes_that_may_wait() {
        // Twice the 4 MiB of a small run would be more than 64 intervals.
        assert_eq!(taken_of(1), 64);
        // Twice a thousandth of 256 MiB: when the sixth begins, there is room left.
        assert_eq!(taken_of(1_000), 6);
    }
}
