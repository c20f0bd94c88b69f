//! Eight more servers behind one interface: each answers the same paths over TLS and reports every
//! request.

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
    /// Node: HTTP/1.1 and HTTP/2. It has additional paths, see `servers/node/server.mjs`.
    Node,
    /// Python's `http.server` over `ssl`: HTTP/1.1. It has additional paths, see
    /// `servers/python/server.py`.
    Python,
}

/// Options of a server.
#[derive(Debug, Clone, Copy)]
pub struct OtherOptions {
    /// Where it listens; only for Java, since all others listen on 127.0.0.1.
    pub ip: IpAddr,
    /// Kind of its key.
    pub key: KeyKind,
    /// The `SETTINGS_HEADER_TABLE_SIZE` that it announces, only for nghttpd and Node; `None` for
    /// their default.
    pub header_table_bytes: Option<u32>,
    /// Whether the first answer of a connection is sent right after the handshake, before the
    /// request has arrived; only for Python.
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
    /// Starts the server; `None` if it is not installed.
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

    /// The first line of its version output that contains a digit.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The URL of a path, which begins with `/`: `/` (356 bytes) and `/big` (1.9 MB).
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    /// Every request that it has reported, once there are `count`, in the order of the answers.
    ///
    /// # Panics
    /// If there are fewer at the deadline.
    #[must_use]
    pub fn wait_for_requests(&self, count: usize) -> Vec<OtherRow> {
        let look = || Some(self.requests()).filter(|rows| rows.len() >= count);
        wait_until(
            &format!("{count} requests of {}", self.recipe.program),
            look,
        )
    }

    /// Every request that it has reported.
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

    /// The handshakes it has completed; `None` if it does not report them.
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

/// The folder is readable for all users, because some servers that root starts switch to another
/// user.
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
