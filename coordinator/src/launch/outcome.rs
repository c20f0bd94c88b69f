//! What came of the runs of a campaign so far: collected as they end, compared by `analysis` and
//! written by `report`.

use crate::utc::Utc;
use analysis::{
    CampaignDocument, CapacityRow, Comparison, Document, Pairing, RunState, RunSummary, Scaling,
    ScalingRow, SearchRecord, VariantRuns, VariantScaling, VariantSearch, human,
};
use plan::{Campaign, Run};

/// Of the bootstrap: the same runs give the same intervals.
pub(crate) const SEED: u64 = 1;

/// What came of the runs of a campaign so far.
pub(super) struct Outcome<'c> {
    campaign: &'c Campaign,
    document: CampaignDocument,
    /// When it began is known.
    has_begun: bool,
    /// What is compared: runs that were not cut short.
    compared: Vec<(Run, Document)>,
}

impl Outcome<'_> {
    /// Before the first run; `before` is what an interruption left.
    pub(super) fn new(
        campaign: &Campaign,
        plan_text: String,
        before: Option<CampaignDocument>,
    ) -> Outcome<'_> {
        let (version, name) = (
            env!("CARGO_PKG_VERSION").to_owned(),
            campaign.name().to_owned(),
        );
        let has_begun = before.is_some();
        let started_at = before.map_or_else(|| Utc::now().to_string(), |before| before.started_at);
        let mut document = CampaignDocument::new(version, name, started_at);
        document.plan_text = plan_text;
        document.notes = campaign.notes().to_vec();
        if campaign.search().is_none() {
            document.planned_runs = u32::try_from(campaign.runs().len()).unwrap_or(u32::MAX);
        }
        Outcome {
            campaign,
            document,
            has_begun,
            compared: Vec::new(),
        }
    }

    /// Whether nothing was measured.
    pub(super) fn is_empty(&self) -> bool {
        let document = &self.document;
        document.runs.is_empty() && document.searches.is_empty() && document.scalings.is_empty()
    }

    /// What there is.
    pub(super) fn document(&self) -> &CampaignDocument {
        &self.document
    }

    /// A run that ended.
    pub(super) fn take_run(&mut self, run: Run, folder: String, document: Document) {
        self.began(&document);
        let variant = self.campaign.variant(run).name.clone();
        if document.run.state != RunState::Complete {
            self.document.notes.push(format!(
                "{folder}: was interrupted and is left out of the comparison"
            ));
        }
        self.document
            .runs
            .push(RunSummary::new(&document, variant, run.repeat, folder));
        if document.run.state == RunState::Complete {
            self.compared.push((run, document));
        }
    }

    /// A search so far.
    pub(super) fn take_search(&mut self, run: Run, search: SearchRecord) {
        let (variant, repeat) = (self.campaign.variant(run).name.clone(), run.repeat);
        let searches = &mut self.document.searches;
        searches.retain(|known| (&known.variant, known.repeat) != (&variant, repeat));
        searches.push(VariantSearch {
            variant,
            repeat,
            search,
        });
    }

    /// The run of one number of agents.
    pub(super) fn take_agents(&mut self, run: Run, folder: String, document: &Document) {
        self.began(document);
        let (variant, repeat) = (self.campaign.variant(run).name.clone(), run.repeat);
        let scalings = &mut self.document.scalings;
        let known = scalings
            .iter()
            .position(|known| (&known.variant, known.repeat) == (&variant, repeat));
        let mut rows = known
            .map(|known| scalings.remove(known).scaling.rows)
            .unwrap_or_default();
        rows.push(ScalingRow::new(document, folder));
        scalings.push(VariantScaling {
            variant,
            repeat,
            scaling: Scaling::new(rows),
        });
    }

    /// No run follows: compares what there is.
    pub(super) fn end(&mut self, state: RunState) {
        self.document.state = state;
        self.compare_searches();
        let variants = self.campaign.variants();
        if variants.len() < 2 || self.compared.is_empty() {
            return;
        }
        let of_run = |variant, repeat| {
            let made = self
                .compared
                .iter()
                .find(|(run, _)| (run.variant, run.repeat) == (variant, repeat));
            made.map(|(_, document)| document)
        };
        let runs = |variant| {
            (0..self.campaign.repeat().times)
                .map(|repeat| of_run(variant, repeat))
                .collect()
        };
        let variants = variants.iter().enumerate();
        let variants: Vec<VariantRuns<'_>> = variants
            .map(|(index, variant)| VariantRuns {
                name: variant.name.clone(),
                runs: runs(index),
            })
            .collect();
        self.document.comparison = Some(Comparison::new(&variants, Pairing::Interleaved, SEED));
    }

    /// Searches that came to an answer, of two variants or more.
    fn compare_searches(&mut self) {
        let found = self
            .document
            .searches
            .iter()
            .filter(|searched| searched.search.answer.is_some());
        let of_variant = |name: &str| {
            found
                .clone()
                .filter(|found| found.variant == name)
                .map(|found| &found.search)
                .collect()
        };
        let variants = self.campaign.variants().iter();
        let variants: Vec<_> = variants
            .map(|variant| (variant.name.clone(), of_variant(&variant.name)))
            .collect();
        let rows = CapacityRow::from_searches(&variants);
        self.document.capacities = if rows.len() > 1 { rows } else { Vec::new() };
    }

    fn began(&mut self, document: &Document) {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.document
                .started_at
                .clone_from(&document.run.started_at);
        }
    }
}

/// A run in one line: verdict, throughput, response times, errors, and thresholds that failed.
pub(super) fn line(document: &Document) -> String {
    let measured = &document.measured;
    let at = |wanted| {
        measured
            .times
            .get("response_time")
            .and_then(|figure| figure.percentile(wanted))
    };
    let percentile = |wanted| at(wanted).map_or_else(|| "-".to_owned(), human::percentile);
    let failed = document
        .thresholds
        .iter()
        .filter(|judgement| !judgement.passed);
    let failed: String = failed
        .map(|judgement| format!("; failed: {}", judgement.miss()))
        .collect();
    format!(
        "{}: {}/s, response time p50 {}, p99 {}, errors {}{failed}",
        document.verdict.verdict.name(),
        human::number(measured.rates.ok_per_second),
        percentile(50.0),
        percentile(99.0),
        measured.operations.errors
    )
}
