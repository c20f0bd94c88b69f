//! What is on the wire: checked as it is sent, and tampered with if a case is sabotaged.

use crate::agent::agent_id;
use crate::case::BrokenRule;
use crate::network::{Packet, Way};
use crate::sabotage::{Invariant, Sabotage};
use crate::world::{Happening, World};
use control::{AgentId, ConnectionId, RunId};
use proto::ack::Stored;
use proto::{
    Ack, Armed, FromAgent, FromCoordinator, Grant, Hello, IntervalPart, Message, TookOver, Welcome,
    from_agent::Message as Up, from_coordinator::Message as Down,
};

/// What becomes of a message.
#[derive(PartialEq, Eq)]
pub enum Fate {
    Goes,
    IsDropped,
}

impl World {
    /// Checks what a coordinator sends to a machine.
    pub fn watch_down(
        &mut self,
        nth: usize,
        at: ConnectionId,
        slot: usize,
        message: &mut FromCoordinator,
    ) -> Fate {
        let incarnation = self.network.streams[&at].incarnation;
        let id = agent_id(slot, incarnation);
        match &mut message.message {
            Some(Down::Ack(ack)) => self.watch_ack(nth, id, ack),
            Some(Down::Welcome(welcome)) => self.watch_welcome(nth, id, welcome),
            Some(Down::Grant(grant)) => self.watch_grant(id, slot, grant),
            Some(Down::Prepare(prepare)) if self.sabotage == Some(Sabotage::GrantsTooMuch) => {
                prepare.lease_ns *= 20;
            }
            Some(Down::Start(start))
                if self.sabotage == Some(Sabotage::ForgesAnArmed) && slot == 0 =>
            {
                let armed = Armed {
                    run_id: start.run_id.clone(),
                    attempt: start.attempt,
                };
                self.forge(at, Up::Armed(armed));
                return Fate::IsDropped;
            }
            Some(Down::TakeOver(order)) if self.sabotage == Some(Sabotage::ForgetsAShare) => {
                let answer = TookOver {
                    run_id: order.run_id.clone(),
                    number: order.number,
                    problem: String::new(),
                    from_ns: order.from_ns,
                };
                self.forge(at, Up::TookOver(answer));
                return Fate::IsDropped;
            }
            Some(Down::TakeOver(_)) if self.sabotage == Some(Sabotage::DealsAShareTwice) => {
                self.copy_to_others(nth, at, message);
            }
            _ => {}
        }
        Fate::Goes
    }

    fn watch_ack(&mut self, nth: usize, id: AgentId, ack: &Ack) {
        let Some(run) = RunId::from_wire(&ack.run_id) else {
            return;
        };
        let is_true = |stored| self.is_stored(nth, run, id, stored);
        if !ack.stored.is_some_and(is_true) {
            let what = format!("{id:?} is told that {ack:?} is stored");
            self.truth.broken(Invariant::AcknowledgedIsStored, what);
        }
    }

    fn watch_welcome(&mut self, nth: usize, id: AgentId, welcome: &Welcome) {
        for resume in &welcome.resumes {
            let Some(run) = RunId::from_wire(&resume.run_id) else {
                continue;
            };
            let is_missing =
                |interval: &u32| !self.is_stored(nth, run, id, Stored::Interval(*interval));
            if let Some(interval) = (0..resume.stored_below).find(is_missing) {
                let what = format!("{id:?} is told {resume:?}, and {interval} is not stored");
                self.truth.broken(Invariant::AcknowledgedIsStored, what);
            }
        }
    }

    fn is_stored(&self, nth: usize, run: RunId, id: AgentId, stored: Stored) -> bool {
        let coordinator = &self.coordinators[nth];
        let directed = coordinator.runs.get(&run);
        let by = directed.and_then(|directed| directed.observer(id));
        let log = coordinator.disk.logs.get(&run);
        by.zip(log)
            .is_some_and(|(by, log)| log.is_stored(by, stored))
    }

    fn watch_grant(&mut self, id: AgentId, slot: usize, grant: &mut Grant) {
        if self.sabotage == Some(Sabotage::GrantsTooMuch) {
            grant.lease_ns *= 20;
        }
        if let Some(run) = RunId::from_wire(&grant.run_id) {
            let (sequence, lease_ns) = (grant.sequence, grant.lease_ns);
            self.truth.lease_granted(run, id, sequence, lease_ns);
        }
        if self.sabotage == Some(Sabotage::LiesAboutTheClock) && slot == 0 {
            grant.coordinator_at_ns += 200_000_000;
        }
    }

    /// Checks what an agent sends.
    pub fn watch_up(&mut self, slot: usize, message: &FromAgent) {
        let host = &self.hosts[slot];
        let Some(agent) = &host.agent else { return };
        match &message.message {
            Some(Up::Beat(beat)) => {
                let boot = host.clock.now(self.now).boot;
                self.truth.beat_sent(agent.id, beat.sequence, boot);
                if self.sabotage == Some(Sabotage::AnswersForTheCoordinator) {
                    self.answer(agent.stream, beat.sequence);
                }
            }
            Some(Up::Armed(armed)) => {
                if let Some(run) = RunId::from_wire(&armed.run_id) {
                    self.truth.armed(run, agent.id);
                }
            }
            _ => {}
        }
    }

    /// Sends a part of an interval, unless a fault or a sabotage changes that.
    pub fn send_part(&mut self, slot: usize, mut part: IntervalPart) {
        match self.broken_rules.get(&slot) {
            Some(BrokenRule::SkipsAPart) => part.part += 1,
            Some(BrokenRule::CountsTooFar) => part.interval = u32::MAX,
            _ => {}
        }
        self.broken_rules.remove(&slot);
        if self.sabotage == Some(Sabotage::ChangesAByte) && self.random.percent(3) {
            let mut content = part.content.to_vec();
            content.iter_mut().take(1).for_each(|byte| *byte ^= 1);
            part.content = content.into();
        }
        let ignores = self.sabotage == Some(Sabotage::IgnoresTheWindow);
        let is_last = part.part + 1 == part.parts;
        let ack = Ack {
            run_id: part.run_id.clone(),
            stored: Some(if part.totals {
                Stored::Totals(part.interval)
            } else {
                Stored::Interval(part.interval)
            }),
        };
        let message = Some(Up::Interval(part));
        self.send_up(slot, FromAgent { message });
        if ignores && is_last {
            self.acknowledge_falsely(slot, ack);
        }
    }

    /// Answers with a lease that no coordinator granted.
    fn answer(&mut self, stream: Option<ConnectionId>, sequence: u64) {
        let Some(at) = stream else { return };
        let coordinator = &self.coordinators[self.network.streams[&at].coordinator];
        let Some((run, _)) = coordinator.runs.last_key_value() else {
            return;
        };
        let grant = Grant {
            sequence,
            coordinator_at_ns: coordinator.clock.mono(self.now),
            lease_ns: self.lease_ns(),
            run_id: run.to_wire(),
        };
        let message = FromCoordinator {
            message: Some(Down::Grant(grant)),
        };
        let packet = Packet::Message(message.encode_to_vec());
        self.at(
            self.now + 1_000_000,
            Happening::Arrives(at, Way::Down, packet),
        );
    }

    fn acknowledge_falsely(&mut self, slot: usize, ack: Ack) {
        let now = self.hosts[slot].clock.now(self.now);
        let Some(agent) = &mut self.hosts[slot].agent else {
            return;
        };
        let message = Some(Down::Ack(ack));
        let event = control::SessionEvent::Received(FromCoordinator { message });
        let actions = agent.session.on(now, event);
        self.act(slot, actions, None);
    }

    /// Sends a second hello on an open stream.
    pub fn greet_twice(&mut self, slot: usize) {
        let message = Some(Up::Hello(Hello::default()));
        self.send_up(slot, FromAgent { message });
    }

    /// Lets the coordinator hear something that its agent never said.
    fn forge(&mut self, at: ConnectionId, message: Up) {
        let message = FromAgent {
            message: Some(message),
        };
        let packet = Packet::Message(message.encode_to_vec());
        self.at(self.now, Happening::Arrives(at, Way::Up, packet));
    }

    /// Sends the same message to other agents.
    fn copy_to_others(&mut self, nth: usize, at: ConnectionId, message: &FromCoordinator) {
        for other in self.network.of_coordinator(nth) {
            if other != at {
                let packet = Packet::Message(message.encode_to_vec());
                let arrives = self
                    .network
                    .send(self.now, other, Way::Down, 100, &mut self.random);
                let arrives = arrives.unwrap_or(self.now);
                self.at(arrives, Happening::Arrives(other, Way::Down, packet));
            }
        }
    }
}
