//! The built-in target in a process of its own, so that memory, CPU time, system calls and
//! instructions of the bench's process are those of the client. The bench starts itself again with
//! `--serve`.

use crate::{flag, take_first_cpu};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{BufRead as _, BufReader, Read as _};
use std::num::NonZeroUsize;
use std::process::{Child, Command, Stdio};
use target::{Config, RunningTarget, ServerTls, TargetAnswer};

/// The last line that a server prints before it serves.
const END: &str = "serving";

/// A target in a process of its own, which ends when this is dropped.
pub struct Server {
    process: Child,
    /// Its URL, without a path.
    pub url: String,
    /// The CA to trust; `None` for plain HTTP.
    pub ca_pem: Option<String>,
}

/// How to run the target.
#[derive(Debug, Clone, Copy)]
pub struct Served {
    /// Whether it uses HTTPS.
    pub encrypted: bool,
    /// Whether it issues tickets for resumption.
    pub tickets: bool,
    /// Bytes of the answer's body.
    pub body_bytes: u64,
    /// Threads. A single thread is pinned to the first CPU; several are not pinned.
    pub threads: usize,
}

impl Default for Served {
    fn default() -> Served {
        Served {
            encrypted: true,
            tickets: false,
            body_bytes: 356,
            threads: 1,
        }
    }
}

impl Served {
    fn words(self) -> String {
        let Served {
            encrypted,
            tickets,
            body_bytes,
            threads,
        } = self;
        format!(
            "{} {} {body_bytes} {threads}",
            u8::from(encrypted),
            u8::from(tickets)
        )
    }

    fn from_words(words: &str) -> Served {
        let numbers: Vec<u64> = words
            .split(' ')
            .map(|word| word.parse().expect("a bench writes numbers"))
            .collect();
        let [encrypted, tickets, body_bytes, threads] = numbers[..] else {
            panic!("--serve {words}: four numbers")
        };
        Served {
            encrypted: encrypted == 1,
            tickets: tickets == 1,
            body_bytes,
            threads: threads as usize,
        }
    }
}

impl Server {
    /// Starts this program again as a server.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn start(served: Served) -> Server {
        let own = std::env::current_exe().expect("Linux tells a program where it is");
        let mut command = Command::new(own);
        command
            .args(["--serve", &served.words()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = command.spawn().expect("the bench can be started again");
        let mut lines = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut url = String::new();
        lines
            .read_line(&mut url)
            .expect("the server says where it is");
        let pem = lines
            .lines()
            .map(|line| line.expect("the server says whom to trust"));
        let ca: String = pem
            .take_while(|line| line != END)
            .map(|line| line + "\n")
            .collect();
        Server {
            process,
            url: url.trim().to_owned(),
            ca_pem: Some(ca).filter(|ca| !ca.is_empty()),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server ends when its input does.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// Serves until the input ends, if the command line asks for it; returns whether it did. Call it
/// first in a bench's `main`.
///
/// # Panics
/// If loopback has no free port.
#[must_use]
pub fn served() -> bool {
    let Some(words) = flag("--serve") else {
        return false;
    };
    let served = Served::from_words(&words);
    if served.threads == 1 {
        take_first_cpu();
    }
    let limits = getrlimit(Resource::Nofile);
    // For thousands of connections; raising the limit to the hard limit needs no privilege
    // (getrlimit(2)).
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limits.maximum,
            maximum: limits.maximum,
        },
    );
    let server = RunningTarget::new(Config {
        tls: served.encrypted.then(|| ServerTls {
            tickets: served.tickets,
            ..ServerTls::default()
        }),
        answer: TargetAnswer {
            body_bytes: served.body_bytes,
            ..TargetAnswer::default()
        },
        threads: NonZeroUsize::new(served.threads).unwrap_or(NonZeroUsize::MIN),
        ..Config::default()
    });
    let server = server.expect("loopback has a free port");
    println!("{}\n{}{END}", server.url(""), server.ca_pem().unwrap_or(""));
    let _ = std::io::stdin().read(&mut [0]);
    true
}
