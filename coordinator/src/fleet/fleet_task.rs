//! The task that owns the fleet: one loop that turns events into actions.

use super::agent_messages::AgentMessages;
use super::downstream::DownstreamItem;
use super::fleet_clock::{clock_id, now};
use super::handle::{FleetCommand, RunRefused, TakenEvent};
use super::quitting::quit;
use super::service::Attached;
use control::{
    ConnectionId, CoordinatorId, Fleet, FleetAction, FleetEvent, Receipt, RunEvent, RunId,
    RunModel, RunRequest, Stop, TICK, Versions,
};
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use tonic::Status;

/// Room for messages from all agents that wait for the task. If it falls behind, HTTP/2 holds the
/// agents back.
const INBOX_MAX: usize = 64;

/// The fleet, the streams to its agents, and the callers that asked for its runs.
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
    callers: BTreeMap<RunId, RunCaller>,
}

/// The caller that asked for a run.
enum RunCaller {
    Listening(EventReceiver),
    /// It takes no more events.
    Gone(RestOfRun),
}

/// A caller that listens, and the events that it has not taken yet. Uploads are bounded by what
/// agents send without an acknowledgement, which comes when the caller has stored it.
struct EventReceiver {
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
    /// The caller of this run took an event.
    Taken(RunId),
    /// The caller stored what came with these receipts.
    Stored(Vec<Receipt>),
    /// The caller of this run dropped its end.
    CallerGone(RunId),
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
            callers: BTreeMap::new(),
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
                input = hand_over(&mut self.callers) => input,
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
            FleetInput::Fleet(event) => {
                if let FleetEvent::Closed(at, _) = &event {
                    // Nothing is sent there any more.
                    self.outgoing.remove(at);
                }
                self.on(event);
            }
            FleetInput::Attached(attached) => self.attach(attached),
            FleetInput::FleetCommand(FleetCommand::Run {
                request,
                past,
                events,
                wants_rest,
                taken,
            }) => {
                let listener = EventReceiver {
                    events,
                    waiting: VecDeque::new(),
                    wants_rest,
                };
                // A caller that does not wait for the answer is noticed when it takes no events.
                let _ = taken.send(self.begin(*request, past, listener));
            }
            FleetInput::FleetCommand(FleetCommand::Token(run, report)) => {
                self.on(FleetEvent::Token(run, report));
            }
            FleetInput::FleetCommand(FleetCommand::Stop(run, how)) => {
                self.on(FleetEvent::Stop(run, how));
            }
            FleetInput::Taken(run) => self.taken(run),
            FleetInput::Stored(receipts) => receipts
                .into_iter()
                .for_each(|receipt| self.on(FleetEvent::Delivered(receipt))),
            FleetInput::CallerGone(run) => self.caller_gone(run),
            FleetInput::Quit => {}
        }
    }

    fn taken(&mut self, run: RunId) {
        // The run is not over for the caller before it has the last event.
        if let Some(RunCaller::Listening(listener)) = self.callers.get(&run)
            && listener.waiting.is_empty()
            && !self.fleet.serves(run)
        {
            self.callers.remove(&run);
        }
    }

    fn caller_gone(&mut self, run: RunId) {
        // Only the first time counts.
        let Some(RunCaller::Listening(listener)) = self.callers.remove(&run) else {
            return;
        };
        let rest = if listener.wants_rest.load(Ordering::Relaxed) {
            RestOfRun::Kept
        } else {
            RestOfRun::Discarded
        };
        self.callers.insert(run, RunCaller::Gone(rest));
        let receipts = listener
            .waiting
            .into_iter()
            .filter_map(|(_, receipt)| receipt);
        for receipt in receipts {
            if let Some(event) = unwanted(rest, receipt) {
                self.on(event);
            }
        }
        self.on(FleetEvent::Stop(run, Stop::Now));
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
        past: Option<Box<RunModel>>,
        listener: EventReceiver,
    ) -> Result<(), RunRefused> {
        let run = request.run;
        let is_free = match &past {
            Some(past) => self.fleet.can_resume(run, past),
            None => !self.fleet.serves(run),
        };
        if !is_free || self.callers.contains_key(&run) {
            return Err(RunRefused::Busy);
        }
        self.callers.insert(run, RunCaller::Listening(listener));
        self.on(match past {
            Some(past) => FleetEvent::Resume(request, past),
            None => FleetEvent::Run(request),
        });
        Ok(())
    }

    /// Handles an event, and the events that this causes at once.
    fn on(&mut self, event: FleetEvent) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            for action in self.fleet.on(now(), event) {
                events.extend(self.act(action));
            }
        }
        let fleet = &self.fleet;
        let is_wanted = |run: &RunId, caller: &mut RunCaller| {
            matches!(caller, RunCaller::Listening(_)) || fleet.serves(*run)
        };
        self.callers.retain(is_wanted);
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
                if let Some(stream) = self.outgoing.remove(&at) {
                    // If this has no room, the stream ends without a word.
                    let _ = stream.try_send(DownstreamItem::DialAgain);
                }
                None
            }
            FleetAction::Deliver(run, event, receipt) => self.deliver(run, event, receipt),
        }
    }

    fn deliver(
        &mut self,
        run: RunId,
        event: RunEvent,
        receipt: Option<Receipt>,
    ) -> Option<FleetEvent> {
        match self.callers.get_mut(&run)? {
            RunCaller::Listening(listener) => {
                listener.waiting.push_back((event, receipt));
                None
            }
            RunCaller::Gone(rest) => unwanted(*rest, receipt?),
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

/// The event that follows if no caller takes what came with `receipt`.
fn unwanted(rest: RestOfRun, receipt: Receipt) -> Option<FleetEvent> {
    (rest == RestOfRun::Discarded).then_some(FleetEvent::Delivered(receipt))
}

/// Waits until a caller has room for the next event of its run, if there is one, and passes it on.
async fn hand_over(callers: &mut BTreeMap<RunId, RunCaller>) -> FleetInput {
    let listening = callers.iter_mut().filter_map(|(run, caller)| match caller {
        RunCaller::Listening(listener) => Some(Box::pin(listener.hand_over(*run))),
        RunCaller::Gone(_) => None,
    });
    let mut waits: Vec<_> = listening.collect();
    poll_fn(|context| {
        let mut inputs = waits.iter_mut().map(|wait| wait.as_mut().poll(context));
        inputs.find(Poll::is_ready).unwrap_or(Poll::Pending)
    })
    .await
}

impl EventReceiver {
    async fn hand_over(&mut self, run: RunId) -> FleetInput {
        if self.waiting.is_empty() {
            self.events.closed().await;
            return FleetInput::CallerGone(run);
        }
        let Ok(permit) = self.events.reserve().await else {
            return FleetInput::CallerGone(run);
        };
        let event = self.waiting.pop_front();
        permit.send(event.expect("it was checked above, and this is the only taker"));
        FleetInput::Taken(run)
    }
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
