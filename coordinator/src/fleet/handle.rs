//! What the caller holds: it asks for runs, one after another, and stops them.

use control::{PLAN_MAX_BYTES, RunEvent, RunRequest, Stop};
use std::net::SocketAddr;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

/// Events that wait for the caller. What agents deliver is acknowledged only when the caller has
/// room for it, so a slow caller holds the agents' uploads back, but not their leases.
pub(super) const EVENTS_MAX: usize = 64;

/// Commands that wait for the fleet's task; it takes them at once.
pub(super) const COMMANDS_MAX: usize = 8;

/// What the caller asks of the task that owns the fleet.
pub(super) enum FleetCommand {
    /// Begin a run; the answer says whether it was taken.
    Run {
        request: RunRequest,
        events: mpsc::Sender<RunEvent>,
        taken: oneshot::Sender<Result<(), RunRefused>>,
    },
    /// End the current run early.
    Stop(Stop),
}

/// A fleet that listens. Agents stay attached from run to run.
#[derive(Debug)]
pub struct FleetHandle {
    pub(super) address: SocketAddr,
    pub(super) commands: mpsc::Sender<FleetCommand>,
    pub(super) quit: watch::Sender<bool>,
    pub(super) tasks: Vec<JoinHandle<()>>,
}

impl FleetHandle {
    /// Where agents join.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Begins a run. Dropping the events stops it at once.
    ///
    /// # Errors
    /// When a run is going on, or the request cannot be one.
    pub async fn run(&self, request: RunRequest) -> Result<RunEvents, RunRefused> {
        check(&request)?;
        let (events, receiver) = mpsc::channel(EVENTS_MAX);
        let (taken, answer) = oneshot::channel();
        let command = FleetCommand::Run {
            request,
            events,
            taken,
        };
        self.commands
            .send(command)
            .await
            .map_err(|_| RunRefused::FleetEnded)?;
        answer.await.map_err(|_| RunRefused::FleetEnded)??;
        Ok(RunEvents { receiver })
    }

    /// Ends the current run early, if there is one; its events go on to [`RunEvent::Done`].
    pub async fn stop(&self, how: Stop) {
        // A fleet that has ended has no run.
        let _ = self.commands.send(FleetCommand::Stop(how)).await;
    }

    /// Lets the agents go and ends every task; an agent that fires goes on for at most a lease.
    /// Takes two seconds at most.
    pub async fn shut_down(self) {
        self.quit.send_replace(true);
        for task in self.tasks {
            // A task that panicked has said so.
            let _ = task.await;
        }
    }
}

/// The events of one run, in order; the last is [`RunEvent::Done`].
#[derive(Debug)]
pub struct RunEvents {
    receiver: mpsc::Receiver<RunEvent>,
}

impl RunEvents {
    /// The next event; nothing after the last, or when the fleet was shut down.
    pub async fn next(&mut self) -> Option<RunEvent> {
        self.receiver.recv().await
    }
}

/// Why a run was not begun.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunRefused {
    /// One at a time.
    #[error("another run is going on; wait for its last event")]
    Busy,
    /// It travels in one message.
    #[error(
        "the plan's canonical text is {bytes} bytes; at most {PLAN_MAX_BYTES} go over the wire: \
         move bodies and rows into files"
    )]
    PlanTooLarge {
        /// What it is.
        bytes: usize,
    },
    /// Nobody would run it.
    #[error("a run needs at least one agent")]
    NoAgents,
    /// It was shut down.
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
