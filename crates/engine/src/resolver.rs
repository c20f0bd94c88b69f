//! Name resolution: before the run, and beside a running worker for plans that resolve again.

use crate::poller::Waker;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex};

/// Lookups under way at once for one worker: `getaddrinfo` blocks a thread each.
const THREADS: usize = 4;
/// Lookups waiting for a thread; what finds the queue full is not sent.
const WAITING: usize = 1024;

/// Addresses of `host` by the system's resolver, in its order, without duplicates.
///
/// # Errors
/// Where there is none, or the resolver cannot be asked.
pub(crate) fn resolve(host: &str) -> io::Result<Vec<IpAddr>> {
    let mut addresses = Vec::new();
    for address in (host, 0).to_socket_addrs()? {
        if !addresses.contains(&address.ip()) {
            addresses.push(address.ip());
        }
    }
    if addresses.is_empty() { Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address")) } else { Ok(addresses) }
}

/// Answer to a lookup: the slot that asked, and what was found.
pub(crate) type Answer = (u32, Option<Vec<IpAddr>>);

/// Looks names up on threads of its own and wakes the worker when an answer is there.
#[derive(Debug)]
pub(crate) struct Resolver {
    questions: SyncSender<u32>,
    answers: Receiver<Answer>,
}

impl Resolver {
    /// Threads end when the resolver is dropped and their lookup has returned.
    pub(crate) fn new(host: &str, waker: &Waker) -> io::Result<Resolver> {
        let (questions, asked) = sync_channel(WAITING);
        let (answer, answers) = sync_channel(WAITING + THREADS);
        let asked = Arc::new(Mutex::new(asked));
        for _ in 0..THREADS {
            let (host, waker, asked, answer) = (host.to_owned(), waker.clone(), Arc::clone(&asked), answer.clone());
            std::thread::Builder::new().name("resolver".into()).spawn(move || serve(&host, &waker, &asked, &answer))?;
        }
        Ok(Resolver { questions, answers })
    }

    /// Asks for `slot`; whether there was room.
    pub(crate) fn ask(&self, slot: u32) -> bool {
        self.questions.try_send(slot).is_ok()
    }

    /// An answer that has come.
    pub(crate) fn answer(&self) -> Result<Answer, TryRecvError> {
        self.answers.try_recv()
    }
}

fn serve(host: &str, waker: &Waker, asked: &Mutex<Receiver<u32>>, answer: &SyncSender<Answer>) {
    loop {
        let question = asked.lock().expect("no thread panics while it waits for a question").recv();
        let Ok(slot) = question else { return };
        if answer.send((slot, resolve(host).ok())).is_err() {
            return;
        }
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn localhost_has_loopback_addresses() {
        let found = resolve("localhost").expect("every machine knows localhost");
        assert!(found.iter().all(|address| address.is_loopback()) && !found.is_empty());
    }

    #[test]
    fn reserved_name_has_none() {
        assert!(resolve("no-such-host.invalid").is_err());
    }
}
