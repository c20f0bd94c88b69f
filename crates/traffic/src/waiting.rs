//! A request that waits until its place in the replay is known.

/// What a request costs beside its bytes: its instant, its place, and the list that holds it.
const OVERHEAD_BYTES: usize = 64;

/// A request that waits until its place in the replay is known.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WaitingRequest {
    /// The line of the log that it came from.
    pub(crate) place: u64,
    /// How long it had been going on at its stamp.
    pub(crate) elapsed_ns: i64,
    /// Its JSON.
    pub(crate) json: Box<[u8]>,
}

impl WaitingRequest {
    /// The memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.json.len() + OVERHEAD_BYTES
    }
}
