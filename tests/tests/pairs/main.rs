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
use play::play;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::thread;

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
fn every_pair_of_features_counts_what_the_server_counted() {
    let filter = std::env::var("PAIRS").unwrap_or_default();
    let cases = Cover::new().cases.into_iter();
    let waiting: Mutex<Vec<Case>> = Mutex::new(
        cases
            .filter(|case| case.to_string().contains(&filter))
            .collect(),
    );
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(case) = waiting.lock().unwrap().pop() else {
                        return;
                    };
                    // What waits in vain panics.
                    let told = match catch_unwind(AssertUnwindSafe(|| play(case))) {
                        Ok(told) => told,
                        Err(panic) => {
                            let text = panic.downcast_ref::<String>().cloned();
                            Err(text.unwrap_or_default())
                        }
                    };
                    match told {
                        Ok(()) => println!("holds: {case}"),
                        Err(why) => wrong.lock().unwrap().push(format!("{case}: {why}")),
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(
        wrong.is_empty(),
        "{} cases:\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
}
