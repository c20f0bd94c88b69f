//! nginx behind the PROXY protocol: it takes its clients' addresses from the header that each
//! connection begins with.

use crate::ports::free_ports;
use crate::process::start_ready;
use crate::{Pki, Process, require};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use target::KeyKind;
use tempfile::TempDir;

/// A running nginx whose two ports, plain and TLS, want a header first.
pub struct ProxiedNginx {
    ports: [u16; 2],
    folder: TempDir,
    _process: Process,
}

impl ProxiedNginx {
    /// `None` if nginx is not installed.
    #[must_use]
    pub fn start(pki: &Pki) -> Option<ProxiedNginx> {
        let program = require("nginx")?;
        let folder = tempfile::tempdir().unwrap();
        let start = || {
            let ports = free_ports(IpAddr::V4(Ipv4Addr::LOCALHOST), 2);
            let ports = [ports[0], ports[1]];
            let path = folder.path().join("nginx.conf");
            let text = config(&folder.path().display().to_string(), pki, ports);
            std::fs::write(&path, text).unwrap();
            let mut command = Command::new(&program);
            command.arg("-p").arg(folder.path()).args(["-e", "stderr"]);
            let output = folder.path().join("out");
            let process = Process::start(command.arg("-c").arg(&path), &output);
            (process, ports)
        };
        let ready = |ports: &[u16; 2]| TcpStream::connect(("127.0.0.1", ports[0])).is_ok();
        let (process, ports) = start_ready("nginx", start, ready);
        Some(ProxiedNginx {
            ports,
            folder,
            _process: process,
        })
    }

    /// The URL of `/`, by plain HTTP and by TLS. `/up` redirects to that by TLS.
    #[must_use]
    pub fn urls(&self) -> [String; 2] {
        let [plain, tls] = self.ports;
        [
            format!("http://127.0.0.1:{plain}/"),
            format!("https://127.0.0.1:{tls}/"),
        ]
    }

    /// How many requests came from each client since the last call. Fails if a header has another
    /// port than its connection.
    ///
    /// # Panics
    /// If a line is none of ours.
    #[must_use]
    pub fn take_clients(&self) -> BTreeMap<IpAddr, u64> {
        let seen = std::fs::read_to_string(self.log()).unwrap();
        std::fs::write(self.log(), "").unwrap();
        let mut clients = BTreeMap::new();
        for line in seen.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [client, told_port, port] = words[..] else {
                panic!("{line}");
            };
            assert_eq!(told_port, port, "{line}");
            *clients.entry(client.parse().unwrap()).or_default() += 1;
        }
        clients
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("seen")
    }
}

fn config(folder: &str, pki: &Pki, [plain, tls]: [u16; 2]) -> String {
    let files = pki.server(KeyKind::P256);
    let (cert, key) = (files.cert.display(), files.key.display());
    format!(
        "daemon off; master_process off; pid {folder}/pid; error_log stderr crit;
events {{ worker_connections 1024; }}
http {{
  log_format seen '$proxy_protocol_addr $proxy_protocol_port $remote_port';
  access_log {folder}/seen seen;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  server {{
    listen 127.0.0.1:{plain} proxy_protocol;
    listen 127.0.0.1:{tls} ssl http2 proxy_protocol;
    ssl_certificate {cert}; ssl_certificate_key {key};
    location / {{ return 200 ok; }} location = /up {{ return 301 https://127.0.0.1:{tls}/; }}
  }}
}}
"
    )
}
