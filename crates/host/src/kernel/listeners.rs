//! Sockets that listen, and how full their accept queues are, asked of the kernel by netlink
//! (sock_diag(7)). Where that is refused, nothing is known of them.

use super::KernelFiles;
use crate::netlink;
use rustix::fd::OwnedFd;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::fs::File;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// A socket that listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listener {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// Connections that wait to be accepted.
    pub(crate) waiting: u32,
    /// How many may wait.
    pub(crate) most: u32,
    /// The socket's number, as its owner's descriptors show it.
    pub(crate) inode: u32,
    /// Connections that it has dropped since it was made; `None` where the kernel does not say.
    pub(crate) dropped: Option<u32>,
}

/// Asks for the listening sockets of one network namespace, any number of times.
#[derive(Debug)]
pub(crate) struct ListenerQuery {
    socket: OwnedFd,
}

/// The kernel fills a message of an answer up to this.
const ANSWER_BYTES: usize = 32 << 10;

// Numbers of netlink(7) and sock_diag(7).
const BY_FAMILY: u16 = 20;
const REQUEST_DUMP: u16 = 0x301;
const DONE: u16 = 3;
const IPV4: u8 = 2;
const IPV6: u8 = 10;
const TCP: u8 = 6;
const STATE_LISTEN: u32 = 10;
/// `INET_DIAG_SKMEMINFO`: counters of the socket's memory, of which the ninth is of its drops.
const MEMORY_INFO: u16 = 7;
const DROPS_AT: usize = 8 * 4;
const HEADER_BYTES: usize = 16;
/// `struct inet_diag_msg`.
const SOCKET_BYTES: usize = 72;
/// `struct inet_diag_sockid`.
const SOCKET_ID_BYTES: usize = 48;

impl ListenerQuery {
    /// Asks in the network namespace that `process` (an id, or `self`) is in. `None` if the kernel
    /// has no such thing, or if this process may not enter that namespace.
    pub(crate) fn open(files: &KernelFiles, process: &str) -> Option<ListenerQuery> {
        let namespace = files.link(&format!("proc/{process}/ns/net"));
        let socket = if namespace == files.link("proc/self/ns/net") {
            netlink::diagnosis_of(None)
        } else {
            let path = files.path(&format!("proc/{process}/ns/net"));
            netlink::diagnosis_of(Some(File::open(path).ok()?))
        };
        Some(ListenerQuery { socket: socket? })
    }

    /// All that listen now, over IPv4 and IPv6; `None` where the kernel does not say.
    pub(crate) fn listeners(&self) -> Option<Vec<Listener>> {
        let mut listeners = Vec::new();
        for family in [IPV4, IPV6] {
            send(&self.socket, &request(family), SendFlags::empty()).ok()?;
            let mut answer = vec![0; ANSWER_BYTES];
            loop {
                let (bytes, _) = recv(&self.socket, &mut answer[..], RecvFlags::empty()).ok()?;
                if read_answer(answer.get(..bytes)?, &mut listeners)? == Answer::Whole {
                    break;
                }
            }
        }
        Some(listeners)
    }
}

/// `struct nlmsghdr`, then `struct inet_diag_req_v2`.
fn request(family: u8) -> Vec<u8> {
    let bytes = (HEADER_BYTES + 8 + SOCKET_ID_BYTES) as u32;
    let mut request = bytes.to_ne_bytes().to_vec();
    request.extend(BY_FAMILY.to_ne_bytes());
    request.extend(REQUEST_DUMP.to_ne_bytes());
    // Number of the request, and of the port: the kernel knows them.
    request.extend([0; 8]);
    request.extend([family, TCP, 1 << (MEMORY_INFO - 1), 0]);
    request.extend((1_u32 << STATE_LISTEN).to_ne_bytes());
    request.extend([0; SOCKET_ID_BYTES]);
    request
}

/// How far an answer is.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Begun,
    Whole,
}

/// One message or several in a row; `None` where the kernel refuses, or where it is no answer.
fn read_answer(mut answer: &[u8], listeners: &mut Vec<Listener>) -> Option<Answer> {
    while !answer.is_empty() {
        let bytes = u32::from_ne_bytes(part(answer, 0)?) as usize;
        let content = answer.get(HEADER_BYTES..bytes)?;
        match u16::from_ne_bytes(part(answer, 4)?) {
            BY_FAMILY => listeners.push(listener(content)?),
            DONE => return Some(Answer::Whole),
            _ => return None,
        }
        answer = answer.get(bytes.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(Answer::Begun)
}

/// `struct inet_diag_msg`: of a socket that listens, the queues are what waits and what may wait.
fn listener(message: &[u8]) -> Option<Listener> {
    let number = |at| Some(u32::from_ne_bytes(part(message, at)?));
    let port = u16::from_be_bytes(part(message, 4)?);
    let address = match message.first()? {
        &IPV4 => IpAddr::from(part::<4>(message, 8)?),
        _ => IpAddr::from(Ipv6Addr::from(part::<16>(message, 8)?)),
    };
    Some(Listener {
        address: SocketAddr::new(address, port),
        waiting: number(56)?,
        most: number(60)?,
        inode: number(68)?,
        dropped: read_drops(message),
    })
}

/// What the attributes behind the message say, `struct nlattr` each.
fn read_drops(message: &[u8]) -> Option<u32> {
    let mut rest = message.get(SOCKET_BYTES..)?;
    loop {
        let bytes = usize::from(u16::from_ne_bytes(part(rest, 0)?));
        let attribute = rest.get(4..bytes)?;
        if u16::from_ne_bytes(part(rest, 2)?) == MEMORY_INFO {
            return Some(u32::from_ne_bytes(part(attribute, DROPS_AT)?));
        }
        rest = rest.get(bytes.next_multiple_of(4)..)?;
    }
}

fn part<const BYTES: usize>(message: &[u8], at: usize) -> Option<[u8; BYTES]> {
    message.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::path::Path;
    use std::time::{Duration, Instant};

    /// Longer than anything here takes, on a busy machine too.
    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn connections_that_nobody_accepts_wait_in_the_queue() {
        let query = ListenerQuery::open(&KernelFiles::new(Path::new("/")), "self").unwrap();
        for bind in ["127.0.0.1:0", "[::1]:0"] {
            // Without IPv6 there is only the first.
            let Ok(server) = TcpListener::bind(bind) else {
                continue;
            };
            let address = server.local_addr().unwrap();
            let _clients = [(); 3].map(|()| TcpStream::connect(address).unwrap());
            let listeners = query.listeners().unwrap();
            let own = |listener: &&Listener| listener.address == address;
            let found = listeners.iter().find(own).unwrap();
            assert_eq!(found.waiting, 3, "{found:?}");
            assert!(found.most >= 3 && found.inode > 0, "{found:?}");
            drop(server);
            // Another process may have its address by now, and one that another test just began has
            // the socket too, until its program is loaded.
            let is_left = || {
                let left = query.listeners().unwrap();
                left.iter().any(|listener| listener.inode == found.inode)
            };
            let begun = Instant::now();
            while is_left() {
                assert!(begun.elapsed() < PATIENCE, "it still listens: {found:?}");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    #[test]
    fn anything_else_is_no_answer() {
        let mut done = vec![16, 0, 0, 0, 3, 0, 2, 0];
        done.extend([0; 8]);
        let mut error = done.clone();
        error[4] = 2;
        let mut cut_short = done.clone();
        cut_short[4] = 20;
        for (answer, expected) in [
            (&done[..], Some(Answer::Whole)),
            (&[], Some(Answer::Begun)),
            (&error, None),
            (&cut_short, None),
            (&done[..15], None),
            (&[0; 16], None),
            (&[255; 40], None),
        ] {
            assert_eq!(read_answer(answer, &mut Vec::new()), expected, "{answer:?}");
        }
    }
}
