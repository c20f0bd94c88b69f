//! Figures for watching a run: the most recent second that all agents have delivered.

use crate::Headline;
use crate::counts::{errors, sent_and_ended};
use crate::stretches::Stretches;
use measure::{Distribution, Metric, Outcome, Snapshot};
use std::collections::BTreeMap;

/// Number of seconds kept until all agents have delivered them; an older second is shown without
/// the laggards.
const KEPT: usize = 8;

/// Figures of one second.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Live {
    /// Its number, on the run clock.
    pub second: u32,
    /// Whether it began in the warm-up.
    pub is_warm_up: bool,
    /// Operations that ended in it.
    pub ended_per_second: u64,
    /// Operations that ended in it or were never sent, and are not ok.
    pub errors: u64,
    /// Bytes of bodies received in it.
    pub payload_bytes: u64,
    /// Median response time of operations that ended in it.
    pub p50_ns: Option<u64>,
    /// Whether the median is a lower bound, too.
    pub p50_at_least: bool,
    /// 99th percentile of their response time.
    pub p99_ns: Option<u64>,
    /// Whether the 99th percentile is a lower bound: it falls among time-outs.
    pub p99_at_least: bool,
    /// Messages over WebSockets that were answered in it.
    pub messages_per_second: u64,
    /// Mean time from the instant at which these were due to their answers.
    pub message_time_mean_ns: Option<u64>,
    /// Number of agents that delivered it.
    pub agents: u32,
    /// Measured operations ended so far.
    pub total_ended: u64,
    /// What the load is made of and has ended so far, measured: operations, or journeys.
    pub total_units: u64,
    /// Measured operations ended so far that are not ok.
    pub total_errors: u64,
    /// Each agent's machine, by index.
    pub by_agent: Vec<LiveMachine>,
    /// Each monitor's machine, in the order in which the monitors joined.
    pub monitors: Vec<LiveMachine>,
}

/// A machine in the last second that it reported.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LiveMachine {
    /// Share of its CPUs that was busy.
    pub cpu_busy: Option<f64>,
    /// How late an agent's load threads noticed due arrivals, or, if there were none, ready
    /// sockets: 99th percentile.
    pub late_ns: Option<u64>,
}

/// The last few seconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recent {
    seconds: BTreeMap<u32, LiveSecond>,
    /// By agent: the latest second it delivered, and how late its load threads were in it.
    late: BTreeMap<u32, (u32, Option<u64>)>,
    /// By agent: a second far ahead of all others, which is believed only when its successor
    /// arrives. If it were shown at once, one wrong number would hide all seconds that follow.
    ahead: BTreeMap<u32, u32>,
}

#[derive(Debug, Clone, Default)]
struct LiveSecond {
    agents: Stretches,
    live: Live,
    response_times: Headline,
    /// The sum of the times of answered messages.
    message_times: u128,
}

impl Recent {
    pub(crate) fn add(&mut self, agent: u32, number: u32, snapshot: &Snapshot) {
        let newest = self.seconds.last_key_value();
        let newest = newest.map_or(0, |(&newest, _)| newest);
        let is_far = number.saturating_sub(newest) > KEPT as u32;
        if is_far && self.ahead.insert(agent, number) != number.checked_sub(1) {
            return;
        }
        let (latest, late_ns) = self.late.entry(agent).or_default();
        if number >= *latest {
            (*latest, *late_ns) = (number, late(snapshot));
        }
        if newest.saturating_sub(number) >= KEPT as u32 {
            return; // too old to be shown
        }
        self.seconds.entry(number).or_default().add(agent, snapshot);
        while self.seconds.len() > KEPT {
            self.seconds.pop_first();
        }
    }

    /// Returns [`LiveMachine::late_ns`] of an agent.
    pub(crate) fn late_ns(&self, agent: u32) -> Option<u64> {
        self.late.get(&agent)?.1
    }

    /// Returns the newest second that all of `firing` have delivered, or the oldest second kept if
    /// they lag too far behind.
    pub(crate) fn live(&self, firing: &[u32]) -> Option<Live> {
        let complete = self
            .seconds
            .iter()
            .rev()
            .find(|(_, second)| firing.iter().all(|agent| second.agents.contains(*agent)));
        let oldest = || {
            self.seconds
                .first_key_value()
                .filter(|_| self.seconds.len() == KEPT)
        };
        let (&number, second) = complete.or_else(oldest)?;
        Some(second.figures(number))
    }
}

fn late(snapshot: &Snapshot) -> Option<u64> {
    let mut delays = Distribution::default();
    for cell in snapshot.cells.values() {
        let of_cell = Outcome::ALL.map(|outcome| (outcome, Metric::ScheduleDelay));
        let of_cell = of_cell.iter().filter_map(|key| cell.times.get(key));
        of_cell.for_each(|distribution| delays.merge(distribution));
    }
    let noticed = if delays.is_empty() {
        &snapshot.client.loop_lag
    } else {
        &delays
    };
    Some(noticed.percentile(99.0)?.value_ns)
}

impl LiveSecond {
    fn add(&mut self, agent: u32, snapshot: &Snapshot) {
        self.agents.mark(agent);
        for cell in snapshot.cells.values() {
            let live = &mut self.live;
            live.ended_per_second = live
                .ended_per_second
                .saturating_add(sent_and_ended(&cell.counters));
            live.errors = live.errors.saturating_add(errors(&cell.counters));
            live.payload_bytes = live
                .payload_bytes
                .saturating_add(cell.counters.payload_bytes);
            if let Some(times) = cell.times.get(&(Outcome::Ok, Metric::MessageTime)) {
                live.messages_per_second = live.messages_per_second.saturating_add(times.count);
                self.message_times = self.message_times.saturating_add(times.sum);
            }
            for (&(outcome, _), distribution) in &cell.response_times {
                self.response_times
                    .take(outcome, Metric::ResponseTime, distribution);
            }
        }
    }

    fn figures(&self, second: u32) -> Live {
        let p50 = self.response_times.percentile(50.0);
        let p99 = self.response_times.percentile(99.0);
        let messages = u128::from(self.live.messages_per_second);
        let message_time = self.message_times.checked_div(messages);
        Live {
            second,
            p50_ns: p50.map(|figure| figure.value_ns),
            p50_at_least: p50.is_some_and(|figure| figure.at_least),
            p99_ns: p99.map(|figure| figure.value_ns),
            p99_at_least: p99.is_some_and(|figure| figure.at_least),
            message_time_mean_ns: message_time.and_then(|mean| u64::try_from(mean).ok()),
            agents: u32::try_from(self.agents.number()).unwrap_or(u32::MAX),
            ..self.live.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_that_of_arrivals_or_of_sockets_in_the_latest_second() {
        let mut recent = Recent::default();
        let mut second = Snapshot::default();
        second.client.loop_lag.record(5_000);
        recent.add(0, 1, &second);
        assert_eq!(recent.late_ns(1), None);
        let of_sockets = recent.late_ns(0).unwrap();
        assert!((4_900..=5_100).contains(&of_sockets), "{of_sockets}");
        let key = measure::CellKey {
            period: measure::Period::Measured,
            request: 0,
            address: None,
        };
        let times = &mut second.cells.entry(key).or_default().times;
        for (outcome, ns) in [(Outcome::Ok, 40_000), (Outcome::NotSent, 900_000)] {
            let delays = times.entry((outcome, Metric::ScheduleDelay)).or_default();
            delays.record(ns);
        }
        recent.add(0, 2, &second);
        recent.add(0, 0, &Snapshot::default());
        let of_arrivals = recent.late_ns(0).unwrap();
        assert!((890_000..=910_000).contains(&of_arrivals), "{of_arrivals}");
    }

    #[test]
    fn messages_are_those_that_were_answered() {
        let mut second = Snapshot::default();
        let key = measure::CellKey {
            period: measure::Period::Measured,
            request: 0,
            address: None,
        };
        let times = &mut second.cells.entry(key).or_default().times;
        for (outcome, ns) in [(Outcome::Ok, 10), (Outcome::Ok, 30), (Outcome::Failed, 900)] {
            let times = times.entry((outcome, Metric::MessageTime)).or_default();
            times.record(ns * 1_000_000);
        }
        let mut recent = Recent::default();
        recent.add(0, 0, &second);
        recent.add(1, 0, &second);
        let live = recent.live(&[0, 1]).unwrap();
        let shown = (live.messages_per_second, live.message_time_mean_ns);
        assert_eq!(shown, (4, Some(20_000_000)));
    }

    #[test]
    fn second_that_is_far_ahead_of_all_hides_nothing_unless_its_successor_comes() {
        let empty = Snapshot::default();
        let shown = |seconds: &[u32]| {
            let mut recent = Recent::default();
            let seconds = seconds.iter();
            seconds.for_each(|second| recent.add(0, *second, &empty));
            recent.live(&[0]).map(|live| live.second)
        };
        assert_eq!(shown(&[0, 1, 3_000_000, 2, 3]), Some(3));
        assert_eq!(shown(&[3_000_000, 0, 1]), Some(1));
        assert_eq!(shown(&[0, 1, 100, 101]), Some(101), "a gap");
        assert_eq!(shown(&[0, 1, 9]), Some(9), "a short gap");
    }

    #[test]
    fn newest_second_that_all_firing_agents_delivered_is_shown() {
        let mut recent = Recent::default();
        let empty = Snapshot::default();
        [(0, 0), (1, 0), (0, 1)]
            .into_iter()
            .for_each(|(agent, second)| recent.add(agent, second, &empty));
        let shown = |recent: &Recent, firing: &[u32]| {
            recent.live(firing).map(|live| (live.second, live.agents))
        };
        assert_eq!(shown(&recent, &[0, 1]), Some((0, 2)));
        assert_eq!(shown(&recent, &[0]), Some((1, 1)), "agent 1 has ended");
        (2..20).for_each(|second| recent.add(0, second, &empty));
        assert_eq!(
            shown(&recent, &[0, 1]),
            Some((12, 1)),
            "agent 1 lags too far behind"
        );
        assert_eq!(Recent::default().live(&[0]), None);
    }
}
