//! The meaning of a result: owns the result document, computes it from merged snapshots, judges
//! thresholds, gives the verdict with its evidence, searches for capacity and compares runs. Pure:
//! no clock and no I/O. How a document is shown to people is the business of `report`.

mod agent;
mod agent_run;
mod backlog;
mod campaign;
mod capacity;
mod cell_tally;
mod client;
mod collector;
mod comparison;
mod counts;
mod data_figures;
mod document;
mod event_line;
mod exit;
mod exponential_histogram;
mod fault;
mod figures;
mod fleet_figures;
mod grpc_figures;
mod heat_map;
pub mod human;
mod journey_figures;
mod journey_number;
mod journey_tally;
mod live;
mod load_counts;
mod machine;
mod machine_figures;
mod natural_order;
mod negotiated;
mod notes;
mod number;
mod path;
mod percentile_figure;
mod plan_difference;
mod plan_record;
mod preflight;
mod ratio_figure;
mod redirect_figures;
mod replay_figures;
mod request_series;
mod response_times;
mod scaling;
mod search;
mod series;
mod server;
mod server_processes;
mod session_offers;
mod setup;
mod signing_figures;
mod span;
mod staple;
mod stream_figures;
mod stretches;
mod student;
mod threshold;
mod time_figure;
mod token_figures;
mod unit;
mod unstored;
mod verdict;
mod verdict_record;
mod websocket_figures;
mod whole_seconds;
mod withheld_figures;

pub use agent::{AgentEndCause, AgentResult, CpuFigures, MachineFacts};
pub use agent_run::AgentEnd;
pub use backlog::{Backlog, LoadOutcome, LoadPart, OfferedLoad};
pub use campaign::{CampaignDocument, RunSummary, VariantScaling, VariantSearch};
pub use capacity::{CapacityChange, CapacityRow};
pub use client::ClientFigures;
pub use collector::{Added, ResultCollector};
pub use comparison::{
    Better, Change, ChangeFinding, ComparedCell, ComparedFigure, ComparedPair, Comparison,
    ConfidenceInterval, LimitError, LimitOutcome, LimitResult, Method, PairChange, Pairing,
    RegressionLimit, VariantRuns,
};
pub use data_figures::{DataFigures, FailedRowFigure};
pub use document::{Document, FigureGroup, RunRecord, RunState, StartSkew};
pub use event_line::{
    AgentIntroduction, AgentMention, ClockFigure, EventLine, FleetEnding, Happened, MachineFinding,
    NamedAgent,
};
pub use exit::exit_code;
pub use exponential_histogram::ExponentialHistogram;
pub use fault::{ErrorFigure, cure as failure_cure, words as failure_words};
pub use figures::{
    ByteFigures, ConnectionFigures, EarlyDataFigures, Figures, Http2Figures, Operations, Rates,
    ResumptionFigures,
};
pub use fleet_figures::{Contribution, FleetFigures, Takeover, Unattended};
pub use grpc_figures::{GrpcFigures, GrpcMessageCount};
pub use heat_map::{HeatColumn, HeatMap};
pub use journey_figures::{GroupFigures, JourneyFigures, StepFigures};
pub use live::{Live, LiveMachine};
pub use machine::{
    BeforeLoadRow, GroupRow, HotFunction, InterfaceRow, MachineResult, MachineRole, MachineRow,
    ProcessBeforeLoadRow, ProcessRow, ProfileResult, QueueRow, TcpRow,
};
pub use machine_figures::{Busiest, MachineFigures};
pub use negotiated::{ChainFigure, NegotiatedFigure};
pub use number::NUMBERS;
pub use path::PathFigures;
pub use percentile_figure::PercentileFigure;
pub use plan_difference::PlanDifference;
pub use plan_record::{LoadRecord, PlanRecord, StageRecord, TlsRecord};
pub use preflight::PreflightFinding;
pub use ratio_figure::RatioFigure;
pub use redirect_figures::RedirectFigures;
pub use replay_figures::{ReplayFigures, ReplayedHandshakes};
pub use request_series::{RequestRow, RequestSeries};
pub use scaling::{RiseLimit, Scaling, ScalingRow};
pub use search::{
    Bounds, BoundsError, Hold, HoldFigures, HoldOutcome, HoldRecord, HoldResult, Knee, LoadSearch,
    LoadUnit, Purpose, SearchAction, SearchAnswer, SearchRecord,
};
pub use series::{Row, Series};
pub use server::{ProcessFigures, ServerFigures};
pub use session_offers::SessionOffers;
pub use setup::{AgentSetup, CollectorSetup};
pub use signing_figures::SigningFigures;
pub use staple::StapleFigure;
pub use stream_figures::StreamFigures;
pub use threshold::Judgement;
pub use time_figure::{Column, Headline, TimeFigure};
pub use token_figures::TokenFigures;
pub use unit::Unit;
pub use unstored::Unstored;
pub use verdict::{
    BoundNumber, LimitOf, LimitShown, RuleBound, RuleId, RuleReading, explain, has_many_errors,
    has_two_limits, shares_full_machine,
};
pub use websocket_figures::WebSocketFigures;
pub use withheld_figures::WithheldFigures;

pub use verdict_record::{Verdict, VerdictRecord};

pub(crate) use threshold::judge;
pub(crate) use time_figure::HistogramColumns;
