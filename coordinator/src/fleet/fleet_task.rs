//! The task that owns the fleet: one loop that turns events into actions.

use super::agent_messages::AgentMessages;
use super::downstream::DownstreamItem;
use super::fleet_clock::{clock_id, now};
use super::handle::{FleetCommand, RunRefused, TakenEvent};
use super::quitting::quit;
use super::service::Attached;
use control::{
    ConnectionId, CoordinatorId, Fleet, FleetAction, FleetEvent, Receipt, Stop, TICK, Versions,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use tonic::Status;

/// Room for messages from all agents that wait for the task. If it falls behind, HTTP/2 holds the
/// agents back.
const INBOX_MAX: usize = 64;

/// The fleet, the streams to its agents, and the caller that asked for the current run.
pub(super) struct FleetTask {
    fleet: Fleet,
    attached: mpsc::Receiver<Attached>,
    commands: mpsc::Receiver<FleetCommand>,
    stored: mpsc::Receiver<Vec<Receipt>>,
    quitting: watch::Receiver<bool>,
    inbox: mpsc::Receiver<FleetEvent>,
    inbox_sender: mpsc::Sender<FleetEvent>,
    readers: JoinSet<()>,
    outgoing: BTreeMap<ConnectionId, mpsc::Sender<DownstreamItem>>,
    caller: Option<Caller>,
    rest: RestOfRun,
}

/// The caller that asked for the run, and the events that it has not taken yet. Uploads are bounded
/// by what agents send without an acknowledgement, which comes when the caller has stored it.
struct Caller {
    events: mpsc::Sender<TakenEvent>,
    waiting: VecDeque<TakenEvent>,
    wants_rest: Arc<AtomicBool>,
}

/// The fate of events that come when the caller is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RestOfRun {
    /// They are not wanted: agents need not keep what is in them.
    Discarded,
    /// They were not stored, and agents keep what is in them.
    Kept,
}

/// The inputs that wake the task's loop.
enum FleetInput {
    Fleet(FleetEvent),
    Attached(Attached),
    FleetCommand(FleetCommand),
    /// The caller took an event.
    Taken,
    /// The caller stored what came with these receipts.
    Stored(Vec<Receipt>),
    /// The caller dropped its end.
    CallerGone,
    Quit,
}

impl FleetTask {
    pub(super) fn new(
        id: CoordinatorId,
        attached: mpsc::Receiver<Attached>,
        commands: mpsc::Receiver<FleetCommand>,
        stored: mpsc::Receiver<Vec<Receipt>>,
        quitting: watch::Receiver<bool>,
    ) -> FleetTask {
        let (inbox_sender, inbox) = mpsc::channel(INBOX_MAX);
        FleetTask {
            fleet: fleet(id),
            attached,
            commands,
            stored,
            quitting,
            inbox,
            inbox_sender,
            readers: JoinSet::new(),
            outgoing: BTreeMap::new(),
            caller: None,
            rest: RestOfRun::Discarded,
        }
    }

    /// Runs until it is asked to quit.
    pub(super) async fn run(mut self) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let input = tokio::select! {
                () = quit(&mut self.quitting) => FleetInput::Quit,
                Some(event) = self.inbox.recv() => FleetInput::Fleet(event),
                Some(attached) = self.attached.recv() => FleetInput::Attached(attached),
                Some(command) = self.commands.recv() => FleetInput::FleetCommand(command),
                Some(receipts) = self.stored.recv() => FleetInput::Stored(receipts),
                input = hand_over(&mut self.caller) => input,
                _ = ticks.tick() => FleetInput::Fleet(FleetEvent::Tick),
                Some(_) = self.readers.join_next() => continue,
            };
            match input {
                FleetInput::Quit => break,
                input => self.take(input),
            }
        }
        self.outgoing.clear();
        self.readers.shutdown().await;
    }

    fn take(&mut self, input: FleetInput) {
        match input {
            FleetInput::Fleet(event) => self.on(event),
            FleetInput::Attached(attached) => self.attach(attached),
            FleetInput::FleetCommand(FleetCommand::Run {
                request,
                history,
                events,
                wants_rest,
                taken,
            }) => {
                let caller = Caller {
                    events,
                    waiting: VecDeque::new(),
                    wants_rest,
                };
                let event = match history {
                    Some(history) => FleetEvent::Resume(*request, history),
                    None => FleetEvent::Run(*request),
                };
                self.begin(event, caller, taken);
            }
            FleetInput::FleetCommand(FleetCommand::Stop(how)) => self.on(FleetEvent::Stop(how)),
            FleetInput::Taken => self.taken(),
            FleetInput::Stored(receipts) => receipts
                .into_iter()
                .for_each(|receipt| self.on(FleetEvent::Delivered(receipt))),
            FleetInput::CallerGone => self.caller_gone(),
            FleetInput::Quit => {}
        }
    }

    fn taken(&mut self) {
        // The run is not over for the caller before it has the last event.
        let has_all = |caller: &mut Caller| caller.waiting.is_empty();
        if self.fleet.is_idle() {
            self.caller.take_if(has_all);
        }
    }

    fn caller_gone(&mut self) {
        // Only the first time counts.
        let Some(caller) = self.caller.take() else {
            return;
        };
        self.rest = if caller.wants_rest.load(Ordering::Relaxed) {
            RestOfRun::Kept
        } else {
            RestOfRun::Discarded
        };
        let receipts = caller
            .waiting
            .into_iter()
            .filter_map(|(_, receipt)| receipt);
        for receipt in receipts {
            if let Some(event) = self.unwanted(receipt) {
                self.on(event);
            }
        }
        self.on(FleetEvent::Stop(Stop::Now));
    }

    /// The event that follows if no caller takes what came with `receipt`.
    fn unwanted(&self, receipt: Receipt) -> Option<FleetEvent> {
        (self.rest == RestOfRun::Discarded).then_some(FleetEvent::Delivered(receipt))
    }

    fn attach(&mut self, attached: Attached) {
        self.outgoing.insert(attached.at, attached.outgoing);
        self.readers.spawn(read(
            attached.at,
            attached.incoming,
            self.inbox_sender.clone(),
        ));
        self.on(FleetEvent::Opened(attached.at));
    }

    fn begin(
        &mut self,
        event: FleetEvent,
        caller: Caller,
        taken: oneshot::Sender<Result<(), RunRefused>>,
    ) {
        let free = self.fleet.is_idle() && self.caller.is_none();
        let answer = if free { Ok(()) } else { Err(RunRefused::Busy) };
        // A caller that does not wait for the answer is noticed when it takes no events.
        let _ = taken.send(answer);
        if free {
            self.caller = Some(caller);
            self.rest = RestOfRun::Discarded;
            self.on(event);
        }
    }

    /// Handles an event, and the events that this causes at once.
    fn on(&mut self, event: FleetEvent) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            for action in self.fleet.on(now(), event) {
                events.extend(self.act(action));
            }
        }
    }

    /// Carries out an action, and returns the event that it causes at once, such as the end of a
    /// stream that takes nothing any more.
    fn act(&mut self, action: FleetAction) -> Option<FleetEvent> {
        match action {
            FleetAction::Send(at, message) => {
                self.send(at, DownstreamItem::Message(Box::new(message)))
            }
            FleetAction::SendFiles(at, files) => self.send(at, DownstreamItem::Files(files)),
            FleetAction::Close(at) => {
                self.outgoing.remove(&at);
                None
            }
            FleetAction::Deliver(event, receipt) => match &mut self.caller {
                Some(caller) => {
                    caller.waiting.push_back((event, receipt));
                    None
                }
                None => receipt.and_then(|receipt| self.unwanted(receipt)),
            },
        }
    }

    fn send(&mut self, at: ConnectionId, outgoing: DownstreamItem) -> Option<FleetEvent> {
        let sender = self.outgoing.get(&at)?;
        // Never wait here: an agent that does not read must not hold up the leases of others.
        let error = sender.try_send(outgoing).err()?;
        self.outgoing.remove(&at);
        let why = match error {
            mpsc::error::TrySendError::Full(_) => "it does not take what is sent to it",
            mpsc::error::TrySendError::Closed(_) => "its stream is gone",
        };
        Some(FleetEvent::Closed(at, why.to_owned()))
    }
}

/// Waits until the caller has room for the next event, if there is one, and passes it on.
async fn hand_over(caller: &mut Option<Caller>) -> FleetInput {
    let Some(caller) = caller else {
        return std::future::pending().await;
    };
    if caller.waiting.is_empty() {
        caller.events.closed().await;
        return FleetInput::CallerGone;
    }
    let Ok(permit) = caller.events.reserve().await else {
        return FleetInput::CallerGone;
    };
    let event = caller.waiting.pop_front();
    permit.send(event.expect("checked above, and nobody else takes"));
    FleetInput::Taken
}

/// Reads one agent's stream to its end.
async fn read(at: ConnectionId, mut incoming: AgentMessages, inbox: mpsc::Sender<FleetEvent>) {
    let why = loop {
        match incoming.message().await {
            Ok(Some(message)) => {
                if inbox.send(FleetEvent::Received(at, message)).await.is_err() {
                    return;
                }
            }
            Ok(None) => break "it left".to_owned(),
            Err(status) => break reason(&status),
        }
    };
    // A task that has ended needs no news.
    let _ = inbox.send(FleetEvent::Closed(at, why)).await;
}

fn reason(status: &Status) -> String {
    format!("its stream broke: {}", status.message())
}

/// Makes the fleet. Agents keep what they know of its clock as long as this machine runs.
fn fleet(id: CoordinatorId) -> Fleet {
    let fleet = Fleet::new(id, versions());
    match clock_id() {
        Some(clock) => fleet.with_clock(clock),
        None => fleet,
    }
}

/// The versions that agents must share with this program to serve its runs.
fn versions() -> Versions {
    Versions {
        program: env!("CARGO_PKG_VERSION").to_owned(),
        encoding: measure::ENCODING,
        language: plan::LANGUAGE,
    }
}
