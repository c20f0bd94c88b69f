//! `coordinator compare`: saved runs against saved runs. Which runs belong together is decided here; what differs, and how
//! sure that is, by `analysis`.

mod saved;

use crate::exit::Exit;
use crate::launch::SEED;
use crate::terminal;
use crate::utc::Utc;
use analysis::{
    CampaignDocument, Comparison, Document, Pairing, PlanDifference, RegressionLimit, RunSummary, State, VariantRuns,
};
use clap::Args;
use report::{Format, Style};
use saved::{Pair, Saved, SavedError, SavedRun};
use std::path::{Path, PathBuf};

const ABOUT: &str = "\
Each of A and B is the folder of a run, of several runs (variants are compared by
name), or a result.json. Exits with 1 where something got worse by more than the
thresholds and beyond the noise, with 3 where that cannot be told, with 2 where
the plans differ in what is measured.";

/// `coordinator compare`, as typed.
#[derive(Debug, Args)]
#[command(after_help = ABOUT)]
pub struct CompareArgs {
    /// How much worse a figure may become, such as response_time.p99=5%; may be given several times [default: rate=5%,
    /// response_time.p50=5%, response_time.p99=5%, errors.share=0.1%]
    #[arg(long = "threshold", value_name = "FIGURE=PERCENT%")]
    pub thresholds: Vec<RegressionLimit>,
    /// Compare also where the plans differ in what is measured
    #[arg(long)]
    pub force: bool,
    /// What to make of it: console, json, junit, markdown or csv
    #[arg(long, value_name = "FORMAT", default_value = "console")]
    pub format: Format,
    /// What was before
    #[arg(value_name = "A")]
    pub first: PathBuf,
    /// What is now
    #[arg(value_name = "B")]
    pub other: PathBuf,
}

/// Compares two saved runs, or two folders of several.
///
/// # Errors
/// A result cannot be read by this version, or standard output cannot be written.
pub fn compare(args: &CompareArgs) -> anyhow::Result<Exit> {
    let (first, other) = match (Saved::read(&args.first), Saved::read(&args.other)) {
        (Ok(first), Ok(other)) => (first, other),
        (Err(error), _) | (_, Err(error)) => return refused(error),
    };
    let pairs = match first.beside(&other) {
        Ok(pairs) => pairs,
        Err(error) => return refused(error),
    };
    let differing: Vec<String> = pairs.iter().flat_map(|pair| told(&differences(pair.first, pair.other))).collect();
    if !differing.is_empty() && !args.force {
        let (first, other) = (args.first.display(), args.other.display());
        terminal::say(format_args!("{first} and {other} measured different things; to compare them all the same, add --force"));
        differing.iter().for_each(|difference| terminal::say(format_args!("  {difference}")));
        return Ok(Exit::Usage);
    }
    let documents: Vec<CampaignDocument> = pairs.iter().map(|pair| compared(args, pair)).collect();
    let style = if args.format == Format::Console { terminal::output_style() } else { Style::PLAIN };
    let texts: Vec<String> = documents.iter().map(|document| args.format.render_campaign(document, style)).collect();
    terminal::print(&texts.join("\n"))?;
    let codes = documents.iter().map(|document| Exit::of_code(document.exit_code(false)));
    Ok(codes.max().unwrap_or(Exit::Passed))
}

fn refused(error: SavedError) -> anyhow::Result<Exit> {
    match error {
        SavedError::Unreadable { .. } => anyhow::bail!("{error}"),
        _ => {
            terminal::say(error);
            Ok(Exit::Usage)
        }
    }
}

/// What the two are called in a table: by their folders, or by their places where these are alike.
fn names(first: &Path, other: &Path) -> [String; 2] {
    let folder = |path: &Path| if path.is_file() { path.parent().map(Path::to_owned) } else { Some(path.to_owned()) };
    let name = |path: &Path| Some(folder(path)?.file_name()?.to_string_lossy().into_owned());
    match (name(first), name(other)) {
        (Some(first), Some(other)) if first != other => [first, other],
        _ => ["A".to_owned(), "B".to_owned()],
    }
}

fn differences(first: &[SavedRun], other: &[SavedRun]) -> Vec<PlanDifference> {
    let pair = first.first().zip(other.first());
    pair.map(|(first, other)| PlanDifference::between(&first.document.plan, &other.document.plan)).unwrap_or_default()
}

fn told(differences: &[PlanDifference]) -> Vec<String> {
    differences.iter().map(PlanDifference::display).collect()
}

fn compared(args: &CompareArgs, pair: &Pair<'_>) -> CampaignDocument {
    let Pair { variant, first, other } = *pair;
    let names = names(&args.first, &args.other);
    let of = |name: &str, runs: &[SavedRun]| -> Vec<RunSummary> {
        let each = (0..).zip(runs);
        each.map(|(repeat, run)| summary(&run.document, name, repeat, run.folder.clone())).collect()
    };
    let documents = |runs: &[SavedRun]| -> Vec<Document> { runs.iter().map(|run| run.document.clone()).collect() };
    let (documents_first, documents_other) = (documents(first), documents(other));
    let variants = [(&names[0], &documents_first), (&names[1], &documents_other)];
    let variants = variants.map(|(name, runs)| VariantRuns { name: name.clone(), runs: runs.iter().map(Some).collect() });
    let comparison = Comparison::of(&variants, Pairing::Apart, SEED);
    let usual = RegressionLimit::usual();
    let limits = if args.thresholds.is_empty() { &usual } else { &args.thresholds };
    let plan = first.first().map_or("", |run| run.document.run.name.as_str());
    let name = variant.map_or_else(|| plan.to_owned(), |variant| format!("{plan}, variant {variant}"));
    let mut document = CampaignDocument::new(env!("CARGO_PKG_VERSION").to_owned(), name, Utc::now().to_string());
    document.state = State::Complete;
    document.runs = [of(&names[0], first), of(&names[1], other)].concat();
    document.differences = differences(first, other);
    document.limits = RegressionLimit::judge(limits, &comparison);
    document.comparison = Some(comparison);
    document
}

/// Without the plan's own thresholds, which were judged when the run was made.
fn summary(document: &Document, variant: &str, repeat: u32, folder: String) -> RunSummary {
    RunSummary { thresholds: Vec::new(), ..RunSummary::of(document, variant.to_owned(), repeat, folder) }
}
