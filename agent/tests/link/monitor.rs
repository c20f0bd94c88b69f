//! The binary as a monitor: what it reports about the processes it watches, and what it survives.

use crate::coordinator::{Attached, Coordinator, PATIENCE, tls};
use crate::terminal::Running;
use crate::{RUN, monotonic_ns};
use control::{JoinSecret, Token};
use host::{Observation, ProfileOutcome};
use proto::ack::Stored;
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{Ack, Observe, Observed, ProfilePart, Release, Role};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Name of the process that burns a CPU; cut by the kernel.
const NAME: &str = "watched-by-monitor";

fn monitor_command(address: SocketAddr, token: &Token) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agent"));
    command
        .args(["monitor", &address.to_string(), "--name", "db"])
        .env("CANNONADE_TOKEN", token.reveal())
        .stderr(Stdio::piped());
    command
}

fn monitor(address: SocketAddr, token: &Token, more: &[&str]) -> Child {
    let mut command = monitor_command(address, token);
    command.args(more).spawn().unwrap()
}

fn burner(folder: &Path) -> Running {
    let program = folder.join(NAME);
    // Written once, because a program that is running cannot be written.
    if !program.exists() {
        // By another process: a program that another test just begins would hold a file that this
        // one writes, and what is open for writing cannot be executed.
        let copied = Command::new("cp").arg("/bin/sh").arg(&program).status();
        assert!(copied.unwrap().success());
    }
    let mut command = Command::new(program);
    Running(command.args(["-c", "while :; do :; done"]).spawn().unwrap())
}

async fn observe(stream: &mut Attached, start_at_ns: u64) {
    let observe = Observe {
        run_id: RUN.to_wire(),
        run_name: "run".into(),
        start_at_ns,
        firing_ns: 0,
    };
    stream.say(Down::Observe(observe)).await;
}

/// The next second, after acknowledging it.
async fn second(stream: &mut Attached) -> (u32, Observation) {
    let Some(Up::Observed(observed)) = stream.next().await else {
        panic!("no second")
    };
    let Observed {
        run_id,
        second,
        content,
    } = observed;
    let ack = Ack {
        run_id,
        stored: Some(Stored::Second(second)),
    };
    stream.say(Down::Ack(ack)).await;
    (second, Observation::decode(&content).unwrap())
}

/// Seconds up to the first one that matches.
async fn seconds_until(
    stream: &mut Attached,
    is_it: impl Fn(&Observation) -> bool,
) -> Vec<(u32, Observation)> {
    let mut seconds = Vec::new();
    let find = async {
        while !seconds
            .last()
            .is_some_and(|(_, observation)| is_it(observation))
        {
            seconds.push(second(stream).await);
        }
    };
    timeout(PATIENCE, find).await.expect("such a second");
    seconds
}

fn is_busy(observation: &Observation) -> bool {
    let mut processes = observation.processes.iter();
    processes.any(|process| NAME.starts_with(&process.name) && process.cpus > 0.0)
}

#[tokio::test]
async fn watched_process_and_coordinator_may_come_and_go_in_the_middle() {
    let folder = tempfile::tempdir().unwrap();
    let mut coordinator = Coordinator::start().await;
    let arguments = ["--label", "role=server", "--process", NAME];
    let mut child = monitor(coordinator.address, &coordinator.token, &arguments);
    let said = child.stderr.take().unwrap();
    let mut monitor = Running(child);
    let (mut stream, hello) = coordinator.welcome(None).await;
    assert_eq!(
        (hello.role(), &hello.name[..], hello.workers),
        (Role::Monitor, "db", 0)
    );
    assert_eq!(hello.labels["role"], "server");

    // The run has been on for a while, as for a monitor that joins late.
    observe(&mut stream, monotonic_ns() - 10_500_000_000).await;
    let before = seconds_until(&mut stream, |_| true).await;
    assert!(
        before[0].0 >= 11 && before[0].1.processes.is_empty(),
        "{before:?}"
    );
    let burner = burner(folder.path());
    seconds_until(&mut stream, is_busy).await;
    drop(burner);
    seconds_until(&mut stream, |observation| observation.processes.is_empty()).await;
    let _burner = self::burner(folder.path());
    let last = seconds_until(&mut stream, is_busy).await.pop().unwrap().0;

    drop(stream);
    let (mut stream, _) = coordinator.welcome(None).await;
    observe(&mut stream, monotonic_ns() - 10_500_000_000).await;
    let (next, _) = second(&mut stream).await;
    assert_eq!(next, last + 1, "what passes during a cut is kept");

    let run_id = RUN.to_wire();
    stream.say(Down::Release(Release { run_id })).await;
    kill_process(Pid::from_child(&monitor.0), Signal::INT).unwrap();
    assert!(monitor.0.wait().unwrap().success());
    let said: Vec<String> = BufReader::new(said).lines().map_while(Result::ok).collect();
    let missing = "there is no process \"watched-by-monitor\" yet";
    let times = |part: &str| said.iter().filter(|line| line.contains(part)).count();
    assert_eq!(
        times(missing),
        2,
        "before it came, and when it was killed: {said:?}"
    );
    assert_eq!(
        times("watches process \"watched-by-monitor\""),
        2,
        "{said:?}"
    );
}

#[tokio::test]
async fn another_monitor_goes_on_where_one_was_killed() {
    let mut coordinator = Coordinator::start().await;
    let start_at = monotonic_ns();
    let mut last = None;
    for _ in 0..2 {
        let monitor = Running(monitor(coordinator.address, &coordinator.token, &[]));
        let (mut stream, _) = coordinator.welcome(None).await;
        observe(&mut stream, start_at).await;
        let (first, observation) = second(&mut stream).await;
        assert!(
            last.is_none_or(|last| first > last),
            "{first} after {last:?}"
        );
        assert!(observation.elapsed_ns > 0 && observation.processes.is_empty());
        last = Some(first);
        drop(monitor);
        assert_eq!(stream.next().await, None);
    }
}

#[tokio::test]
async fn wrong_token_ends_a_monitor_with_the_reason() {
    let coordinator = Coordinator::start().await;
    let (_, other) = tls();
    let token = Token::new(other.0, JoinSecret::new([7; 32]));
    let mut monitor = Running(monitor(coordinator.address, &token, &[]));
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = monitor.0.try_wait().unwrap() {
            break status;
        }
        assert!(begun.elapsed() < PATIENCE, "it stays");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let mut said = String::new();
    monitor
        .0
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert_eq!(status.code(), Some(4));
    assert!(
        said.contains("not the coordinator that the token is for"),
        "{said}"
    );
}

/// The next part of a profile. Seconds that come before it are acknowledged.
async fn profile_part(stream: &mut Attached) -> ProfilePart {
    loop {
        match stream.next().await {
            Some(Up::Profile(part)) => return part,
            Some(Up::Observed(Observed { run_id, second, .. })) => {
                let ack = Ack {
                    run_id,
                    stored: Some(Stored::Second(second)),
                };
                stream.say(Down::Ack(ack)).await;
            }
            Some(_) => {}
            None => panic!("the monitor is gone"),
        }
    }
}

#[tokio::test]
async fn monitor_without_perf_says_once_what_to_install() {
    let mut coordinator = Coordinator::start().await;
    let folder = tempfile::tempdir().unwrap();
    let mut child = monitor_command(coordinator.address, &coordinator.token)
        .args(["--process", NAME, "--profile", "1s"])
        .env("PATH", folder.path())
        .spawn()
        .unwrap();
    let said = child.stderr.take().unwrap();
    let mut monitor = Running(child);
    let (mut stream, _) = coordinator.welcome(None).await;
    observe(&mut stream, monotonic_ns()).await;
    let announced = timeout(PATIENCE, profile_part(&mut stream)).await.unwrap();
    assert_eq!((announced.part, announced.parts), (0, 0));
    let part = timeout(PATIENCE, profile_part(&mut stream)).await.unwrap();
    assert_eq!((part.part, part.parts), (0, 1));
    let outcome = ProfileOutcome::decode(&part.content).unwrap();
    let ProfileOutcome::NotTaken(why) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(why.contains("linux-perf"), "{why}");
    kill_process(Pid::from_child(&monitor.0), Signal::INT).unwrap();
    assert!(monitor.0.wait().unwrap().success());
    let said = std::io::read_to_string(said).unwrap();
    assert_eq!(said.matches("no CPU profile: ").count(), 1, "{said}");
}

#[tokio::test]
async fn profile_that_is_under_way_ends_with_its_monitor() {
    let folder = tempfile::tempdir().unwrap();
    // Stands in for perf, and for anything that perf starts.
    let perf = folder.path().join("perf");
    let pid_file = folder.path().join("pid");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && exit\nsleep 600 &\necho $! > {0}.new\n\
         mv {0}.new {0}\nwait\n",
        pid_file.display()
    );
    std::fs::write(&perf, script).unwrap();
    std::fs::set_permissions(&perf, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut coordinator = Coordinator::start().await;
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let watched = std::process::id().to_string();
    let child = monitor_command(coordinator.address, &coordinator.token)
        .args(["--process", &watched, "--profile", "10m"])
        .env("PATH", path)
        .env("TMPDIR", folder.path())
        .spawn()
        .unwrap();
    let mut monitor = Running(child);
    let (mut stream, _) = coordinator.welcome(None).await;
    observe(&mut stream, monotonic_ns() - 10_000_000_000).await;
    timeout(PATIENCE, profile_part(&mut stream)).await.unwrap();
    let sleeps = async {
        while !pid_file.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, sleeps).await.expect("it is recorded");
    let sleeping: i32 = std::fs::read_to_string(&pid_file)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    kill_process(Pid::from_child(&monitor.0), Signal::INT).unwrap();
    assert!(monitor.0.wait().unwrap().success());
    // After it is killed it can still be read until the kernel has removed it.
    let is_gone = async {
        let stat = format!("/proc/{sleeping}/stat");
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, is_gone).await.expect("it does not go on");
    let left = std::fs::read_dir(folder.path()).unwrap();
    let names = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = names
        .filter(|name| name.starts_with("cannonade-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
