//! Runs side by side: each variant's figures, their change against the first variant, and how
//! certain that change is.

mod bootstrap;
mod change;
mod correction;
mod evidence;
mod figure;
mod limit;
mod matrix;
mod part_figure;

pub use change::{Change, ChangeFinding, ConfidenceInterval};
pub use figure::Better;
pub(crate) use limit::CAPACITY;
pub use limit::{LimitError, LimitOutcome, LimitResult, RegressionLimit};
pub use matrix::{ComparedPair, PairChange};

use crate::{Document, Unit, Verdict};
use evidence::Evidence;
use figure::{FIGURES, Figure, FigureValue, LowerBound};
use matrix::{ChangesOfPair, MatrixPair};
use serde::{Deserialize, Serialize};

/// With fewer repeats than this, a comparison is called weak.
const REPEATS_ENOUGH: usize = 5;

/// The runs of a variant, by repeat.
#[derive(Debug, Clone)]
pub struct VariantRuns<'a> {
    /// The variant's name.
    pub name: String,
    /// Its results by repeat; `None` if a repeat has none (yet).
    pub runs: Vec<Option<&'a Document>>,
}

/// How the runs of two variants relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairing {
    /// Repeat n of every variant was made in the same round.
    Interleaved,
    /// They were made apart: run n of one variant has nothing to do with run n of another.
    Apart,
}

/// Basis of the intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Ratios within rounds of interleaved runs.
    Paired,
    /// Two sets of runs.
    Separate,
    /// The seconds of single runs, which do not show how much runs differ.
    WithinRun,
}

/// Variants side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Names of the variants; every other one is compared with the first.
    pub variants: Vec<String>,
    /// Basis of the intervals; if methods differ, the weakest of them.
    pub method: Method,
    /// Number of changes that were examined for a difference.
    pub looked_at: u32,
    /// Confidence, 0 to 1, of the intervals of the differences that are reported; that of all
    /// others is 0.95.
    pub confidence: f64,
    /// Figures that at least one variant has.
    pub rows: Vec<ComparedFigure>,
    /// Pairs of variants that differ in one axis of a matrix only, except pairs with the first
    /// variant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub along_axes: Vec<ComparedPair>,
    /// Remarks for the reader.
    pub notes: Vec<String>,
}

/// A figure of every variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedFigure {
    /// Its name, which is that of thresholds if they have the figure.
    pub name: String,
    /// Unit of the values.
    pub unit: Unit,
    /// The better direction.
    pub better: Better,
    /// Its value in each variant, in their order.
    pub cells: Vec<ComparedCell>,
}

/// A figure of a variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedCell {
    /// Mean over its runs (geometric for times and rates); absent if it was not measured.
    pub value: Option<f64>,
    /// Whether the value is a lower bound, since operations were cut short or arrivals never sent
    /// in some run.
    pub at_least: bool,
    /// Number of runs that have the figure.
    pub runs: u32,
    /// Change against the first variant; absent in the first.
    pub change: Option<Change>,
}

impl Comparison {
    /// Compares every variant with the first. Invalid runs are left out, with a note. `seed` is
    /// that of the bootstrap.
    #[must_use]
    pub fn new(variants: &[VariantRuns<'_>], pairing: Pairing, seed: u64) -> Comparison {
        Comparison::of_matrix(variants, &[], pairing, seed)
    }

    /// Compares like [`Comparison::new`], and also along each axis of a matrix, between variants
    /// that differ in that axis only. `axes` are [`plan::Campaign::axes`].
    #[must_use]
    pub fn of_matrix(
        variants: &[VariantRuns<'_>],
        axes: &[usize],
        pairing: Pairing,
        seed: u64,
    ) -> Comparison {
        let pairs = matrix::pairs(axes, variants.len());
        Comparison::in_figures(|_| true, &[], variants, &pairs, pairing, seed)
    }

    /// Compares the wanted figures only, and those of requests. They alone are the family for which
    /// the confidence is corrected.
    fn in_figures(
        is_asked: impl Fn(&Figure) -> bool,
        of_requests: &[Figure],
        variants: &[VariantRuns<'_>],
        pairs: &[MatrixPair],
        pairing: Pairing,
        seed: u64,
    ) -> Comparison {
        let runs = variants.iter().flat_map(|variant| &variant.runs).flatten();
        let of_journeys = part_figure::of_journeys(runs.copied());
        let figures = FIGURES.iter().chain(&of_journeys).chain(of_requests);
        let figures: Vec<&Figure> = figures.filter(|figure| is_asked(figure)).collect();
        let mut notes = Vec::new();
        let kept: Vec<VariantRuns<'_>> = variants
            .iter()
            .map(|variant| keep_trusted(variant, &mut notes))
            .collect();
        let compared: Vec<ChangesOfFigure> = figures
            .iter()
            .map(|figure| against_first(figure, &kept, pairing, seed))
            .collect();
        let along: Vec<ChangesOfPair> = pairs
            .iter()
            .map(|pair| pair.changes(&figures, &kept, pairing, seed))
            .collect();
        let along_changes = along.iter().flatten();
        let observed = compared.iter().flatten().chain(along_changes);
        let observed: Vec<&ObservedChange> = observed.flatten().collect();
        let probabilities: Vec<f64> = observed
            .iter()
            .filter_map(|change| change.probability())
            .collect();
        // All these changes are one family: the more are examined, the more certain each has to be.
        let alpha = correction::error_of_each(&probabilities);
        let rows = figures
            .iter()
            .zip(&compared)
            .map(|(figure, changes)| row(figure, &kept, changes, alpha))
            .filter(|row| row.cells.iter().any(|cell| cell.value.is_some()))
            .collect();
        let along_axes = pairs
            .iter()
            .zip(&along)
            .map(|(pair, found)| ComparedPair::new(pair, &figures, &kept, found, alpha))
            .collect();
        let method = weakest(&observed, pairing);
        let variants = variants
            .iter()
            .map(|variant| variant.name.clone())
            .collect();
        let looked_at = u32::try_from(probabilities.len()).unwrap_or(u32::MAX);
        Comparison {
            variants,
            method,
            looked_at,
            confidence: 1.0 - alpha,
            rows,
            along_axes,
            notes,
        }
    }

    /// Looks up a figure by its name.
    #[must_use]
    pub fn row(&self, name: &str) -> Option<&ComparedFigure> {
        self.rows.iter().find(|row| row.name == name)
    }
}

/// For every variant but the first, in order.
type ChangesOfFigure = Vec<Result<ObservedChange, NotComparable>>;

fn against_first(
    figure: &Figure,
    variants: &[VariantRuns<'_>],
    pairing: Pairing,
    seed: u64,
) -> ChangesOfFigure {
    let Some((first, others)) = variants.split_first() else {
        return Vec::new();
    };
    others
        .iter()
        .map(|other| compare(figure, first, other, pairing, seed))
        .collect()
}

/// Returns the weakest method used; if nothing was found, the method that was intended.
fn weakest(observed: &[&ObservedChange], pairing: Pairing) -> Method {
    let meant = match pairing {
        Pairing::Interleaved => Method::Paired,
        Pairing::Apart => Method::Separate,
    };
    // The enum is ordered from the strongest to the weakest.
    let methods = observed.iter().map(|change| change.method);
    methods.max_by_key(|method| *method as u8).unwrap_or(meant)
}

/// How one figure of one variant differs from the first variant's.
#[derive(Debug, Clone)]
struct ObservedChange {
    evidence: Evidence,
    method: Method,
    repeats: u32,
}

impl ObservedChange {
    fn probability(&self) -> Option<f64> {
        self.evidence
            .error
            .map(|error| error.probability_of(self.evidence.difference))
    }
}

/// The reason why a figure cannot be compared.
#[derive(Debug, Clone)]
enum NotComparable {
    /// A value is missing, or has no ratio to another; holds the reason in words.
    Because(String),
    /// Neither variant has an operation counted in it, so there is neither a difference nor noise.
    NoneInEither,
}

/// Leaves out runs that cannot be trusted. Runs that the client limited stay, with a note.
fn keep_trusted<'a>(variant: &VariantRuns<'a>, notes: &mut Vec<String>) -> VariantRuns<'a> {
    let invalid = variant.runs_with(Verdict::Invalid);
    let client_bound = variant.runs_with(Verdict::ClientBound);
    let degraded = variant.runs_with(Verdict::Degraded);
    let of = variant.runs.iter().flatten().count();
    if invalid > 0 {
        notes.push(format!(
            "{}: {invalid} of {of} runs cannot be trusted and are left out",
            variant.name
        ));
    }
    if client_bound > 0 {
        notes.push(format!(
            "{}: the client limited {client_bound} of {of} runs; what is compared there is the \
             client",
            variant.name
        ));
    }
    if degraded > 0 {
        notes.push(format!(
            "{}: {degraded} of {of} runs lost agents; what is compared there is less load",
            variant.name
        ));
    }
    let runs = variant
        .runs
        .iter()
        .map(|run| run.filter(|run| run.verdict.verdict != Verdict::Invalid))
        .collect();
    VariantRuns {
        name: variant.name.clone(),
        runs,
    }
}

fn compare(
    figure: &Figure,
    first: &VariantRuns<'_>,
    other: &VariantRuns<'_>,
    pairing: Pairing,
    seed: u64,
) -> Result<ObservedChange, NotComparable> {
    let of_first = values(figure, first);
    let of_other = values(figure, other);
    comparable(figure, &of_first)?;
    comparable(figure, &of_other)?;
    let is_zero = |value: &FigureValue| value.value == 0.0;
    if figure.unit == Unit::Share && of_first.iter().chain(&of_other).all(is_zero) {
        return Err(NotComparable::NoneInEither);
    }
    let method = method(first, other, pairing);
    let (evidence, repeats) = match method {
        Method::Paired => {
            let pairs = pairs(figure, first, other);
            if pairs.is_empty() {
                return Err(NotComparable::because("not measured in one round"));
            }
            (evidence::compare_pairs(figure, &pairs), pairs.len())
        }
        Method::Separate => (
            evidence::separate(figure, &of_first, &of_other),
            of_first.len().min(of_other.len()),
        ),
        Method::WithinRun => match (first.only(), other.only()) {
            (Some(a), Some(b)) => (
                evidence::within_runs(figure, [a, b], [of_first[0], of_other[0]], seed),
                1,
            ),
            _ => return Err(NotComparable::because("not measured in both")),
        },
    };
    Ok(ObservedChange {
        evidence,
        method,
        repeats: u32::try_from(repeats).unwrap_or(u32::MAX),
    })
}

/// Returns the strongest method that the runs of two variants allow.
fn method(first: &VariantRuns<'_>, other: &VariantRuns<'_>, pairing: Pairing) -> Method {
    let rounds = first
        .runs
        .iter()
        .zip(&other.runs)
        .filter(|(a, b)| a.is_some() && b.is_some())
        .count();
    match pairing {
        Pairing::Interleaved if rounds > 1 => Method::Paired,
        _ if first.only().is_some() && other.only().is_some() => Method::WithinRun,
        _ => Method::Separate,
    }
}

impl<'a> VariantRuns<'a> {
    fn runs_with(&self, verdict: Verdict) -> usize {
        self.runs
            .iter()
            .flatten()
            .filter(|run| run.verdict.verdict == verdict)
            .count()
    }

    /// Returns its run if there is exactly one.
    fn only(&self) -> Option<&'a Document> {
        let mut runs = self.runs.iter().flatten();
        runs.next().copied().filter(|_| runs.next().is_none())
    }
}

/// Returns the figure in each run that has it.
fn values(figure: &Figure, variant: &VariantRuns<'_>) -> Vec<FigureValue> {
    let runs = variant.runs.iter().flatten();
    runs.filter_map(|run| figure.of(run)).collect()
}

/// Returns the figure in each round in which both variants have it.
fn pairs(
    figure: &Figure,
    first: &VariantRuns<'_>,
    other: &VariantRuns<'_>,
) -> Vec<(FigureValue, FigureValue)> {
    let rounds = first.runs.iter().zip(&other.runs);
    rounds
        .filter_map(|(first, other)| figure.of((*first)?).zip(figure.of((*other)?)))
        .collect()
}

fn comparable(figure: &Figure, values: &[FigureValue]) -> Result<(), NotComparable> {
    if values.is_empty() {
        return Err(NotComparable::because("not measured in both"));
    }
    let bounds = values.iter().filter_map(|value| value.at_least);
    if let Some(bound) = bounds.reduce(LowerBound::and) {
        return Err(NotComparable::because(bound.in_words()));
    }
    if values
        .iter()
        .any(|value| evidence::to_scale(figure, value.value).is_none())
    {
        return Err(NotComparable::because("not comparable: it is 0"));
    }
    Ok(())
}

impl NotComparable {
    fn because(reason: &str) -> NotComparable {
        NotComparable::Because(reason.to_owned())
    }
}

fn row(
    figure: &Figure,
    variants: &[VariantRuns<'_>],
    others: &[Result<ObservedChange, NotComparable>],
    alpha: f64,
) -> ComparedFigure {
    let changes = std::iter::once(None).chain(others.iter().map(Some));
    let cells = variants
        .iter()
        .zip(changes)
        .map(|(variant, found)| cell(figure, variant, found, alpha))
        .collect();
    ComparedFigure {
        name: figure.name.to_string(),
        unit: figure.unit,
        better: figure.better,
        cells,
    }
}

fn cell(
    figure: &Figure,
    variant: &VariantRuns<'_>,
    found: Option<&Result<ObservedChange, NotComparable>>,
    alpha: f64,
) -> ComparedCell {
    let values = values(figure, variant);
    let change = found.map(|found| change(figure, found, alpha));
    ComparedCell {
        value: mean(figure, &values),
        at_least: values.iter().any(|value| value.at_least.is_some()),
        runs: u32::try_from(values.len()).unwrap_or(u32::MAX),
        change,
    }
}

fn change(figure: &Figure, found: &Result<ObservedChange, NotComparable>, alpha: f64) -> Change {
    match found {
        Ok(found) => Change::new(figure, found.evidence, found.repeats, found.method, alpha),
        Err(NotComparable::Because(reason)) => Change::unknown(reason.clone()),
        Err(NotComparable::NoneInEither) => Change::none_in_either(),
    }
}

/// Takes the geometric mean for figures compared by ratio, so that the ratio of means is the mean
/// of the ratios.
fn mean(figure: &Figure, values: &[FigureValue]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let number = values.len() as f64;
    if figure.unit == Unit::Share {
        return Some(values.iter().map(|value| value.value).sum::<f64>() / number);
    }
    let logarithms: f64 = values.iter().map(|value| value.value.ln()).sum();
    Some((logarithms / number).exp())
}
