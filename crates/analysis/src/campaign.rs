//! The campaign document: the contents of `campaign.json`, for several runs that belong together or
//! for saved runs that are compared.

use crate::exit::Conclusion;
use crate::{
    CapacityRow, Comparison, Document, Judgement, LimitOutcome, LimitResult, PercentileFigure,
    PlanDifference, RunState, Scaling, SearchAnswer, SearchRecord, TimeFigure, Verdict,
};
use serde::{Deserialize, Serialize};

/// A result of several runs. Fields that a reader of schema 1 knows keep their place and meaning; a
/// change that breaks such a reader raises `schema`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CampaignDocument {
    /// Version of this layout: [`CampaignDocument::SCHEMA`].
    #[cfg_attr(feature = "schema", schemars(extend("const" = CampaignDocument::SCHEMA)))]
    pub schema: u32,
    /// Version of the program that wrote it.
    pub tool_version: String,
    /// Name of the plan.
    pub name: String,
    /// Start of the first run, UTC, RFC 3339.
    pub started_at: String,
    /// How the campaign ended.
    pub state: RunState,
    /// The plan as the user wrote it, with [`plan::MASK`] in place of secrets; empty if saved runs
    /// are compared.
    #[serde(deserialize_with = "crate::plan_record::mask_secrets")]
    pub plan_text: String,
    /// SHA-256 of the plan with its secrets ([`plan::Campaign::digest`]), hexadecimal; empty if
    /// saved runs are compared, and in results of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub plan_digest: String,
    /// Number of planned runs, without those of searches.
    pub planned_runs: u32,
    /// The runs that were made, in order; those of searches are listed with the searches.
    pub runs: Vec<RunSummary>,
    /// Differences between the plans of saved runs that were compared nevertheless.
    pub differences: Vec<PlanDifference>,
    /// The variants side by side; absent with fewer than two.
    pub comparison: Option<Comparison>,
    /// The limits given with `compare --threshold`, with their outcomes.
    pub limits: Vec<LimitResult>,
    /// Searches for the highest load, by variant and repeat.
    pub searches: Vec<VariantSearch>,
    /// Results of the searches of two or more variants, or of the two sides that are compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capacities: Vec<CapacityRow>,
    /// Series of runs with 1, 2, … agents, by variant and repeat.
    pub scalings: Vec<VariantScaling>,
    /// Remarks for the reader.
    pub notes: Vec<String>,
}

/// Summary of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunSummary {
    /// Name of its variant.
    pub variant: String,
    /// Number of the repeat, from 0.
    pub repeat: u32,
    /// The run's id.
    pub id: String,
    /// Folder of its files.
    pub folder: String,
    /// Start instant, UTC, RFC 3339.
    pub started_at: String,
    /// How the run ended.
    pub state: RunState,
    /// The run's verdict.
    pub verdict: Verdict,
    /// Whether nothing shows how the requested load would have gone
    /// ([`Document::is_load_untested`]).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub load_untested: bool,
    /// Operations that ended.
    pub ended: u64,
    /// Operations that ended, but not ok.
    pub errors: u64,
    /// Operations that ended ok, per second.
    pub ok_per_second: f64,
    /// Median response time.
    pub response_time_p50_ns: Option<u64>,
    /// Whether the median is a lower bound, too. Missing in results of earlier versions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub response_time_p50_at_least: bool,
    /// 99th percentile of the response time.
    pub response_time_p99_ns: Option<u64>,
    /// Whether the 99th percentile is a lower bound.
    pub response_time_p99_at_least: bool,
    /// Curve from the 0th percentile to the largest value, in at most 48 points, spaced roughly by
    /// the logarithm of the share of values above them; empty in results of versions that did not
    /// keep it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub response_time_curve: Vec<PercentileFigure>,
    /// The plan's thresholds and their outcomes.
    pub thresholds: Vec<Judgement>,
}

/// The search of a variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VariantSearch {
    /// Name of the variant.
    pub variant: String,
    /// Number of the repeat, from 0.
    pub repeat: u32,
    /// Its holds and its answer.
    pub search: SearchRecord,
}

/// The runs of a variant with 1, 2, … agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VariantScaling {
    /// Name of the variant.
    pub variant: String,
    /// Number of the repeat, from 0.
    pub repeat: u32,
    /// The table and the conclusion.
    pub scaling: Scaling,
}

impl CampaignDocument {
    /// Version of the layout that this program writes and reads.
    pub const SCHEMA: u32 = 1;

    /// Creates the document of a campaign before its first run.
    #[must_use]
    pub fn new(tool_version: String, name: String, started_at: String) -> CampaignDocument {
        CampaignDocument {
            schema: CampaignDocument::SCHEMA,
            tool_version,
            name,
            started_at,
            state: RunState::Incomplete,
            plan_text: String::new(),
            plan_digest: String::new(),
            planned_runs: 0,
            runs: Vec::new(),
            differences: Vec::new(),
            comparison: None,
            limits: Vec::new(),
            searches: Vec::new(),
            capacities: Vec::new(),
            scalings: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Returns the exit code: 3 if something cannot be trusted or decided (an invalid run; a
    /// client-bound run with thresholds or `strict`; a search that the client ended; a limit that
    /// cannot be judged), otherwise 1 if a threshold, a limit, a search's first hold or every
    /// operation of a run failed, otherwise 0.
    #[must_use]
    pub fn exit_code(&self, strict: bool) -> u8 {
        let codes = self.runs.iter().map(|run| match self.has_failed(run) {
            true => run.exit_code(strict).max(crate::exit::THRESHOLD_FAILED),
            false => run.exit_code(strict),
        });
        let codes = codes.chain(self.searches.iter().map(|search| of_search(&search.search)));
        let codes = codes.chain(self.limits.iter().map(|limit| of_limit(limit.outcome)));
        let codes = codes.chain(
            self.scalings
                .iter()
                .map(|scaling| of_scaling(&scaling.scaling, strict)),
        );
        // 3 comes before 1, and 1 before 0.
        codes.max().unwrap_or(0)
    }

    /// Returns whether one of its runs counts as failed because none of its operations succeeded.
    /// In a comparison of saved runs it does not: there the limits decide.
    #[must_use]
    pub fn has_failed(&self, run: &RunSummary) -> bool {
        self.limits.is_empty() && run.ended > 0 && run.errors >= run.ended
    }
}

impl RunSummary {
    /// Summarises a run's document.
    #[must_use]
    pub fn new(document: &Document, variant: String, repeat: u32, folder: String) -> RunSummary {
        let measured = &document.measured;
        let p50 = measured.percentile("response_time", 50.0);
        let p99 = measured.percentile("response_time", 99.0);
        RunSummary {
            variant,
            repeat,
            id: document.run.id.clone(),
            folder,
            started_at: document.run.started_at.clone(),
            state: document.run.state,
            verdict: document.verdict.verdict,
            load_untested: document.is_load_untested(),
            ended: measured.operations.ended,
            errors: measured.operations.errors,
            ok_per_second: measured.rates.ok_per_second,
            response_time_p50_ns: p50.map(|figure| figure.value_ns),
            response_time_p50_at_least: p50.is_some_and(|figure| figure.at_least),
            response_time_p99_ns: p99.map(|figure| figure.value_ns),
            response_time_p99_at_least: p99.is_some_and(|figure| figure.at_least),
            response_time_curve: measured
                .times
                .get("response_time")
                .map(TimeFigure::thin_curve)
                .unwrap_or_default(),
            thresholds: document.thresholds.clone(),
        }
    }

    /// As [`Document::is_distrusted`].
    #[must_use]
    pub fn is_distrusted(&self) -> bool {
        self.conclusion().is_distrusted()
    }

    fn exit_code(&self, strict: bool) -> u8 {
        self.conclusion().exit_code(strict)
    }

    fn conclusion(&self) -> Conclusion<'_> {
        Conclusion {
            verdict: self.verdict,
            is_load_untested: self.load_untested,
            thresholds: &self.thresholds,
        }
    }
}

fn of_search(search: &SearchRecord) -> u8 {
    match search.answer {
        Some(SearchAnswer::ClientBound { .. } | SearchAnswer::Invalid { .. }) => {
            crate::exit::INVALID
        }
        Some(SearchAnswer::BelowFrom { .. }) => crate::exit::THRESHOLD_FAILED,
        Some(SearchAnswer::Found { .. } | SearchAnswer::AtLeast { .. }) | None => 0,
    }
}

fn of_limit(outcome: LimitOutcome) -> u8 {
    match outcome {
        LimitOutcome::Kept => 0,
        LimitOutcome::Regressed => crate::exit::THRESHOLD_FAILED,
        LimitOutcome::Unknown => crate::exit::INVALID,
    }
}

/// Scaling runs are meant to reach a limit, so only results that cannot be trusted count against
/// them.
fn of_scaling(scaling: &Scaling, strict: bool) -> u8 {
    let spoils = |verdict| match verdict {
        Verdict::Invalid => true,
        Verdict::ClientBound | Verdict::Degraded => strict,
        _ => false,
    };
    if scaling.rows.iter().any(|row| spoils(row.verdict)) {
        crate::exit::INVALID
    } else {
        0
    }
}
