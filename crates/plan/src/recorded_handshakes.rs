//! The TLS handshakes of a log's connections: what each asks for, and which of them have to come
//! from one worker.

use crate::{Host, TlsVersion};
use std::collections::{BTreeSet, HashMap, VecDeque};
use traffic::{LoggedHandshake, ReplayLog};

/// The handshakes of the connections that a replay repeats.
///
/// A log does not say which session a connection resumed. So each full handshake begins a *lineage*
/// and each resumption continues the one of its server name and version that has waited longest.
/// Sessions never leave their worker, which is why a lineage belongs to one. A resumption before
/// any full handshake of its kind begins a lineage too: its session is older than the log.
#[derive(Debug)]
pub struct RecordedHandshakes {
    kinds: Vec<RecordedHandshake>,
    /// By connection: its place among the kinds, and its lineage.
    of_connections: Vec<(u32, u32)>,
    lineages: u32,
}

/// What a connection of a log asks for in its handshake.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecordedHandshake {
    /// The server name that it sends.
    pub server_name: RecordedName,
    /// Whether it resumes a session. `false` if the log does not say.
    pub resumes: bool,
    /// The version that it offers alone. `None` offers those of `tls.versions`: the log has none,
    /// or one that is not offered any more.
    pub version: Option<TlsVersion>,
}

/// The server name of a connection of a log (SNI, RFC 6066 §3).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RecordedName {
    /// The log does not have it: that of the plan is sent.
    OfPlan,
    /// None was sent.
    Absent,
    /// This one, in lower case.
    Given(String),
}

/// What has to be known of a log's handshakes to read a result: the canonical text has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HandshakeFacts {
    /// Connections of a turn with a full handshake.
    pub full: u32,
    /// Connections of a turn that resumed a session.
    pub resumed: u32,
    /// Different server names.
    pub names: u32,
    /// Connections of a turn over TLS 1.2.
    pub tls12: u32,
    /// Connections of a turn over TLS 1.3.
    pub tls13: u32,
}

impl RecordedHandshakes {
    /// The handshakes of `connections`, which are numbers of the log, in the order in which they
    /// begin; `None` is one that the log does not have.
    ///
    /// # Errors
    /// A server name that no ClientHello can have.
    pub(crate) fn new(
        log: &ReplayLog,
        connections: &[Option<u32>],
    ) -> Result<RecordedHandshakes, String> {
        let logged = log.handshakes();
        let has_names = logged.iter().any(|one| one.server_name.is_some());
        let mut kinds: Vec<RecordedHandshake> = Vec::with_capacity(logged.len() + 1);
        for one in logged {
            kinds.push(RecordedHandshake::new(one, has_names)?);
        }
        let unknown = kinds.len() as u32;
        kinds.push(RecordedHandshake::new(
            &LoggedHandshake::default(),
            has_names,
        )?);
        let mut lineages = Lineages::default();
        let kind_of = |connection: &Option<u32>| connection.map_or(unknown, |it| log.handshake(it));
        let of_connections = connections.iter().map(kind_of);
        let of_connections = of_connections
            .map(|kind| (kind, lineages.of(&kinds[kind as usize])))
            .collect();
        Ok(RecordedHandshakes {
            of_connections,
            lineages: lineages.number,
            kinds,
        })
    }

    /// The different handshakes.
    #[must_use]
    pub fn kinds(&self) -> &[RecordedHandshake] {
        &self.kinds
    }

    /// The place, among the kinds, of that of `connection` of a turn.
    #[must_use]
    pub(crate) fn kind(&self, connection: u32) -> u32 {
        self.of_connections[connection as usize].0
    }

    /// The lineage of `connection` of a turn.
    pub(crate) fn lineage(&self, connection: u32) -> u32 {
        self.of_connections[connection as usize].1
    }

    /// Lineages are numbered below this.
    pub(crate) fn lineages(&self) -> u32 {
        self.lineages
    }

    pub(crate) fn facts(&self) -> HandshakeFacts {
        let mut facts = HandshakeFacts::default();
        let mut names = BTreeSet::new();
        for &(kind, _) in &self.of_connections {
            let kind = &self.kinds[kind as usize];
            facts.full += u32::from(!kind.resumes);
            facts.resumed += u32::from(kind.resumes);
            facts.tls12 += u32::from(kind.version == Some(TlsVersion::V12));
            facts.tls13 += u32::from(kind.version == Some(TlsVersion::V13));
            if let RecordedName::Given(name) = &kind.server_name {
                names.insert(name);
            }
        }
        facts.names = names.len() as u32;
        facts
    }
}

impl RecordedHandshake {
    /// `has_names` says whether the log has server names, so that a missing one was not sent.
    fn new(logged: &LoggedHandshake, has_names: bool) -> Result<RecordedHandshake, String> {
        let is_tls = logged.protocol.is_some() || logged.resumed.is_some();
        let server_name = match &logged.server_name {
            Some(name) => match name.parse() {
                Ok(Host::Name(name)) => RecordedName::Given(name),
                Ok(Host::Ip(_)) | Err(_) => return Err(name.clone()),
            },
            None if has_names && is_tls => RecordedName::Absent,
            None => RecordedName::OfPlan,
        };
        Ok(RecordedHandshake {
            server_name,
            resumes: logged.resumed == Some(true),
            version: match logged.protocol.as_deref() {
                Some("TLSv1.2") => Some(TlsVersion::V12),
                Some("TLSv1.3") => Some(TlsVersion::V13),
                _ => None,
            },
        })
    }
}

/// Lineages so far, by what a session belongs to.
#[derive(Default)]
struct Lineages<'a> {
    number: u32,
    /// The one that has waited longest comes first.
    waiting: HashMap<(&'a RecordedName, Option<TlsVersion>), VecDeque<u32>>,
}

impl<'a> Lineages<'a> {
    /// The lineage of the next connection.
    fn of(&mut self, handshake: &'a RecordedHandshake) -> u32 {
        let key = (&handshake.server_name, handshake.version);
        let waiting = self.waiting.entry(key).or_default();
        let resumed = waiting.front().filter(|_| handshake.resumes).copied();
        let lineage = if let Some(lineage) = resumed {
            waiting.pop_front();
            lineage
        } else {
            self.number += 1;
            self.number - 1
        };
        waiting.push_back(lineage);
        lineage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(connections: &[(&str, bool, &str)]) -> Result<RecordedHandshakes, String> {
        let line = |(number, (name, resumed, protocol)): (usize, &(&str, bool, &str))| {
            let name = match *name {
                "" => String::new(),
                name => format!(",\"server_name\":\"{name}\""),
            };
            format!(
                "{{\"at\":{number},\"method\":\"GET\",\"path\":\"/\",\"connection\":\"{number}\"\
                 {name},\"resumed\":{resumed},\"protocol\":\"{protocol}\"}}\n"
            )
        };
        let text: String = connections.iter().enumerate().map(line).collect();
        let log = ReplayLog::read(text.as_bytes()).expect("a log");
        let numbers: Vec<_> = (0..log.connections()).map(Some).chain([None]).collect();
        RecordedHandshakes::new(&log, &numbers)
    }

    #[test]
    fn resumption_continues_the_lineage_that_has_waited_longest() {
        let handshakes = read(&[
            ("a.test", false, "TLSv1.3"),
            ("a.test", false, "TLSv1.3"),
            ("a.test", true, "TLSv1.3"),
            ("A.test", true, "TLSv1.3"),
            ("a.test", true, "TLSv1.3"),
            ("a.test", true, "TLSv1.2"), // older than the log
            ("b.test", true, "TLSv1.3"),
            ("a.test", true, "TLSv1.2"),
            ("", false, "TLSv1.1"),
        ])
        .expect("handshakes");
        let lineages: Vec<u32> = (0..10).map(|number| handshakes.lineage(number)).collect();
        assert_eq!(lineages, [0, 1, 0, 1, 0, 2, 3, 2, 4, 5]);
        assert_eq!(handshakes.lineages(), 6);
        let expected = HandshakeFacts {
            full: 4,
            resumed: 6,
            names: 2,
            tls12: 2,
            tls13: 6,
        };
        assert_eq!(handshakes.facts(), expected);
        let kind = |connection| &handshakes.kinds()[handshakes.kind(connection) as usize];
        let name = RecordedName::Given("a.test".to_owned());
        assert_eq!((&kind(3).server_name, kind(3).resumes), (&name, true));
        assert_eq!(kind(3), kind(2));
        assert_eq!(kind(8).server_name, RecordedName::Absent);
        assert_eq!(kind(8).version, None);
        assert_eq!(kind(9).server_name, RecordedName::OfPlan);
    }

    #[test]
    fn name_that_no_hello_can_have_is_refused() {
        for name in ["192.0.2.1", "a b", "a..b"] {
            assert_eq!(read(&[(name, false, "TLSv1.3")]).unwrap_err(), name);
        }
        let without = read(&[("", true, "TLSv1.3")]).expect("handshakes");
        assert_eq!(without.kinds()[0].server_name, RecordedName::OfPlan);
    }
}
