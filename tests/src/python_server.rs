//! Python's own servers with a thread per connection, from `servers/python`: one whose answers take
//! a given time, `sleeping.py`; one that reads bodies, `bodies.py`; one that streams lines,
//! `lines.py`; one whose token runs out, `expiring.py`; one that hands out tokens, `tokens.py`;
//! one that verifies requests signed for AWS, `signed.py`; one with pages of HTML,
//! `pages.py`; and one of WebSockets, by a library of others, `sockets.py`.

use crate::ports::free_ports;
use crate::process::start_ready;
use crate::require::skip;
use crate::{Process, TOKEN, require};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const SLEEPING: &str = include_str!("../servers/python/sleeping.py");
const BODIES: &str = include_str!("../servers/python/bodies.py");
const LINES: &str = include_str!("../servers/python/lines.py");
const EXPIRING: &str = include_str!("../servers/python/expiring.py");
const TOKENS: &str = include_str!("../servers/python/tokens.py");
const SIGNED: &str = include_str!("../servers/python/signed.py");
const SOCKETS: &str = include_str!("../servers/python/sockets.py");
const PAGES: &str = include_str!("../servers/python/pages.py");
const EXAMPLE: &str = include_str!("../../examples/stream.py");
const PRICES: &str = include_str!("../../examples/prices.py");
const SHOP: &str = include_str!("../../examples/shop.py");
const CHAT: &str = include_str!("../../examples/chat.py");

/// A running server of plain HTTP/1.1. One that sleeps uses almost no CPU.
pub struct PythonServer {
    process: Process,
    address: SocketAddr,
    _folder: TempDir,
}

impl PythonServer {
    /// Starts one on `ip` that answers as the arguments say; `None` if Python is not installed.
    /// `["lock", "5"]`: each answer holds one lock for 5 ms. `["between", "10", "100"]`: each takes
    /// 10 to 100 ms, independently of the others. `["compute", "2"]`: each computes for 2 ms of CPU
    /// time under the interpreter's lock. `["paced", "1e6", "200000"]`: bodies of 200 kB are sent
    /// at 1 MB/s.
    #[must_use]
    pub fn start(ip: IpAddr, arguments: &[&str]) -> Option<PythonServer> {
        PythonServer::start_script(SLEEPING, ip, arguments)
    }

    /// Starts one on `ip` whose requests for `path` wait for the end of a stall, half a second of
    /// every two, and which writes each answer as a line of the file `seen`: path, and the seconds
    /// that it took. `None` if Python is not installed.
    #[must_use]
    pub fn stalling(ip: IpAddr, seen: &Path, path: &str) -> Option<PythonServer> {
        PythonServer::start(ip, &["stall", "2000", "500", path, seen.to_str().unwrap()])
    }

    /// Starts one on `ip` that writes what it reads of bodies to the file `seen`, a line of JSON
    /// for each; `None` if Python is not installed.
    #[must_use]
    pub fn reading(ip: IpAddr, seen: &Path) -> Option<PythonServer> {
        PythonServer::start_script(BODIES, ip, &[seen.to_str().unwrap()])
    }

    /// Starts one on `ip` that answers `/7` with 7 lines of JSON, each in a chunk of its own, and
    /// writes that number as a line of the file `seen`; `None` if Python is not installed.
    #[must_use]
    pub fn streaming(ip: IpAddr, seen: &Path) -> Option<PythonServer> {
        PythonServer::start_script(LINES, ip, &[seen.to_str().unwrap()])
    }

    /// Starts one on `ip` that takes [`TOKEN`] `times` times, then answers with 401, and writes
    /// each status as a line of the file `seen`; `None` if Python is not installed.
    #[must_use]
    pub fn expiring(ip: IpAddr, seen: &Path, times: u64) -> Option<PythonServer> {
        let arguments = [seen.to_str().unwrap(), TOKEN, &times.to_string()];
        PythonServer::start_script(EXPIRING, ip, &arguments)
    }

    /// Starts one on `ip` that hands out at most `most` tokens, each of which lasts `life` seconds,
    /// takes them, and writes each answer as a line of the file `seen`: path, status and number of
    /// the token. `None` if Python is not installed.
    #[must_use]
    pub fn granting(ip: IpAddr, seen: &Path, life: f64, most: u64) -> Option<PythonServer> {
        let arguments = [seen.to_str().unwrap(), &life.to_string(), &most.to_string()];
        PythonServer::start_script(TOKENS, ip, &arguments)
    }

    /// Starts one on `ip` that verifies requests signed for the `service` of AWS, and writes each
    /// answer as a line of the file `seen`: path and status. `None` if Python is not installed.
    #[must_use]
    pub fn verifying(ip: IpAddr, seen: &Path, service: &str) -> Option<PythonServer> {
        PythonServer::start_script(SIGNED, ip, &[seen.to_str().unwrap(), service])
    }

    /// Starts one on `ip` with pages at random, which writes to the file `seen` whether clients
    /// have found what Python's own parser finds; `None` if Python is not installed.
    #[must_use]
    pub fn paging(ip: IpAddr, seen: &Path) -> Option<PythonServer> {
        PythonServer::start_script(PAGES, ip, &[seen.to_str().unwrap()])
    }

    /// Starts one of WebSockets on `ip` that waits `delay_ms` before each answer, and writes what
    /// it counts to the file `seen`; `None` if Python or its library `websockets` is not installed.
    #[must_use]
    pub fn sockets(ip: IpAddr, seen: &Path, delay_ms: u64) -> Option<PythonServer> {
        let python = python_with("websockets")?;
        let delay = format!("0.{delay_ms:03}");
        let arguments = [seen.to_str().unwrap(), &delay];
        Some(PythonServer::run_script(&python, SOCKETS, ip, &arguments))
    }

    /// Starts on `ip` the server of `examples/stream.toml`; `None` if Python is not installed.
    #[must_use]
    pub fn example(ip: IpAddr) -> Option<PythonServer> {
        PythonServer::start_script(EXAMPLE, ip, &[])
    }

    /// Starts on `ip` the shop of `examples/shop.toml`, which writes each answer as a line of the
    /// file `seen`: session, method, path and status. `None` if Python is not installed.
    #[must_use]
    pub fn shop(ip: IpAddr, seen: &Path) -> Option<PythonServer> {
        PythonServer::start_script(SHOP, ip, &[seen.to_str().unwrap()])
    }

    /// Starts on `ip` the chat of `examples/chat.toml`, which tells its counts at `/counts`; `None`
    /// if Python is not installed.
    #[must_use]
    pub fn chat(ip: IpAddr) -> Option<PythonServer> {
        PythonServer::start_script(CHAT, ip, &[])
    }

    /// Starts on `ip` the gRPC server of `examples/grpc.toml`, which writes each answer as a line
    /// of the file `seen`: method, item's name and number, and status. `None` if Python or its
    /// grpcio is not installed.
    #[must_use]
    pub fn prices(ip: IpAddr, seen: &Path) -> Option<PythonServer> {
        let python = python_with("grpc")?;
        let arguments = [seen.to_str().unwrap()];
        Some(PythonServer::run_script(&python, PRICES, ip, &arguments))
    }

    fn start_script(script: &str, ip: IpAddr, arguments: &[&str]) -> Option<PythonServer> {
        let program = require("python3")?;
        Some(PythonServer::run_script(&program, script, ip, arguments))
    }

    fn run_script(program: &Path, script: &str, ip: IpAddr, arguments: &[&str]) -> PythonServer {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("server.py");
        std::fs::write(&source, script).unwrap();
        let start = || {
            let address = SocketAddr::new(ip, free_ports(ip, 1)[0]);
            let mut command = Command::new(program);
            command.arg(&source).arg(ip.to_string());
            command.arg(address.port().to_string()).args(arguments);
            let output = folder.path().join("out");
            (Process::start(&mut command, &output), address)
        };
        let ready = |address: &SocketAddr| TcpStream::connect(address).is_ok();
        let (process, address) = start_ready("python3", start, ready);
        PythonServer {
            process,
            address,
            _folder: folder,
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
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

/// A Python that has a library: the first in the path, or the system's, for which packages of the
/// distribution are.
fn python_with(library: &str) -> Option<PathBuf> {
    let system = PathBuf::from("/usr/bin/python3");
    let has_library = |python: &PathBuf| {
        let import = format!("import {library}");
        let output = Command::new(python).args(["-c", &import]).output();
        output.is_ok_and(|output| output.status.success())
    };
    let found = [require("python3")?, system].into_iter().find(has_library);
    if found.is_none() {
        skip(&format!(
            "no Python has the library {library} (Debian: python3-websockets, python3-grpcio)"
        ));
    }
    found
}
