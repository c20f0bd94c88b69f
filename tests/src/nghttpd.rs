//! nghttpd, the server of nghttp2, in plain text; it is strict about HPACK.

use crate::ports::free_ports;
use crate::process::start_ready;
use crate::{Process, require};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::process::Command;
use tempfile::TempDir;

const IP: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A running nghttpd.
pub struct Nghttpd {
    _process: Process,
    address: SocketAddr,
    _folder: TempDir,
}

impl Nghttpd {
    /// Starts it with these options; it echoes request bodies. `None` if it is not installed.
    #[must_use]
    pub fn start(options: &[&str]) -> Option<Nghttpd> {
        let program = require("nghttpd")?;
        let folder = tempfile::tempdir().unwrap();
        let start = || {
            let address = SocketAddr::new(IP, free_ports(IP, 1)[0]);
            let mut command = Command::new(&program);
            command
                .args(["--no-tls", "--echo-upload", "--address", &IP.to_string()])
                .args(options);
            command
                .arg(address.port().to_string())
                .current_dir(folder.path());
            (
                Process::start(&mut command, &folder.path().join("nghttpd.out")),
                address,
            )
        };
        let (process, address) = start_ready("nghttpd", start, |address| {
            TcpStream::connect(address).is_ok()
        });
        Some(Nghttpd {
            _process: process,
            address,
            _folder: folder,
        })
    }

    /// The URL of a path, which begins with `/`.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}
