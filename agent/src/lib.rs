//! A load machine: joins a coordinator and fires what it is told to. It is also a library, so that
//! a coordinator can start its own agents by running itself again.

mod calibrate;
mod cli;
mod data_folders;
mod hangup;
mod join;
mod last_words;
pub mod link;
mod link_args;
mod monitor;
mod news;
mod preflight;
mod profile;
mod runner;
mod sampling;
mod second_watch;
mod service_manager;
mod stay;
mod stored_files;
mod token_file;
mod tokens;

pub use calibrate::{CALIBRATION_FILE, fingerprint, read_calibration};
pub use cli::{MachineCli, run};
pub use data_folders::map_file;
pub use engine::{SampleRequest, sample_requests};
pub use join::{JoinArgs, join, parse_allowed};
pub use link_args::LinkArgs;
pub use news::say;
pub use tokens::{TokenKeeper, TokenNews};

/// Why no agent could use a certificate or key that the plans name, if that is so.
pub fn unusable_certificate<'p>(plans: impl Iterator<Item = &'p plan::Plan>) -> Option<String> {
    let checked = engine::check_certificates(plans);
    checked.err().map(|error| error.to_string())
}
