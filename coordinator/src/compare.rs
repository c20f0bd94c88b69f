//! `coordinator compare`: saved runs or searches against others. Decides which belong together;
//! `analysis` decides what differs, and how certain that is.

mod saved;

use crate::exit::Exit;
use crate::job::JobStanding;
use crate::launch::BOOTSTRAP_SEED;
use crate::terminal;
use analysis::{
    CampaignDocument, CapacityRow, Comparison, Document, Pairing, PlanDifference, RegressionLimit,
    RunState, RunSummary, VariantRuns,
};
use clap::Args;
use report::{Format, Style};
use run_folder::Utc;
pub(crate) use saved::SavedError;
use saved::{Pairs, Saved, SavedPair, SavedRun, SavedSearch};
use std::path::{Path, PathBuf};

const ABOUT: &str = "\
A and B are folders of a run, of several runs or of searches, or a result.json.
Variants are compared by name.

Exit codes: 0 if every threshold is kept; 1 if a figure got worse by more than
its threshold and by more than the noise; 2 if the plans measure different
things; 3 if the noise is too large to tell, or not known, or if one of the runs
is invalid.";

/// `coordinator compare`, as typed.
#[derive(Debug, Args)]
#[command(after_help = ABOUT)]
pub struct CompareArgs {
    /// How much worse a figure may become, such as response_time.p99=5%; can be repeated [default:
    /// rate=5%, response_time.p50=5%, response_time.p99=5%, errors.share=0.1%; for searches
    /// capacity=5%]
    #[arg(long = "threshold", value_name = "FIGURE=PERCENT%")]
    pub thresholds: Vec<RegressionLimit>,
    /// Compare even if the plans measure different things
    #[arg(long)]
    pub force: bool,
    /// Output format: console, json, junit, markdown, csv or html
    #[arg(long, value_name = "FORMAT", default_value = "console")]
    pub format: Format,
    /// The run or runs before
    #[arg(value_name = "A")]
    pub first: PathBuf,
    /// The run or runs after
    #[arg(value_name = "B")]
    pub other: PathBuf,
}

/// Compares two saved runs, or two folders of several.
///
/// # Errors
/// Standard output cannot be written.
pub fn compare(args: &CompareArgs) -> anyhow::Result<Exit> {
    let (first, other) = match (Saved::read(&args.first), Saved::read(&args.other)) {
        (Ok(first), Ok(other)) => (first, other),
        (Err(error), _) | (_, Err(error)) => return Ok(refuse(&error)),
    };
    match first.beside(&other) {
        Ok(Pairs::Runs(pairs)) => beside(args, &pairs),
        Ok(Pairs::Searches(pairs)) => beside(args, &pairs),
        Err(error) => Ok(refuse(&error)),
    }
}

/// Compares a saved run, or each variant of several, with a baseline.
///
/// # Errors
/// One of the two cannot be read, or they are of different kinds.
pub(crate) fn against_baseline(
    baseline: &Path,
    run: &Path,
) -> Result<Vec<CampaignDocument>, SavedError> {
    let (first, other) = (Saved::read(baseline)?, Saved::read(run)?);
    let names = ["baseline".to_owned(), "this run".to_owned()];
    Ok(match first.beside(&other)? {
        Pairs::Runs(pairs) => against(&names, &pairs),
        Pairs::Searches(pairs) => against(&names, &pairs),
    })
}

fn against<T: Comparable>(
    names: &[String; 2],
    pairs: &[SavedPair<'_, T>],
) -> Vec<CampaignDocument> {
    pairs
        .iter()
        .map(|pair| compare_saved(names, &[], pair))
        .collect()
}

/// Something that can be compared with another of its kind.
trait Comparable: Sized {
    /// The differences between the plans.
    fn differences(first: &Self, other: &Self) -> Vec<PlanDifference>;

    /// Whether a limit is about this kind.
    fn has(limit: &RegressionLimit) -> bool;

    /// The limits that apply if none is named.
    fn usual() -> Vec<RegressionLimit>;

    /// Advice on what to write instead of a limit of the other kind.
    fn cure() -> &'static str;

    /// Name of the plan.
    fn plan(&self) -> &str;

    /// Compares both sides, under their names, and puts the result into the document.
    fn compare(
        pair: &SavedPair<'_, Self>,
        names: &[String; 2],
        limits: &[RegressionLimit],
        document: &mut CampaignDocument,
    );
}

fn beside<T: Comparable>(args: &CompareArgs, pairs: &[SavedPair<'_, T>]) -> anyhow::Result<Exit> {
    if let Some(limit) = args.thresholds.iter().find(|limit| !T::has(limit)) {
        terminal::say(format_args!(
            "--threshold {}: {}",
            limit.display(),
            T::cure()
        ));
        return Ok(Exit::Usage);
    }
    let differing: Vec<String> = pairs
        .iter()
        .flat_map(|pair| describe(&differences(pair)))
        .collect();
    if !differing.is_empty() && !args.force {
        let first = args.first.display();
        let other = args.other.display();
        terminal::say(format_args!(
            "{first} and {other} measured different things; to compare them all the same, add \
             --force"
        ));
        differing
            .iter()
            .for_each(|difference| terminal::say(format_args!("  {difference}")));
        return Ok(Exit::Usage);
    }
    let usual = T::usual();
    let limits = if args.thresholds.is_empty() {
        &usual
    } else {
        &args.thresholds
    };
    let names = names(&args.first, &args.other);
    let compared = |pair| compare_saved(&names, limits, pair);
    let documents: Vec<CampaignDocument> = pairs.iter().map(compared).collect();
    let style = if args.format == Format::Console {
        terminal::output_style()
    } else {
        Style::PLAIN
    };
    let texts: Vec<String> = documents
        .iter()
        .map(|document| args.format.render_campaign(document, style))
        .collect();
    let Some(text) = join_texts(args.format, &texts) else {
        let (format, variants) = (args.format.name(), texts.len());
        terminal::say(format_args!(
            "--format {format}: {variants} variants are in both folders, and a file has one; name \
             the folder of one run of a variant on each side, or write console, markdown or junit"
        ));
        return Ok(Exit::Usage);
    };
    terminal::print(&text)?;
    let codes = documents
        .iter()
        .map(|document| Exit::from(JobStanding::from_code(document.exit_code(false))));
    Ok(codes.max().unwrap_or(Exit::Passed))
}

/// Joins what was compared for each variant; `None` if a file of this format has one document.
fn join_texts(format: Format, texts: &[String]) -> Option<String> {
    match format {
        _ if texts.len() < 2 => Some(texts.concat()),
        Format::Console | Format::Brief | Format::Markdown => Some(texts.join("\n")),
        Format::Junit => Some(report::junit_suites(texts)),
        Format::Json | Format::Csv | Format::Html => None,
    }
}

fn refuse(error: &SavedError) -> Exit {
    terminal::say(error);
    Exit::Usage
}

/// The names of the two in a table: those of their folders, or A and B if these are alike.
fn names(first: &Path, other: &Path) -> [String; 2] {
    let folder = |path: &Path| {
        if path.is_file() {
            path.parent().map(Path::to_owned)
        } else {
            Some(path.to_owned())
        }
    };
    let name = |path: &Path| Some(folder(path)?.file_name()?.to_string_lossy().into_owned());
    match (name(first), name(other)) {
        (Some(first), Some(other)) if first != other => [first, other],
        _ => ["A".to_owned(), "B".to_owned()],
    }
}

fn differences<T: Comparable>(pair: &SavedPair<'_, T>) -> Vec<PlanDifference> {
    // All runs of a variant have one plan, so the first speaks for it.
    let pair = pair.first.first().zip(pair.other.first());
    pair.map(|(first, other)| T::differences(first, other))
        .unwrap_or_default()
}

fn describe(differences: &[PlanDifference]) -> Vec<String> {
    differences.iter().map(PlanDifference::display).collect()
}

fn compare_saved<T: Comparable>(
    names: &[String; 2],
    limits: &[RegressionLimit],
    pair: &SavedPair<'_, T>,
) -> CampaignDocument {
    let plan = pair.first.first().map_or("", |first| first.plan());
    let name = pair.variant.map_or_else(
        || plan.to_owned(),
        |variant| format!("{plan}, variant {variant}"),
    );
    let mut document = CampaignDocument::new(
        env!("CARGO_PKG_VERSION").to_owned(),
        name,
        Utc::now().to_string(),
    );
    document.state = RunState::Complete;
    document.differences = differences(pair);
    T::compare(pair, names, limits, &mut document);
    document
}

impl Comparable for SavedRun {
    fn differences(first: &SavedRun, other: &SavedRun) -> Vec<PlanDifference> {
        PlanDifference::between(&first.document.plan, &other.document.plan)
    }

    fn has(limit: &RegressionLimit) -> bool {
        !limit.is_of_searches()
    }

    fn usual() -> Vec<RegressionLimit> {
        RegressionLimit::usual()
    }

    fn cure() -> &'static str {
        "only searches have a capacity, and these are runs; write rate or response_time.p99"
    }

    fn plan(&self) -> &str {
        &self.document.run.name
    }

    fn compare(
        pair: &SavedPair<'_, SavedRun>,
        names: &[String; 2],
        limits: &[RegressionLimit],
        document: &mut CampaignDocument,
    ) {
        let of = |name: &str, runs: &[SavedRun]| -> Vec<RunSummary> {
            let each = (0..).zip(runs);
            each.map(|(repeat, run)| summary(&run.document, name, repeat, run.folder.clone()))
                .collect()
        };
        let variants =
            [(&names[0], pair.first), (&names[1], pair.other)].map(|(name, runs)| VariantRuns {
                name: name.clone(),
                runs: runs.iter().map(|run| Some(&run.document)).collect(),
            });
        let comparison = Comparison::new(&variants, Pairing::Apart, BOOTSTRAP_SEED);
        document.runs = [of(&names[0], pair.first), of(&names[1], pair.other)].concat();
        document.limits = RegressionLimit::judge(limits, &variants, Pairing::Apart, BOOTSTRAP_SEED);
        document.comparison = Some(comparison);
    }
}

impl Comparable for SavedSearch {
    fn differences(first: &SavedSearch, other: &SavedSearch) -> Vec<PlanDifference> {
        PlanDifference::between_searches(&first.hold.plan, &other.hold.plan)
    }

    fn has(limit: &RegressionLimit) -> bool {
        limit.is_of_searches()
    }

    fn usual() -> Vec<RegressionLimit> {
        RegressionLimit::usual_of_searches()
    }

    fn cure() -> &'static str {
        "these are searches, and their holds carry different loads; write capacity, such as \
         capacity=5%"
    }

    fn plan(&self) -> &str {
        &self.hold.run.name
    }

    fn compare(
        pair: &SavedPair<'_, SavedSearch>,
        names: &[String; 2],
        limits: &[RegressionLimit],
        document: &mut CampaignDocument,
    ) {
        let sides = [(&names[0], pair.first), (&names[1], pair.other)];
        let sides = sides.map(|(name, searches)| {
            (
                name.clone(),
                searches.iter().map(|search| &search.record).collect(),
            )
        });
        document.capacities = CapacityRow::from_searches(&sides);
        document.limits = RegressionLimit::judge_searches(limits, &document.capacities);
    }
}

/// Leaves out the plan's own thresholds, which were judged when the run was made.
fn summary(document: &Document, variant: &str, repeat: u32, folder: String) -> RunSummary {
    RunSummary {
        thresholds: Vec::new(),
        ..RunSummary::new(document, variant.to_owned(), repeat, folder)
    }
}
