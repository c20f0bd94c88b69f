//! Reads `[repeat]`.

use crate::read::section::PlanSection;
use crate::{Campaign, Repeat};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);
const DEFAULT_SEED: u64 = 1;

/// Paths of `[repeat]`, without indices.
pub(crate) const KEYS: &[&str] = &[
    "repeat.times",
    "repeat.pause",
    "repeat.shuffle",
    "repeat.seed",
];

pub(crate) fn read(section: PlanSection<'_>) -> Repeat {
    let default = Repeat::default();
    let times = section
        .read("times", |field| {
            field.whole32(1..=Campaign::MAX_RUNS as u32)
        })
        .unwrap_or(default.times);
    let pause = section
        .read("pause", |field| field.duration(Duration::ZERO..=HOUR))
        .unwrap_or(default.pause);
    let shuffle = section
        .read("shuffle", |field| field.flag())
        .unwrap_or(false);
    let seed = section
        .read("seed", |field| field.whole(0..=i64::MAX.unsigned_abs()))
        .unwrap_or(DEFAULT_SEED);
    if section.has("seed") && !shuffle {
        section.context.note(
            "repeat.seed has no effect without shuffle = true: it is the seed of the order of runs"
                .to_owned(),
        );
    }
    section.finish();
    Repeat {
        times,
        pause,
        shuffle: shuffle.then_some(seed),
    }
}
