//! Network namespaces on a bridge: machines of their own, as far as the network goes. Needs root.

use crate::require;
use crate::require::skip;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Namespaces with an address each, on one bridge, which has an address too; all gone when dropped.
pub struct Namespaces {
    ip: PathBuf,
    bridge: String,
    network: u8,
    names: Vec<String>,
}

impl Namespaces {
    /// So many namespaces; none where this process may not make them, or iproute2 is not installed.
    #[must_use]
    pub fn new(count: u8) -> Option<Namespaces> {
        let ip = require("ip")?;
        // Two of these at once, in different processes, most likely differ in this.
        let id = std::process::id();
        let network = (id % 250) as u8;
        let names = (1..=count).map(|number| format!("cannonade-{id}-{number}")).collect();
        let namespaces = Namespaces { ip, bridge: format!("cnn{id}"), network, names };
        if !namespaces.may_be_made() {
            return None;
        }
        namespaces.make_bridge();
        (1..=count).for_each(|number| namespaces.make(number));
        Some(namespaces)
    }

    /// Address of the bridge, where this process and all namespaces reach it.
    #[must_use]
    pub fn bridge_address(&self) -> Ipv4Addr {
        self.address_of(1)
    }

    /// Address of a namespace, from 0.
    #[must_use]
    pub fn address(&self, index: u8) -> Ipv4Addr {
        self.address_of(index + 11)
    }

    /// What runs a program, to be added as an argument, in a namespace, from 0.
    #[must_use]
    pub fn command(&self, index: u8) -> Command {
        let mut command = Command::new(&self.ip);
        command.args(["netns", "exec", &self.names[usize::from(index)]]);
        command
    }

    fn address_of(&self, last: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 213, self.network, last)
    }

    fn may_be_made(&self) -> bool {
        let made = Command::new(&self.ip).args(["netns", "add", &self.names[0]]).output().unwrap();
        if made.status.success() {
            return true;
        }
        let why = format!("cannot make network namespaces: {}", String::from_utf8_lossy(&made.stderr).trim());
        if is_root() && !is_container(&why) {
            // In CI as root this is to work.
            skip(&why);
        } else {
            println!("skipped: {why}");
        }
        false
    }

    fn make_bridge(&self) {
        let address = format!("{}/24", self.bridge_address());
        self.run(&["link", "add", &self.bridge, "type", "bridge"]);
        self.run(&["addr", "add", &address, "dev", &self.bridge]);
        self.run(&["link", "set", &self.bridge, "up"]);
    }

    fn make(&self, number: u8) {
        let name = &self.names[usize::from(number) - 1];
        let (outside, address) = (format!("{}-{number}", self.bridge), format!("{}/24", self.address(number - 1)));
        if number > 1 {
            self.run(&["netns", "add", name]);
        }
        self.run(&["link", "add", &outside, "type", "veth", "peer", "name", "eth0", "netns", name]);
        self.run(&["link", "set", &outside, "master", &self.bridge, "up"]);
        self.run(&["-n", name, "addr", "add", &address, "dev", "eth0"]);
        self.run(&["-n", name, "link", "set", "eth0", "up"]);
        self.run(&["-n", name, "link", "set", "lo", "up"]);
    }

    fn run(&self, arguments: &[&str]) {
        let output = Command::new(&self.ip).args(arguments).output().unwrap();
        assert!(output.status.success(), "ip {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        // A namespace takes its end of the link with it, and so the other. What was never made cannot be removed.
        for name in &self.names {
            let _ = Command::new(&self.ip).args(["netns", "del", name]).output();
        }
        let _ = Command::new(&self.ip).args(["link", "del", &self.bridge]).output();
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Root of a container without the right to do it is no root.
fn is_container(why: &str) -> bool {
    why.contains("ermitted") || why.contains("denied") || Path::new("/.dockerenv").exists()
}
