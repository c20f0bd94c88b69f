//! Figures of one request or one journey, by the names that thresholds have for them.

use super::figure::{
    Better, Figure, FigureSource, FigureValue, once, share_of, statistic, with_quantum,
};
use crate::journey_figures::{GroupFigures, JourneyFigures};
use crate::{Document, Figures, Unit};
use std::borrow::Cow;

/// A figure that every part of one kind has: its name behind that of the part.
struct PartFigure<V> {
    name: &'static str,
    unit: Unit,
    better: Better,
    of: V,
}

type OfRequest = PartFigure<fn(&Figures, &Document) -> Option<FigureValue>>;
type OfJourney = PartFigure<fn(&JourneyFigures, &Document) -> Option<FigureValue>>;
type OfGroup = PartFigure<fn(&GroupFigures) -> Option<FigureValue>>;

const fn rate<V>(name: &'static str, of: V) -> PartFigure<V> {
    PartFigure {
        name,
        unit: Unit::PerSecond,
        better: Better::Higher,
        of,
    }
}

const fn cost<V>(name: &'static str, unit: Unit, of: V) -> PartFigure<V> {
    PartFigure {
        name,
        unit,
        better: Better::Lower,
        of,
    }
}

static OF_REQUESTS: [OfRequest; 9] = [
    rate("rate", |figures, document| {
        with_quantum(figures.rates.ok_per_second, once(document))
    }),
    cost("response_time.mean", Unit::Ns, |figures, _| {
        statistic(figures.times.get("response_time")?, None)
    }),
    cost("response_time.p50", Unit::Ns, |figures, _| {
        statistic(figures.times.get("response_time")?, Some(50.0))
    }),
    cost("response_time.p90", Unit::Ns, |figures, _| {
        statistic(figures.times.get("response_time")?, Some(90.0))
    }),
    cost("response_time.p99", Unit::Ns, |figures, _| {
        statistic(figures.times.get("response_time")?, Some(99.0))
    }),
    cost("message_time.p50", Unit::Ns, |figures, _| {
        statistic(figures.times.get("message_time")?, Some(50.0))
    }),
    cost("message_time.p99", Unit::Ns, |figures, _| {
        statistic(figures.times.get("message_time")?, Some(99.0))
    }),
    cost("ping_time.p99", Unit::Ns, |figures, _| {
        statistic(figures.times.get("ping_time")?, Some(99.0))
    }),
    cost("errors.share", Unit::Share, |figures, _| {
        share_of(figures.operations.errors, figures.operations.ended)
    }),
];

static OF_JOURNEYS: [OfJourney; 4] = [
    rate("rate", |journey, document| {
        with_quantum(journey.completed_per_second, once(document))
    }),
    cost("failed.share", Unit::Share, |journey, _| {
        share_of(journey.failed, journey.count_with_an_end())
    }),
    cost("time.p50", Unit::Ns, |journey, _| {
        statistic(journey.time.as_ref()?, Some(50.0))
    }),
    cost("time.p99", Unit::Ns, |journey, _| {
        statistic(journey.time.as_ref()?, Some(99.0))
    }),
];

static OF_GROUPS: [OfGroup; 2] = [
    cost("time.p50", Unit::Ns, |group| {
        statistic(group.time.as_ref()?, Some(50.0))
    }),
    cost("time.p99", Unit::Ns, |group| {
        statistic(group.time.as_ref()?, Some(99.0))
    }),
];

/// Figures of the journeys that the runs have, in their order.
pub(super) fn of_journeys<'a>(runs: impl Iterator<Item = &'a Document>) -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::new();
    for journey in runs.flat_map(|run| &run.journeys) {
        let own = OF_JOURNEYS
            .iter()
            .map(|figure| figure.of_journey(&journey.name));
        let groups = journey.groups.iter().flat_map(|group| {
            let figures = OF_GROUPS.iter();
            figures.map(|figure| figure.of_group(&journey.name, &group.name))
        });
        for figure in own.chain(groups) {
            if figures.iter().all(|known| known.name != figure.name) {
                figures.push(figure);
            }
        }
    }
    figures
}

/// Returns the figure of a request that is called `request.NAME.FIGURE`; `None` if there is no such
/// figure.
pub(super) fn of_request(text: &str) -> Option<Figure> {
    let rest = text.strip_prefix("request.")?;
    OF_REQUESTS.iter().find_map(|figure| {
        let name = named(rest, figure.name)?;
        let (name, of) = (name.to_owned(), figure.of);
        Some(figure.named(text.to_owned(), move |document| {
            let mut requests = document.by_request.iter();
            of(
                &requests.find(|request| request.name == name)?.figures,
                document,
            )
        }))
    })
}

/// Whether a journey can have a figure that is called `journey.NAME.FIGURE`.
pub(super) fn is_of_journey(text: &str) -> bool {
    let names = OF_JOURNEYS.iter().map(|figure| figure.name);
    let mut names = names.chain(OF_GROUPS.iter().map(|figure| figure.name));
    let rest = text.strip_prefix("journey.");
    rest.is_some_and(|rest| names.any(|name| named(rest, name).is_some()))
}

/// What figures of one request or one journey are called.
pub(super) fn names() -> impl Iterator<Item = String> {
    let requests = OF_REQUESTS
        .iter()
        .map(|figure| format!("request.NAME.{}", figure.name));
    let journeys = OF_JOURNEYS
        .iter()
        .map(|figure| format!("journey.NAME.{}", figure.name));
    let groups = OF_GROUPS.iter();
    let groups = groups.map(|figure| format!("journey.NAME.group.GROUP.{}", figure.name));
    requests.chain(journeys).chain(groups)
}

/// The name before `.figure`, if it is not empty.
fn named<'a>(text: &'a str, figure: &str) -> Option<&'a str> {
    let name = text.strip_suffix(figure)?.strip_suffix('.')?;
    (!name.is_empty()).then_some(name)
}

fn journey<'a>(document: &'a Document, name: &str) -> Option<&'a JourneyFigures> {
    let mut journeys = document.journeys.iter();
    journeys.find(|journey| journey.name == name)
}

impl<V> PartFigure<V> {
    fn named(
        &self,
        name: String,
        of: impl Fn(&Document) -> Option<FigureValue> + Send + Sync + 'static,
    ) -> Figure {
        Figure {
            name: Cow::Owned(name),
            unit: self.unit,
            better: self.better,
            of: FigureSource::Part(Box::new(of)),
            of_rows: None,
        }
    }
}

impl OfJourney {
    fn of_journey(&self, name: &str) -> Figure {
        let (text, of) = (format!("journey.{name}.{}", self.name), self.of);
        let name = name.to_owned();
        self.named(text, move |document| {
            of(journey(document, &name)?, document)
        })
    }
}

impl OfGroup {
    fn of_group(&self, name: &str, group: &str) -> Figure {
        let text = format!("journey.{name}.group.{group}.{}", self.name);
        let (of, name, group) = (self.of, name.to_owned(), group.to_owned());
        self.named(text, move |document| {
            let mut groups = journey(document, &name)?.groups.iter();
            of(groups.find(|figures| figures.name == group)?)
        })
    }
}
