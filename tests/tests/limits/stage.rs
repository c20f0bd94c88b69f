//! The stage on which a case is played, and its outcome.

use crate::right::Right;
use analysis::Verdict;
use interop::{Agent, Finished, Invited, Link, LinkQuality, Namespaces};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// CPUs of servers and agents, so that neither takes the other's.
const SERVER_CPU: u32 = 0;
const AGENT_CPU: u32 = 1;

/// Tries of a case if other programs take its CPUs.
const TRIES: usize = 4;

/// A machine busier than this has no room for a case, which needs one and a half CPUs at most.
const BUSY: f64 = 0.85;

/// Share of a CPU taken by the hypervisor in a second that can make the client the limit.
const STOLEN: f64 = 0.05;

/// An agent, and the machine of its servers, which is this one.
pub struct Stage {
    place: Place,
    /// Arguments of the servers' monitor; `None` if there is none.
    monitor: Option<Vec<String>>,
}

enum Place {
    /// The agent is on a machine of its own, as far as the network is concerned.
    Apart(Namespaces),
    /// As before, at the far end of a link.
    Linked(Link),
    /// The agent is on the servers' machine.
    Together,
}

impl Stage {
    /// Agent and servers apart; `None` if this process may not separate them.
    pub fn apart() -> Option<Stage> {
        Some(Stage::new(Place::Apart(Namespaces::new(1)?)))
    }

    /// Agent and servers apart, with such a link between them.
    pub fn linked(quality: LinkQuality) -> Option<Stage> {
        Some(Stage::new(Place::Linked(Link::new(quality)?)))
    }

    /// Agent and servers on this machine.
    pub fn together() -> Option<Stage> {
        Some(Stage::new(Place::Together))
    }

    fn new(place: Place) -> Stage {
        Stage {
            place,
            monitor: None,
        }
    }

    /// Adds a monitor that watches this process and its children.
    pub fn watch(&mut self, process: u32) {
        self.monitor = Some(vec!["--process".to_owned(), process.to_string()]);
    }

    /// Adds a monitor that watches the whole machine of the servers.
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

    /// A command that runs the program in its arguments on the agent's machine and CPU.
    pub fn agent_side(&self) -> Command {
        let mut command = match &self.place {
            Place::Apart(machines) => machines.namespace(0).command_among_files(),
            Place::Linked(link) => link.far().command_among_files(),
            Place::Together => Command::new("env"),
        };
        // If server and agent share a machine, they share its CPUs.
        if !matches!(self.place, Place::Together) {
            command.args(["taskset", "-c", &AGENT_CPU.to_string()]);
        }
        command
    }

    /// Runs a plan with an agent started through `by`; `meanwhile` is called once it has joined.
    pub fn play(&self, by: Command, plan: &str, meanwhile: impl FnOnce(&Agent)) -> Finished {
        self.play_with(&[], by, plan, meanwhile)
    }

    /// As [`Stage::play`], past a refusal of the agent's preflight.
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
        // The run begins with the agent, and does not wait for a monitor.
        if let Some(monitor) = &monitor {
            monitor.wait_for("joined", 1);
        }
        let agent = run.agent_by(by, "agent");
        meanwhile(&agent);
        run.coordinator.wait()
    }
}

/// Plays a case as often as `REPEAT` says, and checks each verdict. `case` returns `None` if
/// something it needs is missing here.
pub fn staged(name: &str, right: &Right, case: impl Fn() -> Option<Finished>) {
    let _alone = alone();
    println!("{name}: to be {right}");
    for _ in 0..times() {
        play_undisturbed(name, right, &case);
    }
}

/// If something held the client up for a moment, that may really have been its limit, or made it
/// late, and a shortage of CPUs leaves less evidence. Such a verdict is acceptable, and the case is
/// played again. If other programs or the hypervisor took the CPUs in any try, no try need succeed.
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

/// Whether the agent's machine was full in some second or on average, or its CPUs were taken away.
fn was_disturbed(finished: &Finished) -> bool {
    let document = finished.document();
    let agents = document.agents.iter().filter_map(|agent| agent.cpu);
    let means = agents.map(|cpu| cpu.machine_busy_share_mean);
    let rows = document.machines.iter().flat_map(|machine| &machine.rows);
    let is_taken = rows.clone().any(|row| row.worst_steal > STOLEN);
    let mut busy = means.chain(rows.map(|row| row.cpu_busy));
    is_taken || busy.any(|busy| busy > BUSY)
}

/// One case at a time, since two CPUs have room for one.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    // Programs started by this thread get priority over others; 0 is this thread, and only root may
    // do this.
    let _ = rustix::process::setpriority_process(None, -20);
    // If a case fails in here, the others must fail with their own message, not with that of the
    // lock.
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

/// Pins a process of the server to the server's CPU.
pub fn pin(process: u32) {
    let cpu = SERVER_CPU.to_string();
    let output = Command::new("taskset")
        .args(["-acp", &cpu, &process.to_string()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A plan for this URL and load; `more` has further lines.
pub fn plan(url: &str, load: &str, more: &str) -> String {
    format!("name = \"limits\"\ntarget.url = {url:?}\nload = {{ {load} }}\n{more}\n")
}
