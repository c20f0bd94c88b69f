//! Resources of the server that are used up while ten users wait for a round trip: none of them is
//! the limit.

use crate::right::Right;
use crate::stage::{Stage, pin, plan, staged};
use analysis::Verdict::{PlanBound, Undetermined};
use interop::{
    Finished, HaproxyRelay, LinkQuality, Nginx, NginxOptions, NginxServer, Pki, ScriptedServer,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{Pid, Resource, Rlimit};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const USERS: u64 = 10;

/// A round trip of 200 ms, whatever the server does.
fn far() -> LinkQuality {
    LinkQuality {
        delay: Duration::from_millis(100),
        ..LinkQuality::default()
    }
}

fn nobodys(name: &str, case: impl Fn() -> Option<Finished>) {
    staged(name, &Right::is(PlanBound).or(&[Undetermined]), case);
}

fn nginx(stage: &Stage) -> Option<Nginx> {
    let options = NginxOptions {
        ip: stage.server_ip(),
        ..NginxOptions::default()
    };
    Nginx::start(&Pki::new(), &options)
}

fn ten_users(stage: &Stage, url: &str) -> Finished {
    let load = format!("connections = {USERS}, duration = \"4s\"");
    stage.play(stage.agent_side(), &plan(url, &load, ""), |_| ())
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn haproxy_that_polls() {
    nobodys(
        "10 users behind 200 ms, HAProxy polls instead of sleeping",
        || {
            let mut stage = Stage::linked(far())?;
            let backend = ScriptedServer::of_delay(Duration::ZERO);
            let relay = HaproxyRelay::polling(stage.server_ip(), backend.address())?;
            pin(relay.id());
            stage.watch(relay.id());
            Some(ten_users(&stage, &relay.url()))
        },
    );
}

/// Plays it with both kinds of monitors: of a single process, and of the whole machine.
fn beside_another_program<T>(name: &str, other: impl Fn(&Stage) -> T) {
    for is_chosen in [true, false] {
        nobodys(name, || {
            let mut stage = Stage::linked(far())?;
            let nginx = nginx(&stage)?;
            if is_chosen {
                stage.watch(nginx.id());
            } else {
                stage.watch_machine();
            }
            let _other = other(&stage);
            Some(ten_users(&stage, &nginx.url(NginxServer::Plain, "/")))
        });
    }
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn another_programs_queue_that_drops() {
    beside_another_program(
        "10 users behind 200 ms, another program drops connections",
        Dropping::start,
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn programs_of_a_lower_priority() {
    beside_another_program("10 users behind 200 ms, two programs at nice 19", |_| {
        Spinning::start()
    });
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn descriptors_that_suffice() {
    nobodys(
        "10 users behind 200 ms, as many descriptors as they need",
        || {
            let mut stage = Stage::linked(far())?;
            let nginx = nginx(&stage)?;
            let pid = nginx.id();
            stage.watch(pid);
            let open = std::fs::read_dir(format!("/proc/{pid}/fd"))
                .unwrap()
                .count() as u64;
            let most = Some(open + USERS);
            let limit = Rlimit {
                current: most,
                maximum: most,
            };
            let process = Pid::from_raw(pid as i32);
            rustix::process::prlimit(process, Resource::Nofile, limit).ok()?;
            Some(ten_users(&stage, &nginx.url(NginxServer::Plain, "/")))
        },
    );
}

/// Another program's listener with a queue of one, and clients that try to connect to it in vain.
struct Dropping(Arc<AtomicBool>);

impl Dropping {
    fn start(stage: &Stage) -> Dropping {
        let listener = TcpListener::bind((stage.server_ip(), 0)).unwrap();
        rustix::net::listen(&listener, 1).unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), Arc::<AtomicBool>::default());
        let stopped = Arc::clone(&stop);
        std::thread::spawn(move || {
            let mut clients = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                clients.push(knock(address));
                std::thread::sleep(Duration::from_millis(20));
            }
            drop(listener);
        });
        Dropping(stop)
    }
}

impl Drop for Dropping {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Connects without waiting for an answer.
fn knock(address: SocketAddr) -> rustix::fd::OwnedFd {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (family, kind) = (AddressFamily::INET, SocketType::STREAM);
    let socket = rustix::net::socket_with(family, kind, flags, None).unwrap();
    let _ = rustix::net::connect(&socket, &address);
    socket
}

/// Two programs that use all remaining CPU time.
struct Spinning([Child; 2]);

impl Spinning {
    fn start() -> Spinning {
        Spinning([(); 2].map(|()| {
            // The test may have the highest priority; these get the lowest.
            let mut command = Command::new("nice");
            command.args(["-n", "39", "sh", "-c", "while :; do :; done"]);
            command.spawn().unwrap()
        }))
    }
}

impl Drop for Spinning {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
