//! Checks of answers beyond status and length: what a request of the plan asks for, ready to be
//! made. Knows no framing and no connection.

mod answer_watch;
mod body_search;
mod text_search;
mod value_tests;
mod watched_body;

pub(crate) use answer_watch::AnswerWatch;
use memchr::memmem::Finder;
use plan::{Check, CheckPlace, Pattern, Plan, ValueTest};
use std::sync::Arc;

/// The checks of one request, each with its number in the plan. Those of one kind stand in the
/// order of their numbers, and the kinds do too.
#[derive(Debug, Default)]
pub(crate) struct AnswerChecks {
    /// By the field's name.
    headers: Vec<(u16, String, ValueTest)>,
    texts: Vec<(u16, Finder<'static>)>,
    patterns: Vec<(u16, Pattern)>,
    /// By the pointer.
    json: Vec<(u16, String, ValueTest)>,
    /// Whether the field `Location` is kept, because redirects are followed.
    keeps_location: bool,
}

impl AnswerChecks {
    /// The checks of each of the plan's requests; `None` for those without that follow no redirects
    /// either.
    pub(crate) fn of_requests(plan: &Plan) -> Vec<Option<Arc<AnswerChecks>>> {
        let mut last = 0;
        let of_request = |request: &plan::Request| {
            let checks = &request.expect.checks;
            let first = last + 1;
            last += checks.len() as u16; // a plan has 1,000 at most
            let keeps_location = request.redirects > 0;
            (keeps_location || !checks.is_empty()).then(|| {
                Arc::new(AnswerChecks {
                    keeps_location,
                    ..AnswerChecks::new(first, checks)
                })
            })
        };
        plan.requests().iter().map(of_request).collect()
    }

    /// Gets `checks` ready, the first of which has the number `first`.
    fn new(first: u16, checks: &[Check]) -> AnswerChecks {
        let mut ready = AnswerChecks::default();
        for (number, check) in (first..).zip(checks) {
            match (&check.place, &check.test) {
                (CheckPlace::Header(name), test) => {
                    ready.headers.push((number, name.clone(), test.clone()));
                }
                (CheckPlace::Json(pointer), test) => {
                    ready.json.push((number, pointer.clone(), test.clone()));
                }
                (CheckPlace::Body, ValueTest::Contains(text)) => {
                    let finder = Finder::new(text.as_bytes()).into_owned();
                    ready.texts.push((number, finder));
                }
                (CheckPlace::Body, ValueTest::Matches(pattern)) => {
                    ready.patterns.push((number, pattern.clone()));
                }
                (CheckPlace::Body, _) => {} // a plan has no other tests of a body
            }
        }
        ready
    }

    fn has_body_checks(&self) -> bool {
        !(self.texts.is_empty() && self.patterns.is_empty() && self.json.is_empty())
    }

    /// Length of the longest text that is looked for.
    fn longest_text(&self) -> usize {
        let lengths = self.texts.iter().map(|(_, finder)| finder.needle().len());
        lengths.max().unwrap_or(0)
    }
}
