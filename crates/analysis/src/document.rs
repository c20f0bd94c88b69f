//! The result document: everything `result.json` holds. Field names are stable, snake_case, with
//! units last.

use crate::natural_order::natural_order;
use crate::{
    AgentResult, Backlog, ClientFigures, Figures, FleetFigures, HeatMap, Judgement, MachineResult,
    PathFigures, PlanRecord, PreflightFinding, ProcessFigures, RequestSeries, Series,
    ServerFigures, SessionOffers, Unattended, VerdictRecord,
};
use measure::Period;
use measure::calendar;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A run's result. What a reader of schema 1 knows stays where it is; a change that breaks one
/// raises `schema`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// Version of this layout: [`Document::SCHEMA`].
    #[schemars(extend("const" = Document::SCHEMA))]
    pub schema: u32,
    /// Version of the program that wrote it.
    pub tool_version: String,
    /// Which run, when, and how it ended.
    pub run: RunRecord,
    /// What was asked for.
    pub plan: PlanRecord,
    /// Who fired, by index.
    pub agents: Vec<AgentResult>,
    /// What the plan asks of them together, and how they changed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fleet: FleetFigures,
    /// What agents found before the first packet, though the run went on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preflight: Vec<PreflightFinding>,
    /// When no coordinator was there, so that nobody could stop the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unattended: Vec<Unattended>,
    /// How far apart the agents began; absent where no two instants are known.
    pub skew: Option<StartSkew>,
    /// Operations intended before the measured part; absent without a warm-up.
    pub warm_up: Option<Figures>,
    /// What the result is about.
    pub measured: Figures,
    /// Whether the load was carried while it was offered; open loop, once the run went through its
    /// plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<Backlog>,
    /// What the load loops say of themselves.
    #[serde(default)]
    pub client: ClientFigures,
    /// The way to the server; absent where nothing is known of it, as in results of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathFigures>,
    /// The same by request, in the plan's order.
    pub by_request: Vec<FigureGroup>,
    /// By address; operations that never got as far as one are under `none`.
    pub by_address: Vec<FigureGroup>,
    /// Sessions by who issued them and whom they were offered to, of the part of the run that
    /// [`Document::handshakes`] gives; absent with a single address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub session_offers: Vec<SessionOffers>,
    /// By agent, in their order.
    pub by_agent: Vec<FigureGroup>,
    /// By label of the agents, as `key=value`.
    pub by_label: Vec<FigureGroup>,
    /// What the server used; absent where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerFigures>,
    /// What the processes used that monitors watched, by machine and name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_processes: Vec<ProcessFigures>,
    /// Machines of agents and of monitors, over the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<MachineResult>,
    /// Over time, warm-up and drain included.
    pub series: Series,
    /// The requests of the greatest weight over time; none where the plan has a single one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub request_series: Vec<RequestSeries>,
    /// Response times over time, for the eye.
    #[serde(default, skip_serializing_if = "HeatMap::is_empty")]
    pub heat_map: HeatMap,
    /// The plan's thresholds with their outcome, in the plan's order.
    pub thresholds: Vec<Judgement>,
    /// What the numbers are about.
    pub verdict: VerdictRecord,
    /// Sentences a reader should know.
    pub notes: Vec<String>,
}

fn is_default(fleet: &FleetFigures) -> bool {
    *fleet == FleetFigures::default()
}

impl Document {
    /// Layout this version writes and reads.
    pub const SCHEMA: u32 = 1;

    /// The largest share of a CPU that a worker of any agent used; `None` where none was sampled.
    #[must_use]
    pub fn busiest_worker_share(&self) -> Option<f64> {
        self.agents
            .iter()
            .filter_map(|agent| Some(agent.sampled_cpu()?.busiest_worker_share_mean))
            .reduce(f64::max)
    }

    /// Agents with their figures, by name and with numbers in names in their own order (`load-2`
    /// before `load-10`), then by index: indexes are dealt as agents join, so their order says
    /// nothing to a reader.
    #[must_use]
    pub fn agents_by_name(&self) -> Vec<(&AgentResult, &FigureGroup)> {
        // Both lists are in the order of the indexes.
        let mut agents: Vec<_> = self.agents.iter().zip(&self.by_agent).collect();
        agents.sort_by(|(left, _), (right, _)| {
            // Two agents may have one name; their indexes differ.
            natural_order(&left.name, &right.name).then(left.index.cmp(&right.index))
        });
        agents
    }

    /// Fills in how old stapled OCSP responses were when the run began.
    pub(crate) fn date_staples(&mut self) {
        let Some(started_at) = calendar::seconds(&self.run.started_at) else {
            return; // without an instant the ages stay absent
        };
        let groups = [
            &mut self.by_request,
            &mut self.by_address,
            &mut self.by_agent,
            &mut self.by_label,
        ];
        let groups = groups.into_iter().flatten().map(|group| &mut group.figures);
        let all = std::iter::once(&mut self.measured)
            .chain(&mut self.warm_up)
            .chain(groups);
        all.flat_map(|figures| &mut figures.ocsp_staples)
            .for_each(|staple| staple.date(started_at));
    }

    /// The figures that tell how the run's connections were made, and the part of the run they are
    /// of: with keep-alive all of them may have been opened in the warm-up. `None` where no
    /// handshake was completed.
    #[must_use]
    pub fn handshakes(&self) -> Option<(&Figures, Period)> {
        let parts = [
            (Some(&self.measured), Period::Measured),
            (self.warm_up.as_ref(), Period::WarmUp),
        ];
        parts.into_iter().find_map(|(figures, period)| {
            Some((figures.filter(|f| f.resumption.handshakes > 0)?, period))
        })
    }

    /// What the run was forced past; it marks the verdict.
    #[must_use]
    pub fn forced_past(&self) -> Vec<String> {
        let findings = self.preflight.iter().filter(|finding| finding.forced);
        findings
            .map(|PreflightFinding { agent, text, .. }| {
                format!("forced past preflight: agent {agent}: {text}")
            })
            .collect()
    }

    /// What agents found close to a bound, for the notes.
    pub(crate) fn preflight_concerns(&self) -> impl Iterator<Item = String> {
        let findings = self.preflight.iter().filter(|finding| !finding.forced);
        findings.map(|PreflightFinding { agent, text, .. }| format!("agent {agent}: {text}"))
    }
}

/// Which run, when, and how it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// Identifies the run.
    pub id: String,
    /// Name of the plan.
    pub name: String,
    /// Start instant, UTC, RFC 3339.
    pub started_at: String,
    /// How it ended.
    pub state: RunState,
    /// Length of the warm-up.
    pub warm_up_ns: u64,
    /// Length of the measured part that the plan asks for; absent where it asks for a number of
    /// requests.
    pub planned_duration_ns: Option<u64>,
    /// Measured operations that the plan asks for; absent where it asks for a duration.
    pub planned_operations: Option<u64>,
    /// Length of the measured part.
    pub duration_ns: u64,
    /// Why nobody began, where nobody did: what an agent refused, or who did not join.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<String>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// By the plan.
    Complete,
    /// Somebody stopped it; it drained, and what was measured counts.
    Interrupted,
    /// The coordinator had not finished writing it.
    Incomplete,
}

/// How far apart the agents began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StartSkew {
    /// Between the first and the last agent's first instant.
    pub skew_ns: u64,
    /// Error bound of it: the two worst bounds of the agents' clocks together.
    pub bound_ns: u64,
}

/// Figures of a part of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FigureGroup {
    /// Which part: a request, an address, an agent, a label.
    pub name: String,
    /// Its figures, without histograms.
    pub figures: Figures,
}
