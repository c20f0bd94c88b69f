//! What the CPUs of a machine did for some processes: how often each stack of calls was seen.

use crate::{HostError, encoding};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::{Deserialize, Serialize};
use std::io::{Read as _, Write as _};
use std::time::Duration;

/// A profile that is not deflated. Stacks repeat each other: some are a hundredth when deflated.
const INFLATED_MAX_BYTES: usize = 16 << 20;

/// Frames of a stack; the kernel gives 127 if nothing else is set.
const FRAMES_MAX: usize = 512;

const WHAT: &str = "CPU profile";

/// A CPU profile of some processes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuProfile {
    /// Which processes, in words.
    pub process: String,
    /// How long samples were taken.
    pub duration: Duration,
    /// Samples that were left out, of the rarest stacks, so that the others fit.
    pub left_out: u64,
    /// Stacks, each as frames with `;` in between, outermost first, and how often it was seen; the
    /// most frequent first.
    pub stacks: Vec<(String, u64)>,
}

/// What came of taking one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProfileOutcome {
    /// It was taken.
    Taken(CpuProfile),
    /// Why not, and what would allow it.
    NotTaken(String),
}

impl CpuProfile {
    /// Samples in all of its stacks.
    #[must_use]
    pub fn samples(&self) -> u64 {
        let counts = self.stacks.iter().map(|(_, count)| *count);
        counts.fold(0, u64::saturating_add)
    }

    /// Functions by how many samples were taken in themselves, the hottest first.
    #[must_use]
    pub fn hottest(&self) -> Vec<(&str, u64)> {
        let mut by_name = std::collections::BTreeMap::<&str, u64>::new();
        for (stack, count) in &self.stacks {
            let leaf = stack.rsplit(';').next().unwrap_or(stack);
            let own = by_name.entry(leaf).or_default();
            *own = own.saturating_add(*count);
        }
        let mut hottest: Vec<(&str, u64)> = by_name.into_iter().collect();
        hottest.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        hottest
    }

    /// As `flamegraph.pl` reads it: a stack and its samples in each line.
    #[must_use]
    pub fn folded(&self) -> String {
        let line = |(stack, count): &(String, u64)| format!("{stack} {count}\n");
        self.stacks.iter().map(line).collect()
    }

    fn drop_rarest(&mut self, keep: usize) {
        let dropped = self.stacks.split_off(keep.min(self.stacks.len()));
        let samples = dropped.iter().map(|(_, count)| *count);
        self.left_out = samples.fold(self.left_out, u64::saturating_add);
    }
}

impl ProfileOutcome {
    /// As at most `most_bytes` bytes for [`ProfileOutcome::decode`] of the same version: rare
    /// stacks are left out until it fits.
    #[must_use]
    pub fn encode(mut self, most_bytes: usize) -> Vec<u8> {
        loop {
            let plain = encoding::encode(&self);
            let encoded = deflate(&plain);
            let fits = plain.len() <= INFLATED_MAX_BYTES && encoded.len() <= most_bytes;
            match &mut self {
                ProfileOutcome::Taken(profile) if !fits && !profile.stacks.is_empty() => {
                    profile.drop_rarest(profile.stacks.len() / 2);
                }
                _ => return encoded,
            }
        }
    }

    /// Reads what [`ProfileOutcome::encode`] wrote. It may come from anybody: what could break a
    /// line, or a file that is made of it, is taken out.
    ///
    /// # Errors
    /// The bytes are another version's, damaged, or too many.
    pub fn decode(bytes: &[u8]) -> Result<ProfileOutcome, HostError> {
        let mut plain = Vec::new();
        let mut inflating = ZlibDecoder::new(bytes).take(INFLATED_MAX_BYTES as u64 + 1);
        let read = inflating.read_to_end(&mut plain);
        if read.is_err() || plain.len() > INFLATED_MAX_BYTES {
            return Err(HostError::Undecodable { what: WHAT });
        }
        Ok(match encoding::decode(&plain, WHAT)? {
            ProfileOutcome::NotTaken(why) => ProfileOutcome::NotTaken(in_one_line(&why)),
            ProfileOutcome::Taken(profile) => {
                let stacks = profile.stacks.into_iter();
                ProfileOutcome::Taken(CpuProfile {
                    process: in_one_line(&profile.process),
                    stacks: stacks
                        .map(|(stack, count)| (clean(&stack), count))
                        .collect(),
                    ..profile
                })
            }
        })
    }
}

fn deflate(plain: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder
        .write_all(plain)
        .and_then(|()| encoder.finish())
        .expect("memory takes what is written")
}

fn in_one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

fn clean(stack: &str) -> String {
    let frames: Vec<&str> = stack.split(';').take(FRAMES_MAX).collect();
    in_one_line(&frames.join(";"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(stacks: &[(&str, u64)]) -> CpuProfile {
        let stack = |(stack, count): &(&str, u64)| ((*stack).to_owned(), *count);
        CpuProfile {
            process: "nginx".to_owned(),
            duration: Duration::from_secs(30),
            left_out: 0,
            stacks: stacks.iter().map(stack).collect(),
        }
    }

    #[test]
    fn profile_comes_back_as_it_went() {
        let nginx = profile(&[("nginx;main;mul", 7), ("nginx;main", 2), ("nginx;a;mul", 1)]);
        assert_eq!(nginx.samples(), 10);
        assert_eq!(nginx.hottest(), [("mul", 8), ("main", 2)]);
        let folded = "nginx;main;mul 7\nnginx;main 2\nnginx;a;mul 1\n";
        assert_eq!(nginx.folded(), folded);
        let why = ProfileOutcome::NotTaken("install perf".to_owned());
        for outcome in [ProfileOutcome::Taken(nginx), why] {
            let encoded = outcome.clone().encode(4 << 20);
            assert_eq!(ProfileOutcome::decode(&encoded).unwrap(), outcome);
            assert!(ProfileOutcome::decode(&encoded[..encoded.len() / 2]).is_err());
        }
    }

    #[test]
    fn rarest_stacks_go_where_there_is_no_room_and_are_counted() {
        let stacks: Vec<(String, u64)> = (0..1_000_u64)
            .map(|nth| {
                (
                    format!("a;{:x}", nth.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
                    1_000 - nth,
                )
            })
            .collect();
        let all = CpuProfile {
            stacks,
            ..profile(&[])
        };
        let encoded = ProfileOutcome::Taken(all.clone()).encode(4_000);
        assert!(encoded.len() <= 4_000);
        let Ok(ProfileOutcome::Taken(kept)) = ProfileOutcome::decode(&encoded) else {
            panic!("it was taken")
        };
        assert_eq!(kept.stacks[0], all.stacks[0], "the most frequent stays");
        assert!(!kept.stacks.is_empty() && kept.left_out > 0);
        assert_eq!(kept.samples() + kept.left_out, all.samples());
    }

    #[test]
    fn nothing_hostile_breaks_a_line_or_the_memory() {
        let deep = "f;".repeat(10_000);
        let hostile = profile(&[("a\n;b\u{1b}[2J;c", u64::MAX), (&deep, u64::MAX)]);
        let encoded = ProfileOutcome::Taken(hostile).encode(4 << 20);
        let Ok(ProfileOutcome::Taken(read)) = ProfileOutcome::decode(&encoded) else {
            panic!("it was taken")
        };
        assert_eq!(read.stacks[0].0, "a ;b [2J;c");
        assert_eq!(read.stacks[1].0.split(';').count(), FRAMES_MAX);
        assert_eq!(read.samples(), u64::MAX);
        let bomb = deflate(&vec![0; INFLATED_MAX_BYTES + 2]);
        assert!(ProfileOutcome::decode(&bomb).is_err());
    }
}
