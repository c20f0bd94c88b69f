//! Runs side by side: each variant's figures, their change against the first variant, and how sure
//! that is.

mod bootstrap;
mod change;
mod correction;
mod evidence;
mod figure;
mod limit;
mod matrix;

pub use change::{Change, ChangeFinding, ConfidenceInterval};
pub use figure::Better;
pub(crate) use limit::CAPACITY;
pub use limit::{LimitError, LimitOutcome, LimitResult, RegressionLimit};
pub use matrix::{ComparedPair, PairChange};

use crate::{Document, Unit, Verdict};
use evidence::Evidence;
use figure::{FIGURES, Figure, FigureValue, LowerBound};
use matrix::{ChangesOfPair, MatrixPair};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Repeats from which on a comparison is not called weak.
const REPEATS_ENOUGH: usize = 5;

/// The runs of a variant, by repeat.
#[derive(Debug, Clone)]
pub struct VariantRuns<'a> {
    /// The variant's name.
    pub name: String,
    /// Its results; `None` where a repeat has none (yet).
    pub runs: Vec<Option<&'a Document>>,
}

/// How the runs of two variants belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairing {
    /// Repeat n of every variant was made in the same round.
    Interleaved,
    /// They were made apart: the n-th of one has nothing to do with the n-th of another.
    Apart,
}

/// What the intervals rest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Ratios within rounds.
    Paired,
    /// Two sets of runs.
    Separate,
    /// The seconds of single runs: what differs from run to run is not in it.
    WithinRun,
}

/// Variants side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Names; every other variant is compared with the first.
    pub variants: Vec<String>,
    /// What the intervals rest on; of several, the weakest.
    pub method: Method,
    /// Changes that a difference was looked for in.
    pub looked_at: u32,
    /// Confidence, 0 to 1, of the intervals of differences that are named; that of all others is
    /// 0.95.
    pub confidence: f64,
    /// Figures that some variant has.
    pub rows: Vec<ComparedFigure>,
    /// Variants that differ from another in one axis of a matrix only, where that other is not the
    /// first variant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub along_axes: Vec<ComparedPair>,
    /// Sentences a reader should know.
    pub notes: Vec<String>,
}

/// A figure of every variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedFigure {
    /// Name, as thresholds have it where they know it.
    pub name: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// Its value in each variant, in their order.
    pub cells: Vec<ComparedCell>,
}

/// A figure of a variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedCell {
    /// Mean over its runs (of times and rates the geometric one); absent where it was not measured.
    pub value: Option<f64>,
    /// In some run operations were cut short, or arrivals never sent, and it is no less.
    pub at_least: bool,
    /// Runs that have it.
    pub runs: u32,
    /// Against the first variant; absent in the first.
    pub change: Option<Change>,
}

impl Comparison {
    /// Compares every variant with the first. Runs that are invalid are left out, and that is
    /// noted. `seed` is that of the bootstrap.
    #[must_use]
    pub fn new(variants: &[VariantRuns<'_>], pairing: Pairing, seed: u64) -> Comparison {
        Comparison::of_matrix(variants, &[], pairing, seed)
    }

    /// As [`Comparison::new`], and along each axis of a matrix: variants that differ in that axis
    /// only. `axes` are [`plan::Campaign::axes`].
    #[must_use]
    pub fn of_matrix(
        variants: &[VariantRuns<'_>],
        axes: &[usize],
        pairing: Pairing,
        seed: u64,
    ) -> Comparison {
        let pairs = matrix::pairs(axes, variants.len());
        Comparison::in_figures(|_| true, variants, &pairs, pairing, seed)
    }

    /// As [`Comparison::new`], of the figures that are asked for: they alone are the family among
    /// which chance has to be told from difference.
    fn in_figures(
        is_asked: impl Fn(&Figure) -> bool,
        variants: &[VariantRuns<'_>],
        pairs: &[MatrixPair],
        pairing: Pairing,
        seed: u64,
    ) -> Comparison {
        let figures: Vec<&Figure> = FIGURES.iter().filter(|figure| is_asked(figure)).collect();
        let mut notes = Vec::new();
        let kept: Vec<VariantRuns<'_>> = variants
            .iter()
            .map(|variant| trusted(variant, &mut notes))
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
        // All of these changes are one family: the more are looked at, the surer each must be.
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

    /// A figure by its name.
    #[must_use]
    pub fn row(&self, name: &str) -> Option<&ComparedFigure> {
        self.rows.iter().find(|row| row.name == name)
    }
}

/// By variant but the first, in their order.
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

/// The weakest method of all; where nothing was found, the one that was meant.
fn weakest(observed: &[&ObservedChange], pairing: Pairing) -> Method {
    let meant = match pairing {
        Pairing::Interleaved => Method::Paired,
        Pairing::Apart => Method::Separate,
    };
    // The enum's order is from the strongest to the weakest.
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

/// Why a figure cannot be compared.
#[derive(Debug, Clone)]
enum NotComparable {
    /// A value is missing, or has no ratio to another: the reason in words.
    Because(String),
    /// No operation of either was counted in it: no difference, and no noise to speak of.
    NoneInEither,
}

/// Without runs that cannot be trusted; what the client limited stays, with a word of warning.
fn trusted<'a>(variant: &VariantRuns<'a>, notes: &mut Vec<String>) -> VariantRuns<'a> {
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
            (evidence::paired(figure, &pairs), pairs.len())
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

/// What the runs of two variants allow.
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

    /// The run, where there is just one.
    fn only(&self) -> Option<&'a Document> {
        let mut runs = self.runs.iter().flatten();
        runs.next().copied().filter(|_| runs.next().is_none())
    }
}

/// The figure in each run that has it.
fn values(figure: &Figure, variant: &VariantRuns<'_>) -> Vec<FigureValue> {
    let runs = variant.runs.iter().flatten();
    runs.filter_map(|run| (figure.of)(run)).collect()
}

/// The figure in each round in which both variants have it.
fn pairs(
    figure: &Figure,
    first: &VariantRuns<'_>,
    other: &VariantRuns<'_>,
) -> Vec<(FigureValue, FigureValue)> {
    let rounds = first.runs.iter().zip(&other.runs);
    rounds
        .filter_map(|(first, other)| (figure.of)((*first)?).zip((figure.of)((*other)?)))
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
        .any(|value| evidence::scaled(figure, value.value).is_none())
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
        name: figure.name.to_owned(),
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

/// Of ratios the geometric mean, whose ratio is the mean of the ratios.
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
