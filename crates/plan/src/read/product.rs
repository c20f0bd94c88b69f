//! The variants of a file: `[variants]` multiplied by the axes of `[matrix]`.

use crate::Campaign;
use crate::read::axis::{self, Axis};
use crate::read::node::Table;
use crate::read::overlay;
use crate::read::section::PlanSection;
use crate::read::variant::{self, Named};

/// Longer names are cut, so that they fit into folder names.
const MAX_NAME_BYTES: usize = 120;
/// This many variants are named; further ones are only counted.
const MAX_NAMES: usize = 3;

/// The changes of one variant to the file.
pub(crate) struct Overlay {
    /// Unique among the variants.
    pub(crate) name: String,
    pub(crate) table: Table,
    /// Its name in `[variants]`, and its value on each axis.
    labels: Vec<String>,
}

/// All variants of a file, at least one.
pub(crate) struct Overlays {
    pub(crate) all: Vec<Overlay>,
    /// See [`Campaign::axes`].
    pub(crate) axes: Vec<usize>,
}

impl Overlays {
    /// Reads the variants from the sections; only one if there are too many, so that the rest of
    /// the file is still read.
    pub(crate) fn read(root: &PlanSection<'_>, times: u32) -> Overlays {
        let (Some(variants), Some(matrix)) = (root.section("variants"), root.section("matrix"))
        else {
            return Overlays {
                all: vec![product(&variant::without_changes(), &[], 0)],
                axes: Vec::new(),
            };
        };
        let named = variant::read(&variants);
        let axes = axis::read(&matrix);
        check_apart(&named, &axes);
        // Twenty axes of ten values exceed any integer: the count saturates, and is refused below.
        let combinations = axes.iter().fold(1usize, |product, axis| {
            product.saturating_mul(axis.values.len())
        });
        let fits = check_count(root, named.len(), combinations, times);
        let (named, combinations) = if fits {
            (&named[..], combinations)
        } else {
            (&named[..1], 1)
        };
        let lengths = std::iter::once(named.len()).chain(axes.iter().map(|axis| axis.values.len()));
        // An axis with a single value is no axis in tables and comparisons.
        let lengths = lengths.filter(|&length| length > 1).collect();
        let each = named.iter().flat_map(|variant| {
            (0..combinations).map(|combination| product(variant, &axes, combination))
        });
        Overlays {
            all: each
                .enumerate()
                .map(|(index, each)| Overlay {
                    name: short(each.name, index),
                    ..each
                })
                .collect(),
            axes: lengths,
        }
    }

    /// Describes the variants `of` (ascending), by a label that only they have or by their names;
    /// `None` if they are all.
    pub(crate) fn who(&self, of: &[usize]) -> Option<String> {
        if of.len() == self.all.len() {
            return None;
        }
        let labels = of.first().map_or(&[][..], |&first| &self.all[first].labels);
        if let Some(label) = labels.iter().find(|label| self.with(label) == of) {
            return Some(list(&[label]));
        }
        Some(list(
            &of.iter()
                .map(|&index| self.all[index].name.as_str())
                .collect::<Vec<_>>(),
        ))
    }

    fn with(&self, label: &String) -> Vec<usize> {
        let each = self
            .all
            .iter()
            .enumerate()
            .filter(|(_, each)| each.labels.contains(label));
        each.map(|(index, _)| index).collect()
    }
}

/// Combines `variant` with combination number `combination`; the last axis varies fastest.
fn product(variant: &Named, axes: &[Axis<'_>], mut combination: usize) -> Overlay {
    let mut table = variant.table.clone();
    let mut labels = Vec::new();
    for axis in axes.iter().rev() {
        let value = &axis.values[combination % axis.values.len()];
        combination /= axis.values.len();
        overlay::put(
            &mut table,
            &axis.path,
            axis.field.node.at,
            value.node.clone(),
        );
        labels.push(value.label.clone());
    }
    labels.extend(Some(variant.name.clone()).filter(|name| !name.is_empty()));
    labels.reverse();
    let name = if labels.is_empty() {
        Campaign::BASE.to_owned()
    } else {
        labels.join(",")
    };
    Overlay {
        name,
        table,
        labels,
    }
}

fn short(name: String, index: usize) -> String {
    if name.len() <= MAX_NAME_BYTES {
        name
    } else {
        format!("{}~{}", &name[..MAX_NAME_BYTES - 8], index + 1)
    }
}

/// Reports axes that change what a variant sets too.
fn check_apart(named: &[Named], axes: &[Axis<'_>]) {
    for axis in axes {
        if let Some(variant) = named
            .iter()
            .find(|variant| overlay::says(&variant.table, &axis.path))
        {
            axis.field.problem(format_args!(
                "is set by variants.{} too; remove it from one of the two",
                variant.name
            ));
        }
    }
}

fn check_count(root: &PlanSection<'_>, variants: usize, combinations: usize, times: u32) -> bool {
    let most = Campaign::MAX_RUNS;
    let runs = variants
        .saturating_mul(combinations)
        .saturating_mul(times as usize);
    if variants > most {
        root.problem_at(
            "variants",
            format_args!("has {variants} variants; write at most {most}"),
        );
    } else if runs > most {
        let key = ["matrix", "variants", "repeat"]
            .into_iter()
            .find(|key| root.has(key))
            .unwrap_or("repeat");
        let message = format!(
            "comes to {runs} runs ({variants} from [variants] × {combinations} from [matrix] × \
             {times} from [repeat]); write at most {most}"
        );
        root.problem_at(key, message);
    }
    runs <= most
}

/// `variant a`, `variants a, b and c`, `variants a, b, c and 5 more`; names with commas are quoted.
pub(crate) fn list(names: &[&str]) -> String {
    let quoted = |name: &&str| {
        if name.contains(',') {
            format!("{name:?}")
        } else {
            (*name).to_owned()
        }
    };
    let shown: Vec<String> = names.iter().take(MAX_NAMES).map(quoted).collect();
    match shown.as_slice() {
        [one] => format!("variant {one}"),
        [rest @ .., last] if names.len() <= MAX_NAMES => {
            format!("variants {} and {last}", rest.join(", "))
        }
        _ => format!(
            "variants {} and {} more",
            shown.join(", "),
            names.len() - MAX_NAMES
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{Overlay, Overlays, Table, list};

    #[test]
    fn variants_are_told_apart_by_what_they_share() {
        let overlay = |name: &str, version: &str| {
            let labels = vec![name.to_owned(), version.to_owned()];
            Overlay {
                name: labels.join(","),
                table: Table::new(),
                labels,
            }
        };
        let all = vec![
            overlay("a", "v=2"),
            overlay("a", "v=3"),
            overlay("b", "v=2"),
            overlay("b", "v=3"),
        ];
        let axes = vec![2, 2];
        let overlays = Overlays { all, axes };
        let cases: [(&[usize], Option<&str>); 5] = [
            (&[0, 1, 2, 3], None),
            (&[0, 1], Some("variant a")),
            (&[1, 3], Some("variant v=3")),
            (&[2], Some("variant \"b,v=2\"")),
            (&[0, 3], Some("variants \"a,v=2\" and \"b,v=3\"")),
        ];
        for (of, who) in cases {
            assert_eq!(overlays.who(of).as_deref(), who, "{of:?}");
        }
    }

    #[test]
    fn many_names_are_counted() {
        assert_eq!(list(&["a", "b", "c"]), "variants a, b and c");
        assert_eq!(
            list(&["a", "b", "c", "d", "e"]),
            "variants a, b, c and 2 more"
        );
    }
}
