//! The journeys of a worker that are under way, by the slot whose user or arrival makes them, or if
//! they share connections by the place of their user. Knows nothing of connections.

mod journey_choice;
mod program;
mod travellers;
mod walk;

use crate::arrival::Arrival;
use crate::journey_memory::{JourneyMemories, JourneyMemory};
use crate::values::Values;
use journey_choice::JourneyChoice;
use measure::{JourneyCell, JourneyEnd, JourneyTimes, Period, Recorder};
use plan::{JourneyCookies, Plan, StepTurns};
use program::{JourneyCommand, Program};
use std::ops::Range;
use travellers::Travellers;
use walk::{Walk, WalkMove, WalkState};

/// The plan's journeys, and those that are under way.
#[derive(Debug)]
pub(crate) struct Journeys {
    programs: Vec<Program>,
    choice: JourneyChoice,
    seed: u64,
    /// By slot.
    places: Vec<JourneyPlace>,
    /// What users remember of earlier journeys, if that is anything.
    travellers: Option<Box<Travellers>>,
    under_way: u32,
    last_begun_at: u64,
}

/// A step that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DueStep {
    pub(crate) due_at: u64,
    /// The request's place in the plan.
    pub(crate) request: u16,
    /// The number that the operation has.
    pub(crate) seq: u64,
    /// The operation's random number.
    pub(crate) random: u64,
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepOutcome {
    Ok,
    Failed,
    /// The run ended under it.
    Cut,
}

/// What is left to do after a journey has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct EndedJourney {
    /// The pause before the next journey of its user, in nanoseconds.
    pub(crate) pause_ns: u64,
    /// Whether its connection is closed.
    pub(crate) closes: bool,
}

/// What a slot has to do with journeys.
#[derive(Debug, Default)]
enum JourneyPlace {
    #[default]
    Empty,
    UnderWay(Box<Walk>),
    Ended(EndedJourney),
}

impl Journeys {
    /// The journeys of `plan`; `None` if its load is made of requests.
    pub(crate) fn new(plan: &Plan) -> Option<Box<Journeys>> {
        let journeys = plan.journeys();
        if journeys.is_empty() {
            return None;
        }
        let seed = plan.load().seed;
        Some(Box::new(Journeys {
            programs: journeys.iter().map(Program::new).collect(),
            choice: JourneyChoice::new(plan),
            seed,
            places: Vec::new(),
            travellers: Travellers::new(plan),
            under_way: 0,
            last_begun_at: 0,
        }))
    }

    /// The first steps of the first journey, `most` at most, if it captures `texts`: their requests
    /// and random numbers.
    pub(crate) fn first_steps(&self, most: usize, texts: &JourneyMemory) -> Vec<(u16, u64)> {
        let first = Arrival {
            seq: 0,
            intended_at: 0,
            period: Period::Measured,
        };
        let cell = self.cell(first, 0);
        let program = &self.programs[usize::from(cell.journey)];
        let mut walk = Walk::new(cell, (0, 0), program, self.seed);
        let mut steps = Vec::new();
        while steps.len() < most {
            // The first step depends on no text.
            let texts = Some(texts).filter(|_| !steps.is_empty());
            match walk.advance(program, texts, |_| false) {
                WalkMove::Step { step, .. } => steps.push((step.request, walk.bits())),
                WalkMove::Skip { .. } | WalkMove::Leave { .. } => {}
                WalkMove::End { .. } => break,
            }
        }
        steps
    }

    /// How many are under way.
    pub(crate) fn under_way(&self) -> u32 {
        self.under_way
    }

    /// The first request of a journey, by its place in the plan.
    pub(crate) fn first_request(&self, cell: JourneyCell) -> u16 {
        let program = &self.programs[usize::from(cell.journey)];
        let first = program.commands.iter().find_map(|command| match command {
            JourneyCommand::Send(step) => Some(step.request),
            _ => None,
        });
        first.unwrap_or(0) // a plan has no such journey
    }

    /// Begins the journey that is due as `arrival`, on `slot` and made by `user`. Its first step is
    /// due then, or after a pause if its user has made what comes before that.
    pub(crate) fn begin(
        &mut self,
        (slot, user): (u32, u64),
        arrival: Arrival,
        memories: &mut JourneyMemories,
        recorder: &mut Recorder,
    ) {
        let cell = self.cell(arrival, user);
        let program = &self.programs[usize::from(cell.journey)];
        let seq = Values::number(arrival.period, arrival.seq);
        let of_walk = (seq, arrival.intended_at);
        let mut walk = Walk::new(cell, of_walk, program, self.seed);
        recorder.begin_journey(cell);
        let travellers = self.travellers.as_deref();
        if let Some(travellers) = travellers {
            let with_cookies = program.cookies == JourneyCookies::OfUser;
            if let Some(memory) = travellers.memory(slot, with_cookies) {
                memories.begin(seq, memory);
            }
        }
        let texts = memories.of(seq).map(|texts| &**texts);
        let of_user = (texts, travellers, slot);
        let next = next_move(&mut walk, program, of_user, (arrival.intended_at, recorder));
        if let WalkMove::Step { step, pause_ns } = next {
            walk.wait(arrival.intended_at, step, pause_ns);
        }
        let slot = slot as usize;
        if self.places.len() <= slot {
            self.places.resize_with(slot + 1, JourneyPlace::default);
        }
        let before = std::mem::replace(
            &mut self.places[slot],
            JourneyPlace::UnderWay(Box::new(walk)),
        );
        debug_assert!(
            !matches!(before, JourneyPlace::UnderWay(_)),
            "a journey ends before the next begins"
        );
        self.under_way += 1;
    }

    /// When the next step of the slot's journey is due; `None` if it has none, or is under way.
    pub(crate) fn due_at(&self, slot: u32) -> Option<u64> {
        let JourneyPlace::UnderWay(walk) = self.places.get(slot as usize)? else {
            return None;
        };
        match walk.state {
            WalkState::Due { at, .. } => Some(at),
            WalkState::Ahead | WalkState::UnderWay { .. } => None,
        }
    }

    fn walk(&mut self, slot: u32) -> Option<&mut Walk> {
        match self.places.get_mut(slot as usize)? {
            JourneyPlace::UnderWay(walk) => Some(walk),
            JourneyPlace::Empty | JourneyPlace::Ended(_) => None,
        }
    }

    /// Begins the step that is due on `slot`.
    pub(crate) fn begin_step(
        &mut self,
        slot: u32,
        now: u64,
        recorder: &mut Recorder,
    ) -> Option<DueStep> {
        self.last_begun_at = now;
        let walk = self.walk(slot)?;
        let WalkState::Due { at, step } = walk.state else {
            return None;
        };
        let walk_cell = walk.cell;
        walk.begin_groups(at, |group| recorder.begin_group(walk_cell, group));
        let is_first = walk.begin(step);
        recorder.begin_step(walk.cell, step.number, is_first);
        Some(DueStep {
            due_at: at,
            request: step.request,
            seq: walk.seq,
            random: walk.bits(),
        })
    }

    /// Whether the slot's journey keeps cookies.
    pub(crate) fn keeps_cookies(&self, slot: u32) -> bool {
        match self.places.get(slot as usize) {
            Some(JourneyPlace::UnderWay(walk)) => {
                let program = &self.programs[usize::from(walk.cell.journey)];
                program.cookies != JourneyCookies::Ignored
            }
            _ => false,
        }
    }

    /// Random bits of the slot's journey.
    pub(crate) fn bits(&mut self, slot: u32) -> u64 {
        self.walk(slot).map_or(0, Walk::bits)
    }

    /// Puts off the next step of the slot's journey, if it has one.
    pub(crate) fn put_off(&mut self, slot: u32, by_ns: u64) {
        if let Some(walk) = self.walk(slot) {
            walk.put_off(by_ns);
        }
    }

    /// The operation under way on `slot` has ended at `now`. A journey whose step failed has
    /// failed.
    pub(crate) fn end_step(
        &mut self,
        slot: u32,
        (outcome, now): (StepOutcome, u64),
        memories: &mut JourneyMemories,
        recorder: &mut Recorder,
    ) {
        let Some(JourneyPlace::UnderWay(walk)) = self.places.get_mut(slot as usize) else {
            return; // an operation is a step of a journey
        };
        let WalkState::UnderWay { step } = walk.state else {
            return;
        };
        recorder.end_step(walk.cell, step.number, outcome == StepOutcome::Ok);
        let program = &self.programs[usize::from(walk.cell.journey)];
        let texts = memories.of(walk.seq).map(|texts| &**texts);
        if outcome == StepOutcome::Ok
            && step.turns == StepTurns::OncePerUser
            && let Some(travellers) = &mut self.travellers
        {
            travellers.make(slot, step.request, texts);
        }
        let travellers = self.travellers.as_deref();
        let (end, pause_ns) = match outcome {
            StepOutcome::Failed => (JourneyEnd::Failed, 0),
            StepOutcome::Cut => (JourneyEnd::Abandoned, 0),
            StepOutcome::Ok => {
                let of_user = (texts, travellers, slot);
                match next_move(walk, program, of_user, (now, recorder)) {
                    WalkMove::Step { step, pause_ns } => return walk.wait(now, step, pause_ns),
                    WalkMove::Skip { pause_ns, .. }
                    | WalkMove::Leave { pause_ns, .. }
                    | WalkMove::End { pause_ns } => (JourneyEnd::Completed, pause_ns),
                }
            }
        };
        let closes = program.closes;
        let after = EndedJourney { pause_ns, closes };
        self.end(slot, (end, after), now, memories, recorder);
    }

    /// What is left to do after the slot's journey, if one has just ended; otherwise nothing.
    pub(crate) fn take_ended(&mut self, slot: u32) -> EndedJourney {
        let Some(place @ &mut JourneyPlace::Ended(ended)) = self.places.get_mut(slot as usize)
        else {
            return EndedJourney::default();
        };
        *place = JourneyPlace::Empty;
        ended
    }

    /// Places where journeys have been made, from 0 on.
    pub(crate) fn places(&self) -> u32 {
        self.places.len() as u32 // there are no more than slots or users
    }

    /// When the last step began; 0 if none has.
    pub(crate) fn last_begun_at(&self) -> u64 {
        self.last_begun_at
    }

    /// Abandons the journeys of these slots whose next step has not begun.
    pub(crate) fn abandon(
        &mut self,
        slots: Range<u32>,
        now: u64,
        memories: &mut JourneyMemories,
        recorder: &mut Recorder,
    ) {
        for slot in slots {
            if self.due_at(slot).is_some() {
                let end = (JourneyEnd::Abandoned, EndedJourney::default());
                self.end(slot, end, now, memories, recorder);
            }
        }
    }

    fn end(
        &mut self,
        slot: u32,
        (end, after): (JourneyEnd, EndedJourney),
        now: u64,
        memories: &mut JourneyMemories,
        recorder: &mut Recorder,
    ) {
        let place = &mut self.places[slot as usize];
        let JourneyPlace::UnderWay(walk) = std::mem::replace(place, JourneyPlace::Ended(after))
        else {
            return;
        };
        self.under_way -= 1;
        let memory = memories.remove(walk.seq);
        let program = &self.programs[usize::from(walk.cell.journey)];
        if program.cookies == JourneyCookies::OfUser
            && let Some((travellers, memory)) = self.travellers.as_mut().zip(memory)
        {
            travellers.keep_cookies(slot, &memory);
        }
        let times = JourneyTimes {
            done_at: now,
            time_ns: now.saturating_sub(walk.due_at),
            paused_ns: walk.paused_ns,
        };
        recorder.end_journey(walk.cell, end, times);
    }

    /// The cell of the journey that is due as `arrival` and made by `user`.
    pub(crate) fn cell(&self, arrival: Arrival, user: u64) -> JourneyCell {
        JourneyCell {
            period: arrival.period,
            journey: self.choice.at(arrival, user),
        }
    }
}

/// Goes on at `now` to the next step or the end, and counts the steps that are skipped on the way,
/// and the groups that are completed.
fn next_move(
    walk: &mut Walk,
    program: &Program,
    (texts, travellers, slot): (Option<&JourneyMemory>, Option<&Travellers>, u32),
    (now, recorder): (u64, &mut Recorder),
) -> WalkMove {
    let has_made =
        |request| travellers.is_some_and(|travellers| travellers.has_made(slot, request));
    let mut paused_ns: u64 = 0;
    loop {
        match walk.advance(program, texts, has_made) {
            WalkMove::Skip {
                step,
                is_first,
                pause_ns,
            } => {
                paused_ns = paused_ns.saturating_add(pause_ns);
                recorder.skip_step(walk.cell, step.number, is_first);
                // Draws what the step would have drawn: what follows must not depend on whose
                // journey it is, since that depends on the fleet.
                walk.bits();
                if travellers.is_some_and(|travellers| travellers.captures(step.request)) {
                    walk.bits();
                }
            }
            WalkMove::Leave { group, pause_ns } => {
                paused_ns = paused_ns.saturating_add(pause_ns);
                let time_ns = now.saturating_sub(group.due_at);
                recorder.complete_group((walk.cell, group.number), time_ns, group.paused_ns);
            }
            WalkMove::Step { step, pause_ns } => {
                let pause_ns = paused_ns.saturating_add(pause_ns);
                return WalkMove::Step { step, pause_ns };
            }
            WalkMove::End { pause_ns } => {
                let pause_ns = paused_ns.saturating_add(pause_ns);
                return WalkMove::End { pause_ns };
            }
        }
    }
}
