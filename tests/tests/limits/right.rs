//! The acceptable verdicts of a case.

use analysis::Verdict;
use interop::Finished;

/// What a case may say; anything else is wrong.
#[derive(Debug)]
pub struct Right {
    verdict: Verdict,
    also: &'static [Verdict],
    resource: &'static str,
    leads: &'static str,
    never: &'static [&'static str],
}

impl Right {
    /// This verdict is right.
    pub fn is(verdict: Verdict) -> Right {
        Right {
            verdict,
            also: &[],
            resource: "",
            leads: "",
            never: &[],
        }
    }

    /// Its evidence must contain this word.
    pub fn named(self, resource: &'static str) -> Right {
        Right { resource, ..self }
    }

    /// These verdicts are acceptable too: they say less, and nothing wrong.
    pub fn or(self, also: &'static [Verdict]) -> Right {
        Right { also, ..self }
    }

    /// One of the first two sentences must contain this word, whatever the verdict.
    pub fn leads(self, leads: &'static str) -> Right {
        Right { leads, ..self }
    }

    /// The evidence must not contain these words, whatever the verdict: they would be false.
    pub fn without(self, never: &'static [&'static str]) -> Right {
        Right { never, ..self }
    }

    /// Whether the run said what it should.
    pub fn holds(&self, finished: &Finished) -> bool {
        let record = finished.document().verdict;
        let says = |word: &str| record.evidence.iter().any(|line| line.contains(word));
        let mut first = record.evidence.iter().take(2);
        let is_named = record.verdict == self.verdict && says(self.resource);
        (is_named || self.also.contains(&record.verdict))
            && first.any(|line| line.contains(self.leads))
            && !self.never.iter().any(|word| says(word))
    }
}

impl std::fmt::Display for Right {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.verdict.name())?;
        for verdict in self.also {
            write!(f, " or {}", verdict.name())?;
        }
        for word in [self.resource, self.leads] {
            if !word.is_empty() {
                write!(f, ", with {word:?}")?;
            }
        }
        for word in self.never {
            write!(f, ", without {word:?}")?;
        }
        Ok(())
    }
}
