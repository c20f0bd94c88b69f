//! The differences between two plans that matter to a comparison of their runs.

use crate::{LoadRecord, PlanRecord};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use toml_edit::{DocumentMut, Item, TableLike, Value};

/// Sections that decide what is measured; the others (name, thresholds, search, …) decide how it is
/// judged.
const MATTERS: [&str; 7] = [
    "target",
    "request",
    "journey",
    "replay",
    "connection",
    "tls",
    "load",
];

/// Fields in these sections that do not matter: the seed of random numbers, and the address at
/// which a built-in target happens to listen.
const IGNORED: [&str; 2] = ["load.seed", "target.builtin.at"];

/// Fields that searches vary.
const AMOUNTS: [&str; 2] = ["load.rate", "load.connections"];

/// The CA of a built-in target, which is created anew for each run.
const BUILTIN_CA: &str = "tls.ca";

/// A field that differs between two plans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanDifference {
    /// Path of the field, such as `tls.versions` or `request[1].method`.
    pub path: String,
    /// Value in the first plan; absent if it has no such field.
    pub first: Option<String>,
    /// Value in the other plan; absent if it has no such field.
    pub other: Option<String>,
}

impl PlanDifference {
    /// Lists every field that differs and matters, by path. Plans are compared with their defaults
    /// written out if both records have them so, otherwise as they were written.
    #[must_use]
    pub fn between(first: &PlanRecord, other: &PlanRecord) -> Vec<PlanDifference> {
        PlanDifference::within(&MATTERS, &IGNORED, first, other)
    }

    /// Lists the differences between runs that are repeats of one another: these have the same
    /// content of each data file too. Runs of two nights may well send fresh rows.
    #[must_use]
    pub fn between_repeats(first: &PlanRecord, other: &PlanRecord) -> Vec<PlanDifference> {
        let matters = [&MATTERS[..], &["data"]].concat();
        PlanDifference::within(&matters, &IGNORED, first, other)
    }

    /// Lists the differences between holds of two searches. The amount held is left out, since each
    /// search chooses it; the thresholds count, since they decide what a search finds.
    #[must_use]
    pub fn between_searches(first: &PlanRecord, other: &PlanRecord) -> Vec<PlanDifference> {
        let matters = [&MATTERS[..], &["thresholds"]].concat();
        let mut ignored = [&IGNORED[..], &AMOUNTS].concat();
        let is_closed = |plan: &PlanRecord| matches!(plan.load, LoadRecord::Closed { .. });
        // Users who share connections are what a search of a closed loop varies.
        if is_closed(first) && is_closed(other) {
            ignored.push("load.users");
        }
        PlanDifference::within(&matters, &ignored, first, other)
    }

    fn within(
        matters: &[&str],
        ignored: &[&str],
        first: &PlanRecord,
        other: &PlanRecord,
    ) -> Vec<PlanDifference> {
        if first.digest == other.digest {
            return Vec::new();
        }
        let (text_first, text_other) = comparable_texts(first, other);
        let first_fields = fields(&text_first, matters);
        let other_fields = fields(&text_other, matters);
        let both_builtin = first.builtin_target && other.builtin_target;
        let is_ignored =
            |path: &str| ignored.contains(&path) || (both_builtin && path.starts_with(BUILTIN_CA));
        let paths: BTreeSet<&String> = first_fields.keys().chain(other_fields.keys()).collect();
        paths
            .into_iter()
            .filter(|path| !is_ignored(path))
            .map(|path| PlanDifference {
                path: path.clone(),
                first: first_fields.get(path).cloned(),
                other: other_fields.get(path).cloned(),
            })
            .filter(|field| field.first != field.other)
            .collect()
    }

    /// Formats the difference like `tls.versions: ["1.2"] and ["1.3"]`.
    #[must_use]
    pub fn display(&self) -> String {
        let first = self.first.as_deref().unwrap_or("nothing");
        let other = self.other.as_deref().unwrap_or("nothing");
        format!("{}: {first} and {other}", self.path)
    }
}

/// Returns the canonical texts if both records have one, so that a default written out is no
/// difference.
fn comparable_texts<'r>(
    first: &'r PlanRecord,
    other: &'r PlanRecord,
) -> (Cow<'r, str>, Cow<'r, str>) {
    if first.canonical_text.is_empty() || other.canonical_text.is_empty() {
        // A result of an earlier version, which masked the canonical text only.
        let masked = |record: &PlanRecord| Cow::Owned(plan::mask_secrets(&record.text));
        (masked(first), masked(other))
    } else {
        let canonical = |record: &'r PlanRecord| Cow::Borrowed(record.canonical_text.as_str());
        (canonical(first), canonical(other))
    }
}

/// Lists every value of the sections that matter, by path. A text that is not TOML has none.
fn fields(text: &str, matters: &[&str]) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    if let Ok(document) = text.parse::<DocumentMut>() {
        let sections = document
            .as_table()
            .iter()
            .filter(|(name, _)| matters.contains(name));
        sections.for_each(|(name, item)| item_fields(&mut fields, name, item));
    }
    fields
}

fn item_fields(fields: &mut BTreeMap<String, String>, path: &str, item: &Item) {
    match item {
        Item::None => {}
        Item::Value(Value::InlineTable(table)) => table_fields(fields, path, table),
        Item::Value(value) => {
            fields.insert(path.to_owned(), value.clone().decorated("", "").to_string());
        }
        Item::Table(table) => table_fields(fields, path, table),
        Item::ArrayOfTables(tables) => {
            tables.iter().enumerate().for_each(|(index, table)| {
                table_fields(fields, &format!("{path}[{index}]"), table)
            });
        }
    }
}

fn table_fields(fields: &mut BTreeMap<String, String>, path: &str, table: &dyn TableLike) {
    table
        .iter()
        .for_each(|(name, item)| item_fields(fields, &format!("{path}.{name}"), item));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(text: &str, digest: &str) -> PlanRecord {
        PlanRecord {
            text: text.to_owned(),
            canonical_text: text.to_owned(),
            digest: digest.to_owned(),
            url: String::new(),
            builtin_target: text.contains("builtin"),
            stages: Vec::new(),
            load: LoadRecord::Closed {
                max_connections: None,
                connections: 1,
                think_time: false,
                stages: 0,
            },
            requests_per_connection: None,
            streams: None,
            tls: None,
        }
    }

    fn between(first: &str, other: &str) -> Vec<String> {
        PlanDifference::between(&record(first, "a"), &record(other, "b"))
            .iter()
            .map(PlanDifference::display)
            .collect()
    }

    #[test]
    fn differences_are_listed_by_path() {
        let first = "name = \"x\"\n[target]\nurl = \"https://a/\"\n[tls]\nversions = \
                     [\"1.2\"]\n[[request]]\nmethod = \"GET\"\n[load]\nrate = \"1/s\"\nseed = \
                     1\n[thresholds]\nrate = \">= 1\"\n";
        let other = "name = \"y\"\n[target]\nurl = \"https://b/\"\n[tls]\nversions = [ \"1.3\" ] \
                     # why\n[[request]]\nmethod = \"GET\"\n[[request]]\nweight = 2\n[load]\nrate \
                     = \"1/s\"\nseed = 2\n";
        assert_eq!(
            between(first, other),
            [
                "request[1].weight: nothing and 2",
                "target.url: \"https://a/\" and \"https://b/\"",
                "tls.versions: [\"1.2\"] and [ \"1.3\" ]",
            ]
        );
        assert_eq!(between(first, first), [""; 0]);
    }

    #[test]
    fn journeys_and_replays_are_loads_and_repeats_have_the_same_data() {
        let journey = |rate: &str| format!("[[journey]]\nload = {{ rate = \"{rate}/s\" }}\n");
        assert_eq!(
            between(&journey("5"), &journey("50")),
            ["journey[0].load.rate: \"5/s\" and \"50/s\""]
        );
        assert_eq!(
            between("[replay]\nspeed = 1.0", "[replay]\nspeed = 4.0"),
            ["replay.speed: 1.0 and 4.0"]
        );
        let [first, other] = ["aa", "bb"].map(|sha256| {
            let data = format!("[data.users]\nfile = {{ sha256 = \"{sha256}\" }}\n");
            record(&data, sha256)
        });
        assert_eq!(PlanDifference::between(&first, &other), []);
        let repeats = PlanDifference::between_repeats(&first, &other);
        let repeats: Vec<String> = repeats.iter().map(PlanDifference::display).collect();
        assert_eq!(repeats, ["data.users.file.sha256: \"aa\" and \"bb\""]);
    }

    #[test]
    fn quoted_bare_and_inline_paths_are_one() {
        assert_eq!(
            between("tls.verify = \"none\"", "[tls]\nverify = \"none\""),
            [""; 0]
        );
        assert_eq!(
            between("tls = { verify = \"none\" }", "tls.verify = \"full\""),
            ["tls.verify: \"none\" and \"full\""]
        );
    }

    #[test]
    fn built_in_target_may_listen_elsewhere_with_another_ca() {
        let at = |port: u32, ca: &str| {
            format!(
                "[target]\nbuiltin = {{ tls = true, at = \"https://127.0.0.1:{port}/\" \
                 }}\n[tls]\nca = {{ sha256 = \"{ca}\" }}\n"
            )
        };
        assert_eq!(between(&at(1000, "aa"), &at(2000, "bb")), [""; 0]);
        assert_eq!(
            between("[tls]\nca = \"a.pem\"", "[tls]\nca = \"b.pem\"").len(),
            1
        );
    }

    #[test]
    fn searches_differ_by_what_had_to_hold_and_not_by_what_was_held() {
        let hold = |rate: u32, limit: u32| {
            record(
                &format!(
                    "[load]\nrate = \"{rate}/s\"\nwarm_up = \
                     \"1s\"\n[thresholds]\n\"errors.count\" = \"<= {limit}\"\n"
                ),
                &format!("{rate} {limit}"),
            )
        };
        let between = |first, other| -> Vec<String> {
            PlanDifference::between_searches(&first, &other)
                .iter()
                .map(PlanDifference::display)
                .collect()
        };
        assert_eq!(between(hold(100, 0), hold(200, 0)), [""; 0]);
        assert_eq!(
            between(hold(100, 0), hold(100, 9)),
            ["thresholds.errors.count: \"<= 0\" and \"<= 9\""]
        );
        let users = |users: u32| record(&format!("[load]\nusers = {users}\n"), &users.to_string());
        assert_eq!(between(users(10), users(20)), [""; 0]);
    }

    #[test]
    fn equal_digests_need_no_text_and_no_toml_is_no_panic() {
        assert_eq!(
            PlanDifference::between(&record("[tls]\na = 1", "a"), &record("[tls]\na = 2", "a")),
            []
        );
        assert_eq!(between("[[[", "]"), [""; 0]);
    }
}
