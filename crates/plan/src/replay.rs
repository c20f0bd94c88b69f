//! The replay of a log: which of its requests are sent, when each is due, and which of them belong
//! together.

use crate::portion::PortionDeal;
use crate::recorded_handshakes::{HandshakeFacts, RecordedHandshakes};
use crate::words::words;
use crate::{File, Portion};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use traffic::ReplayLog;

/// Most parts of a replay in which its rate is told, over all turns.
const PARTS_MOST: usize = 1024;
/// Most parts of a turn.
const PARTS_OF_TURN: usize = 128;
/// Requests that can be shown before a run.
const SHOWN_REQUESTS: usize = 16;
/// Length of a log that has a single instant.
const SHORTEST_NS: u64 = 1_000_000;
const SECOND_NS: u64 = 1_000_000_000;
/// Length of a log that has a single request.
const LENGTH_OF_ONE_NS: u64 = SECOND_NS;

/// A section `[replay]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// The replay file, as it is on the disk.
    pub file: File,
    /// The part of the log that is sent: from this time on, counted in the log.
    pub from: Duration,
    /// Its end; `None` for that of the log.
    pub to: Option<Duration>,
    /// Which statuses of answers are right.
    pub status: ReplayStatus,
    /// Which connections carry its requests.
    pub connections: ReplayConnections,
    /// How these connections begin.
    pub handshakes: ReplayHandshakes,
    /// When its requests are due.
    pub arrivals: Arc<RecordedArrivals>,
}

/// Which statuses of answers are right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayStatus {
    /// The one that the log has. A request whose status the log does not have is held to
    /// `expect.status`.
    Recorded,
    /// Those of `expect.status`.
    Expected,
    /// All of them.
    Any,
}

words!(ReplayStatus {
    Recorded => "recorded",
    Expected => "expected",
    Any => "any",
});

/// Which connections carry the requests of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayConnections {
    /// Any that is free.
    Pooled,
    /// One for each connection of the log, which carries the requests of that one in their order
    /// and is closed after the last.
    Recorded,
}

words!(ReplayConnections {
    Pooled => "pooled",
    Recorded => "recorded",
});

/// How the connections of a replay begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayHandshakes {
    /// As `[tls]` says.
    Planned,
    /// As those of the log: with the same server name and TLS version, resumed or full.
    Recorded,
}

words!(ReplayHandshakes {
    Planned => "planned",
    Recorded => "recorded",
});

/// When the requests of a replay are due, and which of them belong together. They are numbered from
/// 0: turn by turn, each in the log's order.
#[derive(Clone)]
pub struct RecordedArrivals {
    /// Empty if the file is not at hand.
    log: ReplayLog,
    /// The entries of the log that a turn sends, and their methods.
    entries: Range<usize>,
    methods: Vec<String>,
    facts: LogFacts,
    /// By entry: requests of one number belong to one worker.
    connections: Arc<[u32]>,
    connections_number: u32,
    /// By connection: the place in a turn of its last request. `None` if connections are not
    /// repeated.
    last_requests: Option<Arc<[u32]>>,
    /// `None` if handshakes are not repeated, or if the file is not at hand.
    handshakes: Option<Arc<RecordedHandshakes>>,
    pace: ReplayPace,
}

/// How the instants of a log become those of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ReplayPace {
    /// The time of the log at which a turn begins.
    pub(crate) from_ns: u64,
    /// Seconds of the log in a second of the run.
    pub(crate) speed: f64,
    /// How many times the log is sent.
    pub(crate) turns: u32,
}

/// What has to be known of a log to read a result: the canonical text has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LogFacts {
    /// Requests of a turn.
    pub(crate) requests: u64,
    /// Length of a turn, in the log's time.
    pub(crate) length_ns: u64,
    /// Connections of the log that a turn repeats; 0 if the log does not have them.
    pub(crate) connections: u32,
    /// Their handshakes; `None` if these are not repeated.
    pub(crate) handshakes: Option<HandshakeFacts>,
    /// Requests in each of as many equal parts of a turn.
    pub(crate) counts: Vec<u64>,
}

impl RecordedArrivals {
    /// What `log` has from `pace.from_ns` to `to_ns`; `None` if that is nothing.
    pub(crate) fn new(
        log: &ReplayLog,
        to_ns: Option<u64>,
        pace: ReplayPace,
    ) -> Option<RecordedArrivals> {
        let all = 0..log.entries();
        let place = |at_ns: u64| first_entry(log, all.clone(), at_ns);
        let entries = place(pace.from_ns)..to_ns.map_or(all.end, place);
        if entries.is_empty() {
            return None;
        }
        let length_ns = length_ns(log, &entries, to_ns, pace.from_ns);
        let parts = parts(pace.turns).min(entries.len());
        let mut counts = vec![0; parts];
        for entry in entries.clone() {
            let passed = u128::from(log.at_ns(entry) - pace.from_ns);
            let part = (passed * parts as u128 / u128::from(length_ns)) as usize;
            counts[part.min(parts - 1)] += 1;
        }
        let (connections, connections_number, recorded) = number_connections(log, &entries);
        Some(RecordedArrivals {
            log: log.clone(),
            facts: LogFacts {
                requests: entries.len() as u64,
                length_ns,
                connections: recorded,
                handshakes: None,
                counts,
            },
            methods: methods(log, &entries),
            entries,
            connections,
            connections_number,
            last_requests: None,
            handshakes: None,
            pace,
        })
    }

    /// The same, to be sent over the log's connections.
    pub(crate) fn repeating_connections(self) -> RecordedArrivals {
        let mut last = vec![0; self.connections_number as usize];
        for (place, connection) in (0..).zip(self.connections.iter()) {
            last[*connection as usize] = place;
        }
        let mut facts = self.facts.clone();
        if !self.entries.is_empty() {
            facts.connections = self.connections_number;
        }
        RecordedArrivals {
            last_requests: Some(last.into()),
            facts,
            ..self
        }
    }

    /// The same, to be sent over connections that begin as those of the log. Valid if connections
    /// are repeated.
    ///
    /// # Errors
    /// A server name that no ClientHello can have.
    pub(crate) fn repeating_handshakes(self) -> Result<RecordedArrivals, String> {
        if self.entries.is_empty() {
            return Ok(self); // the facts have them
        }
        let mut of_log = Vec::with_capacity(self.connections_number as usize);
        for (entry, &connection) in self.entries.clone().zip(self.connections.iter()) {
            // They are numbered in the order in which they begin.
            if connection as usize == of_log.len() {
                of_log.push(self.log.connection(entry));
            }
        }
        let handshakes = RecordedHandshakes::new(&self.log, &of_log)?;
        Ok(RecordedArrivals {
            facts: LogFacts {
                handshakes: Some(handshakes.facts()),
                ..self.facts.clone()
            },
            handshakes: Some(Arc::new(handshakes)),
            ..self
        })
    }

    /// The arrivals of a log that is not at hand, as far as they are known: evenly over a turn.
    pub(crate) fn elsewhere(facts: LogFacts, pace: ReplayPace) -> RecordedArrivals {
        RecordedArrivals {
            log: ReplayLog::default(),
            entries: 0..0,
            methods: Vec::new(),
            facts,
            connections: Arc::from([]),
            connections_number: 0,
            last_requests: None,
            handshakes: None,
            pace,
        }
    }

    /// The first requests, with `mask` in place of bodies and of the header fields that are secret.
    pub(crate) fn to_be_shown(&self, is_secret: fn(&str) -> bool, mask: &str) -> RecordedArrivals {
        let end = self.entries.end.min(self.entries.start + SHOWN_REQUESTS);
        let log = self.log.masked(self.entries.start..end, is_secret, mask);
        RecordedArrivals {
            entries: 0..log.entries(),
            facts: LogFacts {
                requests: (log.entries() as u64).max(1),
                ..self.facts.clone()
            },
            log,
            ..self.clone()
        }
    }

    /// The log; empty if its file is not at hand.
    #[must_use]
    pub fn log(&self) -> &ReplayLog {
        &self.log
    }

    /// The place in the log of request `number`.
    #[inline]
    #[must_use]
    pub fn entry(&self, number: u64) -> usize {
        self.entries.start + (number % self.facts.requests) as usize
    }

    /// The entries of the log that a turn sends.
    #[must_use]
    pub fn entries(&self) -> Range<usize> {
        self.entries.clone()
    }

    /// The methods of its requests, in the order in which they come first; empty if the file is not
    /// at hand.
    #[must_use]
    pub fn methods(&self) -> &[String] {
        &self.methods
    }

    /// Whether the log's connections are repeated.
    #[must_use]
    pub fn repeats_connections(&self) -> bool {
        self.last_requests.is_some()
    }

    /// The number of the connection that request `number` goes over, and whether it is its last
    /// request. Each turn has connections of its own. Valid if connections are repeated.
    #[must_use]
    pub fn connection(&self, number: u64) -> (u64, bool) {
        let (turn, place) = (number / self.facts.requests, number % self.facts.requests);
        let connection = self.connections[place as usize];
        let last = self.last_requests.as_ref();
        let is_last = last.is_some_and(|last| u64::from(last[connection as usize]) == place);
        let before = turn * u64::from(self.connections_number);
        (before + u64::from(connection), is_last)
    }

    /// The handshakes of the log's connections, if they are repeated and the file is at hand.
    #[must_use]
    pub fn handshakes(&self) -> Option<&RecordedHandshakes> {
        self.handshakes.as_deref()
    }

    /// The place, among the kinds of handshakes, of that of the connection which request `number`
    /// goes over. `None` if handshakes are not repeated.
    #[must_use]
    pub fn handshake(&self, number: u64) -> Option<u32> {
        let connection = self.connections[(number % self.facts.requests) as usize];
        Some(self.handshakes.as_ref()?.kind(connection))
    }

    /// The handshakes of a turn, if they are repeated.
    #[must_use]
    pub fn handshake_facts(&self) -> Option<HandshakeFacts> {
        self.facts.handshakes
    }

    /// The most connections that are open at once if they are repeated and each answer comes at
    /// once; 0 if the file is not at hand.
    #[must_use]
    pub fn open_at_once(&self) -> u32 {
        let Some(last) = &self.last_requests else {
            return 0;
        };
        let (mut opened, mut open, mut most) = (0, 0, 0);
        for (place, &connection) in (0..).zip(self.connections.iter()) {
            // They are numbered in the order in which they begin.
            if connection == opened {
                opened += 1;
                open += 1;
                most = most.max(open);
            }
            open -= u32::from(last[connection as usize] == place);
        }
        most
    }

    /// Requests of this method in a turn; 0 if the file is not at hand.
    #[must_use]
    pub fn requests_of(&self, method: &str) -> u64 {
        let names = self.log.methods();
        let is_of = |entry: &usize| names[usize::from(self.log.method(*entry))] == method;
        self.entries().filter(is_of).count() as u64
    }

    /// Bytes of paths, header fields and bodies that a turn sends for this method; 0 if the file is
    /// not at hand.
    #[must_use]
    pub fn bytes_of(&self, method: &str) -> u64 {
        let names = self.log.methods();
        let is_of = |entry: &usize| names[usize::from(self.log.method(*entry))] == method;
        let entries = self.entries().filter(is_of);
        entries.map(|entry| self.log.bytes(entry)).sum()
    }

    /// Seconds of the log in a second of the run.
    #[must_use]
    pub fn speed(&self) -> f64 {
        self.pace.speed
    }

    /// How many times the log is sent.
    #[must_use]
    pub fn turns(&self) -> u32 {
        self.pace.turns
    }

    /// Requests of a turn.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.facts.requests
    }

    /// Connections of the log that a turn has requests of; 0 if the log does not have them. If they
    /// are repeated, a request whose connection the log does not have counts as one of its own.
    #[must_use]
    pub fn connections(&self) -> u32 {
        self.facts.connections
    }

    /// Length of a turn in the log's time.
    #[must_use]
    pub fn length_ns(&self) -> u64 {
        self.facts.length_ns
    }

    /// The facts in the canonical text.
    pub(crate) fn facts(&self) -> &LogFacts {
        &self.facts
    }

    /// Requests of all turns.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.facts.requests * u64::from(self.pace.turns)
    }

    /// Length of a turn in the run.
    #[must_use]
    pub fn turn_ns(&self) -> u64 {
        scaled(self.facts.length_ns, self.pace.speed).max(1)
    }

    /// Length of all turns in the run.
    pub(crate) fn span_ns(&self) -> u64 {
        self.turn_ns().saturating_mul(u64::from(self.pace.turns))
    }

    /// When request `number` is due, in nanoseconds from the beginning of the first turn.
    #[inline]
    pub(crate) fn instant(&self, number: u64) -> u64 {
        let (turn, place) = (number / self.facts.requests, number % self.facts.requests);
        let begins_at = turn.saturating_mul(self.turn_ns());
        let passed = if self.entries.is_empty() {
            (u128::from(self.turn_ns()) * u128::from(place) / u128::from(self.facts.requests))
                as u64
        } else {
            let at_ns = self.log.at_ns(self.entries.start + place as usize);
            scaled(at_ns - self.pace.from_ns, self.pace.speed)
        };
        begins_at.saturating_add(passed)
    }

    /// Most requests of `portion` in a second of the run; `None` if the file is not at hand.
    pub(crate) fn peak_second(&self, portion: &Portion) -> Option<u64> {
        if self.entries.is_empty() {
            return None;
        }
        let own = self.own(portion);
        // A second can reach into further turns.
        let turns = 2 + SECOND_NS / self.turn_ns();
        let number = own
            .amount()
            .min((own.places.len() as u64).saturating_mul(turns));
        let instant = |nth| own.item(nth).map_or(0, |request| self.instant(request));
        let (mut first, mut most) = (0, 0);
        for last in 0..number {
            while instant(last) - instant(first) >= SECOND_NS {
                first += 1;
            }
            most = most.max(last - first + 1);
        }
        Some(most)
    }

    /// The requests of `portion`: those of its connections, or of its lineages of handshakes.
    pub(crate) fn own(&self, portion: &Portion) -> OwnRequests {
        let requests = self.facts.requests;
        if self.entries.is_empty() {
            let deal = PortionDeal::new(portion, Some(requests));
            let own = (0..)
                .map_while(|nth| deal.item(nth))
                .map(|place| place as u32);
            return OwnRequests::new(own.collect(), self);
        }
        let handshakes = self.handshakes.as_deref();
        let all = handshakes.map_or(self.connections_number, RecordedHandshakes::lineages);
        let deal = PortionDeal::new(portion, Some(u64::from(all)));
        let mut is_own = vec![false; all as usize];
        for one in (0..).map_while(|nth| deal.item(nth)) {
            is_own[one as usize] = true;
        }
        let dealt = |connection: u32| handshakes.map_or(connection, |it| it.lineage(connection));
        let places = (0..).zip(self.connections.iter());
        let own = places.filter(|(_, connection)| is_own[dealt(**connection) as usize]);
        OwnRequests::new(own.map(|(place, _)| place).collect(), self)
    }
}

impl PartialEq for RecordedArrivals {
    /// The file's hash stands for its entries, whether they are at hand or not.
    fn eq(&self, other: &RecordedArrivals) -> bool {
        self.facts == other.facts && self.pace == other.pace
    }
}

impl fmt::Debug for RecordedArrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("RecordedArrivals");
        debug
            .field("facts", &self.facts)
            .field("pace", &self.pace)
            .finish_non_exhaustive()
    }
}

/// The requests of one portion of a replay.
#[derive(Debug, Clone)]
pub(crate) struct OwnRequests {
    /// Their places in a turn, ascending.
    places: Arc<[u32]>,
    per_turn: u64,
    turns: u64,
}

impl OwnRequests {
    fn new(places: Vec<u32>, of: &RecordedArrivals) -> OwnRequests {
        OwnRequests {
            places: places.into(),
            per_turn: of.facts.requests,
            turns: u64::from(of.pace.turns),
        }
    }

    /// How many they are in all turns.
    pub(crate) fn amount(&self) -> u64 {
        self.places.len() as u64 * self.turns
    }

    /// The number of the `nth` (from 0) among those of all portions, if there is one.
    #[inline]
    pub(crate) fn item(&self, nth: u64) -> Option<u64> {
        let own = self.places.len() as u64;
        let turn = nth.checked_div(own).filter(|&turn| turn < self.turns)?;
        let place = self.places[(nth % own) as usize];
        Some(turn * self.per_turn + u64::from(place))
    }
}

/// The methods of `entries`, in the order in which they come first.
fn methods(log: &ReplayLog, entries: &Range<usize>) -> Vec<String> {
    let mut found: Vec<u16> = Vec::new();
    for entry in entries.clone() {
        let method = log.method(entry);
        if !found.contains(&method) {
            found.push(method);
        }
    }
    let names = log.methods();
    found
        .iter()
        .map(|&method| names[usize::from(method)].clone())
        .collect()
}

/// The first of `entries` at `at_ns` or later.
fn first_entry(log: &ReplayLog, entries: Range<usize>, at_ns: u64) -> usize {
    let (mut low, mut high) = (entries.start, entries.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if log.at_ns(middle) < at_ns {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// How long a turn takes in the log's time: up to the given end, or else until the last request and
/// a mean gap more, so that turns do not run into each other.
fn length_ns(log: &ReplayLog, entries: &Range<usize>, to_ns: Option<u64>, from_ns: u64) -> u64 {
    let (first, last) = (log.at_ns(entries.start), log.at_ns(entries.end - 1));
    let length = match to_ns {
        Some(to_ns) => to_ns - from_ns,
        None if entries.len() == 1 => last - from_ns + LENGTH_OF_ONE_NS,
        None => last - from_ns + (last - first) / (entries.len() as u64 - 1),
    };
    length.max(SHORTEST_NS)
}

/// The connection of each entry, numbered in the order in which they come first; how many there
/// are; and how many of them the log has. An entry whose connection the log does not have gets one
/// of its own.
fn number_connections(log: &ReplayLog, entries: &Range<usize>) -> (Arc<[u32]>, u32, u32) {
    let mut numbers = vec![None; log.connections() as usize];
    let (mut next, mut recorded) = (0, 0);
    let of_entries = entries.clone().map(|entry| {
        let mut take = || {
            next += 1;
            next - 1
        };
        match log.connection(entry) {
            None => take(),
            Some(connection) => *numbers[connection as usize].get_or_insert_with(|| {
                recorded += 1;
                take()
            }),
        }
    });
    let of_entries: Arc<[u32]> = of_entries.collect();
    (of_entries, next, recorded)
}

/// In how many parts of a turn its rate is told.
fn parts(turns: u32) -> usize {
    (PARTS_MOST / turns as usize).clamp(1, PARTS_OF_TURN)
}

/// A time of the log in the run. Exact to a nanosecond for 104 days.
#[inline]
fn scaled(log_ns: u64, speed: f64) -> u64 {
    (log_ns as f64 / speed).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Owner;

    fn log(lines: &[(f64, Option<u32>)]) -> ReplayLog {
        let line = |(at, connection): &(f64, Option<u32>)| {
            let of = connection.map_or(String::new(), |c| format!(",\"connection\":\"{c}\""));
            format!("{{\"at\":{at},\"method\":\"GET\",\"path\":\"/\"{of}}}\n")
        };
        let text: String = lines.iter().map(line).collect();
        ReplayLog::read(text.as_bytes()).unwrap()
    }

    fn pace(from_ns: u64, speed: f64, turns: u32) -> ReplayPace {
        ReplayPace {
            from_ns,
            speed,
            turns,
        }
    }

    const S: u64 = 1_000_000_000;

    #[test]
    fn instants_are_those_of_the_log_squeezed_and_repeated() {
        let log = log(&[(0.0, None), (1.0, None), (1.0, None), (4.0, None)]);
        let arrivals = RecordedArrivals::new(&log, None, pace(0, 2.0, 2)).unwrap();
        // Four requests over 4 s have gaps of 4/3 s: a turn takes 16/3 s of the log.
        let turn = 2_666_666_667;
        let instants: Vec<u64> = (0..8).map(|number| arrivals.instant(number)).collect();
        let first = [0, S / 2, S / 2, 2 * S];
        assert_eq!(instants[..4], first);
        assert_eq!(instants[4..], first.map(|at| turn + at));
        assert_eq!((arrivals.total(), arrivals.span_ns()), (8, 2 * turn));
        let part = RecordedArrivals::new(&log, Some(4 * S), pace(S / 2, 1.0, 1)).unwrap();
        assert_eq!(part.entries(), 1..3);
        assert_eq!((part.instant(0), part.span_ns()), (S / 2, 7 * S / 2));
        assert!(RecordedArrivals::new(&log, Some(4 * S), pace(2 * S, 1.0, 1)).is_none());
    }

    #[test]
    fn peak_is_that_of_the_fullest_second_of_a_portion() {
        let log = log(&[
            (0.0, Some(1)),
            (2.0, Some(2)),
            (2.0, Some(2)),
            (2.9, Some(2)),
            (10.0, Some(1)),
        ]);
        let peak = |speed, turns, owner: Owner| {
            let arrivals = RecordedArrivals::new(&log, None, pace(0, speed, turns)).unwrap();
            arrivals.peak_second(&owner.into())
        };
        let agent = |agent| Owner {
            agent,
            agents: 2,
            ..Owner::ALONE
        };
        assert_eq!(peak(1.0, 1, Owner::ALONE), Some(3));
        // A turn takes 1.25 s, so that a second has a whole turn but for one of its requests.
        assert_eq!(peak(10.0, 1, Owner::ALONE), Some(4));
        // A turn takes 0.125 s.
        assert_eq!(peak(100.0, 99, Owner::ALONE), Some(5 * 8));
        // A connection is not divided.
        let of_both = [0, 1].map(|number| peak(1.0, 1, agent(number)));
        assert_eq!(of_both, [Some(1), Some(3)]);
    }

    #[test]
    fn portions_have_every_request_once_and_connections_whole() {
        let lines: Vec<(f64, Option<u32>)> = (0..500u32)
            .map(|k| (f64::from(k) / 10.0, (k % 7 != 0).then_some(k * k % 37)))
            .collect();
        let log = log(&lines);
        let arrivals = RecordedArrivals::new(&log, None, pace(0, 3.0, 3)).unwrap();
        for (agents, workers) in [(1, 1), (2, 3), (4, 1), (600, 1)] {
            let mut seen = Vec::new();
            let mut owners = std::collections::BTreeMap::new();
            for agent in 0..agents {
                for worker in 0..workers {
                    let owner = Owner {
                        agent,
                        agents,
                        worker,
                        workers,
                    };
                    let own = arrivals.own(&owner.into());
                    let numbers: Vec<u64> = (0..).map_while(|nth| own.item(nth)).collect();
                    assert_eq!(numbers.len() as u64, own.amount());
                    assert!(numbers.is_sorted());
                    for &number in &numbers {
                        if let Some(connection) = log.connection(arrivals.entry(number)) {
                            let before = owners.insert(connection, (agent, worker));
                            assert!(before.is_none_or(|before| before == (agent, worker)));
                        }
                    }
                    seen.extend(numbers);
                }
            }
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..1500), "{agents} agents");
        }
    }
}
