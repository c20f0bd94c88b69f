//! All runs that a file asks for, in order.

use crate::{Plan, Repeat, Run, Search, Sha256};
use std::collections::BTreeSet;

/// Everything that a file asks for: single runs in order, each with a checked [`Plan`], and an
/// optional search within each of them.
///
/// A file without `[variants]`, `[matrix]`, `[repeat]` and `[search]` is one run of one variant.
/// With them, `[variants]` and `[matrix]` turn the rest of the file into variants, and each round
/// of `[repeat]` runs every variant once. Only single plans cross the wire, never a campaign.
#[derive(Debug, Clone, PartialEq)]
pub struct Campaign {
    pub(crate) variants: Vec<Variant>,
    pub(crate) axes: Vec<usize>,
    pub(crate) runs: Vec<Run>,
    pub(crate) repeat: Repeat,
    pub(crate) search: Option<Search>,
    pub(crate) variables: Vec<String>,
    pub(crate) notes: Vec<String>,
}

/// One of the ways in which a file's plan is run.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// For example `http`, `tls.versions=1.3` or `http,tls.versions=1.3`; `base` if the file has
    /// neither variants nor matrix. Unique in its campaign, and valid as a folder's name.
    pub name: String,
    /// Its plan; with [`Search::Capacity`] that of the first hold, with [`Search::Agents`] the load
    /// of one agent.
    pub plan: Plan,
}

impl Campaign {
    /// Most runs of one file.
    pub const MAX_RUNS: usize = 500;

    /// Name of the variant that changes nothing.
    pub const BASE: &str = "base";

    /// Makes a campaign of one plan that runs once.
    #[must_use]
    pub fn from_plan(plan: Plan) -> Campaign {
        let repeat = Repeat::default();
        let notes = plan.notes.clone();
        let variants = vec![Variant {
            name: Campaign::BASE.to_owned(),
            plan,
        }];
        Campaign {
            runs: repeat.runs(1),
            variants,
            axes: Vec::new(),
            repeat,
            search: None,
            variables: Vec::new(),
            notes,
        }
    }

    /// Name of the plan, the same in every variant; valid as a folder's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.variants
            .first()
            .map_or("", |variant| variant.plan.name())
    }

    /// SHA-256 of the digests of all variants. It distinguishes campaigns whose saved texts are
    /// equal, since the values of secret headers are not saved.
    #[must_use]
    pub fn digest(&self) -> Sha256 {
        let digests = self
            .variants()
            .iter()
            .map(|variant| variant.plan.digest().0);
        Sha256::hash(&digests.flatten().collect::<Vec<u8>>())
    }

    /// Names of what the saved texts do not determine, each once: secrets of all variants, as in
    /// [`Plan::secrets`], and variables in braces.
    #[must_use]
    pub fn unsaved_values(&self) -> Vec<String> {
        let plans = self.variants().iter().map(|variant| &variant.plan);
        let variables = self.variables.iter().map(|name| format!("{{{name}}}"));
        let names: BTreeSet<_> = plans.flat_map(Plan::secrets).chain(variables).collect();
        names.into_iter().collect()
    }

    /// The variants that are compared: at least one, in the file's order.
    #[must_use]
    pub fn variants(&self) -> &[Variant] {
        &self.variants
    }

    /// The sizes of the axes that have more than one value: `[variants]` first, then `[matrix]` in
    /// its order. Their product is the number of variants, among which the last axis varies
    /// fastest.
    #[must_use]
    pub fn axes(&self) -> &[usize] {
        &self.axes
    }

    /// All runs in order; at least one, at most [`Campaign::MAX_RUNS`].
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The variant of a run of this campaign.
    ///
    /// # Panics
    /// Panics if `run` belongs to a campaign with more variants.
    #[must_use]
    pub fn variant(&self, run: Run) -> &Variant {
        &self.variants[run.variant]
    }

    /// The plan itself, if the file asks for a single run and no search.
    #[must_use]
    pub fn single(&self) -> Option<&Plan> {
        if self.runs.len() == 1 && self.search.is_none() {
            self.variants.first().map(|variant| &variant.plan)
        } else {
            None
        }
    }

    /// How often, in which order and with which pause the variants run.
    #[must_use]
    pub fn repeat(&self) -> Repeat {
        self.repeat
    }

    /// The search that is done in place of each run.
    #[must_use]
    pub fn search(&self) -> Option<&Search> {
        self.search.as_ref()
    }

    /// Remarks on the text: those that concern every variant as they are, others with the names of
    /// their variants.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}
