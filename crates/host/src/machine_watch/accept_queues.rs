//! Accept queues, looked at several times a second, since they fill and empty within milliseconds.

use crate::QueueSecond;
use crate::kernel::{KernelFiles, Listener, ListenerQuery};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Queues of an observation. A machine may have hundreds.
const QUEUES_MAX: usize = 8;

#[derive(Debug, Default)]
pub(super) struct AcceptQueues {
    query: Option<(PathBuf, Option<ListenerQuery>)>,
    /// What was seen of each since it was asked last, by the socket's number.
    seen: BTreeMap<u32, SeenQueue>,
    /// What each had dropped by then.
    dropped: BTreeMap<u32, u32>,
    looks: u32,
    /// Who holds it.
    holders: BTreeMap<u32, Holder>,
    /// The watched processes by which that is known.
    pids: Vec<u32>,
}

#[derive(Debug)]
struct SeenQueue {
    /// The fullest that it was seen.
    fullest: Listener,
    /// Looks that saw some waiting.
    waited: u32,
    dropped: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Holder {
    Watched,
    /// Another process, whose name is looked for where it matters.
    Other(Option<String>),
}

impl AcceptQueues {
    /// Looks into the network namespace of `process` (an id, or `self`) from now on.
    pub(super) fn aim(&mut self, files: &KernelFiles, namespace: &PathBuf, process: &str) {
        if self
            .query
            .as_ref()
            .is_none_or(|(there, _)| there != namespace)
        {
            let query = ListenerQuery::open(files, process);
            *self = AcceptQueues {
                query: Some((namespace.clone(), query)),
                ..AcceptQueues::default()
            };
            // What each dropped up to now does not belong to the next second.
            self.look();
            self.begin();
        }
    }

    pub(super) fn look(&mut self) {
        let query = self.query.as_ref().and_then(|(_, query)| query.as_ref());
        let Some(listeners) = query.and_then(ListenerQuery::listeners) else {
            return;
        };
        self.looks += 1;
        for listener in listeners {
            let seen = self
                .seen
                .entry(listener.inode)
                .or_insert_with(|| SeenQueue {
                    fullest: listener.clone(),
                    waited: 0,
                    dropped: None,
                });
            seen.waited += u32::from(listener.waiting > 0);
            seen.dropped = listener.dropped;
            if fill(&listener) >= fill(&seen.fullest) {
                seen.fullest = listener;
            }
        }
    }

    /// Those that were seen since this was asked last: queues that these processes hold, or all
    /// where they hold none; first what dropped most, then the fullest.
    pub(super) fn queues(&mut self, files: &KernelFiles, pids: &[u32]) -> Vec<QueueSecond> {
        let mut seen = self.seen.keys();
        if self.pids != pids || seen.any(|inode| !self.holders.contains_key(inode)) {
            self.pids = pids.to_vec();
            let sockets = sockets_of(files, pids);
            let holder = |inode| {
                if sockets.contains(inode) {
                    Holder::Watched
                } else {
                    Holder::Other(None)
                }
            };
            let held = self.seen.keys().map(|inode| (*inode, holder(inode)));
            self.holders = held.collect();
        }
        let watched = |inode: &u32| self.holders.get(inode) == Some(&Holder::Watched);
        let any_watched = self.seen.keys().any(watched);
        let of_interest = self.seen.iter();
        let of_interest = of_interest.filter(|(inode, _)| !any_watched || watched(inode));
        let second = |(inode, seen): (&u32, &SeenQueue)| {
            let second = QueueSecond {
                is_watched: watched(inode),
                ..self.second(*inode, seen)
            };
            (*inode, second)
        };
        let mut seconds: Vec<(u32, QueueSecond)> = of_interest.map(second).collect();
        let fill = |queue: &QueueSecond| f64::from(queue.waiting) / f64::from(queue.most.max(1));
        seconds.sort_by(|(_, a), (_, b)| {
            let dropped = b.dropped.cmp(&a.dropped);
            dropped.then(fill(b).total_cmp(&fill(a)))
        });
        seconds.truncate(QUEUES_MAX);
        self.begin();
        for (inode, second) in &mut seconds {
            let is_short = second.waiting >= second.most.max(1) || second.dropped > Some(0);
            if !second.is_watched && is_short {
                second.holder = self.holder(files, *inode);
            }
        }
        seconds.into_iter().map(|(_, second)| second).collect()
    }

    fn second(&self, inode: u32, seen: &SeenQueue) -> QueueSecond {
        // A new socket has dropped all of it since.
        let before = self.dropped.get(&inode).copied().unwrap_or(0);
        QueueSecond {
            address: seen.fullest.address.to_string(),
            waiting: seen.fullest.waiting,
            most: seen.fullest.most,
            waited: seen.waited as f32 / self.looks.max(1) as f32,
            dropped: seen
                .dropped
                .map(|dropped| u64::from(dropped.wrapping_sub(before))),
            ..QueueSecond::default()
        }
    }

    /// The next looks count from here.
    fn begin(&mut self) {
        let seen = std::mem::take(&mut self.seen);
        let dropped = seen
            .into_iter()
            .filter_map(|(inode, seen)| Some((inode, seen.dropped?)));
        self.dropped = dropped.collect();
        self.looks = 0;
    }

    /// Name of the process that holds it; empty where this process may not know.
    fn holder(&mut self, files: &KernelFiles, inode: u32) -> String {
        if let Some(Holder::Other(Some(known))) = self.holders.get(&inode) {
            return known.clone();
        }
        let name = name_of_holder(files, inode).unwrap_or_default();
        self.holders
            .insert(inode, Holder::Other(Some(name.clone())));
        name
    }
}

fn fill(listener: &Listener) -> f64 {
    f64::from(listener.waiting) / f64::from(listener.most.max(1))
}

fn name_of_holder(files: &KernelFiles, inode: u32) -> Option<String> {
    let pids = files.numbers_in("proc").unwrap_or_default();
    let pid = pids
        .into_iter()
        .find(|pid| sockets_of(files, &[*pid]).contains(&inode))?;
    let name = files.read_if_there(&format!("proc/{pid}/comm")).ok()??;
    Some(name.text.trim().to_owned())
}

/// Numbers of the sockets that they hold; of processes of another user none is known.
fn sockets_of(files: &KernelFiles, pids: &[u32]) -> BTreeSet<u32> {
    let of_descriptor = |path: &str| -> Option<u32> {
        let link = files.link(path)?;
        let number = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        number.parse().ok()
    };
    let mut sockets = BTreeSet::new();
    for pid in pids {
        let descriptors = files
            .numbers_in(&format!("proc/{pid}/fd"))
            .unwrap_or_default();
        let paths = descriptors
            .iter()
            .map(|number| format!("proc/{pid}/fd/{number}"));
        sockets.extend(paths.filter_map(|path| of_descriptor(&path)));
    }
    sockets
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::path::Path;

    #[test]
    fn queue_is_watched_once_its_process_is() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap().to_string();
        let files = KernelFiles::new(Path::new("/"));
        let mut queues = AcceptQueues::default();
        queues.aim(&files, &PathBuf::from("here"), "self");
        // The fullest are kept.
        let _clients = [(); 5].map(|()| TcpStream::connect(&address).unwrap());
        queues.look();
        let _ = queues.queues(&files, &[]);
        queues.look();
        let seen = queues.queues(&files, &[std::process::id()]);
        let own = seen.iter().find(|queue| queue.address == address);
        assert!(own.is_some_and(|queue| queue.is_watched), "{seen:?}");
    }
}
