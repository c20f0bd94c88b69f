//! The coordinator's side of the control plane as a state machine: which agents are attached, and
//! which runs they serve.

use crate::ended_runs::EndedRuns;
use crate::fleet_action::Actions;
use crate::fleet_run::{FleetRun, violation_text, without_lease};
use crate::gathering::Gathering;
use crate::participant::Departure;
use crate::serving::{ServedRuns, Serving};
use crate::{
    AgentFacts, AgentId, ConnectionId, CoordinatorId, FleetAction, FleetEvent, FleetTime, Role,
    RunEvent, RunModel, RunOutcome, TokenReport, Versions, greeting,
};
use crate::{RunId, RunRequest, Stop};
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{Beat, Bytes, FromAgent, Hello, Notice, Refused, Release, Welcome};
use std::collections::BTreeMap;
use std::time::Duration;

/// How often a fleet must be sent [`FleetEvent::Tick`].
pub const TICK: Duration = Duration::from_millis(250);

/// A tick that comes later than this after the previous one shows that this side stood still.
const LATE_TICK: Duration = Duration::from_secs(1);

/// A stream that has not said hello by then is closed.
const HELLO_MAX: Duration = Duration::from_secs(5);

/// Everything a coordinator knows about its agents and its runs.
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
    runs: ServedRuns,
    ended: EndedRuns,
    last_tick: Option<LastTick>,
}

#[derive(Debug)]
struct AgentConnection {
    heard_at: FleetTime,
    member: Option<Member>,
}

/// The latest tick of a fleet.
#[derive(Debug, Clone, Copy)]
struct LastTick {
    at: FleetTime,
    is_late: bool,
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
            runs: ServedRuns::default(),
            ended: EndedRuns::default(),
            last_tick: None,
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

    /// Whether no run is going on, and none waits for agents.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.runs.is_empty()
    }

    /// Whether this run is going on, or waits for agents.
    #[must_use]
    pub fn serves(&self, run: RunId) -> bool {
        self.runs.has(run)
    }

    /// Whether this run can be taken up: no other run that has begun has an agent of it. A run that
    /// waits for agents yields those that it has chosen.
    #[must_use]
    pub fn can_resume(&self, run: RunId, past: &RunModel) -> bool {
        let is_taken = |agent| self.runs.runs().any(|other| other.has(agent));
        let mut agents = past.agents().iter().map(|agent| agent.facts().id);
        !self.serves(run) && !agents.any(is_taken)
    }

    /// Handles an event. Returns what to do about it, in order.
    pub fn on(&mut self, now: FleetTime, event: FleetEvent) -> Vec<FleetAction> {
        let mut out = Actions::default();
        if !matches!(event, FleetEvent::Tick) && self.has_stood_still(now) {
            self.note_standstill(now);
        }
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
            FleetEvent::Received(at, message) => self.on_message(now, at, message, &mut out),
            FleetEvent::Closed(at, why) => {
                self.on_close(now, at, Departure::Ended, &why, &mut out);
            }
            FleetEvent::Run(request) => self.begin(now, request, &mut out),
            FleetEvent::Resume(request, past) => self.resume(now, request, *past, &mut out),
            FleetEvent::Token(run, report) => self.take_token(now, run, report, &mut out),
            FleetEvent::Stop(run, how) => self.stop(now, run, how, &mut out),
            FleetEvent::Delivered(receipt) => {
                if let Some(run) = self.runs.run(receipt.run) {
                    run.on_receipt(now, receipt, &mut out);
                }
            }
            FleetEvent::Tick => self.tick(now, &mut out),
        }
        self.remove_ended(now, &mut out);
        self.begin_watch(&mut out);
        out.into_vec()
    }

    /// Lets the monitors watch the oldest run that has started, unless they watch one that is not
    /// over.
    fn begin_watch(&mut self, out: &mut Actions) {
        if self.runs.run_to_watch().is_some() {
            return;
        }
        let is_started = |run: &&mut FleetRun| run.started_at().is_some();
        let Some(run) = self.runs.runs_mut().find(is_started) else {
            return;
        };
        let member =
            |at: &ConnectionId| Some((&self.connections.get(at)?.member.as_ref()?.facts, *at));
        let members = self.members.values().filter_map(member);
        run.begin_watch(
            members.filter(|(facts, _)| facts.role == Role::Monitor),
            out,
        );
    }

    /// Removes runs that are over, and offers their agents to those that wait for agents.
    fn remove_ended(&mut self, now: FleetTime, out: &mut Actions) {
        let ended = self.runs.remove_ended();
        if ended.is_empty() {
            return;
        }
        for (run, outcome) in ended {
            // A superseded run continues elsewhere, so its agents are not released.
            if outcome != RunOutcome::Superseded {
                self.ended.add(run);
            }
        }
        self.refill_all(now, out);
    }

    fn on_message(
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
                self.on_directed(now, at, agent, message, out);
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

    fn on_directed(
        &mut self,
        now: FleetTime,
        at: ConnectionId,
        agent: AgentId,
        message: Up,
        out: &mut Actions,
    ) {
        let run_id = match &message {
            Up::Beat(beat) => return self.grant(now, at, agent, beat, out),
            Up::Hello(_) => return self.greet_again(now, at, agent, out),
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
        // A message about a run that is over was on its way when the agent was released.
        if let Some(run) = RunId::from_wire(run_id).and_then(|run| self.runs.run(run)) {
            run.on_message(now, agent, message, out);
        }
    }

    fn greet_again(&mut self, now: FleetTime, at: ConnectionId, agent: AgentId, out: &mut Actions) {
        const WHAT: &str = "a second hello";
        if let Some(run) = self.runs.run_of(agent) {
            run.on_violation(now, agent, WHAT, out);
        }
        self.refuse(now, at, &violation_text(WHAT), false, out);
    }

    fn greet(&mut self, now: FleetTime, at: ConnectionId, hello: Hello, out: &mut Actions) {
        if let Some(reason) = self.versions.misfit_of_wire(&hello) {
            // Not final: the next coordinator at this address may be another one.
            return self.refuse(now, at, &reason, false, out);
        }
        let misfit = self.versions.misfit_of_runs(&hello);
        let held = greeting::runs_of(&hello);
        let facts = match greeting::facts(hello) {
            Ok(facts) => facts,
            Err(bad) => return self.refuse(now, at, &bad.to_string(), true, out),
        };
        let agent = facts.id;
        self.replace(now, agent, out);
        self.yield_to_later_epochs(now, &held, out);
        let resumes = held
            .iter()
            .filter_map(|(run, _)| self.runs.run(*run)?.upload_of(agent))
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
        self.add_member(now, at, facts.clone(), misfit, out);
        self.release_ended(at, &held, out);
        self.assign(now, at, &facts, &held, out);
    }

    /// Closes the old stream of an agent that came back before its loss was noticed.
    fn replace(&mut self, now: FleetTime, agent: AgentId, out: &mut Actions) {
        if let Some(old) = self.members.get(&agent).copied() {
            let why = "the agent opened another stream";
            self.on_close(now, old, Departure::Ended, why, out);
            out.close(old);
        }
    }

    /// Yields each run that a coordinator took up later, as far as an agent has heard of it.
    fn yield_to_later_epochs(&mut self, now: FleetTime, held: &[(RunId, u64)], out: &mut Actions) {
        for (id, epoch) in held {
            if let Some(run) = self.runs.run(*id).filter(|run| *epoch > run.epoch()) {
                run.supersede(*epoch, out);
                self.remove_ended(now, out);
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
        if let Some(text) = &misfit {
            let text = format!("this agent serves no run here: {text}");
            out.send(at, Down::Notice(Notice { text }));
        } else if facts.role == Role::Agent {
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
        facts: &AgentFacts,
        held: &[(RunId, u64)],
        out: &mut Actions,
    ) {
        let agent = facts.id;
        if facts.role == Role::Monitor {
            let watched = self.runs.run_to_watch().into_iter();
            return watched.for_each(|run| run.attach_monitor(facts, at, out));
        }
        if let Some(run) = self.runs.run_of(agent) {
            let holds_run = held.iter().any(|(id, _)| *id == run.id());
            run.on_attach(now, agent, at, holds_run, out);
        } else if self.runs.gatherings_mut().next().is_some() {
            self.gather(now, at, agent, out);
        } else if !self.runs.is_empty() {
            let text = "the fleet is full; this agent waits for the next run".into();
            out.send(at, Down::Notice(Notice { text }));
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
        match self.runs.run_of(agent) {
            Some(run) => run.beat(now, agent, beat, out),
            None => out.send(at, Down::Grant(without_lease(now, beat.sequence))),
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
        self.on_close(now, at, Departure::Ended, reason, out);
    }

    fn on_close(
        &mut self,
        now: FleetTime,
        at: ConnectionId,
        how: Departure,
        why: &str,
        out: &mut Actions,
    ) {
        let Some(agent) = self.remove_connection(at, out) else {
            return;
        };
        match self.runs.run_of(agent.id) {
            Some(run) => run.on_detach(now, agent.id, how, why, out),
            None => self.leave_gathering(now, &agent, out),
        }
    }

    /// Forgets a stream. Returns the agent that it belonged to, if it had said hello. A monitor
    /// leaves the run that it watches, and no other run has it.
    fn remove_connection(&mut self, at: ConnectionId, out: &mut Actions) -> Option<AgentFacts> {
        let Member { facts, joined, .. } = self.connections.remove(&at)?.member?;
        self.members.remove(&facts.id);
        self.free.remove(&joined);
        if facts.role == Role::Agent {
            return Some(facts);
        }
        self.runs.run_to_watch()?.detach_monitor(&facts, out);
        None
    }

    /// Fills the place of an agent that a run had chosen, and that is gone.
    fn leave_gathering(&mut self, now: FleetTime, agent: &AgentFacts, out: &mut Actions) {
        let mut gatherings = self.runs.gatherings_mut();
        let left = gatherings.find_map(|gathering| {
            let was_chosen = gathering.remove(agent, out);
            was_chosen.then_some(gathering.run())
        });
        drop(gatherings);
        left.into_iter().for_each(|run| self.refill(now, run, out));
    }

    fn begin(&mut self, now: FleetTime, request: RunRequest, out: &mut Actions) {
        let run = request.run;
        if self.serves(run) {
            return;
        }
        tell_first_tokens(&request, out);
        let gathering = Gathering::new(request, now);
        self.runs.add(Serving::Gathering(Box::new(gathering)));
        let connections: Vec<ConnectionId> = self.connections.keys().copied().collect();
        for at in connections {
            self.tell_misfit(run, at, out);
        }
        self.refill(now, run, out);
    }

    /// Takes up a run. Attached agents that serve it must dial again, because their welcome says
    /// where each upload continues.
    fn resume(&mut self, now: FleetTime, request: RunRequest, past: RunModel, out: &mut Actions) {
        if !self.can_resume(request.run, &past) {
            return;
        }
        let Some(start_at) = past.start_at() else {
            // No agent can have fired.
            return self.begin(now, request, out);
        };
        tell_first_tokens(&request, out);
        let run = FleetRun::resume(request, past, start_at, now, out);
        let is_of_run = |(agent, _): &(&AgentId, &ConnectionId)| run.has(**agent);
        let attached = self.members.iter().filter(is_of_run);
        let attached: Vec<ConnectionId> = attached.map(|(_, at)| *at).collect();
        // From here on no other run chooses its agents.
        self.runs.add(Serving::Run(Box::new(run)));
        for at in attached {
            if let Some(agent) = self.remove_connection(at, out) {
                self.leave_gathering(now, &agent, out);
            }
            out.close(at);
        }
    }

    /// Handles an agent that joined while runs wait for agents: the oldest of them gets it.
    fn gather(&mut self, now: FleetTime, at: ConnectionId, agent: AgentId, out: &mut Actions) {
        let waiting: Vec<RunId> = self.runs.gatherings_mut().map(|it| it.run()).collect();
        for run in &waiting {
            self.tell_misfit(*run, at, out);
        }
        if self.free.values().any(|free| *free == agent)
            && let Some(run) = waiting.first()
        {
            self.refill(now, *run, out);
        }
    }

    fn refill_all(&mut self, now: FleetTime, out: &mut Actions) {
        let waiting: Vec<RunId> = self.runs.gatherings_mut().map(|it| it.run()).collect();
        waiting
            .into_iter()
            .for_each(|run| self.refill(now, run, out));
    }

    /// Fills a run that waits for agents from the free ones, in the order in which they joined.
    fn refill(&mut self, now: FleetTime, run: RunId, out: &mut Actions) {
        let Some(room) = self.runs.gathering(run).map(|gathering| gathering.room()) else {
            return;
        };
        let chosen: Vec<AgentFacts> = self.spare().take(room).cloned().collect();
        let Some(gathering) = self.runs.gathering(run) else {
            return;
        };
        chosen.iter().for_each(|agent| gathering.add(agent, out));
        gathering.tell(out);
        if gathering.room() == 0 {
            self.begin_gathered(now, run, out);
        }
    }

    /// Agents that serve no run and are chosen for none, in the order in which they joined.
    fn spare(&self) -> impl Iterator<Item = &AgentFacts> {
        let free = self
            .free
            .values()
            .filter(|agent| !self.runs.has_agent(**agent));
        free.filter_map(|agent| Some(&self.member(*self.members.get(agent)?)?.facts))
    }

    fn member(&self, at: ConnectionId) -> Option<&Member> {
        self.connections.get(&at)?.member.as_ref()
    }

    /// Reports to a run an agent that cannot serve it.
    fn tell_misfit(&self, run: RunId, at: ConnectionId, out: &mut Actions) {
        if let Some(text) = self.member(at).and_then(|member| member.misfit.clone()) {
            let event = RunEvent::Note {
                agent: None,
                event: "version".to_owned(),
                text,
            };
            out.tell(run, event);
        }
    }

    /// Begins a run that has all its agents.
    fn begin_gathered(&mut self, now: FleetTime, run: RunId, out: &mut Actions) {
        let Some(gathering) = self.runs.take_gathering(run) else {
            return;
        };
        let (request, chosen) = gathering.into_parts();
        let attached = |agent: &AgentId| {
            let at = *self.members.get(agent)?;
            Some((self.member(at)?.facts.clone(), at))
        };
        let agents: Vec<_> = chosen.iter().filter_map(attached).collect();
        let run = FleetRun::begin(request, agents, now, out);
        self.runs.add(Serving::Run(Box::new(run)));
        self.tell_spare_agents(chosen.len(), out);
    }

    fn tell_spare_agents(&self, chosen: usize, out: &mut Actions) {
        let spare: Vec<AgentId> = self.spare().map(|agent| agent.id).collect();
        let text = format!(
            "{chosen} of {} agents were asked for; this agent waits for the next run",
            chosen + spare.len()
        );
        for at in spare.iter().filter_map(|agent| self.members.get(agent)) {
            out.send(*at, Down::Notice(Notice { text: text.clone() }));
        }
    }

    /// Records what came of asking for a token, and passes it on.
    fn take_token(&mut self, now: FleetTime, run: RunId, report: TokenReport, out: &mut Actions) {
        if !self.serves(run) {
            return; // it is over
        }
        match report {
            TokenReport::Came(token) => {
                tell_asked(run, token.place, true, out);
                if let Some(run) = self.runs.run(run) {
                    run.put_token(now, token, out);
                } else if let Some(gathering) = self.runs.gathering(run) {
                    gathering.put_token(token);
                }
            }
            TokenReport::Missed { place, told } => {
                tell_asked(run, place, false, out);
                if let Some(text) = told {
                    let event = "token".to_owned();
                    let agent = None;
                    out.tell(run, RunEvent::Note { agent, event, text });
                }
            }
        }
    }

    fn stop(&mut self, now: FleetTime, run: RunId, how: Stop, out: &mut Actions) {
        if let Some(run) = self.runs.run(run) {
            run.stop(now, how, out);
        } else if self.runs.has(run) {
            self.give_up(now, run, RunOutcome::StoppedBeforeStart(how), out);
        }
    }

    /// Gives up a run that waits for agents, and offers those that it has chosen to the others.
    fn give_up(&mut self, now: FleetTime, run: RunId, outcome: RunOutcome, out: &mut Actions) {
        self.runs.remove(run);
        out.tell(run, RunEvent::Done { outcome });
        self.refill_all(now, out);
    }

    fn is_tick_late(&self, now: FleetTime) -> bool {
        let last = self.last_tick;
        last.is_some_and(|last| now.since(last.at) > LATE_TICK)
    }

    /// Whether this side stood still until now: the next tick is late, and the one before was in
    /// time. If it is late each time, only the first counts.
    fn has_stood_still(&self, now: FleetTime) -> bool {
        self.is_tick_late(now) && self.last_tick.is_some_and(|last| !last.is_late)
    }

    fn note_standstill(&mut self, now: FleetTime) {
        let runs = self.runs.runs_mut();
        runs.for_each(|run| run.note_standstill(now));
    }

    fn tick(&mut self, now: FleetTime, out: &mut Actions) {
        let (stood_still, is_late) = (self.has_stood_still(now), self.is_tick_late(now));
        self.last_tick = Some(LastTick { at: now, is_late });
        if stood_still {
            // It has yet to read what agents sent meanwhile.
            return self.note_standstill(now);
        }
        // Until its lease has expired an agent may fire, so it counts as present until then.
        let silence_max = self.runs.lease_max().saturating_add(Duration::from_secs(1));
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
            self.on_close(now, at, Departure::Silent, why, out);
            out.close(at);
        }
        self.runs.runs_mut().for_each(|run| run.tick(now, out));
        let too_late = |gathering: &mut Gathering| {
            let outcome = gathering.too_late(now)?;
            Some((gathering.run(), outcome))
        };
        let given_up: Vec<_> = self.runs.gatherings_mut().filter_map(too_late).collect();
        for (run, outcome) in given_up {
            // One that was given up before it may have left it the agents that it waited for.
            if self.runs.gathering(run).is_some() {
                self.give_up(now, run, outcome, out);
            }
        }
    }
}

/// Records that the tokens came which a run has before it begins.
fn tell_first_tokens(request: &RunRequest, out: &mut Actions) {
    for token in &request.tokens {
        tell_asked(request.run, token.place, true, out);
    }
}

fn tell_asked(run: RunId, place: u32, came: bool, out: &mut Actions) {
    out.tell(run, RunEvent::TokenAsked { place, came });
}
