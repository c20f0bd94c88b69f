//! The JSON Schemas of `docs/schema` match the types, and all files written match the schemas.
//! `WRITE_GENERATED=1` rewrites them.

use crate::files::{of_the_repository, read};
use analysis::{CampaignDocument, Document, EventLine};
use interop::CoordinatorCommand;
use jsonschema::Validator;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use serde_json::Value;
use std::path::{Path, PathBuf};
use traffic::ReplayEntry;

const RUN: &str = r#"
name = "run"
target.builtin = true
load = { rate = "200/s", warm_up = "1s", duration = "2s" }
thresholds = { "response_time.p99" = "< 1ns", "errors.count" = "<= 0" }
"#;

const VARIANTS: &str = r#"
name = "variants"
target.builtin = true
load = { connections = 2, duration = "1s" }
variants = { http = { target.builtin.tls = false }, https = {} }
"#;

const SEARCH: &str = r#"
name = "search"
target.builtin = { delay = "5ms" }
load = { max_connections = 50, warm_up = "1s" }
thresholds = { "errors.count" = "<= 0" }
search = { rate = { from = "50/s", to = "100/s" }, hold = "1s" }
"#;

/// The schema of what this version writes. Fields that a version may leave out are not required.
fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(without_links).transform(&mut schema);
    schema.to_value()
}

/// A rustdoc link leads nowhere in a schema.
fn without_links(schema: &mut schemars::Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace("[`", "`").replace("`]", "`");
    }
}

fn schemas() -> [(&'static str, Value); 4] {
    [
        ("result.schema.json", schema::<Document>()),
        ("campaign.schema.json", schema::<CampaignDocument>()),
        ("event.schema.json", schema::<EventLine>()),
        ("replay.schema.json", schema::<ReplayEntry>()),
    ]
}

/// Uses the file that other programs read, not the types.
fn validator(name: &str) -> Validator {
    let text = read(of_the_repository("docs/schema").join(name));
    let schema: Value = serde_json::from_str(&text).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

fn faults(validator: &Validator, text: &str) -> Vec<String> {
    let value = serde_json::from_str(text).unwrap();
    validator
        .iter_errors(&value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

#[track_caller]
fn assert_fits(schema: &str, text: &str) {
    let faults = faults(&validator(schema), text);
    assert!(faults.is_empty(), "{schema}: {}", faults.join("\n"));
}

#[track_caller]
fn assert_events_fit(text: &str) {
    let validator = validator("event.schema.json");
    for line in text.lines() {
        let faults = faults(&validator, line);
        assert!(faults.is_empty(), "{line}: {}", faults.join("\n"));
    }
}

/// Every file in a run's folder that is meant for other programs.
#[track_caller]
fn assert_folder_fits(folder: &Path) {
    assert_fits("result.schema.json", &read(folder.join("result.json")));
    assert_events_fit(&read(folder.join("events.jsonl")));
}

/// All run folders below a campaign's folder; those of a search's holds are nested deeper.
fn run_folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let folders = entries.map(|entry| entry.unwrap().path());
    let (runs, others): (Vec<_>, Vec<_>) = folders
        .filter(|path| path.is_dir())
        .partition(|path| path.join("result.json").exists());
    let deeper = others.iter().flat_map(|folder| run_folders(folder));
    deeper.chain(runs.iter().cloned()).collect()
}

#[test]
fn schemas_are_those_of_the_types() {
    for (name, schema) in schemas() {
        let path = of_the_repository("docs/schema").join(name);
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("WRITE_GENERATED").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            text == committed,
            "docs/schema/{name} is not that of the types; write it with WRITE_GENERATED=1, and \
             see docs/FORMATS.md for what may change"
        );
    }
}

#[test]
fn golden_documents_fit_their_schemas() {
    let golden = of_the_repository("crates/report/tests/golden");
    assert_fits("result.schema.json", &read(golden.join("result-v1.json")));
    assert_fits(
        "campaign.schema.json",
        &read(golden.join("campaign-v1.json")),
    );
    assert_events_fit(&read(of_the_repository(
        "coordinator/tests/golden/events.jsonl",
    )));
}

/// A run with a failed threshold, variants, and a search.
#[test]
fn what_runs_write_fits_the_schemas() {
    let run = CoordinatorCommand::local(2, RUN).run();
    assert_folder_fits(&run.run_folder().unwrap());
    for (plan, runs) in [(VARIANTS, 2), (SEARCH, 1)] {
        let finished = CoordinatorCommand::local(1, plan).run();
        let folder = finished.run_folder().unwrap();
        assert_fits("campaign.schema.json", &read(folder.join("campaign.json")));
        let folders = run_folders(&folder);
        assert!(folders.len() >= runs, "{folders:?}; {finished}");
        folders.iter().for_each(|folder| assert_folder_fits(folder));
    }
}

#[test]
fn what_is_no_result_does_not_fit() {
    let validator = validator("result.schema.json");
    let golden = of_the_repository("crates/report/tests/golden/result-v1.json");
    let golden: Value = serde_json::from_str(&read(golden)).unwrap();
    let is_refused = |change: fn(&mut Value)| {
        let mut changed = golden.clone();
        change(&mut changed);
        !faults(&validator, &changed.to_string()).is_empty()
    };
    assert!(!is_refused(|_| ()), "the golden document itself fits");
    assert!(is_refused(|result| result["schema"] = 2.into()));
    assert!(is_refused(|result| result["run"]["state"] = "fine".into()));
    assert!(is_refused(
        |result| result["run"]["duration_ns"] = (-1).into()
    ));
    assert!(is_refused(|result| {
        result.as_object_mut().unwrap().remove("measured");
    }));
}

#[test]
fn what_is_no_event_does_not_fit() {
    let validator = validator("event.schema.json");
    for line in [
        r#"{"at":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"at":"2026-01-01T00:00:00.000Z","event":"sneezed","agent":"a"}"#,
        r#"{"at":"2026-01-01T00:00:00.000Z","event":"gone","agent":"a"}"#,
        r#"{"event":"back","agent":"a"}"#,
        r#"{"at":"2026-01-01T00:00:00.000Z","event":"back","agent":-1}"#,
    ] {
        assert!(!faults(&validator, line).is_empty(), "{line}");
    }
}

#[test]
fn what_is_imported_fits_its_schema() {
    let validator = validator("replay.schema.json");
    let logs = of_the_repository("crates/traffic/tests/logs");
    let mut count = 0;
    for entry in std::fs::read_dir(logs).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|found| found != "golden") {
            continue;
        }
        for line in read(path).lines().filter(|line| line.starts_with('{')) {
            let faults = faults(&validator, line);
            assert!(faults.is_empty(), "{line}: {}", faults.join("\n"));
            count += 1;
        }
    }
    assert!(count > 50, "{count} lines");
    for line in [
        r#"{"method":"GET","path":"/"}"#,
        r#"{"at":-1,"method":"GET","path":"/"}"#,
        r#"{"at":0,"method":"GET","path":"a"}"#,
        r#"{"at":0,"method":"GET","path":"/","status":"200"}"#,
    ] {
        assert!(!faults(&validator, line).is_empty(), "{line}");
    }
}
