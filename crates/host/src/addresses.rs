//! Addresses of this network namespace's own interfaces.

use crate::kernel::{KernelFiles, KernelText};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// More are not told: load machines with many source addresses have some hundreds.
const ADDRESSES_MAX: usize = 2_000;

/// Own addresses, loopback left out. What the kernel does not tell (IPv6 may be switched off) is
/// not among them.
pub(crate) fn own(files: &KernelFiles) -> Vec<IpAddr> {
    let mut own: Vec<IpAddr> = Vec::new();
    if let Ok(trie) = files.read("proc/self/net/fib_trie") {
        own.extend(v4(&trie).into_iter().map(IpAddr::V4));
    }
    if let Ok(list) = files.read("proc/self/net/if_inet6") {
        own.extend(v6(&list).into_iter().map(IpAddr::V6));
    }
    own.retain(|address| !address.is_loopback());
    own.sort_unstable();
    own.dedup();
    own.truncate(ADDRESSES_MAX);
    own
}

/// The kernel's routing tables list each own address as a host that is local, in the two lines `|--
/// a` and `/32 host LOCAL`.
fn v4(trie: &KernelText) -> Vec<Ipv4Addr> {
    let mut leaf: Option<Ipv4Addr> = None;
    let mut own = Vec::new();
    for line in trie.text.lines().map(str::trim) {
        match line.strip_prefix("|-- ") {
            Some(address) => leaf = address.parse().ok(),
            None if line == "/32 host LOCAL" => own.extend(leaf),
            None => {}
        }
    }
    own
}

/// A line an address, which begins with its 32 hexadecimal digits.
fn v6(list: &KernelText) -> Vec<Ipv6Addr> {
    list.text.lines().filter_map(v6_of_line).collect()
}

fn v6_of_line(line: &str) -> Option<Ipv6Addr> {
    let digits = line.split_whitespace().next()?;
    u128::from_str_radix(digits, 16).ok().map(Ipv6Addr::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIE: &str = "\
Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 127.0.0.0/8 2 0 2
        |-- 127.0.0.0
           /8 host LOCAL
        |-- 127.0.0.1
           /32 host LOCAL
     +-- 192.0.2.0/24 2 0 2
        |-- 192.0.2.0
           /24 link UNICAST
        |-- 192.0.2.2
           /32 host LOCAL
        |-- 192.0.2.255
           /32 link BROADCAST
Local:
  +-- 192.0.2.0/24 2 0 2
        |-- 192.0.2.2
           /32 host LOCAL
";
    const LIST: &str = "\
fd000000000000000000000000000002 04 40 00 82     eth0
00000000000000000000000000000001 01 80 10 80       lo
";

    #[test]
    fn own_addresses_are_those_the_kernel_lists_as_local() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("proc/self/net");
        std::fs::create_dir_all(&folder).unwrap();
        let own = || {
            own(&KernelFiles::new(root.path()))
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        assert!(own().is_empty(), "a kernel that tells nothing");
        std::fs::write(folder.join("fib_trie"), TRIE).unwrap();
        assert_eq!(own(), ["192.0.2.2"]);
        std::fs::write(folder.join("if_inet6"), LIST).unwrap();
        assert_eq!(own(), ["192.0.2.2", "fd00::2"]);
    }

    #[test]
    fn address_that_packets_leave_from_is_an_own_one() {
        // Nothing is sent: connecting a datagram socket only chooses the address.
        let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
        let Ok(()) = socket.connect("192.0.2.200:9") else {
            return println!("skipped: no route from here");
        };
        let from = socket.local_addr().unwrap().ip();
        let own = own(&KernelFiles::new(std::path::Path::new("/")));
        assert!(
            from.is_loopback() || own.contains(&from),
            "{from} is not among {own:?}"
        );
    }
}
