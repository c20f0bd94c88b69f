//! Chooses which address a worker's next connection goes to, and from which.

use crate::policy::Policy;
use crate::poller::Waker;
use crate::resolver::{Question, Resolver};
use measure::{Kind, Recorder, nanoseconds};
use plan::{Destination, Dns, Host, Plan, Scheme};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The question that refreshes the shared list; no slot waits for its answer.
const REFRESH: Question = Question {
    slot: u32::MAX,
    begun_at: 0,
    issuer: 0,
};

/// A worker's choice of addresses: round robin, each checked against the agent's policy.
///
/// The sessions of each address have a turn of their own. With one turn for all, a connection that
/// follows another one of the same user would go to the next address, and no address would ever be
/// offered its own sessions. Each address gets as many connections either way, since every turn
/// spreads them evenly.
pub(crate) struct Endpoints {
    host: String,
    port: u16,
    scheme: Scheme,
    policy: Arc<Policy>,
    known: Vec<SocketAddr>,
    /// The worker's number in the cluster: workers and turns start at different addresses.
    rank: usize,
    /// Indexed by the issuer of the session to be offered; the first entry is for connections that
    /// offer none.
    turns: Vec<usize>,
    sources: Vec<IpAddr>,
    source_turn: usize,
    dns: Dns,
    resolver: Option<Resolver>,
    resolved_at: u64,
    refreshing: bool,
}

/// How an operation gets its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextEndpoint {
    /// Connect to this.
    Connect(SocketAddr),
    /// The name is being looked up for the slot.
    Wait,
}

impl Endpoints {
    /// Creates it from the addresses of `destination` that are `known` before the run; `rank` is
    /// the worker's number in the cluster.
    pub(crate) fn new(
        plan: &Plan,
        destination: Destination<'_>,
        known: Vec<SocketAddr>,
        policy: Arc<Policy>,
        rank: usize,
        waker: &Waker,
    ) -> std::io::Result<Endpoints> {
        let host = policy_name(destination);
        let resolves_again = destination.addresses.is_empty()
            && matches!(destination.url.host, Host::Name(_))
            && destination.dns != Dns::Once;
        let resolver = if resolves_again {
            Some(Resolver::new(&host, waker)?)
        } else {
            None
        };
        let sources = plan.connection().source_addresses.clone();
        let dns = if resolves_again {
            destination.dns
        } else {
            Dns::Once
        };
        // Workers start at different source addresses.
        let source_turn = rank.wrapping_mul(known.len());
        Ok(Endpoints {
            host,
            port: destination.url.port,
            scheme: destination.url.scheme,
            policy,
            known,
            rank,
            turns: Vec::new(),
            sources,
            source_turn,
            dns,
            resolver,
            resolved_at: 0,
            refreshing: false,
        })
    }

    /// Whether names are looked up during the run.
    pub(crate) fn look_up(&self) -> bool {
        self.resolver.is_some()
    }

    /// Whether its connections are encrypted.
    #[inline]
    pub(crate) fn are_encrypted(&self) -> bool {
        self.scheme == Scheme::Https
    }

    /// Returns the address to connect to, or that the operation has to wait for a lookup.
    pub(crate) fn next(&mut self, question: Question, now: u64) -> Result<NextEndpoint, Kind> {
        match self.dns {
            Dns::EveryConnection => match &self.resolver {
                Some(resolver) if resolver.ask(question) => Ok(NextEndpoint::Wait),
                _ => Err(Kind::NotSent), // at once: a time-out would count the waiting time
            },
            Dns::Every(period) => {
                self.refresh(now, nanoseconds(period));
                self.choose(question.issuer).map(NextEndpoint::Connect)
            }
            Dns::Once => self.choose(question.issuer).map(NextEndpoint::Connect),
        }
    }

    /// Returns the next finished lookup of an operation, with the address to connect to.
    pub(crate) fn answer(&mut self, now: u64) -> Option<(Question, Result<SocketAddr, Kind>)> {
        loop {
            let (question, found) = self.resolver.as_ref()?.answer().ok()?;
            if question == REFRESH {
                self.refreshing = false;
                self.resolved_at = now;
            }
            let found = match found {
                Ok(found) => found,
                Err(_) if question == REFRESH => continue, // the old list remains in use
                Err(kind) => return Some((question, Err(kind))),
            };
            self.known = found
                .into_iter()
                .map(|ip| SocketAddr::new(ip, self.port))
                .collect();
            if question != REFRESH {
                return Some((question, self.choose(question.issuer)));
            }
        }
    }

    /// Returns the local address to connect to `peer` from, which has to be of the same family.
    pub(crate) fn source(&mut self, peer: SocketAddr) -> Option<IpAddr> {
        let number = self.sources_to(peer);
        if number == 0 {
            return None;
        }
        // Advances once per round over the addresses: if two turns of the same length moved
        // together, some pairs would never be used, and their ports would be left over.
        let round = self.source_turn / self.known.len().max(1);
        self.source_turn = self.source_turn.wrapping_add(1);
        self.of_family(peer).nth(round % number)
    }

    /// How many of the plan's local addresses can connect to `peer`.
    pub(crate) fn sources_to(&self, peer: SocketAddr) -> usize {
        self.of_family(peer).count()
    }

    fn of_family(&self, peer: SocketAddr) -> impl Iterator<Item = IpAddr> {
        sources_of(&self.sources, peer)
    }

    fn choose(&mut self, issuer: u16) -> Result<SocketAddr, Kind> {
        let (rank, issuer) = (self.rank, usize::from(issuer));
        // Every turn starts at a different address, so that no address comes first in all of them.
        for index in self.turns.len()..=issuer {
            self.turns.push(rank.wrapping_add(index));
        }
        let turn = &mut self.turns[issuer];
        let address = *self
            .known
            .get(*turn % self.known.len().max(1))
            .ok_or(Kind::NoSuchName)?;
        *turn = turn.wrapping_add(1);
        if self.policy.allows(&self.host, address.ip(), address.port()) {
            Ok(address)
        } else {
            Err(Kind::NotAllowed)
        }
    }

    fn refresh(&mut self, now: u64, period_ns: u64) {
        if !self.refreshing && now.saturating_sub(self.resolved_at) >= period_ns {
            self.refreshing = self
                .resolver
                .as_ref()
                .is_some_and(|resolver| resolver.ask(REFRESH));
        }
    }
}

fn sources_of(sources: &[IpAddr], peer: SocketAddr) -> impl Iterator<Item = IpAddr> {
    let sources = sources.iter().copied();
    sources.filter(move |source| source.is_ipv4() == peer.is_ipv4())
}

/// Counts the pairs of source and target address that connections of `plan` use, each with its own
/// local ports. The kernel chooses one source for each target, unless the plan names some of that
/// family.
#[must_use]
pub fn port_pairs(plan: &Plan, addresses: &[SocketAddr]) -> usize {
    let sources = &plan.connection().source_addresses;
    let pairs = addresses.iter();
    pairs
        .map(|&address| sources_of(sources, address).count().max(1))
        .sum()
}

/// The name by which the policy may allow an address. Empty if the plan gives addresses, since its
/// host name says nothing about them.
pub(crate) fn policy_name(destination: Destination<'_>) -> String {
    if destination.addresses.is_empty() {
        host_text(&destination.url.host)
    } else {
        String::new()
    }
}

/// The host as people and the resolver write it.
pub(crate) fn host_text(host: &Host) -> String {
    match host {
        Host::Name(name) => name.clone(),
        Host::Ip(ip) => ip.to_string(),
    }
}

/// Interns every address that is known before the run, so that the first connection allocates
/// nothing.
pub(crate) fn intern(known: &[SocketAddr], recorder: &mut Recorder) {
    for address in known {
        recorder.address(*address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poller::Poller;
    use plan::NoFiles;
    use std::collections::BTreeSet;

    #[test]
    fn every_pair_of_source_and_target_address_has_its_turn() {
        for (targets, sources, rank) in [(1, 4, 0), (2, 2, 1), (2, 4, 0), (3, 2, 5), (4, 6, 1)] {
            let list = |from: u32, number: u32| -> Vec<String> {
                (from..from + number)
                    .map(|last| format!("127.0.0.{last}"))
                    .collect()
            };
            let text = format!(
                "target = {{ url = \"http://a.test/\", addresses = {:?} }}\n\
                 connection.source_addresses = {:?}\n\
                 load = {{ connections = 1, requests = 1 }}",
                list(1, targets),
                list(100, sources)
            );
            let plan = Plan::parse(&text, &mut NoFiles).unwrap();
            let known = plan.target().addresses.iter();
            let known = known
                .map(|address| SocketAddr::new(address.ip, 80))
                .collect();
            let waker = Poller::new().unwrap().waker();
            let policy = Arc::new(Policy::default());
            let own = plan.target().destinations().next().unwrap();
            let mut endpoints = Endpoints::new(&plan, own, known, policy, rank, &waker).unwrap();
            let pairs: BTreeSet<_> = (0..targets * sources)
                .map(|_| {
                    let address = endpoints.choose(0).unwrap();
                    (address, endpoints.source(address).unwrap())
                })
                .collect();
            assert_eq!(pairs.len() as u32, targets * sources, "{targets} {sources}");
        }
    }
}
