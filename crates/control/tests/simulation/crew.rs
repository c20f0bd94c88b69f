//! Agents' processes: what their sessions ask for, what their runners do, and which of that breaks
//! a rule.

use crate::case::SECOND;
use crate::clock::NEVER;
use crate::network::Way;
use crate::sabotage::{Invariant, Sabotage};
use crate::world::{Happening, World, brief};
use control::{Order, Report, Role, RunId, SessionAction, SessionEvent};
use proto::{FromCoordinator, from_coordinator};

impl World {
    pub fn boot_agent(&mut self, slot: usize) {
        let role = match slot < self.case.agents {
            true => Role::Agent,
            false => Role::Monitor,
        };
        let id = self.hosts[slot].boot_agent(slot, role, self.case.shape);
        self.note(|| format!("agent {slot} boots as {id:?}"));
        self.agent_on(slot, SessionEvent::Tick, None);
    }

    pub fn wake(&mut self, slot: usize) {
        if self.hosts[slot].wakes_at != self.now {
            return;
        }
        let thaws_at = self.hosts[slot].frozen_until;
        if thaws_at > self.now {
            self.hosts[slot].wakes_at = thaws_at;
            return self.at(thaws_at, Happening::Wake(slot));
        }
        let reckless = self.sabotage == Some(Sabotage::FiresAfterExpiry);
        let now = self.hosts[slot].clock.now(self.now);
        let Some(agent) = &mut self.hosts[slot].agent else {
            return;
        };
        let id = agent.id;
        let stepped = agent.step(now, reckless);
        for shot in &stepped.shots {
            self.note(|| format!("agent {slot} fires step {} {:?}", shot.step, shot.shares));
            let began_at = self.hosts[slot].clock.true_time(shot.begins_at.0);
            self.truth
                .agent(shot.run, id)
                .began_at
                .get_or_insert(began_at);
            self.truth.fired(self.now, now.boot, id, shot, self.split);
            self.check_headless();
        }
        stepped
            .reports
            .into_iter()
            .for_each(|report| self.made(slot, report));
        self.agent_on(slot, SessionEvent::Tick, None);
    }

    pub fn check_headless(&mut self) {
        let Some(since) = self.headless_since else {
            return;
        };
        let late = self.now - since;
        if late > self.lease_ns() + SECOND {
            let what = format!("{late} ns after the last coordinator");
            self.truth
                .broken(Invariant::FireEndsWithItsCoordinator, what);
        }
    }

    /// Takes a report of a runner, which its session may not take at once.
    pub fn made(&mut self, slot: usize, report: Report) {
        let Some(agent) = &mut self.hosts[slot].agent else {
            return;
        };
        let id = agent.id;
        match &report {
            Report::Interval {
                run,
                interval,
                encoded,
            } => {
                let truth = self.truth.agent(*run, id);
                truth.made.insert(*interval, encoded.clone());
                let forgets = self.sabotage == Some(Sabotage::ForgetsAnInterval);
                if forgets && self.random.percent(5) {
                    return;
                }
            }
            Report::Observed {
                run,
                second,
                encoded,
            } => {
                let truth = self.truth.agent(*run, id);
                truth.observed.insert(*second, encoded.clone());
                let forgets = self.sabotage == Some(Sabotage::ForgetsASecond);
                if forgets && self.random.percent(5) {
                    return;
                }
            }
            Report::Ended { run, cause, .. } => {
                let truth = self.truth.agent(*run, id);
                truth.ended = Some(cause.clone());
                truth.totals = Some(truth.made.len() as u32);
            }
            _ => {}
        }
        agent.reports.push_back(report);
    }

    /// Passes a coordinator's message to an agent.
    pub fn heard(&mut self, slot: usize, message: FromCoordinator, generation: u64) {
        let Some(id) = self.hosts[slot].agent.as_ref().map(|agent| agent.id) else {
            return;
        };
        for run in runs_spoken_for(&message) {
            self.truth.heard(run, id, generation);
        }
        let event = SessionEvent::Received(message);
        self.agent_on(slot, event, Some(generation));
    }

    /// Handles an event of an agent; `from` is the coordinator that it came from.
    pub fn agent_on(&mut self, slot: usize, event: SessionEvent, from: Option<u64>) {
        let now = self.hosts[slot].clock.now(self.now);
        let Some(agent) = &mut self.hosts[slot].agent else {
            return;
        };
        let actions = agent.session.on(now, event);
        self.act(slot, actions, from);
        // Reports that an order caused, and those for which there was no room before.
        while let Some(agent) = &mut self.hosts[slot].agent {
            if !agent.session.takes_reports(now) {
                break;
            }
            let Some(report) = agent.reports.pop_front() else {
                break;
            };
            let actions = agent.session.on(now, SessionEvent::Reported(report));
            self.act(slot, actions, None);
        }
        self.send_parts(slot);
        self.plan_wake(slot);
    }

    pub fn act(&mut self, slot: usize, actions: Vec<SessionAction>, from: Option<u64>) {
        for action in actions {
            match action {
                SessionAction::Connect => {
                    let at = self.now + self.random.below(SECOND / 10);
                    let incarnation = self.hosts[slot].incarnation;
                    self.at(at, Happening::Dialled(slot, incarnation));
                }
                SessionAction::Send(message) => {
                    self.watch_up(slot, &message);
                    self.send_up(slot, message);
                }
                SessionAction::Disconnect => {
                    let agent = self.hosts[slot].agent.as_mut();
                    if let Some(at) = agent.and_then(|agent| agent.stream.take()) {
                        self.end(at, Way::Up, "the agent left");
                    }
                }
                SessionAction::Order(order) => self.order(slot, order, from),
                SessionAction::Say(news) => self.note(|| format!("agent {slot} says {news:?}")),
                SessionAction::Quit(why) => {
                    self.note(|| format!("agent {slot} quits: {why:?}"));
                    self.agent_leaves(slot);
                    return;
                }
            }
        }
    }

    /// Ends the process, whose kernel then closes the stream.
    pub fn agent_leaves(&mut self, slot: usize) {
        if let Some(agent) = self.hosts[slot].agent.take()
            && let Some(at) = agent.stream
        {
            self.end(at, Way::Up, "the agent left");
        }
    }

    pub fn order(&mut self, slot: usize, order: Order, from: Option<u64>) {
        let now = self.hosts[slot].clock.now(self.now);
        self.note(|| format!("agent {slot} is ordered {}", brief(&order)));
        let Some(agent) = &mut self.hosts[slot].agent else {
            return;
        };
        let id = agent.id;
        let (run, by_itself) = match &order {
            Order::Prepare(assignment) => (assignment.run, false),
            // An expired lease stops it too.
            Order::Stop { run, .. } => (*run, true),
            // An agent that quits drops what it cannot deliver.
            Order::Forget { run } => (*run, agent.quits),
            Order::Start { run, .. }
            | Order::ExtendLease { run, .. }
            | Order::TakeOver { run, .. }
            | Order::Token { run, .. }
            | Order::Observe { run, .. } => (*run, false),
        };
        if let Err(why) = agent.order(now, order) {
            self.truth.broken(Invariant::EventsMakeSense, why);
        }
        let newest = self.truth.newest_heard(run, id);
        if let Some(from) = from
            && from < newest
            && !by_itself
        {
            let what = format!("agent {slot} obeys coordinator {from}, and knows of {newest}");
            self.truth.broken(Invariant::NewestCoordinatorAlone, what);
        }
    }

    pub fn send_parts(&mut self, slot: usize) {
        loop {
            let Some(agent) = &mut self.hosts[slot].agent else {
                return;
            };
            let Some(at) = agent.stream else { return };
            if self.network.room_at(self.now, at) > self.now {
                return;
            }
            let Some(part) = agent.session.next_part() else {
                return;
            };
            self.send_part(slot, part);
        }
    }

    pub fn plan_wake(&mut self, slot: usize) {
        let host = &self.hosts[slot];
        let Some(agent) = &host.agent else { return };
        let session = agent.session.wake_at(host.clock.now(self.now));
        let runner = agent.runner_wakes_at().unwrap_or(session);
        let mut at = host.clock.true_time(session.min(runner).0);
        if let Some(stream) = agent.stream {
            let room_at = self.network.room_at(self.now, stream);
            if room_at > self.now {
                at = at.min(room_at);
            }
        }
        let at = at.max(self.now + 1);
        if self.hosts[slot].wakes_at != at {
            self.hosts[slot].wakes_at = at;
            if at < NEVER {
                self.at(at, Happening::Wake(slot));
            }
        }
    }
}

/// Runs that a coordinator claims to direct.
fn runs_spoken_for(message: &FromCoordinator) -> Vec<RunId> {
    use from_coordinator::Message as Down;
    let run = |bytes: &[u8]| RunId::from_wire(bytes);
    match &message.message {
        Some(Down::Welcome(welcome)) => {
            let resumes = welcome.resumes.iter();
            resumes.filter_map(|resume| run(&resume.run_id)).collect()
        }
        Some(Down::Prepare(prepare)) => run(&prepare.run_id).into_iter().collect(),
        _ => Vec::new(),
    }
}
