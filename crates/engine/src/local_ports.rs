//! Local ports of new connections: how the kernel looks for a free one, and which pairs of
//! addresses have none left.
//!
//! By default connect(2) looks among the ports of one parity first. Once these are all taken
//! (14,116 of the usual range, each for the 60 s of TIME_WAIT) every connection looks at all of
//! them again: 2 ms of CPU. With a range of the socket's own, however wide, the kernel looks among
//! all ports (since Linux 6.8), from where the last connection of the same pair found one, with
//! small random steps. All processes share that place, so workers and agents of a machine do not
//! get in each other's way. Reserved ports and those of other programs are left out as ever.

use nix::libc;
use nix::setsockopt_impl;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::SetStruct;
use rustix::fd::AsFd;
use std::net::{IpAddr, SocketAddr};

/// Of linux/in.h.
const IP_LOCAL_PORT_RANGE: libc::c_int = 51;

/// First port in the low half, last in the high one. A bound outside `ip_local_port_range` has no
/// effect (ip(7)), so these leave that range as it is.
const EVERY_PORT: u32 = 65_535 << 16 | 1;

/// To look for a port in vain takes 3 ms with the usual range: at most this part of a CPU's time
/// goes into it.
const LOOKING_SHARE: u64 = 20;

/// No pair waits for longer, however many there are.
const PAUSE_MAX_NS: u64 = 1_000_000_000;

/// A range of its own for a socket.
#[derive(Debug, Clone, Copy)]
struct PortRange;

setsockopt_impl!(
    PortRange,
    libc::IPPROTO_IP,
    IP_LOCAL_PORT_RANGE,
    u32,
    SetStruct<'_, u32>
);

/// A source address, where the plan names one, and a target: a port serves one connection of each
/// pair.
pub(crate) type AddressPair = (Option<IpAddr>, SocketAddr);

/// What a worker knows of local ports. Times are nanoseconds of the run clock.
#[derive(Debug, Default)]
pub(crate) struct LocalPorts {
    /// Each with the instant until which no port is looked for.
    exhausted: Vec<(AddressPair, u64)>,
}

impl LocalPorts {
    /// Whether to look for a port now: not shortly after all were taken.
    pub(crate) fn may_look(&mut self, pair: AddressPair, now: u64) -> bool {
        if self.exhausted.is_empty() {
            return true;
        }
        self.exhausted.retain(|&(_, until)| now < until);
        self.exhausted.iter().all(|&(paused, _)| paused != pair)
    }

    /// All ports were taken, which it took from `begun_at` until now to find out.
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

/// Has the kernel look among all ports for a connection to `target`, where they run short. A kernel
/// before 6.3 refuses, and looks in its own way.
pub(crate) fn look_among_all(socket: &impl AsFd, target: SocketAddr) {
    if !frees_soon(target) {
        let _ = setsockopt(socket, PortRange, &EVERY_PORT);
    }
}

/// Over loopback a port in TIME_WAIT can be taken again after a second (`tcp_tw_reuse`).
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
