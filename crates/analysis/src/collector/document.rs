//! Builds the document from what has been collected so far.

use super::ResultCollector;
use crate::agent_run::AgentRun;
use crate::backlog::Backlog;
use crate::cell_tally::CellTally;
use crate::data_figures::{JourneysDue, LoadReach};
use crate::fleet_figures::contributions;
use crate::span::{EdgeCounting, RunPart, Span};
use crate::stretches::Stretches;
use crate::threshold::JudgedBy;
use crate::whole_seconds::WholeRule;
use crate::{
    AgentEndCause, AgentResult, ClientFigures, DataFigures, Document, FigureGroup, Figures,
    FleetFigures, GrpcFigures, HistogramColumns, JourneyFigures, Judgement, MachineResult,
    MachineRole, PathFigures, ProcessFigures, RedirectFigures, RunRecord, RunState, Series,
    ServerFigures, SessionOffers, SigningFigures, StartSkew, TokenFigures, Unstored,
    WebSocketFigures, WithheldFigures,
};
use measure::{CellKey, Client, Counters, Period, nanoseconds};
use plan::{Arrivals, End, Shape};
use std::collections::BTreeMap;

impl ResultCollector {
    /// Returns the document of what is known now; `state` says whether more is to come.
    #[must_use]
    pub fn document(&self, state: RunState) -> Document {
        let whole = self.whole(Period::Measured);
        let span = self.span();
        let client = self.client();
        let rule = self.rule();
        let (thresholds, whole_ns) = self.judgements(rule, &whole, &client, span);
        let mut document = Document {
            schema: Document::SCHEMA,
            tool_version: self.setup.tool_version.clone(),
            run: self.run_record(state, span.length_ns),
            plan: self.record.clone(),
            agents: self.agent_results(),
            fleet: FleetFigures {
                contributions: contributions(rule),
                whole_ns,
                ..self.fleet.clone()
            },
            preflight: self.preflight.clone(),
            unattended: self.unattended.clone(),
            skew: self.skew(),
            warm_up: self.warm_up(),
            measured: Figures::new(&whole, span, HistogramColumns::Drawn),
            backlog: None,
            client: ClientFigures::new(&client, SigningFigures::new(self.signing, span.length_ns)),
            path: PathFigures::new(&client.path),
            replay: self
                .run
                .replay
                .as_ref()
                .map(|replay| replay.with(&whole.counters)),
            data: self.data(),
            redirects: RedirectFigures::all(&self.run.requests, &self.redirects),
            withheld_bodies: WithheldFigures::all(&self.run.requests, &self.withheld),
            grpc: GrpcFigures::all(&self.run.requests, &self.grpc, &self.grpc_messages),
            websockets: WebSocketFigures::all(&self.run.requests, &self.websockets),
            tokens: self.token_figures(),
            journeys: self.journeys(span),
            by_request: self.by_request(span),
            by_address: self.by_address(span),
            session_offers: Vec::new(),
            by_agent: self.by_agent(span),
            by_label: self.by_label(span),
            server: None,
            server_processes: Vec::new(),
            machines: self.machines(),
            series: self.series(span),
            request_series: self.request_series.series(),
            heat_map: self.series.heat_map(),
            thresholds,
            verdict: crate::VerdictRecord::default(),
            notes: self.notes.clone(),
        };
        // Each of these reads fields set before it; the verdict reads all of them.
        document.backlog = self.backlog(&whole, &document);
        document.server = self.server(&document);
        document.server_processes = ProcessFigures::all(&document);
        document.date_staples();
        document.describe_checks(&self.run.checks);
        document.session_offers = self.session_offers(&document);
        document
            .notes
            .extend(document.preflight_concerns().collect::<Vec<_>>());
        document
            .notes
            .extend(crate::notes::note_suspensions(&self.suspensions()));
        document.notes.extend(crate::notes::sentences(&document));
        document.verdict = crate::VerdictRecord::new(&document);
        document
    }

    /// Journeys that an agent whose run is over has not ended are lost with it.
    fn journeys(&self, span: Span) -> Vec<JourneyFigures> {
        let mut lost: BTreeMap<u16, u64> = BTreeMap::new();
        let over = self.agents.iter().filter(|agent| agent.is_over());
        for (journey, number) in over.flat_map(AgentRun::count_unended_journeys) {
            let sum = lost.entry(journey).or_default();
            *sum = sum.saturating_add(number);
        }
        JourneyFigures::all(&self.run.journeys, &self.journeys, &lost, span)
    }

    /// Returns the agents that were suspended, each with the arrivals it never sent for want of a
    /// lease.
    fn suspensions(&self) -> Vec<(String, u64)> {
        let agents = self.agents.iter().zip(&self.setup.agents);
        agents
            .filter_map(|(agent_run, setup)| {
                Some((setup.name.clone(), agent_run.unsent_while_frozen()?))
            })
            .collect()
    }

    fn token_figures(&self) -> Vec<TokenFigures> {
        let mut tallies = self.tokens.clone();
        tallies.merge(&self.asked);
        TokenFigures::all(&self.run.tokens, &tallies)
    }

    fn rule(&self) -> WholeRule<'_> {
        WholeRule {
            agents: &self.agents,
            policy: self.run.lost,
            fire_end: self.fire_end(),
        }
    }

    fn series(&self, span: Span) -> Series {
        let mut series = self.series.series(self.run.warm_up_ns);
        series.count_agents(self.agents.iter().map(AgentRun::seconds));
        series.end_ns = self.end_ns(span);
        series
    }

    /// Returns when the load or the last operation ended, whichever was later; `None` while an
    /// agent fires.
    fn end_ns(&self, span: Span) -> Option<u64> {
        let is_over = !self.agents.is_empty() && self.agents.iter().all(AgentRun::is_over);
        let measured = self.run.warm_up_ns.saturating_add(span.length_ns);
        let done = self.agents.iter().map(AgentRun::last_done_at_ns);
        is_over.then(|| done.fold(measured, u64::max))
    }

    /// Returns the thresholds' outcomes. If the plan allows losses and an agent was lost, times and
    /// rates are those of whole seconds, and the total length of these is returned, too.
    fn judgements(
        &self,
        rule: WholeRule<'_>,
        whole: &CellTally,
        client: &Client,
        span: Span,
    ) -> (Vec<Judgement>, Option<u64>) {
        let requests = self.run.judged_requests().filter_map(|(index, name)| {
            let sum = self.sums.of_request(index)?;
            Some((name.to_owned(), sum))
        });
        let requests: BTreeMap<String, CellTally> = requests.collect();
        let all = JudgedBy {
            tally: whole,
            requests: &requests,
            journeys: (&self.run.journeys, &self.journeys),
            client,
            span,
        };
        let judge = |rates| crate::judge(&self.run.thresholds, all, rates);
        let is_lost = self.agents.iter().any(AgentRun::is_lost);
        let Some(whole_seconds) = self.whole_seconds.as_ref().filter(|_| is_lost) else {
            return (judge(all), None);
        };
        let (seconds, sum) = whole_seconds.so_far(rule);
        let whole_ns = self.measured_ns(&seconds, span.length_ns);
        let judgements = judge(JudgedBy {
            tally: &sum.measured,
            requests: &sum.requests,
            journeys: (&self.run.journeys, &sum.journeys),
            client: &sum.client,
            span: Span {
                length_ns: whole_ns,
                ..span
            },
        });
        (judgements, Some(whole_ns))
    }

    /// Returns how much of these seconds lies in a measured part of this length.
    fn measured_ns(&self, seconds: &Stretches, length_ns: u64) -> u64 {
        let from = self.run.warm_up_ns;
        let until = from.saturating_add(length_ns);
        let inside = |(first, last): (u32, u32)| {
            let begin = (u64::from(first) * 1_000_000_000).max(from);
            let end = ((u64::from(last) + 1) * 1_000_000_000).min(until);
            end.saturating_sub(begin)
        };
        seconds.iter().map(inside).sum()
    }

    /// Returns the most arrivals that a lost agent with `shares` agents' shares can have sent
    /// between two instants.
    fn arrivals(&self, shares: f64, unstored: Unstored) -> Option<u64> {
        let Unstored { from_ns, to_ns, .. } = unstored;
        let all = self.run.load.arrivals_between(from_ns, to_ns)?;
        let share = shares / self.agents.len().max(1) as f64;
        let most = match self.run.load.shape {
            Shape::Open {
                arrivals: Arrivals::Poisson,
                ..
            } => most_random(all * share),
            // One of the arrivals of all agents can lie on the edge.
            _ => (all + 1.0) * share,
        };
        Some(most.ceil() as u64)
    }

    /// Returns how many agents' shares each agent had, including those it took over.
    fn shares(&self) -> Vec<f64> {
        let mut shares = vec![1.0; self.agents.len()];
        for takeover in &self.fleet.takeovers {
            let share = shares.get(takeover.agent as usize).copied().unwrap_or(0.0);
            for &agent in &takeover.to {
                if let Some(taker) = shares.get_mut(agent as usize) {
                    *taker += share / takeover.to.len() as f64;
                }
            }
        }
        shares
    }

    fn agent_results(&self) -> Vec<AgentResult> {
        let shares = self.shares();
        let agents = self.agents.iter().zip(&self.setup.agents);
        let indexed = (0..).zip(agents);
        indexed
            .zip(shares)
            .map(|((index, (agent_run, setup)), shares)| {
                let mut result = agent_run.result(index, setup);
                if let Some(unstored) = &mut result.unstored {
                    unstored.arrivals = self.arrivals(shares, *unstored);
                }
                result
            })
            .collect()
    }

    /// Lists the machines of monitors, and of the agents that reported anything.
    fn machines(&self) -> Vec<MachineResult> {
        let setups = &self.setup.agents;
        let agents = self.agent_machines.iter().zip(setups);
        // Agents that share a name find their machines by order, so none of theirs is left out.
        let has_namesake = |name: &str| setups.iter().filter(|one| one.name == name).count() > 1;
        let agents = agents
            .filter(|(machine, setup)| !machine.is_empty() || has_namesake(&setup.name))
            .map(|(machine, setup)| machine.result(MachineRole::Agent, setup));
        let monitors = self.monitors.iter();
        let monitors = monitors.map(|(setup, machine)| machine.result(MachineRole::Monitor, setup));
        agents.chain(monitors).collect()
    }

    fn warm_up(&self) -> Option<Figures> {
        let length_ns = self.run.warm_up_ns;
        (length_ns > 0).then(|| {
            let tally = self.whole(Period::WarmUp);
            let span = Span {
                length_ns,
                part: RunPart::WarmUp,
                counting: self.counting(),
            };
            Figures::new(&tally, span, HistogramColumns::Omitted)
        })
    }

    /// Returns `None` if the load was cut short: nothing shows whether the rest would have piled
    /// up.
    fn backlog(&self, whole: &CellTally, document: &Document) -> Option<Backlog> {
        let is_known = self.run.is_open && self.is_whole();
        let span_ns = [self.run.warm_up_ns, document.run.duration_ns];
        let each = document.load_counts().operations_each;
        is_known.then(|| Backlog::new(whole, &document.plan, &document.series, span_ns, each))
    }

    fn data(&self) -> Vec<DataFigures> {
        // Numbers follow each other without a gap only if all agents did all of what they were to
        // do, and that was a number of operations.
        let is_counted = self.run.is_open || matches!(self.run.end, End::Requests(_));
        let reach = if is_counted && self.is_whole() {
            LoadReach::Whole
        } else {
            LoadReach::Open
        };
        let counters = || {
            let sums = self.sums.by_request.iter();
            let measured = sums.filter(|((period, _), _)| *period == Period::Measured);
            measured.map(|((_, request), tally)| (*request, &tally.counters))
        };
        let journeys = (!self.run.journeys.is_empty()).then(|| self.journeys.sum());
        let journeys = journeys.map(|counts| JourneysDue {
            due: counts.begun.saturating_add(counts.not_sent),
            not_sent: counts.not_sent,
        });
        let files = (0..).zip(&self.run.data);
        files
            .map(|(place, data)| {
                data.figures(place, counters(), journeys, &self.failed_rows, reach)
            })
            .collect()
    }

    fn server(&self, document: &Document) -> Option<ServerFigures> {
        let cpu_ns = self.server_cpu_ns?;
        let warm_up = document.warm_up.as_ref();
        Some(ServerFigures::new(cpu_ns, warm_up, &document.measured))
    }

    fn run_record(&self, state: RunState, duration_ns: u64) -> RunRecord {
        let is_of_journeys = !self.run.journeys.is_empty();
        let (planned_duration_ns, number) = match self.run.end {
            End::Duration(duration) => (Some(nanoseconds(duration)), None),
            End::Requests(number) => (None, Some(number)),
        };
        RunRecord {
            id: self.setup.run_id.clone(),
            name: self.run.name.clone(),
            started_at: self.setup.started_at.clone(),
            state,
            warm_up_ns: self.run.warm_up_ns,
            planned_duration_ns,
            planned_operations: number.filter(|_| !is_of_journeys),
            planned_journeys: number.filter(|_| is_of_journeys),
            duration_ns,
            refusals: self.refusals.clone(),
        }
    }

    /// Returns whether every agent completed the whole plan.
    fn is_whole(&self) -> bool {
        let mut agents = self.agents.iter();
        agents.len() > 0
            && agents.all(|agent_run| agent_run.end_cause() == Some(AgentEndCause::Plan))
    }

    /// Returns the measured part. It ends with the plan, or earlier if nothing was begun any more
    /// (a run that was stopped). A closed loop with a number of operations ends when the last of
    /// them has ended.
    fn span(&self) -> Span {
        let so_far = self.measured_until_ns().saturating_sub(self.run.warm_up_ns);
        let length_ns = match self.run.span_ns {
            Some(span_ns) if self.is_whole() => span_ns,
            Some(span_ns) => so_far.min(span_ns),
            None => so_far,
        };
        Span::measured(length_ns, self.counting())
    }

    fn counting(&self) -> EdgeCounting {
        if self.run.is_open {
            EdgeCounting::WhereEnded
        } else {
            EdgeCounting::ByTime
        }
    }

    /// Returns the run-clock instant until which operations were measured, as far as it is known.
    /// Of the agents that still fire, some have delivered a second more than others; that second
    /// counts only with the fraction of agents that delivered it, so that the missing ones do not
    /// lower a rate.
    fn measured_until_ns(&self) -> u64 {
        let (over, firing): (Vec<&AgentRun>, Vec<&AgentRun>) = self
            .agents
            .iter()
            .partition(|agent_run| agent_run.is_over());
        let known = over.into_iter().map(AgentRun::measured_until_ns).max();
        let sum: u128 = firing
            .iter()
            .map(|agent_run| u128::from(agent_run.fired_until_ns()))
            .sum();
        let mean = sum.checked_div(firing.len() as u128).unwrap_or(0);
        known.unwrap_or(0).max(mean as u64)
    }

    fn skew(&self) -> Option<StartSkew> {
        let began: Vec<(i64, u64)> = self
            .agents
            .iter()
            .filter_map(|agent_run| agent_run.began)
            .collect();
        let first = began.iter().map(|&(at, _)| at).min()?;
        let last = began.iter().map(|&(at, _)| at).max()?;
        // The error of the difference of two clocks is at most the sum of both bounds; take the
        // worst two.
        let mut bounds: Vec<u64> = began.iter().map(|&(_, bound)| bound).collect();
        bounds.sort_unstable_by(|a, b| b.cmp(a));
        let bound_ns = bounds
            .iter()
            .take(2)
            .fold(0, |sum: u64, &bound| sum.saturating_add(bound));
        (began.len() > 1).then(|| StartSkew {
            skew_ns: last.abs_diff(first),
            bound_ns,
        })
    }

    fn by_address(&self, span: Span) -> Vec<FigureGroup> {
        let by_address = self.sums.by_address.iter();
        let named = by_address
            .map(|(&(period, address), tally)| (CellKey::name_of(address), period, tally));
        groups(named, span)
    }

    /// Returns the offers in the part of the run to which the document's handshakes belong.
    fn session_offers(&self, document: &Document) -> Vec<SessionOffers> {
        let Some((_, period)) = document.handshakes() else {
            return Vec::new();
        };
        let by_address = self.sums.by_address.iter();
        let of_period = by_address.filter(|((of, _), _)| *of == period);
        SessionOffers::from_sums(of_period.map(|(&(_, address), tally)| (address, tally)))
    }

    fn by_request(&self, span: Span) -> Vec<FigureGroup> {
        let requests = (0..).zip(&self.run.requests);
        let group = |(index, name): (u16, &String)| {
            // The warm-up contributes its operations that ended in the measured part.
            let sums = [Period::WarmUp, Period::Measured].map(|period| {
                let tally = self.sums.by_request.get(&(period, index))?;
                Some((name.clone(), period, tally))
            });
            groups(sums.into_iter().flatten(), span)
        };
        requests.flat_map(group).collect()
    }

    fn by_agent(&self, span: Span) -> Vec<FigureGroup> {
        let agents = self.agents.iter().zip(&self.setup.agents);
        agents
            .map(|(agent_run, setup)| group(setup.name.clone(), agent_run.measured(), span))
            .collect()
    }

    fn by_label(&self, span: Span) -> Vec<FigureGroup> {
        let mut tallies: BTreeMap<String, CellTally> = BTreeMap::new();
        for (agent_run, setup) in self.agents.iter().zip(&self.setup.agents) {
            for (key, value) in &setup.labels {
                tallies
                    .entry(format!("{key}={value}"))
                    .or_default()
                    .merge(agent_run.measured());
            }
        }
        tallies
            .into_iter()
            .map(|(name, tally)| group(name, &tally, span))
            .collect()
    }
}

/// Returns an upper bound for the number of random arrivals if `mean` are expected. It is exceeded
/// at most once in a million times (Bernstein's bound, with ln 10⁶ = 13.8).
fn most_random(mean: f64) -> f64 {
    let third = 13.8 / 3.0;
    mean + third + (third * third + 2.0 * 13.8 * mean).sqrt()
}

/// Builds a group for each name, leaving out those in which nothing happened.
fn groups<'a>(
    named: impl Iterator<Item = (String, Period, &'a CellTally)>,
    span: Span,
) -> Vec<FigureGroup> {
    let mut tallies: BTreeMap<String, CellTally> = BTreeMap::new();
    for (name, period, tally) in named {
        let sum = tallies.entry(name).or_default();
        sum.take(period == Period::Measured, tally);
    }
    tallies.retain(|_, tally| tally.counters != Counters::default());
    let groups = tallies.into_iter();
    groups
        .map(|(name, tally)| group(name, &tally, span))
        .collect()
}

fn group(name: String, tally: &CellTally, span: Span) -> FigureGroup {
    FigureGroup {
        name,
        figures: Figures::new(tally, span, HistogramColumns::Omitted),
    }
}

#[cfg(test)]
mod tests {
    use super::most_random;

    #[test]
    fn random_arrivals_exceed_their_bound_once_in_a_million_at_most() {
        for mean in [0.0_f64, 0.1, 1.0, 10.0, 500.0] {
            let most = most_random(mean).ceil() as u32;
            // Probability of k arrivals: mean^k e^-mean / k!
            let mut of_k = (-mean).exp();
            let mut sum = of_k;
            for k in 1..=most {
                of_k *= mean / f64::from(k);
                sum += of_k;
            }
            assert!(1.0 - sum < 1e-6, "{mean}: {most} leaves {}", 1.0 - sum);
            assert!(f64::from(most) < 2.0 * mean + 30.0, "{mean}: {most}");
        }
    }
}
