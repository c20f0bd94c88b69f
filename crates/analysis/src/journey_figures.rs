//! The funnels of journeys in the result.

use crate::counts::share;
use crate::figures::is_zero;
use crate::journey_tally::{JourneyTallies, JourneyTally};
use crate::span::Span;
use crate::{Headline, HistogramColumns, TimeFigure};
use measure::{Distribution, GroupTally, JourneyCounts, StepCounts};
use plan::Plan;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What became of the journeys of one name that were due in the measured part. Each one that was
/// begun was completed, failed or abandoned, or is lost or under way.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JourneyFigures {
    /// Name of the journey.
    pub name: String,
    /// Journeys whose first step was begun.
    pub begun: u64,
    /// Journeys that were due and could not be begun; not among `begun`. Their first operations are
    /// arrivals that were not sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_sent: u64,
    /// Journeys whose last step ended ok.
    pub completed: u64,
    /// Journeys that ended with a step that did not end ok.
    pub failed: u64,
    /// Journeys that the run's end cut off between two steps.
    pub abandoned: u64,
    /// Journeys that lost agents began, and whose end is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// Journeys that have not ended yet; 0 in the result of a run that is over.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub under_way: u64,
    /// `completed` over `completed`, `failed` and `not_sent`; absent if there are none. Journeys
    /// that were cut off, by the run's end or with their agent, say nothing of how they would have
    /// ended.
    pub completed_share: Option<f64>,
    /// Journeys due per second of the measured part, begun or not.
    pub due_per_second: f64,
    /// Journeys completed per second of the measured part, by the instant of their end, whenever
    /// they were due.
    pub completed_per_second: f64,
    /// Times of completed journeys, from the instant they were due to the end of their last
    /// operation; absent if none was completed.
    pub time: Option<TimeFigure>,
    /// The same without the pauses that the plan wants.
    pub wait: Option<TimeFigure>,
    /// The steps, in the order of the plan.
    pub steps: Vec<StepFigures>,
    /// The groups of steps, in the order of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupFigures>,
}

/// What became of a group of a journey's steps. A journey that repeats a group counts each time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupFigures {
    /// Name of the group.
    pub name: String,
    /// Times that its first step was begun.
    pub begun: u64,
    /// Times that its last step ended ok.
    pub completed: u64,
    /// Times of the completed ones, from the instant the first step was due to the end of the last
    /// one; absent if there are none.
    pub time: Option<TimeFigure>,
    /// The same without the pauses that the plan wants.
    pub wait: Option<TimeFigure>,
}

/// What became of one step of a journey.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepFigures {
    /// Name of its request.
    pub request: String,
    /// Its own name: that of the request, with a number behind it if earlier steps have the same.
    pub name: String,
    /// Journeys that came to it, also those that skipped it.
    pub journeys: u64,
    /// Times that it was begun: more often than journeys came to it where the plan repeats it.
    pub begun: u64,
    /// Times that it ended as the plan expects.
    pub ok: u64,
    /// Times that it ended otherwise; each was the end of its journey.
    pub failed: u64,
    /// Times that it was skipped, because it is made once per user and had been; not among `begun`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped: u64,
}

/// The names of a plan's journey and of its steps.
#[derive(Debug, Clone)]
pub(crate) struct JourneyNames {
    pub(crate) name: String,
    /// Names of the request and of the step itself.
    steps: Vec<(String, String)>,
    pub(crate) groups: Vec<String>,
}

impl JourneyNames {
    /// Returns the names of all journeys, in the plan's order.
    pub(crate) fn all(plan: &Plan) -> Vec<JourneyNames> {
        let requests = plan.requests();
        let names = |journey: &plan::Journey| {
            let steps = journey.steps().iter().enumerate();
            let steps = steps.map(|(place, &request)| {
                let request = requests.get(usize::from(request));
                let request = request.map_or_else(String::new, |request| request.name.clone());
                (request, journey.step_name(place).to_owned())
            });
            JourneyNames {
                name: journey.name.clone(),
                steps: steps.collect(),
                groups: journey.groups().to_vec(),
            }
        };
        plan.journeys().iter().map(names).collect()
    }
}

impl JourneyFigures {
    /// Returns the figures of every journey of the plan. `lost` has the journeys, by their place in
    /// the plan, that agents whose run is over have begun and not ended.
    pub(crate) fn all(
        names: &[JourneyNames],
        tallies: &JourneyTallies,
        lost: &BTreeMap<u16, u64>,
        span: Span,
    ) -> Vec<JourneyFigures> {
        let nothing = JourneyTally::default();
        let figures = (0..).zip(names).map(|(place, names)| {
            let tally = tallies.of(place).unwrap_or(&nothing);
            let lost = lost.get(&place).copied().unwrap_or(0);
            JourneyFigures::new(names, tally, lost, span)
        });
        figures.collect()
    }

    fn new(names: &JourneyNames, tally: &JourneyTally, lost: u64, span: Span) -> JourneyFigures {
        let funnel = &tally.funnel;
        let JourneyCounts {
            begun,
            not_sent,
            completed,
            failed,
            abandoned,
            completed_within: _,
        } = funnel.counts;
        let (nothing, no_group) = (StepCounts::default(), GroupTally::default());
        let tallies = funnel.groups.iter().chain(std::iter::repeat(&no_group));
        let groups = names.groups.iter().zip(tallies);
        let counts = funnel.steps.iter().chain(std::iter::repeat(&nothing));
        let steps = names.steps.iter().zip(counts).enumerate();
        JourneyFigures {
            name: names.name.clone(),
            begun,
            not_sent,
            completed,
            failed,
            abandoned,
            lost,
            under_way: begun
                .saturating_sub(funnel.counts.count_ended())
                .saturating_sub(lost),
            completed_share: share(completed, with_an_end(&funnel.counts)),
            due_per_second: span.per_second(begun.saturating_add(not_sent) as f64),
            completed_per_second: span.per_second(tally.count_completed() as f64),
            time: time_figure(&funnel.time),
            wait: time_figure(&funnel.wait),
            steps: steps
                .map(|(place, ((request, name), counts))| StepFigures {
                    request: request.clone(),
                    name: name.clone(),
                    journeys: counts.reached,
                    begun: counts.begun,
                    ok: counts.ok,
                    failed: counts.failed,
                    skipped: funnel.count_skipped(place),
                })
                .collect(),
            groups: groups
                .map(|(name, tally)| GroupFigures {
                    name: name.clone(),
                    begun: tally.begun,
                    completed: tally.completed,
                    time: time_figure(&tally.time),
                    wait: time_figure(&tally.wait),
                })
                .collect(),
        }
    }

    /// Returns the journeys of which it is known how they ended, those that were never begun
    /// included.
    #[must_use]
    pub fn count_with_an_end(&self) -> u64 {
        sum([self.completed, self.failed, self.not_sent])
    }

    /// Returns the share of the journeys that were begun which came to a step; `None` if none was
    /// begun.
    #[must_use]
    pub fn share_reaching(&self, step: &StepFigures) -> Option<f64> {
        share(step.journeys, self.begun)
    }

    /// Returns the journeys that were cut off, over those that were begun and have ended, the end
    /// of the run included.
    #[must_use]
    pub fn share_cut_off(&self) -> Option<f64> {
        let ended = self.completed.saturating_add(self.failed);
        share(self.abandoned, ended.saturating_add(self.abandoned))
    }
}

/// Returns the journeys of which it is known how they ended: completed, failed, or never begun.
pub(crate) fn with_an_end(counts: &JourneyCounts) -> u64 {
    sum([counts.completed, counts.failed, counts.not_sent])
}

fn sum(counts: [u64; 3]) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

fn time_figure(times: &Distribution) -> Option<TimeFigure> {
    let headline = (!times.is_empty()).then(|| Headline::exact(times))?;
    let figure = TimeFigure::new(&headline, HistogramColumns::Drawn);
    Some(figure.with_curve(&headline))
}
