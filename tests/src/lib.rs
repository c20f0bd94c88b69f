//! Fixtures for end-to-end tests: nginx, HAProxy, OpenSSL, Go and eight more servers of other
//! authors, each on free ports of loopback and in a folder of its own, stopped and removed when
//! dropped, and each reporting what it has counted; a server of our own that follows a script; a
//! link that is slow or loses packets; a CPU quota; and our own binaries, run as users run them. A
//! fixture that fails panics, and says what to look at.
#![expect(clippy::unwrap_used, reason = "the whole package is test code")]

mod agent;
mod binary;
mod browser;
mod capture;
mod content;
mod coordinator;
mod cpu_quota;
mod curl;
mod finished;
mod go_server;
mod haproxy;
mod haproxy_relay;
mod histograms;
mod invited;
mod link;
mod namespace;
mod namespaces;
mod nghttpd;
mod nginx;
mod ocsp;
mod openssl_server;
mod other_server;
mod pki;
mod plan_text;
mod ports;
mod pressure;
mod process;
mod prometheus;
mod proxied_nginx;
mod python_server;
mod require;
mod scripted;
mod throttling_nginx;
mod tmux;
mod trial;
mod wait;

pub use agent::Agent;
pub use binary::binary;
pub use browser::Browser;
pub use capture::Capture;
pub use content::{BIG_BYTES, BODY_BYTES};
pub use coordinator::{Coordinator, CoordinatorCommand, RUN_MAX, kill};
pub use cpu_quota::CpuQuota;
pub use curl::{Curl, curl};
pub use finished::Finished;
pub use go_server::{GoCounts, GoOptions, GoServer};
pub use haproxy::{Haproxy, HaproxyCounts, HaproxyFrontend, HaproxyOptions, HaproxyRow};
pub use haproxy_relay::HaproxyRelay;
pub use histograms::Histograms;
pub use invited::Invited;
pub use link::{Link, LinkCounts, LinkQuality};
pub use namespace::Namespace;
pub use namespaces::Namespaces;
pub use nghttpd::Nghttpd;
pub use nginx::{
    Nginx, NginxConnection, NginxOptions, NginxRequest, NginxServer, NginxStatus, TOKEN, users,
};
pub use ocsp::ocsp_response;
pub use openssl_server::{OpensslAnswers, OpensslCounts, OpensslOptions, OpensslServer};
pub use other_server::{OtherKind, OtherOptions, OtherRow, OtherServer};
pub use pki::{CertificateFiles, Pki};
pub use plan_text::plan;
pub use ports::{free_address, listen};
pub use pressure::{Pressure, PressureWatch};
pub use process::Process;
pub use prometheus::{Prometheus, PrometheusHistograms, PrometheusSamples};
pub use proxied_nginx::ProxiedNginx;
pub use python_server::PythonServer;
pub use require::{require, require_file, require_optional};
pub use rustix::process::Signal;
pub use scripted::{Exchange, Reply, ScriptedRequest, ScriptedServer, one_at_a_time};
pub use target::{CertificateDefect, KeyKind, ServerTlsVersion};
pub use throttling_nginx::ThrottlingNginx;
pub use tmux::Tmux;
pub use trial::{Tried, catch, ensure, must_hold_in, play_side_by_side, try_up_to};
pub use wait::{DEADLINE, wait_until};
