//! How a worker names a connection, also in the events of its socket.

/// A connection of a worker: its seat, and its number among the connections that the seat has had.
/// A key outlives its connection, and then names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConnectionKey {
    pub(crate) seat: u32,
    pub(crate) generation: u32,
}

impl ConnectionKey {
    /// The connection whose socket the poller reports by `token`. A socket carries one connection;
    /// one that carried several would be mapped here.
    #[inline]
    pub(crate) fn of_token(token: u64) -> ConnectionKey {
        ConnectionKey {
            seat: token as u32,
            generation: (token >> 32) as u32,
        }
    }

    /// The token by which the poller is to report its socket.
    pub(crate) fn token(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.seat)
    }
}
