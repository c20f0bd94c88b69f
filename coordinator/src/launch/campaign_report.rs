//! The results of a campaign's runs so far: collected as they end, compared by `analysis`, written
//! by `report`, saved after each run.

use super::final_result::{FinalResult, JobDocument, ResultPlace};
use crate::job::{JobStanding, SearchName};
use analysis::{
    CampaignDocument, CapacityRow, Comparison, Document, Pairing, RunState, RunSummary, Scaling,
    ScalingRow, SearchRecord, VariantRuns, VariantScaling, VariantSearch,
};
use plan::{Campaign, Run};
use report::{Format, Style};
use run_folder::{CampaignFolder, FolderError, Utc};

/// Seed of the bootstrap. It is fixed, so that the same runs give the same intervals.
pub(crate) const BOOTSTRAP_SEED: u64 = 1;

/// The results of a campaign's runs so far.
pub(super) struct CampaignReport<'c> {
    campaign: &'c Campaign,
    folder: CampaignFolder,
    document: CampaignDocument,
    /// Whether it is known when the campaign began.
    has_begun: bool,
    /// The runs to compare: those that were not cut short.
    compared: Vec<(Run, Document)>,
}

impl CampaignReport<'_> {
    /// An empty report, before the first run. An interruption may have left one in the folder.
    pub(super) fn new(
        campaign: &Campaign,
        plan_text: String,
        folder: CampaignFolder,
    ) -> CampaignReport<'_> {
        let before = folder.before();
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let name = campaign.name().to_owned();
        let has_begun = before.is_some();
        let started_at = before.map_or_else(|| Utc::now().to_string(), |before| before.started_at);
        let mut document = CampaignDocument::new(version, name, started_at);
        document.plan_text = plan_text;
        document.plan_digest = campaign.digest().to_string();
        document.notes = campaign.notes().to_vec();
        if campaign.search().is_none() {
            document.planned_runs = u32::try_from(campaign.runs().len()).unwrap_or(u32::MAX);
        }
        CampaignReport {
            campaign,
            folder,
            document,
            has_begun,
            compared: Vec::new(),
        }
    }

    /// The folder that holds all runs.
    pub(super) fn folder(&self) -> &CampaignFolder {
        &self.folder
    }

    /// Returns a folder for the runs of a search: the one that an interruption left, if there is
    /// one.
    pub(super) fn search_folder(&self, name: &SearchName) -> Result<CampaignFolder, FolderError> {
        let left = self.folder.part_named(&name.prefix);
        left.map_or_else(|| self.folder.part(&name.folder), Ok)
    }

    /// Saves the report so far. What cannot be saved is reported at the end.
    pub(super) fn save(&mut self) {
        let [text, page] = [Format::Json, Format::Html]
            .map(|format| format.render_campaign(&self.document, Style::PLAIN));
        self.folder.replace(&text, &page);
    }

    /// Takes a run that has ended.
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

    /// Takes a search so far, whose holds are in `folder`.
    pub(super) fn take_search(&mut self, run: Run, folder: &str, search: &SearchRecord) {
        let search = in_folder(search, folder);
        let variant = self.campaign.variant(run).name.clone();
        let repeat = run.repeat;
        let searches = &mut self.document.searches;
        // A search is taken again after each hold: the newer record replaces the older one.
        searches.retain(|known| (&known.variant, known.repeat) != (&variant, repeat));
        searches.push(VariantSearch {
            variant,
            repeat,
            search,
        });
        self.save();
    }

    /// Takes the run of one number of agents.
    pub(super) fn take_agents(&mut self, run: Run, folder: String, document: &Document) {
        self.began(document);
        let variant = self.campaign.variant(run).name.clone();
        let repeat = run.repeat;
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
        self.save();
    }

    /// Completes the report; `made` is the worst of the single runs.
    pub(super) fn conclude(mut self, made: JobStanding, strict: bool) -> FinalResult {
        self.end(state(made));
        self.save();
        let unsaved = self
            .folder
            .unsaved()
            .map(|what| format!("not saved: {what}; once that is mended, --resume saves it"));
        let path = self.folder.path().to_owned();
        let place = match unsaved {
            Some(_) => ResultPlace::NotIn(path),
            None => ResultPlace::of_folder(path),
        };
        FinalResult {
            problems: Vec::new(),
            standing: match unsaved {
                Some(_) => JobStanding::Failed,
                None => JobStanding::from_code(self.document.exit_code(strict)),
            },
            unsaved: unsaved.into_iter().collect(),
            place,
            document: (!self.is_empty()).then_some(JobDocument::Campaign(self.document)),
        }
    }

    /// Whether nothing was measured.
    fn is_empty(&self) -> bool {
        let document = &self.document;
        document.runs.is_empty() && document.searches.is_empty() && document.scalings.is_empty()
    }

    /// Compares what there is, since no run follows.
    fn end(&mut self, state: RunState) {
        self.document.state = state;
        self.compare_searches();
        let variants = self.campaign.variants();
        if variants.len() < 2 || self.compared.is_empty() {
            return;
        }
        let variants: Vec<VariantRuns<'_>> = (0..)
            .zip(variants)
            .map(|(index, variant)| VariantRuns {
                name: variant.name.clone(),
                runs: self.runs_of(index),
            })
            .collect();
        self.document.comparison = Some(Comparison::of_matrix(
            &variants,
            self.campaign.axes(),
            Pairing::Interleaved,
            BOOTSTRAP_SEED,
        ));
    }

    /// The runs of a variant by repeat; `None` for one that was not made or was cut short.
    fn runs_of(&self, variant: usize) -> Vec<Option<&Document>> {
        let of_repeat = |repeat| {
            let made = self.compared.iter();
            made.filter(|(run, _)| (run.variant, run.repeat) == (variant, repeat))
                .map(|(_, document)| document)
                .next()
        };
        (0..self.campaign.repeat().times).map(of_repeat).collect()
    }

    /// Compares searches that found an answer, if two variants or more have one.
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

/// The state of all runs together.
fn state(made: JobStanding) -> RunState {
    match made {
        JobStanding::Stopped => RunState::Interrupted,
        JobStanding::Failed => RunState::Incomplete,
        JobStanding::Held | JobStanding::Missed | JobStanding::Invalid => RunState::Complete,
    }
}

/// Returns the search with the folders of its holds relative to the folder of all runs.
fn in_folder(record: &SearchRecord, folder: &str) -> SearchRecord {
    let mut record = record.clone();
    for step in &mut record.steps {
        step.result.run = format!("{folder}/{}", step.result.run);
    }
    record
}
