//! A capture of loopback by dumpcap, read by tshark with the secrets of the connections.

use crate::process::Process;
use crate::require::{require, skip};
use crate::wait_until;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// More than the header of a capture file without packets.
const HEAD_BYTES: u64 = 600;

/// The packets to and from one port of loopback since its start.
pub struct Capture {
    program: PathBuf,
    file: PathBuf,
    port: u16,
    _process: Process,
    folder: TempDir,
}

impl Capture {
    /// Captures packets to and from this server; `None` if tshark is not installed, or this user
    /// may not capture.
    #[must_use]
    pub fn start(server: SocketAddr) -> Option<Capture> {
        // tshark would start dumpcap as a child, which outlives tshark if that is killed.
        let (program, capturing) = (require("tshark")?, require("dumpcap")?);
        let folder = tempfile::tempdir().unwrap();
        let (file, port) = (folder.path().join("capture.pcapng"), server.port());
        let mut command = Command::new(capturing);
        command
            .args(["-q", "-i", "lo", "-f", &format!("tcp port {port}"), "-w"])
            .arg(&file);
        let mut process = Process::start(&mut command, &folder.path().join("dumpcap.out"));
        // None of its messages proves that it has begun; a captured packet does.
        let captures = wait_until("dumpcap's first packet", || {
            drop(TcpStream::connect(server).unwrap());
            let begun = file
                .metadata()
                .is_ok_and(|metadata| metadata.len() > HEAD_BYTES);
            if begun {
                Some(true)
            } else {
                process.ended().map(|_| false)
            }
        });
        if !captures {
            skip(&format!(
                "this user may not capture on loopback: {}",
                process.output().trim()
            ));
            return None;
        }
        Some(Capture {
            program,
            file,
            port,
            _process: process,
            folder,
        })
    }

    /// The paths of all requests captured so far that can be read with these secrets.
    #[must_use]
    pub fn requests(&self, secrets: &str) -> Vec<String> {
        let keys = self.folder.path().join("keys");
        std::fs::write(&keys, secrets).unwrap();
        let mut command = Command::new(&self.program);
        command
            .arg("-r")
            .arg(&self.file)
            .arg("-o")
            .arg(format!("tls.keylog_file:{}", keys.display()));
        command
            .arg("-d")
            .arg(format!("tcp.port=={},tls", self.port));
        command.args([
            "-Y",
            "http.request",
            "-T",
            "fields",
            "-e",
            "http.request.uri",
        ]);
        // It complains if the last packet is still being written.
        let output = command.output().unwrap().stdout;
        String::from_utf8(output)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// As [`Capture::requests`], once there are `number` of them.
    ///
    /// # Panics
    /// If there are fewer at the deadline.
    #[must_use]
    pub fn wait_for_requests(&self, secrets: &str, number: usize) -> Vec<String> {
        let look = || Some(self.requests(secrets)).filter(|requests| requests.len() >= number);
        wait_until(&format!("{number} requests that tshark can read"), look)
    }
}
