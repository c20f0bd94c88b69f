//! The cases, as a page of the documentation.

use crate::pairs::case::{AXES, Case, Fault};
use crate::pairs::cover::Cover;
use std::fmt::Write as _;

const HEAD: &str = "\
# Pairs of features

Each value of each column meets each value of each other column in at least one of these runs of the
real programs, unless a plan may not combine them. The suite `pairs` plays a few that have each
value once; all of them take minutes, and those whose row contains a text are played by

```sh
PAIRS='users × requests' cargo test -p interop --test suite pairs:: -- --ignored
```

`WRITE_GENERATED=1 cargo test -p interop --test suite pairs::page` writes this page.

Every run must agree with itself: agents sum to the whole, outcomes sum to what ended, a number of
requests is kept, and no rate is above what was answered. `report --remake` must make the same
result from the log, and every format must render it. What a row shows beside that is in its last
column.

";

/// The whole page.
pub(crate) fn page(cover: &Cover) -> String {
    let mut page = HEAD.to_owned();
    let names: Vec<&str> = AXES.iter().map(|(name, _)| *name).collect();
    let _ = writeln!(page, "| {} | shows |", names.join(" | "));
    let _ = writeln!(page, "|{}", "---|".repeat(AXES.len() + 1));
    for case in &cover.cases {
        let words = case.words().join(" | ");
        let _ = writeln!(page, "| {words} | {} |", shows(*case));
    }
    let _ = writeln!(page, "\n## Refused\n\nThese pairs are refused, and why:\n");
    let _ = writeln!(page, "| pair | why |\n|---|---|");
    for (pair, why) in &cover.refused {
        let _ = writeln!(
            page,
            "| {} | {} |",
            pair.words().join(" × "),
            why.replace('|', "\\|")
        );
    }
    page
}

/// What a case must show, as words.
fn shows(case: Case) -> &'static str {
    match case.fault() {
        Fault::Nothing => "the server counted what the results say",
        Fault::CtrlC => "exit code 130; the server counted what the results say",
        Fault::Resumed => "nothing lost or counted twice over two coordinators",
        Fault::Lost if case.ends_with_its_agent() => {
            "exit code 4, since no agent is left for the next run; nothing counted twice"
        }
        Fault::Lost => "nothing counted twice; later runs have the agent that joined instead",
    }
}
