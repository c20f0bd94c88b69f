//! Signs that a resource is used up: each is looked for in every second of a machine, and fires if
//! enough of the seconds show it.

use super::wanted::Pardon;
use super::{LimitOf, RuleReading};
use crate::{MachineRow, human};

/// Most machines at their limit that get a sentence each.
const MACHINES_MAX: usize = 5;

/// A sign that a resource is used up.
pub(super) struct Sign {
    pub(super) rule: &'static str,
    /// Returns how close a second comes to showing it; from 1 on it does. `None` if the machine
    /// does not report it.
    pub(super) reach: fn(&MachineRow) -> Option<f64>,
    /// Describes what a second shows.
    pub(super) words: fn(&MachineRow) -> String,
    /// The bound from which it is shown.
    pub(super) bound: &'static str,
    /// The remedy.
    pub(super) cure: &'static str,
}

/// The common part of signs of one kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) limit_of: LimitOf,
    /// Share of the seconds that must show a sign; at least one must.
    pub(super) part: f64,
}

/// A machine, and those of its seconds that are looked at.
pub(super) struct Watched<'a> {
    /// Its name in the evidence: `agent a`, `monitor db`.
    pub(super) who: String,
    pub(super) rows: WatchedRows<'a>,
    /// Reasons why rules do not blame it for what they see.
    pub(super) pardons: Vec<Pardon>,
}

/// The rows known of a machine.
pub(super) enum WatchedRows<'a> {
    BySecond(Vec<&'a MachineRow>),
    /// Its seconds were not reported: one row of means.
    OfTheRun(Box<MachineRow>),
}

impl WatchedRows<'_> {
    pub(super) fn all(&self) -> Vec<&MachineRow> {
        match self {
            WatchedRows::BySecond(rows) => rows.clone(),
            WatchedRows::OfTheRun(row) => vec![row],
        }
    }
}

/// The result of a sign on a machine.
struct Look {
    reach: f64,
    /// Description of the second that decided.
    words: String,
    /// In how many of the seconds it reached its bound, as the rest of a sentence.
    when: String,
}

impl Sign {
    /// Reads the sign on these machines: for each machine on which it fires, or else for the one
    /// closest to it.
    pub(super) fn readings(&self, machines: &[Watched<'_>], asked: Asked) -> Vec<RuleReading> {
        let looks = machines
            .iter()
            .filter_map(|machine| Some((machine, self.look(machine, asked.part)?)));
        let mut looks: Vec<(&Watched<'_>, Look)> = looks.collect();
        looks.sort_by(|(_, a), (_, b)| b.reach.total_cmp(&a.reach));
        let bound = self.bound_in_words(asked.part);
        if looks.is_empty() {
            let unknown = RuleReading::unknown(self.rule, asked.limit_of, bound);
            let figure = match machines {
                [] => unknown.figure,
                [one] => format!("{}: {}", one.who, unknown.figure),
                [one, more @ ..] => {
                    format!("{} and {} more: {}", one.who, more.len(), unknown.figure)
                }
            };
            return vec![RuleReading { figure, ..unknown }];
        }
        let speaking = looks.iter().filter(|(_, look)| look.reach >= 1.0).count();
        let shown = looks.iter().take(speaking.clamp(1, MACHINES_MAX));
        let mut readings: Vec<RuleReading> = shown
            .map(|(machine, look)| self.reading(machine, look, asked))
            .collect();
        if speaking > MACHINES_MAX {
            let more = format!("{} more showed the same", speaking - MACHINES_MAX);
            readings.push(RuleReading {
                rule: self.rule,
                limit_of: asked.limit_of,
                says: Some(more.clone()),
                acquits: None,
                figure: more,
                bound,
                distance: None,
            });
        }
        readings
    }

    fn reading(&self, machine: &Watched<'_>, look: &Look, asked: Asked) -> RuleReading {
        let bound = self.bound_in_words(asked.part);
        let figure = format!("{}: {}{}", machine.who, look.words, look.when);
        let says = format!("{figure} (bound: {bound}){}", self.cure);
        let is_shown = look.reach >= 1.0;
        let mut pardons = machine.pardons.iter().filter(|_| is_shown);
        let pardon = pardons.find(|(rule, _)| *rule == self.rule);
        let acquits = pardon.map(|(_, why)| format!("{figure}, which is no limit: {why}"));
        RuleReading {
            rule: self.rule,
            limit_of: asked.limit_of,
            says: (is_shown && acquits.is_none()).then_some(says),
            acquits,
            figure,
            bound,
            distance: Some(look.reach),
        }
    }

    fn bound_in_words(&self, part: f64) -> String {
        let part = human::exact(&human::share(part));
        format!("{} in {part} of the seconds", self.bound)
    }

    /// Looks at the seconds in order of how clearly they show the sign. The one that decides is the
    /// last of the share that must show it.
    fn look(&self, machine: &Watched<'_>, part: f64) -> Option<Look> {
        let weight = |row: &MachineRow| u64::from(row.seconds.max(1));
        let rows = machine.rows.all().into_iter();
        let known = rows.filter_map(|row| Some(((self.reach)(row)?, row)));
        let mut known: Vec<(f64, &MachineRow)> =
            known.filter(|(reach, _)| reach.is_finite()).collect();
        known.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let all: u64 = known.iter().map(|(_, row)| weight(row)).sum();
        let must = ((part * all as f64).ceil() as u64).max(1);
        let mut sum = 0;
        let (reach, row) = *known.iter().find(|(_, row)| {
            sum += weight(row);
            sum >= must
        })?;
        let shown = known.iter().filter(|&&(reach, _)| reach >= 1.0);
        let shown: u64 = shown.map(|(_, row)| weight(row)).sum();
        Some(Look {
            reach,
            words: (self.words)(row),
            when: match machine.rows {
                WatchedRows::BySecond(_) if shown == 0 => {
                    format!("; the bound was reached in none of {all} s")
                }
                WatchedRows::BySecond(_) => format!(", in {shown} of {all} s"),
                WatchedRows::OfTheRun(_) => ", on average".to_owned(),
            },
        })
    }
}
