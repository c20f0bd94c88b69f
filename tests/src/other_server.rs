//! Servers of eight more hands behind one interface: each answers the same paths over TLS and tells
//! of every request.

mod apache;
mod caddy;
mod h2o;
mod java;
mod lighttpd;
mod nghttpd;
mod node;
mod python;
mod recipe;
mod row;

pub use row::OtherRow;

use crate::ports::free_ports;
use crate::process::start_ready;
use crate::require::skip;
use crate::{Pki, Process, content, require, require_optional, wait_until};
use recipe::{Need, Recipe, Setting};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use target::KeyKind;
use tempfile::TempDir;

const IP: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Which server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherKind {
    /// Apache's httpd: HTTP/1.1 and HTTP/2.
    Apache,
    /// Caddy, on Go: HTTP/1.1 and HTTP/2.
    Caddy,
    /// h2o: HTTP/1.1 and HTTP/2.
    H2o,
    /// The JDK's own `HttpsServer`: HTTP/1.1.
    Java,
    /// lighttpd: HTTP/1.1 and HTTP/2.
    Lighttpd,
    /// nghttp2's server: HTTP/2 only.
    Nghttpd,
    /// Node: HTTP/1.1 and HTTP/2. It has paths of its own, see `servers/node/server.mjs`.
    Node,
    /// Python's `http.server` over `ssl`: HTTP/1.1. It has paths of its own, see
    /// `servers/python/server.py`.
    Python,
}

/// What differs between two servers of a kind.
#[derive(Debug, Clone, Copy)]
pub struct OtherOptions {
    /// Where it listens. Java alone; the others are on 127.0.0.1.
    pub ip: IpAddr,
    /// Kind of its key.
    pub key: KeyKind,
    /// `SETTINGS_HEADER_TABLE_SIZE` that it announces, of nghttpd and Node alone; their default
    /// where absent.
    pub header_table_bytes: Option<u32>,
    /// The first answer of a connection leaves as soon as the handshake is over, before the request
    /// has come. Python alone.
    pub answers_first: bool,
}

impl Default for OtherOptions {
    fn default() -> OtherOptions {
        OtherOptions {
            ip: IP,
            key: KeyKind::P256,
            header_table_bytes: None,
            answers_first: false,
        }
    }
}

/// A running server.
pub struct OtherServer {
    process: Process,
    recipe: Recipe,
    address: SocketAddr,
    version: String,
    folder: TempDir,
}

impl OtherServer {
    /// Starts the server; none where it is not installed.
    #[must_use]
    pub fn start(kind: OtherKind, pki: &Pki, options: OtherOptions) -> Option<OtherServer> {
        let recipe = recipe(kind);
        let program = match recipe.need {
            Need::Required => require(recipe.program)?,
            Need::Optional => require_optional(recipe.program)?,
        };
        if let Some(missing) = recipe
            .modules
            .iter()
            .find(|path| !Path::new(path).is_file())
        {
            skip(&format!("{missing} is not installed"));
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        write_content(folder.path());
        let start = || {
            let address = SocketAddr::new(options.ip, free_ports(options.ip, 1)[0]);
            let setting = Setting {
                files: &pki.server(options.key),
                options,
                folder: folder.path(),
                port: address.port(),
            };
            let mut command = Command::new(&program);
            (recipe.command)(&mut command, &setting);
            (
                Process::start(
                    command.current_dir(folder.path()),
                    &folder.path().join("out"),
                ),
                address,
            )
        };
        let (process, address) = start_ready(recipe.program, start, |address| {
            TcpStream::connect(address).is_ok()
        });
        Some(OtherServer {
            process,
            recipe,
            address,
            version: version(&program, recipe.version),
            folder,
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

    /// The first line with a digit of what it says of its version.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The URL of a path, which begins with `/`: `/` (356 bytes) and `/big` (1.9 MB).
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    /// Every request that it has told of, once there are `count`, in the order in which they were
    /// answered.
    ///
    /// # Panics
    /// Where there are fewer at the deadline.
    #[must_use]
    pub fn wait_for_requests(&self, count: usize) -> Vec<OtherRow> {
        let look = || Some(self.requests()).filter(|rows| rows.len() >= count);
        wait_until(
            &format!("{count} requests of {}", self.recipe.program),
            look,
        )
    }

    /// Every request that it has told of.
    #[must_use]
    pub fn requests(&self) -> Vec<OtherRow> {
        let text = match self.recipe.log {
            Some(name) => {
                std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
            }
            None => self.process.output(),
        };
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        (self.recipe.rows)(whole)
    }

    /// Handshakes that it has completed; none where it does not tell.
    #[must_use]
    pub fn handshakes(&self) -> Option<usize> {
        let (name, word) = self.recipe.handshakes?;
        let text = match name {
            Some(name) => {
                std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
            }
            None => self.process.output(),
        };
        Some(text.matches(word).count())
    }
}

fn recipe(kind: OtherKind) -> Recipe {
    match kind {
        OtherKind::Apache => apache::RECIPE,
        OtherKind::Caddy => caddy::RECIPE,
        OtherKind::H2o => h2o::RECIPE,
        OtherKind::Java => java::RECIPE,
        OtherKind::Lighttpd => lighttpd::RECIPE,
        OtherKind::Nghttpd => nghttpd::RECIPE,
        OtherKind::Node => node::RECIPE,
        OtherKind::Python => python::RECIPE,
    }
}

/// The folder is open to all, since some servers, started by root, go on as somebody else.
fn write_content(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::create_dir(folder.join("html")).unwrap();
    std::fs::write(folder.join("html/index.html"), content::body()).unwrap();
    content::write_big(&folder.join("html/big"));
}

fn version(program: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    let text = [output.stdout, output.stderr]
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .concat();
    text.lines()
        .find(|line| line.contains(|letter: char| letter.is_ascii_digit()))
        .unwrap_or_default()
        .to_owned()
}
