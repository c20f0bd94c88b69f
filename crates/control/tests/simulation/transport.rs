//! How agents dial, and how packets travel and arrive late or never.

use crate::case::SECOND;
use crate::network::{Packet, Way};
use crate::wire::Fate;
use crate::world::{Happening, World, brief};
use control::{ConnectionId, Disconnection, Finality, FleetEvent, SessionEvent};
use proto::{FromAgent, FromCoordinator, Message};

impl World {
    pub fn dialled(&mut self, slot: usize, incarnation: u32) {
        if self.hosts[slot].agent.is_none() || self.hosts[slot].incarnation != incarnation {
            return;
        }
        let Some(nth) = self.whom_to_dial() else {
            return self.dial_fails(slot, incarnation, "refused");
        };
        let path = &self.network.paths[slot];
        let cut = path.cut_until.iter().any(|until| *until > self.now);
        if cut || self.coordinators[nth].unreachable_until > self.now {
            let at = self.now + 3 * SECOND;
            return self.at(at, Happening::DialFails(slot, incarnation, "timed out"));
        }
        let (least, most) = self.case.delay_ns;
        let delay_ns = self.random.between(least, most);
        let at = self.network.open(slot, incarnation, nth, delay_ns);
        self.note(|| format!("agent {slot} opens {at:?} to coordinator {nth}"));
        if let Some(agent) = &mut self.hosts[slot].agent {
            agent.stream = Some(at);
        }
        self.opens(at);
        self.agent_on(slot, SessionEvent::Connected, None);
    }

    /// The newest coordinator, or sometimes an older one that is still there.
    pub fn whom_to_dial(&mut self) -> Option<usize> {
        let newest = self.newest_alive()?;
        let older = (0..newest).rev().find(|&nth| {
            let older = &self.coordinators[nth];
            older.alive && older.unreachable_until <= self.now
        });
        match older {
            Some(older) if self.random.percent(40) => Some(older),
            _ => Some(newest),
        }
    }

    pub fn dial_fails(&mut self, slot: usize, incarnation: u32, why: &str) {
        if self.hosts[slot].incarnation == incarnation {
            self.agent_on(slot, SessionEvent::Disconnected(retry(why)), None);
        }
    }

    pub fn opens(&mut self, at: ConnectionId) {
        let nth = self.network.streams[&at].coordinator;
        let thaws_at = self.coordinators[nth].frozen_until;
        if thaws_at > self.now {
            return self.at(thaws_at, Happening::Opens(at));
        }
        self.fleet_on(nth, FleetEvent::Opened(at));
    }

    /// Ends a stream from one side. The other side hears of it after everything that was sent.
    pub fn end(&mut self, at: ConnectionId, way: Way, why: &'static str) {
        let arrives = self.network.send(self.now, at, way, 0, &mut self.random);
        if let Some(arrives) = arrives {
            self.at(arrives, Happening::Arrives(at, way, Packet::End(why)));
        }
    }

    /// Breaks a stream from in between: what is under way may be lost, and each side hears of it
    /// soon or never.
    pub fn cut(&mut self, at: ConnectionId) {
        let untold = self.random.below(6);
        for way in [Way::Up, Way::Down] {
            let until = self.now + self.random.below(SECOND);
            self.network.cut(at, way, until);
            if untold != way as u64 {
                self.at(until, Happening::Arrives(at, way, Packet::End("cut")));
            }
        }
    }

    /// Ends a stream at the side whose transport misses the other, unless something passes by now.
    pub fn missed(&mut self, at: ConnectionId, way: Way) {
        let stream = &self.network.streams[&at];
        let (slot, incarnation, nth) = (stream.slot, stream.incarnation, stream.coordinator);
        if self.network.paths[slot].held_until(self.now, way).is_none() {
            return;
        }
        match way {
            Way::Up => self.fleet_on(nth, FleetEvent::Closed(at, "nothing came".into())),
            Way::Down => self.stream_ends(slot, incarnation, at, "nothing came"),
        }
    }

    fn stream_ends(&mut self, slot: usize, incarnation: u32, at: ConnectionId, why: &str) {
        let host = &mut self.hosts[slot];
        let agent = host.agent.as_mut().filter(|agent| agent.stream == Some(at));
        if let (Some(agent), true) = (agent, host.incarnation == incarnation) {
            agent.stream = None;
            self.note(|| format!("agent {slot} hears the end of {at:?}: {why}"));
            self.agent_on(slot, SessionEvent::Disconnected(retry(why)), None);
        }
    }

    pub fn arrives(&mut self, at: ConnectionId, way: Way, packet: Packet) {
        if self.network.is_cut(self.now, at, way) {
            return;
        }
        let stream = &self.network.streams[&at];
        let (slot, incarnation, nth) = (stream.slot, stream.incarnation, stream.coordinator);
        let held = self.network.paths[slot].held_until(self.now, way);
        let frozen_until = match way {
            Way::Up => self.coordinators[nth].frozen_until,
            Way::Down => self.hosts.get(slot).map_or(0, |host| host.frozen_until),
        };
        let unreachable = self.coordinators[nth].unreachable_until;
        let later = held.unwrap_or(0).max(frozen_until).max(unreachable);
        if later > self.now {
            return self.put_off(later, Happening::Arrives(at, way, packet));
        }
        match (way, packet) {
            (Way::Up, Packet::Message(bytes)) => {
                let message = FromAgent::decode(&bytes[..]).expect("an agent's message");
                self.note(|| format!("coordinator {nth} hears from {slot}: {}", short(&message)));
                self.fleet_on(nth, FleetEvent::Received(at, message));
            }
            (Way::Up, Packet::End(why)) => {
                self.note(|| format!("coordinator {nth} hears the end of {at:?}: {why}"));
                self.fleet_on(nth, FleetEvent::Closed(at, why.into()));
            }
            (Way::Down, packet) => {
                // A stranger reads nothing.
                if slot == self.hosts.len() {
                    return;
                }
                let bytes = match packet {
                    Packet::Message(bytes) => bytes,
                    Packet::End(why) => return self.stream_ends(slot, incarnation, at, why),
                };
                let host = &self.hosts[slot];
                let stream = host.agent.as_ref().and_then(|agent| agent.stream);
                if stream == Some(at) && host.incarnation == incarnation {
                    let message = FromCoordinator::decode(&bytes[..]).expect("its message");
                    self.note(|| format!("agent {slot} hears: {}", short(&message)));
                    let generation = self.coordinators[nth].generation;
                    self.heard(slot, message, generation);
                }
            }
        }
    }

    pub fn send_down(&mut self, nth: usize, at: ConnectionId, mut message: FromCoordinator) {
        let Some(slot) = self.network.streams.get(&at).map(|stream| stream.slot) else {
            return;
        };
        if self.watch_down(nth, at, slot, &mut message) == Fate::IsDropped {
            return;
        }
        self.note(|| format!("coordinator {nth} says to {slot}: {}", short(&message)));
        let bytes = message.encode_to_vec();
        let size = bytes.len() as u64;
        let arrives = self
            .network
            .send(self.now, at, Way::Down, size, &mut self.random);
        if let Some(arrives) = arrives {
            let packet = Packet::Message(bytes);
            self.at(arrives, Happening::Arrives(at, Way::Down, packet));
        }
    }

    pub fn send_up(&mut self, slot: usize, message: FromAgent) {
        let stream = self.hosts[slot]
            .agent
            .as_ref()
            .and_then(|agent| agent.stream);
        let Some(at) = stream else {
            return;
        };
        let bytes = message.encode_to_vec();
        let size = bytes.len() as u64;
        let arrives = self
            .network
            .send(self.now, at, Way::Up, size, &mut self.random);
        if let Some(arrives) = arrives {
            let packet = Packet::Message(bytes);
            self.at(arrives, Happening::Arrives(at, Way::Up, packet));
        }
    }
}

pub fn retry(why: &str) -> Disconnection {
    Disconnection {
        why: why.into(),
        finality: Finality::Retry,
    }
}

fn short(message: &impl std::fmt::Debug) -> String {
    let text = brief(message);
    let run = r"\x01".repeat(16);
    text.replace("FromAgent { message: Some(", "")
        .replace("FromCoordinator { message: Some(", "")
        .replace(&run, "run 1")
}
