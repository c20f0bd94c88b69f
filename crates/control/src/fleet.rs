//! The coordinator's end of the control plane as a state machine: who is attached, and which run
//! they serve.

use crate::clock::nanoseconds;
use crate::fleet_action::Actions;
use crate::fleet_run::{FleetRun, violation_text};
use crate::gathering::Gathering;
use crate::wire::{clock, cut};
use crate::{
    AgentFacts, AgentId, ConnectionId, CoordinatorId, FleetAction, FleetEvent, FleetTime, LEASE,
    RunEvent, RunOutcome,
};
use crate::{RunId, RunRequest, Stop};
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{Beat, FromAgent, Grant, Hello, Notice, PROTOCOL, Refused, Release, Welcome};
use std::collections::BTreeMap;
use std::time::Duration;

/// How often a fleet must be told that time goes by.
pub const TICK: Duration = Duration::from_millis(250);

/// A stream says hello by then, or is closed.
const HELLO_MAX: Duration = Duration::from_secs(5);

/// An agent that says nothing for so long is not there, whatever its connection looks like. While
/// it uploads, its beats may wait behind what it uploads, which shows that it is there too.
const SILENCE_MAX: Duration = LEASE.saturating_add(Duration::from_secs(1));

/// Host facts that are passed on.
const HOST_MAX_BYTES: usize = 64 << 10;

/// Everything a coordinator knows of its agents and of the current run.
#[derive(Debug)]
pub struct Fleet {
    id: CoordinatorId,
    version: String,
    connections: BTreeMap<ConnectionId, AgentConnection>,
    joined: u64,
    serving: Serving,
}

#[derive(Debug)]
struct AgentConnection {
    heard_at: FleetTime,
    member: Option<Member>,
}

/// An agent that said hello.
#[derive(Debug)]
struct Member {
    facts: AgentFacts,
    /// Earlier ones are chosen first.
    joined: u64,
}

#[derive(Debug)]
enum Serving {
    Nothing,
    Gathering(Gathering),
    Run(FleetRun),
}

impl Fleet {
    /// A fleet without agents; `version` is that of the coordinator's program.
    #[must_use]
    pub fn new(id: CoordinatorId, version: String) -> Fleet {
        Fleet {
            id,
            version,
            connections: BTreeMap::new(),
            joined: 0,
            serving: Serving::Nothing,
        }
    }

    /// Whether a run may begin.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        matches!(self.serving, Serving::Nothing)
    }

    /// What to do about an event, in order.
    pub fn on(&mut self, now: FleetTime, event: FleetEvent) -> Vec<FleetAction> {
        let mut out = Actions::default();
        match event {
            FleetEvent::Opened(at) => {
                self.connections.insert(
                    at,
                    AgentConnection {
                        heard_at: now,
                        member: None,
                    },
                );
            }
            FleetEvent::Received(at, message) => self.received(now, at, message, &mut out),
            FleetEvent::Closed(at, why) => self.closed(now, at, &why, &mut out),
            FleetEvent::Run(request) => self.begin(request, &mut out),
            FleetEvent::Stop(how) => self.stop(now, how, &mut out),
            FleetEvent::Delivered(receipt) => {
                if let Some(run) = self.run_named(receipt.run) {
                    run.delivered(receipt, &mut out);
                }
            }
            FleetEvent::Tick => self.tick(now, &mut out),
        }
        self.gather(now, &mut out);
        if matches!(&self.serving, Serving::Run(run) if run.is_done()) {
            self.serving = Serving::Nothing;
        }
        out.into_vec()
    }

    fn received(
        &mut self,
        now: FleetTime,
        at: ConnectionId,
        message: FromAgent,
        out: &mut Actions,
    ) {
        // A stream that was closed here may still bring what was on its way.
        let Some(connection) = self.connections.get_mut(&at) else {
            return;
        };
        let agent = connection.member.as_ref().map(|member| member.facts.id);
        match (agent, message.message) {
            (None, Some(Up::Hello(hello))) => self.greet(now, at, hello, out),
            (Some(agent), Some(message)) => {
                connection.heard_at = now;
                self.directed(now, at, agent, message, out);
            }
            (None, _) => self.refuse(
                now,
                at,
                "the first message must be a hello; run the same version on both",
                false,
                out,
            ),
            // A message that this version does not know.
            (Some(_), None) => {}
        }
    }

    fn directed(
        &mut self,
        now: FleetTime,
        at: ConnectionId,
        agent: AgentId,
        message: Up,
        out: &mut Actions,
    ) {
        let run_id = match &message {
            Up::Beat(beat) => return self.grant(now, at, agent, beat, out),
            Up::Hello(_) => return self.greeted_again(now, at, agent, out),
            Up::Prepared(message) => &message.run_id,
            Up::Began(message) => &message.run_id,
            Up::Interval(message) => &message.run_id,
            Up::Ended(message) => &message.run_id,
            Up::Note(message) => &message.run_id,
        };
        // What is about a run that is over here was on its way when the agent was released from it.
        if let Some(run) = RunId::from_wire(run_id).and_then(|run| self.run_named(run)) {
            run.received(now, agent, message, out);
        }
    }

    fn greeted_again(
        &mut self,
        now: FleetTime,
        at: ConnectionId,
        agent: AgentId,
        out: &mut Actions,
    ) {
        const WHAT: &str = "a second hello";
        if let Serving::Run(run) = &mut self.serving {
            run.violated(now, agent, WHAT, out);
        }
        self.refuse(now, at, &violation_text(WHAT), false, out);
    }

    fn greet(&mut self, now: FleetTime, at: ConnectionId, hello: Hello, out: &mut Actions) {
        if hello.protocol != PROTOCOL {
            let reason = other_protocol(&hello, &self.version);
            return self.refuse(now, at, &reason, true, out);
        }
        let held = RunId::from_wire(&hello.held_run);
        let Some(facts) = facts_of(hello) else {
            return self.refuse(
                now,
                at,
                "the hello makes no sense; run the same version on both",
                true,
                out,
            );
        };
        let agent = facts.id;
        self.replace(now, agent, out);
        self.joined += 1;
        let member = Member {
            facts,
            joined: self.joined,
        };
        self.connections.insert(
            at,
            AgentConnection {
                heard_at: now,
                member: Some(member),
            },
        );
        let coordinator_version = self.version.clone();
        let coordinator_id = self.id.to_wire();
        let resume = held
            .and_then(|held| self.run_named(held))
            .and_then(|run| run.resume(agent));
        out.send(
            at,
            Down::Welcome(Welcome {
                coordinator_version,
                coordinator_id,
                resume,
            }),
        );
        self.assign(now, at, agent, held, out);
    }

    /// An agent that comes back before its old stream was missed.
    fn replace(&mut self, now: FleetTime, agent: AgentId, out: &mut Actions) {
        if let Some(old) = self.connection_of(agent) {
            self.closed(now, old, "the agent opened another stream", out);
            out.close(old);
        }
    }

    /// Puts a member where it belongs: into its run, or to those who wait.
    fn assign(
        &mut self,
        now: FleetTime,
        at: ConnectionId,
        agent: AgentId,
        held: Option<RunId>,
        out: &mut Actions,
    ) {
        let current = match &mut self.serving {
            Serving::Run(run) if run.has(agent) => {
                let holds_run = held == Some(run.id());
                run.attached(now, agent, at, holds_run, out);
                Some(run.id())
            }
            Serving::Run(_) => {
                out.send(
                    at,
                    Down::Notice(Notice {
                        text: "the fleet is full; this agent waits for the next run".into(),
                    }),
                );
                None
            }
            _ => None,
        };
        if let Some(stale) = held.filter(|held| current != Some(*held)) {
            out.send(
                at,
                Down::Release(Release {
                    run_id: stale.to_wire(),
                }),
            );
        }
    }

    fn grant(
        &mut self,
        now: FleetTime,
        at: ConnectionId,
        agent: AgentId,
        beat: &Beat,
        out: &mut Actions,
    ) {
        let run = match &mut self.serving {
            Serving::Run(run) => {
                run.measured(agent, clock(beat.clock));
                Some(run.id()).filter(|_| run.grants_lease(agent))
            }
            _ => None,
        };
        out.send(
            at,
            Down::Grant(Grant {
                sequence: beat.sequence,
                coordinator_at_ns: now.0,
                lease_ns: run.map_or(0, |_| nanoseconds(LEASE)),
                run_id: run.map(RunId::to_wire).unwrap_or_default(),
            }),
        );
    }

    fn refuse(
        &mut self,
        now: FleetTime,
        at: ConnectionId,
        reason: &str,
        r#final: bool,
        out: &mut Actions,
    ) {
        out.send(
            at,
            Down::Refused(Refused {
                reason: reason.to_owned(),
                r#final,
            }),
        );
        out.close(at);
        self.closed(now, at, reason, out);
    }

    fn closed(&mut self, now: FleetTime, at: ConnectionId, why: &str, out: &mut Actions) {
        let member = self
            .connections
            .remove(&at)
            .and_then(|connection| connection.member);
        if let (Some(member), Serving::Run(run)) = (member, &mut self.serving) {
            run.detached(now, member.facts.id, why, out);
        }
    }

    fn begin(&mut self, request: RunRequest, out: &mut Actions) {
        if self.is_idle() {
            let mut gathering = Gathering::new(request);
            gathering.update(&self.free(), true, out);
            self.serving = Serving::Gathering(gathering);
        }
    }

    /// Looks whether the agents that a run waits for are at hand.
    fn gather(&mut self, now: FleetTime, out: &mut Actions) {
        if !matches!(self.serving, Serving::Gathering(_)) {
            return;
        }
        let free = self.free();
        self.serving = match std::mem::replace(&mut self.serving, Serving::Nothing) {
            Serving::Gathering(mut gathering) => {
                if gathering.update(&free, false, out) {
                    Serving::Run(self.begin_run(gathering, &free, now, out))
                } else {
                    Serving::Gathering(gathering)
                }
            }
            other => other,
        };
    }

    fn begin_run(
        &self,
        gathering: Gathering,
        free: &[AgentFacts],
        now: FleetTime,
        out: &mut Actions,
    ) -> FleetRun {
        let (request, agents) = gathering.into_parts();
        let attached = |facts: AgentFacts| self.connection_of(facts.id).map(|at| (facts, at));
        let agents: Vec<_> = agents.into_iter().filter_map(attached).collect();
        self.tell_spare_agents(free, &agents, out);
        FleetRun::begin(request, agents, now, out)
    }

    fn tell_spare_agents(
        &self,
        free: &[AgentFacts],
        chosen: &[(AgentFacts, ConnectionId)],
        out: &mut Actions,
    ) {
        let text = format!(
            "{} of {} agents were asked for; this agent waits for the next run",
            chosen.len(),
            free.len()
        );
        let is_chosen = |id: AgentId| chosen.iter().any(|(chosen, _)| chosen.id == id);
        for agent in free.iter().filter(|agent| !is_chosen(agent.id)) {
            if let Some(at) = self.connection_of(agent.id) {
                out.send(at, Down::Notice(Notice { text: text.clone() }));
            }
        }
    }

    fn stop(&mut self, now: FleetTime, how: Stop, out: &mut Actions) {
        match &mut self.serving {
            Serving::Nothing => {}
            Serving::Gathering(_) => {
                self.serving = Serving::Nothing;
                out.tell(RunEvent::Done {
                    outcome: RunOutcome::StoppedBeforeStart(how),
                });
            }
            Serving::Run(run) => run.stop(now, how, out),
        }
    }

    fn tick(&mut self, now: FleetTime, out: &mut Actions) {
        let limit = |connection: &AgentConnection| {
            if connection.member.is_some() {
                SILENCE_MAX
            } else {
                HELLO_MAX
            }
        };
        let silent = |(_, connection): &(&ConnectionId, &AgentConnection)| {
            now.since(connection.heard_at) >= limit(connection)
        };
        let silent: Vec<ConnectionId> = self
            .connections
            .iter()
            .filter(silent)
            .map(|(at, _)| *at)
            .collect();
        for at in silent {
            self.closed(
                now,
                at,
                "nothing was heard of it for longer than a lease",
                out,
            );
            out.close(at);
        }
        if let Serving::Run(run) = &mut self.serving {
            run.tick(now, out);
        }
    }

    fn run_named(&mut self, id: RunId) -> Option<&mut FleetRun> {
        match &mut self.serving {
            Serving::Run(run) if run.id() == id => Some(run),
            _ => None,
        }
    }

    fn connection_of(&self, agent: AgentId) -> Option<ConnectionId> {
        let is_it = |connection: &AgentConnection| {
            connection
                .member
                .as_ref()
                .is_some_and(|member| member.facts.id == agent)
        };
        self.connections
            .iter()
            .find(|(_, connection)| is_it(connection))
            .map(|(at, _)| *at)
    }

    /// Members, in the order in which they joined.
    fn free(&self) -> Vec<AgentFacts> {
        let mut members: Vec<&Member> = self
            .connections
            .values()
            .filter_map(|connection| connection.member.as_ref())
            .collect();
        members.sort_by_key(|member| member.joined);
        members
            .into_iter()
            .map(|member| member.facts.clone())
            .collect()
    }
}

fn other_protocol(hello: &Hello, own_version: &str) -> String {
    format!(
        "agent {} speaks protocol {} (version {}), this coordinator {PROTOCOL} (version \
         {own_version}); install the same version on both",
        cut(hello.name.clone()),
        hello.protocol,
        cut(hello.version.clone())
    )
}

fn facts_of(hello: Hello) -> Option<AgentFacts> {
    Some(AgentFacts {
        id: AgentId::from_wire(&hello.agent_id)?,
        name: cut(hello.name),
        version: cut(hello.version),
        labels: hello.labels.into_iter().collect(),
        workers: hello.workers,
        host: Some(hello.host).filter(|host| host.len() <= HOST_MAX_BYTES)?,
    })
}
