//! Network namespaces on a bridge: separate machines as far as the network is concerned. Needs
//! root.

use crate::namespace::run_ip;
use crate::require::skip;
use crate::{Namespace, require};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};

/// Namespaces with an address each, on a bridge that has an address too; all removed when dropped.
pub struct Namespaces {
    ip: PathBuf,
    bridge: String,
    network: u8,
    namespaces: Vec<Namespace>,
}

impl Namespaces {
    /// `count` namespaces; `None` if this process may not make them, or iproute2 is not installed.
    #[must_use]
    pub fn new(count: u8) -> Option<Namespaces> {
        let ip = require("ip")?;
        let namespaces: Result<Vec<Namespace>, String> =
            (0..count).map(|_| Namespace::make(ip.clone())).collect();
        let namespaces = namespaces
            .map_err(|why| skip_for_lack_of_rights(&why))
            .ok()?;
        let (network, bridge) = make_bridge(&ip);
        let made = Namespaces {
            ip,
            bridge,
            network,
            namespaces,
        };
        made.address_bridge();
        (0..count).for_each(|index| made.connect(index));
        Some(made)
    }

    /// Address of the bridge, under which all namespaces reach this process.
    #[must_use]
    pub fn bridge_address(&self) -> Ipv4Addr {
        self.address_of(1)
    }

    /// The same in IPv6.
    #[must_use]
    pub fn bridge_address_v6(&self) -> Ipv6Addr {
        self.address_v6_of(1)
    }

    /// Address of the namespace `index`, from 0.
    #[must_use]
    pub fn address(&self, index: u8) -> Ipv4Addr {
        self.address_of(index + 11)
    }

    /// A command that runs the program in its arguments in the namespace `index`, from 0.
    #[must_use]
    pub fn command(&self, index: u8) -> Command {
        self.namespaces[usize::from(index)].command()
    }

    /// The namespace `index`, from 0.
    #[must_use]
    pub fn namespace(&self, index: u8) -> &Namespace {
        &self.namespaces[usize::from(index)]
    }

    fn address_of(&self, last: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 213, self.network, last)
    }

    fn address_v6_of(&self, last: u8) -> Ipv6Addr {
        Ipv6Addr::new(0xfd00, 0, 0, u16::from(self.network), 0, 0, 0, last.into())
    }

    fn address_bridge(&self) {
        let address = format!("{}/24", self.bridge_address());
        let address_v6 = format!("{}/64", self.bridge_address_v6());
        run_ip(&self.ip, &["addr", "add", &address, "dev", &self.bridge]);
        let add = ["addr", "add", &address_v6, "dev", &self.bridge, "nodad"];
        run_ip(&self.ip, &add);
        run_ip(&self.ip, &["link", "set", &self.bridge, "up"]);
    }

    fn connect(&self, index: u8) {
        let namespace = &self.namespaces[usize::from(index)];
        let outside = format!("{}-{index}", self.bridge);
        let address = format!("{}/24", self.address(index));
        let pair = [
            "link",
            "add",
            &outside,
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            namespace.name(),
        ];
        run_ip(&self.ip, &pair);
        run_ip(
            &self.ip,
            &["link", "set", &outside, "master", &self.bridge, "up"],
        );
        let address_v6 = format!("{}/64", self.address_v6_of(index + 11));
        namespace.ip(&["addr", "add", &address, "dev", "eth0"]);
        namespace.ip(&["addr", "add", &address_v6, "dev", "eth0", "nodad"]);
        namespace.ip(&["link", "set", "eth0", "up"]);
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        // A namespace takes its end of a link with it, and with that the other end. The bridge may
        // not exist.
        self.namespaces.clear();
        let _ = Command::new(&self.ip)
            .args(["link", "del", &self.bridge])
            .output();
    }
}

/// A new bridge and a network of its own. The bridge's name contains the network, so that no two
/// bridges share one, whichever process made them and whether or not it lived to remove them.
fn make_bridge(ip: &Path) -> (u8, String) {
    // The kernel takes its time to remove the devices of earlier bridges.
    static LAST: AtomicU8 = AtomicU8::new(0);
    for _ in 0..=u8::MAX {
        let network = LAST.fetch_add(1, Ordering::Relaxed);
        let bridge = format!("cnn-{network}");
        let add = ["link", "add", &bridge, "type", "bridge"];
        let output = Command::new(ip).args(add).output().unwrap();
        let why = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            return (network, bridge);
        }
        assert!(why.contains("File exists"), "ip {add:?}: {why}");
    }
    panic!("all 256 bridges of tests are there: `ip link del` those that nobody uses");
}

/// Reports that a test is skipped. In CI that is allowed only if not even root of the whole machine
/// can do it.
fn skip_for_lack_of_rights(why: &str) {
    if rustix::process::geteuid().is_root() && !is_container(why) {
        skip(why);
    } else {
        println!("skipped: {why}");
    }
}

/// Root of a container may lack the right to do it.
fn is_container(why: &str) -> bool {
    why.contains("ermitted") || why.contains("denied") || Path::new("/.dockerenv").exists()
}
