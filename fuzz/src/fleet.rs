//! A coordinator's fleet that receives any message from any stream at any time.

use crate::script::Script;
use control::{
    AgentId, ConnectionId, CoordinatorId, Digest, Fleet, FleetAction, FleetEvent, FleetRules,
    FleetTime, LostPolicy, Receipt, RunEvent, RunId, RunRequest, Stop, Versions,
};
use proto::{FromAgent, Message};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Runs that go on at the same time.
const RUNS_MAX: usize = 2;

/// Streams open at the same time.
const SLOTS: u8 = 8;

/// Steps of one script.
const STEPS_MAX: usize = 2_000;

/// Actions that one event may cause: a few for each stream, each agent of the run, and each
/// interval that the event releases.
const ACTIONS_MAX: usize = 32 * SLOTS as usize;

/// Steps: a stream opens, sends something, ends; a run begins, is stopped; an event is taken; time
/// passes.
pub fn fleet(data: &[u8]) {
    let mut script = Script::new(data);
    let mut world = FleetWorld::new();
    for _ in 0..STEPS_MAX {
        if script.is_over() {
            return;
        }
        world.step(&mut script);
    }
}

/// A fleet and its invariants.
struct FleetWorld {
    fleet: Fleet,
    now: FleetTime,
    slots: [Option<ConnectionId>; SLOTS as usize],
    streams: u64,
    /// Streams that the fleet has neither closed nor lost.
    open: BTreeSet<ConnectionId>,
    receipts: VecDeque<Receipt>,
    runs: u8,
    courses: BTreeMap<RunId, Course>,
}

/// What a run has reported.
#[derive(Default)]
struct Course {
    agents: BTreeSet<AgentId>,
    intervals: BTreeSet<(u32, u32)>,
    totals: BTreeSet<u32>,
    over: BTreeMap<u32, &'static str>,
    is_done: bool,
}

fn versions() -> Versions {
    Versions {
        program: "1".to_owned(),
        encoding: 0,
        language: 0,
    }
}

impl FleetWorld {
    fn new() -> FleetWorld {
        FleetWorld {
            fleet: Fleet::new(CoordinatorId([9; 16]), versions()),
            now: FleetTime(1_000_000_000),
            slots: [None; SLOTS as usize],
            streams: 0,
            open: BTreeSet::new(),
            receipts: VecDeque::new(),
            runs: 0,
            courses: BTreeMap::new(),
        }
    }

    fn step(&mut self, script: &mut Script<'_>) {
        let step = script.byte();
        let slot = usize::from(step >> 4) % self.slots.len();
        match step & 0xf {
            0 => self.opened(slot),
            1 => self.closed(slot),
            2 => self.run(script),
            3 => self.stop(script.byte()),
            4 => {
                // The recipient of events may be slow, and takes them in order.
                if let Some(receipt) = self.receipts.pop_front() {
                    self.on(FleetEvent::Delivered(receipt));
                }
            }
            5 => {
                self.now = self.now.after(script.duration());
                self.on(FleetEvent::Tick);
            }
            _ => self.said(slot, script.bytes()),
        }
    }

    fn opened(&mut self, slot: usize) {
        self.closed(slot);
        let at = ConnectionId(self.streams);
        self.streams += 1;
        self.slots[slot] = Some(at);
        self.open.insert(at);
        self.on(FleetEvent::Opened(at));
    }

    fn closed(&mut self, slot: usize) {
        if let Some(at) = self.slots[slot].take() {
            self.open.remove(&at);
            self.on(FleetEvent::Closed(at, "cut".into()));
        }
    }

    /// A message from a stream, possibly sent before the fleet closed it.
    fn said(&mut self, slot: usize, message: &[u8]) {
        let (Some(at), Ok(message)) = (self.slots[slot], FromAgent::decode(message)) else {
            return;
        };
        self.on(FleetEvent::Received(at, message));
    }

    fn run(&mut self, script: &mut Script<'_>) {
        let (agents, rules, firing) = (script.byte(), script.byte(), script.duration());
        self.courses.retain(|_, course| !course.is_done);
        if self.courses.len() >= RUNS_MAX {
            return;
        }
        self.runs = self.runs.wrapping_add(1);
        let request = request(self.runs, agents, rules, firing);
        self.courses.insert(request.run, Course::default());
        self.on(FleetEvent::Run(request));
    }

    fn stop(&mut self, choice: u8) {
        let nth = usize::from(choice >> 1) % RUNS_MAX;
        if let Some(run) = self.courses.keys().nth(nth).copied() {
            self.on(FleetEvent::Stop(run, how(choice)));
        }
    }

    fn on(&mut self, event: FleetEvent) {
        let said = format!("{event:?}");
        let actions = self.fleet.on(self.now, event);
        let intervals = self.courses.values().map(|course| course.intervals.len());
        let intervals: usize = intervals.sum();
        assert!(
            actions.len() <= ACTIONS_MAX + intervals,
            "{} actions after {said}",
            actions.len()
        );
        actions
            .into_iter()
            .for_each(|action| self.act(action, &said));
        for (run, course) in &self.courses {
            assert!(
                self.fleet.serves(*run) != course.is_done,
                "{run:?} is served: {}, after {said}",
                !course.is_done
            );
        }
    }

    fn act(&mut self, action: FleetAction, after: &str) {
        match action {
            FleetAction::Send(to, _) | FleetAction::SendFiles(to, _) => {
                assert!(self.open.contains(&to), "{to:?} is closed, after {after}");
            }
            FleetAction::Close(at) => drop(self.open.remove(&at)),
            FleetAction::Deliver(run, event, receipt) => {
                self.receipts.extend(receipt);
                if let RunEvent::Assembled { agents } = &event {
                    self.assembled(run, agents.iter().map(|agent| agent.id).collect(), after);
                }
                let course = self.courses.get_mut(&run).expect("an event of a known run");
                course.goes_on(&event, after);
            }
        }
    }
}

impl FleetWorld {
    fn assembled(&mut self, run: RunId, agents: BTreeSet<AgentId>, after: &str) {
        let others = self.courses.values().filter(|course| !course.is_done);
        for other in others {
            let shared = other.agents.intersection(&agents).next();
            assert!(
                shared.is_none(),
                "{shared:?} serves two runs, after {after}"
            );
        }
        if let Some(course) = self.courses.get_mut(&run) {
            course.agents = agents;
        }
    }
}

impl Course {
    fn goes_on(&mut self, event: &RunEvent, after: &str) {
        assert!(!self.is_done, "{event:?} after the end, after {after}");
        match event {
            RunEvent::Interval {
                agent, interval, ..
            } => {
                let is_new = self.intervals.insert((*agent, *interval));
                assert!(is_new, "{interval} of {agent} counts twice, after {after}");
            }
            RunEvent::Totals { agent, .. } => {
                assert!(self.totals.insert(*agent), "totals of {agent} come twice");
            }
            RunEvent::Ended { agent, .. } => self.ended(*agent, "ended", after),
            RunEvent::Lost { agent, .. } => self.ended(*agent, "lost", after),
            RunEvent::Done { .. } => self.is_done = true,
            _ => {}
        }
    }

    fn ended(&mut self, agent: u32, how: &'static str, after: &str) {
        let before = self.over.insert(agent, how);
        assert!(
            before.is_none(),
            "{agent} {before:?}, then {how}, after {after}"
        );
    }
}

fn how(byte: u8) -> Stop {
    if byte & 1 == 0 {
        Stop::Drain
    } else {
        Stop::Now
    }
}

fn request(run: u8, agents: u8, rules: u8, firing: Duration) -> RunRequest {
    let lost = [
        LostPolicy::Fail,
        LostPolicy::Continue,
        LostPolicy::Redistribute,
    ];
    RunRequest {
        run: RunId([run; 16]),
        name: "run".into(),
        plan: "plan".to_owned().into(),
        plan_digest: Digest([1; 32]),
        files: vec![],
        unsent_bytes: 0,
        minted: Vec::new(),
        agents: u32::from(agents % SLOTS).max(1),
        firing: (rules & 0x40 == 0).then_some(firing),
        drain: Duration::from_secs(5),
        epoch: 1,
        force: false,
        tokens: Vec::new(),
        rules: FleetRules {
            lost: lost[usize::from(rules & 3) % lost.len()],
            tolerate: u32::from(rules >> 2 & 3),
            join_timeout: (rules & 0x10 != 0).then_some(Duration::from_secs(30)),
            max_skew: if rules & 0x20 == 0 {
                Duration::MAX
            } else {
                Duration::from_millis(50)
            },
            ..FleetRules::default()
        },
    }
}
