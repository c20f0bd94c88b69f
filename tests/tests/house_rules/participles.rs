//! How many functions are named by a participle: `ended(x)` says neither what it does nor what it
//! returns. In rustls, nextest and quinn-proto these are 12 to 24 of 1,000 functions.

use super::functions::functions;
use super::{packages_folders, shipped};
use std::collections::BTreeMap;

/// Functions in 1,000 whose name begins with a participle. Only ever lower it.
const MOST_PER_MILLE: f64 = 30.1;

/// Words that end like a participle and are none.
const NO_PARTICIPLES: [&str; 17] = [
    "bed",
    "bleed",
    "breed",
    "embed",
    "exceed",
    "feed",
    "heed",
    "indeed",
    "malformed",
    "need",
    "proceed",
    "red",
    "seed",
    "shed",
    "speed",
    "succeed",
    "weed",
];

/// Participles that do not end in "-ed". Words that are verbs or nouns as well, such as `cut`,
/// `put`, `read`, `run`, `set` and `split`, are not listed.
const IRREGULAR: [&str; 67] = [
    "begun",
    "bent",
    "bought",
    "bound",
    "brought",
    "built",
    "caught",
    "chosen",
    "dealt",
    "done",
    "drawn",
    "driven",
    "fallen",
    "fed",
    "felt",
    "forgotten",
    "fought",
    "found",
    "frozen",
    "given",
    "gone",
    "grown",
    "heard",
    "held",
    "hidden",
    "kept",
    "known",
    "laid",
    "led",
    "left",
    "lent",
    "lost",
    "made",
    "meant",
    "met",
    "overdrawn",
    "paid",
    "proven",
    "redrawn",
    "said",
    "seen",
    "sent",
    "shown",
    "sold",
    "sought",
    "spent",
    "spoken",
    "spun",
    "stood",
    "struck",
    "sung",
    "swept",
    "swung",
    "taken",
    "taught",
    "thought",
    "thrown",
    "told",
    "torn",
    "understood",
    "undone",
    "unsent",
    "unshown",
    "withdrawn",
    "woken",
    "won",
    "written",
];

/// Whether the first word of a function's name is a participle.
fn begins_with_a_participle(name: &str) -> bool {
    let word = name.split('_').next().unwrap_or_default();
    IRREGULAR.contains(&word)
        || (word.len() > 3 && word.ends_with("ed") && !NO_PARTICIPLES.contains(&word))
}

#[test]
fn functions_are_named_by_verbs_and_nouns() {
    let mut count = 0;
    let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (package, folder) in packages_folders() {
        for (_, text) in shipped(&folder) {
            let names = functions(&text).into_iter().map(|(name, _)| name);
            let names: Vec<String> = names.collect();
            count += names.len();
            let wrong = names
                .into_iter()
                .filter(|name| begins_with_a_participle(name));
            named.entry(package.clone()).or_default().extend(wrong);
        }
    }
    assert!(count > 2_000, "{count} functions");
    let all: usize = named.values().map(Vec::len).sum();
    let per_mille = all as f64 * 1e3 / count as f64;
    assert!(
        per_mille <= MOST_PER_MILLE,
        "{all} of {count} functions ({per_mille:.1} in 1,000, at most {MOST_PER_MILLE}) begin with \
         a participle; begin with a verb (`judge`, `is_…`, `with_…`), or name what is returned \
         (`verdict`): {named:#?}"
    );
    println!("{all} of {count}: {per_mille:.1} in 1,000");
}

#[test]
fn participles_are_told_from_verbs_and_nouns() {
    let participles = [
        "ended",
        "said",
        "told_by",
        "masked_text",
        "sent_bytes",
        "torn",
    ];
    assert!(participles.into_iter().all(begins_with_a_participle));
    let others = [
        "end",
        "feed",
        "needed",
        "seed_of",
        "embed",
        "read_rows",
        "set",
        "red",
        "is_ended",
    ];
    let wrong = others
        .into_iter()
        .filter(|name| begins_with_a_participle(name));
    assert_eq!(wrong.collect::<Vec<_>>(), ["needed"]);
}
