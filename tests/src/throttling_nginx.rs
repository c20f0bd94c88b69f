//! nginx with a known capacity: `limit_req` lets a fixed rate of requests pass, and delays or
//! refuses the rest. The number of its connections can be limited too.

use crate::ports::free_ports;
use crate::process::start_ready;
use crate::{Process, require};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A running nginx with a single process, which uses almost no CPU.
pub struct ThrottlingNginx {
    process: Process,
    address: SocketAddr,
    _folder: TempDir,
}

impl ThrottlingNginx {
    /// Answers `per_second` requests per second, and delays the rest.
    #[must_use]
    pub fn that_holds_up(ip: IpAddr, per_second: u32) -> Option<ThrottlingNginx> {
        let limit = format!("rate={per_second}r/s");
        ThrottlingNginx::start(ip, 8192, &limit, "burst=100000")
    }

    /// Answers `per_second` requests per second, and refuses the rest with 503.
    #[must_use]
    pub fn that_refuses(ip: IpAddr, per_second: u32) -> Option<ThrottlingNginx> {
        let limit = format!("rate={per_second}r/s");
        ThrottlingNginx::start(ip, 8192, &limit, "burst=5 nodelay")
    }

    /// As [`ThrottlingNginx::that_refuses`], with at most `connections` connections, including the
    /// listener; further ones are closed.
    #[must_use]
    pub fn of_connections(
        ip: IpAddr,
        per_second: u32,
        connections: u32,
    ) -> Option<ThrottlingNginx> {
        let limit = format!("rate={per_second}r/s");
        ThrottlingNginx::start(ip, connections, &limit, "burst=100000")
    }

    /// `None` if nginx is not installed.
    fn start(ip: IpAddr, connections: u32, limit: &str, excess: &str) -> Option<ThrottlingNginx> {
        let program = require("nginx")?;
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("index.html"), "ok").unwrap();
        let start = || {
            let address = SocketAddr::new(ip, free_ports(ip, 1)[0]);
            let path = folder.path().join("nginx.conf");
            let text = config(folder.path(), address, connections, limit, excess);
            std::fs::write(&path, text).unwrap();
            let mut command = Command::new(&program);
            command.arg("-p").arg(folder.path()).args(["-e", "stderr"]);
            let output = folder.path().join("out");
            (
                Process::start(command.arg("-c").arg(&path), &output),
                address,
            )
        };
        let ready = |address: &SocketAddr| TcpStream::connect(address).is_ok();
        let (process, address) = start_ready("nginx", start, ready);
        Some(ThrottlingNginx {
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

fn config(
    folder: &Path,
    address: SocketAddr,
    connections: u32,
    limit: &str,
    excess: &str,
) -> String {
    let folder = folder.display();
    format!(
        "daemon off; master_process off; pid {folder}/nginx.pid; error_log stderr crit;
events {{ worker_connections {connections}; multi_accept on; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 600s;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  limit_req_zone $server_port zone=all:1m {limit}; limit_req_log_level info;
  server {{
    listen {address} backlog=4096; root {folder};
    location = / {{ try_files /index.html =404; limit_req zone=all {excess}; }}
  }}
}}
"
    )
}
