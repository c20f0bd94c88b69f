//! An agent in the result: who it was, what it ran on, how it kept time, how busy it was.

use crate::{TimeFigure, Unstored};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An agent in the result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentResult {
    /// Which share of the plan it had, from 0.
    pub index: u32,
    /// Its name, as `--name` or the machine gave it.
    pub name: String,
    /// What `--label` said.
    pub labels: BTreeMap<String, String>,
    /// How many load threads it had.
    pub workers: u32,
    /// What its machine is and allows.
    pub facts: MachineFacts,
    /// Coordinator's clock minus the agent's, by the last measurement.
    pub clock_offset_ns: Option<i64>,
    /// Error bound of it.
    pub clock_bound_ns: Option<u64>,
    /// First instant, relative to the start instant; absent: it never began.
    pub began_at_ns: Option<i64>,
    /// Error bound of it.
    pub began_bound_ns: Option<u64>,
    /// How its run ended; absent while nothing is known.
    pub ended: Option<AgentEndCause>,
    /// In words, for a failure or a loss.
    pub ended_text: String,
    /// Intervals that arrived.
    pub intervals: u64,
    /// Intervals it made and that never arrived, as first and last number.
    pub missing_intervals: Vec<(u32, u32)>,
    /// Whether the sum of its intervals equals the totals it reported; absent where it reported
    /// none.
    pub totals_match: Option<bool>,
    /// Whether a server that it fired at was on its own machine: at a loopback address, or at one
    /// of its own interfaces.
    #[serde(default)]
    pub target_is_local: bool,
    /// How busy it was in the measured part.
    pub cpu: Option<CpuFigures>,
    /// The same after it, until the last operation had ended; absent where that took no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_drain: Option<CpuFigures>,
    /// How late operations began; open loop only.
    pub lateness: Option<TimeFigure>,
    /// The client's own part of it: due until its loop took notice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule_delay: Option<TimeFigure>,
    /// From a ready socket to its handling, at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_lag: Option<TimeFigure>,
    /// Where it was lost: what it may have done and nobody stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unstored: Option<Unstored>,
}

impl AgentResult {
    /// How busy it was in the measured part; `None` where no sample was taken in it.
    #[must_use]
    pub fn sampled_cpu(&self) -> Option<CpuFigures> {
        self.cpu.filter(|cpu| cpu.samples > 0)
    }
}

/// What an agent's machine is and allows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineFacts {
    /// The machine's name.
    pub hostname: String,
    /// Release of its kernel.
    pub kernel: String,
    /// Model of its CPU; may be empty.
    pub cpu_model: String,
    /// CPUs the agent may use.
    pub cpus: u32,
    /// CPUs' worth of time its control group may use; absent without a quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<f32>,
    /// Memory installed in it.
    pub memory_total_bytes: u64,
    /// Open files the agent may have; absent without a limit.
    pub open_files_limit: Option<u64>,
    /// First local port that connections are made from.
    pub first_local_port: u16,
    /// Last of these ports.
    pub last_local_port: u16,
}

/// Why an agent's run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentEndCause {
    /// All of its share is done.
    Plan,
    /// Somebody asked for it.
    Stopped,
    /// It did not hear the coordinator for longer than a lease.
    LeaseExpired,
    /// It could not go on.
    Failed,
    /// It was given up: it was not heard of again, or it broke the protocol.
    Lost,
}

/// How busy an agent was in a part of its run, from one sample a second. Shares of threads and
/// process are of one CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuFigures {
    /// Samples behind the means.
    pub samples: u32,
    /// The agent's process, mean.
    pub process_share_mean: f64,
    /// The agent's process, most in one sample.
    pub process_share_max: f64,
    /// Of each sample the busiest worker thread, mean.
    pub busiest_worker_share_mean: f64,
    /// The busiest worker thread, most in one sample.
    pub busiest_worker_share_max: f64,
    /// All CPUs of the machine together, not idle, mean (0 to 1).
    pub machine_busy_share_mean: f64,
    /// The same, most in one sample.
    pub machine_busy_share_max: f64,
    /// CPU time the hypervisor took away, mean (0 to 1).
    pub steal_share_mean: f64,
    /// Largest resident memory.
    pub rss_bytes_max: u64,
    /// TCP segments sent again by the agent's machine.
    pub tcp_retransmits: u64,
    /// TCP segments sent by the agent's machine.
    pub tcp_segments_sent: u64,
}

impl CpuFigures {
    /// The same with 0 for what is no number: it comes from another machine, and JSON has no way to
    /// write it.
    pub(crate) fn finite(self) -> CpuFigures {
        let finite = |share: f64| if share.is_finite() { share } else { 0.0 };
        CpuFigures {
            process_share_mean: finite(self.process_share_mean),
            process_share_max: finite(self.process_share_max),
            busiest_worker_share_mean: finite(self.busiest_worker_share_mean),
            busiest_worker_share_max: finite(self.busiest_worker_share_max),
            machine_busy_share_mean: finite(self.machine_busy_share_mean),
            machine_busy_share_max: finite(self.machine_busy_share_max),
            steal_share_mean: finite(self.steal_share_mean),
            ..self
        }
    }
}
