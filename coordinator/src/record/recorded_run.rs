//! The record of one run: a fold over its events that gives the document of what it knows. It
//! knows no files, no formats and no viewers.

use super::decode_pool::Decoded;
use super::machine_row::{before_load_row, machine_row};
use super::profiles::Profiles;
use super::recorded_agents::{RecordedAgents, setup};
use crate::planned_run::PlannedRun;
use crate::quick::in_words_of;
use analysis::{
    Added, CollectorSetup, Document, Live, MachineRole, PreflightFinding, ResultCollector, RunState,
};
use control::{Finding, FleetTime, Observer, RunEvent};
use host::{CpuProfile, ProfileOutcome};
use measure::{Snapshot, TokenTallies, TokenTally, Totals};
use run_folder::{ResumedRun, Utc};
use std::time::Duration;

/// How many remarks of agents go into the result; `events.jsonl` has all of them.
pub(super) const REMARKS_MAX: usize = 20;

/// The record of a run.
#[derive(Debug)]
pub(super) struct RecordedRun {
    run: PlannedRun,
    agents: RecordedAgents,
    notes: Vec<String>,
    /// Sentences reported before the start. If no start follows, they are the reasons.
    refusals: Vec<String>,
    /// Findings of the agents' preflights.
    preflight: Vec<PreflightFinding>,
    remarks: usize,
    /// What came of the coordinator's asking for tokens.
    asked: TokenTallies,
    /// The digest of the plan with its secrets, if the plan was read without them.
    saved_digest: Option<String>,
    /// `None` until a start instant is named.
    started: Option<Started>,
    /// Names of the monitors, by their numbers.
    monitors: Vec<String>,
    profiles: Profiles,
    /// When the last event came.
    heard_at: Utc,
}

#[derive(Debug)]
struct Started {
    collector: ResultCollector,
    /// The start instant by the calendar.
    started_at: Utc,
}

/// A change of the record that its files follow, besides the result.
#[derive(Debug)]
pub(super) enum RecordChange {
    /// A start instant is named; agents in `ended` deliver nothing.
    Start {
        at: Utc,
        agents: usize,
        ended: Vec<u32>,
    },
    /// A second that an agent delivered for the first time.
    Counted {
        agent: u32,
        interval: u32,
        snapshot: Box<Snapshot>,
    },
    /// A second that an agent delivered but that cannot be read.
    Unreadable { agent: u32, interval: u32 },
    /// An agent delivers nothing more.
    AgentEnd(u32),
    /// Another coordinator resumed the run after `away`.
    Resumption { at: Utc, epoch: u64, away: Duration },
    /// A CPU profile is there, with the names of its files.
    Profile {
        profile: CpuProfile,
        folded: String,
        svg: String,
    },
}

impl RecordedRun {
    /// The record of a run that nothing is known of yet.
    pub(super) fn new(run: PlannedRun) -> RecordedRun {
        let notes = run.plan.notes().to_vec();
        RecordedRun {
            run,
            agents: RecordedAgents::default(),
            notes,
            refusals: Vec::new(),
            preflight: Vec::new(),
            remarks: 0,
            asked: TokenTallies::default(),
            saved_digest: None,
            monitors: Vec::new(),
            profiles: Profiles::default(),
            heard_at: Utc::now(),
            started: None,
        }
    }

    /// The agent's name, if there is such an agent.
    pub(super) fn agent_name(&self, agent: u32) -> Option<&str> {
        self.agents.name(agent)
    }

    /// Sets the digest of the plan with its secrets, since it was read without them.
    pub(super) fn set_digest(&mut self, digest: String) {
        self.saved_digest = Some(digest);
    }

    /// Takes an event that came at `at`. Returns what files have to follow.
    pub(super) fn take(&mut self, at: Utc, event: &RunEvent) -> Option<RecordChange> {
        self.heard_at = at;
        let agent = self.agents.take(event);
        match event {
            RunEvent::Armed { start_in, .. } => return Some(self.start(at.after(*start_in))),
            RunEvent::Interval {
                agent,
                interval,
                encoded,
            } => return self.interval(at, *agent, *interval, Snapshot::decode(encoded)),
            RunEvent::ProfilePart {
                monitor,
                part,
                parts,
                content,
            } => return self.profile_part((*monitor, *part, *parts), content),
            RunEvent::Totals { agent, encoded, .. } => match Totals::decode(encoded) {
                Ok(totals) => self.agents.set_totals(*agent, totals),
                Err(error) => self.unreadable(*agent, "the sum of its run", &error.to_string()),
            },
            RunEvent::Problem { agent, problem } => {
                self.note(format!("agent {}: {problem}", self.name(*agent)))
            }
            &RunEvent::TokenAsked { place, came } => self.note_asked(place, came),
            RunEvent::Note { agent, text, .. } => self.remark(*agent, text),
            // By then leases have been granted, so that no other start instant follows.
            RunEvent::Watching { monitor } => {
                self.monitors.push(monitor.name.clone());
                if let Some(started) = &mut self.started {
                    started.collector.watching(setup(monitor));
                }
            }
            RunEvent::Observed {
                by,
                second,
                encoded,
            } => self.observe(*by, *second, encoded),
            RunEvent::Preflight { agent, findings } => {
                findings.iter().for_each(|found| self.find(*agent, found))
            }
            event => self.take_instant(event),
        }
        self.follow(agent?)
    }

    /// Takes an event that tells an instant of the run. The result has it on the run clock, as it
    /// was when it came: the model moves some instants to the clock of a later coordinator.
    fn take_instant(&mut self, event: &RunEvent) {
        let Some((started, start_at)) = self.started.as_mut().zip(self.agents.start_at()) else {
            return;
        };
        let collector = &mut started.collector;
        let run_clock_ns = |at: FleetTime| at.0.saturating_sub(start_at.0);
        match event {
            RunEvent::Began {
                agent,
                at,
                bound_ns,
            } => {
                let after_ns = i128::from(at.0) - i128::from(start_at.0);
                let after_ns = i64::try_from(after_ns).unwrap_or(i64::MAX);
                collector.began(*agent, after_ns, *bound_ns);
            }
            RunEvent::Redistributed { agent, to, from } => {
                collector.redistributed(*agent, to, run_clock_ns(*from));
            }
            RunEvent::TakenOver { agent, by, from } => {
                collector.taken_over(*agent, *by, from.map(run_clock_ns));
            }
            // The rest is for people who watch.
            _ => {}
        }
    }

    /// Follows what became of an agent.
    fn follow(&mut self, agent: u32) -> Option<RecordChange> {
        if let Some(started) = &mut self.started {
            self.agents.restate(agent, &mut started.collector);
        }
        (self.agents.is_over(agent)).then_some(RecordChange::AgentEnd(agent))
    }

    /// Figures of the latest second.
    pub(super) fn live(&self) -> Option<Live> {
        self.started.as_ref()?.collector.live()
    }

    /// Adds a sentence that the reader of the result should know.
    pub(super) fn note(&mut self, sentence: String) {
        let Some(started) = &mut self.started else {
            self.refusals.push(sentence);
            return;
        };
        started.collector.note(sentence.clone());
        // A postponed start begins another collector, which gets them again.
        self.notes.push(sentence);
    }

    /// Adds the CPU time that the built-in target used for the run.
    pub(super) fn server_cpu(&mut self, used: Duration) {
        if let Some(started) = &mut self.started {
            started.collector.server_cpu(used);
        }
    }

    /// The result as it is known now.
    pub(super) fn document(&self, state: RunState) -> Document {
        let mut document = match &self.started {
            Some(started) => started.collector.document(state),
            None => {
                let mut collector = self.collector(self.run.created);
                let refusals = self.refusals.iter().cloned();
                refusals.for_each(|why| collector.refused(why));
                collector.document(state)
            }
        };
        if let Some(digest) = &self.saved_digest {
            document.plan.digest.clone_from(digest);
        }
        self.speak(&mut document);
        document
    }

    /// Rewords sentences about the plan for a user who gave flags instead.
    fn speak(&self, document: &mut Document) {
        let verdict = &mut document.verdict;
        let sentences = [
            &mut verdict.evidence,
            &mut verdict.missing,
            &mut document.notes,
            &mut document.run.refusals,
        ];
        let findings = document.preflight.iter_mut().map(|found| &mut found.text);
        for sentence in sentences.into_iter().flatten().chain(findings) {
            *sentence = in_words_of(&self.run.origin, sentence);
        }
    }

    fn collector(&self, started_at: Utc) -> ResultCollector {
        let setup = CollectorSetup {
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            run_id: self.run.id.to_string(),
            started_at: started_at.to_string(),
            plan_text: self.run.plan_text.clone(),
            agents: self.agents.setups(),
        };
        let mut collector = ResultCollector::new(setup, &self.run.plan);
        let agents = self.agents.indices();
        agents.for_each(|agent| self.agents.restate(agent, &mut collector));
        self.notes
            .iter()
            .for_each(|note| collector.note(note.clone()));
        self.preflight
            .iter()
            .for_each(|finding| collector.preflight(finding.clone()));
        collector
    }

    fn name(&self, agent: u32) -> String {
        let name = self.agents.name(agent);
        name.map_or_else(|| agent.to_string(), str::to_owned)
    }

    /// Notes a finding. An agent that was away while the others learnt of the start instant can
    /// report it later.
    fn find(&mut self, agent: u32, found: &Finding) {
        let finding = PreflightFinding {
            agent: self.name(agent),
            text: found.text.clone(),
            forced: found.is_forced,
        };
        if let Some(started) = &mut self.started {
            started.collector.preflight(finding.clone());
        }
        self.preflight.push(finding);
    }

    fn start(&mut self, started_at: Utc) -> RecordChange {
        self.notes.append(&mut self.refusals);
        let mut collector = self.collector(started_at);
        collector.set_asked_tokens(&self.asked);
        self.started = Some(Started {
            collector,
            started_at,
        });
        RecordChange::Start {
            at: started_at,
            agents: self.agents.len(),
            ended: (self.agents.indices())
                .filter(|agent| self.agents.is_over(*agent))
                .collect(),
        }
    }

    /// Counts what came of asking for a token.
    fn note_asked(&mut self, place: u32, came: bool) {
        let tally = TokenTally {
            fetched: u64::from(came),
            not_fetched: u64::from(!came),
            ..TokenTally::default()
        };
        // A plan has no more credentials than that.
        self.asked
            .add(u16::try_from(place).unwrap_or(u16::MAX), &tally);
        if let Some(started) = &mut self.started {
            started.collector.set_asked_tokens(&self.asked);
        }
    }

    /// Takes a second that an agent delivered, as far as it could be decoded, and that came at
    /// `at`.
    pub(super) fn interval(
        &mut self,
        at: Utc,
        agent: u32,
        interval: u32,
        decoded: Decoded,
    ) -> Option<RecordChange> {
        self.heard_at = at;
        // Nothing can be counted before a start instant is named, nor does the fleet deliver
        // anything.
        let started = self.started.as_mut()?;
        match decoded {
            Ok(snapshot) => {
                let added = started.collector.add(agent, interval, &snapshot);
                (added == Added::Counted).then_some(RecordChange::Counted {
                    agent,
                    interval,
                    snapshot: Box::new(snapshot),
                })
            }
            Err(error) => {
                let what = format!("second {interval} of its run");
                self.unreadable(agent, &what, &error.to_string());
                Some(RecordChange::Unreadable { agent, interval })
            }
        }
    }

    /// Adds one sentence for each agent at most; the result shows the gaps themselves.
    fn unreadable(&mut self, agent: u32, what: &str, error: &str) {
        let name = self.name(agent);
        if self.agents.is_first_unreadable(agent) {
            self.note(format!(
                "agent {name}: {what} cannot be read, so that its figures are incomplete: {error}"
            ));
        }
    }

    /// Takes an observed second. One that cannot be read is of another version, and is missing
    /// then.
    fn observe(&mut self, by: Observer, second: u32, encoded: &[u8]) {
        let observation = host::Observation::decode(encoded).ok();
        if let Some((started, mut observation)) = self.started.as_mut().zip(observation) {
            let (role, number) = match by {
                Observer::Agent(agent) => (MachineRole::Agent, agent),
                Observer::Monitor(number) => (MachineRole::Monitor, number),
            };
            let before = observation.before_load.take().map(before_load_row);
            if let Some(before) = before {
                let collector = &mut started.collector;
                collector.observed_before_load(role, number, before);
            }
            let row = machine_row(second, observation, &self.run.plan.target().ports());
            started.collector.observed(role, number, row);
        }
    }

    /// Takes a part of a profile. Returns the profile with the last one.
    fn profile_part(&mut self, place: (u32, u32, u32), content: &[u8]) -> Option<RecordChange> {
        let outcome = self.profiles.take(place, content)?;
        let number = place.0;
        let name = self.monitors.get(number as usize);
        let name = name.cloned().unwrap_or_else(|| number.to_string());
        match outcome {
            Ok(ProfileOutcome::Taken(profile)) => {
                let result = self.profiles.result((number, &name), &profile);
                let (folded, svg) = (result.folded.clone(), result.svg.clone());
                if let Some(started) = &mut self.started {
                    started.collector.profiled(number, result);
                }
                return Some(RecordChange::Profile {
                    profile,
                    folded,
                    svg,
                });
            }
            Ok(ProfileOutcome::NotTaken(why)) => {
                self.note(format!("monitor {name}: no CPU profile: {why}"));
            }
            Err(error) => self.note(format!("monitor {name}: {error}")),
        }
        None
    }

    /// Notes that another coordinator resumed the run, which had none since it was last heard of.
    pub(super) fn resume(&mut self, at: Utc, resumed: &ResumedRun) -> RecordChange {
        let away = at.since_1970().saturating_sub(self.heard_at.since_1970());
        if let Some(started) = &mut self.started {
            let on_run_clock = |at: Utc| {
                let since = at
                    .since_1970()
                    .saturating_sub(started.started_at.since_1970());
                u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
            };
            started
                .collector
                .unattended(on_run_clock(self.heard_at), on_run_clock(at));
        }
        self.agents.shift(resumed.clock_shift_ns);
        self.heard_at = at;
        let epoch = resumed.epoch;
        RecordChange::Resumption { at, epoch, away }
    }

    fn remark(&mut self, agent: Option<u32>, text: &str) {
        self.remarks += 1;
        let name = agent.map_or_else(
            || "coordinator".to_owned(),
            |agent| format!("agent {}", self.name(agent)),
        );
        match self.remarks {
            1..=REMARKS_MAX => self.note(format!("{name}: {text}")),
            number if number == REMARKS_MAX + 1 => {
                self.note("more remarks of agents stand in events.jsonl".to_owned())
            }
            _ => {}
        }
    }
}
