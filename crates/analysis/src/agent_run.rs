//! One agent's delivery: its intervals, each counted once, their sum by key, and how its run ended.

use crate::cell_tally::CellTally;
use crate::stretches::Stretches;
use crate::{
    AgentEndCause, AgentResult, AgentSetup, CpuFigures, HistogramColumns, TimeFigure, Unstored,
};
use measure::{Client, JourneyCell, JourneyCounts, Metric, Outcome, Period, Snapshot, Totals};
use plan::LostAgents;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// How an agent's run ended.
#[derive(Debug, Clone, Default)]
pub struct AgentEnd {
    /// The cause; `None` if it is not known.
    pub cause: Option<AgentEndCause>,
    /// Explanation of a failure.
    pub text: String,
    /// Number of intervals it recorded.
    pub intervals: Option<u32>,
    /// The agent's own sum of its intervals.
    pub totals: Option<Totals>,
    /// CPU use in the measured part.
    pub cpu: Option<CpuFigures>,
    /// CPU use in the drain.
    pub cpu_drain: Option<CpuFigures>,
    /// Run-clock instant by which a lost agent has stopped sending, because its last lease has
    /// expired. `None` if that is not known, or if it never had a lease.
    pub fired_until_ns: Option<u64>,
}

const SECOND_NS: u64 = 1_000_000_000;

/// The delivery of one agent. Sums by request and by address are kept only over all agents, since
/// there can be thousands of these.
#[derive(Debug, Clone, Default)]
pub(crate) struct AgentRun {
    measured: CellTally,
    addresses: BTreeSet<SocketAddr>,
    client: Client,
    journeys: BTreeMap<JourneyCell, JourneyCounts>,
    /// Sum of the intervals received, in the form in which the agent reports its own at its end.
    totals: Totals,
    /// Intervals received.
    seen: Stretches,
    pub(crate) clock: Option<(i64, u64)>,
    pub(crate) began: Option<(i64, u64)>,
    end: Option<AgentEnd>,
    /// The end that the agent itself reported, even if it was given up as lost later.
    said: Option<(AgentEndCause, String)>,
    /// Run-clock instant from which others fire its share.
    taken_over_ns: Option<u64>,
    /// Parts of lost agents' shares assigned to it, except those it fired in full from the start.
    inherited: Vec<Inherited>,
}

/// A part of a lost agent's share that is assigned to another agent.
#[derive(Debug, Clone)]
struct Inherited {
    of: u32,
    /// Run-clock instant from which it is to fire the part.
    from_ns: u64,
    /// Instant from which it does; `None` if it has not answered, or does not fire it.
    fired_from_ns: Option<u64>,
}

/// The seconds for which figures depend on an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Charge {
    /// Its interval is needed for each second below this one.
    pub(crate) needed_below: u32,
    /// Stretches of seconds, as first and end, in which its load was fired only in part or by no
    /// agent.
    pub(crate) spoilt: Vec<(u32, u32)>,
}

impl Charge {
    /// An agent that was never in charge, or no longer is.
    const NONE: Charge = Charge {
        needed_below: 0,
        spoilt: Vec::new(),
    };
}

impl AgentRun {
    /// Marks an interval as seen; returns whether it is new and has to be counted.
    pub(crate) fn mark(&mut self, interval: u32) -> bool {
        self.seen.mark(interval)
    }

    /// Counts an interval; `measured` is its sum over the measured part.
    pub(crate) fn add(&mut self, snapshot: &Snapshot, measured: &CellTally) {
        self.measured.merge(measured);
        let addresses = snapshot.cells.keys().filter_map(|key| key.address);
        self.addresses.extend(addresses);
        self.client.merge(&snapshot.client);
        for (cell, funnel) in &snapshot.journeys {
            self.journeys
                .entry(*cell)
                .or_default()
                .merge(&funnel.counts);
        }
        self.totals.add(snapshot);
    }

    /// Records the end of the run. A second report replaces the first. An end that the agent itself
    /// reported, and proved by its totals, stays valid even if it was given up before or after.
    pub(crate) fn ended(&mut self, mut end: AgentEnd) {
        end.cpu = end.cpu.map(CpuFigures::finite);
        // A drain shorter than a second has no sample.
        end.cpu_drain = end
            .cpu_drain
            .filter(|cpu| cpu.samples > 0)
            .map(CpuFigures::finite);
        if let Some(cause) = end.cause.filter(|&cause| cause != AgentEndCause::Lost) {
            self.said = Some((cause, end.text.clone()));
        }
        self.end = Some(end);
        self.correct();
    }

    /// Marks it as given up. What it delivered before, and still delivers, counts.
    pub(crate) fn lost(&mut self, why: &str, fired_until_ns: Option<u64>) {
        let mut end = self.end.take().unwrap_or_default();
        end.cause = Some(AgentEndCause::Lost);
        end.text = why.to_owned();
        end.fired_until_ns = fired_until_ns;
        self.end = Some(end);
        self.correct();
    }

    /// A lost agent that has delivered everything after all ended the way it reported.
    fn correct(&mut self) {
        let is_lost = self.end_cause() == Some(AgentEndCause::Lost);
        let Some((cause, text)) = self.said.clone().filter(|_| is_lost) else {
            return; // it was not given up, or did not report another end
        };
        if let Some(end) = self.end.as_mut().filter(|end| end.totals.is_some()) {
            (end.cause, end.text) = (Some(cause), text);
        }
    }

    /// Records that others fire its share from `after_ns` (run clock).
    pub(crate) fn hand_over(&mut self, after_ns: u64) {
        self.taken_over_ns = Some(after_ns);
    }

    /// Assigns it a part of what agent `of` left, from `from_ns` (run clock).
    pub(crate) fn inherit(&mut self, of: u32, from_ns: u64) {
        self.inherited.push(Inherited {
            of,
            from_ns,
            fired_from_ns: None,
        });
    }

    /// Drops its part of what agent `of` left: that has been assigned anew.
    pub(crate) fn disinherit(&mut self, of: u32) {
        self.inherited.retain(|part| part.of != of);
    }

    /// Records that it fires its part of what agent `of` left from `fired_from_ns` (run clock).
    pub(crate) fn fires_from(&mut self, of: u32, fired_from_ns: u64) {
        for part in self.inherited.iter_mut().filter(|part| part.of == of) {
            part.fired_from_ns = Some(fired_from_ns);
        }
        // Most agents fire it in time, so that nothing needs to be remembered.
        let is_late = |part: &Inherited| part.fired_from_ns.is_none_or(|from| from > part.from_ns);
        self.inherited.retain(is_late);
    }

    /// Returns whether the coordinator lost contact with it, or it with the coordinator.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(
            self.end_cause(),
            Some(AgentEndCause::Lost | AgentEndCause::LeaseExpired)
        )
    }

    pub(crate) fn has(&self, second: u32) -> bool {
        self.seen.contains(second)
    }

    pub(crate) fn seconds(&self) -> &Stretches {
        &self.seen
    }

    /// Returns whether it may turn out that it fired for only a part of this second: it stopped
    /// before the plan's own end, and the cause is not known yet.
    pub(crate) fn is_doubtful(&self, second: u32) -> bool {
        let until = self.client.fired_until_ns;
        let is_known = matches!(
            self.end_cause(),
            Some(AgentEndCause::Plan | AgentEndCause::Stopped)
        );
        until > 0 && !is_known && (u64::from(second) + 1) * SECOND_NS > until
    }

    /// Returns the seconds for which figures need it; all load has ended by `fire_end`.
    pub(crate) fn charge(&self, policy: LostAgents, fire_end: u32) -> Charge {
        let mut charge = self.own_charge(policy, fire_end);
        let unfired = self.inherited.iter().map(|part| {
            // If it was lost itself, the agents that take over its own share fire this part too.
            let until_ns = part.fired_from_ns.or(self.taken_over_ns);
            let until = until_ns.map_or(fire_end, second_after);
            (second_of(part.from_ns), until)
        });
        charge.spoilt.extend(unfired);
        charge
    }

    /// Returns the seconds for which its own share makes it needed.
    fn own_charge(&self, policy: LostAgents, fire_end: u32) -> Charge {
        let Some(end) = &self.end else {
            return Charge {
                needed_below: u32::MAX,
                ..Charge::NONE
            };
        };
        let made = end.intervals.unwrap_or(u32::MAX);
        if !self.is_lost() {
            return Charge {
                needed_below: made,
                ..Charge::NONE
            };
        }
        let (stopped, needed_below) = match end.cause {
            Some(AgentEndCause::LeaseExpired) => {
                let said = match self.client.fired_until_ns {
                    0 => u64::from(made) * SECOND_NS,
                    until => until,
                };
                // One that stood still notices late; its last lease was over before.
                (said.min(end.fired_until_ns.unwrap_or(u64::MAX)), made)
            }
            _ => {
                let stopped = self.lost_at_ns();
                (stopped, second_after(stopped))
            }
        };
        let until = match (policy, self.taken_over_ns) {
            (LostAgents::Redistribute, Some(after_ns)) => second_after(after_ns),
            (LostAgents::Redistribute, None) => fire_end,
            _ => second_after(stopped),
        };
        Charge {
            needed_below: needed_below.min(fire_end.max(self.seen.end())),
            spoilt: vec![(second_of(stopped), until)],
        }
    }

    /// Returns the latest instant at which a lost agent can have stopped (run clock); `u64::MAX` if
    /// that is not known.
    fn lost_at_ns(&self) -> u64 {
        let said = Some(self.client.fired_until_ns).filter(|&until| until > 0);
        let end = self.end.as_ref().and_then(|end| end.fired_until_ns);
        let never_began = self.began.is_none() && self.seen.end() == 0;
        // The earlier one, since one that stood still notices late.
        match said.into_iter().chain(end).min() {
            Some(until) => until,
            None if never_began => 0,
            None => u64::MAX,
        }
    }

    /// Returns the time from its first second that never arrived until it had certainly stopped;
    /// `None` if there is no such time, or it is not known.
    fn unstored_span(&self) -> Option<(u64, u64)> {
        let is_lost = self.end_cause() == Some(AgentEndCause::Lost);
        let until = self.end.as_ref()?.fired_until_ns.filter(|_| is_lost)?;
        let from = u64::from(self.seen.unbroken()) * SECOND_NS;
        (from < until).then_some((from, until))
    }

    /// Returns how many arrivals it never sent for want of a lease because its process was stopped,
    /// or its machine asleep, until the lease had expired; `None` if that did not happen. It shows
    /// in most of them being noticed a second late or more: neither a full queue nor busy
    /// connections keep a loop from looking at its clock.
    pub(crate) fn unsent_while_frozen(&self) -> Option<u64> {
        let has_no_lease = self.end_cause() == Some(AgentEndCause::LeaseExpired);
        let not_sent = crate::counts::without_lease(&self.measured.counters);
        let is_frozen = has_no_lease && not_sent > 0 && self.count_noticed_late() > not_sent / 2;
        is_frozen.then_some(not_sent)
    }

    /// Returns how many arrivals were never sent and noticed a second late or more.
    fn count_noticed_late(&self) -> u64 {
        let times = &self.measured.times;
        let delays = times.get(&(Outcome::NotSent, Metric::ScheduleDelay));
        let buckets = delays
            .into_iter()
            .flat_map(|delays| delays.histogram.iter());
        let late = buckets.filter(|bucket| bucket.lowest_ns >= SECOND_NS);
        late.fold(0, |sum: u64, bucket| sum.saturating_add(bucket.count))
    }

    pub(crate) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    pub(crate) fn end_cause(&self) -> Option<AgentEndCause> {
        self.end.as_ref()?.cause
    }

    /// Returns when its last measured operation ended, on the run clock (the warm-up begins at 0);
    /// 0 if none did.
    pub(crate) fn last_done_at_ns(&self) -> u64 {
        self.measured.counters.last_done_at_ns
    }

    /// Returns the run-clock instant until which it measured, if its run is over. If the plan asks
    /// for a number of operations, the last ones begun are measured until they end.
    pub(crate) fn measured_until_ns(&self) -> u64 {
        match self.end_cause() {
            Some(AgentEndCause::Plan) if self.client.fired_until_ns > 0 => {
                self.last_done_at_ns().max(self.client.fired_until_ns)
            }
            _ => self.fired_until_ns(),
        }
    }

    /// Returns how long it is known to have offered load, on the run clock: until something other
    /// than the plan's own clock stopped it, otherwise as far as intervals arrived.
    pub(crate) fn fired_until_ns(&self) -> u64 {
        match self.client.fired_until_ns {
            0 => u64::from(self.seen.end()) * SECOND_NS,
            until => until,
        }
    }

    /// Returns what its loops recorded about themselves.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the sum over all keys of the measured part.
    pub(crate) fn measured(&self) -> &CellTally {
        &self.measured
    }

    /// Returns whether the counts received equal those that the agent reported; `None` if it
    /// reported none.
    fn totals_match(&self) -> Option<bool> {
        let reported = self.end.as_ref()?.totals.as_ref()?;
        Some(self.totals == *reported)
    }

    /// Returns the measured journeys that it began and did not end, by their place in the plan.
    pub(crate) fn count_unended_journeys(&self) -> impl Iterator<Item = (u16, u64)> {
        let counts = self.journeys.iter();
        let measured = counts.filter(|(cell, _)| cell.period == Period::Measured);
        measured.map(|(cell, counts)| {
            (
                cell.journey,
                counts.begun.saturating_sub(counts.count_ended()),
            )
        })
    }

    /// Returns how many more journeys it began than it ended, or the other way round, whenever they
    /// were due; 0 while its run goes on.
    fn count_unmatched_journeys(&self) -> u64 {
        let differences = self.journeys.values();
        let differences = differences.map(|counts| counts.begun.abs_diff(counts.count_ended()));
        let sum = differences.fold(0, u64::saturating_add);
        if self.is_over() { sum } else { 0 }
    }

    /// Returns the stretches of numbers below the last interval it recorded that never arrived.
    fn missing(&self) -> Vec<(u32, u32)> {
        let made = self.end.as_ref().and_then(|end| end.intervals);
        self.seen.gaps(made.unwrap_or(0))
    }

    /// Builds its entry in the document.
    pub(crate) fn result(&self, index: u32, setup: &AgentSetup) -> AgentResult {
        let end = self.end.clone().unwrap_or_default();
        let tally = &self.measured;
        let time = |metric| {
            tally
                .headline(&[metric])
                .map(|headline| TimeFigure::new(&headline, HistogramColumns::Omitted))
        };
        let mut fired_at = self.addresses.iter();
        AgentResult {
            index,
            name: setup.name.clone(),
            labels: setup.labels.clone(),
            workers: setup.workers,
            facts: setup.facts.clone(),
            clock_offset_ns: self.clock.map(|(offset, _)| offset),
            clock_bound_ns: self.clock.map(|(_, bound)| bound),
            began_at_ns: self.began.map(|(at, _)| at),
            began_bound_ns: self.began.map(|(_, bound)| bound),
            ended: end.cause,
            ended_text: end.text,
            intervals: self.seen.number(),
            missing_intervals: self.missing(),
            totals_match: self.totals_match(),
            unmatched_journeys: self.count_unmatched_journeys(),
            target_is_local: fired_at.any(|address| setup.is_own(address.ip())),
            cpu: end.cpu,
            cpu_drain: end.cpu_drain,
            lateness: time(Metric::Lateness),
            schedule_delay: time(Metric::ScheduleDelay),
            loop_lag: crate::client::loop_lag(&self.client),
            unstored: self.unstored_span().map(|(from_ns, to_ns)| Unstored {
                from_ns,
                to_ns,
                arrivals: None,
            }),
        }
    }
}

/// Returns the second that contains this instant of the run clock.
fn second_of(at_ns: u64) -> u32 {
    u32::try_from(at_ns / SECOND_NS).unwrap_or(u32::MAX)
}

/// Returns the first second that does not begin before this instant.
fn second_after(at_ns: u64) -> u32 {
    u32::try_from(at_ns.div_ceil(SECOND_NS)).unwrap_or(u32::MAX)
}
