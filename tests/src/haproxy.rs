//! HAProxy, which terminates TLS and answers by itself, with its own statistics per frontend.

use crate::ports::free_ports;
use crate::process::start_ready;
use crate::{Pki, Process, content, require, wait_until};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use target::KeyKind;
use tempfile::TempDir;

/// A line of the log; an empty field is `-`.
const ROW: &str = "row\\ %[ssl_fc_protocol]\\ %[ssl_fc_cipher]\\ %[ssl_fc_sni]\\ %[ssl_fc_alpn]";

const IP: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A frontend, each with its own kind of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HaproxyFrontend {
    /// Plain HTTP.
    Plain,
    /// TLS 1.2, RSA-2048, no tickets.
    Tls12Rsa,
    /// TLS 1.2, RSA-2048, tickets.
    Tls12Tickets,
    /// TLS 1.3, P-256, no tickets.
    Tls13,
    /// TLS 1.3, P-256, tickets.
    Tls13Tickets,
    /// TLS 1.3, P-256, tickets, early data.
    EarlyData,
    /// TLS 1.3, P-256, no tickets, HTTP/2 if the client offers it by ALPN.
    Http2,
    /// TLS 1.2 and 1.3, P-256 and RSA-2048, every suite of its OpenSSL, no tickets. The only one
    /// with [`Haproxy::wait_for_rows`].
    AnyTls,
    /// TLS 1.3, P-256, client certificate required; a missing or wrong one fails the handshake.
    ClientCertificate,
}

/// Options of an HAProxy.
#[derive(Debug, Clone, Copy, Default)]
pub struct HaproxyOptions {
    /// A session cache for all frontends: those without tickets then resume TLS 1.2 by session id.
    pub session_cache: bool,
    /// A server that gets all requests, as HTTP/1.1; without one HAProxy answers by itself.
    pub behind: Option<SocketAddr>,
}

/// What HAProxy has counted for a frontend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HaproxyCounts {
    /// TCP connections.
    pub connections: u64,
    /// Full handshakes completed.
    pub handshakes_full: u64,
    /// Resumed handshakes completed.
    pub handshakes_resumed: u64,
    /// Handshakes failed.
    pub handshakes_failed: u64,
    /// HTTP requests.
    pub requests: u64,
    /// Answers with a 2xx status.
    pub answers_2xx: u64,
}

/// A request in the log, with the parameters of its connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HaproxyRow {
    /// `TLSv1.2` or `TLSv1.3`.
    pub protocol: String,
    /// Cipher suite by OpenSSL's name.
    pub cipher: String,
    /// The name that the client sent (SNI); empty if it sent none.
    pub server_name: String,
    /// The protocol chosen by ALPN; empty if there is none.
    pub alpn: String,
}

/// A running HAProxy.
pub struct Haproxy {
    process: Process,
    ports: BTreeMap<HaproxyFrontend, u16>,
    folder: TempDir,
}

impl HaproxyFrontend {
    /// Every frontend.
    pub const ALL: [HaproxyFrontend; 9] = [
        HaproxyFrontend::Plain,
        HaproxyFrontend::Tls12Rsa,
        HaproxyFrontend::Tls12Tickets,
        HaproxyFrontend::Tls13,
        HaproxyFrontend::Tls13Tickets,
        HaproxyFrontend::EarlyData,
        HaproxyFrontend::Http2,
        HaproxyFrontend::AnyTls,
        HaproxyFrontend::ClientCertificate,
    ];

    fn bind_options(self, pki: &Pki) -> String {
        use HaproxyFrontend as F;
        let (kind, version, more) = match self {
            F::Plain => return String::new(),
            F::AnyTls => {
                let (ecdsa, rsa) = (
                    pki.server(KeyKind::P256).both,
                    pki.server(KeyKind::Rsa2048).both,
                );
                let crt = format!("crt {} crt {}", ecdsa.display(), rsa.display());
                return format!(
                    "ssl {crt} alpn http/1.1 curves X25519:P-256:P-384 ssl-min-ver TLSv1.2 \
                     no-tls-tickets"
                );
            }
            F::Tls12Rsa => (KeyKind::Rsa2048, "TLSv1.2", "no-tls-tickets".to_owned()),
            F::Tls12Tickets => (KeyKind::Rsa2048, "TLSv1.2", String::new()),
            F::Tls13 | F::Http2 => (KeyKind::P256, "TLSv1.3", "no-tls-tickets".to_owned()),
            F::Tls13Tickets => (KeyKind::P256, "TLSv1.3", String::new()),
            F::EarlyData => (KeyKind::P256, "TLSv1.3", "allow-0rtt".to_owned()),
            F::ClientCertificate => (
                KeyKind::P256,
                "TLSv1.3",
                format!(
                    "no-tls-tickets verify required ca-file {}",
                    pki.ca().display()
                ),
            ),
        };
        let files = pki.server(kind);
        let versions = format!("ssl-min-ver {version} ssl-max-ver {version}");
        // Groups that every OpenSSL supports; newer versions would prefer ML-KEM.
        let alpn = if self == F::Http2 {
            "h2,http/1.1"
        } else {
            "http/1.1"
        };
        format!(
            "ssl crt {} alpn {alpn} curves X25519:P-256:P-384 {versions} {more}",
            files.both.display()
        )
    }
}

impl HaproxyOptions {
    /// These with a session cache, or without one.
    #[must_use]
    pub fn caching(session_cache: bool) -> HaproxyOptions {
        HaproxyOptions {
            session_cache,
            ..HaproxyOptions::default()
        }
    }
}

impl Haproxy {
    /// Starts HAProxy; `None` if it is not installed.
    #[must_use]
    pub fn start(pki: &Pki, options: HaproxyOptions) -> Option<Haproxy> {
        let program = require("haproxy")?;
        let folder = tempfile::tempdir().unwrap();
        let start = || {
            let ports = HaproxyFrontend::ALL
                .into_iter()
                .zip(free_ports(IP, HaproxyFrontend::ALL.len()))
                .collect();
            (
                run(
                    &program,
                    folder.path(),
                    &config(pki, options, folder.path(), &ports),
                ),
                ports,
            )
        };
        let ready = |_: &_| statistics(folder.path()).is_some();
        let (process, ports) = start_ready("haproxy", start, ready);
        Some(Haproxy {
            process,
            ports,
            folder,
        })
    }

    /// Where a frontend listens.
    #[must_use]
    pub fn address(&self, frontend: HaproxyFrontend) -> SocketAddr {
        SocketAddr::new(IP, self.ports[&frontend])
    }

    /// The URL of a path on a frontend, which begins with `/`: `/500` is answered with 500, all
    /// others with 200 and 356 bytes.
    #[must_use]
    pub fn url(&self, frontend: HaproxyFrontend, path: &str) -> String {
        let scheme = if frontend == HaproxyFrontend::Plain {
            "http"
        } else {
            "https"
        };
        format!("{scheme}://{}{path}", self.address(frontend))
    }

    /// What HAProxy has counted for a frontend so far. It counts a request just after it has
    /// answered.
    ///
    /// # Panics
    /// If HAProxy has gone.
    #[must_use]
    pub fn counts(&self, frontend: HaproxyFrontend) -> HaproxyCounts {
        let table = statistics(self.folder.path()).expect("haproxy is there");
        counts(&table, frontend)
    }

    /// Requests of [`HaproxyFrontend::AnyTls`] in its log, once there are `number` of them.
    ///
    /// # Panics
    /// If there are fewer at the deadline.
    #[must_use]
    pub fn wait_for_rows(&self, number: usize) -> Vec<HaproxyRow> {
        let look = || Some(rows(&self.process.output())).filter(|rows| rows.len() >= number);
        wait_until(&format!("{number} rows of haproxy's log"), look)
    }

    /// The counts, once there are `requests` requests.
    ///
    /// # Panics
    /// If there are fewer at the deadline.
    #[must_use]
    pub fn wait_for_requests(&self, frontend: HaproxyFrontend, requests: u64) -> HaproxyCounts {
        let look = || Some(self.counts(frontend)).filter(|counts| counts.requests >= requests);
        wait_until(
            &format!("{requests} requests in haproxy's statistics"),
            look,
        )
    }
}

fn run(program: &Path, folder: &Path, config: &str) -> Process {
    let path = folder.join("haproxy.cfg");
    std::fs::write(&path, config).unwrap();
    // -db: one process, in the foreground.
    Process::start(
        Command::new(program).arg("-db").arg("-f").arg(&path),
        &folder.join("haproxy.out"),
    )
}

fn config(
    pki: &Pki,
    options: HaproxyOptions,
    folder: &Path,
    ports: &BTreeMap<HaproxyFrontend, u16>,
) -> String {
    let cache = if options.session_cache { 20_000 } else { 0 };
    let mut text = format!(
        "global
  nbthread 1
  maxconn 8000
  tune.ssl.cachesize {cache}
  stats socket {} mode 600
defaults
  mode http
  timeout client 60s
  timeout connect 10s
  timeout server 60s
  timeout http-keep-alive 600s
",
        socket(folder).display()
    );
    for (frontend, port) in ports {
        let (tls, body) = (frontend.bind_options(pki), content::body());
        let _ = writeln!(
            text,
            "frontend {frontend:?}\n  bind {IP}:{port} backlog 4096 {tls}"
        );
        if *frontend == HaproxyFrontend::AnyTls {
            let _ = writeln!(text, "  log stdout format raw local0\n  log-format {ROW}");
        }
        if options.behind.is_some() {
            text.push_str("  default_backend behind\n");
            continue;
        }
        let _ = writeln!(
            text,
            "  http-request return status 500 content-type text/plain string {body} if {{ path \
             /500 }}"
        );
        let _ = writeln!(
            text,
            "  http-request return status 200 content-type text/plain string {body}"
        );
    }
    if let Some(address) = options.behind {
        let _ = writeln!(text, "backend behind\n  server behind {address}");
    }
    text
}

fn socket(folder: &Path) -> std::path::PathBuf {
    folder.join("stats.sock")
}

/// A line without a newline is still being written.
fn rows(log: &str) -> Vec<HaproxyRow> {
    let whole = log
        .split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n')?.strip_prefix("row "));
    whole.map(row).collect()
}

fn row(line: &str) -> HaproxyRow {
    let text = |field: &str| {
        if field == "-" {
            String::new()
        } else {
            field.to_owned()
        }
    };
    let fields: Vec<String> = line.split(' ').map(text).collect();
    let [protocol, cipher, server_name, alpn] = fields
        .try_into()
        .unwrap_or_else(|_| panic!("not a row: {line:?}"));
    HaproxyRow {
        protocol,
        cipher,
        server_name,
        alpn,
    }
}

/// The statistics as CSV; `None` if HAProxy does not answer.
fn statistics(folder: &Path) -> Option<String> {
    let mut stream = UnixStream::connect(socket(folder)).ok()?;
    stream.set_read_timeout(Some(crate::DEADLINE)).ok()?;
    stream.write_all(b"show stat\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.starts_with("# pxname").then_some(answer)
}

fn counts(table: &str, frontend: HaproxyFrontend) -> HaproxyCounts {
    let mut lines = table.lines();
    let names: Vec<&str> = lines
        .next()
        .unwrap_or_default()
        .trim_start_matches("# ")
        .split(',')
        .collect();
    let name = format!("{frontend:?},FRONTEND,");
    let row: Vec<&str> = lines
        .find(|line| line.starts_with(&name))
        .expect("has a row")
        .split(',')
        .collect();
    let field = |name: &str| -> u64 {
        let column = names
            .iter()
            .position(|own| *own == name)
            .unwrap_or_else(|| panic!("haproxy has no column {name}"));
        // Empty if it does not apply.
        row[column].parse().unwrap_or(0)
    };
    HaproxyCounts {
        connections: field("conn_tot"),
        handshakes_full: field("ssl_sess"),
        handshakes_resumed: field("ssl_reused_sess"),
        handshakes_failed: field("ssl_failed_handshake"),
        requests: field("req_tot"),
        answers_2xx: field("hrsp_2xx"),
    }
}
