//! The loop that drives a session: clocks, stream and runner provide its events, and it carries out
//! what the session asks for.

use super::dial::{Dialler, Haste, OpenStream};
use super::spool::Spool;
use super::{LinkConfig, LinkEnd, Quit, clocks};
use control::{
    AgentFacts, AgentId, Disconnection, Finality, News, Order, Report, Session, SessionAction,
    SessionEvent,
};
use proto::{FromAgent, FromCoordinator, IntervalPart};
use secret::{NoRandomness, random};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tonic::Status;

/// Why a link ended, unless it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The coordinator does not want this agent; a sentence that names the cure.
    #[error("{0}")]
    Refused(String),
    /// TLS could not be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// There was no randomness for the agent's id.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    /// The runner is gone, or takes no more orders.
    #[error(
        "the load engine's thread has ended or hangs; nothing can be fired from here, start the \
         agent again"
    )]
    RunnerGone,
}

/// Stays attached to the coordinator, run after run, and dials again whenever the stream is gone.
///
/// `say` receives the news for the user. Each message on `quit` asks for the end once: without a
/// run the link ends at once; in a run the load is stopped, what is held is uploaded for a while,
/// and a second message cuts that short. A `quit` whose sender is gone asks for nothing.
///
/// # Errors
/// If the coordinator refuses this agent for good, or the runner is gone.
pub async fn run(
    config: LinkConfig,
    end: LinkEnd,
    say: impl FnMut(News),
    quit: mpsc::Receiver<Quit>,
) -> Result<(), LinkError> {
    let facts = AgentFacts {
        id: AgentId(random()?),
        name: config.identity.name,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        labels: config.identity.labels,
        workers: config.identity.workers,
        host: config.identity.host,
        role: config.identity.role,
        calibration: config.identity.calibration,
    };
    let seed = u64::from_ne_bytes(random()?);
    let mut session = Session::new(facts, seed)
        .with_versions(config.identity.encoding, config.identity.language)
        .with_keep(config.keeping.keep)
        .with_stay(config.stay)
        .with_store(Box::new(Spool::new(config.keeping.spool)));
    if let Some(files) = config.keeping.files {
        session = session.with_stored_files(Box::new(files));
    }
    let driver = Driver {
        session,
        dialler: Arc::new(Dialler::new(config.coordinator, &config.token)?),
        dialling: None,
        stream: None,
        part: None,
        end,
        say,
        quit: Some(quit),
    };
    driver.run().await
}

struct Driver<S> {
    session: Session,
    dialler: Arc<Dialler>,
    dialling: Option<JoinHandle<Result<OpenStream, Disconnection>>>,
    stream: Option<OpenStream>,
    /// The part of an interval that is sent next, once there is room for it.
    part: Option<IntervalPart>,
    end: LinkEnd,
    say: S,
    quit: Option<mpsc::Receiver<Quit>>,
}

/// What the loop handles next.
enum LinkInput {
    Dialled(Result<OpenStream, Disconnection>),
    Incoming(Result<Option<FromCoordinator>, Status>),
    Report(Option<Report>),
    Quit(Option<Quit>),
    /// There is room for a part.
    Room,
    Time,
}

/// How a session ended.
type Ended = Result<(), LinkError>;

impl<S: FnMut(News)> Driver<S> {
    async fn run(mut self) -> Ended {
        loop {
            let input = self.next_input().await;
            if let Some(ended) = self.take(input) {
                // Dropping the handle would leave the task running.
                self.dialling.inspect(JoinHandle::abort);
                return ended;
            }
        }
    }

    async fn next_input(&mut self) -> LinkInput {
        let now = clocks::now();
        let wait = self.session.wake_at(now).since(now.mono);
        let takes_reports = self.session.takes_reports(now);
        let (incoming, outgoing) = match &mut self.stream {
            Some(stream) => (Some(&mut stream.incoming), Some(&stream.outgoing)),
            None => (None, None),
        };
        // Room matters only while a part waits for it.
        let parts = outgoing
            .filter(|_| self.part.is_some())
            .map(|outgoing| &outgoing.parts);
        tokio::select! {
            // A session that is due comes before anything else that could keep it from its lease.
            biased;
            () = tokio::time::sleep(wait.min(LONGEST_WAIT)) => LinkInput::Time,
            asked = some(self.quit.as_mut(), mpsc::Receiver::recv) => LinkInput::Quit(asked),
            message = some(incoming, |incoming| incoming.message()) => LinkInput::Incoming(message),
            dialled = some(self.dialling.as_mut(), |dialling| dialling) => {
                LinkInput::Dialled(dialled.unwrap_or_else(|error| Err(broken(&error.to_string()))))
            }
            report = self.end.reports.recv(), if takes_reports => LinkInput::Report(report),
            () = room(parts) => LinkInput::Room,
        }
    }

    fn take(&mut self, input: LinkInput) -> Option<Ended> {
        let event = match input {
            LinkInput::Dialled(dialled) => {
                self.dialling = None;
                match dialled {
                    Ok(stream) => {
                        self.stream = Some(stream);
                        SessionEvent::Connected
                    }
                    Err(disconnection) => SessionEvent::Disconnected(disconnection),
                }
            }
            LinkInput::Incoming(Ok(Some(message))) => SessionEvent::Received(message),
            LinkInput::Incoming(ended) => self.stream_ended(ended.err()),
            LinkInput::Report(Some(report)) => SessionEvent::Reported(report),
            LinkInput::Report(None) => return Some(Err(LinkError::RunnerGone)),
            // A run outlives the terminal that it was started from.
            LinkInput::Quit(Some(Quit::Hangup)) if self.session.is_needed() => SessionEvent::Tick,
            LinkInput::Quit(Some(_)) => SessionEvent::ShutDown,
            LinkInput::Quit(None) => {
                self.quit = None;
                SessionEvent::Tick
            }
            LinkInput::Room | LinkInput::Time => SessionEvent::Tick,
        };
        let ended = self.on(event);
        self.send_parts();
        let haste = self.haste();
        if let Some(stream) = &mut self.stream {
            stream.set_haste(haste);
        }
        ended
    }

    fn haste(&self) -> Haste {
        match self.session.is_leased(clocks::now()) {
            true => Haste::Leased,
            false => Haste::Usual,
        }
    }

    fn stream_ended(&mut self, status: Option<Status>) -> SessionEvent {
        self.drop_stream();
        let disconnection = status.map_or_else(
            || Disconnection {
                why: "the coordinator ended the stream".to_owned(),
                finality: Finality::Ended,
            },
            |status| {
                broken(&format!(
                    "the stream to the coordinator broke: {}",
                    status.message()
                ))
            },
        );
        SessionEvent::Disconnected(disconnection)
    }

    fn on(&mut self, event: SessionEvent) -> Option<Ended> {
        for action in self.session.on(clocks::now(), event) {
            match action {
                SessionAction::Connect => {
                    let dialler = Arc::clone(&self.dialler);
                    let haste = self.haste();
                    self.dialling = Some(tokio::spawn(async move { dialler.dial(haste).await }));
                }
                SessionAction::Send(message) => self.send(message),
                SessionAction::Disconnect => self.drop_stream(),
                SessionAction::Order(order) => {
                    if let Err(error) = self.order(order) {
                        return Some(Err(error));
                    }
                }
                SessionAction::Say(news) => (self.say)(news),
                SessionAction::Quit(None) => return Some(Ok(())),
                SessionAction::Quit(Some(why)) => return Some(Err(LinkError::Refused(why))),
            }
        }
        None
    }

    /// Sends a message. A stream that takes nothing is dead, which the session notices by the
    /// silence.
    fn send(&mut self, message: FromAgent) {
        if let Some(stream) = &self.stream {
            let _ = stream.outgoing.messages.try_send(message);
        }
    }

    fn order(&mut self, order: Order) -> Result<(), LinkError> {
        match self.end.orders.try_send(order) {
            // If a lease is not extended, it only ends earlier.
            Ok(()) | Err(mpsc::error::TrySendError::Full(Order::ExtendLease { .. })) => Ok(()),
            Err(_) => Err(LinkError::RunnerGone),
        }
    }

    /// Sends as many parts of intervals as there is room for.
    fn send_parts(&mut self) {
        while let Some(part) = self.part.take().or_else(|| self.session.next_part()) {
            // Without a stream the part is dropped: the next stream begins with what the
            // coordinator lacks.
            let Some(stream) = &self.stream else { return };
            if let Err(mpsc::error::TrySendError::Full(part)) = stream.outgoing.parts.try_send(part)
            {
                self.part = Some(part);
                return;
            }
        }
    }

    fn drop_stream(&mut self) {
        self.stream = None;
        self.part = None;
    }
}

/// A longer sleep is split: clocks differ, and timers have a last instant.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Waits on something if it is there, otherwise forever.
async fn some<'a, T, F, O>(there: Option<&'a mut T>, wait: impl FnOnce(&'a mut T) -> F) -> O
where
    T: ?Sized,
    F: Future<Output = O>,
{
    match there {
        Some(there) => wait(there).await,
        None => std::future::pending().await,
    }
}

/// Waits for room on a stream, or for its end; forever if there is no stream.
async fn room(parts: Option<&mpsc::Sender<IntervalPart>>) {
    match parts {
        // The end of the stream also shows on its other side.
        Some(parts) => drop(parts.reserve().await),
        None => std::future::pending().await,
    }
}

fn broken(why: &str) -> Disconnection {
    Disconnection {
        why: why.to_owned(),
        finality: Finality::Retry,
    }
}
