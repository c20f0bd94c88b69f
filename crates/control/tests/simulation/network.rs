//! Connections that deliver in order, late, and end without warning.

use control::ConnectionId;
use std::collections::BTreeMap;

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % bound
    }
}

/// One agent's connection.
pub struct Connection {
    pub agent: usize,
    /// When the last message in each direction arrives; the next comes no earlier.
    up_at: u64,
    down_at: u64,
    delay_ns: u64,
}

/// Open connections.
#[derive(Default)]
pub struct Network {
    pub open: BTreeMap<ConnectionId, Connection>,
    last: u64,
}

impl Network {
    pub fn open(&mut self, agent: usize, random: &mut Random) -> ConnectionId {
        self.last += 1;
        let delay_ns = 50_000 + random.below(40_000_000);
        self.open.insert(
            ConnectionId(self.last),
            Connection {
                agent,
                up_at: 0,
                down_at: 0,
                delay_ns,
            },
        );
        ConnectionId(self.last)
    }

    /// When a message to the coordinator arrives that takes so long to send, if the connection is
    /// open.
    pub fn up(
        &mut self,
        now: u64,
        at: ConnectionId,
        sending_ns: u64,
        random: &mut Random,
    ) -> Option<u64> {
        let connection = self.open.get_mut(&at)?;
        connection.up_at = connection
            .up_at
            .max(now + connection.delay_ns + random.below(connection.delay_ns))
            + sending_ns;
        Some(connection.up_at)
    }

    /// When a message to the agent arrives, if the connection is open.
    pub fn down(
        &mut self,
        now: u64,
        at: ConnectionId,
        random: &mut Random,
    ) -> Option<(usize, u64)> {
        let connection = self.open.get_mut(&at)?;
        connection.down_at = connection
            .down_at
            .max(now + connection.delay_ns + random.below(connection.delay_ns));
        Some((connection.agent, connection.down_at))
    }

    pub fn of(&self, agent: usize) -> Option<ConnectionId> {
        self.open
            .iter()
            .find(|(_, connection)| connection.agent == agent)
            .map(|(at, _)| *at)
    }
}
