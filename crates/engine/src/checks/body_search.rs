//! A body without its content coding, searched as it goes past. Only JSON, and what texts are
//! taken from, is kept.

use super::AnswerChecks;
use super::html_search::HtmlSearch;
use super::text_search::TextSearch;
use super::value_tests::first_failed;
use measure::Kind;
use plan::PatternState;
use serde_json::Value;
use std::sync::Arc;

/// Longest body that is kept, in bytes.
const MAX_KEPT: usize = 1 << 20;
/// Longest body that is searched, in bytes: a coding can make a thousand of one.
const MAX_BODY: u64 = 64 << 20;

/// The body's checks, as far as it has come.
#[derive(Debug)]
pub(super) struct BodySearch {
    checks: Arc<AnswerChecks>,
    texts: TextSearch,
    patterns: Vec<PatternTrial>,
    /// The search of a page, if attributes of its elements are taken.
    html: Option<Box<HtmlSearch>>,
    keeps: bool,
    /// The body, if it is kept.
    kept: Vec<u8>,
    bytes: u64,
    progress: SearchProgress,
}

/// Whether a pattern has a match.
#[derive(Debug, Clone, Copy)]
enum PatternTrial {
    Open(PatternState),
    Closed { has_match: bool },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SearchProgress {
    /// What follows can change the outcome.
    Open,
    /// Nothing that follows can.
    Closed,
    /// The body is longer than what is searched.
    TooLong,
}

impl BodySearch {
    pub(super) fn new(checks: &Arc<AnswerChecks>) -> BodySearch {
        let patterns = checks.patterns.iter();
        BodySearch {
            texts: TextSearch::new(checks.texts.len(), checks.longest_text()),
            patterns: patterns
                .map(|(_, pattern)| PatternTrial::Open(pattern.begin()))
                .collect(),
            html: (!checks.html.is_empty()).then(Box::default),
            keeps: checks.keeps_body(),
            kept: Vec::new(),
            bytes: 0,
            progress: SearchProgress::Open,
            checks: Arc::clone(checks),
        }
    }

    /// Whether nothing that follows can change the outcome.
    pub(super) fn is_over(&self) -> bool {
        self.progress != SearchProgress::Open
    }

    pub(super) fn is_too_long(&self) -> bool {
        self.progress == SearchProgress::TooLong
    }

    /// Searches the next bytes of the body.
    pub(super) fn take(&mut self, piece: &[u8]) {
        if self.is_over() || piece.is_empty() {
            return;
        }
        self.bytes += piece.len() as u64;
        let texts = &self.checks.texts;
        self.texts.take(|place| &texts[place].1, piece);
        for (trial, (_, pattern)) in self.patterns.iter_mut().zip(&self.checks.patterns) {
            if let PatternTrial::Open(state) = trial
                && let Some(has_match) = pattern.feed(state, piece)
            {
                *trial = PatternTrial::Closed { has_match };
            }
        }
        if let Some(html) = &mut self.html {
            html.take(&self.checks.html, piece);
        }
        if self.keeps {
            self.kept.extend_from_slice(piece);
        }
        self.progress = if self.kept.len() > MAX_KEPT || self.bytes > MAX_BODY {
            self.kept = Vec::new();
            SearchProgress::TooLong
        } else if self.keeps || self.has_open_trials() {
            SearchProgress::Open
        } else {
            SearchProgress::Closed
        };
    }

    fn has_open_trials(&self) -> bool {
        let is_open = |trial: &PatternTrial| matches!(trial, PatternTrial::Open(_));
        let html = self.html.as_ref();
        let is_over = html.is_none_or(|html| html.is_over(&self.checks.html));
        !is_over || self.texts.first_missing().is_some() || self.patterns.iter().any(is_open)
    }

    /// The body is whole: returns what it fails by, `None` if it passes.
    pub(super) fn end(&self) -> Option<Kind> {
        if self.is_too_long() {
            return Some(Kind::BodyTooLarge);
        }
        let text = self.texts.first_missing();
        let text = text.map(|place| self.checks.texts[place].0);
        let failed = text.or_else(|| self.pattern_failure());
        failed.map(Kind::Check).or_else(|| self.json_failure())
    }

    /// The body, if it was kept.
    pub(super) fn whole_body(&self) -> &[u8] {
        &self.kept
    }

    /// The texts found in a page, by the captures that take attributes of its elements.
    pub(super) fn take_html(&mut self) -> Vec<Vec<Vec<u8>>> {
        let html = self.html.as_mut();
        html.map(|html| html.take_found()).unwrap_or_default()
    }

    fn pattern_failure(&self) -> Option<u16> {
        let mut patterns = self.patterns.iter().zip(&self.checks.patterns);
        let failed = patterns.find(|(trial, (_, pattern))| match **trial {
            PatternTrial::Open(state) => !pattern.end(state),
            PatternTrial::Closed { has_match } => !has_match,
        });
        failed.map(|(_, &(number, _))| number)
    }

    fn json_failure(&self) -> Option<Kind> {
        if self.checks.json.is_empty() {
            return None;
        }
        let Ok(document) = serde_json::from_slice::<Value>(&self.kept) else {
            return Some(Kind::NotJson);
        };
        first_failed(&self.checks.json, &document).map(Kind::Check)
    }
}
