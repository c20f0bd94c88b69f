//! Prometheus, which scrapes an address every second and is queried by its HTTP API.

use crate::ports::free_ports;
use crate::process::start_ready;
use crate::{Process, require};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const IP: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The result of a query: the labels of each sample, and its value as Prometheus writes it; a
/// native histogram is JSON.
pub type PrometheusSamples = Vec<(BTreeMap<String, String>, String)>;

/// The kind of histograms it scrapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrometheusHistograms {
    /// In text, with named buckets.
    Classic,
    /// In protobuf, as one sample each.
    Native,
}

/// A running Prometheus.
pub struct Prometheus {
    process: Process,
    address: SocketAddr,
    _folder: TempDir,
}

impl Prometheus {
    /// Starts a Prometheus that scrapes `/metrics` of this address; `None` if it is not installed.
    #[must_use]
    pub fn start(scraped: SocketAddr, histograms: PrometheusHistograms) -> Option<Prometheus> {
        let program = require("prometheus")?;
        let folder = tempfile::tempdir().unwrap();
        let config = format!(
            "global: {{scrape_interval: 1s, scrape_timeout: 1s}}\nscrape_configs:\n- job_name: \
             run\n  static_configs: [{{targets: [\"{scraped}\"]}}]\n"
        );
        std::fs::write(folder.path().join("prometheus.yml"), config).unwrap();
        let start = || {
            let address = SocketAddr::new(IP, free_ports(IP, 1)[0]);
            let mut command = command(&program, folder.path(), address);
            if histograms == PrometheusHistograms::Native {
                command.arg("--enable-feature=native-histograms");
            }
            let output = folder.path().join("output");
            (Process::start(&mut command, &output), address)
        };
        let ready = |address: &_| get(*address, "/-/ready").is_some();
        let (process, address) = start_ready("prometheus", start, ready);
        Some(Prometheus {
            process,
            address,
            _folder: folder,
        })
    }

    /// The result of a PromQL query at a time in seconds since 1970, or now.
    ///
    /// # Panics
    /// If Prometheus has gone, or does not understand the query.
    #[must_use]
    pub fn query(&self, query: &str, at: Option<&str>) -> PrometheusSamples {
        let at = at.map(|at| format!("&time={at}")).unwrap_or_default();
        let path = format!("/api/v1/query?query={}{at}", encoded(query));
        let answer = get(self.address, &path)
            .unwrap_or_else(|| panic!("{query}: {}", self.process.output()));
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let samples = answer["data"]["result"].as_array().unwrap().iter();
        let sample = |sample: &Value| {
            let labels = serde_json::from_value(sample["metric"].clone()).unwrap();
            let value = match sample["value"][1].as_str() {
                Some(value) => value.to_owned(),
                None => sample["histogram"][1].to_string(),
            };
            (labels, value)
        };
        samples.map(sample).collect()
    }

    /// What it has printed.
    #[must_use]
    pub fn output(&self) -> String {
        self.process.output()
    }
}

fn command(program: &Path, folder: &Path, address: SocketAddr) -> Command {
    let mut command = Command::new(program);
    command
        .arg(format!("--web.listen-address={address}"))
        .args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"])
        .arg("--log.level=warn")
        .current_dir(folder);
    command
}

/// The body of a successful answer. HTTP/1.0 has no chunks.
fn get(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nhost: {address}\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.contains(" 200 ").then(|| body.to_owned())
}

fn encoded(query: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    query.bytes().map(byte).collect()
}
