//! nginx with one server for each way to speak TLS, its counters, and a log of every request and
//! every connection.

mod config;
mod log;
mod server;
mod status;

pub use log::{NginxConnection, NginxRequest};
pub use server::NginxServer;
pub use status::NginxStatus;

use crate::ports::free_ports;
use crate::process::start_ready;
use crate::{Pki, Process, Signal, content, kill, require, wait_until};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The token that `/bearer` takes.
pub const TOKEN: &str = "p1anted";

/// Names and passwords of the users that `/private` lets in.
pub fn users() -> impl Iterator<Item = (String, String)> {
    (0..10).map(|number| (format!("user-{number}"), format!("p1anted {number}")))
}

/// Options of an nginx.
#[derive(Debug, Clone)]
pub struct NginxOptions {
    /// Where all servers listen.
    pub ip: IpAddr,
    /// Most requests per connection of [`NginxServer::KeepAliveLimited`] and
    /// [`NginxServer::Http2Limited`].
    pub keepalive_requests: u32,
    /// Concurrent streams per connection of [`NginxServer::Http2Limited`].
    pub http2_streams: u32,
    /// After how long [`NginxServer::KeepAliveIdle`] closes an idle connection.
    pub keepalive_idle: Duration,
    /// Key of session tickets, for two nginx that accept each other's tickets; random if `None`.
    /// They also need the same [`Pki`], because nginx binds sessions to the certificate.
    pub ticket_key: Option<[u8; 80]>,
    /// Groups for key exchange, by OpenSSL's names.
    pub groups: &'static str,
    /// An OCSP response in DER that [`NginxServer::AnyTls`] staples.
    pub ocsp_response: Option<PathBuf>,
    /// Names of further servers beside each one with TLS, HTTP and a P-256 key, chosen by SNI and
    /// `Host`. Each has a certificate of its own, for the second name.
    pub names: Vec<(String, String)>,
    /// Worker processes; with 1 a single process is master and worker.
    pub workers: u32,
}

impl Default for NginxOptions {
    fn default() -> NginxOptions {
        NginxOptions {
            ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
            keepalive_requests: 10,
            http2_streams: 3,
            keepalive_idle: Duration::from_millis(200),
            ticket_key: None,
            groups: "X25519",
            ocsp_response: None,
            names: Vec::new(),
            workers: 1,
        }
    }
}

/// A running nginx, stopped with its workers when dropped.
pub struct Nginx {
    process: Process,
    ip: IpAddr,
    ports: BTreeMap<NginxServer, u16>,
    status_port: u16,
    /// This fixture's requests for the status page, which nginx counts too.
    status_calls: Mutex<u64>,
    folder: TempDir,
}

impl Nginx {
    /// Starts nginx; `None` if nginx or its stream module is not installed.
    #[must_use]
    pub fn start(pki: &Pki, options: &NginxOptions) -> Option<Nginx> {
        let program = require("nginx")?;
        let stream_module = config::stream_module(&program)?;
        let folder = tempfile::tempdir().unwrap();
        write_content(folder.path(), options);
        let start = || {
            let (ports, status_port) = choose_ports(options.ip);
            let text = config::text(&config::Input {
                pki,
                options,
                folder: folder.path(),
                ports: &ports,
                status_port,
            });
            (
                run(&program, folder.path(), &format!("{stream_module}{text}")),
                (ports, status_port),
            )
        };
        let status_calls = Mutex::new(0);
        let ready = |(_, port): &(_, u16)| {
            status::read(SocketAddr::new(options.ip, *port), &status_calls).is_some()
        };
        let (process, (ports, status_port)) = start_ready("nginx", start, ready);
        Some(Nginx {
            process,
            ip: options.ip,
            ports,
            status_port,
            status_calls,
            folder,
        })
    }

    /// Where a server listens.
    #[must_use]
    pub fn address(&self, server: NginxServer) -> SocketAddr {
        SocketAddr::new(self.ip, self.ports[&server])
    }

    /// The URL of a path on a server, which begins with `/`: `/` (356 bytes), `/big` (1.9 MB),
    /// `/chunked` (356 bytes, chunked), `/204`, `/500`, `/private` (356 bytes, for [`users`]),
    /// `/bearer` (204, for [`TOKEN`]), `/length` (returns the length of the request body),
    /// `/packed` (100 KB, compressed anew for each client that accepts gzip), `/packed.br` and
    /// `/packed.zst` (the same, compressed), `/packed.bad` (said to be `br`, and is not), `/nth`
    /// (JSON with the request's number on its connection, which the header `x-nth` has too), and
    /// 404 for all others.
    #[must_use]
    pub fn url(&self, server: NginxServer, path: &str) -> String {
        let scheme = if server.is_tls() { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.address(server))
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// nginx's counters over all servers, without the requests of this fixture.
    ///
    /// # Panics
    /// If nginx has gone.
    #[must_use]
    pub fn status(&self) -> NginxStatus {
        let address = SocketAddr::new(self.ip, self.status_port);
        status::read(address, &self.status_calls)
            .unwrap_or_else(|| panic!("nginx has gone: {}", self.process.output()))
    }

    /// Every HTTP request so far. nginx writes a line just after it has answered; to get all of
    /// them see [`Nginx::wait_for_requests`].
    #[must_use]
    pub fn requests(&self) -> Vec<NginxRequest> {
        log::requests(&self.read("access.log"), &self.ports)
    }

    /// Every HTTP request so far, once there are `count`.
    ///
    /// # Panics
    /// If there are fewer at the deadline.
    #[must_use]
    pub fn wait_for_requests(&self, count: usize) -> Vec<NginxRequest> {
        wait_until(&format!("{count} requests in nginx's log"), || {
            Some(self.requests()).filter(|all| all.len() >= count)
        })
    }

    /// The log of requests as a file.
    #[must_use]
    pub fn access_log(&self) -> PathBuf {
        self.folder.path().join("access.log")
    }

    /// The format of [`Nginx::access_log`], as `log_format` has it.
    #[must_use]
    pub fn log_format() -> &'static str {
        config::REQUEST_LOG
    }

    /// Every finished connection to the stream servers so far.
    #[must_use]
    pub fn connections(&self) -> Vec<NginxConnection> {
        log::connections(&self.read("stream.log"), &self.ports)
    }

    /// Every finished connection to the stream servers so far, once there are `count`.
    ///
    /// # Panics
    /// If there are fewer at the deadline.
    #[must_use]
    pub fn wait_for_connections(&self, count: usize) -> Vec<NginxConnection> {
        wait_until(&format!("{count} connections in nginx's log"), || {
            Some(self.connections()).filter(|all| all.len() >= count)
        })
    }

    /// Process ids of the workers, or of the only process.
    #[must_use]
    pub fn workers(&self) -> Vec<u32> {
        let path = format!("/proc/{0}/task/{0}/children", self.id());
        let children = std::fs::read_to_string(path).unwrap();
        let ids = children.split_whitespace().map(|id| id.parse().unwrap());
        Some(ids.collect())
            .filter(|ids: &Vec<u32>| !ids.is_empty())
            .unwrap_or_else(|| vec![self.id()])
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // A killed master leaves its workers behind.
        let patience = Instant::now();
        while self.process.ended().is_none() && patience.elapsed() < Duration::from_secs(2) {
            kill(self.id(), Signal::TERM);
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn choose_ports(ip: IpAddr) -> (BTreeMap<NginxServer, u16>, u16) {
    let mut ports = free_ports(ip, NginxServer::ALL.len() + 1);
    let status_port = ports.pop().expect("one more than servers");
    (
        NginxServer::ALL.into_iter().zip(ports).collect(),
        status_port,
    )
}

fn write_content(folder: &Path, options: &NginxOptions) {
    std::fs::create_dir(folder.join("html")).unwrap();
    content::write_big(&folder.join("html/big"));
    content::write_packed(&folder.join("html"));
    std::fs::write(folder.join("html/chunked"), content::body()).unwrap();
    std::fs::write(folder.join("html/private"), content::body()).unwrap();
    let rows: String = users()
        .map(|(user, password)| format!("{user}:{{PLAIN}}{password}\n"))
        .collect();
    std::fs::write(folder.join(config::USERS), rows).unwrap();
    if let Some(key) = options.ticket_key {
        std::fs::write(folder.join(config::TICKET_KEY), key).unwrap();
    }
}

fn run(program: &Path, folder: &Path, config: &str) -> Process {
    let path = folder.join("nginx.conf");
    std::fs::write(&path, config).unwrap();
    // -e: otherwise the first messages go to the system's log file, which may not be writable.
    let mut command = Command::new(program);
    command
        .arg("-p")
        .arg(folder)
        .arg("-e")
        .arg("stderr")
        .arg("-c")
        .arg(&path);
    Process::start(&mut command, &folder.join("nginx.out"))
}
