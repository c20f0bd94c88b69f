//! Pairs of features: each value of each axis meets each value of every other axis in a run of the
//! real programs. Whatever is combined, the result contains what the server counted, the log gives
//! the same result again, and the parts of a result agree.
#![expect(clippy::unwrap_used, reason = "the suite is test code throughout")]

mod case;
mod cover;
mod play;
mod table;

use case::Case;
use cover::Cover;
use interop::play_side_by_side;
use play::play;
use std::path::Path;

/// Cases at once, since they mostly wait.
const AT_ONCE: usize = 4;

#[test]
fn page_of_the_documentation_lists_these_cases() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/PAIRS.md");
    let page = table::page(&Cover::new());
    if std::env::var_os("WRITE_GENERATED").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap_or_default() == page,
        "docs/PAIRS.md is not that of the cases; write it with WRITE_GENERATED=1"
    );
}

#[test]
fn every_feature_counts_what_the_server_counted() {
    play_all(Cover::new().cases_with_each_value());
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn every_pair_of_features_counts_what_the_server_counted() {
    let filter = std::env::var("PAIRS").unwrap_or_default();
    let cases = Cover::new().cases.into_iter();
    play_all(cases.filter(|case| case.to_string().contains(&filter)));
}

fn play_all(cases: impl IntoIterator<Item = Case>) {
    play_side_by_side(cases, AT_ONCE, Case::to_string, |&case| play(case));
}
