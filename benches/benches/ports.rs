//! CPU time per connection to another machine, with few and with most of the local ports in
//! TIME_WAIT. The other machine is a network namespace behind a veth pair; creating it needs root.
//! wrk and oha are measured too if they are installed.
//!
//! The server announces the end of each connection and lets the client close it, so that TIME_WAIT
//! is on the client's side for every program.

use benches::{flag, is_trial, parse, run};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Connections at once, for every client.
const CONNECTIONS: usize = 16;

/// Upper bound for the cost of a connection with few ports left, as a multiple of the cost with all
/// ports free. A busy machine doubles the cost now and then; the kernel's own search makes it 50
/// times as high.
const RATIO_MAX: f64 = 5.0;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";

/// The server's port and address, and the client's address.
const PORT: u16 = 8080;
const SERVER: (Ipv4Addr, Ipv6Addr) = (
    Ipv4Addr::new(10, 212, 0, 2),
    Ipv6Addr::new(0xfd00, 212, 0, 0, 0, 0, 0, 2),
);
const CLIENT: (Ipv4Addr, Ipv6Addr) = (
    Ipv4Addr::new(10, 212, 0, 1),
    Ipv6Addr::new(0xfd00, 212, 0, 0, 0, 0, 0, 1),
);

fn main() {
    if flag("--listen").is_some() {
        return serve();
    }
    if let Some(url) = flag("--connect") {
        return connect(&url);
    }
    let (few, most) = if is_trial() {
        (100, 1_800)
    } else {
        (1_000, 27_000)
    };
    println!("| client | in TIME_WAIT | connections | CPU µs per connection |\n|---|---|---|---|");
    for url in [
        format!("http://{}/", SocketAddr::new(SERVER.0.into(), PORT)),
        format!("http://{}/", SocketAddr::new(SERVER.1.into(), PORT)),
    ] {
        let Some(machines) = Machines::new() else {
            return;
        };
        let at_first = machines.ours(&url, few);
        machines.ours(&url, most - 2 * few);
        let at_last = machines.ours(&url, few);
        assert!(
            is_trial() || at_last < RATIO_MAX * at_first,
            "{at_last:.1} µs with few ports left, {at_first:.1} µs before"
        );
    }
    if !is_trial() {
        beside(few, most);
    }
}

/// The other programs, each on a machine without TIME_WAIT, then on one with most ports in it.
fn beside(few: u64, most: u64) {
    let url = format!("http://{}:{PORT}/", SERVER.0);
    let (number, users) = (few.to_string(), CONNECTIONS.to_string());
    let wrk = ["wrk", "-t", "1", "-c", &users, "-d", "1", &url];
    let oha = ["oha", "--no-tui", "-n", &number, "-c", &users, &url];
    for program in [wrk.as_slice(), oha.as_slice()] {
        for before in [0, most - few] {
            let Some(machines) = Machines::new() else {
                return;
            };
            if before > 0 {
                machines.ours(&url, before);
            }
            machines.theirs(program);
        }
    }
}

/// Two namespaces connected by a veth pair, with a server in one of them; removed when dropped.
struct Machines {
    client: String,
    server: String,
    serving: Option<Child>,
}

impl Machines {
    /// `None` if this process may not create them.
    fn new() -> Option<Machines> {
        let name = |end| format!("ports-bench-{end}-{}", std::process::id());
        let machines = Machines {
            client: name("client"),
            server: name("server"),
            serving: None,
        };
        let (client, server) = (&machines.client, &machines.server);
        let made = Command::new("ip").args(["netns", "add", client]).output();
        if !made.is_ok_and(|made| made.status.success()) {
            println!("skipped: to make network namespaces needs root and iproute2");
            return None;
        }
        ip(&format!("netns add {server}"));
        ip(&format!(
            "link add eth0 netns {client} type veth peer name eth0 netns {server}"
        ));
        for (namespace, (v4, v6)) in [(client, CLIENT), (server, SERVER)] {
            ip(&format!("-n {namespace} addr add {v4}/24 dev eth0"));
            ip(&format!("-n {namespace} addr add {v6}/64 dev eth0 nodad"));
            ip(&format!("-n {namespace} link set eth0 up"));
        }
        let ports = if is_trial() {
            "40000 42047"
        } else {
            "32768 60999"
        };
        let set = format!("net.ipv4.ip_local_port_range={ports}");
        let range = inside(client).args(["sysctl", "-qw", &set]).status();
        assert!(range.is_ok_and(|status| status.success()), "{set}");
        machines.with_server()
    }

    fn with_server(mut self) -> Option<Machines> {
        let mut child = own(&self.server)
            .arg("--listen")
            .arg("yes")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the bench can be started again");
        let said = BufReader::new(child.stdout.take().expect("it is piped"))
            .lines()
            .next();
        assert!(said.is_some(), "the server listens");
        self.serving = Some(child);
        Some(self)
    }

    /// Microseconds per connection.
    fn ours(&self, url: &str, connections: u64) -> f64 {
        let before = self.in_time_wait();
        let done = own(&self.client)
            .args(["--connect", url, "--number", &connections.to_string()])
            .output()
            .expect("the bench can be started again");
        assert!(done.status.success(), "{done:?}");
        let said = String::from_utf8_lossy(&done.stdout);
        let each: f64 = said.trim().parse().expect("a bench writes a number");
        let version = if url.contains('[') { "IPv6" } else { "IPv4" };
        self.row(&format!("this, {version}"), before, each);
        each
    }

    /// CPU time of the whole program, without its start, which takes a few milliseconds.
    fn theirs(&self, command: &[&str]) {
        let before = self.in_time_wait();
        let [program, ..] = command else { return };
        let mut timed = inside(&self.client);
        let done = timed
            .args([
                "bash",
                "-c",
                "TIMEFORMAT='%U %S'; time \"$@\" >/dev/null 2>&1",
                "bash",
            ])
            .args(command)
            .output()
            .expect("a namespace runs bash");
        if !done.status.success() {
            return println!("| {program} | {before} | not installed | – |");
        }
        let said = String::from_utf8_lossy(&done.stderr);
        let seconds: f64 = said
            .split_whitespace()
            .filter_map(|s| s.parse::<f64>().ok())
            .sum();
        let connections = self.in_time_wait().saturating_sub(before).max(1);
        self.row(program, before, seconds * 1e6 / connections as f64);
    }

    fn row(&self, client: &str, before: u64, each: f64) {
        let connections = self.in_time_wait().saturating_sub(before);
        println!("| {client} | {before} | {connections} | {each:.1} |");
    }

    fn in_time_wait(&self) -> u64 {
        // The client's last FIN may still be on its way.
        std::thread::sleep(Duration::from_millis(50));
        let read = inside(&self.client)
            .args(["cat", "/proc/net/sockstat"])
            .output();
        let text = String::from_utf8(read.expect("a namespace has counters").stdout);
        let text = text.expect("the kernel writes ASCII");
        let mut words = text.split_whitespace().skip_while(|&word| word != "tw");
        words
            .nth(1)
            .and_then(|number| number.parse().ok())
            .unwrap_or(0)
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        if let Some(mut serving) = self.serving.take() {
            drop(serving.stdin.take());
            let _ = serving.wait();
        }
        for namespace in [&self.client, &self.server] {
            let _ = Command::new("ip")
                .args(["netns", "del", namespace])
                .output();
        }
    }
}

fn ip(arguments: &str) {
    let done = Command::new("ip").args(arguments.split(' ')).output();
    let done = done.expect("ip was there");
    assert!(done.status.success(), "ip {arguments}: {done:?}");
}

fn inside(namespace: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]);
    command
}

/// This program, started again in `namespace`.
fn own(namespace: &str) -> Command {
    let mut command = inside(namespace);
    command.arg(std::env::current_exe().expect("Linux tells a program where it is"));
    command
}

/// The server's part; runs until its input ends.
fn serve() {
    for ip in [SERVER.0.into(), SERVER.1.into()] {
        let listener = TcpListener::bind(SocketAddr::new(ip, PORT)).expect("the port is free");
        for _ in 0..CONNECTIONS {
            let listener = listener.try_clone().expect("there are files enough");
            std::thread::spawn(move || {
                while let Ok((stream, _)) = listener.accept() {
                    answer(stream);
                }
            });
        }
    }
    println!("listening");
    let _ = std::io::stdin().read(&mut [0]);
}

/// Answers one request and waits for the client to close.
fn answer(mut stream: TcpStream) {
    let mut room = [0; 4096];
    if stream.read(&mut room).is_ok_and(|bytes| bytes > 0) && stream.write_all(ANSWER).is_ok() {
        let _ = stream.read(&mut room);
    }
}

/// The client's part.
fn connect(url: &str) {
    let number = flag("--number").unwrap_or_default();
    let plan = format!(
        "target.url = \"{url}\"\nconnection.requests = 1\n\
         load = {{ connections = {CONNECTIONS}, requests = {number} }}\n"
    );
    let outcome = run(parse(&plan, None));
    let failed = outcome.measured.counters.failures.values().sum::<u64>();
    assert_eq!(failed, 0, "{:?}", outcome.measured.counters.failures);
    println!("{}", outcome.cpu_us());
}
