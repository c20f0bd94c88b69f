//! OpenSSL's `s_server`, which serves one connection at a time, answers once and closes, with
//! OpenSSL's own counts.

use crate::ports::free_ports;
use crate::process::start_ready;
use crate::{CertificateFiles, Pki, Process, content, curl, require};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;
use target::{KeyKind, ServerTlsVersion};
use tempfile::TempDir;

const IP: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// How the server speaks TLS.
#[derive(Debug, Clone, Copy)]
pub struct OpensslOptions {
    /// Kind of its key.
    pub key: KeyKind,
    /// The only TLS version it speaks.
    pub version: ServerTlsVersion,
    /// Session tickets.
    pub tickets: bool,
    /// Session cache: TLS 1.2 by session id, TLS 1.3 by tickets that name a cached session.
    pub session_cache: bool,
    /// Accepts early data, and marks it in its output; only with [`OpensslAnswers::Typed`].
    pub early_data: bool,
    /// What it answers.
    pub answers: OpensslAnswers,
}

/// What `s_server` answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpensslAnswers {
    /// `-www`: its status page for every path, without a length, ended by closing. Has
    /// [`OpensslServer::counts`].
    StatusPage,
    /// Only what is typed; see [`OpensslServer::type_in`].
    Typed,
    /// `-WWW`: the files `body` (356 bytes) and `big` (1.9 MB), ended by closing.
    Files,
}

impl Default for OpensslOptions {
    fn default() -> OpensslOptions {
        OpensslOptions {
            key: KeyKind::P256,
            version: ServerTlsVersion::V13,
            tickets: false,
            session_cache: false,
            early_data: false,
            answers: OpensslAnswers::StatusPage,
        }
    }
}

/// What OpenSSL has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpensslCounts {
    /// Completed handshakes, including resumed ones.
    pub handshakes: u64,
    /// Handshakes resumed.
    pub handshakes_resumed: u64,
}

/// A running `s_server`.
pub struct OpensslServer {
    process: Process,
    address: SocketAddr,
    ca: String,
    answers: OpensslAnswers,
    /// This fixture's requests for the status page, which OpenSSL counts too.
    own: std::sync::Mutex<u64>,
    _folder: TempDir,
}

impl OpensslServer {
    /// Starts `openssl s_server`; `None` if it is not installed.
    #[must_use]
    pub fn start(pki: &Pki, options: OpensslOptions) -> Option<OpensslServer> {
        OpensslServer::with_certificate(pki, options, &pki.server(options.key))
    }

    /// Starts it with a certificate that need not be one of `pki`, nor one that OpenSSL accepts.
    #[must_use]
    pub fn with_certificate(
        pki: &Pki,
        options: OpensslOptions,
        files: &CertificateFiles,
    ) -> Option<OpensslServer> {
        let program = require("openssl")?;
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("body"), content::body()).unwrap();
        content::write_big(&folder.path().join("big"));
        let start = || {
            let address = SocketAddr::new(IP, free_ports(IP, 1)[0]);
            let mut command = Command::new(&program);
            arguments(&mut command, options, files, address);
            (
                Process::start(
                    command.current_dir(folder.path()),
                    &folder.path().join("openssl.out"),
                ),
                address,
            )
        };
        // It prints `ACCEPT` once it listens; a trial connection would count as a failed handshake.
        let output = folder.path().join("openssl.out");
        let ready =
            |_: &_| std::fs::read_to_string(&output).is_ok_and(|text| text.contains("ACCEPT"));
        let (process, address) = start_ready("openssl s_server", start, ready);
        let ca = pki
            .ca()
            .to_str()
            .expect("temporary folders are UTF-8")
            .to_owned();
        Some(OpensslServer {
            process,
            address,
            ca,
            answers: options.answers,
            own: std::sync::Mutex::new(0),
            _folder: folder,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path, which begins with `/`; see [`OpensslAnswers`].
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    /// Types a line for the current connection: a command such as `R` to renegotiate, or an answer.
    ///
    /// # Panics
    /// If the server has ended.
    pub fn type_in(&mut self, line: &str) {
        self.process.type_in(&format!("{line}\n"));
    }

    /// The server's output, including requests if it does not answer by itself.
    #[must_use]
    pub fn output(&self) -> String {
        self.process.output()
    }

    /// What OpenSSL has counted, without the requests of this fixture; `None` if curl is not
    /// installed.
    ///
    /// # Panics
    /// If the server answers with files, and so has no status page, or has gone.
    #[must_use]
    pub fn counts(&self) -> Option<OpensslCounts> {
        assert_eq!(
            self.answers,
            OpensslAnswers::StatusPage,
            "only the status page has counts"
        );
        // Held during the request, so that no two requests count each other.
        let mut own = self.own.lock().unwrap();
        let page = curl(&["--cacert", &self.ca, &self.url("/")])?;
        assert_eq!(page.code, 0, "{}: {}", page.error, self.process.output());
        *own += 1;
        let handshakes = count(&page.output, "server accepts that finished") - *own;
        Some(OpensslCounts {
            handshakes,
            handshakes_resumed: count(&page.output, "session cache hits"),
        })
    }
}

fn arguments(
    command: &mut Command,
    options: OpensslOptions,
    files: &CertificateFiles,
    address: SocketAddr,
) {
    command
        .arg("s_server")
        .arg("-accept")
        .arg(address.to_string())
        .arg("-cert")
        .arg(&files.cert)
        .arg("-key")
        .arg(&files.key);
    // Level 0 accepts short keys and SHA-1 too.
    command.args(["-cipher", "DEFAULT@SECLEVEL=0"]);
    command.arg(if options.version == ServerTlsVersion::V12 {
        "-tls1_2"
    } else {
        "-tls1_3"
    });
    match options.answers {
        OpensslAnswers::StatusPage => _ = command.arg("-www"),
        OpensslAnswers::Files => _ = command.arg("-WWW"),
        OpensslAnswers::Typed => {}
    }
    if options.early_data {
        command.arg("-early_data");
    }
    // Groups that every OpenSSL supports; newer versions would prefer ML-KEM.
    command.args(["-groups", "X25519:P-256:P-384"]);
    if !options.tickets {
        command.arg("-no_ticket");
    }
    if !options.session_cache {
        command.arg("-no_cache");
    }
    if !options.tickets && !options.session_cache && options.version == ServerTlsVersion::V13 {
        command.args(["-num_tickets", "0"]);
    }
}

/// A line of the status page: a number, then what it counts.
fn count(page: &str, name: &str) -> u64 {
    let line = page.lines().find_map(|line| line.trim().strip_suffix(name));
    line.unwrap_or_else(|| panic!("no {name:?} in {page:?}"))
        .trim()
        .parse()
        .unwrap()
}
