//! The record of a run: events go in, the collector and the run folder are kept up to date, the
//! document comes out. It knows no network, and no time but that of the events.

mod byte_gate;
mod decode_pool;
mod event_line;
mod finished_record;
mod histograms;
mod keeper;
pub(crate) mod life_sign;
mod log_thread;
mod machine_row;
mod profiles;
mod record_thread;
mod recorded_run;
#[cfg(feature = "rehearsal")]
mod rehearsal;
pub(crate) mod replay;
mod storage;

pub(crate) use finished_record::FinishedRecord;
pub(crate) use record_thread::{
    FinishingRecord, LeftRecord, RecordPermit, RecordRest, RecordThread,
};
#[cfg(feature = "rehearsal")]
pub use rehearsal::RecordRehearsal;
pub(crate) use storage::{GivenUp, StorageNews, StorageTrouble};
