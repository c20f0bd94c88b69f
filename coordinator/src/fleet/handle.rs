//! The caller's side of the fleet: asks for runs, and stops them.

use control::{PLAN_MAX_BYTES, Receipt, RunEvent, RunId, RunModel, RunRequest, Stop, TokenReport};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

/// Room for events that wait for the caller. What agents deliver is acknowledged only when the
/// caller has stored it, so a slow caller holds the agents' uploads back, but not their leases.
pub(super) const EVENTS_MAX: usize = 64;

/// Room for commands that wait for the fleet's task, which takes them at once.
pub(super) const COMMANDS_MAX: usize = 8;

/// Room for batches of receipts that wait for the fleet's task, which takes them at once.
const STORED_MAX: usize = 64;

/// A request to the task that owns the fleet.
pub(super) enum FleetCommand {
    /// Begins a run; the answer says whether it was taken.
    Run {
        request: Box<RunRequest>,
        /// The run as its record tells it, if another coordinator began it.
        past: Option<Box<RunModel>>,
        events: mpsc::Sender<TakenEvent>,
        wants_rest: Arc<AtomicBool>,
        taken: oneshot::Sender<Result<(), RunRefused>>,
    },
    /// What came of asking for a token of this run.
    Token(RunId, TokenReport),
    /// Ends this run early.
    Stop(RunId, Stop),
}

/// An event, with a receipt if an agent keeps what is in it until the receipt is returned.
pub type TakenEvent = (RunEvent, Option<Receipt>);

/// A fleet that listens. Agents stay attached from run to run.
#[derive(Debug)]
pub struct FleetHandle {
    pub(super) address: SocketAddr,
    pub(super) commands: mpsc::Sender<FleetCommand>,
    pub(super) stored: ReceiptSender,
    pub(super) quit: watch::Sender<bool>,
    pub(super) tasks: Vec<JoinHandle<()>>,
}

impl FleetHandle {
    /// The address at which agents join.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the sender for receipts of events that are stored.
    #[must_use]
    pub fn receipts(&self) -> ReceiptSender {
        self.stored.clone()
    }

    /// Returns the sender for tokens of runs.
    #[must_use]
    pub fn tokens(&self) -> TokenSender {
        TokenSender(self.commands.clone())
    }

    /// Begins a run, as soon as enough agents serve no other. Dropping the events stops it at once.
    ///
    /// # Errors
    /// The run is going on already, or the request cannot be a run.
    pub async fn run(&self, request: RunRequest) -> Result<RunEvents, RunRefused> {
        self.begin(request, None).await
    }

    /// Resumes a run that another coordinator began; otherwise like [`FleetHandle::run`].
    ///
    /// # Errors
    /// See [`FleetHandle::run`]; an agent of it may also serve another run by now.
    pub async fn resume(
        &self,
        request: RunRequest,
        past: RunModel,
    ) -> Result<RunEvents, RunRefused> {
        self.begin(request, Some(Box::new(past))).await
    }

    async fn begin(
        &self,
        request: RunRequest,
        past: Option<Box<RunModel>>,
    ) -> Result<RunEvents, RunRefused> {
        check(&request)?;
        let (events, receiver) = mpsc::channel(EVENTS_MAX);
        let (taken, answer) = oneshot::channel();
        let wants_rest = Arc::new(AtomicBool::new(false));
        let run = request.run;
        let command = FleetCommand::Run {
            request: Box::new(request),
            past,
            events,
            wants_rest: Arc::clone(&wants_rest),
            taken,
        };
        self.commands
            .send(command)
            .await
            .map_err(|_| RunRefused::FleetEnded)?;
        answer.await.map_err(|_| RunRefused::FleetEnded)??;
        Ok(RunEvents {
            run,
            commands: self.commands.clone(),
            receiver,
            wants_rest,
            receipts: self.receipts(),
        })
    }

    /// Lets the agents go and ends every task; an agent that fires goes on for one lease at most.
    /// Takes two seconds at most.
    pub async fn shut_down(self) {
        self.quit.send_replace(true);
        for task in self.tasks {
            // A task that panicked has already reported it.
            let _ = task.await;
        }
    }
}

/// The events of one run, in order; the last is [`RunEvent::Done`]. Dropping them discards what has
/// not come yet: agents need not keep it.
#[derive(Debug)]
pub struct RunEvents {
    run: RunId,
    commands: mpsc::Sender<FleetCommand>,
    receiver: mpsc::Receiver<TakenEvent>,
    wants_rest: Arc<AtomicBool>,
    receipts: ReceiptSender,
}

impl RunEvents {
    /// The run they belong to.
    #[must_use]
    pub fn run(&self) -> RunId {
        self.run
    }

    /// Returns the next event; `None` after the last, or when the fleet was shut down. An agent
    /// keeps what comes with a receipt until the receipt is returned.
    pub async fn next(&mut self) -> Option<TakenEvent> {
        self.receiver.recv().await
    }

    /// Ends the run early; its events go on to [`RunEvent::Done`].
    pub async fn stop(&self, how: Stop) {
        // A fleet that has ended has no run.
        let _ = self.commands.send(FleetCommand::Stop(self.run, how)).await;
    }

    /// Returns the sender for receipts of events that are stored.
    #[must_use]
    pub fn receipts(&self) -> ReceiptSender {
        self.receipts.clone()
    }

    /// Takes no more events, and leaves with the agents what was not stored.
    pub fn leave(self) {
        self.wants_rest.store(true, Ordering::Relaxed);
    }
}

/// Passes tokens on to the agents of a run.
#[derive(Debug, Clone)]
pub struct TokenSender(mpsc::Sender<FleetCommand>);

impl TokenSender {
    /// Passes on what came of asking for a token of `run`.
    pub async fn send(&self, run: RunId, report: TokenReport) {
        // A fleet that has ended has no run.
        let _ = self.0.send(FleetCommand::Token(run, report)).await;
    }
}

/// Returns receipts to the fleet: what came with them is stored, so agents can forget it.
#[derive(Debug, Clone)]
pub struct ReceiptSender(mpsc::Sender<Vec<Receipt>>);

impl ReceiptSender {
    /// A sender, and the channel that its receipts come out of.
    pub(crate) fn new() -> (ReceiptSender, mpsc::Receiver<Vec<Receipt>>) {
        let (stored, receipts) = mpsc::channel(STORED_MAX);
        (ReceiptSender(stored), receipts)
    }

    /// A sender whose receipts are dropped.
    pub(crate) fn nowhere() -> ReceiptSender {
        ReceiptSender::new().0
    }

    /// Returns the receipts of what is stored.
    pub async fn stored(&self, receipts: Vec<Receipt>) {
        // A fleet that has ended acknowledges nothing.
        let _ = self.0.send(receipts).await;
    }

    /// The same from a thread that may block: the fleet's task always takes receipts.
    pub fn stored_blocking(&self, receipts: Vec<Receipt>) {
        if !receipts.is_empty() {
            // As above.
            let _ = self.0.blocking_send(receipts);
        }
    }
}

/// Why a run was not begun.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunRefused {
    /// The run is going on already, or one of its agents serves another.
    #[error("the run or one of its agents is busy; wait for the last event of the run")]
    Busy,
    /// A plan travels in one message.
    #[error(
        "the plan's canonical text is {bytes} bytes; at most {PLAN_MAX_BYTES} go over the wire: \
         move bodies and rows into files"
    )]
    PlanTooLarge {
        /// Its size.
        bytes: usize,
    },
    /// There would be no agent to run it.
    #[error("a run needs at least one agent")]
    NoAgents,
    /// The fleet was shut down.
    #[error("the fleet was shut down")]
    FleetEnded,
}

fn check(request: &RunRequest) -> Result<(), RunRefused> {
    if request.plan.reveal().len() > PLAN_MAX_BYTES {
        return Err(RunRefused::PlanTooLarge {
            bytes: request.plan.reveal().len(),
        });
    }
    if request.agents == 0 {
        return Err(RunRefused::NoAgents);
    }
    Ok(())
}
