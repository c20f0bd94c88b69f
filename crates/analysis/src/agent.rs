//! An agent in the result: its identity, its machine, its clock and how busy it was.

use crate::figures::is_zero;
use crate::{TimeFigure, Unstored};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An agent in the result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentResult {
    /// Index of its share of the plan, from 0.
    pub index: u32,
    /// Its name, from `--name` or the machine's host name.
    pub name: String,
    /// Labels given with `--label`.
    pub labels: BTreeMap<String, String>,
    /// Number of load threads.
    pub workers: u32,
    /// The machine's hardware and limits.
    pub facts: MachineFacts,
    /// Coordinator's clock minus the agent's, by the last measurement.
    pub clock_offset_ns: Option<i64>,
    /// Error bound of the offset.
    pub clock_bound_ns: Option<u64>,
    /// First instant, relative to the start instant; absent if it never began.
    pub began_at_ns: Option<i64>,
    /// Error bound of that instant.
    pub began_bound_ns: Option<u64>,
    /// How its run ended; absent if that is not known.
    pub ended: Option<AgentEndCause>,
    /// Explanation of a failure or a loss.
    pub ended_text: String,
    /// Number of intervals that arrived.
    pub intervals: u64,
    /// Intervals that it recorded but that never arrived, as pairs of first and last number.
    pub missing_intervals: Vec<(u32, u32)>,
    /// Whether the sum of its intervals equals the totals it reported; absent if it reported none.
    pub totals_match: Option<bool>,
    /// Journeys that it began and never ended, or ended and never began: lost with it, or an error
    /// of the program if it was not lost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unmatched_journeys: u64,
    /// Whether a server it sent load to was on its own machine, at a loopback address or at the
    /// address of one of its interfaces.
    #[serde(default)]
    pub target_is_local: bool,
    /// CPU use in the measured part.
    pub cpu: Option<CpuFigures>,
    /// CPU use from the end of the measured part until the last operation had ended; absent if that
    /// took no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_drain: Option<CpuFigures>,
    /// How late operations began; absent if each user has a connection of its own.
    pub lateness: Option<TimeFigure>,
    /// The client's own part of the lateness: from the due instant until the agent's loop noticed
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule_delay: Option<TimeFigure>,
    /// Upper bound on the time from a socket becoming ready until it was handled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_lag: Option<TimeFigure>,
    /// Work that a lost agent may have done and that was never stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unstored: Option<Unstored>,
}

impl AgentResult {
    /// Returns its CPU use in the measured part, or `None` if no sample was taken in it.
    #[must_use]
    pub fn sampled_cpu(&self) -> Option<CpuFigures> {
        self.cpu.filter(|cpu| cpu.samples > 0)
    }
}

/// An agent's machine: hardware and limits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineFacts {
    /// The machine's name.
    pub hostname: String,
    /// Kernel release.
    pub kernel: String,
    /// CPU model; can be empty.
    pub cpu_model: String,
    /// Number of CPUs the agent is allowed to use.
    pub cpus: u32,
    /// CPU time that its control group is allowed to use, in CPUs; absent without a quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<f32>,
    /// Installed memory.
    pub memory_total_bytes: u64,
    /// Limit of open files; absent if there is none.
    pub open_files_limit: Option<u64>,
    /// First port of the range for outgoing connections.
    pub first_local_port: u16,
    /// Last port of that range.
    pub last_local_port: u16,
}

/// Why an agent's run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentEndCause {
    /// All of its share was done.
    Plan,
    /// A user stopped it.
    Stopped,
    /// It lost contact with the coordinator for longer than a lease.
    LeaseExpired,
    /// An error kept it from continuing.
    Failed,
    /// The coordinator gave it up: it did not reconnect, or it broke the protocol.
    Lost,
}

/// How busy an agent was in a part of its run, from one sample per second. The shares of threads
/// and of the process are of one CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuFigures {
    /// Number of samples behind the means.
    pub samples: u32,
    /// CPU share of the agent's process, mean.
    pub process_share_mean: f64,
    /// CPU share of the agent's process, largest sample.
    pub process_share_max: f64,
    /// CPU share of the busiest worker thread in each sample, mean.
    pub busiest_worker_share_mean: f64,
    /// CPU share of the busiest worker thread, largest sample.
    pub busiest_worker_share_max: f64,
    /// Busy share of all CPUs of the machine together, mean (0 to 1).
    pub machine_busy_share_mean: f64,
    /// Busy share of all CPUs of the machine together, largest sample.
    pub machine_busy_share_max: f64,
    /// Share of CPU time taken away by the hypervisor, mean (0 to 1).
    pub steal_share_mean: f64,
    /// Largest resident memory.
    pub rss_bytes_max: u64,
    /// TCP segments retransmitted by the agent's machine.
    pub tcp_retransmits: u64,
    /// TCP segments sent by the agent's machine.
    pub tcp_segments_sent: u64,
}

impl CpuFigures {
    /// Returns whether the machine and the whole process were sampled. Of a shorter run only the
    /// busiest thread is known; while it fires, a machine is hardly ever quite idle.
    #[must_use]
    pub fn knows_machine(&self) -> bool {
        self.machine_busy_share_mean > 0.0
    }

    /// Replaces values that are not finite by 0: they come from another machine, and JSON cannot
    /// represent them.
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
