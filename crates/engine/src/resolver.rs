//! Name resolution: before the run, and beside a running worker for plans that resolve again.

use crate::poller::Waker;
use measure::Kind;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex};

/// Concurrent lookups of one worker; each blocks a thread in `getaddrinfo`.
const THREADS: usize = 4;
/// Lookups that can wait for a thread. If the queue is full, an operation is not sent.
const WAITING: usize = 1024;

/// Resolves `host` with the system's resolver; keeps its order and drops duplicates.
///
/// # Errors
/// Fails if the name has no address or the resolver cannot be asked.
pub(crate) fn resolve(host: &str) -> io::Result<Vec<IpAddr>> {
    let mut addresses = Vec::new();
    for address in (host, 0).to_socket_addrs()? {
        if !addresses.contains(&address.ip()) {
            addresses.push(address.ip());
        }
    }
    if addresses.is_empty() {
        Err(io::Error::new(
            io::ErrorKind::NotFound,
            "the name has no address",
        ))
    } else {
        Ok(addresses)
    }
}

/// The purpose of a lookup: a slot, and the instant at which its operation began. If the slot has
/// another operation by the time the answer comes, the answer does not belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) slot: u32,
    pub(crate) begun_at: u64,
    /// The issuer of the session that the connection is to offer: its index in the recorder, or 0
    /// if the connection offers none.
    pub(crate) issuer: u16,
}

/// A finished lookup: the question and the result.
pub(crate) type LookedUp = (Question, Result<Vec<IpAddr>, Kind>);

/// Looks names up on threads of its own, and wakes the worker when there is an answer.
#[derive(Debug)]
pub(crate) struct Resolver {
    questions: SyncSender<Question>,
    answers: Receiver<LookedUp>,
}

impl Resolver {
    /// Starts the threads. They end when the resolver is dropped and their lookup has returned.
    pub(crate) fn new(host: &str, waker: &Waker) -> io::Result<Resolver> {
        let (questions, asked) = sync_channel(WAITING);
        let (answer, answers) = sync_channel(WAITING + THREADS);
        let asked = Arc::new(Mutex::new(asked));
        for _ in 0..THREADS {
            let host = host.to_owned();
            let waker = waker.clone();
            let asked = Arc::clone(&asked);
            let answer = answer.clone();
            std::thread::Builder::new()
                .name("resolver".into())
                .spawn(move || serve(&host, &waker, &asked, &answer))?;
        }
        Ok(Resolver { questions, answers })
    }

    /// Queues a question. Returns whether there was room.
    pub(crate) fn ask(&self, question: Question) -> bool {
        self.questions.try_send(question).is_ok()
    }

    /// Takes the next answer, if one has come.
    pub(crate) fn answer(&self) -> Result<LookedUp, TryRecvError> {
        self.answers.try_recv()
    }
}

fn serve(
    host: &str,
    waker: &Waker,
    asked: &Mutex<Receiver<Question>>,
    answer: &SyncSender<LookedUp>,
) {
    loop {
        let question = asked
            .lock()
            .expect("no thread panics while it waits for a question")
            .recv();
        // The resolver has been dropped.
        let Ok(question) = question else { return };
        let found = resolve(host).map_err(|error| kind(&error));
        // The send fails if the worker has ended meanwhile.
        if answer.send((question, found)).is_err() {
            return;
        }
        waker.wake();
    }
}

/// The messages of `getaddrinfo` for a name that does not exist or has no address: `EAI_NONAME`,
/// `EAI_NODATA` and `EAI_ADDRFAMILY` in glibc, `EAI_NONAME` in musl. The standard library keeps
/// only these texts, not the number.
const NO_SUCH_NAME: [&str; 4] = [
    "Name or service not known",
    "No address associated with hostname",
    "Address family for hostname not supported",
    "Name does not resolve",
];

/// Only a name known not to exist is reported as missing; any other failure could have a different
/// answer a moment later.
fn kind(error: &io::Error) -> Kind {
    let text = error.to_string();
    let is_missing = error.kind() == io::ErrorKind::NotFound
        || NO_SUCH_NAME.iter().any(|words| text.ends_with(words));
    if is_missing {
        Kind::NoSuchName
    } else {
        Kind::NoResolver
    }
}

#[cfg(test)]
mod tests {
    use super::{Question, Resolver, kind, resolve};
    use crate::poller::Poller;
    use measure::Kind;
    use std::io;
    use std::time::{Duration, Instant};

    #[test]
    fn answer_names_the_operation_that_asked() {
        let poller = Poller::new().expect("an epoll instance");
        let resolver = Resolver::new("localhost", &poller.waker()).expect("threads");
        let questions = [3, 3, 9].map(|slot| Question {
            slot,
            begun_at: u64::from(slot) * 7,
            issuer: 0,
        });
        assert!(questions.iter().all(|&question| resolver.ask(question)));
        let (mut asked, until) = (Vec::new(), Instant::now() + Duration::from_secs(30));
        while asked.len() < questions.len() && Instant::now() < until {
            match resolver.answer() {
                Ok((question, found)) => {
                    asked.push((question.slot, question.begun_at, found.is_ok()))
                }
                Err(_) => std::thread::yield_now(),
            }
        }
        asked.sort_unstable();
        assert_eq!(asked, [(3, 21, true), (3, 21, true), (9, 63, true)]);
    }

    #[test]
    fn name_is_missing_only_where_the_resolver_says_so() {
        let lookup = |words: &str| {
            kind(&io::Error::other(format!(
                "failed to lookup address information: {words}"
            )))
        };
        assert_eq!(lookup("Name or service not known"), Kind::NoSuchName);
        assert_eq!(
            lookup("No address associated with hostname"),
            Kind::NoSuchName
        );
        assert_eq!(
            lookup("Temporary failure in name resolution"),
            Kind::NoResolver
        );
        assert_eq!(
            lookup("Non-recoverable failure in name resolution"),
            Kind::NoResolver
        );
        assert_eq!(kind(&io::Error::from_raw_os_error(24)), Kind::NoResolver);
        assert_eq!(
            kind(&io::Error::new(
                io::ErrorKind::NotFound,
                "the name has no address"
            )),
            Kind::NoSuchName
        );
    }

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
