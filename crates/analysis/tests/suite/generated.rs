//! Tables of the documentation that are generated from the code: the rules of the verdict, and the
//! exit codes. `WRITE_GENERATED=1 cargo test -p analysis --test suite generated` writes them.

use crate::limits::{idle, run, with_monitor};
use crate::scene::{CLOSED, OPEN, QUIET, collector, cpu, fire};
use analysis::{Document, LimitOf, LoadRecord, RuleId, RunState, Verdict, exit_code, explain};
use std::fmt::Write as _;
use std::path::Path;

/// Asserts that the page has this table between its markers.
fn assert_on_the_page(name: &str, table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/VERDICT.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let begin = format!("<!-- made from the code: {name} -->\n");
    let from = page.find(&begin).unwrap() + begin.len();
    let to = from + page[from..].find("<!-- end -->").unwrap();
    let wanted = format!("\n{table}\n");
    if std::env::var_os("WRITE_GENERATED").is_some() {
        let page = format!("{}{wanted}{}", &page[..from], &page[to..]);
        std::fs::write(&path, page).unwrap();
    } else {
        assert!(
            page[from..to] == wanted,
            "the table of {name} is not that of the code; write it with WRITE_GENERATED=1"
        );
    }
}

/// Runs in which every rule has something to look at.
fn looked_at() -> [Document; 2] {
    [OPEN, CLOSED].map(|load| {
        let mut document = with_monitor(run(load, QUIET), &idle());
        document.agents[1].target_is_local = true;
        document
    })
}

#[test]
fn page_lists_every_rule_with_its_bound() {
    let mut rows: Vec<(LimitOf, String)> = Vec::new();
    for reading in looked_at().iter().flat_map(explain) {
        let row = format!(
            "| {} | {} | {} |",
            reading.rule.limit_of().name(),
            reading.rule,
            reading.bound
        );
        if rows.iter().all(|(_, known)| *known != row) {
            rows.push((reading.rule.limit_of(), row));
        }
    }
    for rule in RuleId::ALL {
        let is_listed = rows
            .iter()
            .any(|(_, row)| row.contains(&format!("| {rule} |")));
        assert!(is_listed, "no run reads the rule {rule}");
    }
    rows.sort_by_key(|(limit_of, _)| *limit_of);
    let mut table = "| About | Rule | Fires from |\n|---|---|---|\n".to_owned();
    for (_, row) in rows {
        let _ = writeln!(table, "{row}");
    }
    assert_on_the_page("rules", &table);
}

/// How a run ends.
#[derive(Debug, Clone, Copy)]
enum Ended {
    As(Verdict),
    TooShort,
}

const ENDED: [Ended; 9] = [
    Ended::As(Verdict::LoadMet),
    Ended::As(Verdict::ServerBound),
    Ended::As(Verdict::Undetermined),
    Ended::TooShort,
    Ended::As(Verdict::PlanBound),
    Ended::As(Verdict::ClientBound),
    Ended::As(Verdict::NetworkBound),
    Ended::As(Verdict::Degraded),
    Ended::As(Verdict::Invalid),
];

impl Ended {
    fn name(self) -> String {
        match self {
            Ended::As(verdict) => format!("*{}*", verdict.name()),
            Ended::TooShort => "*undetermined: too short to tell*".to_owned(),
        }
    }

    fn document(self, load: &str, thresholds: &str) -> Document {
        let mut collector = collector(load, thresholds);
        fire(&mut collector, QUIET, cpu(0.3, 0.3));
        let mut document = collector.document(RunState::Complete);
        (document.verdict.verdict, document.verdict.needed_ns) = match self {
            Ended::As(verdict) => (verdict, None),
            Ended::TooShort => (Verdict::Undetermined, Some(1)),
        };
        document
    }
}

#[test]
fn page_lists_exit_codes_by_verdict_and_thresholds() {
    let kept = [
        "\"response_time.p99\" = \"<= 1s\"\n",
        "\"errors.share\" = \"<= 0.5\"\n",
    ];
    let missed = [
        "\"response_time.p99\" = \"<= 1ms\"\n",
        "\"errors.count\" = \">= 1\"\n",
    ];
    let mut table = "| Verdict | Loop | No thresholds | Times or rates: kept | missed | Counts or \
                     shares only: kept | missed | `--strict`, all kept or none |\n|---|---|---|---\
                     |---|---|---|---|\n"
        .to_owned();
    for ended in ENDED {
        let row = |load: &str, shared: Option<u32>| -> Vec<u8> {
            let document = |thresholds| {
                let mut document = ended.document(load, thresholds);
                if let LoadRecord::Closed {
                    max_connections, ..
                } = &mut document.plan.load
                {
                    *max_connections = shared;
                }
                document
            };
            let code = |thresholds| exit_code(&document(thresholds), false);
            let strict = exit_code(&document(kept[0]), true);
            assert_eq!(strict, exit_code(&document(""), true), "without thresholds");
            let codes = ["", kept[0], missed[0], kept[1], missed[1]].map(code);
            codes.into_iter().chain([strict]).collect()
        };
        let (open, closed) = (row(OPEN, None), row(CLOSED, None));
        let shared = row(CLOSED, Some(3));
        let loops = if matches!(ended, Ended::TooShort | Ended::As(Verdict::LoadMet)) {
            vec![("open", open)]
        } else if open == closed {
            assert_eq!(shared, open);
            vec![("either", open)]
        } else {
            assert_eq!(shared, open);
            vec![("open, or shared connections", open), ("closed", closed)]
        };
        for (which, codes) in loops {
            let codes: Vec<String> = codes.iter().map(u8::to_string).collect();
            let _ = writeln!(
                table,
                "| {} | {which} | {} |",
                ended.name(),
                codes.join(" | ")
            );
        }
    }
    assert_on_the_page("exit codes", &table);
}
