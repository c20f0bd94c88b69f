//! The calibrations of agents that have joined, kept in the state folder for `coordinator check`.

use control::AgentFacts;
use measure::is_unprintable;
use plan::Calibration;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The file's name in the state folder.
const FILE: &str = "calibrations.json";
/// Most agents that are remembered; if there are more, those that joined last are.
const AGENTS_MAX: usize = 256;
/// More than `AGENTS_MAX` agents take: what each agent sends is bounded too.
const FILE_MAX_BYTES: u64 = AGENTS_MAX as u64 * 2 * Calibration::MAX_BYTES as u64;
/// Most load threads of an agent that are believed, as bounded by `agent join --workers`.
const WORKERS_MAX: u32 = 1_024;

/// An agent that has joined with a calibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CalibratedAgent {
    /// If two agents have the same name, the later one is kept.
    pub(crate) name: String,
    /// Load threads.
    pub(crate) workers: u32,
    pub(crate) calibration: Calibration,
}

/// The file that the calibrations are kept in.
#[derive(Debug, Clone)]
pub(crate) struct CalibratedAgents {
    path: PathBuf,
}

impl CalibratedAgents {
    /// The calibrations of a state folder, which need not exist.
    pub(crate) fn new(state: &Path) -> CalibratedAgents {
        CalibratedAgents {
            path: state.join(FILE),
        }
    }

    /// Reads the agents that are known, those that joined last at the end.
    ///
    /// # Errors
    /// The file cannot be read, or is not what was written.
    pub(crate) fn read(&self) -> anyhow::Result<Vec<CalibratedAgent>> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let mut bytes = Vec::new();
        file.take(FILE_MAX_BYTES).read_to_end(&mut bytes)?;
        Ok(serde_json::from_slice(&bytes)?)
    }

    /// Remembers those of a run's agents that sent a calibration.
    ///
    /// # Errors
    /// They cannot be saved; the message says why. The run does not suffer from it.
    pub(crate) fn remember(&self, agents: &[AgentFacts]) -> Result<(), String> {
        let joined: Vec<CalibratedAgent> = agents.iter().filter_map(read_calibration).collect();
        // A file that cannot be read is replaced: the next runs complete it again.
        let before = self.read().unwrap_or_default();
        let after = with(before.clone(), joined);
        if after == before {
            return Ok(());
        }
        self.replace(&after).map_err(|error| {
            let path = self.path.display();
            format!("the agents' calibrations are not kept in {path}: {error}")
        })
    }

    /// Replaces the file in one step. It is not synced, since a run is about to begin: if the file
    /// is lost, the next run writes it again.
    fn replace(&self, agents: &[CalibratedAgent]) -> io::Result<()> {
        let draft = self
            .path
            .with_extension(format!("draft-{}", std::process::id()));
        let write = || {
            let mut file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&draft)?;
            file.write_all(&serde_json::to_vec(agents)?)?;
            fs::rename(&draft, &self.path)
        };
        let written = write();
        if written.is_err() {
            // If even that fails, the draft does no harm.
            let _ = fs::remove_file(&draft);
        }
        written
    }
}

/// `None` if an agent sent no calibration, or one that cannot be read: it can run plans all the
/// same.
fn read_calibration(agent: &AgentFacts) -> Option<CalibratedAgent> {
    Some(CalibratedAgent {
        // The name is printed, and comes from another machine.
        name: agent.name.replace(is_unprintable, "?"),
        workers: agent.workers.clamp(1, WORKERS_MAX),
        calibration: Calibration::decode(&agent.calibration).ok()?,
    })
}

/// Adds agents, which replace those of the same name; the oldest beyond the limit are dropped.
/// Agents that have not changed keep their places, so that a run with the same agents changes
/// nothing.
fn with(mut known: Vec<CalibratedAgent>, joined: Vec<CalibratedAgent>) -> Vec<CalibratedAgent> {
    for agent in joined {
        if known.contains(&agent) {
            continue;
        }
        known.retain(|other| other.name != agent.name);
        known.push(agent);
    }
    known.split_off(known.len().saturating_sub(AGENTS_MAX))
}

#[cfg(test)]
mod tests {
    use super::{AGENTS_MAX, CalibratedAgents};
    use control::{AgentFacts, AgentId};
    use plan::{CalibratedWork, Calibration, CalibrationRow, Fingerprint};
    use std::os::unix::fs::PermissionsExt as _;

    fn agent(name: &str, cpu_ns: f64) -> AgentFacts {
        let calibration = Calibration {
            fingerprint: Fingerprint {
                cpu_model: "Model 1".into(),
                cpus: 2,
                cpu_quota: None,
                kernel: "6.1.0".into(),
                version: "0.1.0".into(),
            },
            measured_at_s: 1_795_000_000,
            disturbed_share: None,
            rows: vec![CalibrationRow {
                work: CalibratedWork::Request,
                cpu_ns,
                rate_per_worker: 1e9 / cpu_ns,
            }],
        };
        AgentFacts {
            version: "1".into(),
            workers: 2,
            calibration: calibration.encode().into(),
            ..AgentFacts::new(AgentId([1; 16]), name)
        }
    }

    fn names(agents: &CalibratedAgents) -> Vec<String> {
        let known = agents.read().unwrap();
        known.into_iter().map(|agent| agent.name).collect()
    }

    #[test]
    fn agents_are_known_by_their_last_calibration() {
        let folder = tempfile::tempdir().unwrap();
        let agents = CalibratedAgents::new(folder.path());
        assert!(names(&agents).is_empty());
        let silent = AgentFacts {
            calibration: proto::Bytes::new(),
            ..agent("silent", 1.0)
        };
        let broken = AgentFacts {
            calibration: proto::Bytes::from_static(b"{"),
            ..agent("broken", 1.0)
        };
        agents.remember(&[silent, broken]).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        agents
            .remember(&[agent("a", 1.0), agent("b\u{1b}[2J", 2.0)])
            .unwrap();
        assert_eq!(names(&agents), ["a", "b?[2J"]);
        agents.remember(&[agent("a", 3.0)]).unwrap();
        assert_eq!(names(&agents), ["b?[2J", "a"]);
        let last = agents.read().unwrap().pop().unwrap();
        assert_eq!(last.calibration.rows[0].cpu_ns, 3.0);
        let path = folder.path().join("calibrations.json");
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_so_many_are_kept_and_a_broken_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let agents = CalibratedAgents::new(folder.path());
        std::fs::write(folder.path().join("calibrations.json"), "[{").unwrap();
        assert!(agents.read().is_err());
        let all: Vec<AgentFacts> = (0..AGENTS_MAX + 3)
            .map(|number| agent(&number.to_string(), 1.0))
            .collect();
        for some in all.chunks(100) {
            agents.remember(some).unwrap();
        }
        let names = names(&agents);
        assert_eq!(names.len(), AGENTS_MAX);
        assert_eq!((names[0].as_str(), names[255].as_str()), ("3", "258"));
    }
}
