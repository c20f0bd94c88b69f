//! One epoll instance per worker, edge-triggered, with nanosecond time-outs.

use nix::sys::epoll::{Epoll, EpollEvent};
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::{Errno, read, write};
use std::mem::MaybeUninit;
use std::sync::Arc;

/// Events taken from the kernel at once.
const BATCH: usize = 256;

/// Events taken at once without epoll_pwait2(2), in environments where nothing is fast anyway.
const COARSE_BATCH: usize = 16;

/// Token of the waker; no slot has this token.
const WAKER: u64 = u64::MAX;

/// A socket that became ready.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ready {
    pub(crate) token: u64,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// The peer has closed its side, or the socket has an error: a read will show which.
    pub(crate) ended: bool,
    /// The socket has an error.
    pub(crate) failed: bool,
}

pub(crate) struct Poller {
    epoll: OwnedFd,
    waker: Waker,
    /// The same instance if epoll_pwait2(2) is missing, as under valgrind and in some sandboxes.
    /// Time-outs are then whole milliseconds, and schedules are kept less precisely.
    coarse: Option<Epoll>,
}

/// The buffer for the events of one wait; it remains on the thread that waits.
pub(crate) struct Events {
    buffer: Box<[MaybeUninit<epoll::Event>; BATCH]>,
    ready: Vec<Ready>,
}

impl Events {
    pub(crate) fn new() -> Events {
        Events {
            buffer: Box::new([const { MaybeUninit::uninit() }; BATCH]),
            ready: Vec::with_capacity(BATCH),
        }
    }

    /// The `index`th event of the last wait.
    pub(crate) fn at(&self, index: usize) -> Ready {
        self.ready[index]
    }
}

/// Wakes a worker from another thread.
#[derive(Debug, Clone)]
pub(crate) struct Waker(Arc<OwnedFd>);

impl Waker {
    pub(crate) fn wake(&self) {
        // If the counter is full the worker is going to wake anyway.
        let _ = write(&*self.0, &1_u64.to_ne_bytes());
    }
}

impl Poller {
    pub(crate) fn new() -> Result<Poller, Errno> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let waker = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        epoll::add(
            &epoll,
            &*waker,
            epoll::EventData::new_u64(WAKER),
            epoll::EventFlags::IN,
        )?;
        let coarse = coarse(&epoll)?;
        Ok(Poller {
            epoll,
            waker: Waker(waker),
            coarse,
        })
    }

    pub(crate) fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Watches a socket until it is closed; each change is reported once.
    pub(crate) fn add(&self, socket: impl AsFd, token: u64) -> Result<(), Errno> {
        use epoll::EventFlags as On;
        epoll::add(
            &self.epoll,
            socket,
            epoll::EventData::new_u64(token),
            On::IN | On::OUT | On::RDHUP | On::ET,
        )
    }

    /// Reports a watched socket's events under another token from now on, starting with its current
    /// state.
    pub(crate) fn modify(&self, socket: impl AsFd, token: u64) -> Result<(), Errno> {
        use epoll::EventFlags as On;
        epoll::modify(
            &self.epoll,
            socket,
            epoll::EventData::new_u64(token),
            On::IN | On::OUT | On::RDHUP | On::ET,
        )
    }

    /// Waits for events for at most `timeout_ns`; 0 only looks. A wake-up from another thread ends
    /// the wait without an event.
    pub(crate) fn wait(&self, room: &mut Events, timeout_ns: u64) -> Result<usize, Errno> {
        room.ready.clear();
        if let Some(coarse) = &self.coarse {
            return self.wait_coarsely(coarse, room, timeout_ns);
        }
        let timeout = Timespec {
            tv_sec: (timeout_ns / 1_000_000_000) as i64,
            tv_nsec: (timeout_ns % 1_000_000_000) as i64,
        };
        let (events, _) = match epoll::wait(&self.epoll, &mut room.buffer[..], Some(&timeout)) {
            Err(Errno::INTR) => return Ok(0),
            result => result?,
        };
        for event in events {
            self.note(&mut room.ready, event.data.u64(), event.flags);
        }
        Ok(room.ready.len())
    }

    fn note(&self, ready: &mut Vec<Ready>, token: u64, flags: epoll::EventFlags) {
        use epoll::EventFlags as On;
        if token == WAKER {
            // Empties the counter; otherwise epoll would report it again and again.
            let _ = read(&*self.waker.0, &mut [0_u8; 8]);
            return;
        }
        let failed = flags.contains(On::ERR);
        let (readable, writable) = (flags.contains(On::IN), flags.contains(On::OUT));
        ready.push(Ready {
            token,
            readable,
            writable,
            failed,
            ended: failed || flags.intersects(On::RDHUP | On::HUP),
        });
    }

    #[cold]
    fn wait_coarsely(
        &self,
        coarse: &Epoll,
        room: &mut Events,
        timeout_ns: u64,
    ) -> Result<usize, Errno> {
        let mut events = [EpollEvent::empty(); COARSE_BATCH];
        let milliseconds = u16::try_from(timeout_ns.div_ceil(1_000_000)).unwrap_or(u16::MAX);
        let number = match coarse.wait(&mut events, milliseconds) {
            Err(nix::Error::EINTR) => return Ok(0),
            result => result.map_err(|error| Errno::from_raw_os_error(error as i32))?,
        };
        for event in &events[..number] {
            let flags = epoll::EventFlags::from_bits_retain(event.events().bits() as u32);
            self.note(&mut room.ready, event.data(), flags);
        }
        Ok(room.ready.len())
    }
}

/// Duplicates the instance if the system cannot wait with nanosecond precision.
fn coarse(epoll: &OwnedFd) -> Result<Option<Epoll>, Errno> {
    let mut room = [MaybeUninit::<epoll::Event>::uninit(); 1];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    match epoll::wait(epoll, &mut room[..], Some(&now)) {
        Err(Errno::NOSYS) => Ok(Some(Epoll(rustix::io::fcntl_dupfd_cloexec(epoll, 0)?))),
        _ => Ok(None),
    }
}
