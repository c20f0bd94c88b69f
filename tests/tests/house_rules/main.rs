//! The workspace's rules for its own code: which packages may depend on which, what must stay out,
//! and more.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod circles;
mod english;
mod events;
mod functions;
mod participles;

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packages of tests, which may name any package.
const FREE: [&str; 3] = ["interop", "benches", "fuzz"];

/// Their folders.
const FREE_FOLDERS: [&str; 3] = ["tests/", "benches/", "fuzz/"];

/// The packages that each of the others may name in code that ships.
const MAY_NAME: [(&str, &[&str]); 18] = [
    ("command_line", &[]),
    ("secret", &[]),
    ("data", &[]),
    ("plan", &["data", "measure", "secret", "traffic"]),
    ("measure", &[]),
    ("proto", &[]),
    ("protobuf", &["plan"]),
    ("target", &[]),
    ("host", &[]),
    ("control", &["measure", "proto", "secret"]),
    ("engine", &["data", "plan", "measure", "secret"]),
    ("analysis", &["plan", "measure"]),
    ("report", &["measure", "analysis"]),
    ("traffic", &["measure"]),
    ("exposition", &["analysis", "report", "secret"]),
    (
        "run_folder",
        &["analysis", "control", "measure", "plan", "report"],
    ),
    (
        "agent",
        &[
            "command_line",
            "control",
            "proto",
            "plan",
            "engine",
            "measure",
            "host",
            "secret",
            "target",
        ],
    ),
    (
        "coordinator",
        &[
            "command_line",
            "control",
            "proto",
            "plan",
            "measure",
            "host",
            "analysis",
            "report",
            "agent",
            "target",
            "secret",
            "traffic",
            "protobuf",
            "exposition",
            "run_folder",
        ],
    ),
];

/// Crates that a package must not contain, not even through its dependencies.
const MUST_NOT_CONTAIN: [(&str, &[&str]); 12] = [
    ("plan", &["tokio", "rustls", "hyper"]),
    ("measure", &["tokio", "rustls", "hyper"]),
    // Without its feature `service`, `proto` is only messages.
    ("control", &["tokio", "tonic", "rustls"]),
    ("host", &["tokio"]),
    ("analysis", &["tokio", "control", "proto"]),
    ("report", &["tokio", "engine", "control"]),
    ("engine", &["tonic", "control", "proto"]),
    ("traffic", &["tokio", "rustls", "hyper"]),
    ("protobuf", &["tokio", "rustls", "hyper"]),
    // Messages are encoded where plans are read.
    ("agent", &["prost-reflect"]),
    ("exposition", &["tonic", "control", "proto"]),
    ("run_folder", &["tokio", "tonic", "rustls"]),
];

/// Rooms of the coordinator that anything can drive, and names that stand for the one process that
/// is a command: its terminal, its signals, its exit code.
const WITHOUT_PROCESS: [&str; 5] = ["fleet", "job", "launch", "local", "record"];
const OF_PROCESS: [&str; 7] = [
    "terminal",
    "front",
    "exit",
    "Exit",
    "Progress",
    "SignalKind",
    "Signals",
];

/// Names that say nothing, and so attract everything.
const EMPTY_NAMES: [&str; 7] = [
    "util", "utils", "common", "helper", "helpers", "misc", "shared",
];

/// Characters in a line, rustfmt's default. rustfmt does not break strings and macros.
const COLUMNS: usize = 100;

/// Generated code.
const GENERATED: &str = "proto/src/cannonade.control.v1.rs";

/// Folders without sources of ours: build output, results of runs, and git's own.
const FOREIGN_FOLDERS: [&str; 3] = ["target", "runs", ".git"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the package stands in the workspace")
}

/// Every file below `folder` whose name ends in `.extension`.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // `crates/target` is ours: only the workspace's own folders are left out.
        let is_foreign = folder == root() && FOREIGN_FOLDERS.contains(&name.as_str());
        if path.is_dir() && !is_foreign {
            files.extend(self::files(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
    files
}

/// Every Rust source written by hand, by its path in the workspace.
fn sources() -> Vec<(String, String)> {
    let sources: Vec<_> = texts("rs")
        .into_iter()
        .filter(|(path, _)| path != GENERATED)
        .collect();
    assert!(sources.len() > 100, "{} sources", sources.len());
    sources
}

/// Paths in the workspace, and content.
fn texts(extension: &str) -> Vec<(String, String)> {
    files(root(), extension)
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let path = path.strip_prefix(root()).unwrap();
            (path.to_str().unwrap().to_owned(), text)
        })
        .collect()
}

/// The packages with code that ships: name and folder.
fn packages_folders() -> Vec<(String, PathBuf)> {
    let packages = dependencies().into_iter();
    packages
        .map(|(name, folder, _)| (name, folder))
        .filter(|(name, _)| !FREE.contains(&name.as_str()))
        .collect()
}

/// The sources of a package that ship, by path below `src`, each without the tests at its end.
/// Tests in a file of their own (`mod tests;`) are declared at the top, and end nothing.
fn shipped(folder: &Path) -> Vec<(String, String)> {
    let source = folder.join("src");
    let files = files(&source, "rs").into_iter();
    files
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let path = path.strip_prefix(&source).unwrap().to_str().unwrap();
            (path.to_owned(), without_tests(&text).to_owned())
        })
        .filter(|(path, _)| !path.ends_with("tests.rs") && !path.contains("tests/"))
        .collect()
}

fn without_tests(text: &str) -> &str {
    let tests = text
        .match_indices("\n#[cfg(test)]\nmod ")
        .find(|(at, found)| {
            let declared = text[at + found.len()..].lines().next();
            declared.is_some_and(|name| name.ends_with('{'))
        });
    tests.map_or(text, |(at, _)| &text[..at])
}

#[test]
fn tests_in_a_file_of_their_own_do_not_hide_the_file_that_declares_them() {
    let shipped = "mod a;\n#[cfg(test)]\nmod tests;\nmod b;\n\nfn c() {}\n";
    let text = format!("{shipped}\n#[cfg(test)]\nmod more {{\n    fn d() {{}}\n}}\n");
    assert_eq!(without_tests(&text), shipped);
}

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

/// The packages, each with its dependencies in code that ships (not in tests or build scripts).
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

#[test]
fn what_carries_out_a_job_does_not_know_the_process_that_it_is_in() {
    let (mut count, mut wrong) = (0, Vec::new());
    for (path, text) in shipped(&root().join("coordinator")) {
        let room = path.split(['/', '.']).next().unwrap();
        if WITHOUT_PROCESS.contains(&room) {
            count += 1;
            let code = circles::bare(&text);
            let words = code.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            // A job does no I/O at all.
            let is_io = |word: &str| room == "job" && ["tokio", "fs"].contains(&word);
            let foreign = words.filter(|word| OF_PROCESS.contains(word) || is_io(word));
            wrong.extend(foreign.map(|word| format!("{path}: {word}")));
        }
    }
    assert!(count > 60, "{count} files");
    assert!(wrong.is_empty(), "{wrong:?}: tell an observer instead");
}

/// The places of lines with too many characters, among those that `counts` selects.
fn wide_lines(texts: Vec<(String, String)>, counts: fn(&str) -> bool) -> Vec<String> {
    let is_wide = |line: &str| line.chars().count() > COLUMNS && counts(line);
    let mut wide = Vec::new();
    for (path, text) in texts {
        let lines = (1..).zip(text.lines()).filter(|(_, line)| is_wide(line));
        wide.extend(lines.map(|(number, _)| format!("{path}:{number}")));
    }
    wide
}

#[test]
fn no_line_is_wider_than_a_page() {
    let wide = wide_lines(sources(), |_| true);
    assert!(
        wide.is_empty(),
        "above {COLUMNS} columns: {wide:?}; break them, strings by \\"
    );
}

#[test]
fn no_line_of_the_documentation_is_wider_than_a_page() {
    // Lines of code become empty, so that the others keep their numbers.
    let without_code = |(path, text): (String, String)| {
        let mut is_code = false;
        let lines = text.lines().map(|line| {
            is_code ^= line.trim_start().starts_with("```");
            if is_code { "" } else { line }
        });
        let lines: Vec<&str> = lines.collect();
        (path, lines.join("\n"))
    };
    let is_written = |(path, _): &(String, String)| !path.contains("tests/golden/");
    let documents = texts("md").into_iter().filter(is_written);
    let documents = documents.map(without_code).collect();
    // Neither a table row nor a link can be broken.
    let can_be_broken = |line: &str| !line.starts_with('|') && line.split(' ').count() > 1;
    let wide = wide_lines(documents, can_be_broken);
    assert!(
        wide.is_empty(),
        "above {COLUMNS} columns: {wide:?}; break them"
    );
}

/// rustdoc would take seconds for each package to find no example. One that is written later must
/// not go unnoticed.
#[test]
fn code_has_no_example_that_goes_untested() {
    let mut examples = Vec::new();
    for (package, folder, _) in dependencies() {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        if !manifest.contains("doctest = false") {
            continue;
        }
        for file in files(&folder, "rs") {
            let text = fs::read_to_string(&file).unwrap();
            if has_example(&text) {
                examples.push(format!("{package}: {}", file.display()));
            }
        }
    }
    assert!(
        examples.is_empty(),
        "{examples:?}: write it as a test, or take `doctest = false` from the package"
    );
}

#[test]
fn examples_are_told_from_text() {
    for (source, expected) in [
        ("/// ```\n/// f();\n/// ```\n", true),
        ("//! ~~~rust\n//! f();\n//! ~~~\n", true),
        ("/// ```text\n/// a b\n/// ```\nfn f() {}\n", false),
        ("let fence = \"```\";\n", false),
    ] {
        assert_eq!(has_example(source), expected, "{source}");
    }
}

/// Whether a comment has a block of code that is not marked as text.
fn has_example(source: &str) -> bool {
    let mut is_inside = false;
    source.lines().any(|line| {
        let line = line.trim_start();
        let doc = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        let fence = doc
            .map(str::trim)
            .and_then(|doc| doc.strip_prefix("```").or_else(|| doc.strip_prefix("~~~")));
        let Some(language) = fence else {
            return false;
        };
        is_inside = !is_inside;
        is_inside && language != "text"
    })
}

/// `of` says nothing: a constructor is `new`, or `from_` and its input.
#[test]
fn no_constructor_is_called_of() {
    let (unclear, itself) = (concat!("fn ", "of("), ["self", "&self", "&mut self"]);
    let makes = |rest: &str| !itself.iter().any(|itself| rest.starts_with(itself));
    let found: Vec<String> = sources()
        .into_iter()
        .filter(|(_, text)| text.split(unclear).skip(1).any(makes))
        .map(|(path, _)| path)
        .collect();
    assert!(
        found.is_empty(),
        "{unclear}…): {found:?}; call it new or from_x"
    );
}

/// The types that a source defines, except those of its tests.
fn types(source: &str) -> Vec<&str> {
    let shipped = source.split("\n#[cfg(test)]\nmod ").next();
    shipped
        .unwrap_or_default()
        .lines()
        .filter_map(defined_type)
        .collect()
}

/// The type that a line defines: `pub(crate) struct Lease {`.
fn defined_type(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let visible = |word: &&str| word.starts_with("pub");
    let kind = words.find(|word| !visible(word))?;
    if !["struct", "enum", "trait", "union"].contains(&kind) {
        return None;
    }
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let name = words.next()?.split(|c| !is_of_name(c)).next()?;
    (!name.is_empty()).then_some(name) // a macro writes `struct $name`
}

/// A reader who searches for a name finds one type.
#[test]
fn no_two_types_have_one_name() {
    let is_shipped = |path: &str| {
        path.contains("src/")
            && !path.ends_with("tests.rs")
            && !FREE_FOLDERS.iter().any(|folder| path.starts_with(folder))
    };
    let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| is_shipped(path)) {
        for name in types(&text) {
            places
                .entry(name.to_owned())
                .or_default()
                .insert(path.clone());
        }
    }
    assert!(places.len() > 300, "{} types", places.len());
    let twice: Vec<_> = places.iter().filter(|(_, paths)| paths.len() > 1).collect();
    assert!(twice.is_empty(), "{twice:?}: the field has a word for each");
}

/// A dependency of a package: its name in `Cargo.toml`, and whether only tests may use it.
struct Dependency {
    name: String,
    is_for_tests: bool,
}

/// The packages: name, folder, dependencies.
fn dependencies() -> Vec<(String, PathBuf, Vec<Dependency>)> {
    let metadata: Value =
        serde_json::from_str(&cargo(&["metadata", "--format-version", "1", "--no-deps"])).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let dependency = |value: &Value| Dependency {
        name: text(&value["name"]),
        is_for_tests: value["kind"] == "dev",
    };
    let package = |value: &Value| {
        let manifest = PathBuf::from(text(&value["manifest_path"]));
        let all = value["dependencies"].as_array().unwrap();
        (
            text(&value["name"]),
            manifest.parent().unwrap().to_owned(),
            all.iter().map(dependency).collect(),
        )
    };
    let packages = metadata["packages"].as_array().unwrap();
    packages.iter().map(package).collect()
}

/// Whether a source names a crate, as in `serde::Serialize`.
fn names(source: &str, krate: &str) -> bool {
    let path = format!("{}::", krate.replace('-', "_"));
    source.match_indices(&path).any(|(at, _)| {
        let before = source[..at].chars().next_back();
        before.is_none_or(|c| !(c.is_alphanumeric() || c == '_'))
    })
}

#[test]
fn every_dependency_is_named_in_the_code() {
    let mut unused = Vec::new();
    for (package, folder, dependencies) in dependencies() {
        let read = |path: PathBuf| fs::read_to_string(path).unwrap();
        let all = files(&folder, "rs");
        let shipped = all
            .iter()
            .filter(|path| path.starts_with(folder.join("src")));
        let shipped: String = shipped.cloned().map(read).collect();
        let all: String = all.into_iter().map(read).collect();
        for Dependency { name, is_for_tests } in &dependencies {
            if !names(if *is_for_tests { &all } else { &shipped }, name) {
                unused.push(format!("{package}: {name}"));
            }
            let twins = dependencies.iter().filter(|other| other.name == *name);
            if *is_for_tests && twins.count() > 1 {
                unused.push(format!("{package}: {name} for tests too"));
            }
        }
    }
    assert!(unused.is_empty(), "{unused:?}: remove them from Cargo.toml");
}

#[test]
fn every_dependency_of_the_workspace_is_one_of_a_package() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, list) = manifest.split_once("[workspace.dependencies]\n").unwrap();
    let list = list.split("\n[").next().unwrap();
    let used: BTreeSet<String> = dependencies()
        .into_iter()
        .flat_map(|(_, _, dependencies)| dependencies)
        .map(|dependency| dependency.name)
        .collect();
    let listed: Vec<&str> = list
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name)
        .collect();
    assert!(listed.len() > 20, "{listed:?}");
    let unused: Vec<_> = listed
        .iter()
        .filter(|name| !used.contains(**name))
        .collect();
    assert!(unused.is_empty(), "{unused:?}: remove them from Cargo.toml");
}

/// A document without code, in which brackets and `#` mean something else.
fn prose(document: &str) -> String {
    let mut is_code = false;
    let is_prose = |line: &&str| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    };
    let lines: Vec<&str> = document.lines().filter(is_prose).collect();
    lines.join("\n")
}

/// The text after `](` up to the closing bracket.
fn links(prose: &str) -> Vec<String> {
    prose
        .match_indices("](")
        .filter_map(|(at, opening)| prose[at + opening.len()..].split_once(')'))
        .map(|(link, _)| link.to_owned())
        .collect()
}

/// The anchor of a heading: lower case, hyphens for spaces, no punctuation. A second heading with
/// the same anchor gets `-1`.
fn anchors(prose: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for heading in prose.lines().filter(|line| line.starts_with('#')) {
        let title = heading.trim_start_matches('#').trim().to_lowercase();
        let anchor: String = title
            .replace(' ', "-")
            .chars()
            .filter(|&c| c.is_alphanumeric() || c == '-' || c == '_')
            .collect();
        let twins = (1..).map(|nth| format!("{anchor}-{nth}"));
        let free = std::iter::once(anchor.clone())
            .chain(twins)
            .find(|name| !anchors.contains(name));
        anchors.extend(free);
    }
    anchors
}

/// Why a link in a document leads nowhere; `None` if it leads somewhere, or to another site.
fn broken(document: &str, own: &str, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let place = root().join(document).parent().unwrap().join(path);
    if !path.is_empty() && !place.exists() {
        return Some(format!("{document}: {link}: no such file"));
    }
    let there = if path.is_empty() {
        own.to_owned()
    } else if anchor.is_empty() {
        return None;
    } else {
        prose(&fs::read_to_string(place).unwrap())
    };
    let is_there = anchors(&there).contains(anchor);
    (!is_there).then(|| format!("{document}: {link}: no such heading"))
}

#[test]
fn every_link_of_the_documentation_leads_somewhere() {
    let (mut count, mut wrong) = (0, Vec::new());
    for (path, document) in texts("md") {
        let prose = prose(&document);
        for link in links(&prose) {
            count += 1;
            wrong.extend(broken(&path, &prose, &link));
        }
    }
    assert!(count > 20, "{count} links");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn anchors_are_those_of_the_pages_reader() {
    let prose = "# A `plan`\n## [load], and HTTP/2\n## A plan\ntext # no heading";
    let expected = ["a-plan", "a-plan-1", "load-and-http2"].map(str::to_owned);
    assert_eq!(anchors(prose), BTreeSet::from(expected));
}
