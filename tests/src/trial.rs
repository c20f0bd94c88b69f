//! Trials of what depends on time, and cases that are played side by side: most of a case is
//! waiting.

use crate::Pressure;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;

/// `Ok` if it holds, or else what is wrong.
pub type Tried = Result<(), String>;

/// `Ok` if it holds.
///
/// # Errors
/// What `what` says if it does not.
pub fn ensure(holds: bool, what: impl FnOnce() -> String) -> Tried {
    if holds { Ok(()) } else { Err(what()) }
}

/// Tries until one try holds: other programs may have had the CPU in the ones before it. There are
/// twice as many tries if they had.
///
/// # Errors
/// What was wrong with each try if none holds, and how busy the machine was meanwhile.
pub fn try_up_to(tries: usize, mut one_try: impl FnMut() -> Tried) -> Tried {
    let mut wrong = Vec::new();
    let mut most = tries;
    while wrong.len() < most {
        let watch = Pressure::watch();
        let tried = one_try();
        let pressure = watch.end();
        let Err(why) = tried else {
            return Ok(());
        };
        if !pressure.is_quiet() {
            most = 2 * tries;
        }
        wrong.push(format!("{why}; {pressure:?}"));
        println!("try {}: {}", wrong.len(), wrong[wrong.len() - 1]);
    }
    let (number, all) = (wrong.len(), wrong.join("\n"));
    Err(format!("it held in none of {number} tries:\n{all}"))
}

/// The same, for a test that fails if no try holds.
///
/// # Panics
/// If no try holds, with what was wrong with each.
pub fn must_hold_in(tries: usize, one_try: impl FnMut() -> Tried) {
    if let Err(why) = try_up_to(tries, one_try) {
        panic!("{why}");
    }
}

/// What a try says, or its panic's message. A fixture that waits in vain panics.
///
/// # Errors
/// Either of them.
pub fn catch(one_try: impl FnOnce() -> Tried) -> Tried {
    catch_unwind(AssertUnwindSafe(one_try)).unwrap_or_else(|panic| {
        let literal = || panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = panic.downcast_ref::<String>().cloned().or_else(literal);
        Err(text.unwrap_or_else(|| "a panic without a message".to_owned()))
    })
}

/// Plays all cases, `at_once` of them at a time.
///
/// # Panics
/// If a case is wrong or panics; the message names each such case.
pub fn play_side_by_side<C: Send>(
    cases: impl IntoIterator<Item = C>,
    at_once: usize,
    name: impl Fn(&C) -> String + Sync,
    play: impl Fn(&C) -> Tried + Sync,
) {
    // Reversed, since `pop` takes the last one.
    let mut cases: Vec<C> = cases.into_iter().collect();
    cases.reverse();
    let (waiting, wrong) = (Mutex::new(cases), Mutex::new(Vec::new()));
    let next = || waiting.lock().unwrap().pop();
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some(case) = next() {
                    match catch(|| play(&case)) {
                        Ok(()) => println!("holds: {}", name(&case)),
                        Err(why) => {
                            let text = format!("{}: {why}", name(&case));
                            wrong.lock().unwrap().push(text);
                        }
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    let number = wrong.len();
    assert!(wrong.is_empty(), "{number} cases:\n{}", wrong.join("\n\n"));
}
