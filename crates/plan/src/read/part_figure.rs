//! Names of figures of one request or one journey: `request.NAME.…`, `journey.NAME.…`.

use crate::toml_text::quote;
use crate::{Journey, Request, ThresholdMetric, ThresholdMetricError, ThresholdScope};

/// Most names that a message lists.
const NAMED_MAX: usize = 5;

/// The parts of a plan that have figures of their own.
#[derive(Debug, Clone)]
pub(super) struct FigureParts<'a> {
    kind: PartKind,
    names: Vec<&'a str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartKind {
    Request,
    Journey,
}

impl PartKind {
    /// What stands before the name, with a dot behind it.
    fn word(self) -> &'static str {
        match self {
            PartKind::Request => "request",
            PartKind::Journey => "journey",
        }
    }

    fn example(self) -> &'static str {
        match self {
            PartKind::Request => "response_time.p95",
            PartKind::Journey => "completed.share",
        }
    }

    fn figure(self, text: &str) -> Result<ThresholdMetric, ThresholdMetricError> {
        match self {
            PartKind::Request => text.parse(),
            PartKind::Journey => ThresholdMetric::of_journey(text),
        }
    }
}

impl<'a> FigureParts<'a> {
    pub(super) fn requests(requests: &'a [Request]) -> FigureParts<'a> {
        FigureParts {
            kind: PartKind::Request,
            names: requests.iter().map(|it| it.name.as_str()).collect(),
        }
    }

    pub(super) fn journeys(journeys: &'a [Journey]) -> FigureParts<'a> {
        FigureParts {
            kind: PartKind::Journey,
            names: journeys.iter().map(|it| it.name.as_str()).collect(),
        }
    }

    /// Splits the rest of a name into a part of the plan and its figure. Names can contain dots,
    /// and one can start with another: the longest that leaves the name of a figure counts.
    pub(super) fn read(&self, rest: &str) -> Result<(ThresholdScope, ThresholdMetric), String> {
        let figure = |name: &str| rest.strip_prefix(name)?.strip_prefix('.');
        let names = self.names.iter();
        let mut begun: Vec<(&str, &str)> = names
            .filter_map(|&name| Some((name, figure(name)?)))
            .collect();
        begun.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        // The longest name that a figure follows; without one the longest, for the message.
        let whole = begun.iter().find(|(_, figure)| self.is_figure(figure));
        let Some((name, figure)) = whole.or(begun.first()) else {
            return Err(self.unknown(rest));
        };
        let metric = self.kind.figure(figure).map_err(|why| match why {
            ThresholdMetricError::Unknown(nearest) => {
                let nearest = self.key(name, &nearest);
                format!("unknown figure; write {nearest}, or another of docs/PLAN.md")
            }
            why => why.to_string(),
        })?;
        if self.kind == PartKind::Request && !metric.is_of_requests() {
            return Err(format!(
                "no single request has {metric}; write {:?} for all of them, or a figure of the \
                 request, such as {}",
                metric.to_string(),
                self.key(name, self.kind.example())
            ));
        }
        let name = (*name).to_owned();
        let scope = match self.kind {
            PartKind::Request => ThresholdScope::Request(name),
            PartKind::Journey => ThresholdScope::Journey(name),
        };
        Ok((scope, metric))
    }

    fn is_figure(&self, text: &str) -> bool {
        self.kind.figure(text).is_ok()
    }

    /// The key as plans write it, whatever characters the name contains.
    fn key(&self, name: &str, figure: &str) -> String {
        quote(&format!("{}.{name}.{figure}", self.kind.word()))
    }

    fn unknown(&self, rest: &str) -> String {
        let (word, example) = (self.kind.word(), self.kind.example());
        let names = || self.names.iter().copied();
        if let Some(name) = names().find(|&name| name == rest) {
            let example = self.key(name, example);
            return format!("says no figure of the {word}; write one such as {example}");
        }
        if self.names.is_empty() {
            return format!("is about a {word}, and the plan has none; write a [[{word}]]");
        }
        // The name may contain dots, so the first split whose rest is a figure counts.
        let dots = rest.match_indices('.');
        let mut splits = dots.map(|(at, _)| (&rest[..at], &rest[at + 1..]));
        let split = splits.find(|(_, figure)| self.is_figure(figure));
        let (asked, figure) = split.unwrap_or((rest, example));
        let likeness = |name: &&str| {
            // The comparison takes time in proportion to the product of both lengths.
            let asked: String = asked.chars().take(60).collect();
            (strsim::normalized_damerau_levenshtein(name, &asked) * 1e6) as u32
        };
        let nearest = names().max_by_key(likeness).unwrap_or_default();
        let listed: Vec<String> = names().take(NAMED_MAX).map(quote).collect();
        let more = names().count().saturating_sub(NAMED_MAX);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        format!(
            "no {word} is called {asked:?}; write {}, or another of {}{more}",
            self.key(nearest, figure),
            listed.join(", ")
        )
    }
}
