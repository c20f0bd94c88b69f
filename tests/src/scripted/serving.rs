//! The loop of the scripted server.

use super::connection::{Connection, Found};
use super::{Exchange, Reply, ScriptedRequest};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::PipeReader;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Keys of the listener and the owner's pipe in the epoll instance; connections count from 0.
const LISTENER: u64 = u64::MAX;
const STOPPED: u64 = u64::MAX - 1;

/// Events taken at once.
const EVENTS: usize = 256;

pub(super) struct Serving {
    epoll: OwnedFd,
    listener: TcpListener,
    /// Closed when the owner goes.
    _stopped: PipeReader,
    connections: HashMap<u64, Connection>,
    accepted: u64,
    due: BinaryHeap<Reverse<Due>>,
    exchanges: Arc<Mutex<Vec<Exchange>>>,
}

/// A pending answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Instant,
    number: u64,
    connection: u64,
}

impl Serving {
    pub(super) fn new(
        listener: TcpListener,
        stopped: PipeReader,
        exchanges: Arc<Mutex<Vec<Exchange>>>,
    ) -> Serving {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        listener.set_nonblocking(true).unwrap();
        epoll::add(
            &epoll,
            &listener,
            epoll::EventData::new_u64(LISTENER),
            epoll::EventFlags::IN,
        )
        .unwrap();
        epoll::add(
            &epoll,
            &stopped,
            epoll::EventData::new_u64(STOPPED),
            epoll::EventFlags::IN,
        )
        .unwrap();
        let (connections, due) = (HashMap::new(), BinaryHeap::new());
        Serving {
            epoll,
            listener,
            _stopped: stopped,
            connections,
            accepted: 0,
            due,
            exchanges,
        }
    }

    pub(super) fn run(mut self, mut script: impl FnMut(&ScriptedRequest) -> Reply) {
        // An answer must not wait for a CPU behind the programs under test. 0 is this thread; only
        // root may do this.
        let _ = rustix::process::setpriority_process(None, -20);
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            self.wait(&mut events);
            for event in events.drain(..) {
                match event.data.u64() {
                    STOPPED => return,
                    LISTENER => self.accept(),
                    connection => self.read(connection, &mut script),
                }
            }
            self.answer_what_is_due();
        }
    }

    fn wait(&self, events: &mut Vec<epoll::Event>) {
        let timeout = self
            .due
            .peek()
            .map(|Reverse(due)| due.at.saturating_duration_since(Instant::now()));
        let timeout =
            timeout.map(|timeout| Timespec::try_from(timeout).expect("an answer is due soon"));
        // After a signal there is no event.
        let _ = epoll::wait(&self.epoll, spare_capacity(events), timeout.as_ref());
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            let connection = Connection::new(stream).unwrap();
            let data = epoll::EventData::new_u64(self.accepted);
            epoll::add(
                &self.epoll,
                connection.stream(),
                data,
                epoll::EventFlags::IN,
            )
            .unwrap();
            self.connections.insert(self.accepted, connection);
            self.accepted += 1;
        }
    }

    fn read(&mut self, id: u64, script: &mut impl FnMut(&ScriptedRequest) -> Reply) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return; // an earlier event ended it
        };
        match connection.read() {
            Found::Requests(count) => (0..count).for_each(|_| self.ask(id, script)),
            Found::End => drop(self.connections.remove(&id)),
        }
    }

    fn ask(&mut self, connection: u64, script: &mut impl FnMut(&ScriptedRequest) -> Reply) {
        let asked_at = Instant::now();
        let mut exchanges = self
            .exchanges
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let number = exchanges.len() as u64;
        exchanges.push(Exchange {
            asked_at,
            answered_at: None,
        });
        drop(exchanges);
        if let Reply::At(at) = script(&ScriptedRequest { number, asked_at }) {
            self.due.push(Reverse(Due {
                at,
                number,
                connection,
            }));
        }
    }

    fn answer_what_is_due(&mut self) {
        while self
            .due
            .peek()
            .is_some_and(|Reverse(due)| due.at <= Instant::now())
        {
            let Some(Reverse(due)) = self.due.pop() else {
                return;
            };
            // If the client has gone, there is no answer.
            let Some(connection) = self.connections.get_mut(&due.connection) else {
                continue;
            };
            // Recorded at the time from which a client can have the answer.
            let mut exchanges = self
                .exchanges
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let answered_at = Instant::now();
            exchanges[due.number as usize].answered_at =
                connection.answer().is_ok().then_some(answered_at);
        }
    }
}
