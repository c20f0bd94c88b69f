//! Turns the output of `perf script` into stacks and their counts.

use inferno::collapse::Collapse as _;
use inferno::collapse::perf::{Folder, Options};
use std::io::{self, BufReader, Read};

/// Returns the stacks, the most frequent first.
pub(super) fn fold(script: impl Read) -> io::Result<Vec<(String, u64)>> {
    let mut options = Options::default();
    options.nthreads = 1;
    let mut folded = Vec::new();
    Folder::from(options).collapse(BufReader::new(script), &mut folded)?;
    let folded = String::from_utf8_lossy(&folded);
    let stack = |line: &str| {
        let (stack, count) = line.rsplit_once(' ')?;
        Some((stack.to_owned(), count.parse().ok()?))
    };
    let mut stacks: Vec<(String, u64)> = folded.lines().filter_map(stack).collect();
    stacks.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Ok(stacks)
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn stacks_of_a_recorded_script_are_counted() {
        let stacks = fold(&include_bytes!("folding/nginx.script")[..]).unwrap();
        let samples: u64 = stacks.iter().map(|(_, count)| count).sum();
        assert_eq!(samples, SAMPLES);
        assert!(stacks.is_sorted_by_key(|(_, count)| std::cmp::Reverse(*count)));
        assert!(stacks.iter().all(|(stack, _)| stack.starts_with("nginx;")));
    }

    /// Lines of the fixture that begin a sample.
    const SAMPLES: u64 = 14;

    #[test]
    fn nothing_is_nothing() {
        assert_eq!(fold(&b""[..]).unwrap(), []);
    }
}
