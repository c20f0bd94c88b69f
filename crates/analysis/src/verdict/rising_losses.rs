//! Decides whether more is lost on the way when there is more load, which shows a full path whose
//! speed is not known.

use super::counted_seconds::{is_known, measured};
use super::{BoundNumber, RuleBound, RuleId, RuleReading};
use crate::{Document, LoadRecord, MachineResult, MachineRole, MachineRow, Row, human};

/// Share of the segments that are lost under the higher half of the load;
const LOST: f64 = 0.01;

/// it is at least this many times the share under the lower half,
const RISE_MIN: f64 = 2.0;

/// and the higher half has at least this many times the load of the lower.
const LOAD_MIN: f64 = 1.5;

/// Fewer segments than this under one half of the load are too few for a share.
const SEGMENTS_MIN: u64 = 1000;

const BOUND: RuleBound = RuleBound::new(
    "{}, {} the share of the lower half, at {} its load, and a monitor that saw room",
    &[
        BoundNumber::Share(LOST),
        BoundNumber::Times(RISE_MIN),
        BoundNumber::Times(LOAD_MIN),
    ],
);

/// Losses of a machine under one half of the load.
#[derive(Debug, Clone, Copy, Default)]
struct Losses {
    load: f64,
    seconds: f64,
    segments: u64,
    lost: u64,
}

/// Reads the rule for the machine that shows it most. Both ends must have room, given as
/// `ends_have_room`: if a server drops connections, segments are retransmitted, too.
pub(super) fn reading(document: &Document, ends_have_room: bool) -> RuleReading {
    let machines = document.machines.iter();
    let seen = machines.filter_map(|machine| Some((machine, halves(document, machine)?)));
    let most = seen.max_by(|(_, a), (_, b)| reach(a).total_cmp(&reach(b)));
    let Some((machine, halves)) = most else {
        return RuleReading::unknown(RuleId::RisingLosses, BOUND);
    };
    let reach = reach(&halves);
    let figure = in_words(machine, &halves);
    let speaks = reach >= 1.0 && ends_have_room;
    RuleReading {
        rule: RuleId::RisingLosses,
        says: speaks.then(|| format!("{figure} (bound: {BOUND})")),
        acquits: None,
        figure,
        bound: BOUND,
        distance: Some(reach),
    }
}

fn in_words(machine: &MachineResult, [low, high]: &[Losses; 2]) -> String {
    let role = match machine.role {
        MachineRole::Agent => "agent",
        MachineRole::Monitor => "monitor",
    };
    format!(
        "{role} {}: {} of {} segments were sent again or dropped ({}) under the higher half of \
         the load, and {} under the lower half, which was {} of it",
        machine.name,
        high.lost,
        high.segments,
        human::share(high.share()),
        human::share(low.share()),
        human::share(low.mean_load() / high.mean_load())
    )
}

fn reach([low, high]: &[Losses; 2]) -> f64 {
    let rise = high.share() / low.share() / RISE_MIN;
    let load = high.mean_load() / low.mean_load() / LOAD_MIN;
    let reach = (high.share() / LOST).min(load);
    // If nothing was lost under the lower half, any loss is a rise.
    if low.lost == 0 {
        reach
    } else {
        reach.min(rise)
    }
}

/// Returns the lower and the higher half of the seconds by load; `None` if they have too few
/// segments.
fn halves(document: &Document, machine: &MachineResult) -> Option<[Losses; 2]> {
    let mut seconds: Vec<(f64, &MachineRow)> = measured(document)
        .filter_map(|row| Some((load(document, row), of_second(machine, row)?)))
        .collect();
    seconds.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let (low, high) = seconds.split_at(seconds.len() / 2);
    let halves = [low, high].map(|half| half.iter().fold(Losses::default(), Losses::plus));
    let is_telling = |half: &Losses| half.segments >= SEGMENTS_MIN && half.load > 0.0;
    halves.iter().all(is_telling).then_some(halves)
}

/// Returns the load offered in a second: arrivals, or users under way.
fn load(document: &Document, row: &Row) -> f64 {
    match document.plan.load {
        LoadRecord::Open { .. } => row.due() as f64 / f64::from(row.seconds.max(1)),
        LoadRecord::Closed { .. } => row.in_service,
    }
}

fn of_second<'d>(machine: &'d MachineResult, row: &Row) -> Option<&'d MachineRow> {
    let mut rows = machine.rows.iter();
    rows.find(|known| known.second == row.second && is_known(known))
}

impl Losses {
    fn plus(self, (load, row): &(f64, &MachineRow)) -> Losses {
        let drops = row.interfaces.iter().map(|link| link.drops).sum::<u64>();
        Losses {
            load: self.load + load,
            seconds: self.seconds + 1.0,
            segments: self.segments.saturating_add(row.tcp.segments_sent),
            lost: self
                .lost
                .saturating_add(row.tcp.retransmits)
                .saturating_add(drops),
        }
    }

    fn share(&self) -> f64 {
        self.lost as f64 / self.segments as f64
    }

    fn mean_load(&self) -> f64 {
        self.load / self.seconds
    }
}
