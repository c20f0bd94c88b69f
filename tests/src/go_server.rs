//! Go's net/http and crypto/tls, from `servers/go`, built once for each version of its source.

use crate::wait::wait_until;
use crate::{Pki, Process, require};
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use target::{KeyKind, ServerTlsVersion};
use tempfile::TempDir;

/// The server's source.
const SOURCE: &str = include_str!("../servers/go/main.go");

/// How the server speaks TLS.
#[derive(Debug, Clone, Copy)]
pub struct GoOptions {
    /// Where it listens.
    pub ip: IpAddr,
    /// Kind of its key.
    pub key: KeyKind,
    /// The only TLS version it speaks.
    pub version: ServerTlsVersion,
    /// Session tickets; Go has no session cache on the server's side.
    pub tickets: bool,
    /// HTTP/2, if the client offers it by ALPN.
    pub http2: bool,
    /// Requires a client certificate; a missing or wrong one fails the handshake.
    pub client_certificate: bool,
}

impl Default for GoOptions {
    fn default() -> GoOptions {
        GoOptions {
            ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
            key: KeyKind::P256,
            version: ServerTlsVersion::V13,
            tickets: false,
            http2: false,
            client_certificate: false,
        }
    }
}

/// What the server has counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GoCounts {
    /// TCP connections.
    pub connections: u64,
    /// Full handshakes completed.
    pub handshakes_full: u64,
    /// Resumed handshakes completed.
    pub handshakes_resumed: u64,
    /// Handshakes failed.
    pub handshakes_failed: u64,
    /// Full handshakes with a client certificate.
    pub client_certificates: u64,
    /// Requests.
    pub requests: u64,
    /// Events sent of streamed answers.
    pub events: u64,
    /// Streamed answers that the client did not read to their end.
    pub left: u64,
}

/// A running Go server.
pub struct GoServer {
    process: Process,
    address: SocketAddr,
    counting: SocketAddr,
    _folder: TempDir,
}

impl GoServer {
    /// Builds and starts the server; `None` if Go is not installed.
    #[must_use]
    pub fn start(pki: &Pki, options: GoOptions) -> Option<GoServer> {
        let program = build(&require("go")?);
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(program);
        let files = pki.server(options.key);
        command
            .arg("-cert")
            .arg(files.cert)
            .arg("-key")
            .arg(files.key);
        command.args([
            "-version",
            if options.version == ServerTlsVersion::V12 {
                "1.2"
            } else {
                "1.3"
            },
        ]);
        command.arg(format!("-ip={}", options.ip));
        command.arg(format!("-tickets={}", options.tickets));
        command.arg(format!("-http2={}", options.http2));
        if options.client_certificate {
            command.arg("-client-ca").arg(pki.ca());
        }
        // Go takes its defaults from the version in go.mod, which is older than these groups.
        command.env("GODEBUG", "tlsmlkem=1,tlssecpmlkem=1");
        let mut process = Process::start(&mut command, &folder.path().join("go.out"));
        let (address, counting) = wait_until("the Go server's addresses", || {
            assert!(
                process.ended().is_none(),
                "the Go server has ended: {}",
                process.output()
            );
            addresses(&process.output())
        });
        Some(GoServer {
            process,
            address,
            counting,
            _folder: folder,
        })
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path, which begins with `/`: `/` (356 bytes), `/big` (1.9 MB), `/chunked` (356
    /// bytes in two chunks), `/204`, `/500`, `/length` (returns the length of the request body),
    /// `/received` (reads the body, and tells length, framing, expectation and SHA-256), `/refused`
    /// (417 without reading the body), `/onwards` (307 to `/received`),
    /// `/events?n=5&gap=10ms` (server-sent events, the first one after a gap too, and `[DONE]`;
    /// with `&gzip` compressed, with `&stall` without an end), `/elsewhere` (redirects to
    /// `/events`). All others are like `/`.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    /// The group it chooses if a client offers both: `first` if its version of Go supports it, else
    /// `otherwise`.
    #[must_use]
    pub fn agrees_on(&self, first: &'static str, otherwise: &'static str) -> &'static str {
        let since = match first {
            "X25519MLKEM768" => 24,
            "SecP256r1MLKEM768" => 26,
            _ => 0,
        };
        if minor_version(&self.process.output()) >= since {
            first
        } else {
            otherwise
        }
    }

    /// What it has counted so far.
    #[must_use]
    pub fn counts(&self) -> GoCounts {
        let mut stream = TcpStream::connect(self.counting).unwrap();
        stream.set_read_timeout(Some(crate::DEADLINE)).unwrap();
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        GoCounts {
            connections: field(&answer, "Connections"),
            handshakes_full: field(&answer, "HandshakesFull"),
            handshakes_resumed: field(&answer, "HandshakesResumed"),
            handshakes_failed: field(&answer, "HandshakesFailed"),
            client_certificates: field(&answer, "ClientCertificates"),
            requests: field(&answer, "Requests"),
            events: field(&answer, "Events"),
            left: field(&answer, "Left"),
        }
    }
}

/// Returns 26 for `built by go1.26.8`.
fn minor_version(output: &str) -> u32 {
    let version = output
        .lines()
        .find_map(|line| line.strip_prefix("built by go1."))
        .unwrap_or_default();
    version
        .split('.')
        .next()
        .and_then(|minor| minor.parse().ok())
        .unwrap_or(0)
}

/// A number of a flat JSON object.
fn field(json: &str, name: &str) -> u64 {
    let (_, rest) = json
        .split_once(&format!("\"{name}\":"))
        .unwrap_or_else(|| panic!("no {name} in {json:?}"));
    rest.split([',', '}'])
        .next()
        .unwrap_or_default()
        .parse()
        .unwrap()
}

fn addresses(output: &str) -> Option<(SocketAddr, SocketAddr)> {
    let whole = &output[..=output.rfind('\n')?];
    let find = |word: &str| {
        whole
            .lines()
            .find_map(|line| line.strip_prefix(word)?.trim().parse().ok())
    };
    Some((find("serving ")?, find("counting ")?))
}

/// The program, next to the calling test's binary. Two test processes may build it at once: each
/// writes a file of its own, and the last rename wins.
fn build(go: &Path) -> PathBuf {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    // If a test fails in here, the others must fail with their own message, not with that of the
    // lock.
    let _guard = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().expect("a test is in a folder");
    let program = folder.join(format!("go-server-{:016x}", hash(SOURCE)));
    if program.is_file() {
        return program;
    }
    let fresh = folder.join(format!("go-server-{}", std::process::id()));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("servers/go");
    let mut command = Command::new(go);
    command
        .arg("build")
        .arg("-o")
        .arg(&fresh)
        .arg(".")
        .current_dir(source);
    command.envs([
        ("GOTOOLCHAIN", "local"),
        ("GOFLAGS", "-mod=mod"),
        ("GOPROXY", "off"),
        ("CGO_ENABLED", "0"),
    ]);
    if std::env::var_os("HOME").is_none() {
        command.env("GOCACHE", folder.join("go-cache"));
    }
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?} failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    std::fs::rename(&fresh, &program).unwrap();
    program
}

/// FNV-1a, which is the same in every build, unlike the standard library's hasher.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
