//! A server of plain HTTP/1.1 that answers when a script says so, and records when it was asked and
//! when it answered.

mod connection;
mod script;
mod serving;

pub use script::one_at_a_time;

use crate::ports::listen;
use serving::Serving;
use std::io::{PipeWriter, pipe};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A request as the script sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptedRequest {
    /// Its number, from 0, over all connections.
    pub number: u64,
    /// When its last byte was read.
    pub asked_at: Instant,
}

/// The script's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// 200 with two bytes, at this instant, or at once if it has passed.
    At(Instant),
    /// None, as long as the connection is open.
    Never,
}

/// A request and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// When the request's last byte was read.
    pub asked_at: Instant,
    /// When the answer was written; `None` until then.
    pub answered_at: Option<Instant>,
}

/// A server on a thread of its own, which closes its connections when dropped. The requests of a
/// connection are answered in order.
pub struct ScriptedServer {
    address: SocketAddr,
    exchanges: Arc<Mutex<Vec<Exchange>>>,
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedServer {
    /// Serves on loopback. The script is called once for each request, in order of arrival.
    #[must_use]
    pub fn start(script: impl FnMut(&ScriptedRequest) -> Reply + Send + 'static) -> ScriptedServer {
        ScriptedServer::at(IpAddr::V4(Ipv4Addr::LOCALHOST), script)
    }

    /// Serves on another address, such as the near one of a link.
    #[must_use]
    pub fn at(
        ip: IpAddr,
        script: impl FnMut(&ScriptedRequest) -> Reply + Send + 'static,
    ) -> ScriptedServer {
        ScriptedServer::on(listen(ip), script)
    }

    /// Serves on a listener, such as one in another network namespace.
    #[must_use]
    pub fn on(
        listener: TcpListener,
        script: impl FnMut(&ScriptedRequest) -> Reply + Send + 'static,
    ) -> ScriptedServer {
        let address = listener.local_addr().unwrap();
        let exchanges: Arc<Mutex<Vec<Exchange>>> = Arc::default();
        let (stopped, stop) = pipe().unwrap();
        let serving = Serving::new(listener, stopped, Arc::clone(&exchanges));
        let body = move || serving.run(script);
        let thread = std::thread::Builder::new()
            .name("scripted".to_owned())
            .spawn(body)
            .unwrap();
        ScriptedServer {
            address,
            exchanges,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Answers `per_second` requests per second; see [`one_at_a_time`].
    #[must_use]
    pub fn of_capacity(per_second: u32) -> ScriptedServer {
        ScriptedServer::start(one_at_a_time(per_second))
    }

    /// Answers every request after the same time.
    #[must_use]
    pub fn of_delay(delay: Duration) -> ScriptedServer {
        ScriptedServer::start(move |request| Reply::At(request.asked_at + delay))
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of `/`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Every request so far, in order of arrival.
    #[must_use]
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.exchanges
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.stop.take();
        let ended = self.thread.take().map_or(Ok(()), JoinHandle::join);
        // A second panic during a panic would abort the process and lose the first message.
        if !std::thread::panicking() {
            ended.expect("the script does not panic");
        }
    }
}
