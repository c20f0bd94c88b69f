//! A coordinator with a fleet, what agents say to it, and what it does.

use control::{
    ConnectionId, CoordinatorId, Digest, Fleet, FleetAction, FleetEvent, FleetRules, FleetTime,
    LostPolicy, Receipt, RunEvent, RunId, RunModel, RunRequest, Versions,
};
use proto::ack::Stored;
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{
    Ack, Armed, Beat, Began, Bytes, Clock, Ended, FromAgent, HeldRun, Hello, IntervalPart,
    Observed, PROTOCOL, Prepared,
};
use std::time::Duration;

pub const SECOND: u64 = 1_000_000_000;
pub const RUN: RunId = RunId([3; 16]);

pub struct Coordinator {
    pub fleet: Fleet,
    pub now_ns: u64,
}

impl Coordinator {
    pub fn new() -> Coordinator {
        Coordinator {
            fleet: Fleet::new(CoordinatorId([9; 16]), versions()),
            now_ns: SECOND,
        }
    }

    /// A coordinator with agents 0 to n − 1, on connections of the same numbers.
    pub fn with_agents(agents: u8) -> Coordinator {
        let mut coordinator = Coordinator::new();
        for agent in 0..agents {
            coordinator.join(u64::from(agent), hello(agent));
        }
        coordinator
    }

    /// A coordinator with a run that has begun on all agents.
    pub fn going(agents: u8) -> Coordinator {
        let mut coordinator = Coordinator::with_agents(agents);
        coordinator.on(FleetEvent::Run(request(agents.into())));
        coordinator.start(agents);
        coordinator.begin(agents);
        coordinator
    }

    /// Makes all agents ready, and tells them of the start.
    pub fn start(&mut self, agents: u8) -> Vec<FleetAction> {
        let mut actions = Vec::new();
        for agent in 0..agents {
            actions.extend(self.say(agent.into(), Up::Prepared(prepared(500))));
        }
        for agent in 0..agents {
            actions.extend(self.say(agent.into(), armed(1)));
        }
        actions
    }

    /// Gives all agents their lease, and lets them begin.
    pub fn begin(&mut self, agents: u8) -> Vec<FleetAction> {
        let mut actions = Vec::new();
        for agent in 0..agents {
            actions.extend(self.say(agent.into(), Up::Beat(Beat::default())));
        }
        for agent in 0..agents {
            actions.extend(self.say(agent.into(), began(self.now_ns)));
        }
        actions
    }

    pub fn join(&mut self, at: u64, hello: Hello) -> Vec<FleetAction> {
        self.on(FleetEvent::Opened(ConnectionId(at)));
        self.say(at, Up::Hello(hello))
    }

    /// Handles an event, with a disk that stores start instants at once.
    pub fn on(&mut self, event: FleetEvent) -> Vec<FleetAction> {
        let mut actions = self.on_slow_disk(event);
        let named: Vec<Receipt> = actions.iter().filter_map(start_receipt).collect();
        for receipt in named {
            actions.extend(self.on_slow_disk(FleetEvent::Delivered(receipt)));
        }
        actions
    }

    pub fn on_slow_disk(&mut self, event: FleetEvent) -> Vec<FleetAction> {
        self.fleet.on(FleetTime(self.now_ns), event)
    }

    pub fn say(&mut self, at: u64, message: Up) -> Vec<FleetAction> {
        self.on(FleetEvent::Received(
            ConnectionId(at),
            FromAgent {
                message: Some(message),
            },
        ))
    }

    pub fn cut(&mut self, at: u64) -> Vec<FleetAction> {
        self.on(FleetEvent::Closed(ConnectionId(at), "cut".into()))
    }

    /// Lets `seconds` seconds pass, with one beat per second on the connections `beating`.
    pub fn pass(&mut self, seconds: u64, beating: &[u64]) -> Vec<FleetAction> {
        let mut actions = Vec::new();
        for _ in 0..seconds {
            self.now_ns += SECOND;
            for at in beating {
                actions.extend(self.say(*at, Up::Beat(Beat::default())));
            }
            actions.extend(self.on(FleetEvent::Tick));
        }
        actions
    }

    pub fn end(&mut self, at: u64) -> Vec<FleetAction> {
        let cause = proto::EndCause::Plan.into();
        self.say(
            at,
            Up::Ended(Ended {
                run_id: RUN.to_wire(),
                cause,
                ..Ended::default()
            }),
        )
    }
}

pub fn start_receipt(action: &FleetAction) -> Option<Receipt> {
    match action {
        FleetAction::Deliver(_, RunEvent::Armed { .. }, receipt) => *receipt,
        _ => None,
    }
}

pub fn versions() -> Versions {
    Versions {
        program: "1".into(),
        encoding: 2,
        language: 4,
    }
}

pub fn armed(attempt: u32) -> Up {
    Up::Armed(Armed {
        run_id: RUN.to_wire(),
        attempt,
    })
}

pub fn began(began_at_ns: u64) -> Up {
    Up::Began(Began {
        run_id: RUN.to_wire(),
        began_at_ns,
        bound_ns: 10,
    })
}

pub fn hello(agent: u8) -> Hello {
    Hello {
        protocol: PROTOCOL,
        version: "1".into(),
        agent_id: Bytes::copy_from_slice(&[agent; 16]),
        name: format!("agent-{agent}"),
        snapshot_encoding: 2,
        plan_language: 4,
        ..Hello::default()
    }
}

pub fn request(agents: u32) -> RunRequest {
    RunRequest {
        run: RUN,
        name: "run".into(),
        plan: "plan".to_owned().into(),
        plan_digest: Digest([1; 32]),
        files: vec![],
        unsent_bytes: 0,
        minted: Vec::new(),
        agents,
        firing: Some(Duration::from_secs(60)),
        drain: Duration::from_secs(5),
        epoch: 1,
        rules: FleetRules::default(),
        force: false,
        tokens: Vec::new(),
    }
}

pub fn held() -> Vec<HeldRun> {
    vec![HeldRun {
        run_id: RUN.to_wire(),
        epoch: 1,
    }]
}

pub fn prepared(bound_ns: u64) -> Prepared {
    let clock = Some(Clock {
        offset_ns: 0,
        bound_ns,
    });
    Prepared {
        run_id: RUN.to_wire(),
        plan_digest: Digest([1; 32]).to_wire(),
        clock,
        ..Prepared::default()
    }
}

pub fn part(interval: u32) -> Up {
    let (run_id, content) = (RUN.to_wire(), Bytes::from_static(b"x"));
    Up::Interval(IntervalPart {
        run_id,
        interval,
        part: 0,
        parts: 1,
        content,
        totals: false,
    })
}

pub fn events(actions: &[FleetAction]) -> Vec<&RunEvent> {
    let found = actions.iter().filter_map(|action| match action {
        FleetAction::Deliver(_, event, _) => Some(event),
        _ => None,
    });
    found.collect()
}

pub fn sent(actions: &[FleetAction], to: u64) -> Vec<&Down> {
    let found = actions.iter().filter_map(|action| match action {
        FleetAction::Send(at, message) if *at == ConnectionId(to) => message.message.as_ref(),
        _ => None,
    });
    found.collect()
}

pub fn receipt(actions: &[FleetAction]) -> Option<Receipt> {
    actions.iter().find_map(|action| match action {
        FleetAction::Deliver(_, _, receipt) => *receipt,
        _ => None,
    })
}

pub fn leases(actions: &[FleetAction], to: u64) -> Vec<u64> {
    let found = sent(actions, to)
        .into_iter()
        .filter_map(|message| match message {
            Down::Grant(grant) => Some(grant.lease_ns),
            _ => None,
        });
    found.collect()
}

pub fn has(actions: &[FleetAction], is_it: impl Fn(&RunEvent) -> bool) -> bool {
    events(actions).into_iter().any(is_it)
}

pub fn losses(actions: &[FleetAction]) -> Vec<(u32, &str)> {
    let found = events(actions).into_iter().filter_map(|event| match event {
        RunEvent::Lost { agent, why, .. } => Some((*agent, why.as_str())),
        _ => None,
    });
    found.collect()
}

/// A request for a run that tolerates losses.
pub fn bearing(agents: u32, lost: LostPolicy, tolerate: u32) -> RunRequest {
    RunRequest {
        rules: FleetRules {
            lost,
            tolerate,
            ..FleetRules::default()
        },
        ..request(agents)
    }
}

pub fn holding(agent: u8) -> Hello {
    Hello {
        held_runs: held(),
        ..hello(agent)
    }
}

/// Starts a run whose request sets the number of agents and the losses it tolerates.
pub fn going_with(request: RunRequest) -> Coordinator {
    let agents = request.agents as u8;
    let mut coordinator = Coordinator::with_agents(agents);
    coordinator.on(FleetEvent::Run(request));
    coordinator.start(agents);
    coordinator.begin(agents);
    coordinator
}

/// The run as what was reported tells it.
pub fn model_of(told: &[FleetAction]) -> RunModel {
    let mut model = RunModel::default();
    for event in events(told) {
        model.take(event, FleetTime(0));
    }
    model
}

/// A run of two agents: both began, and intervals 0 and 1 of agent 0 are stored.
pub fn past_run(coordinator: &mut Coordinator) -> RunModel {
    model_of(&past_actions(coordinator))
}

pub fn past_actions(coordinator: &mut Coordinator) -> Vec<FleetAction> {
    let mut told = Vec::new();
    for agent in 0..2 {
        told.extend(coordinator.join(agent.into(), hello(agent)));
    }
    told.extend(coordinator.on(FleetEvent::Run(request(2))));
    told.extend(coordinator.start(2));
    told.extend(coordinator.begin(2));
    told.extend(coordinator.say(0, part(0)));
    told.extend(coordinator.say(0, part(1)));
    told
}

pub fn monitor(number: u8) -> Hello {
    Hello {
        role: proto::Role::Monitor.into(),
        ..hello(number)
    }
}

pub fn observed(second: u32) -> Up {
    Up::Observed(Observed {
        run_id: RUN.to_wire(),
        second,
        content: Bytes::from_static(b"busy"),
    })
}

pub fn is_acknowledged(actions: &[FleetAction], at: u64, stored: Stored) -> bool {
    let ack = Down::Ack(Ack {
        run_id: RUN.to_wire(),
        stored: Some(stored),
    });
    sent(actions, at).contains(&&ack)
}
