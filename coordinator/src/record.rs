//! What is known of a run: takes events in, keeps the collector and the run folder up to date, gives the document.
//! It knows no network and no time but that of the events.

mod event_line;
mod keeper;

pub(crate) use keeper::{Finished, Keeper, Room};

use crate::run_folder::{Growing, RunFolder};
use crate::utc::Utc;
use analysis::{AgentEnd, AgentSetup, Collector, CpuFigures, Document, EndCause, Live, Setup, State};
use control::{AgentFacts, ClockReading, FleetTime, RunEvent, RunId};
use measure::Snapshot;
use plan::Plan;
use report::{Format, HlogWriter, Style};
use std::time::Duration;

/// Agents' own remarks that stand in the result; all stand in `events.jsonl`.
const REMARKS_MAX: usize = 20;

/// What is known of a run.
#[derive(Debug)]
pub(crate) struct Record {
    about: About,
    folder: Option<RunFolder>,
    agents: Vec<Known>,
    notes: Vec<String>,
    remarks: usize,
    /// From the moment the start instant is named.
    started: Option<Started>,
}

/// What is known before anything happens.
#[derive(Debug, Clone)]
pub(crate) struct About {
    /// The run.
    pub(crate) run: RunId,
    /// The plan that is run.
    pub(crate) plan: Plan,
    /// The plan as the user gave it.
    pub(crate) plan_text: String,
    /// When the command was given.
    pub(crate) created: Utc,
}

#[derive(Debug)]
struct Started {
    collector: Collector,
    at: FleetTime,
    log: HlogWriter,
}

/// What is known of an agent.
#[derive(Debug, Default)]
struct Known {
    setup: AgentSetup,
    clock: Option<ClockReading>,
    end: AgentEnd,
    /// Seconds of it that could not be read were noted already.
    is_unreadable: bool,
}

impl Record {
    /// A record that begins with an incomplete result in the folder, so that there is always one.
    pub(crate) fn new(about: About, folder: Option<RunFolder>) -> Record {
        let notes = about.plan.notes().to_vec();
        let mut record = Record { about, folder, agents: Vec::new(), notes, remarks: 0, started: None };
        record.save(State::Incomplete);
        record
    }

    /// Takes an event in; `at` is when it came.
    pub(crate) fn take(&mut self, at: Utc, event: &RunEvent) {
        self.log(event_line::of(at, event, &self.names()));
        match event {
            RunEvent::Assembled { agents } => self.agents = agents.iter().map(known).collect(),
            RunEvent::Ready { agent, workers, clock, .. } => self.ready(*agent, *workers, *clock),
            RunEvent::Armed { start_at, start_in } => self.start(*start_at, at.after(*start_in)),
            RunEvent::Began { agent, at, bound_ns } => self.began(*agent, *at, *bound_ns),
            RunEvent::Interval { agent, interval, encoded } => self.interval(*agent, *interval, encoded),
            RunEvent::Totals { agent, intervals, encoded } => self.totals(*agent, *intervals, encoded),
            RunEvent::Ended { agent, cause, figures, clock, .. } => self.ended(*agent, cause, figures, *clock),
            RunEvent::Lost { agent, why, .. } => self.lost(*agent, why),
            RunEvent::Problem { agent, problem } => self.note(format!("agent {}: {problem}", self.name(*agent))),
            RunEvent::Note { agent, text, .. } => self.remark(*agent, text),
            RunEvent::Joined { .. }
            | RunEvent::Left { .. }
            | RunEvent::Waiting { .. }
            | RunEvent::Started { .. }
            | RunEvent::Gone { .. }
            | RunEvent::Back { .. }
            | RunEvent::Done { .. } => {}
        }
    }

    /// Figures of the latest second.
    pub(crate) fn live(&self) -> Option<Live> {
        self.started.as_ref()?.collector.live()
    }

    /// A sentence that the reader of the result should know.
    pub(crate) fn note(&mut self, sentence: String) {
        match &mut self.started {
            Some(started) => started.collector.note(sentence),
            None => self.notes.push(sentence),
        }
    }

    /// CPU time that the built-in target used for the run.
    pub(crate) fn server_cpu(&mut self, used: Duration) {
        if let Some(started) = &mut self.started {
            started.collector.server_cpu(used);
        }
    }

    /// Replaces the result in the folder.
    pub(crate) fn save(&mut self, state: State) {
        if self.folder.is_some() {
            let document = self.document(state);
            self.save_document(&document);
        }
    }

    /// The last document, saved, and what could not be saved.
    pub(crate) fn finish(mut self, at: Utc, state: State) -> Finished {
        let document = self.document(state);
        event_line::of_result(at, &document).into_iter().for_each(|line| self.log(Some(line)));
        self.save_document(&document);
        let unsaved = self.folder.as_ref().map(RunFolder::unsaved).unwrap_or_default();
        Finished { document, unsaved, folder: self.folder.map(|folder| folder.path().to_owned()) }
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

    fn document(&self, state: State) -> Document {
        match &self.started {
            Some(started) => started.collector.document(state),
            None => self.collector(self.about.created).document(state),
        }
    }

    fn collector(&self, started_at: Utc) -> Collector {
        let setup = Setup {
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            run_id: self.about.run.to_string(),
            started_at: started_at.to_string(),
            plan_text: self.about.plan_text.clone(),
            agents: self.agents.iter().map(|agent| agent.setup.clone()).collect(),
        };
        let mut collector = Collector::new(setup, &self.about.plan);
        for (index, agent) in (0..).zip(&self.agents) {
            if let Some(clock) = agent.clock {
                collector.clock(index, clock.offset_ns, clock.bound_ns);
            }
        }
        self.notes.iter().for_each(|note| collector.note(note.clone()));
        collector
    }

    fn names(&self) -> Vec<String> {
        self.agents.iter().map(|agent| agent.setup.name.clone()).collect()
    }

    fn name(&self, agent: u32) -> String {
        self.agents.get(agent as usize).map_or_else(|| agent.to_string(), |known| known.setup.name.clone())
    }

    fn ready(&mut self, agent: u32, workers: u32, clock: ClockReading) {
        if let Some(known) = self.agents.get_mut(agent as usize) {
            known.setup.workers = workers;
            known.clock = Some(clock);
        }
    }

    fn start(&mut self, at: FleetTime, started_at: Utc) {
        let log = HlogWriter::new(&started_at.to_string(), started_at.millis());
        if let Some(folder) = &mut self.folder {
            folder.append(Growing::Histograms, &log.header());
        }
        self.started = Some(Started { collector: self.collector(started_at), at, log });
    }

    fn began(&mut self, agent: u32, at: FleetTime, bound_ns: u64) {
        if let Some(started) = &mut self.started {
            let after_ns = i128::from(at.0) - i128::from(started.at.0);
            started.collector.began(agent, i64::try_from(after_ns).unwrap_or(i64::MAX), bound_ns);
        }
    }

    fn interval(&mut self, agent: u32, interval: u32, encoded: &[u8]) {
        let Some(started) = &mut self.started else { return };
        match Snapshot::decode(encoded) {
            Ok(snapshot) => {
                let is_new = started.collector.add(agent, interval, &snapshot) == analysis::Added::Counted;
                if let Some(folder) = self.folder.as_mut().filter(|_| is_new) {
                    folder.append(Growing::Histograms, &started.log.interval(agent, interval, &snapshot));
                }
            }
            Err(error) => self.unreadable(agent, &format!("second {interval} of its run"), &error.to_string()),
        }
    }

    fn totals(&mut self, agent: u32, intervals: u32, encoded: &[u8]) {
        let totals = Snapshot::decode(encoded);
        if let Err(error) = &totals {
            self.unreadable(agent, "the sum of its run", &error.to_string());
        }
        self.end(agent, |end| {
            end.intervals = Some(intervals);
            end.totals = totals.ok();
        });
    }

    /// One sentence an agent: the gaps themselves stand in the result.
    fn unreadable(&mut self, agent: u32, what: &str, error: &str) {
        let name = self.name(agent);
        let first = self.agents.get_mut(agent as usize).is_some_and(|known| !std::mem::replace(&mut known.is_unreadable, true));
        if first {
            self.note(format!("agent {name}: {what} cannot be read, so that its figures are incomplete: {error}"));
        }
    }

    fn ended(&mut self, agent: u32, cause: &control::EndCause, figures: &[u8], clock: Option<ClockReading>) {
        let (cause, text) = match cause {
            control::EndCause::Plan => (EndCause::Plan, ""),
            control::EndCause::Stopped => (EndCause::Stopped, ""),
            control::EndCause::LeaseExpired => (EndCause::LeaseExpired, ""),
            control::EndCause::Failed(why) => (EndCause::Failed, why.as_str()),
        };
        // Figures of another version leave the agent without any, and the result says that they are not known.
        let figures = host::Figures::decode(figures).ok();
        self.end(agent, |end| {
            end.cause = Some(cause);
            end.text = text.to_owned();
            end.cpu = figures.map(|figures| cpu(&figures));
        });
        if let (Some(started), Some(clock)) = (&mut self.started, clock) {
            started.collector.clock(agent, clock.offset_ns, clock.bound_ns);
        }
    }

    fn lost(&mut self, agent: u32, why: &str) {
        self.end(agent, |end| {
            end.cause = Some(EndCause::Lost);
            end.text = why.to_owned();
        });
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
        let name = agent.map_or_else(|| "coordinator".to_owned(), |agent| format!("agent {}", self.name(agent)));
        match self.remarks {
            1..=REMARKS_MAX => self.note(format!("{name}: {text}")),
            number if number == REMARKS_MAX + 1 => self.note("more remarks of agents stand in events.jsonl".to_owned()),
            _ => {}
        }
    }
}

fn known(facts: &AgentFacts) -> Known {
    // An agent of another version is still one: its machine is then not known.
    let machine = host::Facts::decode(&facts.host).unwrap_or_default();
    let setup = AgentSetup {
        name: facts.name.clone(),
        labels: facts.labels.clone(),
        workers: facts.workers,
        facts: analysis::AgentFacts {
            cpus: u32::try_from(machine.cpus_allowed.len()).unwrap_or(u32::MAX),
            hostname: machine.hostname,
            kernel: machine.kernel,
            cpu_model: machine.cpu_model,
            memory_total_bytes: machine.memory_total_bytes,
            open_files_limit: machine.open_files_limit,
            first_local_port: machine.local_ports.0,
            last_local_port: machine.local_ports.1,
        },
    };
    Known { setup, ..Known::default() }
}

fn cpu(figures: &host::Figures) -> CpuFigures {
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

#[cfg(test)]
mod tests {
    use super::*;
    use control::{AgentId, EndCause as Cause, Outcome};
    use proto::Bytes;
    use std::time::Duration;

    const PLAN: &str = "target.builtin = true\nload = { connections = 2, duration = \"2s\" }";
    const READING: ClockReading = ClockReading { offset_ns: 5, bound_ns: 7 };

    fn about() -> About {
        let plan = Plan::parse(PLAN, &mut crate::plan_file::Folder(".".into())).unwrap();
        About { run: RunId([1; 16]), plan, plan_text: PLAN.to_owned(), created: Utc::now() }
    }

    fn agent(name: &str) -> AgentFacts {
        let (id, version, host) = (AgentId([0; 16]), "0.1.0".to_owned(), Bytes::from_static(b"another version"));
        AgentFacts { id, name: name.to_owned(), version, labels: [("k".into(), "v".into())].into(), workers: 1, host }
    }

    /// A run of two agents up to its start.
    fn started(folder: Option<RunFolder>) -> Record {
        let mut record = Record::new(about(), folder);
        record.take(Utc::now(), &RunEvent::Assembled { agents: vec![agent("a"), agent("b")] });
        for agent in [0, 1] {
            let ready = RunEvent::Ready { agent, addresses: vec![], workers: 3, clock: READING };
            record.take(Utc::now(), &ready);
        }
        let armed = RunEvent::Armed { start_at: FleetTime(1_000), start_in: Duration::ZERO };
        record.take(Utc::now(), &armed);
        for agent in [0, 1] {
            let began = RunEvent::Began { agent, at: FleetTime(990 + u64::from(agent) * 20), bound_ns: 1 };
            record.take(Utc::now(), &began);
        }
        record
    }

    fn interval(record: &mut Record, agent: u32, interval: u32, encoded: &[u8]) {
        let encoded = Bytes::copy_from_slice(encoded);
        record.take(Utc::now(), &RunEvent::Interval { agent, interval, encoded });
    }

    fn ended(record: &mut Record, agent: u32, totals: &[u8]) {
        let encoded = Bytes::copy_from_slice(totals);
        record.take(Utc::now(), &RunEvent::Totals { agent, intervals: 1, encoded });
        let figures = Bytes::from(host::Figures::default().encode());
        let ended = RunEvent::Ended { agent, cause: Cause::Plan, missing: vec![], figures, clock: None };
        record.take(Utc::now(), &ended);
    }

    /// One operation that was ok, as an agent sends it.
    fn snapshot() -> Vec<u8> {
        let mut snapshot = Snapshot::default();
        let key = measure::CellKey { period: measure::Period::Measured, request: 0, address: None };
        snapshot.cells.entry(key).or_default().counters.ok = 1;
        snapshot.encode()
    }

    #[test]
    fn each_interval_counts_once_and_totals_are_compared() {
        let mut record = started(None);
        for agent in [0, 1] {
            interval(&mut record, agent, 0, &snapshot());
            interval(&mut record, agent, 0, &snapshot());
            ended(&mut record, agent, &snapshot());
        }
        let document = record.finish(Utc::now(), State::Complete).document;
        assert_eq!(document.measured.operations.ok, 2);
        assert!(document.agents.iter().all(|agent| agent.totals_match == Some(true) && agent.workers == 3));
        let began: Vec<_> = document.agents.iter().map(|agent| agent.began_at_ns).collect();
        assert_eq!(began, [Some(-10), Some(10)]);
        assert_eq!(document.agents[0].clock_bound_ns, Some(7));
    }

    #[test]
    fn interval_that_cannot_be_read_invalidates_its_agent_with_one_sentence() {
        let mut record = started(None);
        interval(&mut record, 0, 0, &snapshot());
        interval(&mut record, 1, 0, b"\xffnonsense");
        interval(&mut record, 1, 1, b"\xffnonsense");
        ended(&mut record, 0, &snapshot());
        ended(&mut record, 1, &snapshot());
        let document = record.finish(Utc::now(), State::Complete).document;
        assert_eq!(document.verdict.verdict, analysis::Verdict::Invalid);
        let told = document.notes.iter().filter(|note| note.contains("agent b: second 0 of its run cannot be read")).count();
        assert_eq!((told, document.agents[1].totals_match), (1, Some(false)), "{:?}", document.notes);
        assert_eq!(document.agents[0].totals_match, Some(true));
    }

    #[test]
    fn agent_without_readable_totals_is_not_trusted() {
        let mut record = started(None);
        for agent in [0, 1] {
            interval(&mut record, agent, 0, &snapshot());
        }
        ended(&mut record, 0, &snapshot());
        ended(&mut record, 1, b"");
        let document = record.finish(Utc::now(), State::Complete).document;
        assert_eq!((document.verdict.verdict, document.agents[1].totals_match), (analysis::Verdict::Invalid, None));
    }

    #[test]
    fn folder_holds_an_incomplete_result_from_the_beginning() {
        let base = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(base.path(), Utc::now(), "plan", PLAN).unwrap();
        let path = folder.path().join(crate::run_folder::RESULT);
        let read = || report::read(&std::fs::read(&path).unwrap()).unwrap();
        let mut record = Record::new(about(), Some(folder));
        assert_eq!((read().run.state, read().agents.len()), (State::Incomplete, 0));
        record.take(Utc::now(), &RunEvent::Assembled { agents: vec![agent("a")] });
        record.take(Utc::now(), &RunEvent::Problem { agent: 0, problem: "cannot".into() });
        record.take(Utc::now(), &RunEvent::Done { outcome: Outcome::NotStarted });
        let finished = record.finish(Utc::now(), State::Incomplete);
        assert_eq!(finished.unsaved, Vec::<String>::new());
        assert!(read().notes.contains(&"agent a: cannot".to_owned()), "{:?}", read().notes);
        assert_eq!(read(), finished.document);
    }

    #[test]
    fn remarks_are_cut_in_the_result_and_whole_in_the_events() {
        let base = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(base.path(), Utc::now(), "plan", PLAN).unwrap();
        let events = folder.path().join("events.jsonl");
        let mut record = started(Some(folder));
        for number in 0..100 {
            let note = RunEvent::Note { agent: Some(0), event: "policy".into(), text: format!("remark {number}") };
            record.take(Utc::now(), &note);
        }
        let document = record.finish(Utc::now(), State::Complete).document;
        let remarks = document.notes.iter().filter(|note| note.contains("remark")).count();
        assert_eq!(remarks, REMARKS_MAX + 1, "{:?}", document.notes);
        assert_eq!(std::fs::read_to_string(events).unwrap().matches("\"note\"").count(), 100);
    }
}
