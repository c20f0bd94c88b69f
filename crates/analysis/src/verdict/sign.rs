//! Signs that a resource is used up: each is looked for in every second of a machine, and fires if
//! enough of the seconds show it.

use super::counted_seconds::LATE_SECONDS;
use super::wanted::Pardon;
use super::{RuleBound, RuleId, RuleReading};
use crate::MachineRow;

/// Most machines at their limit that get a sentence each.
const MACHINES_MAX: usize = 5;

/// Least share of the seconds that a machine must have reported for what it shows on the whole.
const COMPLETE: f64 = 0.8;

/// A sign that a resource is used up.
pub(super) struct Sign {
    pub(super) rule: RuleId,
    /// Returns how close a second comes to showing it; from 1 on it does. `None` if the machine
    /// does not report it.
    pub(super) reach: fn(&MachineRow) -> Option<f64>,
    /// Describes what a second shows.
    pub(super) words: fn(&MachineRow) -> String,
    /// The bound from which it is shown.
    pub(super) bound: RuleBound,
    /// The remedy.
    pub(super) cure: &'static str,
}

/// A machine, and those of its seconds that are looked at.
pub(super) struct Watched<'a> {
    /// Its name in the evidence: `agent a`, `monitor db`.
    pub(super) who: String,
    pub(super) rows: WatchedRows<'a>,
    /// How many seconds its rows should cover; 0 if those that are known decide by themselves.
    pub(super) due_seconds: u64,
    /// Reasons why rules do not blame it for what they see.
    pub(super) pardons: Vec<Pardon>,
}

/// The rows known of a machine.
pub(super) enum WatchedRows<'a> {
    BySecond(Vec<&'a MachineRow>),
    /// Its seconds were not reported: one row of means.
    OfTheRun(Box<MachineRow>),
}

impl Watched<'_> {
    /// Returns whether nearly all of the seconds are known that its rows should cover.
    pub(super) fn is_complete(&self) -> bool {
        let rows = self.rows.all().into_iter();
        is_nearly_all(rows.map(weight).sum(), self.due_seconds)
    }
}

/// Returns whether nearly all of the `due` seconds are known: [`COMPLETE`] of them, besides one
/// that may be late.
pub(super) fn is_nearly_all(known: u64, due: u64) -> bool {
    (known + LATE_SECONDS) as f64 >= COMPLETE * due as f64
}

/// Returns how many seconds a row covers.
pub(super) fn weight(row: &MachineRow) -> u64 {
    u64::from(row.seconds.max(1))
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
    /// closest to it. `part` is the share of the seconds that must show it; at least one must.
    pub(super) fn readings(&self, machines: &[Watched<'_>], part: f64) -> Vec<RuleReading> {
        let looks = machines
            .iter()
            .filter_map(|machine| Some((machine, self.look(machine, part)?)));
        let mut looks: Vec<(&Watched<'_>, Look)> = looks.collect();
        looks.sort_by(|(_, a), (_, b)| b.reach.total_cmp(&a.reach));
        let bound = self.bound.in_part_of_seconds(part);
        if looks.is_empty() {
            let unknown = RuleReading::unknown(self.rule, bound);
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
            .map(|(machine, look)| self.reading(machine, look, bound))
            .collect();
        if speaking > MACHINES_MAX {
            let more = format!("{} more showed the same", speaking - MACHINES_MAX);
            readings.push(RuleReading {
                rule: self.rule,
                says: Some(more.clone()),
                acquits: None,
                figure: more,
                bound,
                distance: None,
            });
        }
        readings
    }

    fn reading(&self, machine: &Watched<'_>, look: &Look, bound: RuleBound) -> RuleReading {
        let figure = format!("{}: {}{}", machine.who, look.words, look.when);
        let says = format!("{figure} (bound: {bound}){}", self.cure);
        let is_shown = look.reach >= 1.0;
        let mut pardons = machine.pardons.iter().filter(|_| is_shown);
        let pardon = pardons.find(|(rule, _)| *rule == self.rule);
        let acquits = pardon.map(|(_, why)| format!("{figure}, which is no limit: {why}"));
        RuleReading {
            rule: self.rule,
            says: (is_shown && acquits.is_none()).then_some(says),
            acquits,
            figure,
            bound,
            distance: Some(look.reach),
        }
    }

    /// Looks at the seconds in order of how clearly they show the sign. The one that decides is the
    /// last of the share that must show it. Returns `None` if fewer seconds than that are known.
    fn look(&self, machine: &Watched<'_>, part: f64) -> Option<Look> {
        let rows = machine.rows.all();
        let reported: u64 = rows.iter().map(|row| weight(row)).sum();
        let known = rows.into_iter();
        let known = known.filter_map(|row| Some(((self.reach)(row)?, row)));
        let mut known: Vec<(f64, &MachineRow)> =
            known.filter(|(reach, _)| reach.is_finite()).collect();
        known.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let seen: u64 = known.iter().map(|(_, row)| weight(row)).sum();
        let all = seen + machine.due_seconds.saturating_sub(reported);
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
                    format!("; the bound was reached in none of {seen} s")
                }
                WatchedRows::BySecond(_) => format!(", in {shown} of {all} s"),
                WatchedRows::OfTheRun(_) => ", on average".to_owned(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Sign, Watched, WatchedRows};
    use crate::verdict::{BoundNumber, RuleBound, RuleId};
    use crate::{MachineRow, human};

    /// Returns the texts of a sign with this bound: what fires says, and the bound that `explain`
    /// and the documentation show.
    fn texts(bound: RuleBound) -> [String; 2] {
        let sign = Sign {
            rule: RuleId::Steal,
            reach: |_| Some(1.0),
            words: |row| human::share(row.worst_steal),
            bound,
            cure: ": move",
        };
        let row = MachineRow {
            worst_steal: 0.97,
            ..MachineRow::default()
        };
        let machine = Watched {
            who: "agent a".to_owned(),
            rows: WatchedRows::BySecond(vec![&row]),
            due_seconds: 0,
            pardons: Vec::new(),
        };
        let [reading] = <[_; 1]>::try_from(sign.readings(&[machine], 0.05)).unwrap();
        [reading.says.unwrap(), reading.bound.to_string()]
    }

    #[test]
    fn another_bound_changes_every_text() {
        const USUAL: RuleBound = RuleBound::new("{} taken", &[BoundNumber::Share(0.95)]);
        const OTHER: RuleBound = RuleBound::new("{} taken", &[BoundNumber::Share(0.9)]);
        let usual = [
            "agent a: 97.0 %, in 1 of 1 s (bound: 95 % taken in 5 % of the seconds): move",
            "95 % taken in 5 % of the seconds",
        ];
        assert_eq!(texts(USUAL), usual);
        assert_eq!(texts(OTHER), usual.map(|text| text.replace("95 %", "90 %")));
    }
}
