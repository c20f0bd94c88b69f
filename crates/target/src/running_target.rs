//! A target on threads of its own, stopped and joined when it is dropped.

use crate::accept_loop::accept;
use crate::alarm::Alarm;
use crate::counts::TargetTally;
use crate::service::Service;
use crate::{BindError, BoundTarget, Config, Counts};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// A target that serves on threads of its own. Dropping it cuts what is open and joins the threads.
pub struct RunningTarget {
    address: SocketAddr,
    url: String,
    ca_pem: Option<String>,
    tally: Arc<TargetTally>,
    /// Dropping one ends its thread's loop.
    stops: Vec<oneshot::Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

impl BoundTarget {
    /// Serves on threads of its own, as many as configured, each with a runtime of its own.
    ///
    /// # Errors
    /// Where a thread or a runtime cannot be made.
    pub fn run(self) -> io::Result<RunningTarget> {
        RunningTarget::start(self)
    }
}

impl RunningTarget {
    /// Binds and serves.
    ///
    /// # Errors
    /// As [`BoundTarget::bind`].
    pub fn new(config: Config) -> Result<RunningTarget, BindError> {
        let address = config.address;
        BoundTarget::bind(config)?
            .run()
            .map_err(|source| BindError::Listen { address, source })
    }

    fn start(target: BoundTarget) -> io::Result<RunningTarget> {
        let mut running = RunningTarget {
            address: target.address(),
            url: target.url(""),
            ca_pem: target.ca_pem().map(str::to_owned),
            tally: target.tally(),
            stops: Vec::new(),
            threads: Vec::new(),
        };
        let (listeners, shared) = target.into_parts();
        for (index, listener) in listeners.into_iter().enumerate() {
            running.start_thread(index, listener, shared.clone())?;
        }
        Ok(running)
    }

    fn start_thread(
        &mut self,
        index: usize,
        listener: TcpListener,
        shared: Arc<Service>,
    ) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let (listener, alarm) = {
            let _inside = runtime.enter();
            (tokio::net::TcpListener::from_std(listener)?, Alarm::new()?)
        };
        let body =
            move || runtime.block_on(accept(listener, alarm, shared, async { _ = stopped.await }));
        self.threads.push(
            std::thread::Builder::new()
                .name(format!("target-{index}"))
                .spawn(body)?,
        );
        self.stops.push(stop);
        Ok(())
    }

    /// Where the target listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path, which begins with `/`.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// PEM of the CA that a client has to trust; none over plain HTTP.
    #[must_use]
    pub fn ca_pem(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }

    /// What the target has seen so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.tally.counts()
    }

    /// Cuts what is open, joins the threads and gives the last counts.
    #[must_use]
    pub fn stop(mut self) -> Counts {
        self.join();
        self.tally.counts()
    }

    fn join(&mut self) {
        // Every thread is told before the first is waited for.
        self.stops.clear();
        for thread in self.threads.drain(..) {
            let ended = thread.join();
            // A second panic while one unwinds would abort the process and lose the first message.
            if !std::thread::panicking() {
                ended.expect("the target's own code does not panic");
            }
        }
    }
}

impl Drop for RunningTarget {
    fn drop(&mut self) {
        self.join();
    }
}
