//! A control link with a machine at its far end, where agents fire at a target over loopback.

use analysis::Document;
use interop::{
    Agent, Coordinator, CoordinatorCommand, DEADLINE, Finished, Invited, Link, LinkQuality,
    RUN_MAX, wait_until,
};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};
use target::{Config, RunningTarget};
use tempfile::TempDir;

/// The load has ended if there is none for this long; plans here fire several times in it.
const QUIET: Duration = Duration::from_millis(1500);

/// Agents and target at the far end of a control link, the coordinator's state at the near one.
pub(crate) struct Field {
    pub(crate) server: RunningTarget,
    pub(crate) link: Link,
    state: TempDir,
}

/// A run whose agents have been started.
pub(crate) struct FieldRun {
    pub(crate) invited: Invited,
    pub(crate) agents: Vec<Agent>,
}

impl Field {
    /// With this kind of control link; `None` if this process may not make one.
    pub(crate) fn new(quality: LinkQuality) -> Option<Field> {
        Field::with_target(quality, Config::plain())
    }

    /// As [`Field::new`], with this kind of target.
    pub(crate) fn with_target(quality: LinkQuality, target: Config) -> Option<Field> {
        let link = Link::new(quality)?;
        let server = link.far().enter(|| RunningTarget::new(target)).unwrap();
        let state = tempfile::tempdir().unwrap();
        Some(Field {
            server,
            link,
            state,
        })
    }

    /// A plan with this load and these further lines.
    pub(crate) fn plan(&self, load: &str, more: &str) -> String {
        let url = self.server.url("/");
        format!("name = \"field\"\ntarget.url = {url:?}\nload = {{ {load} }}\n{more}\n")
    }

    /// A coordinator that waits for `agents` agents.
    pub(crate) fn invite(&self, agents: u32, plan: &str) -> Invited {
        let listen = SocketAddr::new(self.link.near_address().into(), 0);
        Invited::start(agents, listen, self.state.path(), plan)
    }

    /// An agent at the far end.
    pub(crate) fn agent(&self, invited: &Invited, name: &str) -> Agent {
        invited.agent_by(self.link.command(), name)
    }

    /// A run by `agents` agents.
    pub(crate) fn start(&self, agents: u32, plan: &str) -> FieldRun {
        let invited = self.invite(agents, plan);
        let agents = (0..agents)
            .map(|number| self.agent(&invited, &format!("agent-{number}")))
            .collect();
        FieldRun { invited, agents }
    }

    /// The folder by which agents know the coordinator.
    pub(crate) fn state(&self) -> &Path {
        self.state.path()
    }

    /// The number of requests so far.
    pub(crate) fn requests(&self) -> u64 {
        self.server.counts().requests
    }

    /// Waits until the target has received `requests` requests.
    pub(crate) fn wait_for_requests(&self, requests: u64) {
        wait_until(&format!("{requests} requests"), || {
            (self.requests() >= requests).then_some(())
        });
    }

    /// Waits until the load has ended. Returns the time from `since` to the last request.
    pub(crate) fn wait_for_quiet(&self, since: Instant) -> Duration {
        let (mut requests, mut last_at) = (self.requests(), since);
        loop {
            std::thread::sleep(Duration::from_millis(20));
            let now = self.requests();
            if now > requests {
                (requests, last_at) = (now, Instant::now());
            }
            if since.elapsed() > QUIET && last_at.elapsed() > QUIET {
                return last_at - since;
            }
            assert!(
                since.elapsed() < DEADLINE * 3,
                "the load goes on for {:?}",
                since.elapsed()
            );
        }
    }

    /// Continues an interrupted run.
    pub(crate) fn resume(&self, run_folder: &Path, more: &[&str]) -> Coordinator {
        let folder = run_folder.to_str().unwrap();
        let arguments = [&["start", "--resume", folder], more].concat();
        CoordinatorCommand::new(&arguments).spawn()
    }

    /// Cuts the control link for `duration`.
    pub(crate) fn cut_for(&self, duration: Duration) {
        self.set_link(false);
        std::thread::sleep(duration);
        self.set_link(true);
    }

    /// Cuts the control link, or mends it.
    pub(crate) fn set_link(&self, is_up: bool) {
        self.link.change(|quality| quality.is_up = is_up);
    }
}

impl FieldRun {
    /// What coordinator and agents have printed so far.
    pub(crate) fn told(&self) -> String {
        let agents: Vec<String> = self.agents.iter().map(Agent::output).collect();
        let coordinator = self.invited.coordinator.stderr();
        format!("{coordinator}---\n{}", agents.join("---\n"))
    }

    /// Waits for the coordinator's end. Returns the agents' output too.
    pub(crate) fn finish(self) -> (Finished, String) {
        self.finish_within(RUN_MAX)
    }

    /// As [`FieldRun::finish`], for a run that may take longer than most.
    pub(crate) fn finish_within(self, longest: Duration) -> (Finished, String) {
        let finished = self.invited.coordinator.wait_within(longest);
        let told: Vec<String> = self.agents.iter().map(Agent::output).collect();
        (finished, told.join("---\n"))
    }
}

/// The result in a run folder.
pub(crate) fn document(run_folder: &Path) -> Document {
    let bytes = std::fs::read(run_folder.join("result.json")).unwrap();
    report::read(&bytes).unwrap()
}

/// The events in `events.jsonl` with their lines, in order, without a line that is still being
/// written.
pub(crate) fn events(run_folder: &Path) -> Vec<(String, Value)> {
    let text = std::fs::read_to_string(run_folder.join("events.jsonl")).unwrap_or_default();
    text.split_inclusive('\n')
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .map(|line| (line["event"].as_str().unwrap().to_owned(), line))
        .collect()
}

/// Whether there is such an event so far.
pub(crate) fn has_event(run_folder: &Path, word: &str) -> bool {
    events(run_folder).iter().any(|(event, _)| event == word)
}
