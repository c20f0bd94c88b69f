//! The coordinator's side of the control plane as a state machine: which agents are attached, and
//! which run they serve.

use crate::ended_runs::EndedRuns;
use crate::fleet_action::{Actions, Awaited, Receipt};
use crate::fleet_run::{FleetRun, violation_text, without_lease};
use crate::gathering::Gathering;
use crate::monitors::Monitors;
use crate::participant::Departure;
use crate::{
    AgentFacts, AgentId, ConnectionId, CoordinatorId, FleetAction, FleetEvent, FleetTime, LEASE,
    Observer, Role, RunEvent, RunHistory, RunOutcome, Versions, greeting,
};
use crate::{RunId, RunRequest, Stop};
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{Beat, Bytes, FromAgent, Hello, Notice, Refused, Release, Welcome};
use std::collections::BTreeMap;
use std::time::Duration;

/// How often a fleet must be sent [`FleetEvent::Tick`].
pub const TICK: Duration = Duration::from_millis(250);

/// A stream that has not said hello by then is closed.
const HELLO_MAX: Duration = Duration::from_secs(5);

/// Everything a coordinator knows about its agents and the current run.
///
/// Handling a message costs the same in a fleet of any size, because members are found by maps.
/// Only the start and the end of a stream or of a run, and the tick, look at more than one member.
#[derive(Debug)]
pub struct Fleet {
    id: CoordinatorId,
    clock_id: Bytes,
    versions: Versions,
    connections: BTreeMap<ConnectionId, AgentConnection>,
    members: BTreeMap<AgentId, ConnectionId>,
    /// Members that can serve a run, by the order in which they joined.
    free: BTreeMap<u64, AgentId>,
    joined: u64,
    serving: Serving,
    monitors: Monitors,
    ended: EndedRuns,
}

#[derive(Debug)]
struct AgentConnection {
    heard_at: FleetTime,
    member: Option<Member>,
}

/// An agent that has said hello.
#[derive(Debug)]
struct Member {
    facts: AgentFacts,
    /// Its place in the order of joining; earlier agents are chosen first.
    joined: u64,
    /// Why it cannot serve a run of this coordinator, if it cannot.
    misfit: Option<String>,
}

#[derive(Debug)]
enum Serving {
    Nothing,
    Gathering(Box<Gathering>),
    Run(Box<FleetRun>),
}

impl Fleet {
    /// A fleet without agents. Its clock is that of this process; see [`Fleet::with_clock`].
    #[must_use]
    pub fn new(id: CoordinatorId, versions: Versions) -> Fleet {
        Fleet {
            id,
            clock_id: id.to_wire(),
            versions,
            connections: BTreeMap::new(),
            members: BTreeMap::new(),
            free: BTreeMap::new(),
            joined: 0,
            serving: Serving::Nothing,
            monitors: Monitors::default(),
            ended: EndedRuns::default(),
        }
    }

    /// Names a clock that outlives the process, such as that of one boot of this machine, so that
    /// agents need not measure it again after a restart.
    #[must_use]
    pub fn with_clock(self, clock_id: [u8; 16]) -> Fleet {
        Fleet {
            clock_id: Bytes::copy_from_slice(&clock_id),
            ..self
        }
    }

    /// Whether a run can begin.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        matches!(self.serving, Serving::Nothing)
    }

    /// Handles an event. Returns what to do about it, in order.
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
            FleetEvent::Closed(at, why) => {
                self.closed(now, at, Departure::Ended, &why, &mut out);
            }
            FleetEvent::Run(request) => self.begin(now, request, &mut out),
            FleetEvent::Resume(request, history) => self.resume(now, request, *history, &mut out),
            FleetEvent::Stop(how) => self.stop(now, how, &mut out),
            FleetEvent::Delivered(
                receipt @ Receipt {
                    what:
                        Awaited::Observation(Observer::Monitor(_), _) | Awaited::ProfilePart { .. },
                    ..
                },
            ) => self.monitors.stored(receipt, &mut out),
            FleetEvent::Delivered(receipt) => {
                if let Some(run) = self.run_named(receipt.run) {
                    run.delivered(now, receipt, &mut out);
                }
            }
            FleetEvent::Tick => self.tick(now, &mut out),
        }
        self.note_end();
        let run = match &mut self.serving {
            Serving::Run(run) => Some(&mut **run),
            _ => None,
        };
        self.monitors.follow(run.as_deref(), &mut out);
        // A run does not know its monitors, so it hears from here what they still owe.
        if let Some(run) = run {
            run.set_awaits_profile(self.monitors.owe_profile());
        }
        out.into_vec()
    }

    /// Makes room for the next run once the current one is over.
    fn note_end(&mut self) {
        let Serving::Run(run) = &self.serving else {
            return;
        };
        let Some(outcome) = run.outcome() else {
            return;
        };
        // A superseded run continues elsewhere, so its agents are not released.
        if outcome != RunOutcome::Superseded {
            self.ended.add(run.id());
        }
        self.serving = Serving::Nothing;
    }

    fn received(
        &mut self,
        now: FleetTime,
        at: ConnectionId,
        message: FromAgent,
        out: &mut Actions,
    ) {
        // A stream that was closed here can still bring what was already on its way.
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
            // A kind of message that this version does not know.
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
            Up::Want(message) => &message.run_id,
            Up::Armed(message) => &message.run_id,
            Up::TookOver(message) => &message.run_id,
            Up::Observed(message) => &message.run_id,
            Up::Profile(message) => &message.run_id,
        };
        if self.is_monitor(at) {
            match message {
                Up::Observed(observed) => self.monitors.observed(now, agent, observed, out),
                Up::Profile(part) => self.monitors.profile_part(agent, part, out),
                // Only agents send these.
                _ => {}
            }
            return;
        }
        // A message about a run that is over was on its way when the agent was released.
        if let Some(run) = RunId::from_wire(run_id).and_then(|run| self.run_named(run)) {
            run.received(now, agent, message, out);
        }
    }

    fn is_monitor(&self, at: ConnectionId) -> bool {
        let connection = self.connections.get(&at);
        let member = connection.and_then(|connection| connection.member.as_ref());
        member.is_some_and(|member| member.facts.role == Role::Monitor)
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
        if let Some(reason) = self.versions.misfit_of_wire(&hello) {
            // Not final: the next coordinator at this address may be another one.
            return self.refuse(now, at, &reason, false, out);
        }
        let misfit = self.versions.misfit_of_runs(&hello);
        let held = greeting::held(&hello);
        let facts = match greeting::facts(hello) {
            Ok(facts) => facts,
            Err(bad) => return self.refuse(now, at, &bad.to_string(), true, out),
        };
        let agent = facts.id;
        self.replace(now, agent, out);
        self.yield_to_later_epochs(&held, out);
        let resumes = held
            .iter()
            .filter_map(|(run, _)| self.run_named(*run)?.upload_of(agent))
            .collect();
        out.send(
            at,
            Down::Welcome(Welcome {
                coordinator_version: self.versions.program.clone(),
                coordinator_id: self.id.to_wire(),
                clock_id: self.clock_id.clone(),
                resumes,
            }),
        );
        self.add_member(now, at, facts, misfit, out);
        self.release_ended(at, &held, out);
        self.assign(now, at, agent, &held, out);
    }

    /// Closes the old stream of an agent that came back before its loss was noticed.
    fn replace(&mut self, now: FleetTime, agent: AgentId, out: &mut Actions) {
        if let Some(old) = self.members.get(&agent).copied() {
            let why = "the agent opened another stream";
            self.closed(now, old, Departure::Ended, why, out);
            out.close(old);
        }
    }

    /// Yields the current run if an agent has heard of a coordinator that took it up later.
    fn yield_to_later_epochs(&mut self, held: &[(RunId, u64)], out: &mut Actions) {
        for (id, epoch) in held {
            if let Some(run) = self.run_named(*id).filter(|run| *epoch > run.epoch()) {
                run.supersede(*epoch, out);
                self.note_end();
            }
        }
    }

    fn add_member(
        &mut self,
        now: FleetTime,
        at: ConnectionId,
        facts: AgentFacts,
        misfit: Option<String>,
        out: &mut Actions,
    ) {
        self.joined += 1;
        self.members.insert(facts.id, at);
        if facts.role == Role::Monitor {
            self.monitors.attach(facts.clone(), at, out);
        } else if let Some(text) = &misfit {
            let text = format!("this agent serves no run here: {text}");
            out.send(at, Down::Notice(Notice { text }));
        } else {
            self.free.insert(self.joined, facts.id);
        }
        let member = Member {
            facts,
            joined: self.joined,
            misfit,
        };
        self.connections.insert(
            at,
            AgentConnection {
                heard_at: now,
                member: Some(member),
            },
        );
    }

    /// Puts a new member where it belongs: into its run, or among the agents that are gathered.
    fn assign(
        &mut self,
        now: FleetTime,
        at: ConnectionId,
        agent: AgentId,
        held: &[(RunId, u64)],
        out: &mut Actions,
    ) {
        if self.is_monitor(at) {
            return;
        }
        match &mut self.serving {
            Serving::Run(run) if run.has(agent) => {
                let holds_run = held.iter().any(|(id, _)| *id == run.id());
                run.attached(now, agent, at, holds_run, out);
            }
            Serving::Run(_) => {
                let text = "the fleet is full; this agent waits for the next run".into();
                out.send(at, Down::Notice(Notice { text }));
            }
            Serving::Gathering(_) => self.gather(now, at, out),
            Serving::Nothing => {}
        }
    }

    /// Releases a new member from runs that ended here, before it gets the plan of the next one: it
    /// may still be firing. Runs that are unknown here may be wanted by another coordinator, so the
    /// agent keeps them.
    fn release_ended(&self, at: ConnectionId, held: &[(RunId, u64)], out: &mut Actions) {
        for (ended, _) in held.iter().filter(|(run, _)| self.ended.has(*run)) {
            let run_id = ended.to_wire();
            out.send(at, Down::Release(Release { run_id }));
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
        match &mut self.serving {
            Serving::Run(run) if run.has(agent) => run.beat(now, agent, beat, out),
            _ => out.send(at, Down::Grant(without_lease(now, beat.sequence))),
        }
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
        self.closed(now, at, Departure::Ended, reason, out);
    }

    fn closed(
        &mut self,
        now: FleetTime,
        at: ConnectionId,
        how: Departure,
        why: &str,
        out: &mut Actions,
    ) {
        let connection = self.connections.remove(&at);
        let Some(member) = connection.and_then(|connection| connection.member) else {
            return;
        };
        self.members.remove(&member.facts.id);
        self.free.remove(&member.joined);
        if member.facts.role == Role::Monitor {
            return self.monitors.detach(member.facts.id, out);
        }
        match &mut self.serving {
            Serving::Run(run) => run.detached(now, member.facts.id, how, why, out),
            Serving::Gathering(gathering) => {
                if gathering.remove(&member.facts, out) {
                    self.refill(now, out);
                }
            }
            Serving::Nothing => {}
        }
    }

    fn begin(&mut self, now: FleetTime, request: RunRequest, out: &mut Actions) {
        if !self.is_idle() {
            return;
        }
        self.serving = Serving::Gathering(Box::new(Gathering::new(request, now)));
        let connections: Vec<ConnectionId> = self.connections.keys().copied().collect();
        for at in connections {
            self.tell_misfit(at, out);
        }
        self.refill(now, out);
    }

    /// Takes up a run. Attached agents that serve it must dial again, because their welcome says
    /// where each upload continues.
    fn resume(
        &mut self,
        now: FleetTime,
        request: RunRequest,
        history: RunHistory,
        out: &mut Actions,
    ) {
        if !self.is_idle() {
            return;
        }
        let Some(start_at) = history.start_at else {
            // No agent can have fired.
            return self.begin(now, request, out);
        };
        let run = FleetRun::resume(request, history, start_at, now, out);
        let is_of_run = |(agent, _): &(&AgentId, &ConnectionId)| run.has(**agent);
        let attached = self.members.iter().filter(is_of_run);
        let attached: Vec<ConnectionId> = attached.map(|(_, at)| *at).collect();
        for at in attached {
            self.closed(now, at, Departure::Ended, "its run is taken up", out);
            out.close(at);
        }
        self.serving = Serving::Run(Box::new(run));
    }

    /// Handles an agent that joined while a run waits for agents.
    fn gather(&mut self, now: FleetTime, at: ConnectionId, out: &mut Actions) {
        self.tell_misfit(at, out);
        let Serving::Gathering(gathering) = &mut self.serving else {
            return;
        };
        let member = self
            .connections
            .get(&at)
            .and_then(|found| found.member.as_ref());
        let Some(member) = member.filter(|member| member.misfit.is_none()) else {
            return;
        };
        if gathering.room() > 0 {
            gathering.add(&member.facts, out);
            gathering.tell(out);
        }
        self.begin_if_complete(now, out);
    }

    /// Fills a run that waits for agents from the free ones, in the order in which they joined.
    fn refill(&mut self, now: FleetTime, out: &mut Actions) {
        let Serving::Gathering(gathering) = &mut self.serving else {
            return;
        };
        for agent in self.free.values() {
            if gathering.room() == 0 {
                break;
            }
            let at = self.members.get(agent);
            let found = at.and_then(|at| self.connections.get(at));
            if let Some(member) = found.and_then(|found| found.member.as_ref()) {
                gathering.add_missing(&member.facts, out);
            }
        }
        gathering.tell(out);
        self.begin_if_complete(now, out);
    }

    /// Reports an agent that cannot serve the run that was requested.
    fn tell_misfit(&self, at: ConnectionId, out: &mut Actions) {
        let found = self
            .connections
            .get(&at)
            .and_then(|found| found.member.as_ref());
        if let Some(text) = found.and_then(|member| member.misfit.clone()) {
            out.tell(RunEvent::Note {
                agent: None,
                event: "version".to_owned(),
                text,
            });
        }
    }

    fn begin_if_complete(&mut self, now: FleetTime, out: &mut Actions) {
        let serving = std::mem::replace(&mut self.serving, Serving::Nothing);
        self.serving = match serving {
            Serving::Gathering(gathering) if gathering.room() == 0 => {
                Serving::Run(Box::new(self.begin_run(*gathering, now, out)))
            }
            other => other,
        };
    }

    fn begin_run(&self, gathering: Gathering, now: FleetTime, out: &mut Actions) -> FleetRun {
        let (request, chosen) = gathering.into_parts();
        let attached = |agent: &AgentId| {
            let at = *self.members.get(agent)?;
            let member = self.connections.get(&at)?.member.as_ref()?;
            Some((member.facts.clone(), at))
        };
        let agents: Vec<_> = chosen.iter().filter_map(attached).collect();
        let run = FleetRun::begin(request, agents, now, out);
        self.tell_spare_agents(&run, chosen.len(), out);
        run
    }

    fn tell_spare_agents(&self, run: &FleetRun, chosen: usize, out: &mut Actions) {
        let text = format!(
            "{chosen} of {} agents were asked for; this agent waits for the next run",
            self.free.len()
        );
        for agent in self.free.values().filter(|agent| !run.has(**agent)) {
            if let Some(at) = self.members.get(agent) {
                out.send(*at, Down::Notice(Notice { text: text.clone() }));
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
        let silence_max = self.silence_max();
        let limit = |connection: &AgentConnection| match connection.member {
            Some(_) => silence_max,
            None => HELLO_MAX,
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
            let why = "nothing was heard of it for longer than a lease";
            self.closed(now, at, Departure::Silent, why, out);
            out.close(at);
        }
        match &mut self.serving {
            Serving::Nothing => {}
            Serving::Gathering(gathering) => {
                if let Some(outcome) = gathering.too_late(now) {
                    self.serving = Serving::Nothing;
                    out.tell(RunEvent::Done { outcome });
                }
            }
            Serving::Run(run) => run.tick(now, out),
        }
    }

    /// How long an agent can send nothing at all before it counts as gone, whatever the state of
    /// its connection. Until its lease has expired it may fire, so it counts as present until then.
    fn silence_max(&self) -> Duration {
        let lease = match &self.serving {
            Serving::Run(run) => run.lease().max(LEASE),
            _ => LEASE,
        };
        lease.saturating_add(Duration::from_secs(1))
    }

    fn run_named(&mut self, id: RunId) -> Option<&mut FleetRun> {
        match &mut self.serving {
            Serving::Run(run) if run.id() == id => Some(run),
            _ => None,
        }
    }
}
