//! Certificates in files, valid and defective, with one CA for each kind of key.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use target::{CertificateDefect, KeyKind, Leaf, TestAuthority, TestIdentity};
use tempfile::TempDir;

/// Names of every server certificate.
const NAMES: [&str; 6] = [
    "localhost",
    "127.0.0.1",
    "127.0.0.2",
    "127.0.0.3",
    "127.0.0.4",
    "::1",
];

/// Certificates in a folder of their own, which is removed with this.
pub struct Pki {
    folder: TempDir,
    p256: TestAuthority,
    rsa: &'static Rsa,
}

/// The part of RSA. It is made once in a process, since its two keys take 0.13 s of CPU.
struct Rsa {
    authority: TestAuthority,
    /// With the names of every server certificate.
    server: TestIdentity,
}

/// A certificate's files.
#[derive(Debug, Clone)]
pub struct CertificateFiles {
    /// PEM of the leaf.
    pub cert: PathBuf,
    /// PEM of its key.
    pub key: PathBuf,
    /// Both in one file, as HAProxy needs them.
    pub both: PathBuf,
}

impl Default for Pki {
    fn default() -> Pki {
        Pki::new()
    }
}

impl Pki {
    /// Two CAs and a server certificate of each. Those of P-256 are new; those of RSA are the same
    /// for the whole process, so that every `Pki` trusts them.
    #[must_use]
    pub fn new() -> Pki {
        let pki = Pki {
            folder: tempfile::tempdir().unwrap(),
            p256: TestAuthority::new(KeyKind::P256).unwrap(),
            rsa: Rsa::once(),
        };
        std::fs::write(
            pki.ca(),
            pki.p256.pem().to_owned() + pki.rsa.authority.pem(),
        )
        .unwrap();
        let p256 = server_identity(&pki.p256, None);
        pki.write(server_stem(KeyKind::P256), &p256);
        pki.write(server_stem(KeyKind::Rsa2048), &pki.rsa.server);
        pki
    }

    /// PEM of both CAs, for clients to trust, and for servers to trust in clients.
    #[must_use]
    pub fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// The valid server certificate of this kind.
    #[must_use]
    pub fn server(&self, kind: KeyKind) -> CertificateFiles {
        self.files(server_stem(kind))
    }

    /// The server certificate for this name alone; it is made once.
    #[must_use]
    pub fn server_for(&self, kind: KeyKind, name: &str) -> CertificateFiles {
        let stem = format!("{}-{name}", server_stem(kind));
        let files = self.files(&stem);
        if files.both.exists() {
            return files;
        }
        let leaf = Leaf {
            names: &[name],
            fault: None,
        };
        let identity = self.authority(kind).server(leaf).unwrap();
        self.write(&stem, &identity)
    }

    /// Makes a server certificate with a defect.
    #[must_use]
    pub fn unsound_server(&self, kind: KeyKind, fault: CertificateDefect) -> CertificateFiles {
        let stem = format!("{}-{fault:?}", server_stem(kind));
        self.write(&stem, &server_identity(self.authority(kind), Some(fault)))
    }

    /// Makes a server certificate with `count` additional names of 21 bytes each in DER; 1,000 of
    /// them take about 20 KB.
    #[must_use]
    pub fn server_of_names(&self, kind: KeyKind, count: u32) -> CertificateFiles {
        let more: Vec<String> = (0..count)
            .map(|number| format!("n{number:06}.example.org"))
            .collect();
        let names: Vec<&str> = NAMES
            .into_iter()
            .chain(more.iter().map(String::as_str))
            .collect();
        let identity = self
            .authority(kind)
            .server(Leaf {
                names: &names,
                fault: None,
            })
            .unwrap();
        self.write(&format!("{}-{count}", server_stem(kind)), &identity)
    }

    /// Makes a client certificate with this common name.
    #[must_use]
    pub fn client(&self, kind: KeyKind, name: &str) -> CertificateFiles {
        self.write(
            &format!("client-{name}-{kind:?}"),
            &self.authority(kind).client(name).unwrap(),
        )
    }

    /// The CA itself, for tests that issue client certificates.
    #[must_use]
    pub fn authority_files(&self, kind: KeyKind) -> CertificateFiles {
        let authority = self.authority(kind);
        let identity = TestIdentity {
            cert_pem: authority.pem().to_owned(),
            key_pem: authority.key_pem(),
        };
        self.write(&format!("authority-{kind:?}"), &identity)
    }

    /// The folder with all files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn authority(&self, kind: KeyKind) -> &TestAuthority {
        match kind {
            KeyKind::P256 => &self.p256,
            KeyKind::Rsa2048 => &self.rsa.authority,
        }
    }

    fn write(&self, stem: &str, identity: &TestIdentity) -> CertificateFiles {
        let files = self.files(stem);
        std::fs::write(&files.cert, &identity.cert_pem).unwrap();
        std::fs::write(&files.key, &identity.key_pem).unwrap();
        std::fs::write(&files.both, identity.cert_pem.clone() + &identity.key_pem).unwrap();
        files
    }

    fn files(&self, stem: &str) -> CertificateFiles {
        let path = |ending: &str| self.folder.path().join(format!("{stem}{ending}"));
        CertificateFiles {
            cert: path(".pem"),
            key: path(".key"),
            both: path("-both.pem"),
        }
    }
}

impl Rsa {
    fn once() -> &'static Rsa {
        static RSA: OnceLock<Rsa> = OnceLock::new();
        RSA.get_or_init(|| {
            let authority = TestAuthority::new(KeyKind::Rsa2048).unwrap();
            let server = server_identity(&authority, None);
            Rsa { authority, server }
        })
    }
}

fn server_identity(authority: &TestAuthority, fault: Option<CertificateDefect>) -> TestIdentity {
    let names = &NAMES;
    authority.server(Leaf { names, fault }).unwrap()
}

fn server_stem(kind: KeyKind) -> &'static str {
    match kind {
        KeyKind::P256 => "server-p256",
        KeyKind::Rsa2048 => "server-rsa",
    }
}
