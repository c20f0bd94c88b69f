//! Sockets of netlink(7), by which the kernel is asked what no file of it says. Other systems have
//! none.

#[cfg(target_os = "linux")]
pub(crate) use linux::{diagnosis_of, interface_name, routes};
#[cfg(not(target_os = "linux"))]
pub(crate) use without::{diagnosis_of, interface_name, routes};

#[cfg(target_os = "linux")]
mod linux {
    use rustix::fd::OwnedFd;
    use rustix::io::Result;
    use rustix::net::netdevice::index_to_name;
    use rustix::net::netlink::SOCK_DIAG;
    use rustix::net::sockopt::{Timeout, set_socket_timeout};
    use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, socket_with};
    use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
    use std::fs::File;
    use std::os::fd::AsFd as _;
    use std::time::Duration;

    /// The kernel answers at once; what is longer is no answer.
    const ANSWER_MAX: Duration = Duration::from_millis(100);

    /// A socket of rtnetlink(7).
    pub(crate) fn routes() -> Option<OwnedFd> {
        // Protocol 0 of this family is NETLINK_ROUTE.
        open(None).ok()
    }

    /// A socket of sock_diag(7): in the network namespace of this file, or in this thread's.
    pub(crate) fn diagnosis_of(namespace: Option<File>) -> Option<OwnedFd> {
        let Some(namespace) = namespace else {
            return open(Some(SOCK_DIAG)).ok();
        };
        // A socket stays in the namespace of the thread that made it; this one ends at once.
        let made = std::thread::Builder::new()
            .name("namespace".to_owned())
            .spawn(move || {
                move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
                open(Some(SOCK_DIAG))
            });
        made.ok()?.join().ok()?.ok()
    }

    /// The name of the interface with this number.
    pub(crate) fn interface_name(socket: &OwnedFd, number: u32) -> Option<String> {
        index_to_name(socket, number).ok()
    }

    fn open(protocol: Option<Protocol>) -> Result<OwnedFd> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(ANSWER_MAX))?;
        Ok(socket)
    }
}

#[cfg(not(target_os = "linux"))]
mod without {
    use rustix::fd::OwnedFd;
    use std::fs::File;

    pub(crate) fn routes() -> Option<OwnedFd> {
        None
    }

    pub(crate) fn diagnosis_of(_: Option<File>) -> Option<OwnedFd> {
        None
    }

    pub(crate) fn interface_name(_: &OwnedFd, _: u32) -> Option<String> {
        None
    }
}
