//! Folders of earlier versions can be read and rendered, with the figures that those versions
//! wrote.

use crate::files::of_the_repository;
use interop::{CoordinatorCommand, Finished};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The folders of the versions, each named by its commit.
fn versions() -> Vec<PathBuf> {
    let folders = fs::read_dir(of_the_repository("tests/golden-folders")).unwrap();
    let folders = folders.map(|entry| entry.unwrap().path());
    let versions: Vec<PathBuf> = folders.filter(|path| path.is_dir()).collect();
    assert!(versions.len() >= 3, "{versions:?}");
    versions
}

fn json(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap()
}

fn run(arguments: &[&str]) -> Finished {
    CoordinatorCommand::new(arguments).run()
}

#[track_caller]
fn reported(folder: &Path, format: &str) -> String {
    let arguments = ["report", "--format", format, folder.to_str().unwrap()];
    run(&arguments).expect(0).stdout
}

/// Figures that have the same name in every version.
const FIGURES: [&str; 9] = [
    "/schema",
    "/run/name",
    "/run/started_at",
    "/measured/operations/ok",
    "/measured/rates/ok_per_second",
    "/measured/times/response_time/count",
    "/measured/times/response_time/percentiles",
    "/verdict/verdict",
    "/series/rows/1/ended",
];

fn assert_run_renders(folder: &Path) {
    let written = json(&folder.join("result.json"));
    let rendered: Value = serde_json::from_str(&reported(folder, "json")).unwrap();
    for figure in FIGURES {
        let [written, rendered] = [&written, &rendered].map(|document| document.pointer(figure));
        assert!(written.is_some(), "{}: no {figure}", folder.display());
        assert_eq!(rendered, written, "{}: {figure}", folder.display());
    }
    let name = written["run"]["name"].as_str().unwrap();
    for format in ["console", "junit", "markdown", "html"] {
        let text = reported(folder, format);
        assert!(
            text.contains(name),
            "{}: {format}: {text}",
            folder.display()
        );
    }
    let brief = reported(folder, "brief");
    assert!(brief.contains("load met"), "{}: {brief}", folder.display());
    let rows = written["series"]["rows"].as_array().unwrap().len();
    let csv = reported(folder, "csv");
    assert_eq!(csv.lines().count(), rows + 1, "{}: {csv}", folder.display());
    let explained = run(&["explain", folder.to_str().unwrap()]).expect(0);
    assert!(
        explained.stdout.contains("load met"),
        "{}",
        explained.stdout
    );
}

fn assert_campaign_renders(folder: &Path) {
    let written = json(&folder.join("campaign.json"));
    let rendered: Value = serde_json::from_str(&reported(folder, "json")).unwrap();
    for figure in ["/schema", "/name", "/runs/1/folder", "/comparison/rows/0"] {
        let [written, rendered] = [&written, &rendered].map(|document| document.pointer(figure));
        assert!(written.is_some(), "{}: no {figure}", folder.display());
        assert_eq!(rendered, written, "{}: {figure}", folder.display());
    }
    for format in ["console", "junit", "markdown", "html", "csv", "brief"] {
        let text = reported(folder, format);
        assert!(
            text.contains("small"),
            "{}: {format}: {text}",
            folder.display()
        );
    }
    let explained = run(&["explain", folder.to_str().unwrap()]).expect(0);
    assert!(
        explained.stdout.contains("02-large-1"),
        "{}",
        explained.stdout
    );
}

#[test]
fn folders_of_earlier_versions_render_in_every_format() {
    let mut campaigns = 0;
    for version in versions() {
        assert_run_renders(&version.join("single"));
        let plan = version.join("single/plan.toml");
        let _ = run(&["check", plan.to_str().unwrap()]).expect(0);
        let two = version.join("two");
        if two.is_dir() {
            assert_campaign_renders(&two);
            campaigns += 1;
        }
    }
    assert!(campaigns >= 2, "{campaigns} campaigns");
}

/// Any outcome of a comparison is fine; 2 and 4 are refusals.
#[test]
fn folders_of_earlier_versions_are_compared() {
    let versions = versions();
    for first in &versions {
        for other in versions.iter().filter(|other| *other != first) {
            for kind in ["single", "two"].map(Path::new) {
                let [first, other] = [first, other].map(|version| version.join(kind));
                if !first.is_dir() || !other.is_dir() {
                    continue;
                }
                let [first, other] = [&first, &other].map(|path| path.to_str().unwrap());
                // The first versions did not record which key share was sent.
                let compared = run(&["compare", "--force", first, other]);
                assert!(
                    matches!(compared.code, 0 | 1 | 3),
                    "{first} {other}: {} {}",
                    compared.stdout,
                    compared.stderr
                );
                assert!(
                    compared.stdout.contains("response_time.p50"),
                    "{first} {other}"
                );
            }
        }
    }
}
