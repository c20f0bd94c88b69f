//! The server is the limit.

use crate::right::Right;
use crate::stage::{Stage, pin, plan, staged};
use analysis::Verdict::ServerBound;
use interop::{
    CpuQuota, Finished, GoOptions, GoServer, HaproxyRelay, KeyKind, Nginx, NginxOptions,
    NginxServer, OtherKind, OtherOptions, OtherServer, Pki, ScriptedServer,
};
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Answers that cost the server several milliseconds of CPU time, and the client little.
const PACKED: &str = "request = { path = \"/packed\", headers = { accept-encoding = \"gzip\" } }";

/// Whether there is a monitor of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watched {
    ByMonitor,
    ByNobody,
}

/// nginx with a quota, whose answers cost CPU time.
fn throttled(load: &str, watched: Watched) -> Option<Finished> {
    let mut stage = Stage::apart()?;
    let options = NginxOptions {
        ip: stage.server_ip(),
        ..NginxOptions::default()
    };
    let nginx = Nginx::start(&Pki::new(), &options)?;
    pin(nginx.id());
    let quota = CpuQuota::new(0.25)?;
    quota.add(nginx.id());
    if watched == Watched::ByMonitor {
        stage.watch(nginx.id());
    }
    let plan = plan(&nginx.url(NginxServer::Plain, "/packed"), load, PACKED);
    let finished = stage.play(stage.agent_side(), &plan, |_| ());
    drop(nginx);
    Some(finished)
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn nginx_on_a_quota_with_a_closed_loop() {
    staged(
        "nginx on a quarter of a CPU, closed loop",
        &Right::is(ServerBound).named("quota"),
        || throttled("connections = 16, duration = \"4s\"", Watched::ByMonitor),
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn nginx_on_a_quota_with_an_open_loop() {
    staged(
        "nginx on a quarter of a CPU, open loop",
        &Right::is(ServerBound).named("quota"),
        || {
            throttled(
                "rate = \"300/s\", max_connections = 50, duration = \"4s\"",
                Watched::ByMonitor,
            )
        },
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn nginx_on_a_quota_that_nobody_watches() {
    staged(
        "nginx on a quarter of a CPU, open loop, no monitor",
        &Right::is(ServerBound),
        || {
            throttled(
                "rate = \"300/s\", max_connections = 50, duration = \"4s\"",
                Watched::ByNobody,
            )
        },
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn ramp_that_fills_the_server() {
    staged(
        "ramp that fills the server",
        &Right::is(ServerBound).named("quota"),
        || {
            throttled(
                "rate = \"5/s\", max_connections = 50, \
                       stage = [{ over = \"5s\", to = \"300/s\" }]",
                Watched::ByMonitor,
            )
        },
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn users_that_rise_beyond_the_server_while_nobody_watches() {
    staged(
        "users that rise beyond nginx on a quarter of a CPU, no monitor",
        &Right::is(ServerBound).named("operations under way brought"),
        || {
            throttled(
                "connections = 2, stage = [{ over = \"10s\", to = 40 }]",
                Watched::ByNobody,
            )
        },
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn one_of_two_workers_is_full() {
    staged(
        "one of two nginx workers is full",
        &Right::is(ServerBound).named("nginx"),
        || {
            let mut stage = Stage::apart()?;
            let options = NginxOptions {
                ip: stage.server_ip(),
                workers: 2,
                ..NginxOptions::default()
            };
            let nginx = Nginx::start(&Pki::new(), &options)?;
            nginx.workers().into_iter().for_each(pin);
            stage.watch(nginx.id());
            let load = "connections = 1, duration = \"4s\"";
            let more = format!("connection = {{ http = \"2\", streams = 8 }}\n{PACKED}");
            let plan = plan(&nginx.url(NginxServer::Http2Plain, "/packed"), load, &more);
            Some(stage.play(stage.agent_side(), &plan, |_| ()))
        },
    );
}

/// A full handshake with a large key for each request, which costs the server more than the client.
const HANDSHAKES: &str = "connection = { requests = 1, close = \"server\" }\n\
                          tls = { verify = \"none\" }";

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn go_on_one_cpu() {
    staged(
        "Go on one CPU",
        &Right::is(ServerBound).named("go-server"),
        || {
            let mut stage = Stage::apart()?;
            let options = GoOptions {
                ip: stage.server_ip(),
                key: KeyKind::Rsa2048,
                ..GoOptions::default()
            };
            let server = GoServer::start(&Pki::new(), options)?;
            pin(server.id());
            stage.watch(server.id());
            let load = "connections = 32, duration = \"4s\"";
            let plan = plan(&server.url("/"), load, HANDSHAKES);
            Some(stage.play(stage.agent_side(), &plan, |_| ()))
        },
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn java_on_one_cpu() {
    staged(
        "Java on one CPU",
        &Right::is(ServerBound).named("java"),
        || {
            let mut stage = Stage::apart()?;
            let options = OtherOptions {
                ip: stage.server_ip(),
                key: KeyKind::Rsa2048,
                ..OtherOptions::default()
            };
            let server = OtherServer::start(OtherKind::Java, &Pki::new(), options)?;
            pin(server.id());
            stage.watch(server.id());
            // Java compiles its code while it runs.
            let load = "connections = 32, warm_up = \"2s\", duration = \"4s\"";
            let plan = plan(&server.url("/"), load, HANDSHAKES);
            Some(stage.play(stage.agent_side(), &plan, |_| ()))
        },
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn proxy_whose_backend_waits() {
    staged(
        "HAProxy with a backend that waits",
        &Right::is(ServerBound).named("wait"),
        || {
            let mut stage = Stage::apart()?;
            let backend = ScriptedServer::of_delay(Duration::from_millis(50));
            let relay = HaproxyRelay::start(stage.server_ip(), backend.address(), 4)?;
            pin(relay.id());
            stage.watch(relay.id());
            let load = "rate = \"300/s\", max_connections = 100, duration = \"4s\"";
            let plan = plan(&relay.url(), load, "");
            Some(stage.play(stage.agent_side(), &plan, |_| ()))
        },
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn accept_queue_of_eight() {
    staged(
        "an accept queue of eight",
        &Right::is(ServerBound).named("where 8 may"),
        || {
            let mut stage = Stage::apart()?;
            let server = Reluctant::start(stage.server_ip());
            stage.watch_machine();
            let load = "rate = \"200/s\", max_connections = 400, duration = \"4s\"";
            let more = "connection = { requests = 1, close = \"server\" }";
            let plan = plan(&format!("http://{}/", server.address), load, more);
            Some(stage.play(stage.agent_side(), &plan, |_| ()))
        },
    );
}

/// Accepts a connection every twentieth of a second from a queue of eight, and answers it at once.
struct Reluctant {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Reluctant {
    fn start(ip: IpAddr) -> Reluctant {
        let listener = TcpListener::bind((ip, 0)).unwrap();
        rustix::net::listen(&listener, 8).unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), Arc::<AtomicBool>::default());
        let stopped = Arc::clone(&stop);
        let body = move || {
            while !stopped.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(50));
                if let Ok((stream, _)) = listener.accept() {
                    answer(stream);
                }
            }
        };
        Reluctant {
            address,
            stop,
            thread: Some(std::thread::spawn(body)),
        }
    }
}

impl Drop for Reluctant {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the thread if it waits for a connection.
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// A client may have gone.
fn answer(mut stream: TcpStream) {
    let _ = stream.set_read_timeout(Some(Duration::from_millis(100)));
    if stream.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {
        let text = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";
        let _ = stream.write_all(text.as_bytes());
    }
}
