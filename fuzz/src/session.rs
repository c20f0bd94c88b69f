//! An agent's session that receives anything from its coordinator and its runner, at any time.

use crate::script::Script;
use control::{
    AgentFacts, AgentId, Boot, Digest, Disconnection, EndCause, Finality, INTERVAL_PART_BYTES,
    Mono, Now, Order, Report, RunId, Session, SessionAction, SessionEvent,
};
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{Bytes, FromCoordinator, Grant, Message};
use std::time::Duration;

/// Steps of one script.
const STEPS_MAX: usize = 2_000;

/// Actions that one event may cause.
const ACTIONS_MAX: usize = 32;

/// Parts sent at once.
const PARTS_MAX: usize = 64;

/// Steps: the stream opens, brings a message, ends; the runner reports; time passes.
pub fn session(data: &[u8]) {
    let mut script = Script::new(data);
    let mut world = SessionWorld::new();
    for _ in 0..STEPS_MAX {
        if script.is_over() || world.stream == AgentStream::Quit {
            return;
        }
        world.step(&mut script);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AgentStream {
    None,
    Dialling,
    Open,
    Quit,
}

/// A session and its invariants.
struct SessionWorld {
    session: Session,
    mono_ns: u64,
    /// Time the machine has slept, during which only the boot-time clock advances.
    slept_ns: u64,
    stream: AgentStream,
    /// The latest heartbeat of this stream.
    beat: Option<u64>,
    /// The run that the runner holds.
    prepared: Option<RunId>,
    /// How long it may fire, once started.
    lease: Option<Boot>,
    interval: u32,
}

impl SessionWorld {
    fn new() -> SessionWorld {
        let facts = AgentFacts {
            version: "1".into(),
            workers: 2,
            ..AgentFacts::new(AgentId([1; 16]), "machine")
        };
        SessionWorld {
            session: Session::new(facts, 5),
            mono_ns: 1_000_000_000,
            slept_ns: 0,
            stream: AgentStream::None,
            beat: None,
            prepared: None,
            lease: None,
            interval: 0,
        }
    }

    fn step(&mut self, script: &mut Script<'_>) {
        match script.byte() & 0xf {
            0 => self.on(SessionEvent::Tick),
            1 => {
                self.pass(script.duration());
                self.on(SessionEvent::Tick);
            }
            2 => {
                let slept = script.duration().as_nanos() as u64;
                self.slept_ns = self.slept_ns.saturating_add(slept);
                self.on(SessionEvent::Tick);
            }
            3 if self.stream == AgentStream::Dialling => {
                self.stream = AgentStream::Open;
                self.on(SessionEvent::Connected);
            }
            4 => self.cut(script.byte()),
            5 => self.granted(script),
            6 => self.report(script),
            7 => self.send_parts(),
            8 => self.on(SessionEvent::ShutDown),
            9 => self.until_woken(),
            _ => self.hear(script.bytes()),
        }
    }

    fn pass(&mut self, time: Duration) {
        self.mono_ns = self.mono_ns.saturating_add(time.as_nanos() as u64);
    }

    /// Waits as the driver does.
    fn until_woken(&mut self) {
        let wake = self.session.wake_at(self.now());
        self.mono_ns = self.mono_ns.max(wake.0);
        self.on(SessionEvent::Tick);
    }

    fn cut(&mut self, how: u8) {
        let finality = match how % 4 {
            0 => Finality::Retry,
            1 => Finality::Final,
            2 => Finality::Ended,
            _ => Finality::Nobody,
        };
        if matches!(self.stream, AgentStream::Dialling | AgentStream::Open) {
            self.stream = AgentStream::None;
            let why = "cut".into();
            let disconnection = Disconnection { why, finality };
            self.on(SessionEvent::Disconnected(disconnection));
        }
    }

    fn hear(&mut self, message: &[u8]) {
        if let (AgentStream::Open, Ok(message)) = (self.stream, FromCoordinator::decode(message)) {
            self.on(SessionEvent::Received(message));
        }
    }

    /// A coordinator's answer to the latest heartbeat, which no mutation would find by itself.
    fn granted(&mut self, script: &mut Script<'_>) {
        self.pass(script.duration());
        let lease_ns = script.duration().as_nanos() as u64;
        let (AgentStream::Open, Some(sequence)) = (self.stream, self.beat) else {
            return;
        };
        let run_id = self.prepared.map(RunId::to_wire).unwrap_or_default();
        let grant = Grant {
            sequence,
            coordinator_at_ns: self.mono_ns,
            lease_ns,
            run_id,
        };
        self.on(SessionEvent::Received(FromCoordinator {
            message: Some(Down::Grant(grant)),
        }));
    }

    /// A runner's reports, in an order that no runner would choose.
    fn report(&mut self, script: &mut Script<'_>) {
        let what = script.byte();
        let run = self.prepared.unwrap_or(RunId([what; 16]));
        if !self.session.takes_reports(self.now()) {
            return;
        }
        let report = match what & 7 {
            0 | 1 => Report::Prepared {
                run,
                plan_digest: Digest([0; 32]),
                addresses: vec!["192.0.2.1".into(); usize::from(what >> 3)],
                workers: 1,
                findings: Vec::new(),
            },
            2 => Report::NotPrepared {
                run,
                problem: "no".into(),
            },
            3 => Report::Began {
                run,
                at: Mono(self.mono_ns),
            },
            4 | 5 => {
                let interval = self.interval;
                self.interval += 1;
                let encoded = Bytes::copy_from_slice(script.bytes());
                Report::Interval {
                    run,
                    interval,
                    encoded,
                }
            }
            6 => Report::Ended {
                run,
                cause: EndCause::Plan,
                totals: Bytes::copy_from_slice(script.bytes()),
                figures: Bytes::new(),
            },
            _ => Report::Note {
                run: Some(run),
                event: "note".into(),
                text: String::from_utf8_lossy(script.bytes()).into_owned(),
            },
        };
        self.on(SessionEvent::Reported(report));
    }

    fn send_parts(&mut self) {
        for _ in 0..PARTS_MAX {
            let Some(part) = self.session.next_part() else {
                return;
            };
            assert_eq!(self.stream, AgentStream::Open, "nobody takes a part");
            assert!(part.content.len() <= INTERVAL_PART_BYTES && part.part < part.parts);
        }
    }

    fn now(&self) -> Now {
        Now {
            mono: Mono(self.mono_ns),
            boot: Boot(self.mono_ns.saturating_add(self.slept_ns)),
        }
    }

    fn on(&mut self, event: SessionEvent) {
        let now = self.now();
        let said = format!("{event:?}");
        let actions = self.session.on(now, event);
        assert!(
            actions.len() <= ACTIONS_MAX,
            "{} after {said}",
            actions.len()
        );
        actions
            .into_iter()
            .for_each(|action| self.act(action, &said));
        let _ = self.session.wake_at(now);
    }

    fn act(&mut self, action: SessionAction, after: &str) {
        match action {
            // The driver has gone.
            _ if self.stream == AgentStream::Quit => {}
            SessionAction::Connect => {
                assert_eq!(self.stream, AgentStream::None, "dials twice, after {after}");
                self.stream = AgentStream::Dialling;
            }
            SessionAction::Send(message) => {
                assert_eq!(self.stream, AgentStream::Open, "{message:?} after {after}");
                if let Some(Up::Beat(beat)) = message.message {
                    self.beat = Some(beat.sequence);
                }
            }
            SessionAction::Disconnect => {
                self.stream = AgentStream::None;
                self.beat = None;
            }
            SessionAction::Order(order) => self.obey(order, after),
            SessionAction::Say(_) => {}
            SessionAction::Quit(_) => self.stream = AgentStream::Quit,
        }
    }

    /// Without a lease nothing fires, and an expired lease does not return.
    fn obey(&mut self, order: Order, after: &str) {
        let boot = self.now().boot;
        match order {
            Order::Prepare(assignment) => {
                self.prepared = Some(assignment.run);
                self.lease = None;
                self.interval = 0;
            }
            Order::Start {
                run, lease_until, ..
            } => {
                assert_eq!(
                    self.prepared,
                    Some(run),
                    "starts another run, after {after}"
                );
                assert_eq!(self.lease, None, "starts twice, after {after}");
                assert!(lease_until > boot, "starts without a lease, after {after}");
                self.lease = Some(lease_until);
            }
            Order::ExtendLease { run, until } => {
                assert_eq!(self.prepared, Some(run), "of another run, after {after}");
                let Some(before) = self.lease else {
                    panic!("extends what was not started, after {after}");
                };
                assert!(until >= before, "shortens the lease, after {after}");
                assert!(before >= boot, "takes an old lease up, after {after}");
                self.lease = Some(until);
            }
            Order::Forget { run } if self.prepared == Some(run) => self.prepared = None,
            _ => {}
        }
    }
}
