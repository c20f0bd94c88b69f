//! HAProxy before a backend of the test, with a limit of concurrent requests.

use crate::ports::free_ports;
use crate::process::start_ready;
use crate::{Process, require};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::process::Command;
use tempfile::TempDir;

/// A running HAProxy that forwards plain HTTP, and holds excess requests in its queue.
pub struct HaproxyRelay {
    process: Process,
    address: SocketAddr,
    _folder: TempDir,
}

impl HaproxyRelay {
    /// Starts one on `ip` with at most `at_once` requests at `backend`; `None` if it is not
    /// installed.
    #[must_use]
    pub fn start(ip: IpAddr, backend: SocketAddr, at_once: u32) -> Option<HaproxyRelay> {
        HaproxyRelay::start_with("", ip, backend, at_once)
    }

    /// Starts one that never sleeps, but polls for events again and again.
    #[must_use]
    pub fn polling(ip: IpAddr, backend: SocketAddr) -> Option<HaproxyRelay> {
        HaproxyRelay::start_with("busy-polling", ip, backend, 1000)
    }

    fn start_with(
        global: &str,
        ip: IpAddr,
        backend: SocketAddr,
        at_once: u32,
    ) -> Option<HaproxyRelay> {
        let program = require("haproxy")?;
        let folder = tempfile::tempdir().unwrap();
        let start = || {
            let address = SocketAddr::new(ip, free_ports(ip, 1)[0]);
            let path = folder.path().join("haproxy.cfg");
            std::fs::write(&path, config(global, address, backend, at_once)).unwrap();
            // -db: one process, in the foreground.
            let mut command = Command::new(&program);
            command.arg("-db").arg("-f").arg(&path);
            let output = folder.path().join("haproxy.out");
            (Process::start(&mut command, &output), address)
        };
        let ready = |address: &SocketAddr| TcpStream::connect(address).is_ok();
        let (process, address) = start_ready("haproxy", start, ready);
        Some(HaproxyRelay {
            process,
            address,
            _folder: folder,
        })
    }

    /// The URL of `/`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }
}

fn config(global: &str, address: SocketAddr, backend: SocketAddr, at_once: u32) -> String {
    format!(
        "global
  nbthread 1
  maxconn 8000
  {global}
defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 5s
  timeout queue 60s
  timeout http-keep-alive 60s
listen relay
  bind {address} backlog 4096
  server one {backend} maxconn {at_once}
"
    )
}
