//! Local ports of new connections: how the kernel looks for a free one, and which pairs of
//! addresses have run out.
//!
//! By default connect(2) searches the ports of one parity first. Once these are all taken (14,116
//! of the usual range, each for the 60 s of TIME_WAIT), every connection searches all of them
//! again: 2 ms of CPU. With a range of the socket's own, however wide, the kernel searches all
//! ports (since Linux 6.8), starting where the last connection of the same pair found one, with
//! small random steps. All processes share that position, so workers and agents on one machine do
//! not get in each other's way. Reserved ports and those of other programs are left out as ever.

use nix::libc;
use nix::setsockopt_impl;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::SetStruct;
use rustix::fd::AsFd;
use std::net::{IpAddr, SocketAddr};

/// From linux/in.h.
const IP_LOCAL_PORT_RANGE: libc::c_int = 51;

/// The first port in the low half, the last in the high half. Bounds outside `ip_local_port_range`
/// have no effect (ip(7)), so this leaves that range as it is.
const EVERY_PORT: u32 = 65_535 << 16 | 1;

/// A search that finds no port takes 3 ms over the usual range. Such searches take at most one part
/// in this many of a CPU's time.
const LOOKING_SHARE: u64 = 20;

/// No pair is paused for longer than this, however many there are.
const PAUSE_MAX_NS: u64 = 1_000_000_000;

/// The socket option that gives a socket its own port range.
#[derive(Debug, Clone, Copy)]
struct PortRange;

setsockopt_impl!(
    PortRange,
    libc::IPPROTO_IP,
    IP_LOCAL_PORT_RANGE,
    u32,
    SetStruct<'_, u32>
);

/// A source address, if the plan names one, and a target. A port serves one connection per pair.
pub(crate) type AddressPair = (Option<IpAddr>, SocketAddr);

/// A worker's knowledge of local ports. Times are nanoseconds of the run clock.
#[derive(Debug, Default)]
pub(crate) struct LocalPorts {
    /// Each pair with the instant until which no port is searched for.
    exhausted: Vec<(AddressPair, u64)>,
}

impl LocalPorts {
    /// Whether to search for a port now: not during the pause after all were taken.
    pub(crate) fn may_look(&mut self, pair: AddressPair, now: u64) -> bool {
        if self.exhausted.is_empty() {
            return true;
        }
        self.exhausted.retain(|&(_, until)| now < until);
        self.exhausted.iter().all(|&(paused, _)| paused != pair)
    }

    /// Notes that all ports were taken; the search lasted from `begun_at` until `now`.
    pub(crate) fn all_taken(&mut self, pair: AddressPair, begun_at: u64, now: u64) {
        if frees_soon(pair.1) {
            return;
        }
        let pairs = self.exhausted.len() as u64 + 1;
        let took = now.saturating_sub(begun_at);
        let pause = took.saturating_mul(LOOKING_SHARE).saturating_mul(pairs);
        self.exhausted
            .push((pair, now.saturating_add(pause.min(PAUSE_MAX_NS))));
    }
}

/// Makes the kernel search all ports for a connection to `target`, if ports could run short there.
/// Kernels before 6.3 refuse the option and search in their own way.
pub(crate) fn look_among_all(socket: &impl AsFd, target: SocketAddr) {
    if !frees_soon(target) {
        let _ = setsockopt(socket, PortRange, &EVERY_PORT);
    }
}

/// Over loopback a port in TIME_WAIT can be reused after a second (`tcp_tw_reuse`).
fn frees_soon(target: SocketAddr) -> bool {
    target.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn pair(last: u8) -> AddressPair {
        let source = IpAddr::from([10, 0, 0, last]);
        (Some(source), SocketAddr::from(([10, 0, 1, 1], 443)))
    }

    #[test]
    fn ports_are_looked_for_in_vain_for_a_twentieth_of_the_time() {
        let mut ports = LocalPorts::default();
        let (mut now, mut looked) = (0, 0);
        while now < 1_000 * MS {
            if ports.may_look(pair(1), now) {
                looked += 3 * MS;
                ports.all_taken(pair(1), now, now + 3 * MS);
                now += 3 * MS;
            }
            now += MS / 10;
        }
        assert!((45 * MS..=51 * MS).contains(&looked), "{looked}");
    }

    #[test]
    fn many_pairs_together_take_no_more_time_than_one() {
        let mut ports = LocalPorts::default();
        let (mut now, mut looked) = (0, 0);
        while now < 10_000 * MS {
            for last in 1..=8 {
                if ports.may_look(pair(last), now) {
                    looked += 3 * MS;
                    ports.all_taken(pair(last), now, now + 3 * MS);
                    now += 3 * MS;
                }
            }
            now += MS;
        }
        assert!((300 * MS..=900 * MS).contains(&looked), "{looked}");
    }

    #[test]
    fn pair_without_ports_does_not_hold_up_another_one() {
        let mut ports = LocalPorts::default();
        ports.all_taken(pair(1), 0, 3 * MS);
        assert!(!ports.may_look(pair(1), 62 * MS));
        assert!(ports.may_look(pair(2), 4 * MS));
        assert!(ports.may_look(pair(1), 63 * MS));
    }

    #[test]
    fn ports_of_loopback_are_looked_for_again_at_once() {
        let mut ports = LocalPorts::default();
        let pair = (None, SocketAddr::from(([127, 0, 0, 1], 443)));
        ports.all_taken(pair, 0, 3 * MS);
        assert!(ports.may_look(pair, 3 * MS));
    }

    #[test]
    fn pause_is_bounded() {
        let mut ports = LocalPorts::default();
        ports.all_taken(pair(1), 0, 500 * MS);
        assert!(!ports.may_look(pair(1), 1_499 * MS));
        assert!(ports.may_look(pair(1), 1_500 * MS));
    }
}
