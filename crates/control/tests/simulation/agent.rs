//! A load machine: its clocks, and a process on it, with a session and a runner that fires whenever
//! it may.

use crate::case::SECOND;
use crate::clock::MachineClock;
use control::{
    AgentFacts, AgentId, Boot, ConnectionId, Digest, EndCause, Mono, Now, Order, Report, Role,
    RunId, Session, SharePath,
};
use proto::Bytes;
use std::collections::{BTreeMap, VecDeque};

/// The plan has one arrival of every share per step.
pub const STEP: u64 = 250_000_000;
pub const STEPS_PER_INTERVAL: u32 = 4;

/// How long a monitor's CPU profile takes.
const PROFILE: u64 = 2 * SECOND;

/// A machine, which outlives its agent.
#[derive(Debug)]
pub struct Host {
    pub clock: MachineClock,
    pub frozen_until: u64,
    pub agent: Option<Agent>,
    /// Counts the agents that have run here.
    pub incarnation: u32,
    /// When it is woken up next.
    pub wakes_at: u64,
}

/// An agent's process.
#[derive(Debug)]
pub struct Agent {
    pub id: AgentId,
    role: Role,
    pub session: Session,
    pub stream: Option<ConnectionId>,
    pub runner: Runner,
    /// Whether it was told to quit.
    pub quits: bool,
    /// Reports for which the session had no room yet.
    pub reports: VecDeque<Report>,
    /// The token of each run, by the coordinator's epoch and its count of tokens.
    tokens: BTreeMap<RunId, (u64, u64)>,
    shape: LoadShape,
}

/// What a plan asks for from each agent.
#[derive(Debug, Clone, Copy)]
pub struct LoadShape {
    pub steps: u32,
    /// Size of most encoded intervals.
    pub interval_bytes: usize,
    /// Size of every fifth one.
    pub large_bytes: usize,
    pub totals_bytes: usize,
    /// Time from the plan to the answer.
    pub preparing_ns: u64,
    /// Whether it has users, who can begin late.
    pub is_closed: bool,
}

/// The runner.
#[derive(Debug)]
pub enum Runner {
    Idle,
    Preparing {
        run: RunId,
        index: u32,
        digest: Digest,
        ready_at: Mono,
    },
    Prepared {
        run: RunId,
        index: u32,
    },
    Firing(Firing),
    Watching(Watching),
}

/// A monitor's watch, with a CPU profile of its first seconds.
#[derive(Debug)]
pub struct Watching {
    by: AgentId,
    run: RunId,
    at: Mono,
    second: u32,
    /// Until when the profile is taken.
    profiles_until: Option<Mono>,
}

#[derive(Debug)]
pub struct Firing {
    pub run: RunId,
    index: u32,
    at: Mono,
    lease_until: Boot,
    steps: u32,
    began: bool,
    stop: bool,
    /// Parts of other shares, and the step from which each is fired.
    taken_over: Vec<(SharePath, u32)>,
}

/// Something that was fired: the step, and the parts of the plan.
#[derive(Debug)]
pub struct Shot {
    pub run: RunId,
    pub begins_at: Mono,
    pub step: u32,
    pub shares: Vec<SharePath>,
}

/// What a runner did in some time.
#[derive(Debug, Default)]
pub struct Stepped {
    pub shots: Vec<Shot>,
    pub reports: Vec<Report>,
}

/// Id of the process that is number `incarnation` on its machine.
pub fn agent_id(slot: usize, incarnation: u32) -> AgentId {
    let mut id = [slot as u8; 16];
    id[..4].copy_from_slice(&incarnation.to_be_bytes());
    AgentId(id)
}

impl Host {
    pub fn new(clock: MachineClock) -> Host {
        Host {
            clock,
            frozen_until: 0,
            agent: None,
            incarnation: 0,
            wakes_at: 0,
        }
    }

    pub fn boot_agent(&mut self, slot: usize, role: Role, shape: LoadShape) -> AgentId {
        self.incarnation += 1;
        let id = agent_id(slot, self.incarnation);
        let facts = AgentFacts {
            version: "1".into(),
            role,
            ..AgentFacts::new(id, &format!("machine-{slot}"))
        };
        let seed = (slot as u64) << 32 | u64::from(self.incarnation);
        self.agent = Some(Agent {
            id,
            role,
            session: Session::new(facts, seed),
            stream: None,
            runner: Runner::Idle,
            quits: false,
            reports: VecDeque::new(),
            tokens: BTreeMap::new(),
            shape,
        });
        id
    }
}

impl Agent {
    /// When the runner has something to do next.
    pub fn runner_wakes_at(&self) -> Option<Mono> {
        match &self.runner {
            Runner::Idle | Runner::Prepared { .. } => None,
            Runner::Preparing { ready_at, .. } => Some(*ready_at),
            Runner::Firing(firing) => Some(firing.next_at()),
            Runner::Watching(watching) => Some(watching.next_at()),
        }
    }

    pub fn order(&mut self, now: Now, order: Order) -> Result<(), &'static str> {
        match order {
            Order::Prepare(assignment) => {
                self.finish_preparing();
                self.runner = Runner::Preparing {
                    run: assignment.run,
                    index: assignment.agent_index,
                    digest: Digest::from_content(assignment.plan.reveal().as_bytes()),
                    ready_at: Mono(now.mono.0 + self.shape.preparing_ns),
                };
            }
            Order::Start {
                run,
                at,
                lease_until,
            } => {
                let index = match self.runner {
                    Runner::Prepared { run: here, index } if here == run => index,
                    _ => return Err("a start without preparation"),
                };
                if !self.tokens.contains_key(&run) {
                    return Err("a start without a token");
                }
                if lease_until <= now.boot {
                    return Err("a start without a lease");
                }
                self.runner = Runner::Firing(Firing {
                    run,
                    index,
                    at,
                    lease_until,
                    steps: 0,
                    began: false,
                    stop: false,
                    taken_over: Vec::new(),
                });
            }
            Order::ExtendLease { run, until } => {
                if let Some(firing) = self.firing(run) {
                    if until <= firing.lease_until {
                        return Err("a lease was shortened");
                    }
                    firing.lease_until = until;
                }
            }
            Order::Observe { .. } if self.role == Role::Agent => {
                return Err("an agent was asked to watch only");
            }
            Order::Observe { run, at, .. } => {
                // A profile that is still being taken ends before the next one begins.
                self.finish_profile();
                self.reports.push_back(Report::Profiling { run });
                let passed = now.mono.0.saturating_sub(at.0);
                self.runner = Runner::Watching(Watching {
                    by: self.id,
                    run,
                    at,
                    second: passed.div_ceil(SECOND) as u32,
                    profiles_until: Some(Mono(now.mono.0.max(at.0) + PROFILE)),
                });
            }
            Order::Stop { run, .. } => {
                if let Some(firing) = self.firing(run) {
                    firing.stop = true;
                }
            }
            Order::TakeOver {
                run,
                number,
                share,
                from,
            } => {
                let is_closed = self.shape.is_closed;
                let answer = match self.firing(run) {
                    Some(firing) => firing.take_over(share, from, is_closed),
                    None => Err("it does not fire any more".into()),
                };
                self.reports.push_back(Report::TookOver {
                    run,
                    number,
                    answer,
                });
            }
            Order::Token { run, text, .. } => {
                let token = read_token(text.reveal());
                let before = self.tokens.insert(run, token);
                if before.is_some_and(|before| before > token) {
                    return Err("an older token in the place of a newer one");
                }
            }
            Order::Forget { run } => {
                if self.run() == Some(run) {
                    self.finish_profile();
                    self.finish_preparing();
                    self.runner = Runner::Idle;
                }
            }
        }
        Ok(())
    }

    fn run(&self) -> Option<RunId> {
        match &self.runner {
            Runner::Idle => None,
            Runner::Preparing { run, .. } | Runner::Prepared { run, .. } => Some(*run),
            Runner::Firing(firing) => Some(firing.run),
            Runner::Watching(watching) => Some(watching.run),
        }
    }

    /// A preparation is answered even if the next order comes before it is finished.
    fn finish_preparing(&mut self) {
        if let &Runner::Preparing { run, digest, .. } = &self.runner {
            self.reports.push_back(prepared(run, digest));
        }
    }

    fn finish_profile(&mut self) {
        if let Runner::Watching(watching) = &mut self.runner {
            self.reports.extend(watching.finish_profile());
        }
    }

    fn firing(&mut self, run: RunId) -> Option<&mut Firing> {
        match &mut self.runner {
            Runner::Firing(firing) if firing.run == run => Some(firing),
            _ => None,
        }
    }

    /// Does what the runner has to do by now. A `reckless` one ignores its lease and stops.
    pub fn step(&mut self, now: Now, reckless: bool) -> Stepped {
        let mut out = Stepped::default();
        match &mut self.runner {
            &mut Runner::Preparing {
                run,
                index,
                digest,
                ready_at,
            } if ready_at <= now.mono => {
                out.reports.push(prepared(run, digest));
                self.runner = Runner::Prepared { run, index };
            }
            Runner::Firing(firing) => {
                let is_over = firing.step(now, self.shape, reckless, &mut out);
                if is_over {
                    self.runner = Runner::Idle;
                }
            }
            Runner::Watching(watching) => watching.step(now, &mut out),
            _ => {}
        }
        out
    }
}

fn prepared(run: RunId, plan_digest: Digest) -> Report {
    Report::Prepared {
        run,
        plan_digest,
        addresses: vec![],
        workers: 1,
        findings: Vec::new(),
    }
}

/// The text of a coordinator's token number `number`.
pub fn token_text(epoch: u64, number: u64) -> String {
    format!("{epoch} {number}")
}

fn read_token(text: &str) -> (u64, u64) {
    let (epoch, number) = text.split_once(' ').expect("a text of this file");
    let read = |digits: &str| digits.parse().expect("a number of this file");
    (read(epoch), read(number))
}

impl Watching {
    fn next_at(&self) -> Mono {
        Mono(self.at.0 + u64::from(self.second + 1) * SECOND)
    }

    fn step(&mut self, now: Now, out: &mut Stepped) {
        while self.next_at() <= now.mono {
            out.reports
                .push(observation(self.run, &self.by.0, self.second));
            self.second += 1;
        }
        if self.profiles_until.is_some_and(|until| until <= now.mono) {
            out.reports.extend(self.finish_profile());
        }
    }

    fn finish_profile(&mut self) -> Option<Report> {
        self.profiles_until.take()?;
        let (run, encoded) = (self.run, profile(self.run).into());
        Some(Report::Profiled { run, encoded })
    }
}

/// Every CPU profile of a run, which has three parts.
pub fn profile(run: RunId) -> Vec<u8> {
    let byte = |place: u32| run.0[0] ^ (place >> 8) as u8;
    (0..70_000).map(byte).collect()
}

/// What a machine did in a second of a run, as this process observed it.
fn observation(run: RunId, by: &[u8], second: u32) -> Report {
    let encoded = Bytes::from([by, &second.to_be_bytes()].concat());
    Report::Observed {
        run,
        second,
        encoded,
    }
}

impl Firing {
    fn next_at(&self) -> Mono {
        Mono(self.at.0 + u64::from(self.steps) * STEP)
    }

    fn take_over(&mut self, share: SharePath, from: Mono, is_closed: bool) -> Result<Mono, String> {
        let from_step = from.0.saturating_sub(self.at.0).div_ceil(STEP) as u32;
        // Like an engine that hears of it too late: users begin when they can.
        if from_step < self.steps && !is_closed {
            return Err("the instant to begin at is over".into());
        }
        self.taken_over.push((share, from_step.max(self.steps)));
        match from_step < self.steps {
            true => Ok(self.next_at()),
            false => Ok(from),
        }
    }

    /// Fires everything that is due. Returns whether the run is over here.
    fn step(&mut self, now: Now, shape: LoadShape, reckless: bool, out: &mut Stepped) -> bool {
        while self.next_at() <= now.mono {
            let expired = now.boot >= self.lease_until && !reckless;
            let cause = match (self.steps >= shape.steps, self.stop && !reckless, expired) {
                (true, ..) => Some(EndCause::Plan),
                (_, true, _) => Some(EndCause::Stopped),
                (.., true) => Some(EndCause::LeaseExpired),
                _ => None,
            };
            if let Some(cause) = cause {
                self.end(cause, shape, out);
                return true;
            }
            self.fire(out);
            if self.steps.is_multiple_of(STEPS_PER_INTERVAL) {
                out.reports.push(self.interval(shape));
                let second = (self.steps - 1) / STEPS_PER_INTERVAL;
                out.reports
                    .push(observation(self.run, &self.index.to_be_bytes(), second));
            }
        }
        false
    }

    fn fire(&mut self, out: &mut Stepped) {
        if !self.began {
            self.began = true;
            let (run, at) = (self.run, self.at);
            out.reports.push(Report::Began { run, at });
        }
        let own = SharePath {
            agent_index: self.index,
            parts: vec![],
        };
        let step = self.steps;
        let taken_over = self.taken_over.iter();
        let due = taken_over.filter(|(_, from)| *from <= step);
        let shares = std::iter::once(own).chain(due.map(|(share, _)| share.clone()));
        out.shots.push(Shot {
            run: self.run,
            begins_at: self.at,
            step,
            shares: shares.collect(),
        });
        self.steps += 1;
    }

    /// The interval to which the last step belongs.
    fn interval(&self, shape: LoadShape) -> Report {
        let interval = (self.steps - 1) / STEPS_PER_INTERVAL;
        let size = match interval % 5 {
            4 => shape.large_bytes,
            _ => shape.interval_bytes,
        };
        let mut encoded = vec![interval as u8; size.max(8)];
        encoded[..4].copy_from_slice(&self.index.to_be_bytes());
        encoded[4..8].copy_from_slice(&self.steps.to_be_bytes());
        Report::Interval {
            run: self.run,
            interval,
            encoded: encoded.into(),
        }
    }

    fn end(&mut self, cause: EndCause, shape: LoadShape, out: &mut Stepped) {
        if !self.steps.is_multiple_of(STEPS_PER_INTERVAL) {
            out.reports.push(self.interval(shape));
        }
        out.reports.push(Report::Ended {
            run: self.run,
            cause,
            totals: vec![7; shape.totals_bytes].into(),
            figures: Bytes::new(),
        });
    }
}
