//! Accept queues, looked at several times a second, since they fill and empty within milliseconds.

use crate::QueueSecond;
use crate::kernel::{KernelFiles, Listener, ListenerQuery};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

#[derive(Debug, Default)]
pub(super) struct AcceptQueues {
    query: Option<(PathBuf, Option<ListenerQuery>)>,
    /// As full as each was seen, by the socket's number.
    seen: BTreeMap<u32, Listener>,
    /// Whether the chosen processes hold it.
    held: BTreeMap<u32, bool>,
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
        }
    }

    pub(super) fn look(&mut self) {
        let query = self.query.as_ref().and_then(|(_, query)| query.as_ref());
        let listeners = query.and_then(ListenerQuery::listeners);
        for listener in listeners.into_iter().flatten() {
            let seen = self
                .seen
                .entry(listener.inode)
                .or_insert_with(|| listener.clone());
            if fill(&listener) >= fill(seen) {
                *seen = listener;
            }
        }
    }

    /// The fullest that was seen since this was asked last: of the queues that these processes
    /// hold, or of all where they hold none.
    pub(super) fn fullest(&mut self, files: &KernelFiles, pids: &[u32]) -> Option<QueueSecond> {
        let seen = std::mem::take(&mut self.seen);
        if seen.keys().any(|inode| !self.held.contains_key(inode)) {
            let sockets = sockets_of(files, pids);
            let held = seen.keys().map(|inode| (*inode, sockets.contains(inode)));
            self.held = held.collect();
        }
        let is_held = |inode: &u32| self.held.get(inode) == Some(&true);
        let any_held = seen.keys().any(is_held);
        let of_interest = seen
            .into_iter()
            .filter(|(inode, _)| !any_held || is_held(inode));
        let (_, fullest) = of_interest.max_by(|(_, a), (_, b)| fill(a).total_cmp(&fill(b)))?;
        Some(QueueSecond {
            address: fullest.address.to_string(),
            waiting: fullest.waiting,
            most: fullest.most,
        })
    }
}

fn fill(listener: &Listener) -> f64 {
    f64::from(listener.waiting) / f64::from(listener.most.max(1))
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
