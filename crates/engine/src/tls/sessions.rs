//! Sessions belong to virtual users, so that resuming is a decision and never an accident. If
//! connections have different names, a user has sessions for each. A replay of handshakes has no
//! users: its sessions belong to names.

use super::named_places::NamedPlaces;
use super::offer::SessionVersions;
use plan::KeyShare;
use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

/// TLS 1.3 tickets kept per user. Servers send one to four at a time, and each can be used once.
const TICKETS: usize = 4;
/// Those kept per name in a replay of handshakes, if there are few names: as many as there can be
/// connections between their hello and their own ticket.
const TICKETS_OF_NAME: usize = 4096;
/// Those kept of all names together, as far as each can have [`TICKETS`]; each takes some 1.2 kB.
const TICKETS_OF_ALL_NAMES: usize = 65_536;

/// One worker's session store. rustls asks it for "the" session, and gets that of the worker's
/// current user.
///
/// The group that was last agreed on with an address is kept for all users, even if nothing is ever
/// resumed, but only if the plan wants key shares chosen by it; likewise by name, if connections
/// have different ones.
pub(crate) struct Sessions {
    /// Whether new sessions are kept.
    keeping: bool,
    owners: SessionOwners,
    key_share: KeyShare,
    // Only one thread ever touches what follows; rustls wants Sync.
    current: AtomicUsize,
    /// Index, in the recorder, of the address that the current connection goes to.
    address: AtomicU16,
    /// The versions whose sessions the connection being opened may offer, as bits.
    offering: AtomicU8,
    received: AtomicU64,
    stored: Mutex<StoredSessions>,
}

#[derive(Default)]
struct StoredSessions {
    /// The group that was last agreed on, by index of the address, or by place of address and name.
    groups: Vec<Option<NamedGroup>>,
    /// The session handed out for the connection being opened, and its issuer.
    found: Option<(OfferedSession, u16)>,
    /// By number of the user, or by place of user and name.
    users: Vec<User>,
    /// The places; `None` if all connections have the same name.
    places: Option<Box<SessionPlaces>>,
}

/// What a session belongs to beside its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionOwners {
    /// The virtual user that got it.
    Users,
    /// All of the worker's connections with that name.
    Names,
}

/// Where something is that belongs to a name.
#[derive(Default)]
struct SessionPlaces {
    users: NamedPlaces,
    addresses: NamedPlaces,
}

/// A session that rustls was given for a ClientHello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OfferedSession {
    /// By ticket or by session id.
    Tls12,
    /// By a pre-shared key.
    Tls13,
}

struct User {
    /// Most tickets.
    room: usize,
    tickets: VecDeque<Issued<Tls13ClientSessionValue>>,
    tls12: Option<Issued<Tls12ClientSessionValue>>,
}

impl Default for User {
    fn default() -> User {
        User {
            room: TICKETS,
            tickets: VecDeque::new(),
            tls12: None,
        }
    }
}

/// A session and the index of the address that issued it.
type Issued<T> = (T, u16);

impl Sessions {
    /// Creates a store; it keeps sessions only if the plan resumes at all, and tells names apart if
    /// `names_differ`.
    pub(super) fn new(
        keeping: bool,
        owners: SessionOwners,
        key_share: KeyShare,
        names_differ: bool,
    ) -> Sessions {
        let stored = StoredSessions {
            places: names_differ.then(Box::default),
            ..StoredSessions::default()
        };
        Sessions {
            keeping,
            owners,
            key_share,
            current: AtomicUsize::new(0),
            address: AtomicU16::new(0),
            offering: AtomicU8::new(0),
            received: AtomicU64::new(0),
            stored: Mutex::new(stored),
        }
    }

    /// Starts `user`'s connection to `address`, which may offer a session of `offering`: whatever
    /// rustls asks for or stores from now on belongs to it.
    pub(crate) fn begin(&self, user: u32, address: u16, offering: SessionVersions) {
        self.select(user, address);
        self.offering.store(offering.bits(), Relaxed);
        self.lock().found = None;
    }

    /// Selects the connection of `user` to `address` (its index in the recorder), for which rustls
    /// stores sessions from now on.
    #[inline]
    pub(crate) fn select(&self, user: u32, address: u16) {
        self.current.store(user as usize, Relaxed);
        self.address.store(address, Relaxed);
    }

    /// The session handed out since [`Sessions::begin`], and the address that issued it.
    pub(crate) fn found(&self) -> Option<(OfferedSession, u16)> {
        self.lock().found
    }

    /// The address (its index in the recorder) that issued the session of `versions` which `user`
    /// would offer next to `name`; 0 if the user has none. Asks for the name only if names differ.
    pub(crate) fn issuer(
        &self,
        user: u32,
        versions: SessionVersions,
        name: impl FnOnce() -> ServerName<'static>,
    ) -> u16 {
        let user = self.owner(user as usize);
        let stored = self.lock();
        let place = match &stored.places {
            None => Some(user),
            Some(places) => places.users.find(user as u32, &name()),
        };
        let user = place.and_then(|place| stored.users.get(place));
        let session = user.and_then(|user| {
            let ticket = user.tickets.back().map(|(_, issuer)| *issuer);
            let ticket = ticket.filter(|_| versions.has(SessionVersions::TLS13));
            let tls12 = user.tls12.as_ref().map(|(_, issuer)| *issuer);
            let tls12 = tls12.filter(|_| versions.has(SessionVersions::TLS12));
            // rustls asks for a ticket first.
            ticket.or(tls12)
        });
        session.unwrap_or(0)
    }

    /// Bytes of early data that the session allows which the connection being opened will offer to
    /// `name`; 0 if it offers none.
    pub(crate) fn early_data_room(&self, name: &ServerName<'_>) -> usize {
        if !self.is_offering(SessionVersions::TLS13) {
            return 0;
        }
        let mut stored = self.lock();
        let user = stored.user(self.current(), name);
        let ticket = user.and_then(|user| user.tickets.back());
        ticket.map_or(0, |(ticket, _)| ticket.max_early_data_size() as usize)
    }

    /// Takes the number of sessions received since the last call.
    #[inline]
    pub(crate) fn take_received(&self) -> u64 {
        match self.received.load(Relaxed) {
            0 => 0,
            _ => self.received.swap(0, Relaxed),
        }
    }

    fn is_offering(&self, version: SessionVersions) -> bool {
        SessionVersions::from_bits(self.offering.load(Relaxed)).has(version)
    }

    /// The number of the current user, or of all if sessions belong to names.
    fn current(&self) -> usize {
        self.owner(self.current.load(Relaxed))
    }

    fn owner(&self, user: usize) -> usize {
        match self.owners {
            SessionOwners::Users => user,
            SessionOwners::Names => 0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, StoredSessions> {
        self.stored
            .lock()
            .expect("no thread panics while it holds a worker's sessions")
    }

    /// Keeps a session of the current user with `name`, if sessions are kept. `keep` gets the
    /// address that issued it.
    fn keep(&self, name: &ServerName<'_>, keep: impl FnOnce(&mut User, u16)) {
        self.received.fetch_add(1, Relaxed);
        // Counted as received, but never offered.
        if !self.keeping {
            return;
        }
        let current = self.current();
        let mut stored = self.lock();
        let place = match &mut stored.places {
            None => current,
            Some(places) => match places.users.place(current as u32, name) {
                Some(place) => place,
                None => return, // there are too many
            },
        };
        if stored.users.len() <= place {
            stored.users.resize_with(place + 1, User::default);
        }
        if self.owners == SessionOwners::Names {
            let each = TICKETS_OF_ALL_NAMES / stored.users.len();
            stored.users[place].room = each.clamp(TICKETS, TICKETS_OF_NAME);
        }
        keep(&mut stored.users[place], self.address.load(Relaxed));
    }

    /// Hands out the current user's session with `name`, if the connection being opened is to offer
    /// one.
    fn offer<T>(
        &self,
        name: &ServerName<'_>,
        found: OfferedSession,
        version: SessionVersions,
        take: impl FnOnce(&mut User) -> Option<Issued<T>>,
    ) -> Option<T> {
        if !self.is_offering(version) {
            return None;
        }
        let mut stored = self.lock();
        let (session, issuer) = take(stored.user(self.current(), name)?)?;
        stored.found = Some((found, issuer));
        Some(session)
    }
}

impl StoredSessions {
    /// The sessions of `user` with `name`.
    fn user(&mut self, user: usize, name: &ServerName<'_>) -> Option<&mut User> {
        let place = match &self.places {
            None => user,
            Some(places) => places.users.find(user as u32, name)?,
        };
        self.users.get_mut(place)
    }
}

impl ClientSessionStore for Sessions {
    fn set_kx_hint(&self, name: ServerName<'static>, group: NamedGroup) {
        // Every connection sends a key share for the plan's first group, whatever servers choose.
        if self.key_share == KeyShare::First {
            return;
        }
        let address = self.address.load(Relaxed);
        let mut stored = self.lock();
        let place = match &mut stored.places {
            None => usize::from(address),
            Some(places) => match places.addresses.place(address.into(), &name) {
                Some(place) => place,
                None => return, // there are too many
            },
        };
        if stored.groups.len() <= place {
            stored.groups.resize(place + 1, None);
        }
        stored.groups[place] = Some(group);
    }

    /// With `None` rustls takes the plan's first group.
    fn kx_hint(&self, name: &ServerName<'_>) -> Option<NamedGroup> {
        let address = self.address.load(Relaxed);
        let stored = self.lock();
        let place = match &stored.places {
            None => usize::from(address),
            Some(places) => places.addresses.find(address.into(), name)?,
        };
        *stored.groups.get(place)?
    }

    fn set_tls12_session(&self, name: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.keep(&name, |user, issuer| user.tls12 = Some((value, issuer)));
    }

    fn tls12_session(&self, name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        let version = SessionVersions::TLS12;
        self.offer(name, OfferedSession::Tls12, version, |user| {
            user.tls12.clone()
        })
    }

    fn remove_tls12_session(&self, name: &ServerName<'static>) {
        // rustls asks for that after each handshake with TLS 1.3 too, and names have connections of
        // both versions. A session that a server has refused is replaced by that of the full
        // handshake.
        if self.owners == SessionOwners::Names {
            return;
        }
        let current = self.current();
        if let Some(user) = self.lock().user(current, name) {
            user.tls12 = None;
        }
    }

    fn insert_tls13_ticket(&self, name: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.keep(&name, |user, issuer| {
            // The oldest one goes: the newest ones are valid longest.
            while user.tickets.len() >= user.room {
                user.tickets.pop_front();
            }
            user.tickets.push_back((value, issuer));
        });
    }

    fn take_tls13_ticket(&self, name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        let version = SessionVersions::TLS13;
        self.offer(name, OfferedSession::Tls13, version, |user| {
            user.tickets.pop_back()
        })
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sessions { .. }")
    }
}
