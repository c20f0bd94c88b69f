//! The client is the limit.

use crate::right::Right;
use crate::stage::{Stage, alone, pin, plan, staged};
use analysis::Verdict::{ClientBound, Invalid, LoadMet};
use interop::{
    CpuQuota, Finished, Nginx, NginxOptions, NginxServer, Pki, Process, Reply, ScriptedServer,
    Signal,
};
use std::process::Command;
use std::time::{Duration, Instant};

/// A client that was stopped for longer than this was disturbed.
const THROTTLED: Duration = Duration::from_millis(300);

/// nginx of this stage, on its own CPU.
fn nginx(stage: &Stage) -> Option<Nginx> {
    let options = NginxOptions {
        ip: stage.server_ip(),
        ..NginxOptions::default()
    };
    let nginx = Nginx::start(&Pki::new(), &options)?;
    pin(nginx.id());
    Some(nginx)
}

/// An agent with a quota against a fast server.
fn throttled(load: &str) -> Option<Finished> {
    let stage = Stage::apart()?;
    let (nginx, quota) = (nginx(&stage)?, CpuQuota::new(0.25)?);
    let plan = plan(&nginx.url(NginxServer::Plain, "/"), load, "");
    let finished = stage.play(quota.around(&stage.agent_side()), &plan, |_| ());
    println!("  throttled for {:?}", quota.throttled());
    assert!(
        quota.throttled() < THROTTLED || finished.document().verdict.verdict != LoadMet,
        "{finished}"
    );
    Some(finished)
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn agent_on_a_quota_with_a_closed_loop() {
    staged(
        "agent on a quarter of a CPU, closed loop",
        &Right::is(ClientBound).or(&[Invalid]),
        || throttled("connections = 64, duration = \"3s\""),
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn agent_on_a_quota_with_an_open_loop() {
    staged(
        "agent on a quarter of a CPU, open loop",
        &Right::is(ClientBound).or(&[Invalid]),
        || throttled("rate = \"20000/s\", max_connections = 200, duration = \"3s\""),
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn agent_on_a_quota_whose_load_is_met() {
    staged(
        "agent on a quarter of a CPU, load met",
        &Right::is(ClientBound).or(&[Invalid, LoadMet]),
        || throttled("rate = \"5000/s\", max_connections = 200, duration = \"3s\""),
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn ramp_that_fills_the_client() {
    staged(
        "ramp that fills the client",
        &Right::is(ClientBound).or(&[Invalid]),
        || {
            throttled(
                "rate = \"10/s\", max_connections = 200, \
                       stage = [{ over = \"5s\", to = \"20000/s\" }]",
            )
        },
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn hanging_request_at_the_end_of_a_full_run() {
    staged(
        "a request that hangs at the end of a full run",
        &Right::is(ClientBound).or(&[Invalid]),
        || {
            let stage = Stage::apart()?;
            let quota = CpuQuota::new(0.25)?;
            let begin = Instant::now();
            let mut hung = false;
            let server = ScriptedServer::at(stage.server_ip(), move |request| {
                let hangs = !hung && request.number > 300;
                hung |= hangs;
                let wait = if hangs { 8 } else { 0 };
                Reply::At(request.asked_at.max(begin) + Duration::from_secs(wait))
            });
            let load = "connections = 64, duration = \"3s\"";
            let plan = plan(&server.url(), load, "");
            Some(stage.play(quota.around(&stage.agent_side()), &plan, |_| ()))
        },
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn agent_that_stands_still() {
    stop_agent(
        "agent stopped for two seconds",
        "rate = \"200/s\", max_connections = 200, duration = \"5s\"",
    );
}

/// Users have no arrivals that could be late. Failed with: undetermined, and a loop lag of 0.51 ms.
#[test]
#[ignore = "takes minutes on a quiet machine"]
fn agent_of_users_that_stands_still() {
    stop_agent(
        "agent of a closed loop stopped for two seconds",
        "connections = 10, think_time = \"20ms\", duration = \"5s\"",
    );
}

fn stop_agent(case: &str, load: &str) {
    staged(case, &Right::is(Invalid), || {
        let stage = Stage::apart()?;
        let nginx = nginx(&stage)?;
        let plan = plan(&nginx.url(NginxServer::Plain, "/"), load, "");
        Some(stage.play(stage.agent_side(), &plan, |agent| {
            agent.wait_for(": starting", 1);
            std::thread::sleep(Duration::from_secs(1));
            agent.signal(Signal::STOP);
            std::thread::sleep(Duration::from_secs(2));
            agent.signal(Signal::CONT);
        }))
    });
}

/// 400 virtual users of an agent that may open 256 files.
fn without_descriptors(play: impl Fn(&Stage, Command, &str) -> Finished) -> Option<Finished> {
    let stage = Stage::apart()?;
    let nginx = nginx(&stage)?;
    let mut by = stage.agent_side();
    by.args(["sh", "-c", "ulimit -n 256 && exec \"$@\"", "sh"]);
    let load = "connections = 400, duration = \"2s\"";
    let plan = plan(&nginx.url(NginxServer::Plain, "/"), load, "");
    Some(play(&stage, by, &plan))
}

/// Preflight refuses it; if forced, it continues.
#[test]
#[ignore = "takes minutes on a quiet machine"]
fn agent_without_descriptors() {
    let _alone = alone();
    if let Some(refused) = without_descriptors(|stage, by, plan| stage.play(by, plan, |_| ())) {
        let why = "this agent's share is 400, and it may open 256 files";
        refused_with(&refused, &[why, "raise the hard limit to 528"]);
    }
    if let Some(forced) = without_descriptors(Stage::play_forced) {
        marked(&forced, "may open 256 files");
    }
}

/// 2,000 connections per second from an agent with 200 ports.
fn without_ports(play: impl Fn(&Stage, Command, &str) -> Finished) -> Option<Finished> {
    let stage = Stage::apart()?;
    let nginx = nginx(&stage)?;
    let ports = "/proc/sys/net/ipv4/ip_local_port_range";
    let take_most = format!("echo 40000 40199 > {ports} && exec \"$@\"");
    let mut by = stage.agent_side();
    by.args(["sh", "-c", &take_most, "sh"]);
    let load = "rate = \"2000/s\", max_connections = 500, duration = \"3s\"";
    let more = "connection = { requests = 1, close = \"fin\" }";
    let plan = plan(&nginx.url(NginxServer::Plain, "/"), load, more);
    Some(play(&stage, by, &plan))
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn agent_without_ports() {
    if let Some(refused) = {
        let _alone = alone();
        without_ports(|stage, by, plan| stage.play(by, plan, |_| ()))
    } {
        let why = "a target address has 200";
        refused_with(
            &refused,
            &["local ports run out after 0 s", why, "ip_local_port_range"],
        );
    }
    staged(
        "agent with 200 ports and 2,000 connections a second",
        &Right::is(ClientBound),
        || {
            let forced = without_ports(Stage::play_forced)?;
            marked(&forced, "local ports run out");
            Some(forced)
        },
    );
}

fn refused_with(refused: &Finished, parts: &[&str]) {
    assert_eq!(refused.code, 4, "{refused}");
    for part in parts.iter().chain(&["--force goes on"]) {
        assert!(refused.stderr.contains(part), "{part}: {refused}");
    }
}

/// The verdict says which check the run was forced past.
fn marked(forced: &Finished, by: &str) {
    let document = forced.document();
    let is_mark = |line: &&String| line.starts_with("forced past preflight") && line.contains(by);
    assert_eq!(
        document.verdict.evidence.iter().filter(is_mark).count(),
        1,
        "{forced}"
    );
    assert!(
        document.preflight.iter().any(|finding| finding.forced),
        "{forced}"
    );
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn neighbour_on_the_workers_cpu() {
    staged(
        "a neighbour that burns the worker's CPU",
        &Right::is(ClientBound).or(&[Invalid]),
        || {
            let stage = Stage::apart()?;
            let nginx = nginx(&stage)?;
            let folder = tempfile::tempdir().unwrap();
            let burn = |number: u32| {
                let mut by = stage.agent_side();
                by.args(["sh", "-c", "while :; do :; done"]);
                Process::start(&mut by, &folder.path().join(number.to_string()))
            };
            let _neighbours = [0, 1, 2].map(burn);
            let load = "connections = 64, duration = \"3s\"";
            let plan = plan(&nginx.url(NginxServer::Plain, "/"), load, "");
            Some(stage.play(stage.agent_side(), &plan, |_| ()))
        },
    );
}
