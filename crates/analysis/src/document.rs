//! The result document: the contents of `result.json`. Field names are stable, in snake_case, with
//! units last.

use crate::natural_order::natural_order;
use crate::{
    AgentResult, Backlog, ClientFigures, DataFigures, Figures, FleetFigures, GrpcFigures, HeatMap,
    JourneyFigures, Judgement, MachineResult, PathFigures, PlanRecord, PreflightFinding,
    ProcessFigures, RedirectFigures, ReplayFigures, RequestSeries, Series, ServerFigures,
    SessionOffers, TokenFigures, Unattended, VerdictRecord, WebSocketFigures, WithheldFigures,
};
use measure::Period;
use measure::calendar;
use serde::{Deserialize, Serialize};

/// A run's result. Fields that a reader of schema 1 knows keep their place and meaning; a change
/// that breaks such a reader raises `schema`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document {
    /// Version of this layout: [`Document::SCHEMA`].
    #[cfg_attr(feature = "schema", schemars(extend("const" = Document::SCHEMA)))]
    pub schema: u32,
    /// Version of the program that wrote it.
    pub tool_version: String,
    /// The run: its identity, its time and how it ended.
    pub run: RunRecord,
    /// The plan that was run.
    pub plan: PlanRecord,
    /// The agents, by index.
    pub agents: Vec<AgentResult>,
    /// The plan's settings for the fleet, and the changes of the fleet.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fleet: FleetFigures,
    /// Findings of agents' preflights that did not stop the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preflight: Vec<PreflightFinding>,
    /// Times without a coordinator, in which the run could not be stopped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unattended: Vec<Unattended>,
    /// How far apart the agents began; absent unless at least two first instants are known.
    pub skew: Option<StartSkew>,
    /// Figures of the operations intended before the measured part; absent without a warm-up.
    pub warm_up: Option<Figures>,
    /// Figures of the measured part, which the result is about.
    pub measured: Figures,
    /// Whether the load was carried while it was offered; only for an open loop whose run completed
    /// its plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<Backlog>,
    /// Figures of the load loops themselves.
    #[serde(default)]
    pub client: ClientFigures,
    /// The network path to the server; absent if nothing is known of it, as in results of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathFigures>,
    /// What the measured part sent of the log that the plan replays; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayFigures>,
    /// What the measured part took of the plan's data files, in the plan's order; absent without
    /// any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<DataFigures>,
    /// Redirects that were followed, by request in the plan's order; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirects: Vec<RedirectFigures>,
    /// Bodies that were not sent because the server answered before it gave leave, by request in
    /// the plan's order; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld_bodies: Vec<WithheldFigures>,
    /// Statuses of gRPC calls, by request in the plan's order; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grpc: Vec<GrpcFigures>,
    /// WebSockets, by request in the plan's order; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub websockets: Vec<WebSocketFigures>,
    /// What became of the tokens that requests carry, by credential in the plan's order; absent if
    /// the plan has none fetched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<TokenFigures>,
    /// The funnels of journeys, in the plan's order; absent if the load is not made of journeys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journeys: Vec<JourneyFigures>,
    /// Figures by request, in the plan's order.
    pub by_request: Vec<FigureGroup>,
    /// Figures by address; operations that never got one are under `none`.
    pub by_address: Vec<FigureGroup>,
    /// TLS sessions by the address that issued them and the address they were offered to, in the
    /// part of the run that [`Document::handshakes`] returns; absent with a single address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub session_offers: Vec<SessionOffers>,
    /// Figures by agent, in the order of `agents`.
    pub by_agent: Vec<FigureGroup>,
    /// Figures by agent label, as `key=value`.
    pub by_label: Vec<FigureGroup>,
    /// Resources the server used; absent if they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerFigures>,
    /// Resources used by the processes that monitors watched, by machine and name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_processes: Vec<ProcessFigures>,
    /// The machines of agents and monitors over the time of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<MachineResult>,
    /// Rows over time, including warm-up and drain.
    pub series: Series,
    /// Rows over time of the requests with the greatest weight; empty if the plan has a single
    /// request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub request_series: Vec<RequestSeries>,
    /// Response times over time, for display.
    #[serde(default, skip_serializing_if = "HeatMap::is_empty")]
    pub heat_map: HeatMap,
    /// The plan's thresholds with their outcomes, in the plan's order.
    pub thresholds: Vec<Judgement>,
    /// The verdict and its evidence.
    pub verdict: VerdictRecord,
    /// Remarks for the reader.
    pub notes: Vec<String>,
}

fn is_default(fleet: &FleetFigures) -> bool {
    *fleet == FleetFigures::default()
}

impl Document {
    /// Version of the layout that this program writes and reads.
    pub const SCHEMA: u32 = 1;

    /// Returns the largest share of a CPU that a worker of any agent used; `None` if none was
    /// sampled.
    #[must_use]
    pub fn busiest_worker_share(&self) -> Option<f64> {
        self.agents
            .iter()
            .filter_map(|agent| Some(agent.sampled_cpu()?.busiest_worker_share_mean))
            .reduce(f64::max)
    }

    /// Returns the agents with their figures, sorted by name and then by index. Numbers in names
    /// sort as numbers (`load-2` before `load-10`). Index order means nothing to a reader, since
    /// indexes are dealt as agents join.
    #[must_use]
    pub fn agents_by_name(&self) -> Vec<(&AgentResult, &FigureGroup)> {
        // Both lists are in index order.
        let mut agents: Vec<_> = self.agents.iter().zip(&self.by_agent).collect();
        agents.sort_by(|(left, _), (right, _)| {
            // Two agents can have the same name, but not the same index.
            natural_order(&left.name, &right.name).then(left.index.cmp(&right.index))
        });
        agents
    }

    /// Sets the age of stapled OCSP responses at the start of the run.
    pub(crate) fn date_staples(&mut self) {
        let Some(started_at) = calendar::seconds(&self.run.started_at) else {
            return; // without a start instant the ages stay absent
        };
        self.all_figures()
            .flat_map(|figures| &mut figures.ocsp_staples)
            .for_each(|staple| staple.date(started_at));
    }

    /// Describes failed checks by the plan's own words; `checks` has those of each, in the order
    /// that numbers them.
    pub(crate) fn describe_checks(&mut self, checks: &[String]) {
        if checks.is_empty() {
            return;
        }
        self.all_figures()
            .flat_map(|figures| &mut figures.errors)
            .for_each(|error| error.describe_check(checks));
    }

    /// Returns the figures of the run and of all its parts.
    fn all_figures(&mut self) -> impl Iterator<Item = &mut Figures> {
        let groups = [
            &mut self.by_request,
            &mut self.by_address,
            &mut self.by_agent,
            &mut self.by_label,
        ];
        let groups = groups.into_iter().flatten().map(|group| &mut group.figures);
        std::iter::once(&mut self.measured)
            .chain(&mut self.warm_up)
            .chain(groups)
    }

    /// Returns the figures that show how the run's connections were made, and the part of the run
    /// they belong to: with keep-alive, all connections may have been opened in the warm-up. `None`
    /// if no handshake was completed.
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

/// The identity of a run, its time and how it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunRecord {
    /// The run's id.
    pub id: String,
    /// Name of the plan.
    pub name: String,
    /// Start instant, UTC, RFC 3339.
    pub started_at: String,
    /// How it ended.
    pub state: RunState,
    /// Length of the warm-up.
    pub warm_up_ns: u64,
    /// Length of the measured part that the plan asks for; absent if it asks for a number of
    /// requests.
    pub planned_duration_ns: Option<u64>,
    /// Number of measured operations that the plan asks for; absent if it asks for a duration.
    pub planned_operations: Option<u64>,
    /// Number of measured journeys that the plan asks for; absent if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_journeys: Option<u64>,
    /// Actual length of the measured part.
    pub duration_ns: u64,
    /// Reasons why the run did not begin, if it did not: what an agent refused, or which agents did
    /// not join.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<String>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It completed its plan.
    Complete,
    /// A user stopped it; it drained, and what was measured counts.
    Interrupted,
    /// The coordinator did not finish writing it.
    Incomplete,
}

/// How far apart the agents began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StartSkew {
    /// Time between the first instants of the first and the last agent.
    pub skew_ns: u64,
    /// Error bound of the skew: the sum of the two worst bounds of the agents' clocks.
    pub bound_ns: u64,
}

/// Figures of a part of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigureGroup {
    /// Name of the part: a request, an address, an agent, a label.
    pub name: String,
    /// Its figures, without histograms.
    pub figures: Figures,
}
