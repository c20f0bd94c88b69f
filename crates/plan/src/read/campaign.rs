//! Reads a whole file: its plan once per variant, and the sections around it.

use crate::read::context::Context;
use crate::read::file_source::{FileSource, Once};
use crate::read::found_problem::{FoundProblem, MAX_PROBLEMS, Merged};
use crate::read::known;
use crate::read::load::AmountSource;
use crate::read::node::{Node, NodeValue, Table};
use crate::read::product::{Overlay, Overlays};
use crate::read::section::PlanSection;
use crate::read::{check_size, one, overlay, product, repeat, search, vars};
use crate::{Campaign, Plan, Problems, Repeat, RowOrder, Search, Settings, Sha256, Variant};
use std::collections::{BTreeMap, BTreeSet};

const SECTIONS: [&str; 4] = ["variants", "matrix", "repeat", "search"];
/// Most bytes of canonical text of all variants' plans together.
const MAX_CANONICAL_BYTES: usize = 64 << 20;
const TOO_MANY_BYTES: &str = "the plans of all variants come to more than 64 MiB; write fewer, or \
                              put bodies into files";

/// Reads a campaign from its text.
pub(crate) fn read(
    text: &str,
    source: &dyn FileSource,
    settings: Settings<'_>,
) -> Result<Campaign, Problems> {
    check_size(text)?;
    let once = Once::new(source);
    let context = Context::new(text, &once, settings, known::cure);
    let Some(Node {
        value: NodeValue::Table(mut base),
        ..
    }) = context.tree()
    else {
        return context.finish(None);
    };
    // What describes the campaign; the rest of the file is the plan that its variants change.
    let mut surroundings: Table = SECTIONS
        .into_iter()
        .filter_map(|key| base.remove_entry(key))
        .collect();
    put_variables_in(&mut surroundings, &base, &context);
    let campaign = {
        let root = PlanSection::new(&context, String::new(), 0, &surroundings);
        let repeat = root
            .section("repeat")
            .map_or_else(Repeat::default, repeat::read);
        let looked_for = read_search(&root);
        let overlays = Overlays::read(&root, repeat.times);
        let axes = overlays.axes.clone();
        let readings = Readings {
            text,
            once: &once,
            settings,
            base: &base,
            looked_for: &looked_for,
        };
        let runs = repeat.runs(overlays.all.len());
        let (variants, mut notes) = readings.all(overlays, &context);
        // Notes on the whole file come before those on single variants.
        notes.splice(0..0, context.take_notes());
        notes.extend(sent_by_each(
            variants.as_deref().unwrap_or_default(),
            runs.len(),
        ));
        variants.map(|variants| Campaign {
            variants,
            axes,
            runs,
            repeat,
            search: looked_for.search(),
            variables: vars::names(&base),
            notes,
        })
    };
    context.finish(campaign)
}

/// Puts the variables of the file into `[repeat]` and `[search]`. Variants have variables of their
/// own, and each reading of a variant reports what is wrong with them.
fn put_variables_in(surroundings: &mut Table, base: &Table, context: &Context<'_>) {
    let silent = context.silent();
    for key in ["repeat", "search"] {
        if let Some(entry) = surroundings.remove(key) {
            let mut alone = base.clone();
            alone.retain(|name, _| name == vars::SECTION);
            alone.insert(key.to_owned(), entry);
            let _ = vars::put_in(&mut alone, &silent);
            surroundings.append(&mut alone);
        }
    }
}

/// The content of `[search]`.
enum LookedFor {
    Nothing,
    /// A search, with its position in the text.
    For(Search, usize),
    /// It is wrong, and has been reported.
    Unknown,
}

impl LookedFor {
    fn amount(&self) -> AmountSource<'_> {
        match self {
            LookedFor::For(Search::Capacity(capacity), _) => AmountSource::Searched(capacity),
            LookedFor::For(Search::Agents(_), _) | LookedFor::Nothing => AmountSource::Own,
            LookedFor::Unknown => AmountSource::Unknown,
        }
    }

    fn search(&self) -> Option<Search> {
        if let LookedFor::For(search, _) = self {
            Some(search.clone())
        } else {
            None
        }
    }
}

fn read_search(root: &PlanSection<'_>) -> LookedFor {
    match root.field("search") {
        None => LookedFor::Nothing,
        Some(field) => match field.section().and_then(search::read) {
            Some(search) => LookedFor::For(search, field.node.at),
            None => LookedFor::Unknown,
        },
    }
}

/// A text that is read for each of its variants.
struct Readings<'a> {
    text: &'a str,
    once: &'a Once<'a>,
    settings: Settings<'a>,
    base: &'a Table,
    looked_for: &'a LookedFor,
}

impl Readings<'_> {
    /// Returns every variant, or `None` if anything is wrong and has been reported to `context`;
    /// and all remarks.
    fn all(
        &self,
        overlays: Overlays,
        context: &Context<'_>,
    ) -> (Option<Vec<Variant>>, Vec<String>) {
        let mut found = Merged::new();
        let mut noted = Merged::new();
        let mut beyond = 0;
        let mut bytes = 0;
        let mut plans = Vec::new();
        for (index, overlay) in overlays.all.iter().enumerate() {
            let inner = Context::new(self.text, self.once, self.settings, known::cure);
            let plan = self.one(overlay, &inner);
            let (findings, more) = inner.take_findings().into_each();
            findings
                .into_iter()
                .for_each(|finding| found.add(index, finding));
            plan.iter()
                .flat_map(|plan| plan.notes.clone())
                .for_each(|note| noted.add(index, note));
            beyond = more.max(beyond);
            bytes += plan
                .as_ref()
                .map_or(self.text.len(), |plan| plan.canonical_text().len());
            plans.push(plan);
            // Further problems would not be shown.
            if found.len() + beyond > MAX_PROBLEMS {
                break;
            }
            if bytes > MAX_CANONICAL_BYTES {
                context.problem("", None, TOO_MANY_BYTES.to_owned());
                break;
            }
        }
        let read = Overlays {
            all: overlays.all.into_iter().take(plans.len()).collect(),
            axes: overlays.axes,
        };
        report(context, found, &read, beyond);
        let mut notes = notes(noted, &read);
        let named = read.all.into_iter().zip(plans);
        let variants: Option<Vec<Variant>> = named.map(variant).collect();
        notes.extend(variants.iter().flat_map(|variants| alike(variants)));
        (variants, notes)
    }

    fn one(&self, overlay: &Overlay, inner: &Context<'_>) -> Option<Plan> {
        vars::check_overlay(self.base, &overlay.table, inner);
        let table = overlay::over(self.base, &overlay.table, inner);
        let plan = one(inner, table, self.looked_for.amount())?;
        match self.looked_for {
            LookedFor::For(search, at) => Some(search::prepare(plan, search, *at, inner)),
            _ => Some(plan),
        }
    }
}

fn variant((overlay, plan): (Overlay, Option<Plan>)) -> Option<Variant> {
    Some(Variant {
        name: overlay.name,
        plan: plan?,
    })
}

/// Remarks, with the variants that they are about unless these are all.
fn notes(noted: Merged<String>, read: &Overlays) -> Vec<String> {
    let note = |(note, of): (String, Vec<usize>)| match read.who(&of) {
        Some(who) => format!("{who}: {note}"),
        None => note,
    };
    noted.each().map(note).collect()
}

fn report(context: &Context<'_>, found: Merged<FoundProblem>, read: &Overlays, beyond: usize) {
    for (FoundProblem { at, path, message }, of) in found.each() {
        let message = read
            .who(&of)
            .map_or(message.clone(), |who| format!("{message} (in {who})"));
        context.problem(&path, at, message);
    }
    context.problems_beyond(beyond);
}

/// Remarks on data files whose rows are to be taken once, and are taken by several runs.
fn sent_by_each(variants: &[Variant], runs: usize) -> Vec<String> {
    let files = variants.iter().flat_map(|variant| variant.plan.data());
    let once = files.filter(|file| file.order == RowOrder::Unique && runs > 1);
    let names: BTreeSet<&str> = once.map(|file| file.name.as_str()).collect();
    let note = |name| {
        format!(
            "data.{name}: each of the {runs} runs begins with its first row again; write \
             --before to put back what the rows change at the server"
        )
    };
    names.into_iter().map(note).collect()
}

/// Remarks on variants whose plans are equal.
fn alike(variants: &[Variant]) -> Vec<String> {
    let mut by_digest: BTreeMap<Sha256, Vec<&str>> = BTreeMap::new();
    for variant in variants {
        by_digest
            .entry(variant.plan.digest())
            .or_default()
            .push(&variant.name);
    }
    let several = by_digest.into_values().filter(|names| names.len() > 1);
    several
        .map(|names| {
            format!(
                "{} are the same plan: what differs between them is noise, unless --before changes \
                 the server",
                product::list(&names)
            )
        })
        .collect()
}
