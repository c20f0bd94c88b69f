//! Servers that others wrote, as fixtures for end-to-end tests: nginx, HAProxy, OpenSSL and Go, each on free ports of
//! loopback and in a folder of its own, stopped and removed when dropped, and each telling what it has counted. And our
//! own binaries, run as users run them.
//! Fixtures are test code: what goes wrong in them is a panic that says what to look at.
#![expect(clippy::unwrap_used, reason = "the whole package is test code")]

mod agent;
mod binary;
mod capture;
mod content;
mod coordinator;
mod curl;
mod finished;
mod go_server;
mod haproxy;
mod histograms;
mod invited;
mod namespaces;
mod nginx;
mod ocsp;
mod openssl_server;
mod pki;
mod plan_text;
mod ports;
mod pressure;
mod process;
mod require;
mod wait;

pub use agent::Agent;
pub use binary::binary;
pub use capture::Capture;
pub use content::{BIG_BYTES, BODY_BYTES};
pub use coordinator::{Coordinator, CoordinatorCommand, kill};
pub use curl::{Curl, curl};
pub use finished::Finished;
pub use go_server::{GoCounts, GoOptions, GoServer};
pub use haproxy::{Haproxy, HaproxyCounts, HaproxyFrontend, HaproxyOptions, HaproxyRow};
pub use histograms::Histograms;
pub use invited::Invited;
pub use namespaces::Namespaces;
pub use nginx::{Nginx, NginxConnection, NginxOptions, NginxRequest, NginxServer, NginxStatus};
pub use ocsp::ocsp_response;
pub use openssl_server::{OpensslAnswers, OpensslCounts, OpensslOptions, OpensslServer};
pub use pki::{CertificateFiles, Pki};
pub use plan_text::plan;
pub use pressure::{Pressure, PressureWatch};
pub use process::Process;
pub use require::require;
pub use rustix::process::Signal;
pub use target::{CertificateFault, KeyKind, TlsVersion};
pub use wait::{DEADLINE, wait_until};
