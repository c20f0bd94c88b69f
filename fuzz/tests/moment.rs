//! Every target for a moment: its corpus, then changes of it for `FUZZ_SECONDS` (default 1).
//!
//! An input that fails is kept in `fuzz/artifacts`; `FUZZ_INPUT=<file>` runs only that one.
//! `FUZZ_SEED` reproduces the inputs of a seed; with `CI` set, the seed is always the same.
//! `FUZZ_KEEP=1` writes each input to a file before it is tried, for inputs that end the process.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use fuzz::mutation::Mutator;
use fuzz::{TARGETS, Target};
use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// Longest time for one input, in a debug build on a busy machine.
const INPUT_MAX: Duration = Duration::from_secs(20);

/// Most memory in KiB that the process may have needed; all targets run in one process.
const MEMORY_MAX_KIB: u64 = 1 << 20;

fn folder(name: &str, target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(name)
        .join(target)
}

fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is not a whole number")),
    )
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(folder("corpus", target)).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

fn moment(name: &str) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).unwrap();
    if let Some(input) = std::env::var_os("FUZZ_INPUT") {
        return target(&fs::read(input).unwrap());
    }
    let corpus = corpus(name);
    corpus
        .iter()
        .for_each(|seed| try_input(name, *target, seed));
    // In CI the outcome must not depend on chance.
    let usual = || match std::env::var_os("CI") {
        Some(_) => 0,
        None => SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64,
    };
    let seed = setting("FUZZ_SEED").unwrap_or_else(usual);
    // Printed before the inputs, in case one of them ends the process.
    println!("{name}: FUZZ_SEED={seed}");
    let mut mutator = Mutator::new(seed, corpus);
    let end = Instant::now() + Duration::from_secs(setting("FUZZ_SECONDS").unwrap_or(1));
    let mut tried = 0_u64;
    while Instant::now() < end {
        try_input(name, *target, &mutator.next_input());
        tried += 1;
    }
    println!("{name}: {tried} inputs");
    let needed = most_memory_kib();
    assert!(
        needed < MEMORY_MAX_KIB,
        "{needed} KiB of memory; see FUZZ_SEED={seed}"
    );
}

fn try_input(name: &str, target: Target, input: &[u8]) {
    if setting("FUZZ_KEEP").is_some() {
        keep(name, "latest", input);
    }
    let begun = Instant::now();
    let ended = catch_unwind(AssertUnwindSafe(|| target(input)));
    let took = begun.elapsed();
    if ended.is_err() || took > INPUT_MAX {
        let mut hasher = DefaultHasher::new();
        input.hash(&mut hasher);
        let kept = keep(name, &format!("{:016x}", hasher.finish()), input);
        eprintln!(
            "{name}: after {took:?}; FUZZ_INPUT={} runs it again",
            kept.display()
        );
    }
    assert!(took <= INPUT_MAX, "an input takes {took:?}");
    ended.unwrap_or_else(|panic| resume_unwind(panic));
}

fn keep(name: &str, file: &str, input: &[u8]) -> PathBuf {
    let folder = folder("artifacts", name);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(file);
    fs::write(&path, input).unwrap();
    path
}

fn most_memory_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

macro_rules! moments {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                moment(stringify!($name));
            }
        )*

        #[test]
        fn every_target_has_its_moment_its_corpus_and_its_program() {
            let here = BTreeSet::from([$(stringify!($name)),*]);
            assert_eq!(here, TARGETS.iter().map(|(name, _)| *name).collect());
            for name in here {
                assert!(corpus(name).len() > 1, "{name} has no corpus");
                let program = folder("libfuzzer/fuzz_targets", name).with_extension("rs");
                assert!(program.is_file(), "{}", program.display());
            }
        }
    };
}

moments! {
    address campaign content fleet grpc_call grpc_message http1 http2 log log_format messages plan
    policy records result run_log session snapshot token totals websocket
}

#[test]
fn corpora_stay_small() {
    let bytes = |(name, _): &(&str, Target)| corpus(name).iter().map(Vec::len).sum::<usize>();
    let all: usize = TARGETS.iter().map(bytes).sum();
    assert!(
        all <= 300 << 10,
        "{all} bytes: keep what finds something, and short"
    );
}
