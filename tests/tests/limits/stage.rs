//! Where a case is played, and what came of it.

use crate::right::Right;
use analysis::Verdict;
use interop::{Agent, Finished, Invited, Link, LinkQuality, Namespaces};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// CPUs of servers and of agents: neither takes the other's.
const SERVER_CPU: u32 = 0;
const AGENT_CPU: u32 = 1;

/// Tries of a case whose CPUs others take.
const TRIES: usize = 4;

/// A machine busier than this leaves no room for a case, which takes a CPU and a half at most.
const BUSY: f64 = 0.85;

/// Part of a CPU that a hypervisor took away in a second, and that can be the client's limit.
const STOLEN: f64 = 0.05;

/// An agent, and the machine of its servers, which is this one.
pub struct Stage {
    place: Place,
    /// Arguments of the monitor of the servers, where there is one.
    monitor: Option<Vec<String>>,
}

enum Place {
    /// The agent on a machine of its own, as far as the network goes.
    Apart(Namespaces),
    /// The same, at the far end of a link.
    Linked(Link),
    /// On the machine of the servers.
    Together,
}

impl Stage {
    /// Agent and servers apart; none where this process may not make them so.
    pub fn apart() -> Option<Stage> {
        Some(Stage::new(Place::Apart(Namespaces::new(1)?)))
    }

    /// The same with a link like this between them.
    pub fn linked(quality: LinkQuality) -> Option<Stage> {
        Some(Stage::new(Place::Linked(Link::new(quality)?)))
    }

    /// Both on this machine.
    pub fn together() -> Option<Stage> {
        Some(Stage::new(Place::Together))
    }

    fn new(place: Place) -> Stage {
        Stage {
            place,
            monitor: None,
        }
    }

    /// Lets a monitor watch this process and its children.
    pub fn watch(&mut self, process: u32) {
        self.monitor = Some(vec!["--process".to_owned(), process.to_string()]);
    }

    /// Lets a monitor watch the machine of the servers.
    pub fn watch_machine(&mut self) {
        self.monitor = Some(Vec::new());
    }

    /// Where servers listen.
    pub fn server_ip(&self) -> IpAddr {
        IpAddr::V4(match &self.place {
            Place::Apart(machines) => machines.bridge_address(),
            Place::Linked(link) => link.near_address(),
            Place::Together => Ipv4Addr::LOCALHOST,
        })
    }

    /// What runs a program, to be added as an argument, where the agent is, on its CPU alone.
    pub fn agent_side(&self) -> Command {
        let mut command = match &self.place {
            Place::Apart(machines) => machines.namespace(0).command_among_files(),
            Place::Linked(link) => link.far().command_among_files(),
            Place::Together => Command::new("env"),
        };
        // Where server and agent share a machine, they share its CPUs.
        if !matches!(self.place, Place::Together) {
            command.args(["taskset", "-c", &AGENT_CPU.to_string()]);
        }
        command
    }

    /// Runs a plan from an agent by way of `by`; `meanwhile` is called once it joins.
    pub fn play(&self, by: Command, plan: &str, meanwhile: impl FnOnce(&Agent)) -> Finished {
        self.play_with(&[], by, plan, meanwhile)
    }

    /// The same past what the agent's preflight refuses.
    pub fn play_forced(&self, by: Command, plan: &str) -> Finished {
        self.play_with(&["--force"], by, plan, |_| ())
    }

    fn play_with(
        &self,
        flags: &[&str],
        by: Command,
        plan: &str,
        meanwhile: impl FnOnce(&Agent),
    ) -> Finished {
        let state = tempfile::tempdir().unwrap();
        let listen = SocketAddr::new(self.server_ip(), 0);
        let run = Invited::start_with(flags, 1, listen, state.path(), plan);
        let monitor = self.monitor.as_ref().map(|watched| {
            let mut arguments = vec!["--name", "monitor", "--label", "role=server"];
            arguments.extend(watched.iter().map(String::as_str));
            Agent::monitor(run.address, &run.token, &arguments)
        });
        // The run begins with the agent, and waits for no monitor.
        if let Some(monitor) = &monitor {
            monitor.wait_for("joined", 1);
        }
        let agent = run.agent_by(by, "agent");
        meanwhile(&agent);
        run.coordinator.wait()
    }
}

/// Plays a case as often as `REPEAT` says, and looks at each verdict. The case gives nothing where
/// something is missing here.
pub fn staged(name: &str, right: &Right, case: impl Fn() -> Option<Finished>) {
    let _alone = alone();
    println!("{name}: to be {right}");
    for _ in 0..times() {
        play_undisturbed(name, right, &case);
    }
}

/// What holds a client up for a moment may well have been its limit, or have made it late, and
/// what takes the CPUs leaves fewer proofs: that is right then, and the case is played again. Where
/// programs of others or the hypervisor had the CPUs in some try, none need hold.
fn play_undisturbed(name: &str, right: &Right, case: impl Fn() -> Option<Finished>) {
    let mut said = Vec::new();
    let mut disturbed = false;
    for _ in 0..TRIES {
        let Some(finished) = case() else {
            return;
        };
        print(name, &finished);
        if right.holds(&finished) {
            return;
        }
        let record = finished.document().verdict;
        let is_disturbed = was_disturbed(&finished);
        let may_be = match record.verdict {
            Verdict::ClientBound | Verdict::Invalid => true,
            Verdict::Undetermined => is_disturbed,
            _ => false,
        };
        assert!(may_be, "it was to be {right}; {finished}");
        disturbed |= is_disturbed;
        said.push(format!("{}: {:?}", record.verdict.name(), record.evidence));
        println!("  again: something may have held the client up");
    }
    let said = said.join("\n  ");
    assert!(
        disturbed,
        "{name} was to be {right} in one of {TRIES} tries, and was\n  {said}"
    );
    println!("{name}: disturbed in all tries, so that it shows nothing; it was\n  {said}");
}

/// Whether the agent's machine was full in a second, or on average, or was taken away.
fn was_disturbed(finished: &Finished) -> bool {
    let document = finished.document();
    let agents = document.agents.iter().filter_map(|agent| agent.cpu);
    let means = agents.map(|cpu| cpu.machine_busy_share_mean);
    let rows = document.machines.iter().flat_map(|machine| &machine.rows);
    let is_taken = rows.clone().any(|row| row.worst_steal > STOLEN);
    let mut busy = means.chain(rows.map(|row| row.cpu_busy));
    is_taken || busy.any(|busy| busy > BUSY)
}

/// One case at a time: two CPUs hold one.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    // What this thread starts comes before other programs; 0 is this thread, and only root may.
    let _ = rustix::process::setpriority_process(None, -20);
    // A case that failed in here fails the others with its own message, not with the lock's.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn times() -> u32 {
    std::env::var("REPEAT").map_or(1, |text| text.parse().expect("REPEAT is a number"))
}

fn print(name: &str, finished: &Finished) {
    let document = finished.document();
    let operations = &document.measured.operations;
    println!(
        "{name}: {} (exit code {}), {} of {} ok",
        document.verdict.verdict.name(),
        finished.code,
        operations.ok,
        operations.ended
    );
    for sentence in &document.verdict.evidence {
        println!("  {sentence}");
    }
}

/// Lets a process of the server run on the server's CPU alone.
pub fn pin(process: u32) {
    let cpu = SERVER_CPU.to_string();
    let output = Command::new("taskset")
        .args(["-acp", &cpu, &process.to_string()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A plan for this URL with this load; `more` are further lines.
pub fn plan(url: &str, load: &str, more: &str) -> String {
    format!("name = \"limits\"\ntarget.url = {url:?}\nload = {{ {load} }}\n{more}\n")
}
