//! Reads `[search]`, and prepares plans for it.

use crate::load::{MAX_CONNECTIONS, MAX_RATE};
use crate::read::context::Context;
use crate::read::field::Field;
use crate::read::overload;
use crate::read::section::PlanSection;
use crate::{
    AtEnd, Capacity, DataFile, Limit, NumberName, Plan, Rate, Relation, Search, SearchRange,
    Threshold, ThresholdMetric, ThresholdScope, Words as _,
};
use std::sync::Arc;
use std::time::Duration;

const DEFAULT_HOLD: Duration = Duration::from_secs(20);
const SHORTEST_HOLD: Duration = Duration::from_millis(100);
const DEFAULT_SETTLE: Duration = Duration::from_secs(30);
const DAY: Duration = Duration::from_secs(24 * 3600);
const HOUR: Duration = Duration::from_secs(3600);
const DEFAULT_PRECISION: f64 = 0.03;
const PRECISIONS: std::ops::RangeInclusive<f64> = 0.001..=1.0;
const MAX_NUMBERS_OF_AGENTS: usize = 100;
const MAX_AGENTS: u32 = 10_000;
const WAYS: [&str; 3] = ["rate", "connections", "agents"];

/// Paths of `[search]`, without indices.
pub(crate) const KEYS: &[&str] = &[
    "search.rate",
    "search.rate.from",
    "search.rate.to",
    "search.connections",
    "search.connections.from",
    "search.connections.to",
    "search.agents",
    "search.hold",
    "search.precision",
    "search.settle",
];

/// Reads the search; `None` if anything is wrong and has been reported.
pub(crate) fn read(section: PlanSection<'_>) -> Option<Search> {
    let given: Vec<&str> = WAYS.into_iter().filter(|way| section.has(way)).collect();
    match given.as_slice() {
        [] => section.problem(
            "says not what to search; write rate = { from = \"100/s\", to = \"50000/s\" }, \
             connections = { from = 10, to = 5000 } or agents = [1, 2, 4]",
        ),
        [_] => {}
        [first, others @ ..] => others.iter().for_each(|way| {
            section.problem_at(
                way,
                format_args!("given beside {first}; keep one: each search is a plan of its own"),
            );
        }),
    }
    let rates = section.read("rate", rates);
    let connections = section.read("connections", connections);
    let agents = section.read("agents", |field| agents(&field));
    // With two kinds of search at once only that is reported.
    if given == ["agents"] {
        let why = "belongs to a search for the highest load; the runs of a search over agents are \
                   as long as [load] says, so remove it";
        section.refuse(&["hold", "precision", "settle"], why);
    }
    let hold = section
        .read("hold", |field| field.duration(SHORTEST_HOLD..=DAY))
        .unwrap_or(DEFAULT_HOLD);
    let precision = section
        .read("precision", |field| precision(&field))
        .unwrap_or(DEFAULT_PRECISION);
    let settle = section
        .read("settle", |field| field.duration(Duration::ZERO..=HOUR))
        .unwrap_or(DEFAULT_SETTLE);
    section.finish();
    let capacity = rates.or(connections).map(|range| {
        Search::Capacity(Capacity {
            range,
            hold,
            precision,
            settle,
        })
    });
    capacity
        .or(agents.map(Search::Agents))
        .filter(|_| given.len() == 1)
}

fn rates(field: Field<'_>) -> Option<SearchRange> {
    let (from, to) = ends(field.section()?, rate, "from = \"100/s\", to = \"50000/s\"")?;
    Some(SearchRange::Rate { from, to })
}

fn connections(field: Field<'_>) -> Option<SearchRange> {
    let (from, to) = ends(
        field.section()?,
        |field| field.whole32(1..=MAX_CONNECTIONS),
        "from = 10, to = 5000",
    )?;
    Some(SearchRange::Connections { from, to })
}

fn rate(field: Field<'_>) -> Option<Rate> {
    let rate = field.rate()?;
    let fits = rate.as_per_second() > 0.0 && rate.as_per_second() <= MAX_RATE;
    if !fits {
        field.refuse("is no rate to search at; write one above 0 and at most \"100000000/s\"");
    }
    fits.then_some(rate)
}

fn ends<'a, T: PartialOrd>(
    section: PlanSection<'a>,
    mut read: impl FnMut(Field<'a>) -> Option<T>,
    example: &str,
) -> Option<(T, T)> {
    for key in ["from", "to"] {
        if !section.has(key) {
            section.problem_at(
                key,
                format_args!("missing; a range has two ends, such as {example}"),
            );
        }
    }
    let ends = section
        .read("from", &mut read)
        .zip(section.read("to", &mut read));
    let backwards = ends.as_ref().is_some_and(|(from, to)| from >= to);
    if backwards {
        section.problem_at(
            "from",
            "is not below to, and the search goes upwards; exchange the two, or write a higher to",
        );
    }
    section.finish();
    ends.filter(|_| !backwards)
}

fn precision(field: &Field<'_>) -> Option<f64> {
    let precision = field.number("a share such as 0.03")?;
    let fits = PRECISIONS.contains(&precision);
    if !fits {
        field.refuse("is out of range; write a number from 0.001 to 1, such as 0.03 for 3 %");
    }
    fits.then_some(precision)
}

fn agents(field: &Field<'_>) -> Option<Vec<u32>> {
    let fields = field.list("one such as [1, 2, 4]")?;
    if !(2..=MAX_NUMBERS_OF_AGENTS).contains(&fields.len()) {
        let message = format!(
            "has {} numbers; write 2 to {MAX_NUMBERS_OF_AGENTS} of them, such as [1, 2, 4]",
            fields.len()
        );
        field.problem(message);
        return None;
    }
    let numbers: Vec<Option<u32>> = fields
        .iter()
        .map(|field| field.whole32(1..=MAX_AGENTS))
        .collect();
    let numbers: Vec<u32> = numbers.into_iter().collect::<Option<_>>()?;
    let backwards = numbers.windows(2).position(|pair| pair[0] >= pair[1]);
    if let Some(index) = backwards {
        fields[index + 1].refuse(format_args!(
            "is not above the {} before it; write the numbers in ascending order",
            numbers[index]
        ));
    }
    backwards.is_none().then_some(numbers)
}

/// Prepares `plan` for the file's search, which is at `at` in the text. Anything that does not fit
/// is reported.
pub(crate) fn prepare(mut plan: Plan, search: &Search, at: usize, context: &Context<'_>) -> Plan {
    refuse_one_load(&plan, at, context);
    match search {
        Search::Capacity(capacity) => {
            imply_threshold(&mut plan);
            let note = overload::note(&plan, capacity);
            plan.notes.extend(note);
        }
        Search::Agents(numbers) => {
            let most = numbers.iter().copied().max().unwrap_or(1);
            if let Err(problem) = plan.for_agents(most) {
                let message =
                    format!("{most} agents, each with the load of [load], are too many: {problem}");
                context.problem("search.agents", Some(at), message);
            }
        }
    }
    plan
}

/// Reports what has an amount of its own, or an end: the loads of a search differ.
fn refuse_one_load(plan: &Plan, at: usize, context: &Context<'_>) {
    if plan.replay.is_some() {
        let message = "changes the amount of load, and [replay] has that of its log; remove one of \
                       them";
        context.problem("search", Some(at), message.to_owned());
    }
    let ends = |file: &&Arc<DataFile>| {
        file.at_end != AtEnd::Again && plan.takes_rows(&file.name).contains(&true)
    };
    if let Some(file) = plan.data.iter().find(ends) {
        let message = format!(
            "makes runs of several loads, and data.{} has rows that are to be taken once; write \
             at_end = \"again\" there, and an order that is not \"unique\"",
            file.name
        );
        context.problem("search", Some(at), message);
    }
}

/// Adds a threshold if there is none, since a search must be able to fail.
fn imply_threshold(plan: &mut Plan) {
    if plan.thresholds.is_empty() {
        let errors = NumberName::ErrorsCount.word().to_owned();
        let metric = ThresholdMetric::Number(errors);
        plan.thresholds.push(Threshold {
            scope: ThresholdScope::Run,
            metric,
            comparison: Relation::AtMost,
            limit: Limit::Number(0.0),
        });
        plan.notes.push(
            "there are no [thresholds], so [search] looks for the highest load with \
             \"errors.count\" = \"<= 0\""
                .to_owned(),
        );
    }
}
