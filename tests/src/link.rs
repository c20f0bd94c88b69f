//! A link with delay, loss and a limited rate between this process's network namespace and one of
//! its own, in user space over two TUN devices, for kernels without netem. Needs root.

mod forwarder;
mod quality;
mod tun;
mod wire;

pub use quality::LinkQuality;
pub use wire::LinkCounts;

use crate::namespace::run_ip;
use crate::require::skip;
use crate::{Namespace, require};
use forwarder::{Forwarder, Shared};
use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError};

/// The device in the namespace at the far end.
const FAR_DEVICE: &str = "link0";

/// A link from here to a namespace of its own; both directions are alike and independent. The
/// client runs at the far end, started with [`Link::command`]; servers run here as usual.
/// Everything is removed when dropped.
pub struct Link {
    far: Namespace,
    network: [u8; 2],
    forwarder: Forwarder,
}

impl Link {
    /// A new link; `None` if this process may not make one.
    ///
    /// # Panics
    /// If it may not and `CI=true`.
    #[must_use]
    pub fn new(quality: LinkQuality) -> Option<Link> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        // Two of them at once in different processes most likely get different networks.
        let second = process.wrapping_add(number / 40) % 250;
        let network = [214 + (number % 40) as u8, second as u8];
        let [near_address, far_address] =
            [1, 2].map(|last| format!("{}/30", address(network, last)));
        let (ip, far) = (require("ip")?, Namespace::new()?);
        let name = format!("cnl{process}-{number}");
        let near_device = match tun::open(&name) {
            Ok(device) => device,
            Err(error) => {
                skip(&format!("cannot make TUN devices: {error}"));
                return None;
            }
        };
        run_ip(&ip, &["addr", "add", &near_address, "dev", &name]);
        // Only the test's own packets are to cross it, so no router is looked for.
        run_ip(&ip, &["link", "set", &name, "addrgenmode", "none"]);
        run_ip(&ip, &["link", "set", &name, "txqueuelen", "10000", "up"]);
        let far_device = far.enter(|| tun::open(FAR_DEVICE)).unwrap();
        far.ip(&["addr", "add", &far_address, "dev", FAR_DEVICE]);
        far.ip(&["link", "set", FAR_DEVICE, "addrgenmode", "none"]);
        far.ip(&["link", "set", FAR_DEVICE, "txqueuelen", "10000", "up"]);
        far.ip(&["route", "add", "default", "dev", FAR_DEVICE]);
        Some(Link {
            far,
            network,
            forwarder: Forwarder::start([near_device, far_device], quality),
        })
    }

    /// Address of this end, where servers listen.
    #[must_use]
    pub fn near_address(&self) -> Ipv4Addr {
        address(self.network, 1)
    }

    /// Address of the other end.
    #[must_use]
    pub fn far_address(&self) -> Ipv4Addr {
        address(self.network, 2)
    }

    /// A command that runs the program in its arguments at the far end.
    #[must_use]
    pub fn command(&self) -> Command {
        self.far.command()
    }

    /// The namespace at the far end.
    #[must_use]
    pub fn far(&self) -> &Namespace {
        &self.far
    }

    /// Changes the link while it is in use. Packets under way arrive as before.
    pub fn change(&self, change: impl FnOnce(&mut LinkQuality)) {
        change(
            &mut self
                .shared()
                .quality
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
    }

    /// What was sent from this end, and from the other.
    #[must_use]
    pub fn counts(&self) -> [LinkCounts; 2] {
        *self
            .shared()
            .counts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.forwarder.shared
    }
}

fn address([second, third]: [u8; 2], last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, second, third, last)
}
