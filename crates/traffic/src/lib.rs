//! Recorded traffic: logs of other programs in, requests for replay out. Reads from what it is
//! given and writes to what it is given; it knows no files, clock or network.

mod distinct_connections;
mod entry;
mod escape;
mod format;
mod goreplay;
mod har;
mod import;
mod import_error;
mod import_rules;
mod importer;
mod input;
mod json_log;
mod lines;
mod log_format;
mod recorded;
mod replay_log;
mod request_facts;
mod second_spread;
mod skip;
mod sorter;
mod stamp;
mod summary;
mod text_log;
mod variable;
mod vegeta;
mod waiting;

pub use entry::{ReplayEntry, ReplayRequest};
pub use format::{TrafficFormat, TrafficFormatError};
pub use import::import;
pub use import_error::ImportError;
pub use import_rules::{ImportRules, MissingBody, MissingBodyError};
pub use log_format::{LogFormat, LogFormatError};
pub use replay_log::{LoggedHandshake, ReplayLog, ReplayLogError};
pub use skip::{LineError, SkipReason};
pub use stamp::Stamp;
pub use summary::{ImportSummary, SkippedLines};
