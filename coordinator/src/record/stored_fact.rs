//! A fact on its way from the log to the record. A run under way and a log that is read again pass
//! the same ones on, so that both make the same record.

use super::decode_pool::{DecodePool, DecodePromise};
use control::RunEvent;
use run_folder::{FactKind, LoggedFact, Utc};

/// A fact that is stored.
#[derive(Debug)]
pub(super) struct StoredFact {
    /// When the coordinator learned of it.
    pub(super) at: Utc,
    /// The fact itself.
    pub(super) what: FactContent,
}

/// The content of a stored fact.
#[derive(Debug)]
pub(super) enum FactContent {
    /// An agent delivered a second, which is being decoded.
    Second {
        agent: u32,
        interval: u32,
        encoded_bytes: usize,
        decoded: DecodePromise,
    },
    /// Everything else.
    Whole(Box<FactKind>),
}

impl StoredFact {
    /// Begins to decode the fact's second, if it holds one; blocks while much waits for that.
    pub(super) fn new(fact: LoggedFact, decoders: &DecodePool) -> StoredFact {
        let what = match fact.what {
            FactKind::Event(RunEvent::Interval {
                agent,
                interval,
                encoded,
            }) => FactContent::Second {
                agent,
                interval,
                encoded_bytes: encoded.len(),
                decoded: decoders.decode(encoded),
            },
            whole => FactContent::Whole(Box::new(whole)),
        };
        StoredFact { at: fact.at, what }
    }

    /// Whether another coordinator resumed the run.
    pub(super) fn is_resumption(&self) -> bool {
        matches!(&self.what, FactContent::Whole(what) if matches!(**what, FactKind::Resumed(_)))
    }

    /// Roughly the memory that it takes until it is decoded.
    pub(super) fn bytes(&self) -> usize {
        let encoded = match self.what {
            FactContent::Second { encoded_bytes, .. } => encoded_bytes,
            FactContent::Whole(_) => 0,
        };
        size_of::<StoredFact>() + encoded
    }
}
