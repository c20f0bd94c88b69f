//! The task that owns the fleet: one loop that turns what happens into what to do.

use super::handle::{Command, RunRefused};
use super::outgoing::Outgoing;
use super::service::Attached;
use control::{
    ConnectionId, CoordinatorId, Fleet, FleetAction, FleetEvent, FleetTime, Receipt, RunEvent,
    RunRequest, Stop, TICK,
};
use proto::FromAgent;
use rustix::time::{ClockId, clock_gettime};
use std::collections::{BTreeMap, VecDeque};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use tonic::{Status, Streaming};

/// Messages from all agents that wait for the owner; when it is behind, HTTP/2 holds the agents
/// back.
const INBOX_MAX: usize = 64;

/// The fleet, the streams to its agents, and whoever asked for the current run.
pub(super) struct Owner {
    fleet: Fleet,
    attached: mpsc::Receiver<Attached>,
    commands: mpsc::Receiver<Command>,
    quitting: watch::Receiver<bool>,
    inbox: mpsc::Receiver<FleetEvent>,
    inbox_sender: mpsc::Sender<FleetEvent>,
    readers: JoinSet<()>,
    outgoing: BTreeMap<ConnectionId, mpsc::Sender<Outgoing>>,
    caller: Option<Caller>,
}

/// Whoever asked for the run, and what it has not taken yet. What agents upload is bounded by what
/// they send without an acknowledgement, which comes when the caller has taken it.
struct Caller {
    events: mpsc::Sender<RunEvent>,
    waiting: VecDeque<(RunEvent, Option<Receipt>)>,
}

/// What makes the owner's loop turn.
enum Turn {
    Fleet(FleetEvent),
    Attached(Attached),
    Command(Command),
    /// The caller took an event.
    Taken(Option<Receipt>),
    /// The caller dropped its end.
    CallerGone,
    Quit,
}

impl Owner {
    pub(super) fn new(
        id: CoordinatorId,
        attached: mpsc::Receiver<Attached>,
        commands: mpsc::Receiver<Command>,
        quitting: watch::Receiver<bool>,
    ) -> Owner {
        let (inbox_sender, inbox) = mpsc::channel(INBOX_MAX);
        Owner {
            fleet: Fleet::new(id, env!("CARGO_PKG_VERSION").to_owned()),
            attached,
            commands,
            quitting,
            inbox,
            inbox_sender,
            readers: JoinSet::new(),
            outgoing: BTreeMap::new(),
            caller: None,
        }
    }

    /// Until it is told to quit.
    pub(super) async fn run(mut self) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let turn = tokio::select! {
                () = super::quit(&mut self.quitting) => Turn::Quit,
                Some(event) = self.inbox.recv() => Turn::Fleet(event),
                Some(attached) = self.attached.recv() => Turn::Attached(attached),
                Some(command) = self.commands.recv() => Turn::Command(command),
                turn = hand_over(&mut self.caller) => turn,
                _ = ticks.tick() => Turn::Fleet(FleetEvent::Tick),
                Some(_) = self.readers.join_next() => continue,
            };
            match turn {
                Turn::Quit => break,
                turn => self.turn(turn),
            }
        }
        self.outgoing.clear();
        self.readers.shutdown().await;
    }

    fn turn(&mut self, turn: Turn) {
        match turn {
            Turn::Fleet(event) => self.on(event),
            Turn::Attached(attached) => self.attach(attached),
            Turn::Command(Command::Run {
                request,
                events,
                taken,
            }) => self.begin(request, events, taken),
            Turn::Command(Command::Stop(how)) => self.on(FleetEvent::Stop(how)),
            Turn::Taken(receipt) => {
                receipt
                    .into_iter()
                    .for_each(|receipt| self.on(FleetEvent::Delivered(receipt)));
                // Until the caller has the last event, the run is not over for it.
                if self.fleet.is_idle()
                    && self
                        .caller
                        .as_ref()
                        .is_some_and(|caller| caller.waiting.is_empty())
                {
                    self.caller = None;
                }
            }
            Turn::CallerGone => {
                let waiting = self
                    .caller
                    .take()
                    .map(|caller| caller.waiting)
                    .unwrap_or_default();
                let receipts = waiting.into_iter().filter_map(|(_, receipt)| receipt);
                receipts.for_each(|receipt| self.on(FleetEvent::Delivered(receipt)));
                self.on(FleetEvent::Stop(Stop::Now));
            }
            Turn::Quit => {}
        }
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
        request: RunRequest,
        events: mpsc::Sender<RunEvent>,
        taken: oneshot::Sender<Result<(), RunRefused>>,
    ) {
        let free = self.fleet.is_idle() && self.caller.is_none();
        let answer = if free { Ok(()) } else { Err(RunRefused::Busy) };
        // A caller that does not wait for the answer is seen when it takes no events.
        let _ = taken.send(answer);
        if free {
            self.caller = Some(Caller {
                events,
                waiting: VecDeque::new(),
            });
            self.on(FleetEvent::Run(request));
        }
    }

    fn on(&mut self, event: FleetEvent) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            for action in self.fleet.on(now(), event) {
                events.extend(self.act(action));
            }
        }
    }

    /// What comes of it at once: a stream that takes nothing any more is closed.
    fn act(&mut self, action: FleetAction) -> Option<FleetEvent> {
        match action {
            FleetAction::Send(at, message) => self.send(at, Outgoing::Message(Box::new(message))),
            FleetAction::SendFiles(at, files) => self.send(at, Outgoing::Files(files)),
            FleetAction::Close(at) => {
                self.outgoing.remove(&at);
                None
            }
            FleetAction::Deliver(event, receipt) => match &mut self.caller {
                Some(caller) => {
                    caller.waiting.push_back((event, receipt));
                    None
                }
                // Nobody wants it; the agent need not keep it.
                None => receipt.map(FleetEvent::Delivered),
            },
        }
    }

    fn send(&mut self, at: ConnectionId, outgoing: Outgoing) -> Option<FleetEvent> {
        let sender = self.outgoing.get(&at)?;
        let error = sender.try_send(outgoing).err()?;
        self.outgoing.remove(&at);
        let why = match error {
            mpsc::error::TrySendError::Full(_) => "it does not take what is sent to it",
            mpsc::error::TrySendError::Closed(_) => "its stream is gone",
        };
        Some(FleetEvent::Closed(at, why.to_owned()))
    }
}

/// Waits until the caller has room for the next event, if there is one, and gives it.
async fn hand_over(caller: &mut Option<Caller>) -> Turn {
    let Some(caller) = caller else {
        return std::future::pending().await;
    };
    if caller.waiting.is_empty() {
        caller.events.closed().await;
        return Turn::CallerGone;
    }
    let Ok(permit) = caller.events.reserve().await else {
        return Turn::CallerGone;
    };
    let (event, receipt) = caller
        .waiting
        .pop_front()
        .expect("checked above, and nobody else takes");
    permit.send(event);
    Turn::Taken(receipt)
}

/// Reads one agent's stream to its end.
async fn read(
    at: ConnectionId,
    mut incoming: Streaming<FromAgent>,
    inbox: mpsc::Sender<FleetEvent>,
) {
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
    // The owner that has ended needs no news.
    let _ = inbox.send(FleetEvent::Closed(at, why)).await;
}

fn reason(status: &Status) -> String {
    format!("its stream broke: {}", status.message())
}

/// This machine's CLOCK_MONOTONIC.
fn now() -> FleetTime {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or(0);
    FleetTime(seconds * 1_000_000_000 + nanoseconds)
}
