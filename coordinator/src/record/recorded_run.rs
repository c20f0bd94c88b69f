//! The record of one run: takes its events in, keeps the collector and the folder up to date, and
//! gives the document.

#[cfg(test)]
mod tests;

use super::decode_pool::Decoded;
use super::event_line;
use super::finished_record::FinishedRecord;
use super::histograms::Histograms;
use super::machine_row::{before_load_row, machine_row};
use super::profiles::Profiles;
use super::storage::{DiskFailure, DiskWait, DiskWaited, GivenUp};
use crate::exposition::{LatestRun, ShownTo};
use crate::planned_run::PlannedRun;
use crate::run_folder::{FactKind, Growing, LoggedFact, ResumedRun, RunFolder};
use crate::utc::Utc;
use analysis::{
    AgentEnd, AgentEndCause, AgentSetup, CollectorSetup, CpuFigures, Document, Live, MachineRole,
    PreflightFinding, ResultCollector, RunState,
};
use control::{AgentFacts, ClockReading, Finding, FleetTime, Observer, RunEvent};
use host::ProfileOutcome;
use measure::{Snapshot, Totals};
use report::{Format, Style};
use std::time::{Duration, Instant};

/// How many remarks of agents go into the result; `events.jsonl` has all of them.
const REMARKS_MAX: usize = 20;

/// The record of a run.
#[derive(Debug)]
pub(crate) struct RecordedRun {
    run: PlannedRun,
    folder: Option<RunFolder>,
    /// Shows the record to viewers, if there can be any.
    latest: Option<LatestRun>,
    agents: Vec<RecordedAgent>,
    notes: Vec<String>,
    /// Sentences reported before the start. If no start follows, they are the reasons.
    refusals: Vec<String>,
    /// Findings of the agents' preflights.
    preflight: Vec<PreflightFinding>,
    remarks: usize,
    /// Why the log did not take everything; `None` if it did.
    unstored: Option<String>,
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
    at: FleetTime,
    /// The same instant by the calendar.
    started_at: Utc,
    /// `None` if there is no folder.
    histograms: Option<Histograms>,
}

/// The record of an agent.
#[derive(Debug, Default)]
struct RecordedAgent {
    setup: AgentSetup,
    clock: Option<ClockReading>,
    end: AgentEnd,
    /// Whether seconds of it that could not be read have been noted already.
    is_unreadable: bool,
}

impl RecordedRun {
    /// Begins a record with an incomplete result in the folder, so that there is always one.
    pub(crate) fn new(run: PlannedRun, folder: Option<RunFolder>) -> RecordedRun {
        let notes = run.plan.notes().to_vec();
        let mut record = RecordedRun {
            run,
            folder,
            latest: None,
            agents: Vec::new(),
            notes,
            refusals: Vec::new(),
            preflight: Vec::new(),
            remarks: 0,
            unstored: None,
            saved_digest: None,
            monitors: Vec::new(),
            profiles: Profiles::default(),
            heard_at: Utc::now(),
            started: None,
        };
        record.save(RunState::Incomplete);
        record
    }

    /// Returns the record, shown to viewers from now on.
    pub(crate) fn shown(self, latest: Option<LatestRun>) -> RecordedRun {
        let record = RecordedRun { latest, ..self };
        record.show();
        record
    }

    /// Takes in a fact of the log, as if it happened again. Returns the end of the run, if the fact
    /// states it.
    pub(super) fn take_logged(&mut self, fact: LoggedFact) -> Option<(Utc, RunState)> {
        match fact.what {
            FactKind::Begun(_) => {}
            FactKind::Resumed(resumed) => self.resumed(fact.at, &resumed),
            FactKind::Event(event) => self.take(fact.at, &event),
            FactKind::Note(sentence) => self.note(sentence),
            FactKind::ServerCpu(used) => self.server_cpu(used),
            FactKind::Finished(state) => return Some((fact.at, state)),
        }
        None
    }

    /// Notes that nothing is stored from now on, and why.
    pub(super) fn unstored(&mut self, why: String) {
        self.unstored = Some(why);
    }

    /// Sets the digest of the plan with its secrets, since it was read without them.
    pub(super) fn set_digest(&mut self, digest: String) {
        self.saved_digest = Some(digest);
    }

    /// Takes an event that came at `at`.
    pub(crate) fn take(&mut self, at: Utc, event: &RunEvent) {
        let line = event_line::from_event(at, event, |agent| {
            Some(self.agents.get(agent as usize)?.setup.name.as_str())
        });
        self.log(line);
        self.heard_at = at;
        match event {
            RunEvent::Assembled { agents } => {
                self.agents = agents.iter().map(RecordedAgent::new).collect()
            }
            RunEvent::Ready {
                agent,
                workers,
                clock,
                ..
            } => self.ready(*agent, *workers, *clock),
            RunEvent::Armed { start_at, start_in } => self.start(*start_at, at.after(*start_in)),
            RunEvent::Began {
                agent,
                at,
                bound_ns,
            } => self.began(*agent, *at, *bound_ns),
            RunEvent::Interval {
                agent,
                interval,
                encoded,
            } => self.interval(*agent, *interval, Snapshot::decode(encoded)),
            RunEvent::Totals {
                agent,
                intervals,
                encoded,
            } => self.totals(*agent, *intervals, encoded),
            RunEvent::Ended {
                agent,
                cause,
                figures,
                clock,
                ..
            } => self.ended(*agent, cause, figures, *clock),
            RunEvent::Lost {
                agent,
                fired_until,
                why,
                ..
            } => self.lost(*agent, why, *fired_until),
            RunEvent::Gone { agent, .. } => {
                let started = self.started.iter_mut();
                started.for_each(|started| started.collector.gone(*agent));
            }
            RunEvent::Back { agent } => {
                let started = self.started.iter_mut();
                started.for_each(|started| started.collector.back(*agent));
            }
            RunEvent::Redistributed { agent, to, from } => {
                if let Some(started) = &mut self.started {
                    let after_ns = started.run_clock_ns(*from);
                    started.collector.redistributed(*agent, to, after_ns);
                }
            }
            RunEvent::TakenOver { agent, by, from } => {
                if let Some(started) = &mut self.started {
                    let from_ns = from.map(|from| started.run_clock_ns(from));
                    started.collector.taken_over(*agent, *by, from_ns);
                }
            }
            RunEvent::Problem { agent, problem } => {
                self.note(format!("agent {}: {problem}", self.name(*agent)))
            }
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
            } => self.observed(*by, *second, encoded),
            RunEvent::ProfilePart {
                monitor,
                part,
                parts,
                content,
            } => self.profile_part((*monitor, *part, *parts), content),
            RunEvent::Preflight { agent, findings } => {
                findings.iter().for_each(|found| self.found(*agent, found))
            }
            RunEvent::Joined { .. }
            | RunEvent::Left { .. }
            | RunEvent::Waiting { .. }
            | RunEvent::Started { .. }
            | RunEvent::Postponed { .. }
            | RunEvent::Superseded { .. }
            | RunEvent::Done { .. } => {}
        }
    }

    /// Figures of the latest second.
    pub(crate) fn live(&self) -> Option<Live> {
        self.started.as_ref()?.collector.live()
    }

    /// Adds a sentence that the reader of the result should know.
    pub(crate) fn note(&mut self, sentence: String) {
        let Some(started) = &mut self.started else {
            self.refusals.push(sentence);
            return;
        };
        started.collector.note(sentence.clone());
        // A postponed start begins another collector, which gets them again.
        self.notes.push(sentence);
    }

    /// Adds the CPU time that the built-in target used for the run.
    pub(crate) fn server_cpu(&mut self, used: Duration) {
        if let Some(started) = &mut self.started {
            started.collector.server_cpu(used);
        }
    }

    /// Saves what there is when the record is no longer wanted.
    pub(crate) fn abandon(mut self) {
        self.histograms(|histograms, folder| histograms.finish(folder));
        self.save(RunState::Incomplete);
    }

    /// Replaces the result in the folder.
    pub(crate) fn save(&mut self, state: RunState) {
        if self.folder.is_some() {
            let document = self.document(state);
            self.save_document(&document);
        }
    }

    /// Shows what there is to viewers.
    pub(super) fn show(&self) {
        if let Some(latest) = &self.latest {
            latest.show(self.document(RunState::Incomplete));
        }
    }

    /// The viewers that the run has; `None` if it is shown to no one.
    pub(super) fn shown_to(&self) -> Option<ShownTo> {
        self.latest.as_ref().map(LatestRun::shown_to)
    }

    /// Saves the last document, and returns it with what could not be saved.
    pub(crate) fn finish(self, at: Utc, state: RunState) -> FinishedRecord {
        self.finish_on(at, state, None)
    }

    /// Like [`RecordedRun::finish`], but waits for a disk that does not take it.
    pub(super) fn finish_on(
        mut self,
        at: Utc,
        state: RunState,
        disk: Option<&DiskWait>,
    ) -> FinishedRecord {
        self.histograms(|histograms, folder| histograms.finish(folder));
        let document = self.document(state);
        event_line::from_result(at, &document)
            .into_iter()
            .for_each(|line| self.log(Some(line)));
        if let Some(folder) = &mut self.folder {
            // If the log was given up, the disk was waited for already.
            let disk = disk.filter(|_| self.unstored.is_none());
            save_last(folder, &document, disk);
        }
        if let Some(latest) = &self.latest {
            latest.show_last(document.clone());
        }
        let unsaved = self.folder.as_ref().map(RunFolder::unsaved);
        let has_result = self.folder.as_ref().is_some_and(RunFolder::has_result);
        let is_stored = self.unstored.is_none();
        FinishedRecord {
            document,
            is_stored,
            unsaved: self
                .unstored
                .into_iter()
                .chain(unsaved.into_iter().flatten())
                .chain(self.profiles.unsaved().iter().cloned())
                .collect(),
            folder: self.folder.map(|folder| folder.path().to_owned()),
            has_result,
        }
    }

    fn save_document(&mut self, document: &Document) {
        if let Some(folder) = &mut self.folder {
            folder.replace_result(&Format::Json.render(document, Style::PLAIN));
        }
    }

    fn log(&mut self, line: Option<String>) {
        if let (Some(folder), Some(line)) = (&mut self.folder, line) {
            folder.append(Growing::Events, &format!("{line}\n"));
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
            *sentence = self.run.origin.in_its_words(sentence);
        }
    }

    fn collector(&self, started_at: Utc) -> ResultCollector {
        let setup = CollectorSetup {
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            run_id: self.run.id.to_string(),
            started_at: started_at.to_string(),
            plan_text: self.run.plan_text.clone(),
            agents: self
                .agents
                .iter()
                .map(|agent| agent.setup.clone())
                .collect(),
        };
        let mut collector = ResultCollector::new(setup, &self.run.plan);
        for (index, agent) in (0..).zip(&self.agents) {
            if let Some(clock) = agent.clock {
                collector.clock(index, clock.offset_ns, clock.bound_ns);
            }
        }
        // Agents that were lost before there was a collector.
        for (index, agent) in (0..).zip(&self.agents) {
            if agent.end.cause.is_some() {
                collector.ended(index, agent.end.clone());
            }
        }
        self.notes
            .iter()
            .for_each(|note| collector.note(note.clone()));
        self.preflight
            .iter()
            .for_each(|finding| collector.preflight(finding.clone()));
        collector
    }

    fn name(&self, agent: u32) -> String {
        self.agents
            .get(agent as usize)
            .map_or_else(|| agent.to_string(), |known| known.setup.name.clone())
    }

    fn ready(&mut self, agent: u32, workers: u32, clock: ClockReading) {
        if let Some(known) = self.agents.get_mut(agent as usize) {
            known.setup.workers = workers;
            known.clock = Some(clock);
        }
    }

    /// Notes a finding. An agent that was away while the others learnt of the start instant can
    /// report it later.
    fn found(&mut self, agent: u32, found: &Finding) {
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

    fn start(&mut self, at: FleetTime, started_at: Utc) {
        self.notes.append(&mut self.refusals);
        let has_folder = self.folder.is_some();
        let histograms = has_folder.then(|| Histograms::new(started_at, self.agents.len()));
        self.started = Some(Started {
            collector: self.collector(started_at),
            at,
            started_at,
            histograms,
        });
        // Agents that were lost before the start deliver nothing.
        for agent in 0..self.agents.len() {
            if self.agents[agent].end.cause.is_some() {
                self.histograms(|histograms, folder| {
                    histograms.agent_ended(folder, agent as u32);
                });
            }
        }
    }

    fn began(&mut self, agent: u32, at: FleetTime, bound_ns: u64) {
        if let Some(started) = &mut self.started {
            let after_ns = i128::from(at.0) - i128::from(started.at.0);
            started
                .collector
                .began(agent, i64::try_from(after_ns).unwrap_or(i64::MAX), bound_ns);
        }
    }

    /// Like [`RecordedRun::interval`], for an interval that came at `at`.
    pub(super) fn logged_interval(&mut self, at: Utc, agent: u32, interval: u32, decoded: Decoded) {
        self.heard_at = at;
        self.interval(agent, interval, decoded);
    }

    /// Takes a second that an agent delivered, as far as it could be decoded.
    pub(super) fn interval(&mut self, agent: u32, interval: u32, decoded: Decoded) {
        // Nothing can be counted before a start instant is named, nor does the fleet deliver
        // anything.
        let Some(started) = &mut self.started else {
            return;
        };
        match decoded {
            Ok(snapshot) => {
                if started.collector.add(agent, interval, &snapshot) == analysis::Added::Counted {
                    self.histograms(|histograms, folder| {
                        histograms.take(folder, agent, interval, &snapshot)
                    });
                }
            }
            Err(error) => {
                self.histograms(|histograms, folder| histograms.skip(folder, agent, interval));
                self.unreadable(
                    agent,
                    &format!("second {interval} of its run"),
                    &error.to_string(),
                );
            }
        }
    }

    /// Calls `write` if there is a folder and the run has started.
    fn histograms(&mut self, write: impl FnOnce(&mut Histograms, &mut RunFolder)) {
        let histograms = self
            .started
            .as_mut()
            .and_then(|started| started.histograms.as_mut());
        if let Some((histograms, folder)) = histograms.zip(self.folder.as_mut()) {
            write(histograms, folder);
        }
    }

    fn totals(&mut self, agent: u32, intervals: u32, encoded: &[u8]) {
        let totals = Totals::decode(encoded);
        if let Err(error) = &totals {
            self.unreadable(agent, "the sum of its run", &error.to_string());
        }
        self.end(agent, |end| {
            end.intervals = Some(intervals);
            end.totals = totals.ok();
        });
    }

    /// Adds one sentence for each agent at most; the result shows the gaps themselves.
    fn unreadable(&mut self, agent: u32, what: &str, error: &str) {
        let name = self.name(agent);
        let first = self
            .agents
            .get_mut(agent as usize)
            .is_some_and(|known| !std::mem::replace(&mut known.is_unreadable, true));
        if first {
            self.note(format!(
                "agent {name}: {what} cannot be read, so that its figures are incomplete: {error}"
            ));
        }
    }

    fn ended(
        &mut self,
        agent: u32,
        cause: &control::EndCause,
        figures: &[u8],
        clock: Option<ClockReading>,
    ) {
        let (cause, text) = match cause {
            control::EndCause::Plan => (AgentEndCause::Plan, ""),
            control::EndCause::Stopped => (AgentEndCause::Stopped, ""),
            control::EndCause::LeaseExpired => (AgentEndCause::LeaseExpired, ""),
            control::EndCause::Failed(why) => (AgentEndCause::Failed, why.as_str()),
        };
        // Figures of another version cannot be read. The agent then has none, and the result says
        // that they are not known.
        let figures = host::RunFigures::decode(figures).ok();
        self.histograms(|histograms, folder| histograms.agent_ended(folder, agent));
        self.end(agent, |end| {
            end.cause = Some(cause);
            end.text = text.to_owned();
            end.cpu = figures.map(|figures| cpu(&figures.measured));
            end.cpu_drain = figures.map(|figures| cpu(&figures.drain));
        });
        if let (Some(started), Some(clock)) = (&mut self.started, clock) {
            started
                .collector
                .clock(agent, clock.offset_ns, clock.bound_ns);
        }
    }

    fn lost(&mut self, agent: u32, why: &str, fired_until: Option<FleetTime>) {
        self.histograms(|histograms, folder| histograms.agent_ended(folder, agent));
        let started = self.started.as_ref();
        let fired_until_ns = fired_until
            .zip(started)
            .map(|(until, started)| started.run_clock_ns(until));
        self.end(agent, |end| {
            end.cause = Some(AgentEndCause::Lost);
            end.text = why.to_owned();
            end.fired_until_ns = fired_until_ns;
        });
    }

    /// Takes an observed second. One that cannot be read is of another version, and is missing
    /// then.
    fn observed(&mut self, by: Observer, second: u32, encoded: &[u8]) {
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

    /// Takes a part of a profile; with the last one, writes the profile's files.
    fn profile_part(&mut self, place: (u32, u32, u32), content: &[u8]) {
        let Some(outcome) = self.profiles.take(place, content) else {
            return;
        };
        let number = place.0;
        let name = self.monitors.get(number as usize);
        let name = name.cloned().unwrap_or_else(|| number.to_string());
        match outcome {
            Ok(ProfileOutcome::Taken(profile)) => {
                let folder = self.folder.as_ref();
                let saved = self.profiles.save((number, &name), &profile, folder);
                if let Some(started) = &mut self.started {
                    started.collector.profiled(number, saved);
                }
            }
            Ok(ProfileOutcome::NotTaken(why)) => {
                self.note(format!("monitor {name}: no CPU profile: {why}"));
            }
            Err(error) => self.note(format!("monitor {name}: {error}")),
        }
    }

    /// Notes that another coordinator resumed the run, which had none since it was last heard of.
    fn resumed(&mut self, at: Utc, resumed: &ResumedRun) {
        let away = at.since_1970().saturating_sub(self.heard_at.since_1970());
        self.log(Some(event_line::from_resumption(at, resumed.epoch, away)));
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
            started.at = FleetTime(started.at.0.saturating_add_signed(resumed.clock_shift_ns));
        }
        self.heard_at = at;
    }

    fn end(&mut self, agent: u32, change: impl FnOnce(&mut AgentEnd)) {
        if let Some(known) = self.agents.get_mut(agent as usize) {
            change(&mut known.end);
            if let Some(started) = &mut self.started {
                started.collector.ended(agent, known.end.clone());
            }
        }
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

/// Saves the final result, and tries again while a disk that does not take it is waited for.
fn save_last(folder: &mut RunFolder, document: &Document, disk: Option<&DiskWait>) {
    let page = Format::Html.render(document, Style::PLAIN);
    let result = Format::Json.render(document, Style::PLAIN);
    let since = Instant::now();
    loop {
        folder.finish();
        folder.replace_result(&result);
        folder.replace_page(&page);
        let Some(disk) = disk else {
            return; // it is tried once
        };
        let Some(why) = folder.unsaved().into_iter().next() else {
            return disk.goes_on();
        };
        let failure = DiskFailure {
            why,
            is_folder_gone: !folder.path().is_dir(),
        };
        match disk.wait(since, &failure, 0) {
            DiskWaited::Again => {}
            DiskWaited::OutOfTime if failure.is_folder_gone => {
                return disk.give_up(GivenUp::Released);
            }
            DiskWaited::OutOfTime => return disk.give_up(GivenUp::Logged),
            DiskWaited::NotWanted => return,
        }
    }
}

impl Started {
    /// Converts an instant of the fleet's clock to nanoseconds since the start; 0 before it.
    fn run_clock_ns(&self, at: FleetTime) -> u64 {
        at.0.saturating_sub(self.at.0)
    }
}

impl RecordedAgent {
    fn new(facts: &AgentFacts) -> RecordedAgent {
        RecordedAgent {
            setup: setup(facts),
            ..RecordedAgent::default()
        }
    }
}

/// The setup of an agent or a monitor, as known when it joins.
fn setup(facts: &AgentFacts) -> AgentSetup {
    // Facts of another version cannot be read: the agent counts, but its machine is unknown.
    let machine = host::Facts::decode(&facts.host).unwrap_or_default();
    AgentSetup {
        name: facts.name.clone(),
        labels: facts.labels.clone(),
        workers: facts.workers,
        facts: analysis::MachineFacts {
            cpus: u32::try_from(machine.cpus_allowed.len()).unwrap_or(u32::MAX),
            cpu_quota: machine.cpu_quota.filter(|quota| quota.is_finite()),
            hostname: machine.hostname,
            kernel: machine.kernel,
            cpu_model: machine.cpu_model,
            memory_total_bytes: machine.memory_total_bytes,
            open_files_limit: machine.open_files_limit,
            first_local_port: machine.local_ports.0,
            last_local_port: machine.local_ports.1,
        },
        addresses: machine.addresses,
    }
}

fn cpu(figures: &host::UsageFigures) -> CpuFigures {
    let (process_share_mean, process_share_max) = figures.process_share();
    let (busiest_worker_share_mean, busiest_worker_share_max) = figures.busiest_worker_share();
    let (machine_busy_share_mean, machine_busy_share_max) = figures.machine_busy_share();
    CpuFigures {
        samples: figures.samples,
        process_share_mean,
        process_share_max,
        busiest_worker_share_mean,
        busiest_worker_share_max,
        machine_busy_share_mean,
        machine_busy_share_max,
        steal_share_mean: figures.steal_share(),
        rss_bytes_max: figures.rss_bytes_max,
        tcp_retransmits: figures.tcp_retransmits,
        tcp_segments_sent: figures.tcp_segments_sent,
    }
}
