//! How full the table of tracked connections is, from `/proc/sys/net/netfilter` and
//! `/proc/PID/net/stat/nf_conntrack`.

use super::{KernelFiles, KernelText, difference};
use crate::HostError;

/// Connections that the kernel tracks for its packet filter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Conntrack {
    /// Tracked now, in the namespace of the process.
    pub entries: u64,
    /// Most that a namespace may have.
    pub most: u64,
    /// Packets dropped because the table was full; 0 where the kernel does not count them.
    pub drops: u64,
    /// Connections that found no place in the table; likewise.
    pub failed_inserts: u64,
}

impl Conntrack {
    /// Reads that of the network namespace that `process` (an id, or `self`) is in. `None` if
    /// nothing is tracked, or the kernel does not count it there.
    pub(crate) fn read(files: &KernelFiles, process: &str) -> Result<Option<Conntrack>, HostError> {
        let setting = |name| -> Result<Option<u64>, HostError> {
            let path = format!("proc/sys/net/netfilter/nf_conntrack_{name}");
            let text = files.read_if_there(&path)?;
            text.map(|text| text.number(Some(text.text.trim()), name))
                .transpose()
        };
        let Some(most) = setting("max")? else {
            return Ok(None);
        };
        let path = format!("proc/{process}/net/stat/nf_conntrack");
        if let Some(stat) = files.read_if_there(&path)? {
            return Conntrack::parse(&stat, most).map(Some);
        }
        // Without CONFIG_NF_CONNTRACK_PROCFS the fill is told to those in the namespace.
        let entries = setting("count")?.filter(|_| process == "self");
        Ok(entries.map(|entries| Conntrack {
            entries,
            most,
            ..Conntrack::default()
        }))
    }

    /// A line of names, then one of hexadecimal numbers for each CPU. `entries` is of all CPUs, and
    /// the same on each line.
    fn parse(stat: &KernelText, most: u64) -> Result<Conntrack, HostError> {
        let mut lines = stat.text.lines();
        let names: Vec<&str> = lines.next().unwrap_or("").split_whitespace().collect();
        let mut all = Conntrack {
            most,
            ..Conntrack::default()
        };
        for line in lines {
            let words: Vec<&str> = line.split_whitespace().collect();
            let count = |name: &str| {
                let place = names.iter().position(|one| *one == name);
                let word = place.and_then(|place| words.get(place));
                word.and_then(|word| u64::from_str_radix(word, 16).ok())
                    .ok_or_else(|| stat.malformed(name))
            };
            all.entries = count("entries")?;
            all.drops = all.drops.saturating_add(count("drop")?);
            all.failed_inserts = all.failed_inserts.saturating_add(count("insert_failed")?);
        }
        Ok(all)
    }

    /// What was lost since `earlier`; the fill is that of now.
    #[must_use]
    pub fn since(&self, earlier: &Conntrack) -> Conntrack {
        difference!(self - earlier: drops, failed_inserts; entries, most)
    }
}
