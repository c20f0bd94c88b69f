//! Streams that deliver in order, late, and that end without warning; and paths that are cut in one
//! or both directions, slow, or long.

use crate::random::Random;
use control::ConnectionId;
use std::collections::BTreeMap;

const SECOND: u64 = 1_000_000_000;

/// Bytes that a socket accepts ahead of what the link has carried.
const AHEAD_BYTES: u64 = 16 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    Up,
    Down,
}

/// Something that travels on a stream.
#[derive(Debug, Clone)]
pub enum Packet {
    /// An encoded message.
    Message(Vec<u8>),
    /// The other side has ended the stream.
    End(&'static str),
}

/// One agent's stream to one coordinator.
#[derive(Debug)]
pub struct Stream {
    pub slot: usize,
    pub incarnation: u32,
    pub coordinator: usize,
    delay_ns: u64,
    lanes: [Lane; 2],
}

#[derive(Debug, Default)]
struct Lane {
    /// Until when the link is busy with what was sent before.
    busy_until: u64,
    /// When the last packet arrives; the next one does not arrive earlier.
    last_at: u64,
    /// Anything that would arrive later is lost.
    cut_at: Option<u64>,
}

/// The path between one machine and all coordinators.
#[derive(Debug, Clone, Default)]
pub struct Path {
    /// Until when nothing passes, up and down.
    pub cut_until: [u64; 2],
    /// Until when it is slow, and how many bytes per second pass until then.
    pub slow: (u64, u64),
    /// Until when it is longer, and by how much.
    pub far: (u64, u64),
}

/// All streams and paths.
#[derive(Debug)]
pub struct Network {
    pub streams: BTreeMap<ConnectionId, Stream>,
    pub paths: Vec<Path>,
    last: u64,
}

impl Network {
    pub fn new(paths: Vec<Path>) -> Network {
        Network {
            streams: BTreeMap::new(),
            paths,
            last: 0,
        }
    }

    pub fn open(
        &mut self,
        slot: usize,
        incarnation: u32,
        coordinator: usize,
        delay_ns: u64,
    ) -> ConnectionId {
        self.last += 1;
        let stream = Stream {
            slot,
            incarnation,
            coordinator,
            delay_ns,
            lanes: Default::default(),
        };
        self.streams.insert(ConnectionId(self.last), stream);
        ConnectionId(self.last)
    }

    /// When a packet of `bytes` bytes that is sent now arrives.
    pub fn send(
        &mut self,
        now: u64,
        at: ConnectionId,
        way: Way,
        bytes: u64,
        random: &mut Random,
    ) -> Option<u64> {
        let stream = self.streams.get_mut(&at)?;
        let path = &self.paths[stream.slot];
        let lane = &mut stream.lanes[way as usize];
        let extra_ns = if now < path.far.0 { path.far.1 } else { 0 };
        lane.busy_until = lane.busy_until.max(now) + path.sending_ns(now, bytes);
        let delay_ns = stream.delay_ns + extra_ns;
        let arrives = lane.busy_until + delay_ns + random.below(delay_ns);
        lane.last_at = lane.last_at.max(arrives);
        Some(lane.last_at)
    }

    /// When the agent's side takes another part.
    pub fn room_at(&self, now: u64, at: ConnectionId) -> u64 {
        let Some(stream) = self.streams.get(&at) else {
            return u64::MAX;
        };
        let ahead_ns = self.paths[stream.slot].sending_ns(now, AHEAD_BYTES);
        let busy_until = stream.lanes[Way::Up as usize].busy_until;
        busy_until.saturating_sub(ahead_ns)
    }

    /// Loses everything that would arrive after `until` in this direction.
    pub fn cut(&mut self, at: ConnectionId, way: Way, until: u64) {
        if let Some(stream) = self.streams.get_mut(&at) {
            let cut_at = &mut stream.lanes[way as usize].cut_at;
            *cut_at = Some(cut_at.unwrap_or(until).min(until));
        }
    }

    /// Whether a packet that arrives now is lost.
    pub fn is_cut(&self, now: u64, at: ConnectionId, way: Way) -> bool {
        let stream = &self.streams[&at];
        stream.lanes[way as usize]
            .cut_at
            .is_some_and(|cut_at| now > cut_at)
    }

    /// Streams of one coordinator.
    pub fn of_coordinator(&self, coordinator: usize) -> Vec<ConnectionId> {
        let of_it = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.coordinator == coordinator);
        of_it.map(|(at, _)| *at).collect()
    }
}

impl Path {
    fn sending_ns(&self, now: u64, bytes: u64) -> u64 {
        if now < self.slow.0 {
            bytes * SECOND / self.slow.1
        } else {
            bytes // one gigabyte per second
        }
    }

    /// Until when a packet that arrives now in this direction is held back.
    pub fn held_until(&self, now: u64, way: Way) -> Option<u64> {
        Some(self.cut_until[way as usize]).filter(|until| *until > now)
    }
}
