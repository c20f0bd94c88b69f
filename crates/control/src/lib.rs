//! The state machines by which many machines agree to send load at the same time. They do no I/O:
//! time is an argument, events go in, actions come out. They name the messages of the wire, but no
//! transport.

mod back_off;
mod beats;
mod clock;
mod clock_offset;
mod ended_runs;
mod file_cache;
mod file_inbox;
mod file_parts;
mod finding;
mod fleet;
mod fleet_action;
mod fleet_event;
mod fleet_run;
mod fleet_token;
mod gathering;
mod greeting;
mod headway;
mod id;
mod interval_inbox;
mod interval_store;
mod lease;
mod local_run;
mod margin;
mod monitor_record;
mod observations;
mod one_by_one;
mod order;
mod outbox;
mod participant;
mod profile_inbox;
mod profile_outbox;
mod run_agent;
mod run_event;
mod run_model;
mod seen_seconds;
mod serving;
mod session;
mod session_event;
mod share_ledger;
mod skew;
mod stored_files;
mod taken_numbers;
mod token;
mod upload_id;
mod upload_window;
mod versions;
mod wire;

pub use clock::{Boot, FleetTime, Mono, Now};
pub use clock_offset::ClockOffset;
pub use file_inbox::{FILES_MAX, FILES_MAX_BYTES};
pub use file_parts::FileParts;
pub use finding::Finding;
pub use fleet::{Fleet, TICK};
pub use fleet_action::{ConnectionId, FleetAction, Receipt};
pub use fleet_event::FleetEvent;
pub use fleet_token::{FleetToken, TokenReport};
pub use id::{AgentId, CoordinatorId, Digest, RunId};
pub use interval_store::{HELD_MAX_BYTES, IntervalStore, StoredPlace};
pub use lease::LEASE_MAX;
pub use local_run::TAKEN_OVER_MAX;
pub use order::{Assignment, EndCause, Order, PlanFile, Report, SharePath, Stop};
pub use outbox::{INTERVAL_MAX_BYTES, INTERVAL_PART_BYTES};
pub use profile_outbox::PROFILE_MAX_BYTES;
pub use run_agent::{AgentLoss, AgentStage, RunAgent};
pub use run_event::{
    AgentFacts, Audience, ClockReading, FleetRules, LostPolicy, Observer, Role, RunEvent, RunFile,
    RunOutcome, RunRequest, Skew,
};
pub use run_model::{RunModel, RunStage};
pub use seen_seconds::OBSERVATION_MAX_BYTES;
pub use session::{KEEP, Session, Stay};
pub use session_event::{Disconnection, Finality, News, SessionAction, SessionEvent};
pub use stored_files::StoredFiles;
pub use token::{JoinSecret, Token, TokenError};
pub use versions::Versions;

use std::time::Duration;

/// Default length of a granted lease, from the instant its beat was sent.
pub const LEASE: Duration = Duration::from_secs(5);

/// Largest canonical text of a plan, which travels in one message. Anything larger belongs in
/// files.
pub const PLAN_MAX_BYTES: usize = 768 << 10;

/// How many missing intervals of one agent an event lists at most.
pub const MISSING_MAX: usize = 100;

/// Notes of one agent in one run that are passed on; further ones are dropped.
pub const NOTES_MAX: u32 = 1_000;

/// Name in the coordinator's certificate. Agents check it and the CA that issued it, but never the
/// host name they dial.
pub const COORDINATOR_NAME: &str = "coordinator.cannonade";
