//! Checks the plans in the documentation and in `examples/`.

use crate::support::{Folder, campaign};
use plan::{Campaign, Files, MessageEncoder, Plan, Settings};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The fenced blocks of a document: the word after the fence, the line it starts at, the text.
fn blocks(document: &str) -> Vec<(String, usize, String)> {
    let mut blocks: Vec<(String, usize, String)> = Vec::new();
    let mut inside = false;
    for (number, line) in document.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if inside => inside = false,
            Some(kind) => {
                inside = true;
                blocks.push((kind.to_owned(), number + 1, String::new()));
            }
            None if inside => {
                let block = blocks.last_mut().expect("a block is open");
                block.2 += line;
                block.2 += "\n";
            }
            None => {}
        }
    }
    blocks
}

/// Completes a block that shows a single section with the other ones.
fn completed(text: &str) -> String {
    let has = |table: &str| {
        text.lines().any(|line| {
            line.starts_with(&format!("[{table}]")) || line.starts_with(&format!("{table}."))
        })
    };
    let target = if has("target") {
        ""
    } else {
        "target.url = \"https://edge.test/\"\n"
    };
    let is_search = text.contains("rate = { from") || text.contains("connections = { from");
    let load = if has("load") || is_search {
        ""
    } else {
        "load = { connections = 50, duration = \"60s\" }\n"
    };
    format!("{target}{load}{text}")
}

#[test]
fn every_example_of_the_documentation_is_read() {
    for (page, least) in [("docs/PLAN.md", 16), ("docs/JOURNEYS.md", 13)] {
        let read = read_examples(page);
        assert!(read >= least, "{read} examples in {page}");
    }
}

/// Reads the plans of a page, and compares what is said about wrong ones. Returns their number.
fn read_examples(page: &str) -> usize {
    let document = std::fs::read_to_string(repository().join(page)).expect("a page");
    let mut blocks = blocks(&document).into_iter().peekable();
    let mut read = 0;
    while let Some((kind, line, text)) = blocks.next() {
        let whole = completed(&text);
        match kind.as_str() {
            "toml" => assert_eq!(campaign(&whole).err(), None, "{page}, line {line}"),
            "toml,fail" => {
                let (_, _, message) = blocks
                    .next()
                    .expect("what a wrong plan says stands below it");
                let problems = campaign(&text).expect_err("this plan is wrong");
                assert_eq!(problems + "\n", message, "{page}, line {line}");
            }
            _ => continue,
        }
        read += 1;
    }
    read
}

#[test]
fn the_documentation_has_every_key() {
    let document = std::fs::read_to_string(repository().join("docs/PLAN.md")).unwrap();
    for path in Plan::KEYS.iter().chain(Campaign::KEYS) {
        assert!(
            document.contains(&format!("`{path}`")),
            "docs/PLAN.md does not have `{path}`"
        );
    }
    for figure in plan::ThresholdMetric::NUMBERS {
        assert!(
            document.contains(&format!("`{figure}`")),
            "docs/PLAN.md does not have `{figure}`"
        );
    }
    for suite in plan::CipherSuite::ALL {
        assert!(
            document.contains(suite.name),
            "docs/PLAN.md does not have {}",
            suite.name
        );
    }
    for group in plan::Group::ALL {
        assert!(
            document.contains(group.name),
            "docs/PLAN.md does not have {}",
            group.name
        );
    }
}

/// Files beside an example, or else those that only exist in memory.
struct Beside<'a>(&'a Path, Folder);

impl Files for Beside<'_> {
    fn read(&mut self, name: &str) -> Result<Arc<[u8]>, String> {
        if name.ends_with(".binpb") {
            // The encoder here knows no other; with its own, the example is run against a server.
            return Ok(Arc::from(&b"set"[..]));
        }
        std::fs::read(self.0.join(name))
            .map(Arc::from)
            .or_else(|_| self.1.read(name))
    }

    fn list(&mut self, folder: &str) -> Result<Vec<String>, String> {
        self.1.list(folder)
    }

    fn encoder(&self) -> Option<MessageEncoder> {
        self.1.encoder()
    }
}

#[test]
fn every_example_plan_is_right_and_leaves_nothing_to_remark() {
    let mut read = 0;
    for folder in ["examples", "examples/ci", "examples/nginx"] {
        for entry in std::fs::read_dir(repository().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                let bytes = std::fs::read(&path).unwrap();
                let mut files = Beside(path.parent().unwrap(), Folder::new());
                let campaign = Campaign::parse_bytes(&bytes, &mut files, Settings::NONE)
                    .unwrap_or_else(|problems| panic!("{}:\n{problems}", path.display()));
                // Remarks on a variant over plain HTTP, and on variants that are about the server.
                let is_known = |note: &String| {
                    note.ends_with("[tls] is ignored: the target is plain http")
                        || note.ends_with("unless --before changes the server")
                };
                let remarks: Vec<&String> = campaign
                    .notes()
                    .iter()
                    .filter(|note| !is_known(note))
                    .collect();
                assert_eq!(remarks, Vec::<&String>::new(), "{}", path.display());
                read += 1;
            }
        }
    }
    assert!(read >= 15, "{read} examples");
}
