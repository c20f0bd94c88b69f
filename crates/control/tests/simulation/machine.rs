//! A load machine: a session, clocks of its own, and a runner that fires whenever it may.

use control::{
    AgentFacts, AgentId, Boot, ConnectionId, EndCause, Mono, Now, Order, Report, RunId, Session,
    SessionAction, SessionEvent,
};
use proto::Bytes;

const STEP: u64 = 100_000_000;
const STEPS_PER_INTERVAL: u64 = 10;

pub struct Machine {
    pub session: Session,
    pub connection: Option<ConnectionId>,
    clock_offset: u64,
    plan_seconds: u64,
    runner: Runner,
    /// True time of the last step in which it fired.
    pub last_fired_at: u64,
    /// True time of each run's first instant.
    pub began_at: u64,
    /// Index in the run, and what it made there.
    pub index: u32,
    pub made: Vec<(u32, Vec<u8>)>,
    pub totals_bytes: usize,
}

enum Runner {
    Idle,
    Preparing {
        run: RunId,
        digest: control::Digest,
        ready_at: u64,
    },
    Prepared,
    Firing {
        run: RunId,
        at: Mono,
        lease_until: Boot,
        steps: u64,
        began: bool,
        stop: bool,
    },
}

impl Machine {
    pub fn new(number: usize, clock_offset: u64, plan_seconds: u64) -> Machine {
        let facts = AgentFacts {
            id: AgentId([number as u8; 16]),
            name: format!("machine-{number}"),
            version: "1".into(),
            labels: [].into(),
            workers: 1,
            host: Bytes::new(),
        };
        Machine {
            session: Session::new(facts, number as u64),
            connection: None,
            clock_offset,
            plan_seconds,
            runner: Runner::Idle,
            last_fired_at: 0,
            began_at: 0,
            index: 0,
            made: Vec::new(),
            totals_bytes: 0,
        }
    }

    pub fn clocks(&self, now: u64) -> Now {
        Now {
            mono: Mono(now + self.clock_offset),
            boot: Boot(now + 3 * self.clock_offset),
        }
    }

    /// True time of an instant of its clock.
    pub fn true_time(&self, at: Mono) -> u64 {
        at.0.saturating_sub(self.clock_offset)
    }

    pub fn order(&mut self, now: u64, order: Order) {
        match order {
            Order::Prepare(assignment) => {
                self.index = assignment.agent_index;
                let digest = control::Digest::from_content(assignment.plan.reveal().as_bytes());
                self.made.clear();
                self.runner = Runner::Preparing {
                    run: assignment.run,
                    digest,
                    ready_at: now + STEP,
                };
            }
            Order::Start {
                run,
                at,
                lease_until,
            } => {
                assert!(
                    matches!(self.runner, Runner::Prepared),
                    "start without preparation"
                );
                assert!(lease_until > self.clocks(now).boot, "start without a lease");
                self.runner = Runner::Firing {
                    run,
                    at,
                    lease_until,
                    steps: 0,
                    began: false,
                    stop: false,
                };
            }
            Order::ExtendLease { until, .. } => {
                if let Runner::Firing { lease_until, .. } = &mut self.runner {
                    assert!(until > *lease_until, "a lease was shortened");
                    *lease_until = until;
                }
            }
            Order::Stop { .. } => {
                if let Runner::Firing { stop, .. } = &mut self.runner {
                    *stop = true;
                }
            }
            Order::Forget { .. } => self.runner = Runner::Idle,
        }
    }

    /// When the runner does something next, in true time.
    pub fn runner_wakes_at(&self) -> Option<u64> {
        match &self.runner {
            Runner::Idle | Runner::Prepared => None,
            Runner::Preparing { ready_at, .. } => Some(*ready_at),
            Runner::Firing { at, steps, .. } => Some(self.true_time(*at) + steps * STEP),
        }
    }

    /// What the runner reports at this time.
    pub fn step(&mut self, now: u64) -> Vec<Report> {
        let boot = self.clocks(now).boot;
        match &mut self.runner {
            Runner::Preparing {
                run,
                digest,
                ready_at,
            } if *ready_at <= now => {
                let report = Report::Prepared {
                    run: *run,
                    plan_digest: *digest,
                    addresses: vec![],
                    workers: 1,
                };
                self.runner = Runner::Prepared;
                vec![report]
            }
            Runner::Firing {
                run,
                at,
                lease_until,
                steps,
                began,
                stop,
            } if at.0 - self.clock_offset + *steps * STEP <= now => {
                let (run, mut reports) = (*run, Vec::new());
                let expired = boot >= *lease_until;
                let over = *steps >= self.plan_seconds * STEPS_PER_INTERVAL;
                if !*began && !expired && !*stop {
                    *began = true;
                    self.began_at = now;
                    reports.push(Report::Began { run, at: *at });
                }
                if *steps > 0 && steps.is_multiple_of(STEPS_PER_INTERVAL) {
                    let interval = (*steps / STEPS_PER_INTERVAL - 1) as u32;
                    let content = vec![interval as u8; 1 + (interval as usize % 5 / 4) * 600_000];
                    self.made.push((interval, content.clone()));
                    reports.push(Report::Interval {
                        run,
                        interval,
                        encoded: content.into(),
                    });
                }
                let cause = match (over, *stop, expired) {
                    (true, ..) => Some(EndCause::Plan),
                    (_, true, _) => Some(EndCause::Stopped),
                    (.., true) => Some(EndCause::LeaseExpired),
                    _ => None,
                };
                match cause {
                    Some(cause) => {
                        let (totals, figures) = (vec![7; self.totals_bytes].into(), Bytes::new());
                        reports.push(Report::Ended {
                            run,
                            cause,
                            totals,
                            figures,
                        });
                        self.runner = Runner::Idle;
                    }
                    None => {
                        self.last_fired_at = now;
                        *steps += 1;
                    }
                }
                reports
            }
            _ => vec![],
        }
    }

    pub fn on(&mut self, now: u64, event: SessionEvent) -> Vec<SessionAction> {
        let clocks = self.clocks(now);
        self.session.on(clocks, event)
    }
}
