//! Which processes are watched: those chosen, and their descendants.

use crate::HostError;
use crate::kernel::{KernelFiles, ProcessStat};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// The kernel cuts names of processes to this length, bytes.
const NAME_BYTES: usize = 15;

/// Looks until all processes are read again: a forked process gets its name later.
const FULL_EVERY: u32 = 5;

/// Processes to watch, with their children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessChoice {
    /// The one of this number.
    Pid(u32),
    /// All of this name, as `ps -e` shows it.
    Name(String),
}

impl FromStr for ProcessChoice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<ProcessChoice, Infallible> {
        let name = || ProcessChoice::Name(text.to_owned());
        Ok(text.parse().map_or_else(|_| name(), ProcessChoice::Pid))
    }
}

impl fmt::Display for ProcessChoice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProcessChoice::Pid(pid) => write!(out, "{pid}"),
            ProcessChoice::Name(name) => out.write_str(name),
        }
    }
}

impl ProcessChoice {
    fn is_of(&self, pid: u32, name: &str) -> bool {
        match self {
            ProcessChoice::Pid(chosen) => *chosen == pid,
            ProcessChoice::Name(chosen) => {
                let cut = chosen.as_bytes();
                name.as_bytes() == cut.get(..NAME_BYTES).unwrap_or(cut)
            }
        }
    }
}

/// The machine's processes, as far as they have been read.
#[derive(Debug, Default)]
pub(super) struct ProcessTable {
    known: BTreeMap<u32, KnownProcess>,
    looks: u32,
}

#[derive(Debug)]
struct KnownProcess {
    name: String,
    parent: u32,
}

impl ProcessTable {
    /// Reads what is new; all of it now and then, since a machine may have thousands.
    pub(super) fn look(&mut self, files: &KernelFiles) -> Result<(), HostError> {
        if self.looks.is_multiple_of(FULL_EVERY) {
            self.known.clear();
        }
        self.looks = self.looks.wrapping_add(1);
        let pids = files.numbers_in("proc")?;
        self.known.retain(|pid, _| pids.binary_search(pid).is_ok());
        for pid in pids {
            if !self.known.contains_key(&pid)
                && let Some(stat) = files.read_if_there(&format!("proc/{pid}/stat"))?
            {
                let ProcessStat { name, parent, .. } = ProcessStat::parse(&stat)?;
                self.known.insert(pid, KnownProcess { name, parent });
            }
        }
        Ok(())
    }

    /// Whether there is one of these.
    pub(super) fn has(&self, choice: &ProcessChoice) -> bool {
        let mut known = self.known.iter();
        known.any(|(pid, process)| choice.is_of(*pid, &process.name))
    }

    /// The chosen ones and their descendants, in ascending order.
    pub(super) fn select(&self, choices: &[ProcessChoice]) -> Vec<u32> {
        let all = self.known.keys().copied();
        all.filter(|pid| self.descends(*pid, choices)).collect()
    }

    fn descends(&self, pid: u32, choices: &[ProcessChoice]) -> bool {
        // They are read at different moments, so parents could form a circle.
        let mut next = Some(pid);
        for _ in 0..self.known.len() {
            let Some((pid, process)) = next.and_then(|pid| self.known.get_key_value(&pid)) else {
                return false;
            };
            if choices
                .iter()
                .any(|choice| choice.is_of(*pid, &process.name))
            {
                return true;
            }
            next = Some(process.parent);
        }
        false
    }
}
