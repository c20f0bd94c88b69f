//! What users remember from one journey to the next: the requests that they make once, with what
//! these captured, and cookies. A user is a virtual user, in an open loop a connection's place or
//! one of those who share connections.

use crate::journey_memory::JourneyMemory;
use plan::Plan;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The users of a worker, by their slots.
#[derive(Debug)]
pub(super) struct Travellers {
    /// By the request's place in the plan: indices of the texts that it captures.
    captures: Vec<Vec<u16>>,
    by_slot: Vec<Traveller>,
}

#[derive(Debug, Default)]
struct Traveller {
    /// Requests made once that ended ok, by their places in the plan.
    made: BTreeSet<u16>,
    /// Texts of those requests, and cookies.
    memory: Arc<JourneyMemory>,
}

impl Travellers {
    /// `None` if no journey of the plan leaves anything to the next one.
    pub(super) fn new(plan: &Plan) -> Option<Box<Travellers>> {
        let captures = |request: &plan::Request| {
            let captures = request.captures.iter();
            captures.map(|capture| capture.index).collect()
        };
        let mut journeys = plan.journeys().iter();
        journeys.any(plan::Journey::remembers).then(|| {
            Box::new(Travellers {
                captures: plan.requests().iter().map(captures).collect(),
                by_slot: Vec::new(),
            })
        })
    }

    /// What a journey of the slot's user begins with; `None` if that is nothing.
    pub(super) fn memory(&self, slot: u32, with_cookies: bool) -> Option<Arc<JourneyMemory>> {
        let memory = &self.by_slot.get(slot as usize)?.memory;
        let memory = if with_cookies || memory.cookies().is_empty() {
            Arc::clone(memory)
        } else {
            Arc::new(memory.without_cookies())
        };
        (!memory.is_empty()).then_some(memory)
    }

    /// Whether anything is captured from answers to a request.
    pub(super) fn captures(&self, request: u16) -> bool {
        let captures = self.captures.get(usize::from(request));
        captures.is_some_and(|captures| !captures.is_empty())
    }

    /// Whether the slot's user has made this request, which is made once.
    pub(super) fn has_made(&self, slot: u32, request: u16) -> bool {
        let user = self.by_slot.get(slot as usize);
        user.is_some_and(|user| user.made.contains(&request))
    }

    /// The request, which the slot's user makes once, has ended ok in a journey that remembers
    /// `memory` now.
    pub(super) fn make(&mut self, slot: u32, request: u16, memory: Option<&JourneyMemory>) {
        let captures = self.captures.get(usize::from(request)).cloned();
        let user = self.at(slot);
        user.made.insert(request);
        if let (Some(memory), Some(captures)) = (memory, captures)
            && !captures.is_empty()
        {
            Arc::make_mut(&mut user.memory).take_texts(memory, &captures);
        }
    }

    /// A journey that keeps its cookies for its user has ended.
    pub(super) fn keep_cookies(&mut self, slot: u32, journey: &JourneyMemory) {
        let user = self.at(slot);
        if user.memory.cookies() != journey.cookies() {
            Arc::make_mut(&mut user.memory).take_cookies(journey);
        }
    }

    fn at(&mut self, slot: u32) -> &mut Traveller {
        let slot = slot as usize;
        if self.by_slot.len() <= slot {
            self.by_slot.resize_with(slot + 1, Traveller::default);
        }
        &mut self.by_slot[slot]
    }
}
