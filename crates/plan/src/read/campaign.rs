//! Reads a whole file: its plan once for each variant, and what surrounds them.

use crate::read::axis::{self, Axis};
use crate::read::context::Context;
use crate::read::finding::{Finding, MAX_PROBLEMS, Merged};
use crate::read::load::Amount;
use crate::read::node::{Node, Table, Value};
use crate::read::section::Section;
use crate::read::source::{Once, Source};
use crate::read::variant::{self, Named};
use crate::read::{check_size, one, overlay, repeat, search};
use crate::{Campaign, Plan, Problems, Repeat, Search, Sha256, Variant};
use std::collections::BTreeMap;

const SECTIONS: [&str; 4] = ["variants", "matrix", "repeat", "search"];
/// Plans of all variants together, as canonical text.
const MAX_CANONICAL_BYTES: usize = 64 << 20;
/// Longer names are cut, so that folders can have them.
const MAX_NAME_BYTES: usize = 120;

/// Reads a campaign from text.
pub(crate) fn read(text: &str, source: &dyn Source) -> Result<Campaign, Problems> {
    check_size(text)?;
    let once = Once::new(source);
    let context = Context::new(text, &once);
    let Some(Node { value: Value::Table(mut base), .. }) = context.tree() else { return context.finish(None) };
    let around: Table = SECTIONS.into_iter().filter_map(|key| base.remove_entry(key)).collect();
    let campaign = {
        let around = Section::new(&context, String::new(), 0, &around);
        let repeat = around.section("repeat").map_or_else(Repeat::default, repeat::read);
        let looked_for = looked_for(&around);
        let overlays = overlays(&around, repeat);
        let readings = Readings { text, once: &once, base: &base, looked_for: &looked_for };
        let (variants, mut notes) = readings.all(&overlays, &context);
        notes.splice(0..0, context.take_notes());
        let runs = repeat.runs(overlays.len());
        variants.map(|variants| Campaign { variants, runs, repeat, search: looked_for.search(), notes })
    };
    context.finish(campaign)
}

/// What `[search]` says.
enum LookedFor {
    Nothing,
    /// With its place.
    For(Search, usize),
    /// Something is wrong with it, and reported.
    Unknown,
}

impl LookedFor {
    fn amount(&self) -> Amount<'_> {
        match self {
            LookedFor::For(Search::Capacity(capacity), _) => Amount::Searched(capacity),
            LookedFor::For(Search::Agents(_), _) | LookedFor::Nothing => Amount::Own,
            LookedFor::Unknown => Amount::Unknown,
        }
    }

    fn search(&self) -> Option<Search> {
        if let LookedFor::For(search, _) = self { Some(search.clone()) } else { None }
    }
}

fn looked_for(around: &Section<'_>) -> LookedFor {
    match around.field("search") {
        None => LookedFor::Nothing,
        Some(field) => match field.section().and_then(search::read) {
            Some(search) => LookedFor::For(search, field.node.at),
            None => LookedFor::Unknown,
        },
    }
}

/// What `[variants]` and `[matrix]` lay over the file, at least one, each with a name of its own.
fn overlays(around: &Section<'_>, repeat: Repeat) -> Vec<Named> {
    let (Some(variants), Some(matrix)) = (around.section("variants"), around.section("matrix")) else {
        return vec![Named { name: Campaign::BASE.to_owned(), table: Table::new() }];
    };
    let (named, axes) = (variant::read(&variants), axis::read(&matrix));
    check_apart(&named, &axes);
    let combinations = axes.iter().fold(1usize, |product, axis| product.saturating_mul(axis.values.len()));
    let fits = check_count(around, &named, combinations, repeat.times);
    let combinations = if fits { combinations } else { 1 };
    let named = if fits { &named[..] } else { &named[..1] };
    let product = named.iter().flat_map(|variant| (0..combinations).map(|combination| product(variant, &axes, combination)));
    product.enumerate().map(|(index, named)| Named { name: short(named.name, index), ..named }).collect()
}

/// `variant` with combination number `combination`, in which the last axis moves first.
fn product(variant: &Named, axes: &[Axis<'_>], mut combination: usize) -> Named {
    let (mut table, mut labels) = (variant.table.clone(), Vec::new());
    for axis in axes.iter().rev() {
        let value = &axis.values[combination % axis.values.len()];
        combination /= axis.values.len();
        overlay::put(&mut table, &axis.path, axis.field.node.at, value.node.clone());
        labels.push(value.label.as_str());
    }
    labels.extend(Some(variant.name.as_str()).filter(|name| !name.is_empty()));
    labels.reverse();
    let name = if labels.is_empty() { Campaign::BASE.to_owned() } else { labels.join(",") };
    Named { name, table }
}

fn short(name: String, index: usize) -> String {
    if name.len() <= MAX_NAME_BYTES { name } else { format!("{}~{}", &name[..MAX_NAME_BYTES - 8], index + 1) }
}

/// An axis moves what no variant sets.
fn check_apart(named: &[Named], axes: &[Axis<'_>]) {
    for axis in axes {
        if let Some(variant) = named.iter().find(|variant| overlay::says(&variant.table, &axis.path)) {
            axis.field.problem(format_args!("is set by variants.{} too; remove it from one of the two", variant.name));
        }
    }
}

fn check_count(around: &Section<'_>, named: &[Named], combinations: usize, times: u32) -> bool {
    let (variants, most) = (named.len(), Campaign::MAX_RUNS);
    let runs = variants.saturating_mul(combinations).saturating_mul(times as usize);
    if variants > most {
        around.problem_at("variants", format_args!("has {variants} variants; write at most {most}"));
    } else if runs > most {
        let key = ["matrix", "variants", "repeat"].into_iter().find(|key| around.has(key)).unwrap_or("repeat");
        let message = format!(
            "comes to {runs} runs ({variants} from [variants] × {combinations} from [matrix] × {times} from [repeat]); write at most {most}"
        );
        around.problem_at(key, message);
    }
    runs <= most
}

/// One text, read for each of its variants.
struct Readings<'a> {
    text: &'a str,
    once: &'a Once<'a>,
    base: &'a Table,
    looked_for: &'a LookedFor,
}

impl Readings<'_> {
    /// Every variant, or `None` where something is wrong and reported to `context`; and every remark.
    fn all(&self, overlays: &[Named], context: &Context<'_>) -> (Option<Vec<Variant>>, Vec<String>) {
        let (mut found, mut noted, mut beyond, mut bytes) = (Merged::new(), Merged::new(), 0, 0);
        let mut plans = Vec::new();
        for (index, overlay) in overlays.iter().enumerate() {
            let inner = Context::new(self.text, self.once);
            let plan = self.one(overlay, &inner);
            let (findings, more) = inner.take_findings().into_each();
            findings.into_iter().for_each(|finding| found.add(index, finding));
            plan.iter().flat_map(|plan| plan.notes.clone()).for_each(|note| noted.add(index, note));
            beyond = more.max(beyond);
            bytes += plan.as_ref().map_or(self.text.len(), |plan| plan.canonical_text().len());
            plans.push(plan);
            if found.len() >= MAX_PROBLEMS {
                break;
            }
            if bytes > MAX_CANONICAL_BYTES {
                context.problem(
                    "",
                    None,
                    "the plans of all variants come to more than 64 MiB; write fewer, or put bodies into files".to_owned(),
                );
                break;
            }
        }
        let names: Vec<&str> = overlays[..plans.len()].iter().map(|overlay| overlay.name.as_str()).collect();
        report(context, found, &names, beyond);
        let named = noted.named(&names).map(|(note, who)| who.map_or(note.clone(), |who| format!("{who}: {note}")));
        let mut notes: Vec<String> = named.collect();
        let variant = |(name, plan): (&&str, Option<Plan>)| Some(Variant { name: (*name).to_owned(), plan: plan? });
        let variants: Option<Vec<Variant>> = names.iter().zip(plans).map(variant).collect();
        notes.extend(variants.iter().flat_map(|variants| alike(variants)));
        (variants, notes)
    }

    fn one(&self, overlay: &Named, inner: &Context<'_>) -> Option<Plan> {
        let table = overlay::over(self.base, &overlay.table, inner);
        let plan = one(inner, &table, self.looked_for.amount())?;
        match self.looked_for {
            LookedFor::For(search, at) => Some(search::prepared(plan, search, *at, inner)),
            _ => Some(plan),
        }
    }
}

fn report(context: &Context<'_>, found: Merged<Finding>, names: &[&str], beyond: usize) {
    for (Finding { at, path, message }, who) in found.named(names) {
        let message = who.map_or(message.clone(), |who| format!("{message} (in {who})"));
        context.problem(&path, at, message);
    }
    context.problems_beyond(beyond);
}

/// Remarks on variants that are one plan.
fn alike(variants: &[Variant]) -> Vec<String> {
    let mut by_digest: BTreeMap<Sha256, Vec<&str>> = BTreeMap::new();
    for variant in variants {
        by_digest.entry(variant.plan.digest()).or_default().push(&variant.name);
    }
    let several = by_digest.into_values().filter(|names| names.len() > 1);
    several
        .map(|names| format!("{} are the same plan: what differs between them is noise", super::finding::list(&names)))
        .collect()
}
