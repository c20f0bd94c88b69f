//! The record of a run: events go in and are stored, and documents come out for the run folder and
//! for those who watch. It knows no network, and makes no page for anyone.

mod byte_gate;
mod decode_pool;
mod document_feeds;
mod event_line;
mod finished_record;
mod histograms;
mod keeper;
mod kept_run;
pub(crate) mod life_sign;
mod log_thread;
mod machine_row;
mod profiles;
mod record_files;
mod record_thread;
mod recorded_agents;
mod recorded_run;
#[cfg(feature = "rehearsal")]
mod rehearsal;
pub(crate) mod replay;
mod storage;
mod stored_fact;

pub(crate) use finished_record::FinishedRecord;
pub(crate) use record_thread::{
    FinishingRecord, LeftRecord, RecordPermit, RecordRest, RecordThread,
};
#[cfg(feature = "rehearsal")]
pub use rehearsal::RecordRehearsal;
pub(crate) use storage::{GivenUp, StorageNews, StorageTrouble};
