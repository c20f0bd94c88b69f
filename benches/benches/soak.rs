//! A run of hours with an accelerated clock: what a second costs agents and coordinator, and how
//! much memory they keep, as the run grows longer. Everything is as in a real run except sockets
//! and the link: recorders, the engine's collector, the encoding of the wire, and the coordinator's
//! record with its log and result in a folder.
//!
//! Times are CPU times of this process, so a busy machine does not affect them.
//!
//! `--intervals N` seconds (default three hours), `--agents N` (default 4), `--test`: two minutes.
//! If the last hour costs more than [`RATIO_MOST`] times the first one, it says so and exits with
//! 1.

use benches::{flag, is_trial, parse};
use coordinator::RecordRehearsal;
use engine::{CollectorRehearsal, Event};
use measure::{CellId, Operation, OperationEnd, Period, Recorder, Spare};
use rustix::time::{ClockId, clock_gettime};
use std::fmt::Write as _;
use std::process::exit;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const SECOND: u64 = 1_000_000_000;
const REQUESTS: u16 = 20;
const ADDRESSES: u16 = 4;

/// Operations of an agent per second: each request at each address, twice.
const OPERATIONS: u64 = 2 * REQUESTS as u64 * ADDRESSES as u64;

/// In a real run, the result is saved about this often, in seconds; here it is timed separately.
const SAVED_EVERY: u32 = 60;

const RATIO_MOST: f64 = 1.5;

fn main() {
    let intervals = number("--intervals").unwrap_or(if is_trial() { 120 } else { 3 * 3600 });
    let part = if is_trial() { 60 } else { 3600 };
    let mut soak = Soak::start(number("--agents").unwrap_or(4));
    println!(
        "{OPERATIONS} operations a second of each of {} agents, {REQUESTS} requests, {ADDRESSES} \
         addresses",
        soak.agents.len()
    );
    println!(
        "| seconds | agent, a second | coordinator, a second | saving the result | resident set | \
         log | result |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut rows: Vec<Costs> = Vec::new();
    for from in (0..intervals).step_by(part as usize) {
        let costs = soak.run(from, intervals.min(from + part));
        println!("{}", soak.row(intervals.min(from + part), &costs));
        rows.push(costs);
    }
    soak.end(intervals);
    let (first, last) = (rows[0].of_second(), rows[rows.len() - 1].of_second());
    let ratio = last.as_secs_f64() / first.as_secs_f64();
    println!("\nThe last part costs {ratio:.2} times the first.");
    if ratio > RATIO_MOST && !is_trial() {
        println!("That is more than {RATIO_MOST}: something grows with the length of the run.");
        exit(1);
    }
}

fn number(name: &str) -> Option<u32> {
    flag(name).map(|text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name} takes a number, not {text}"))
    })
}

/// A run under way.
struct Soak {
    agents: Vec<Agent>,
    record: RecordRehearsal,
    /// Removed at the end.
    _base: tempfile::TempDir,
}

/// An agent: the recorder of its only worker, and the messages of its collector.
struct Agent {
    recorder: Recorder,
    spare: Option<Spare>,
    collector: CollectorRehearsal,
    events: Receiver<Told>,
    random: u64,
}

/// An event as an agent sends it.
enum Told {
    Interval(u32, Vec<u8>),
    Totals(Vec<u8>),
}

/// The cost of several seconds.
#[derive(Default)]
struct Costs {
    seconds: u32,
    agents: u32,
    agent: Duration,
    coordinator: Duration,
    saving: Duration,
    saved: u32,
}

impl Soak {
    fn start(agents: u32) -> Soak {
        let base = tempfile::tempdir().expect("a temporary folder can be made");
        let requests: String = (0..REQUESTS)
            .map(|request| format!("[[request]]\npath = \"/{request}\"\n"))
            .collect();
        let plan = parse(
            &format!(
                "target.url = \"http://a.test/\"\nload = {{ rate = \"640/s\", duration = \"48h\" \
                 }}\n{requests}"
            ),
            None,
        );
        let record = RecordRehearsal::start(plan, agents, base.path())
            .unwrap_or_else(|error| panic!("{error}"));
        Soak {
            agents: (0..agents).map(Agent::start).collect(),
            record,
            _base: base,
        }
    }

    /// Runs the seconds from `from` up to, but not including, `to`.
    fn run(&mut self, from: u32, to: u32) -> Costs {
        let mut costs = Costs {
            seconds: to - from,
            agents: self.agents.len() as u32,
            ..Costs::default()
        };
        for second in from..to {
            for (index, agent) in (0..).zip(&mut self.agents) {
                let begun = cpu_time();
                let (number, encoded) = agent.second(second);
                costs.agent += cpu_time() - begun;
                let begun = cpu_time();
                self.record.interval(index, number, encoded);
                costs.coordinator += cpu_time() - begun;
            }
            if second % SAVED_EVERY == SAVED_EVERY - 1 {
                let begun = cpu_time();
                self.record.save();
                costs.saving += cpu_time() - begun;
                costs.saved += 1;
            }
        }
        costs
    }

    fn row(&self, seconds: u32, costs: &Costs) -> String {
        let ms = |duration: Duration, number: u32| {
            duration.as_secs_f64() * 1e3 / f64::from(number.max(1))
        };
        let mib = |file: &str| {
            self.record
                .folder()
                .join(file)
                .metadata()
                .map_or(0.0, |about| about.len() as f64 / (1 << 20) as f64)
        };
        let mut row = format!(
            "| {seconds} | {:.2} ms |",
            ms(costs.agent, costs.seconds * costs.agents)
        );
        let _ = write!(row, " {:.2} ms |", ms(costs.coordinator, costs.seconds));
        let _ = write!(row, " {:.1} ms |", ms(costs.saving, costs.saved));
        let _ = write!(row, " {:.1} MiB |", resident_kib() as f64 / 1024.0);
        let _ = write!(
            row,
            " {:.1} MiB | {:.2} MiB |",
            mib("histograms.hlog"),
            mib("result.json")
        );
        row
    }

    /// Ends the run: all seconds have arrived, and their sum equals the agents' totals.
    fn end(self, intervals: u32) {
        let Soak {
            agents,
            mut record,
            _base,
        } = self;
        for (index, agent) in (0..).zip(agents) {
            let Agent {
                collector, events, ..
            } = agent;
            collector.end();
            for told in events {
                match told {
                    Told::Interval(number, encoded) => record.interval(index, number, encoded),
                    Told::Totals(encoded) => {
                        println!("agent {index}: totals of {} bytes", encoded.len());
                        record.end(index, intervals, encoded);
                    }
                }
            }
        }
        let document = record.finish();
        let ended = u64::from(intervals) * OPERATIONS * document.agents.len() as u64;
        assert_eq!(document.measured.operations.ended, ended, "nothing is lost");
        assert!(
            document
                .agents
                .iter()
                .all(|agent| agent.totals_match == Some(true)),
            "{:?}",
            document.verdict
        );
    }
}

impl Costs {
    fn of_second(&self) -> Duration {
        (self.agent + self.coordinator) / self.seconds
    }
}

impl Agent {
    fn start(index: u32) -> Agent {
        let (tell, events) = channel();
        let collector = CollectorRehearsal::start(move |event| {
            let told = match event {
                Event::Interval { number, snapshot } => Told::Interval(number, snapshot.encode()),
                Event::Ended { totals, .. } => Told::Totals(totals.encode()),
                _ => return,
            };
            tell.send(told).expect("the bench waits for the end");
        });
        let mut recorder = Recorder::new(REQUESTS);
        for last in 1..=ADDRESSES {
            recorder.address(([10, 0, 0, last as u8], 443).into());
        }
        Agent {
            recorder,
            spare: None,
            collector,
            events,
            random: u64::from(index) + 1,
        }
    }

    /// Records a second. Returns its number and encoding once the collector has made them.
    fn second(&mut self, second: u32) -> (u32, Vec<u8>) {
        for nth in 0..OPERATIONS {
            let operation = self.operation(u64::from(second) * SECOND, nth);
            self.recorder.count_start(operation.key);
            self.recorder.end(&operation);
        }
        let interval = self
            .recorder
            .cut((u64::from(second) + 1) * SECOND, self.spare.take());
        self.spare = self.collector.hand_over(interval);
        match self
            .events
            .recv()
            .expect("the collector tells of every second")
        {
            Told::Interval(number, encoded) => (number, encoded),
            Told::Totals(_) => panic!("the run has not ended"),
        }
    }

    /// One of thirty operations was due up to ten seconds earlier; all end in this second.
    fn operation(&mut self, second_at: u64, nth: u64) -> Operation {
        let (request, address) = (
            nth % u64::from(REQUESTS),
            nth / u64::from(REQUESTS) % u64::from(ADDRESSES),
        );
        let begun_at = second_at + nth * (SECOND / 2 / OPERATIONS);
        let lateness = if self.next().is_multiple_of(30) {
            self.next() % (10 * SECOND)
        } else {
            self.next() % 50_000
        };
        let intended_at = begun_at.saturating_sub(lateness);
        let written_at = begun_at + 2_000 + self.next() % 3_000;
        let first_byte_at = written_at + 400_000 + self.next() % 30_000_000;
        Operation {
            key: CellId {
                period: Period::Measured,
                request: request as u16,
                address: 1 + address as u16,
            },
            intended_at,
            // For the rest of its lateness it waited for a connection.
            noticed_at: Some(begun_at.min(intended_at + 50_000)),
            begun_at,
            tried_at: begun_at,
            ready_at: None,
            sent_at: Some(begun_at),
            written_at: Some(written_at),
            first_byte_at: Some(first_byte_at),
            done_at: first_byte_at + self.next() % 40_000,
            dns: None,
            connect: None,
            handshake: None,
            end: OperationEnd::Ok,
            status: Some(200),
            payload_bytes: 356,
        }
    }

    /// Marsaglia's xorshift64.
    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

/// CPU time of this process: of the caller, and of the collector it waits for.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The resident set of this process (proc(5), VmRSS): all agents and the coordinator together.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has /proc");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .expect("proc(5) names VmRSS");
    line.trim()
        .trim_end_matches(" kB")
        .parse()
        .expect("proc(5) gives kB")
}
