//! What one agent delivered: its intervals, each once, their sum by key, and how its run ended.

use crate::cell_tally::CellTally;
use crate::stretches::Stretches;
use crate::{
    AgentEndCause, AgentResult, AgentSetup, CpuFigures, HistogramColumns, TimeFigure, Unstored,
};
use measure::{Client, Metric, Outcome, Snapshot, Totals};
use plan::LostAgents;
use std::collections::BTreeSet;
use std::net::SocketAddr;

/// How an agent's run ended.
#[derive(Debug, Clone, Default)]
pub struct AgentEnd {
    /// Why; absent where it is not known.
    pub cause: Option<AgentEndCause>,
    /// In words, for a failure.
    pub text: String,
    /// How many intervals it made.
    pub intervals: Option<u32>,
    /// Its sum of them.
    pub totals: Option<Totals>,
    /// How busy it was in the measured part.
    pub cpu: Option<CpuFigures>,
    /// The same in the drain.
    pub cpu_drain: Option<CpuFigures>,
    /// By then a lost agent fires no more, run clock: its last lease is over. Absent where that is
    /// not known, or it never had one.
    pub fired_until_ns: Option<u64>,
}

const SECOND_NS: u64 = 1_000_000_000;

/// What one agent delivered. Requests and addresses are kept apart over all agents only: there may
/// be thousands of these.
#[derive(Debug, Clone, Default)]
pub(crate) struct AgentRun {
    measured: CellTally,
    addresses: BTreeSet<SocketAddr>,
    client: Client,
    /// The sum of what came, as the agent reports it at its end.
    totals: Totals,
    /// Intervals that came.
    seen: Stretches,
    pub(crate) clock: Option<(i64, u64)>,
    pub(crate) began: Option<(i64, u64)>,
    end: Option<AgentEnd>,
    /// What it said itself of its end, whatever was thought of it afterwards.
    said: Option<(AgentEndCause, String)>,
    /// From then on others fire its share, run clock.
    taken_over_ns: Option<u64>,
    /// What it was given of lost agents' shares, as far as it did not fire all of it at once.
    inherited: Vec<Inherited>,
}

/// What lies with an agent of what another one left.
#[derive(Debug, Clone)]
struct Inherited {
    of: u32,
    /// It was to fire it from then on, run clock.
    from_ns: u64,
    /// It does from then on; `None`: it has not answered, or does not.
    fired_from_ns: Option<u64>,
}

/// Of which seconds figures need an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Charge {
    /// Its interval is needed of each second below this one.
    pub(crate) needed_below: u32,
    /// First and end of seconds in which what it was to fire was fired in part, or by nobody.
    pub(crate) spoilt: Vec<(u32, u32)>,
}

impl Charge {
    /// An agent that was never in charge, or is not any more.
    const NONE: Charge = Charge {
        needed_below: 0,
        spoilt: Vec::new(),
    };
}

impl AgentRun {
    /// Whether this interval has not come before, and is to be counted now.
    pub(crate) fn mark(&mut self, interval: u32) -> bool {
        self.seen.mark(interval)
    }

    /// Counts an interval; `measured` is its sum.
    pub(crate) fn add(&mut self, snapshot: &Snapshot, measured: &CellTally) {
        self.measured.merge(measured);
        let addresses = snapshot.cells.keys().filter_map(|key| key.address);
        self.addresses.extend(addresses);
        self.client.merge(&snapshot.client);
        self.totals.add(snapshot);
    }

    /// A second report replaces the first. What an agent said itself, and proved by its totals,
    /// stands: that it was given up afterwards, or before, takes nothing away from it.
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

    /// It was given up. What it delivered before and delivers yet counts.
    pub(crate) fn lost(&mut self, why: &str, fired_until_ns: Option<u64>) {
        let mut end = self.end.take().unwrap_or_default();
        end.cause = Some(AgentEndCause::Lost);
        end.text = why.to_owned();
        end.fired_until_ns = fired_until_ns;
        self.end = Some(end);
        self.correct();
    }

    /// An agent that was lost and has delivered everything after all ended as it says.
    fn correct(&mut self) {
        let is_lost = self.end_cause() == Some(AgentEndCause::Lost);
        let Some((cause, text)) = self.said.clone().filter(|_| is_lost) else {
            return; // nobody gave it up, or nothing else is known of it
        };
        if let Some(end) = self.end.as_mut().filter(|end| end.totals.is_some()) {
            (end.cause, end.text) = (Some(cause), text);
        }
    }

    /// Others fire its share from then on, run clock.
    pub(crate) fn taken_over(&mut self, after_ns: u64) {
        self.taken_over_ns = Some(after_ns);
    }

    /// It is to fire a part of what agent `of` left, from then on (run clock).
    pub(crate) fn inherit(&mut self, of: u32, from_ns: u64) {
        self.inherited.push(Inherited {
            of,
            from_ns,
            fired_from_ns: None,
        });
    }

    /// What agent `of` left lies with others.
    pub(crate) fn disinherit(&mut self, of: u32) {
        self.inherited.retain(|part| part.of != of);
    }

    /// It fires its part of what agent `of` left from then on (run clock).
    pub(crate) fn fires_from(&mut self, of: u32, fired_from_ns: u64) {
        for part in self.inherited.iter_mut().filter(|part| part.of == of) {
            part.fired_from_ns = Some(fired_from_ns);
        }
        // The most fire it in time, and leave nothing to remember.
        let is_late = |part: &Inherited| part.fired_from_ns.is_none_or(|from| from > part.from_ns);
        self.inherited.retain(is_late);
    }

    /// Whether it was lost: to the coordinator, or the coordinator to it.
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

    /// Whether it may turn out that it fired in a part of this second only: something else than the
    /// plan's clock ended its fire, and what is not known yet.
    pub(crate) fn is_doubtful(&self, second: u32) -> bool {
        let until = self.client.fired_until_ns;
        let is_known = matches!(
            self.end_cause(),
            Some(AgentEndCause::Plan | AgentEndCause::Stopped)
        );
        until > 0 && !is_known && (u64::from(second) + 1) * SECOND_NS > until
    }

    /// Of which seconds figures need it; all fire is over at `fire_end`.
    pub(crate) fn charge(&self, policy: LostAgents, fire_end: u32) -> Charge {
        let mut charge = self.own_charge(policy, fire_end);
        let unfired = self.inherited.iter().map(|part| {
            // If it was lost itself, others fire that too once they fire its own share.
            let until_ns = part.fired_from_ns.or(self.taken_over_ns);
            let until = until_ns.map_or(fire_end, second_after);
            (second_of(part.from_ns), until)
        });
        charge.spoilt.extend(unfired);
        charge
    }

    /// What its own share asks of it.
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
                let stopped = match self.client.fired_until_ns {
                    0 => u64::from(made) * SECOND_NS,
                    until => until,
                };
                (stopped, made)
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

    /// When a lost agent stopped at the latest, run clock; the end of time where nobody knows.
    fn lost_at_ns(&self) -> u64 {
        let said = Some(self.client.fired_until_ns).filter(|&until| until > 0);
        let end = self.end.as_ref().and_then(|end| end.fired_until_ns);
        let never_began = self.began.is_none() && self.seen.end() == 0;
        match said.or(end) {
            Some(until) => until,
            None if never_began => 0,
            None => u64::MAX,
        }
    }

    /// From its first second that never came to the instant when it had stopped; `None` where there
    /// is no such time, or it is not known.
    fn unstored_span(&self) -> Option<(u64, u64)> {
        let is_lost = self.end_cause() == Some(AgentEndCause::Lost);
        let until = self.end.as_ref()?.fired_until_ns.filter(|_| is_lost)?;
        let from = u64::from(self.seen.unbroken()) * SECOND_NS;
        (from < until).then_some((from, until))
    }

    /// How many arrivals it never sent for want of a lease, since it stood still (stopped, or its
    /// machine asleep) until that had run out; `None` where it did not. It noticed most of them a
    /// second late or more: neither a full queue nor busy connections keep a loop from looking at
    /// its clock.
    pub(crate) fn frozen(&self) -> Option<u64> {
        let has_no_lease = self.end_cause() == Some(AgentEndCause::LeaseExpired);
        let not_sent = crate::counts::without_lease(&self.measured.counters);
        let is_frozen = has_no_lease && not_sent > 0 && self.noticed_late() > not_sent / 2;
        is_frozen.then_some(not_sent)
    }

    /// Arrivals of it that were never sent, and that it noticed a second late or more.
    fn noticed_late(&self) -> u64 {
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

    /// When its last measured operation ended, on the run clock (the warm-up begins at 0); 0 where
    /// none did.
    pub(crate) fn last_done_at_ns(&self) -> u64 {
        self.measured.counters.last_done_at_ns
    }

    /// Until when it measured, run clock, if its run is over. What it began last of a number of
    /// operations is measured until it has ended.
    pub(crate) fn measured_until_ns(&self) -> u64 {
        match self.end_cause() {
            Some(AgentEndCause::Plan) if self.client.fired_until_ns > 0 => {
                self.last_done_at_ns().max(self.client.fired_until_ns)
            }
            _ => self.fired_until_ns(),
        }
    }

    /// How long load was offered by what is known, run clock: until something else than the plan's
    /// own clock ended it, else as far as intervals came.
    pub(crate) fn fired_until_ns(&self) -> u64 {
        match self.client.fired_until_ns {
            0 => u64::from(self.seen.end()) * SECOND_NS,
            until => until,
        }
    }

    /// What its loops say of themselves.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Sum over all keys of the measured part.
    pub(crate) fn measured(&self) -> &CellTally {
        &self.measured
    }

    /// Whether what was counted here is what the agent says it counted; nothing where it said
    /// nothing.
    fn totals_match(&self) -> Option<bool> {
        let reported = self.end.as_ref()?.totals.as_ref()?;
        Some(self.totals == *reported)
    }

    /// Numbers between 0 and the last one made that never came.
    fn missing(&self) -> Vec<(u32, u32)> {
        let made = self.end.as_ref().and_then(|end| end.intervals);
        self.seen.gaps(made.unwrap_or(0))
    }

    /// Its entry in the document.
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

/// The second that this instant of the run clock lies in.
fn second_of(at_ns: u64) -> u32 {
    u32::try_from(at_ns / SECOND_NS).unwrap_or(u32::MAX)
}

/// The first second that does not begin before this instant.
fn second_after(at_ns: u64) -> u32 {
    u32::try_from(at_ns.div_ceil(SECOND_NS)).unwrap_or(u32::MAX)
}
