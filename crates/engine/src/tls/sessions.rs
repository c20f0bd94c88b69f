//! Sessions belong to virtual users, so that resuming is a decision and never an accident.

use plan::KeyShare;
use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

/// TLS 1.3 tickets kept per user. Servers send one to four at a time, and each can be used once.
const TICKETS: usize = 4;

/// One worker's session store. rustls asks it for "the" session, and gets that of the worker's
/// current user.
///
/// The group that was last agreed on with an address is kept for all users, even if nothing is ever
/// resumed, but only if the plan wants key shares chosen by it.
pub(crate) struct Sessions {
    /// Whether new sessions are kept.
    keeping: bool,
    key_share: KeyShare,
    // Only one thread ever touches what follows; rustls wants Sync.
    current: AtomicUsize,
    /// Index, in the recorder, of the address that the current connection goes to.
    address: AtomicU16,
    /// The connection being opened is to offer a session.
    offering: AtomicBool,
    received: AtomicU64,
    stored: Mutex<StoredSessions>,
}

#[derive(Default)]
struct StoredSessions {
    /// The group that was last agreed on, by index of the address.
    groups: Vec<Option<NamedGroup>>,
    /// The session handed out for the connection being opened, and its issuer.
    found: Option<(OfferedSession, u16)>,
    users: Vec<User>,
}

/// A session that rustls was given for a ClientHello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OfferedSession {
    /// By ticket or by session id.
    Tls12,
    /// By a pre-shared key.
    Tls13,
}

#[derive(Default)]
struct User {
    tickets: VecDeque<Issued<Tls13ClientSessionValue>>,
    tls12: Option<Issued<Tls12ClientSessionValue>>,
}

/// A session and the index of the address that issued it.
type Issued<T> = (T, u16);

impl Sessions {
    /// Creates a store; it keeps sessions only if the plan resumes at all.
    pub(crate) fn new(keeping: bool, key_share: KeyShare) -> Sessions {
        Sessions {
            keeping,
            key_share,
            current: AtomicUsize::new(0),
            address: AtomicU16::new(0),
            offering: AtomicBool::new(false),
            received: AtomicU64::new(0),
            stored: Mutex::new(StoredSessions::default()),
        }
    }

    /// Starts `user`'s connection to `address`, which offers a session or not: whatever rustls asks
    /// for or stores from now on belongs to it.
    pub(crate) fn begin(&self, user: u32, address: u16, offering: bool) {
        self.select(user, address);
        self.offering.store(offering, Relaxed);
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

    /// The address (its index in the recorder) that issued the session which `user` would offer
    /// next; 0 if the user has none.
    pub(crate) fn issuer(&self, user: u32) -> u16 {
        let stored = self.lock();
        let session = stored.users.get(user as usize).and_then(|user| {
            let ticket = user.tickets.back().map(|(_, issuer)| *issuer);
            let tls12 = user.tls12.as_ref().map(|(_, issuer)| *issuer);
            // rustls asks for a ticket first.
            ticket.or(tls12)
        });
        session.unwrap_or(0)
    }

    /// Bytes of early data that the session allows which the connection being opened will offer; 0
    /// if it offers none.
    pub(crate) fn early_data_room(&self) -> usize {
        if !self.offering.load(Relaxed) {
            return 0;
        }
        let stored = self.lock();
        let ticket = stored
            .users
            .get(self.current.load(Relaxed))
            .and_then(|user| user.tickets.back());
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

    fn lock(&self) -> MutexGuard<'_, StoredSessions> {
        self.stored
            .lock()
            .expect("no thread panics while it holds a worker's sessions")
    }

    /// Keeps a session for the current user, if sessions are kept.
    fn keep(&self, keep: impl FnOnce(&mut User, u16)) {
        self.received.fetch_add(1, Relaxed);
        // Counted as received, but never offered.
        if !self.keeping {
            return;
        }
        let current = self.current.load(Relaxed);
        let mut stored = self.lock();
        if stored.users.len() <= current {
            stored.users.resize_with(current + 1, User::default);
        }
        keep(&mut stored.users[current], self.address.load(Relaxed));
    }

    /// Hands out the current user's session, if the connection being opened is to offer one.
    fn offer<T>(
        &self,
        found: OfferedSession,
        take: impl FnOnce(&mut User) -> Option<Issued<T>>,
    ) -> Option<T> {
        if !self.offering.load(Relaxed) {
            return None;
        }
        let mut stored = self.lock();
        let (session, issuer) = take(stored.users.get_mut(self.current.load(Relaxed))?)?;
        stored.found = Some((found, issuer));
        Some(session)
    }
}

impl ClientSessionStore for Sessions {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        // Every connection sends a key share for the plan's first group, whatever servers choose.
        if self.key_share == KeyShare::First {
            return;
        }
        let address = usize::from(self.address.load(Relaxed));
        let mut stored = self.lock();
        if stored.groups.len() <= address {
            stored.groups.resize(address + 1, None);
        }
        stored.groups[address] = Some(group);
    }

    /// With `None` rustls takes the plan's first group.
    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        *self
            .lock()
            .groups
            .get(usize::from(self.address.load(Relaxed)))?
    }

    fn set_tls12_session(&self, _: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.keep(|user, issuer| user.tls12 = Some((value, issuer)));
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.offer(OfferedSession::Tls12, |user| user.tls12.clone())
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        if let Some(user) = self.lock().users.get_mut(self.current.load(Relaxed)) {
            user.tls12 = None;
        }
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.keep(|user, issuer| {
            // The oldest one goes: the newest ones are valid longest.
            if user.tickets.len() == TICKETS {
                user.tickets.pop_front();
            }
            user.tickets.push_back((value, issuer));
        });
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.offer(OfferedSession::Tls13, |user| user.tickets.pop_back())
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sessions { .. }")
    }
}
