//! Decides who may stay connected. A stranger has proved nothing yet: it gets a few seconds, and
//! the oldest stranger gives way to a new one. A member has said hello on a stream that proved the
//! token: it keeps its place, whatever strangers do. Knows nothing of sockets.

use super::places::Places;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How long a stranger may take for TLS, HTTP/2, token and hello together: nine round trips around
/// the world take two seconds.
const STRANGER_MAX: Duration = Duration::from_secs(5);

/// All connections, by how far each has come.
#[derive(Debug, Clone)]
pub(super) struct Lobby(Arc<Mutex<Visitors>>);

/// How far a stranger has come. Each step has places of its own: peers that only connect cannot
/// push out those that have finished TLS, and these cannot push out those that know the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JoinStep {
    Connected,
    /// A whole ClientHello has arrived, so the peer waits only for us.
    Hello,
    Encrypted,
    Proved,
}

/// A connection's stay. It is notified when it must go; dropping it frees its place.
#[derive(Debug)]
pub(super) struct Visit {
    pass: Pass,
    /// Its sender is dropped when the connection must go.
    cut: oneshot::Receiver<()>,
}

/// Identifies a connection to the lobby.
#[derive(Debug, Clone)]
pub(super) struct Pass {
    id: u64,
    lobby: Lobby,
}

/// A stream that was opened with the token. Once it has said hello, its connection is a member for
/// as long as the stream lasts.
#[derive(Debug)]
pub(super) struct StreamPlace {
    pass: Pass,
    greeted: AtomicBool,
}

/// All places for members are taken.
#[derive(Debug, thiserror::Error)]
#[error(
    "all {places} places for agents are taken; end agents that are not needed, or raise the \
     coordinator's limit of open files (ulimit -n)"
)]
pub(super) struct NoPlace {
    places: usize,
}

#[derive(Debug)]
struct Visitors {
    places: Places,
    last: u64,
    /// In order of arrival.
    strangers: BTreeMap<u64, Stranger>,
    members: BTreeMap<u64, MemberConnection>,
}

#[derive(Debug)]
struct Stranger {
    origin: Origin,
    step: JoinStep,
    until: Instant,
    /// Dropped to cut the connection.
    stay: oneshot::Sender<()>,
}

#[derive(Debug)]
struct MemberConnection {
    origin: Origin,
    streams: u32,
    stay: oneshot::Sender<()>,
}

/// The unit in which peers are counted: an IPv4 address, or a /64 of IPv6, since a peer that has
/// one of its addresses has all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Origin(IpAddr);

impl Lobby {
    pub(super) fn new(places: Places) -> Lobby {
        Lobby(Arc::new(Mutex::new(Visitors {
            places,
            last: 0,
            strangers: BTreeMap::new(),
            members: BTreeMap::new(),
        })))
    }

    /// Lets a peer in; the oldest stranger may have to go for it.
    pub(super) fn enter(&self, peer: IpAddr) -> Visit {
        let (stay, cut) = oneshot::channel();
        let mut visitors = self.visitors();
        visitors.last += 1;
        let id = visitors.last;
        let stranger = Stranger {
            origin: Origin::from(peer),
            step: JoinStep::Connected,
            until: Instant::now() + STRANGER_MAX,
            stay,
        };
        visitors.seat(id, stranger);
        let lobby = self.clone();
        Visit {
            pass: Pass { id, lobby },
            cut,
        }
    }

    /// Sends away strangers whose time is over.
    pub(super) fn sweep(&self, now: Instant) {
        self.visitors()
            .strangers
            .retain(|_, stranger| stranger.until > now);
    }

    /// Sends the oldest stranger away, because files are short.
    pub(super) fn drop_oldest(&self) {
        self.visitors().strangers.pop_first();
    }

    /// Ignores a panic elsewhere: nothing here panics half-way, so the state is whole.
    fn visitors(&self) -> MutexGuard<'_, Visitors> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Visitors {
    /// Gives a stranger a place at its step. If its address has none left, the oldest from there
    /// goes; else, if the step has none left, the oldest of the step.
    fn seat(&mut self, id: u64, stranger: Stranger) {
        let is_here = |other: &Stranger| other.step == stranger.step;
        let is_near = |other: &Stranger| is_here(other) && other.origin == stranger.origin;
        let most_near = self.places.strangers_per_address;
        let most = self.places.strangers;
        let gone = self
            .oldest_beyond(most_near, is_near)
            .or_else(|| self.oldest_beyond(most, is_here));
        if let Some(gone) = gone {
            self.strangers.remove(&gone);
        }
        self.strangers.insert(id, stranger);
    }

    /// The oldest of the strangers that are meant, if there are `most` of them.
    fn oldest_beyond(&self, most: usize, is_meant: impl Fn(&Stranger) -> bool) -> Option<u64> {
        let mut meant = self.strangers.iter().filter(|(_, one)| is_meant(one));
        let oldest = meant.next().map(|(id, _)| *id);
        oldest.filter(|_| meant.count() + 1 >= most)
    }
}

impl Visit {
    /// The pass that identifies it.
    pub(super) fn pass(&self) -> Pass {
        self.pass.clone()
    }

    /// Completes when the connection must go, and must not be polled after that.
    pub(super) fn cut(&mut self) -> &mut oneshot::Receiver<()> {
        &mut self.cut
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut visitors = self.pass.lobby.visitors();
        visitors.strangers.remove(&self.pass.id);
        visitors.members.remove(&self.pass.id);
    }
}

impl Pass {
    /// Notes how far the connection has come. One that was sent away stays away, and a member is
    /// past every step.
    pub(super) fn reach(&self, step: JoinStep) {
        let mut visitors = self.lobby.visitors();
        if let Some(mut stranger) = visitors.strangers.remove(&self.id) {
            stranger.step = step;
            visitors.seat(self.id, stranger);
        }
    }

    /// Takes a stream that came with the token.
    ///
    /// # Errors
    /// All places are taken.
    pub(super) fn prove(&self) -> Result<Arc<StreamPlace>, NoPlace> {
        self.lobby.visitors().check_place(self.id)?;
        self.reach(JoinStep::Proved);
        Ok(Arc::new(StreamPlace {
            pass: self.clone(),
            greeted: AtomicBool::new(false),
        }))
    }
}

impl Visitors {
    fn check_place(&self, id: u64) -> Result<(), NoPlace> {
        let places = self.places.members;
        if self.members.len() < places || self.members.contains_key(&id) {
            return Ok(());
        }
        Err(NoPlace { places })
    }
}

impl StreamPlace {
    /// Notes that the stream said hello: its connection is a member.
    ///
    /// # Errors
    /// All places are taken.
    pub(super) fn greet(&self) -> Result<(), NoPlace> {
        let mut visitors = self.pass.lobby.visitors();
        let id = self.pass.id;
        visitors.check_place(id)?;
        if let Some(member) = visitors.members.get_mut(&id) {
            member.streams += 1;
        } else if let Some(Stranger { origin, stay, .. }) = visitors.strangers.remove(&id) {
            let streams = 1;
            let member = MemberConnection {
                origin,
                streams,
                stay,
            };
            visitors.members.insert(id, member);
        }
        self.greeted.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// A connection whose last stream is over is a stranger again: it gets the last messages, and goes.
impl Drop for StreamPlace {
    fn drop(&mut self) {
        let greeted = self.greeted.load(Ordering::Relaxed);
        let mut visitors = self.pass.lobby.visitors();
        let id = self.pass.id;
        let Some(member) = visitors.members.get_mut(&id).filter(|_| greeted) else {
            return;
        };
        member.streams -= 1;
        if member.streams > 0 {
            return;
        }
        if let Some(MemberConnection { origin, stay, .. }) = visitors.members.remove(&id) {
            let stranger = Stranger {
                origin,
                step: JoinStep::Proved,
                until: Instant::now() + STRANGER_MAX,
                stay,
            };
            visitors.seat(id, stranger);
        }
    }
}

impl From<IpAddr> for Origin {
    fn from(address: IpAddr) -> Origin {
        Origin(match address.to_canonical() {
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
            address => address,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot::error::TryRecvError;

    fn lobby() -> Lobby {
        Lobby::new(Places {
            members: 2,
            strangers: 4,
            strangers_per_address: 2,
        })
    }

    fn at(address: &str) -> IpAddr {
        address.parse().unwrap()
    }

    fn is_cut(visit: &mut Visit) -> bool {
        visit.cut().try_recv() == Err(TryRecvError::Closed)
    }

    fn cuts(visits: &mut [Visit]) -> Vec<bool> {
        visits.iter_mut().map(is_cut).collect()
    }

    #[test]
    fn oldest_stranger_of_an_address_goes_first_and_then_the_oldest() {
        let lobby = lobby();
        let from = ["10.0.0.1", "10.0.0.2", "10.0.0.2", "10.0.0.2"];
        let mut visits: Vec<Visit> = from.map(|address| lobby.enter(at(address))).into();
        assert_eq!(cuts(&mut visits), [false, true, false, false]);
        for address in ["10.0.0.3", "10.0.0.4"] {
            visits.push(lobby.enter(at(address)));
        }
        assert_eq!(
            cuts(&mut visits),
            [true, true, false, false, false, false],
            "the fifth of four places"
        );
    }

    #[test]
    fn address_of_ipv6_counts_by_its_64_bits_and_a_mapped_one_as_ipv4() {
        for (one, other, same) in [
            ("2001:db8::1", "2001:db8::ffff:1", true),
            ("2001:db8:0:1::1", "2001:db8:0:2::1", false),
            ("::ffff:10.0.0.1", "10.0.0.1", true),
            ("10.0.0.1", "10.0.0.2", false),
        ] {
            let is_same = Origin::from(at(one)) == Origin::from(at(other));
            assert_eq!(is_same, same, "{one} {other}");
        }
    }

    #[test]
    fn those_who_only_connect_push_nobody_out_who_is_further() {
        let lobby = lobby();
        let mut encrypted = lobby.enter(at("10.0.0.1"));
        encrypted.pass().reach(JoinStep::Encrypted);
        let mut proved = lobby.enter(at("10.0.0.1"));
        let place = proved.pass().prove().unwrap();
        let mut crowd: Vec<Visit> = (0..50).map(|_| lobby.enter(at("10.0.0.1"))).collect();
        assert!(!is_cut(&mut encrypted) && !is_cut(&mut proved));
        assert_eq!(cuts(&mut crowd).iter().filter(|cut| !**cut).count(), 2);
        drop(place);
    }

    #[test]
    fn stranger_goes_when_its_time_is_over_and_a_member_stays() {
        let lobby = lobby();
        let mut stranger = lobby.enter(at("10.0.0.1"));
        let mut proved = lobby.enter(at("10.0.0.2"));
        let _silent = proved.pass().prove().unwrap();
        let mut member = lobby.enter(at("10.0.0.3"));
        let place = member.pass().prove().unwrap();
        place.greet().unwrap();
        lobby.sweep(Instant::now());
        assert!(!is_cut(&mut stranger) && !is_cut(&mut proved));
        lobby.sweep(Instant::now() + STRANGER_MAX);
        assert!(is_cut(&mut stranger) && is_cut(&mut proved));
        lobby.sweep(Instant::now() + Duration::from_secs(3600));
        assert!(!is_cut(&mut member));
        drop(place);
        lobby.sweep(Instant::now() + STRANGER_MAX);
        assert!(is_cut(&mut member), "its only stream is over");
    }

    #[test]
    fn member_with_a_second_stream_stays_when_one_of_them_ends() {
        let lobby = lobby();
        let mut member = lobby.enter(at("10.0.0.1"));
        let places = [(); 2].map(|()| member.pass().prove().unwrap());
        places.iter().for_each(|place| place.greet().unwrap());
        let [first, second] = places;
        drop(first);
        lobby.sweep(Instant::now() + STRANGER_MAX);
        assert!(!is_cut(&mut member));
        drop(second);
        lobby.sweep(Instant::now() + STRANGER_MAX);
        assert!(is_cut(&mut member));
    }

    #[test]
    fn agent_beyond_all_places_is_told_so_and_has_one_when_another_leaves() {
        let lobby = lobby();
        let mut members: Vec<(Visit, Arc<StreamPlace>)> = Vec::new();
        for host in 1..=2 {
            let visit = lobby.enter(IpAddr::from([10, 0, 0, host]));
            let place = visit.pass().prove().unwrap();
            place.greet().unwrap();
            members.push((visit, place));
        }
        let third = lobby.enter(at("10.0.0.3"));
        let problem = third.pass().prove().unwrap_err().to_string();
        assert!(
            problem.contains("all 2 places") && problem.contains("ulimit -n"),
            "{problem}"
        );
        members.pop();
        third.pass().prove().unwrap().greet().unwrap();
    }
}
