//! The start in three steps: every agent learns of the instant, then each asks for its lease, and
//! once all have asked, all get it. If one of them stalls, none fires.

use super::{FleetRun, RunPhase, StartAttempt};
use crate::clock::nanoseconds;
use crate::fleet_action::{Actions, Awaited};
use crate::margin::{attempt_margin, start_margin};
use crate::participant::{Participant, ParticipantStage};
use crate::{FleetTime, RunEvent};
use proto::from_coordinator::Message as Down;
use proto::{Armed, Began, Go, Start};
use std::time::Duration;

/// Start instants that are announced before an agent that does not learn of them is given up.
const ATTEMPTS_MAX: u32 = 3;

impl FleetRun {
    /// Announces the start instant, now that all agents are ready, unless their clocks are known
    /// too poorly.
    pub(super) fn arm(&mut self, now: FleetTime, attempts: u32, out: &mut Actions) {
        if self.find_bad_clocks(out) {
            return;
        }
        let number = attempts + 1;
        let margin = attempt_margin(self.clock_bounds(), attempts);
        let attempt = StartAttempt {
            number,
            start_at: now.after(margin),
            margin,
            is_written: false,
            is_known: false,
        };
        self.phase = RunPhase::Arming(attempt);
        for index in 0..self.participants.len() {
            if !self.participants[index].is_over() {
                self.send_start(index, attempt, out);
            }
        }
        let event = RunEvent::Armed {
            start_at: attempt.start_at,
            start_in: margin,
        };
        out.deliver(event, self.receipt(Awaited::Start(number)));
    }

    /// Notes that a start instant is stored. That of an earlier attempt came too late.
    pub(super) fn start_written(&mut self, number: u32) {
        if let RunPhase::Arming(attempt) = &mut self.phase
            && attempt.number == number
        {
            attempt.is_written = true;
        }
    }

    /// How long an order may take to reach every agent, with some slack.
    pub(super) fn margin(&self) -> Duration {
        start_margin(self.clock_bounds())
    }

    /// Error bounds of the clocks of agents that are not over, in nanoseconds.
    fn clock_bounds(&self) -> impl Iterator<Item = u64> {
        let going = self.participants.iter().filter(|agent| !agent.is_over());
        going
            .filter_map(Participant::clock)
            .map(|clock| clock.bound_ns)
    }

    pub(super) fn send_start(&self, index: usize, attempt: StartAttempt, out: &mut Actions) {
        let start = Start {
            run_id: self.id().to_wire(),
            start_at_ns: attempt.start_at.0,
            attempt: attempt.number,
        };
        self.send(index, Down::Start(start), out);
    }

    /// Whether agents could begin further apart than the run allows, as far as their clocks are
    /// known. If so, the worst of them cannot start. The skew of two agents is known to within the
    /// sum of their bounds.
    fn find_bad_clocks(&mut self, out: &mut Actions) -> bool {
        let max = self.request.rules.max_skew;
        let bound = |(index, agent): (usize, &Participant)| {
            let clock = agent.clock().filter(|_| !agent.is_over())?;
            Some((Duration::from_nanos(clock.bound_ns), index))
        };
        let agents = self.participants.iter().enumerate();
        let mut bounds: Vec<(Duration, usize)> = agents.filter_map(bound).collect();
        bounds.sort_unstable();
        let [.., (second, _), (first, _)] = bounds[..] else {
            // A single agent has no skew.
            return false;
        };
        let sum = first.saturating_add(second);
        if sum <= max {
            return false;
        }
        // Without the widest bound the others may be within the limit. A run that tolerates no loss
        // names all whose bounds are too wide. The widest is among them, because the sum is above
        // the limit.
        let most = if self.losses < self.losses_max() {
            1
        } else {
            bounds.len()
        };
        let bad = bounds
            .into_iter()
            .rev()
            .filter(|(bound, _)| *bound > max / 2);
        for (bound, index) in bad.take(most).collect::<Vec<_>>() {
            let name = &self.participants[index].facts().name;
            let problem = bad_clock(name, bound, max, enough_skew(sum));
            self.cannot_start(index, problem, out);
        }
        true
    }

    pub(super) fn on_armed(&mut self, index: usize, armed: &Armed, out: &mut Actions) {
        let RunPhase::Arming(attempt) = self.phase else {
            // It answers to an instant that is no longer valid.
            return;
        };
        let is_ready = self.participants[index].stage() == ParticipantStage::Ready;
        if is_ready && armed.attempt == attempt.number {
            self.set_stage(index, ParticipantStage::Armed);
            // It was away when the others were told. Without Go it does not take its lease.
            if attempt.is_known {
                self.send_go(index, attempt, out);
            }
        }
    }

    fn send_go(&self, index: usize, attempt: StartAttempt, out: &mut Actions) {
        let go = Go {
            run_id: self.id().to_wire(),
            attempt: attempt.number,
        };
        self.send(index, Down::Go(go), out);
    }

    /// Sends Go: every agent knows the instant, so each may ask for its lease.
    pub(super) fn make_known(&mut self, attempt: StartAttempt, out: &mut Actions) {
        self.phase = RunPhase::Arming(StartAttempt {
            is_known: true,
            ..attempt
        });
        for index in 0..self.participants.len() {
            if !self.participants[index].is_over() {
                self.send_go(index, attempt, out);
            }
        }
    }

    /// Whether this beat asks for the first lease. It is answered when all agents have asked.
    pub(super) fn asks(&mut self, index: usize, sequence: u64) -> bool {
        let is_known = matches!(self.phase, RunPhase::Arming(attempt) if attempt.is_known);
        let stage = self.participants[index].stage();
        let asks = is_known && matches!(stage, ParticipantStage::Armed | ParticipantStage::Asking);
        if asks {
            self.participants[index].ask(sequence);
            self.set_stage(index, ParticipantStage::Asking);
        }
        asks
    }

    /// Grants all leases, once every agent has asked.
    pub(super) fn go(&mut self, now: FleetTime, attempt: StartAttempt, out: &mut Actions) {
        self.phase = RunPhase::Going {
            start_at: attempt.start_at,
            skew_told: false,
        };
        for index in 0..self.participants.len() {
            if !self.participants[index].is_over() {
                self.set_stage(index, ParticipantStage::Going);
                self.grant_lease(now, index, self.participants[index].first_lease_beat(), out);
            }
        }
    }

    /// Withdraws the instant, because an agent did not learn of it in time or did not ask for its
    /// lease. No agent has a lease, so none fires. Another instant is announced once all are ready.
    pub(super) fn postpone(&mut self, now: FleetTime, attempt: StartAttempt, out: &mut Actions) {
        let wanted = attempt.required_stage();
        let is_in_time =
            |agent: &Participant| agent.stage() == wanted && agent.connection().is_some();
        let is_late = |index: &usize| {
            let agent = &self.participants[*index];
            !agent.is_over() && !is_in_time(agent)
        };
        let late: Vec<usize> = (0..self.participants.len()).filter(is_late).collect();
        self.wait_for_answers(now, attempt.number);
        for index in 0..self.participants.len() {
            let stage = self.participants[index].stage();
            // These still have the plan, and only need another instant.
            if matches!(stage, ParticipantStage::Armed | ParticipantStage::Asking) {
                self.set_stage(index, ParticipantStage::Ready);
            }
        }
        if attempt.number >= ATTEMPTS_MAX {
            for index in &late {
                self.cannot_start(*index, attempt.complaint(), out);
            }
        }
        if !self.is_spoilt() {
            let agents = late.iter().map(|index| *index as u32).collect();
            out.tell(self.id(), RunEvent::Postponed { agents });
        }
    }

    pub(super) fn began(&mut self, index: usize, began: &Began, out: &mut Actions) {
        let at = FleetTime(began.began_at_ns);
        let bound_ns = began.bound_ns;
        if self.participants[index].stage() == ParticipantStage::Going
            && self.change(index, |agent| agent.begin(at, bound_ns))
        {
            out.tell(
                self.id(),
                RunEvent::Began {
                    agent: index as u32,
                    at,
                    bound_ns,
                },
            );
            self.send_take_overs(index, out);
        }
    }
}

impl StartAttempt {
    /// How long agents have to answer. The rest of the margin is for Go and the leases.
    pub(super) fn patience(self) -> Duration {
        self.margin - self.margin / 4
    }

    /// By when every agent must have answered: a quarter of the margin is left then. By half of
    /// that quarter every agent must have asked for its lease; the other half is for the leases,
    /// which all go out at once.
    pub(super) fn decision_at(self) -> FleetTime {
        let left = match self.is_known {
            false => self.margin / 4,
            true => self.margin / 8,
        };
        FleetTime(self.start_at.0.saturating_sub(nanoseconds(left)))
    }

    /// The stage that every agent must have reached by then.
    fn required_stage(self) -> ParticipantStage {
        match self.is_known {
            false => ParticipantStage::Armed,
            true => ParticipantStage::Asking,
        }
    }

    /// The problem of an agent that has not.
    fn complaint(self) -> String {
        match self.is_known {
            false => format!(
                "it did not learn of the start within {} ms; did it stand still, or is its link \
                 slow?",
                self.patience().as_millis()
            ),
            true => format!(
                "it agreed to the start and did not ask for its lease within {} ms; did it stand \
                 still, or is its link slow?",
                (self.margin / 8).as_millis()
            ),
        }
    }
}

/// A limit with which the run would start. It has 5 % of slack, because bounds differ a little from
/// one attempt to the next.
fn enough_skew(sum: Duration) -> Duration {
    let wanted = sum.saturating_add(sum / 20);
    let step = if wanted < Duration::from_millis(10) {
        1
    } else {
        10
    };
    let steps = wanted.as_nanos().div_ceil(step * 1_000_000);
    Duration::from_millis(u64::try_from(steps.saturating_mul(step)).unwrap_or(u64::MAX))
}

fn bad_clock(name: &str, bound: Duration, max: Duration, enough: Duration) -> String {
    format!(
        "the clock of {name} is known to ± {}, and fleet.max_skew is {}: place the coordinator \
         nearer, or write fleet.max_skew = \"{}ms\"",
        milliseconds(bound),
        milliseconds(max),
        enough.as_millis()
    )
}

fn milliseconds(duration: Duration) -> String {
    let tenths = duration.as_micros().div_ceil(100);
    match (tenths / 10, tenths % 10) {
        (whole, 0) => format!("{whole} ms"),
        (whole, tenth) => format!("{whole}.{tenth} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_limit_is_above_the_sum_and_round() {
        for (sum_us, enough_ms) in [
            (120_000, 130),
            (1, 1),
            (3_000, 4),
            (9_999, 20),
            (100_000, 110),
            (0, 0),
        ] {
            let enough = enough_skew(Duration::from_micros(sum_us));
            assert_eq!(enough.as_millis(), enough_ms, "{sum_us} µs");
        }
        assert!(enough_skew(Duration::MAX) > Duration::from_secs(1));
    }

    #[test]
    fn bounds_are_said_in_milliseconds_rounded_up() {
        for (us, text) in [
            (60_000, "60 ms"),
            (60_010, "60.1 ms"),
            (40, "0.1 ms"),
            (0, "0 ms"),
        ] {
            assert_eq!(milliseconds(Duration::from_micros(us)), text);
        }
    }
}
