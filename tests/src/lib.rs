//! Servers that others wrote, as fixtures for end-to-end tests: nginx, HAProxy, OpenSSL and Go, each on free ports of
//! loopback and in a folder of its own, stopped and removed when dropped, and each telling what it has counted.
//! Fixtures are test code: what goes wrong in them is a panic that says what to look at.
#![expect(clippy::unwrap_used, reason = "the whole package is test code")]

mod binary;
mod content;
mod curl;
mod go_server;
mod haproxy;
mod nginx;
mod openssl_server;
mod pki;
mod ports;
mod process;
mod require;
mod wait;

pub use binary::binary;
pub use content::{BIG_BYTES, BODY_BYTES};
pub use curl::{Curl, curl};
pub use go_server::{GoCounts, GoOptions, GoServer};
pub use haproxy::{Haproxy, HaproxyCounts, HaproxyFrontend, HaproxyOptions};
pub use nginx::{Nginx, NginxConnection, NginxOptions, NginxRequest, NginxServer, NginxStatus};
pub use openssl_server::{OpensslAnswers, OpensslCounts, OpensslOptions, OpensslServer};
pub use pki::{CertificateFiles, Pki};
pub use process::Process;
pub use require::require;
pub use target::{CertificateFault, KeyKind, TlsVersion};
pub use wait::{DEADLINE, wait_until};
