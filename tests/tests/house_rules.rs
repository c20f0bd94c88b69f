//! The workspace's own rules: who may depend on whom, and what must never come in.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Packages of tests, which may name whom they like.
const FREE: [&str; 2] = ["interop", "benches"];

/// What each of the others may name, in code that ships.
const MAY_NAME: [(&str, &[&str]); 12] = [
    ("secret", &[]),
    ("plan", &["secret"]),
    ("measure", &[]),
    ("proto", &[]),
    ("target", &[]),
    ("host", &["measure"]),
    ("control", &["proto", "secret"]),
    ("engine", &["plan", "measure"]),
    ("analysis", &["plan", "measure"]),
    ("report", &["plan", "measure", "analysis"]),
    (
        "agent",
        &[
            "control", "proto", "plan", "engine", "measure", "host", "secret",
        ],
    ),
    (
        "coordinator",
        &[
            "control", "proto", "plan", "measure", "host", "analysis", "report", "agent", "target",
            "secret",
        ],
    ),
];

/// Crates that must not stand in what a package is built of, however deep.
const MUST_NOT_CONTAIN: [(&str, &[&str]); 7] = [
    ("plan", &["tokio", "rustls", "hyper"]),
    ("measure", &["tokio", "rustls", "hyper"]),
    // `proto` without its feature `service` is messages only.
    ("control", &["tokio", "tonic", "rustls"]),
    ("host", &["tokio"]),
    ("analysis", &["tokio", "control", "proto"]),
    ("report", &["tokio", "engine", "control"]),
    ("engine", &["tonic", "control", "proto"]),
];

/// Names that say nothing, and so gather everything.
const EMPTY_NAMES: [&str; 7] = [
    "util", "utils", "common", "helper", "helpers", "misc", "shared",
];

fn cargo(arguments: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "cargo {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// The workspace's packages, each with its dependencies in code that ships (not in tests or build
/// scripts).
fn packages() -> BTreeMap<String, BTreeSet<String>> {
    let metadata: Value =
        serde_json::from_str(&cargo(&["metadata", "--format-version", "1", "--no-deps"])).unwrap();
    let dependencies = |package: &Value| {
        let all = package["dependencies"].as_array().unwrap();
        let shipped = all.iter().filter(|dependency| dependency["kind"].is_null());
        shipped
            .map(|dependency| dependency["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .map(|package| {
            (
                package["name"].as_str().unwrap().to_owned(),
                dependencies(package),
            )
        })
        .collect()
}

#[test]
fn packages_name_only_whom_they_may() {
    let packages = packages();
    for (package, dependencies) in packages
        .iter()
        .filter(|(package, _)| !FREE.contains(&package.as_str()))
    {
        let rule = MAY_NAME.iter().find(|(name, _)| name == package);
        let (_, allowed) = rule.unwrap_or_else(|| {
            panic!(
                "{package} is new: say in this test, and in docs/ARCHITECTURE.md, whom it may name"
            )
        });
        let ours = dependencies
            .iter()
            .filter(|dependency| packages.contains_key(*dependency));
        let wrong: Vec<_> = ours
            .filter(|dependency| !allowed.contains(&dependency.as_str()))
            .collect();
        assert!(
            wrong.is_empty(),
            "{package} may name {allowed:?}, and names {wrong:?}"
        );
    }
    for (name, _) in MAY_NAME {
        assert!(
            packages.contains_key(name),
            "{name} is in this test and not in the workspace"
        );
    }
}

#[test]
fn nothing_forbidden_comes_in_by_a_third_party() {
    for (package, forbidden) in MUST_NOT_CONTAIN {
        let tree = cargo(&[
            "tree",
            "--locked",
            "--package",
            package,
            "--edges",
            "normal",
            "--prefix",
            "none",
        ]);
        let contained: BTreeSet<&str> = tree
            .lines()
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        assert!(
            contained.contains(package),
            "not a tree of {package}: {tree}"
        );
        let wrong: Vec<_> = forbidden
            .iter()
            .filter(|name| contained.contains(*name))
            .collect();
        assert!(
            wrong.is_empty(),
            "{package} contains {wrong:?}; `cargo tree -p {package} -i {}` shows why",
            wrong[0]
        );
    }
}

#[test]
fn no_package_and_no_module_has_a_name_that_says_nothing() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let listed = Command::new("git")
        .args(["ls-files", "*.rs", "*Cargo.toml"])
        .current_dir(root)
        .output();
    let paths = listed
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default();
    let names = packages().into_keys();
    let parts = paths.lines().flat_map(|path| {
        path.split('/')
            .map(|part| part.trim_end_matches(".rs").to_owned())
    });
    let empty: BTreeSet<String> = names
        .chain(parts)
        .filter(|name| EMPTY_NAMES.contains(&name.as_str()))
        .collect();
    assert!(empty.is_empty(), "{empty:?}: name what is in it");
}
